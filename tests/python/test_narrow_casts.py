"""Casts to float16 and bfloat16 round once, to nearest even, whatever they go through."""

import numpy as np
import pytest

import mlx.core as mx

# Digits of the fraction with the leading one, and the exponents of normal numbers.
FORMATS = {mx.float16: (11, -14, 15), mx.bfloat16: (8, -126, 127)}
COUNT = 20_011


def rounded(x, target):
    """The reference in long double, which holds every number here exactly."""
    digits, least, most = FORMATS[target]
    x = x.astype(np.longdouble)
    exponent = np.maximum(np.frexp(x)[1] - 1, least) - (digits - 1)
    y = np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent)
    largest = np.ldexp(np.longdouble(2) - np.ldexp(np.longdouble(1), 1 - digits), most)
    return np.where(np.abs(y) > largest, np.copysign(np.inf, x), y).astype(np.float64)


def check(x, source):
    """Casts arrays of several lengths, one of them reversed."""
    for target in FORMATS:
        for part in (x, x[:37], x[:1000], x[::-3]):
            got = mx.array(np.ascontiguousarray(part), dtype=source).astype(target)
            got = np.array(got.astype(mx.float32)).astype(np.float64)
            want = rounded(part, target)
            assert np.array_equal(got, want)
            assert np.array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("source", ["uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_integers(source):
    rng, info = np.random.default_rng(1), np.iinfo(source)
    whole = rng.integers(info.min, info.max, COUNT, source, endpoint=True)
    shorter = whole >> rng.integers(0, info.bits - 1, COUNT).astype(source)
    ties = (rng.integers(1, 512, COUNT) + 0.5) * 2.0 ** rng.integers(
        0, max(info.bits - 10, 1), COUNT
    )
    near_ties = ties.astype(source) + rng.integers(0, 3, COUNT).astype(source) - np.array(1, source)
    ends = np.array([0, 1, info.max, info.max - 1, info.min, info.min + 1], source)
    powers = np.array([2**p + d for p in range(1, info.bits - 1) for d in (-1, 0, 1)], source)
    for x in (whole, shorter, near_ties, np.concatenate([ends, powers, ends])):
        check(x, getattr(mx, source))


def floats():
    """float32 numbers: of all exponents, subnormal, and both mixed."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2**32, COUNT, np.uint32).view(np.float32)
    x = x[x == x]
    small = rng.integers(0, 2**24, COUNT, np.uint32) | (rng.integers(0, 2, COUNT, np.uint32) << 31)
    small = small.view(np.float32)
    mixed = x.copy()
    mixed[::97] = small[: len(mixed[::97])]
    return x, small, mixed


def test_floats():
    for x in floats():
        check(x, mx.float32)


@pytest.mark.cpu_only("GPUs have one NaN")
def test_nan_keeps_its_upper_bits():
    rng = np.random.default_rng(3)
    bits = rng.integers(1, 2**22, 4096, np.uint32) | 0x7F800000
    bits |= rng.integers(0, 2, 4096, np.uint32) << 31
    got = mx.array(bits.view(np.float32)).astype(mx.bfloat16).view(mx.uint16)
    assert np.array_equal(np.array(got), ((bits >> 16) | 0x40).astype(np.uint16))


@pytest.mark.cpu_only("not all devices have float64")
def test_doubles():
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2**64, COUNT, np.uint64).view(np.float64)
    near = 1 + rng.integers(-1, 2, COUNT) * 2.0**-50
    ties = (rng.integers(128, 4096, COUNT) + 0.5) * 2.0 ** rng.integers(-160, 110, COUNT) * near
    small = np.ldexp(rng.random(COUNT) - 0.5, rng.integers(-160, -120, COUNT))
    for a in (x[x == x], ties, small, *(f.astype(np.float64) for f in floats())):
        check(a, mx.float64)
