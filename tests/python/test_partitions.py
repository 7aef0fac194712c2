"""Partitions of long rows, and their largest elements: ranks near an end take another path."""

import numpy as np
import pytest

import mlx.core as mx

N = 1 << 15  # the shortest row of that path
RANKS = [0, 1, 9, N // 64 - 1, N // 64, N // 2, N - N // 64 - 1, N - N // 64, N - 10, N - 1]
DTYPES = [mx.float32, mx.float64, mx.int32, mx.uint32, mx.int64, mx.uint64]


def rows(kind):
    """Float64 values of a row: integers, exact in every dtype."""
    r = np.random.default_rng(7)
    return {
        "random": lambda: r.integers(0, 1 << 24, N),
        "rising": lambda: np.arange(N),
        "falling": lambda: np.arange(N)[::-1],
        "equal": lambda: np.full(N, 3),
        "few values": lambda: r.integers(0, 3, N),
        "most are zero": lambda: np.where(r.random(N) < 0.999, 0, r.integers(1, 100, N)),
        "large at sampled places": lambda: np.where(np.arange(N) % 32, 5, np.arange(N)),
        "two halves": lambda: np.repeat([9, 4], N // 2),
        "ends": lambda: np.r_[np.arange(40), np.full(N - 80, 50), np.arange(60, 100)],
    }[kind]().astype(np.float64)


KINDS = ["random", "rising", "falling", "equal", "few values", "most are zero",
         "large at sampled places", "two halves", "ends"]  # fmt: skip


def check_partition(got, x, kth):
    """Rank `kth` is in its place, what is before is not larger, what is after not smaller."""
    want = np.sort(x)
    np.testing.assert_array_equal(np.sort(got), want)
    np.testing.assert_array_equal(got[kth], want[kth])
    np.testing.assert_array_equal(np.sort(got[:kth]), want[:kth])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_ranks(dtype, kind):
    x = rows(kind)
    a = mx.array(x).astype(dtype)
    for kth in RANKS:
        check_partition(np.array(mx.partition(a, kth)).astype(np.float64), x, kth)
        order = np.array(mx.argpartition(a, kth))
        np.testing.assert_array_equal(np.sort(order), np.arange(N))
        check_partition(x[order], x, kth)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32, mx.float64], ids=str)
@pytest.mark.parametrize("numbers", [0, 5, N // 2, N - 5, N])
def test_nan_is_last(dtype, numbers):
    given = np.r_[np.full(N - numbers, np.nan), rows("random")[:numbers] % 128]
    x = np.random.default_rng(3).permutation(given)
    a = mx.array(x).astype(dtype)
    for kth in RANKS:
        check_partition(np.array(mx.partition(a, kth).astype(mx.float64)), x, kth)


@pytest.mark.parametrize("k", [1, 2, 10, N // 64, N // 64 + 1, N])
def test_largest(k):
    x = rows("random")
    got = np.array(mx.topk(mx.array(x), k)).astype(np.float64)
    np.testing.assert_array_equal(np.sort(got), np.sort(x)[N - k :])


@pytest.mark.parametrize("length", [N - 1, N, N + 1, 3 * N + 77])
def test_rows_of_a_matrix(length):
    """Along both axes, from views with steps, and of several rows at once."""
    x = np.random.default_rng(5).standard_normal((3, 2 * length)).astype(np.float32)
    a = mx.array(x)[:, ::-2]
    want = np.sort(x[:, ::-2], axis=1)
    for kth in (4, length - 5):
        for got in (mx.partition(a, kth, axis=1), mx.partition(a.T, kth, axis=0).T):
            for row in range(3):
                check_partition(np.array(got)[row], want[row], kth)
