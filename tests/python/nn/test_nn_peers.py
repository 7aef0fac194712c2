"""Layers, losses, optimizers and schedules against what PyTorch computed in float64.

tests/peers/layers_vs_torch.py records what is compared with here; it also runs where PyTorch is.
"""

import sys

import numpy as np
import pytest
from conftest import TESTS

sys.path.insert(0, str(TESTS / "peers"))

import peer_cases

CASES = [
    pytest.param(section, row[0], id=f"{section}:{row[0]}")
    for section, (rows, _) in peer_cases.SECTIONS.items()
    for row in rows
]


@pytest.fixture(scope="module")
def recorded():
    """The results of PyTorch by section, row and name."""
    results = {}
    with np.load(peer_cases.GOLDEN) as file:
        for key in file.files:
            section, rest = key.split("/", 1)
            row, name = rest.rsplit("/", 1)
            results.setdefault((section, row), {})[name] = file[key]
    return results


@pytest.mark.parametrize("section, row", CASES)
def test_like_torch(recorded, section, row):
    """Outputs, gradients, parameters after steps, values of schedules."""
    _, run = peer_cases.SECTIONS[section]
    assert peer_cases.error(run(row), recorded[section, row]) <= peer_cases.LIMIT


def test_nothing_else_is_recorded(recorded):
    """Rows that went away leave no results behind."""
    assert set(recorded) == {tuple(case.values) for case in CASES}
