"""Layers, losses, optimizers and schedules against what PyTorch computed in float64.

tests/peers/layers_vs_torch.py records what is compared with here; it also runs where PyTorch is.
"""

import math
import sys

import nn_cases
import numpy as np
import pytest
from conftest import TESTS

sys.path.insert(0, str(TESTS / "peers"))

import peer_cases

import mlx.core as mx
import mlx.nn as nn

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


#: Layers without state beside their parameters and without attention, as the checks below expect.
WORDS = (
    "Conv",
    "Pad",
    "Pool",
    "fold",
    "Fold",
    "Pixel",
    "Embedding",
    "RNN",
    "GRU",
    "LSTM",
    "Linear",
)
ROWS = [row[0] for row in peer_cases.FUNCTIONS]
ROWS += [row[0] for row in peer_cases.LAYERS if any(word in row[0] for word in WORDS)]
BOUNDS = {mx.float64: 1e-5, mx.float16: 0.03, mx.bfloat16: 0.2}


def function_of(row):
    """The function of a row, its inputs, and its layer or None."""
    source, *shapes = row.split(" | ")
    inputs = nn_cases._inputs(shapes)
    names = {"nn": nn, "mx": mx, "math": math}
    if row in ROWS[: len(peer_cases.FUNCTIONS)]:
        call = eval(f"lambda x, y=None, z=None, w=None: {source}", names)
        return call, inputs, None
    layer = nn_cases._fixed_parameters(eval(source, names))
    return layer, inputs, layer


def results(call, inputs):
    """The outputs as a list."""
    y = call(*inputs)
    return list(y) if isinstance(y, (tuple, list)) else [y]


def assert_close(got, want, bound):
    for a, b in zip(got, want, strict=True):
        a, b = (np.array(x.astype(mx.float64)) for x in (a, b))
        np.testing.assert_allclose(a, b, rtol=bound, atol=bound * max(1, np.abs(b).max(initial=0)))


@pytest.mark.parametrize("row", ROWS)
def test_compiled_and_strided(row):
    """Compiled calls, and inputs with other strides, give what eager calls give."""
    call, inputs, _ = function_of(row)
    want = results(call, inputs)
    assert_close(results(mx.compile(call), inputs), want, 1e-5)
    reverse = [mx.array(np.array(x)[..., ::-1].copy())[..., ::-1] for x in inputs]
    assert_close(results(call, reverse), want, 1e-6)


@pytest.mark.parametrize("row", ROWS)
def test_batches_of_batches(row):
    """vmap gives what a loop gives."""
    call, inputs, _ = function_of(row)
    stacks = [mx.stack([x, x[::-1]]) for x in inputs]
    mapped = results(mx.vmap(call), stacks)
    looped = [results(call, [s[k] for s in stacks]) for k in range(2)]
    assert_close(mapped, [mx.stack(list(pair)) for pair in zip(*looped, strict=True)], 1e-5)


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("row", ROWS)
def test_dtypes(row, dtype):
    """Results have the dtype of inputs and parameters, and are right for it."""
    call, inputs, layer = function_of(row)

    def typed(x):
        return x.astype(dtype) if mx.issubdtype(x.dtype, mx.floating) else x

    rounded = [typed(x).astype(x.dtype) for x in inputs]
    if layer is not None:
        layer.set_dtype(dtype)
        layer.set_dtype(mx.float32)
    want = results(call, rounded)
    if layer is not None:
        layer.set_dtype(dtype)
    got = results(call, [typed(x) for x in inputs])
    assert all(y.dtype == dtype for y in got)
    discontinuous = "nearest" in row and dtype != mx.float64
    if not discontinuous and "reflection" not in row:
        assert_close(got, want, BOUNDS[dtype])
