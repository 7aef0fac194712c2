"""Tests that compare memory before and after begin without the garbage of other tests."""

import gc
import pathlib
import re

import pytest
from memory_in_use import memory_in_use

import mlx.core as mx

pytestmark = pytest.mark.anywhere

FIRST_FIGURE = re.compile(r"^ +\w+ = mx\.get_active_memory\(\)$", re.M)


def test_garbage_does_not_count():
    cycle = [mx.zeros(1 << 18)]
    cycle.append(cycle)
    mx.eval(cycle[0])
    del cycle
    before = memory_in_use()
    gc.collect()
    assert mx.get_active_memory() == before


def test_each_first_figure_is_without_garbage():
    for path in pathlib.Path(__file__).parent.rglob("*.py"):
        assert not FIRST_FIGURE.findall(path.read_text()), path
