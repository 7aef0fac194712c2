"""Histograms, counts and searches against a search in the bounds, at sizes that cross blocks."""

import numpy as np
import pytest

import mlx.core as mx

DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "uint32", "int64", "uint64")
SIZES = (1, 15, 16, 17, 1023, 1025, 70_000)


def values(dtype, size, seed):
    """Numbers of a dtype, integers in every third array, with limits of the dtype among them."""
    rng = np.random.default_rng(seed)
    if dtype.startswith("float"):
        x = (rng.standard_normal(size) * rng.choice([1, 30])).astype(dtype)
        return np.round(x) if seed % 3 == 0 else x
    info = np.iinfo(dtype)
    low, high = (info.min, info.max) if seed % 2 else (max(info.min, -99), min(info.max, 99))
    return rng.integers(low, high, size, dtype=dtype, endpoint=True)


def counted(x, edges, weights=None):
    """The bins by a search in the bounds; the last bin has its upper bound in it."""
    at = np.searchsorted(edges, x, "right")
    at = np.where(x == edges[-1], len(edges) - 1, at)
    return np.bincount(at, weights, minlength=len(edges) + 1)[1 : len(edges)]


def given(x):
    """The array, read backwards in two steps where it is long."""
    a = mx.array(x, dtype=getattr(mx, x.dtype.name))
    return (a[::-2], x[::-2]) if len(x) > 1000 else (a, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_even_bins_count_as_a_search_does(dtype, size):
    for seed, bins in enumerate((1, 2, 10, 16, 17, 100, 255, 3000)):
        a, x = given(values(dtype, size, seed))
        for span in (None, (0, 10), (-3.0, 5.5)):
            counts, edges = mx.histogram(a, bins, span)
            edges = np.array(edges)
            x_in = x.astype(edges.dtype)
            assert np.array_equal(np.array(counts), counted(x_in, edges)), (bins, span)
            weights = np.cos(np.arange(len(x))).astype(np.float32)
            sums = mx.histogram(a, bins, span, mx.array(weights))[0]
            np.testing.assert_allclose(sums, counted(x_in, edges, weights), 1e-5, 1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_uneven_bins_and_searches(dtype, size):
    rng = np.random.default_rng(size)
    for seed, n in enumerate((2, 5, 16, 18, 200)):
        a, x = given(values(dtype, size, seed))
        edges = np.sort(rng.choice(x, n))  # some twice
        sorted_ = mx.array(edges, dtype=a.dtype)
        spread = mx.repeat(sorted_, 2)[::2]
        assert np.array_equal(np.array(mx.histogram(a, sorted_)[0]), counted(x, edges))
        for side in ("left", "right"):
            expected = np.searchsorted(edges, x, side)
            assert np.array_equal(np.array(mx.searchsorted(sorted_, a, side)), expected)
            assert np.array_equal(np.array(mx.searchsorted(spread, a, side)), expected)


@pytest.mark.parametrize("dtype", ("bool_", *DTYPES))
@pytest.mark.parametrize("size", (1, 2, 40, 3000, 70_000))
def test_distinct_elements(dtype, size):
    for seed in range(3):
        x = values(dtype.replace("bool_", "uint8"), size, seed)
        if dtype == "bool_":
            x = x > 100
        elif seed == 2 and dtype[0] in "iu":  # close to each other, at the end of the dtype
            x = (np.iinfo(dtype).max - (x.astype(np.uint64) & 7)).astype(dtype)
        a = mx.array(x, dtype=getattr(mx, dtype))
        expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        for index, inverse, counts in np.ndindex(2, 2, 2):
            wanted = [expected[i] for i in np.flatnonzero([1, index, inverse, counts])]
            some = mx.unique(a, None, index, inverse, counts)
            some = some if isinstance(some, tuple) else (some,)
            assert len(some) == len(wanted)
            for one, other in zip(some, wanted, strict=True):
                assert np.array_equal(np.array(one), other.reshape(one.shape))
            assert some[0].dtype == a.dtype and all(s.dtype.size == 4 for s in some[1:])


def test_nan_and_infinities_are_in_no_bin_but_have_a_place():
    x = np.tile(np.float32([np.nan, np.inf, -np.inf, -0.0, 0.0, 3e38, -3e38, 1.0]), 33)
    for dtype in (mx.float32, mx.float64, mx.bfloat16):
        a = mx.array(x).astype(dtype)
        assert mx.histogram(a, 4, (0, 1))[0].tolist() == [66, 0, 0, 33]
        assert mx.histogram(a, mx.array([0.0, 1.0, 2.0]))[0].tolist() == [66, 33]
        sorted_ = mx.array([-1.0, 0.0, 1.0, np.inf, np.nan, np.nan]).astype(dtype)
        assert mx.searchsorted(sorted_, a).tolist()[:8] == [4, 3, 0, 1, 1, 3, 0, 2]
        right = mx.searchsorted(sorted_, a, side="right")
        assert right.tolist()[:8] == [6, 4, 0, 2, 2, 3, 0, 3]


def test_bins_narrower_than_the_numbers_apart():
    x = mx.array([1e8, 1e8 + 8, 1e8 + 16, 1e8 + 8])
    counts, edges = mx.histogram(x, 100)
    assert np.array_equal(np.array(counts), counted(np.array(x), np.array(edges)))
    assert mx.sum(counts).item() == 4
    same = mx.full((5,), 1e9)
    assert mx.sum(mx.histogram(same, 3)[0]).item() == 5
    wide = mx.array([-60000.0, 60000.0, 0.0], dtype=mx.float16)
    assert mx.histogram(wide, 2)[0].tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["bool_", "int8", "uint32", "int64", "uint64"])
def test_sums_of_weights_of_any_dtype(dtype):
    rng = np.random.default_rng(0)
    at = rng.integers(0, 2 if dtype == "bool_" else 100, 150_000)
    x = mx.array(at).astype(getattr(mx, dtype))
    for name in ("float16", "float32", "float64", "int8", "int64", "uint64", "complex64", "bool_"):
        w = mx.array(rng.integers(-3, 4, 150_000)).astype(getattr(mx, name))
        expected = np.zeros(120, np.int32 if name == "bool_" else np.array(w).dtype)
        np.add.at(expected, at, np.array(w))
        sums = mx.bincount(x, w, length=120)
        if name == "float16":
            expected = np.bincount(at, np.array(w).astype(float), 120)
        assert np.array_equal(np.array(sums), expected), name


def test_sums_are_differentiable_and_batched():
    x, w = mx.array([[0, 2, 2, 1], [1, 1, 0, 0]]), mx.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    sums = mx.vmap(lambda x, w: mx.bincount(x, w, length=3))(x, w)
    assert sums.tolist() == [[1, 4, 5], [15, 11, 0]]

    def loss(w):
        by_value = mx.bincount(x[0], w[0], length=3) * mx.array([1.0, 2, 3])
        by_bin = mx.histogram(x[1], 2, (0.5, 2), w[1])[0] * mx.array([10.0, 20])
        return mx.sum(by_value) + mx.sum(by_bin)

    assert mx.grad(loss)(w).tolist() == [[1, 3, 3, 2], [10, 10, 0, 0]]
    tangent = mx.jvp(loss, [w], [mx.ones(w.shape)])[1][0]
    assert tangent.item() == 29
