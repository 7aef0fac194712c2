"""Many updates of one target: applied in order on every device."""

import numpy as np
import pytest

import mlx.core as mx

COUNTS = [700, 40_000]


def target_numbers(rng, count, rows):
    """Indices that are mostly row 1, some the last row, and some that occur once or twice."""
    index = rng.integers(0, rows, count)
    index[rng.random(count) < 0.7] = 1
    index[rng.random(count) < 0.1] = rows - 1
    return index


@pytest.mark.parametrize("columns", [1, 3, 8, 17, 100])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "complex64"])
def test_sums(dtype, count, columns):
    """Sums in the order of the updates, rounded after each."""
    rng = np.random.default_rng(count + columns)
    rows = 50_000
    index = target_numbers(rng, count, rows)
    updates = rng.integers(-4, 5, (count, columns))
    a = mx.zeros((rows, columns), getattr(mx, dtype))
    y = a.at[mx.array(index)].add(mx.array(updates).astype(a.dtype))
    expected = np.zeros((rows, columns), np.int64)
    np.add.at(expected, index, updates)
    np.testing.assert_array_equal(np.array(y.astype(mx.complex64)), expected.astype(np.complex64))


@pytest.mark.parametrize("columns", [1, 40])
def test_order(columns):
    """Products and quotients that round at each update give what they give one after another."""
    rng = np.random.default_rng(columns)
    count, rows = 40_000, 40_000
    index = np.where(np.arange(count) % 5 == 4, 7, 3)
    index[::50] = rng.integers(10, rows, count // 50)
    updates = rng.uniform(0.999, 1.001, (count, columns)).astype(np.float32)
    for name, ufunc in (("multiply", np.multiply), ("add", np.add), ("maximum", np.maximum)):
        y = getattr(mx.ones((rows, columns)).at[mx.array(index)], name)(mx.array(updates))
        expected = np.ones((rows, columns), np.float32)
        for i, update in zip(index, updates, strict=True):
            expected[i] = ufunc(expected[i], update)
        np.testing.assert_array_equal(np.array(y), expected)


def test_derivative_of_repeated_rows():
    """The derivative of an embedding whose indices are mostly one, as padding is."""
    rng = np.random.default_rng(0)
    table, index = (
        mx.zeros((30_000, 64)),
        np.where(rng.random(40_000) < 0.8, 0, rng.integers(0, 30_000, 40_000)),
    )
    weight = rng.integers(-3, 4, (40_000, 64)).astype(np.float32)
    gradient = mx.grad(lambda t: mx.sum(t[mx.array(index)] * mx.array(weight)))(table)
    expected = np.zeros((30_000, 64), np.float32)
    np.add.at(expected, index, weight)
    np.testing.assert_array_equal(np.array(gradient), expected)
