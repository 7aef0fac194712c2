"""Exact values for shapes at which kernels choose other loops: axes of one element, few long rows,
rows about as long as a call of a copy is worth, arrays beyond the caches."""

import numpy as np
import pytest

import mlx.core as mx

DTYPES = ["bool", "int8", "uint16", "float16", "int32", "float32", "int64", "float64", "complex64"]
FEW_ROWS = [(2, 70001), (3, 5003), (8, 4096), (17, 1000)]
ROW_LENGTHS = [1, 3, 8, 63, 64, 65, 255, 257, 511, 513, 1025]
FAR = (5003, 1031)  # more than half of a third cache with 4 bytes an element


def numbers(dtype, *shape):
    """Small integers, whose sums are exact, and the same as an array."""
    x = np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)
    return x, mx.array(x)


def same(result, expected):
    result = np.asarray(result)
    assert result.shape == expected.shape
    assert np.array_equal(result, expected, equal_nan=expected.dtype.kind in "fc")


@pytest.mark.parametrize("shape", [(1,), (5, 1), (1, 7), (300, 1, 70)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_axes_of_one_element(dtype, shape):
    x, a = numbers(dtype, *shape)
    if x.dtype.kind == "f":
        x[..., 0] = np.nan
        a = mx.array(x)
    axis = shape.index(1)
    same(mx.sort(a, axis), x)
    same(mx.argsort(a, axis), np.zeros(shape, np.uint32))
    if dtype != "complex64":
        same(mx.argmax(a, axis), np.zeros(x.squeeze(axis).shape, np.uint32))
    # Views: the same lines in the other order, and rows that are not next to each other.
    same(mx.sort(a[::-1], axis), x[::-1])
    wide = mx.repeat(a, 2, 0)[::2]
    same(mx.sort(wide, axis), x)


@pytest.mark.parametrize("shape", FEW_ROWS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_few_long_rows(dtype, shape):
    x, a = numbers(dtype, *shape)
    for at in (np.s_[:, ::-1], np.s_[:, ::2], np.s_[::-1, 1::3], np.s_[:, 1:]):
        same(mx.contiguous(a[at]), x[at])
    same(mx.contiguous(a.T), x.T)
    same(mx.contiguous(a.T[::-1]), x.T[::-1])


@pytest.mark.parametrize("length", ROW_LENGTHS)
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64", "complex64"])
def test_copies_of_rows(dtype, length):
    x, a = numbers(dtype, 41, length)
    same(mx.roll(a, 1, 1), np.roll(x, 1, 1))
    same(mx.concatenate([a, a[:, :1], a], 1), np.concatenate([x, x[:, :1], x], 1))
    same(mx.pad(a, ((0, 1), (2, 1))), np.pad(x, ((0, 1), (2, 1))))
    same(mx.contiguous(a[:, 1:]), x[:, 1:])
    same(a[:, 1:] - a[:, :-1], x[:, 1:] - x[:, :-1])
    same(mx.cumsum(a, 1), np.cumsum(x, 1, dtype=np.asarray(mx.cumsum(a, 1)).dtype))


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 900), (900, 1), (3, 301), (301, 3), (64, 70)], ids=str
)
@pytest.mark.parametrize("k", [-400, -2, 0, 1, 400])
def test_triangles(shape, k):
    for dtype in ("bool", "float16", "float32", "complex64"):
        x, a = numbers(dtype, 2, *shape)
        same(mx.tril(a, k), np.tril(x, k))
        same(mx.triu(a, k), np.triu(x, k))
    same(mx.tri(*shape, k), np.tri(*shape, k, dtype=np.float32))


@pytest.mark.parametrize("length", [2, 3, 7, 10, 39, 40, 41])
@pytest.mark.parametrize("dtype", [t for t in DTYPES if t not in ("bool", "complex64")])
def test_positions_in_short_rows(dtype, length):
    x, a = numbers(dtype, 2, 101, length)
    for _ in range(2):
        for axis in (-1, 0, 1):
            same(mx.argmax(a, axis), x.argmax(axis).astype(np.uint32))
            same(mx.argmin(a, axis), x.argmin(axis).astype(np.uint32))
        same(mx.argmax(a[:, ::2], -1), x[:, ::2].argmax(-1).astype(np.uint32))
        same(mx.argmax(a[..., ::-1], -1), x[..., ::-1].argmax(-1).astype(np.uint32))
        if x.dtype.kind == "f":  # the first NaN wins
            x[:, ::3, length // 2] = x[0, 5] = np.nan
            a = mx.array(x)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64", "complex64"])
def test_reductions_beyond_the_caches(dtype):
    x, a = numbers(dtype, *FAR)
    for axis in (0, 1, None):
        same(mx.sum(a, axis), x.sum(axis, dtype=np.asarray(mx.sum(a)).dtype))
        same(mx.any(a == 2, axis), (x == 2).any(axis))
        if dtype != "complex64":
            same(mx.max(a, axis), x.max(axis))
    same(mx.sum(a.T, 0), x.sum(1, dtype=np.asarray(mx.sum(a)).dtype))
