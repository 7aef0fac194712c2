"""Every case of nn_cases against what the published wheel computed for it.

Tolerances: results that only go through sums and products of float32 agree to a few ULP; the bound
leaves room for other orders of summation.  Uniform initial values must agree to the bit.
"""

import json
import pathlib
import re
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parents[1] / "golden" / "nn"
sys.path.insert(0, str(HERE))

import nn_cases  # noqa: E402

RECORDED = {section: np.load(GOLDEN / f"{section}.npz") for section in nn_cases.SECTIONS}
TEXTS = {section: json.loads(str(file["text"])) for section, file in RECORDED.items()}
CASES = [
    pytest.param(section, index, id=f"{section}:{case}")
    for section, (cases, _) in nn_cases.SECTIONS.items()
    for index, case in enumerate(cases)
]

UNIFORM = re.compile(r"nn\.(init\.(\w+_)?uniform|Linear|Bilinear|Conv|RNN|GRU|LSTM|Multi|Dropout)")


@pytest.mark.parametrize("section, index", CASES)
def test_like_the_wheel(section, index):
    """The same results, parameter names, shapes, frozen parameters and repr."""
    cases, run = nn_cases.SECTIONS[section]
    expected = TEXTS[section][index]
    assert expected["case"] == cases[index], "record anew: tests/golden/nn/make.py"
    results, text = run(cases[index])
    assert sorted(results) == expected["results"]
    for key, value in text.items():
        assert value == expected[key]
    exact = section == "random" and UNIFORM.match(cases[index])
    for key, value in results.items():
        golden = RECORDED[section][f"{index}/{key}"]
        assert value.dtype == golden.dtype, key
        if exact:
            np.testing.assert_array_equal(value, golden, err_msg=key)
        else:
            np.testing.assert_allclose(value, golden, rtol=2e-5, atol=3e-6, err_msg=key)


def test_all_sections_are_recorded():
    """No case was added, moved or removed since the recording."""
    for section, (cases, _) in nn_cases.SECTIONS.items():
        assert [text["case"] for text in TEXTS[section]] == cases
