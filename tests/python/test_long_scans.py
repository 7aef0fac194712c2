"""Scans long enough to be divided into chunks."""

import functools
import itertools

import numpy as np
import pytest

import mlx.core as mx

LENGTHS = (32_768, 40_001, 400_003)
WAYS = list(itertools.product((False, True), (False, True)))
EXTREMES = {"cummax": np.maximum, "cummin": np.minimum}


def scanned(call, x, neutral, reverse, inclusive):
    """A scan along the first axis by NumPy, from the end or without the element itself."""
    x = x[::-1] if reverse else x
    y = call(x)
    if not inclusive:
        y = np.concatenate([np.full_like(y[:1], neutral), y[:-1]])
    return y[::-1] if reverse else y


def layouts(x):
    """The same numbers in columns of a matrix: dense, transposed, backwards, and one in two."""
    a = mx.array(x)
    mx.eval(a)
    yield a
    yield mx.contiguous(a.T).T
    yield mx.contiguous(a[::-1])[::-1]
    yield mx.repeat(a, 2, 0)[::2]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "bool"])
@pytest.mark.parametrize("length", LENGTHS)
def test_integers_are_exact(dtype, length):
    rng = np.random.default_rng(length)
    for width in (1, 3):
        x = rng.integers(0, 2 if dtype == "bool" else 100, (length, width)).astype(dtype)
        sums = functools.partial(np.cumsum, axis=0, dtype=np.int32 if dtype == "bool" else dtype)
        products = functools.partial(np.cumprod, axis=0, dtype=dtype)
        odd = x | np.array(1, dtype)
        for reverse, inclusive in WAYS:
            for a in layouts(x):
                y = mx.cumsum(a, 0, reverse=reverse, inclusive=inclusive)
                expected = scanned(sums, x, 0, reverse, inclusive)
                assert np.array_equal(np.array(y), expected)
            y = mx.cumprod(mx.array(odd), 0, reverse=reverse, inclusive=inclusive)
            expected = scanned(products, odd, 1, reverse, inclusive)
            assert np.array_equal(np.array(y), expected)
        for name, ufunc in EXTREMES.items():
            y = getattr(mx, name)(mx.array(x), axis=0)
            assert np.array_equal(np.array(y), ufunc.accumulate(x, 0))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_floats(dtype, length):
    rng = np.random.default_rng(length)
    t = getattr(mx, dtype)
    eps = {"float16": 2**-10, "bfloat16": 2**-7, "float64": 1e-13, "complex64": 1e-5}.get(
        dtype, 1e-6
    )
    for width in (1, 3):
        a = mx.array(rng.standard_normal((length, width)) * 2 + 0.5, dtype=mx.float64).astype(t)
        wide = mx.complex128 if dtype == "complex64" else mx.float64
        x = np.array(a.astype(wide))
        for reverse, inclusive in WAYS:
            way = {"reverse": reverse, "inclusive": inclusive}
            if dtype != "float16":  # whose sums would overflow
                y = np.array(mx.cumsum(a, 0, **way).astype(wide))
                expected = scanned(lambda x: np.cumsum(x, 0), x, 0, **way)
                assert np.abs(y - expected).max() <= eps * np.abs(expected).max()
            if dtype != "complex64":
                y = np.array(mx.logcumsumexp(a, 0, **way).astype(wide))
                expected = scanned(lambda x: np.logaddexp.accumulate(x, 0), x, -np.inf, **way)
                np.testing.assert_allclose(
                    y, expected, max(eps, 1e-6 if dtype == "float32" else 1e-13), eps
                )
                for name, ufunc in EXTREMES.items():
                    start = -np.inf if name == "cummax" else np.inf
                    y = np.array(getattr(mx, name)(a, axis=0, **way).astype(wide))
                    expected = scanned(lambda x: ufunc.accumulate(x, 0), x, start, **way)  # noqa: B023
                    assert np.array_equal(y, expected)
            near = (mx.abs(a) * 1e-6 + 1) if dtype in ("float32", "float64") else None
            if near is not None:
                y = np.array(mx.cumprod(near, 0, **way))
                expected = scanned(lambda x: np.cumprod(x, 0), np.array(near, np.float64), 1, **way)
                np.testing.assert_allclose(y, expected, 2e-3 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("layout", range(4))
def test_layouts_give_the_same_bits(layout):
    x = np.random.default_rng(0).standard_normal((50_000, 3)).astype(np.float32)
    calls = (mx.cumsum, mx.cumprod, mx.cummax, mx.logcumsumexp)
    for call, (reverse, inclusive) in itertools.product(calls, WAYS):
        one, *_ = layouts(x)
        other = list(layouts(x))[layout]
        results = [np.array(call(a, 0, reverse=reverse, inclusive=inclusive)) for a in (one, other)]
        assert np.array_equal(*results, equal_nan=True)


@pytest.mark.parametrize("at", [0, 5, 8191, 8192, 30_000, 99_999])
def test_nan_stays_and_infinities_count(at):
    x = np.ones(100_000, np.float32)
    for value in (np.nan, np.inf, -np.inf):
        x[at] = value
        for name, ufunc in (("cumsum", np.add), *EXTREMES.items()):
            expected = ufunc.accumulate(x)
            assert np.array_equal(
                np.array(getattr(mx, name)(mx.array(x))), expected, equal_nan=True
            )
        y = np.array(mx.logcumsumexp(mx.array(x)))
        with np.errstate(invalid="ignore"):
            expected = np.logaddexp.accumulate(x.astype(np.float64))
        assert np.array_equal(np.isnan(y), np.isnan(expected))
        np.testing.assert_allclose(y, expected, 1e-5, 1e-5)
    nothing = mx.full((40_000,), -np.inf)
    assert (mx.logcumsumexp(nothing) == -np.inf).all().item()


def test_derivatives():
    x = mx.random.normal((40_000,), key=mx.random.key(0))
    weights = mx.random.normal((40_000,), key=mx.random.key(1))
    grad = mx.grad(lambda x: mx.sum(mx.cumsum(x) * weights))(x)
    expected = np.cumsum(np.array(weights, np.float64)[::-1])[::-1]
    np.testing.assert_allclose(np.array(grad), expected, 1e-4, 1e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("length", LENGTHS)
def test_products(dtype, length):
    """Products of powers of two are exact; products of parts of a line leave the range."""
    rng = np.random.default_rng(length)
    step, most = (7, 13) if dtype == "float16" else (90, 110)
    levels = np.zeros((length, 2), int)
    for i in range(1, length // 100 + 1):
        change = rng.integers(-step, step + 1, 2)
        levels[100 * i :] = np.clip(levels[100 * i - 1] + change, -most, most)
    x = np.exp2(np.diff(levels, axis=0, prepend=0)) * rng.choice([-1.0, 1.0], levels.shape)
    for reverse, inclusive in WAYS:
        way = {"reverse": reverse, "inclusive": inclusive}
        line = x[::-1] if reverse else x
        a = mx.array(line.astype(np.float32)).astype(getattr(mx, dtype))
        expected = scanned(lambda x: np.cumprod(x, 0), line, 1, **way)
        y = np.array(mx.cumprod(a, 0, **way).astype(mx.float32))
        np.testing.assert_array_equal(y, expected.astype(np.float32))


def test_special_products():
    """Zeros, infinities and NaN pass from chunk to chunk."""
    for at, value, after in ((500, 0.0, 0.0), (500, np.inf, np.inf), (500, np.nan, np.nan)):
        x = np.ones(60_000, np.float32)
        x[at] = value
        y = np.array(mx.cumprod(mx.array(x)))
        np.testing.assert_array_equal(y[:at], 1)
        np.testing.assert_array_equal(y[at:], after)
    x[500], x[40_000] = 0, np.inf
    y = np.array(mx.cumprod(mx.array(x)))
    assert y[39_999] == 0 and np.all(np.isnan(y[40_000:]))
