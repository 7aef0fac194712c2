"""Programs that train small models give the losses of the published package (tests/programs)."""

import importlib
import json
import pathlib

import numpy as np
import pytest

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "programs"
RECORDED = json.loads((PROGRAMS / "losses.json").read_text())


#: Lion steps by signs: the rounding of a gradient near zero moves a weight by twice the rate.
TOLERANCES = {("speech", "after"): 3e-3}


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_losses_are_those_recorded(name, monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAMS))
    series = importlib.import_module(name).run()
    assert series.keys() == RECORDED[name].keys()
    for key, values in RECORDED[name].items():
        close = TOLERANCES.get((name, key), 1e-4)
        np.testing.assert_allclose(series[key], values, rtol=close, atol=close, err_msg=key)


def test_every_program_is_recorded():
    files = {path.stem for path in PROGRAMS.glob("*.py")} - {"record", "program_support"}
    assert files == set(RECORDED)
