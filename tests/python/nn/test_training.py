"""Training gives the losses that the published wheel gives, from the same weights and batches."""

import json
import pathlib
import sys

import numpy as np
import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden" / "nn"
sys.path.insert(0, str(GOLDEN))

import training  # noqa: E402

RECORDED = json.loads((GOLDEN / "training.json").read_text())


@pytest.mark.parametrize("name", training.RUNS)
def test_losses(name):
    ours = np.array(training.losses(name))
    np.testing.assert_allclose(ours, RECORDED[name], rtol=2e-4)
    assert ours[-1] < ours[0]
