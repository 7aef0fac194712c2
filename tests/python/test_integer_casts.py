"""Casts of floats to integers: truncated, then the low bits; out of range, the smallest integer.

Numbers up to 32 bits are truncated to int32, uint32 and 64 bits to int64.
"""

import numpy as np
import pytest

import mlx.core as mx

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]


def truncated(x, dtype):
    """The reference in NumPy, of float64."""
    wide = np.int64 if dtype in ("uint32", "int64") else np.int32
    end = -float(np.iinfo(wide).min)
    fits = (x >= -end) & (x < end)
    whole = np.where(fits, np.where(fits, x, 0).astype(wide), np.iinfo(wide).min)
    return whole.astype(dtype)


def numbers(dtype):
    """Numbers of all exponents, whole and not, and around the ends of the integers."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**32, 20_011, dtype=np.uint64).astype(np.uint32).view(np.float32)
    scaled = rng.normal(size=10_007) * 10.0 ** rng.integers(-2, 20, 10_007)
    ends = [
        s * 2.0**p + d for s in (-1, 1) for p in (7, 8, 15, 16, 31, 32, 33, 63) for d in (-1, 0, 1)
    ]
    all_of_them = np.concatenate([bits, scaled, ends, [0.0, -0.0, np.inf, -np.inf, np.nan]])
    with np.errstate(over="ignore"):
        return mx.array(all_of_them.astype(np.float32)).astype(dtype)


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", [mx.float32, mx.float16, mx.bfloat16], ids=str)
def test_casts_of_floats_to_integers(source, target):
    x = numbers(source)
    want = truncated(np.array(x.astype(mx.float32)).astype(np.float64), target)
    got = x.astype(getattr(mx, target))
    assert np.array_equal(np.array(got), want)
    strided = x[::-3].astype(getattr(mx, target))
    assert np.array_equal(np.array(strided), want[::-3])


@pytest.mark.cpu_only("not all devices have float64")
@pytest.mark.parametrize("target", INTEGERS)
def test_casts_of_doubles_to_integers(target):
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2**64, 20_011, dtype=np.uint64).view(np.float64)
    scaled = rng.normal(size=20_011) * 10.0 ** rng.integers(-2, 20, 20_011)
    x = np.concatenate([bits, scaled, np.trunc(scaled), [np.inf, -np.inf, np.nan]])
    got = mx.array(x, dtype=mx.float64).astype(getattr(mx, target))
    assert np.array_equal(np.array(got), truncated(x, target))
