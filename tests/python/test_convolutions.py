"""Convolutions and the cotangents of their weights against those in float64.

Each dtype and instruction set has its own way: lines of the input, patches, or tiles.
"""

import numpy as np
import pytest

import mlx.core as mx

# Shape of the input, shape of the weight, settings. Strips have 224 positions of a line, and chunks
# 2048 positions.
CASES = [
    ((2, 9, 8, 3), (5, 3, 3, 3), {}),
    ((2, 9, 8, 32), (16, 3, 3, 32), {"padding": 1}),
    ((3, 8, 8, 64), (48, 3, 3, 64), {"padding": 1}),
    ((4, 32, 32, 3), (32, 3, 3, 3), {"padding": 1}),
    ((2, 17, 13, 6), (8, 3, 2, 6), {"stride": 2, "padding": (1, 0)}),
    ((2, 15, 16, 4), (6, 3, 3, 4), {"stride": (1, 3), "padding": 2, "kernel_dilation": 2}),
    ((2, 7, 6, 4), (6, 3, 3, 4), {"input_dilation": 2, "padding": 1}),
    ((2, 7, 6, 4), (6, 3, 3, 4), {"input_dilation": (3, 1), "stride": (2, 1), "flip": True}),
    ((2, 10, 9, 12), (9, 3, 3, 4), {"groups": 3, "padding": 1}),
    ((2, 10, 9, 8), (8, 3, 3, 1), {"groups": 8, "padding": 1}),
    ((3, 20, 21, 40), (40, 2, 3, 1), {"groups": 40, "stride": (1, 2), "flip": True}),
    ((2, 600, 5), (7, 4, 5), {"padding": 1}),
    ((1, 2500, 16), (33, 3, 16), {"flip": True}),
    ((2, 6, 7, 5, 4), (6, 2, 3, 2, 4), {"padding": 1}),
    ((2, 6, 7, 5, 4), (6, 2, 3, 2, 4), {"stride": 2, "kernel_dilation": (1, 2, 1)}),
    ((3, 6, 7, 20), (18, 1, 1, 20), {}),
    ((3, 6, 7, 20), (18, 1, 1, 20), {"stride": 2}),
    ((2, 8, 7, 136), (130, 1, 1, 136), {}),
]
DTYPES = {mx.float32: 2e-6, mx.float16: 2e-3, mx.bfloat16: 1.6e-2}


def numbers(shape, seed):
    """Numbers that all dtypes have."""
    return np.random.RandomState(seed).randint(-8, 8, shape).astype(np.float32) / 8


def both(x, w, settings, dtype):
    """A convolution in a dtype, and the cotangent of its weight for one of the result."""
    x, w = mx.array(x).astype(dtype), mx.array(w).astype(dtype)

    def f(w):
        return mx.conv_general(x, w, **settings)

    out, (cotangent,) = mx.vjp(f, [w], [mx.array(numbers(f(w).shape, 3)).astype(dtype)])
    return [np.array(a.astype(mx.float64)) for a in (*out, cotangent)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case, dtype):
    """The errors are small beside the largest element."""
    shape, kernel, settings = case
    x, w = numbers(shape, 1), numbers(kernel, 2)
    for got, wide in zip(
        both(x, w, settings, dtype), both(x, w, settings, mx.float64), strict=True
    ):
        np.testing.assert_allclose(got, wide, rtol=0, atol=DTYPES[dtype] * np.abs(wide).max())


def test_no_position():
    """A result without elements gives zeros."""
    zeros = both(np.ones((0, 5, 5, 2)), np.ones((3, 2, 2, 2)), {}, mx.float32)[1]
    assert zeros.shape == (3, 2, 2, 2) and not np.any(zeros)


def test_numbers_that_are_not_finite():
    """A NaN of the input is in the sums of the taps that read it, and in no other."""
    x = np.ones((1, 6, 6, 2), np.float32)
    x[0, 0, 0, 1] = np.nan
    found = np.isnan(both(x, np.ones((3, 2, 2, 2)), {}, mx.float32)[1])
    expected = np.zeros((3, 2, 2, 2), bool)
    expected[:, 0, 0, 1] = True
    np.testing.assert_array_equal(found, expected)
