"""Sorts of hard inputs against NumPy, with the instruction set that MLX_CPU_ISA selects,
as a separate program: short rows, or those that several threads sort.

usage: python sorts.py short|long
"""

import sys

import numpy as np

import mlx.core as mx

SIGNED = ["int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = ["bool", *SIGNED, *(f"u{t}" for t in SIGNED), *FLOATS]

# Around the sizes of registers, of networks and of samples, and lengths where a sort changes.
BORDERS = [511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 4097, 16384, 32767, 32768, 65537]
LONG = [131071, 131072, 200003]


def near_sampled_places(n, network):
    """A row whose sampled keys are the smallest ones, split after split."""
    rows, row, least = np.arange(n), np.full(n, n), 0
    for _ in range(2 * n.bit_length()):
        m = len(rows)
        if m <= network:
            break
        count = 64 if m >= 16384 else 32 if m >= 1024 else 16
        state, step, some = m * 0x9E3779B97F4A7C15 % 2**64, m // count, []
        for i in range(count):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            some.append(i * step + ((state >> 32) * step >> 32))
        new = [p for p in rows[some] if row[p] == n]
        row[new] = np.arange(least, least + len(new))
        least += len(new)
        rows = rows[row[rows] > np.sort(row[rows[some]])[count // 2]]
    return row


def patterns(n):
    """Rows of n integers."""
    r, i = np.random.default_rng(n), np.arange(n)
    yield r.integers(-(2**62), 2**62, n)
    yield r.integers(-3, 4, n)
    yield np.full(n, 7)
    yield i
    yield i[::-1]
    yield np.minimum(i, n - i)  # organ pipe
    yield np.where(r.random(n) < 0.9, 5, r.integers(-(10**6), 10**6, n))
    yield i % 17 - 8
    yield (i * 7919) % max(n, 1)
    yield np.where(i == n // 2, -(2**62), r.integers(0, 1000, n))
    yield np.where(i == n // 3, 2**62, i // 3)
    if n > 300:
        yield near_sampled_places(n, 32)
        yield near_sampled_places(n, 256)


def values(dtype, n):
    """The rows as this dtype, and rows of its special values."""
    x = np.stack(list(patterns(n)))
    r = np.random.default_rng(n + 1)
    if dtype in FLOATS:
        numpy_type = np.float32 if dtype == "bfloat16" else dtype
        special = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1, -1]
        more = np.stack([r.choice(special, n), r.choice(special[:4], n), np.full(n, np.nan)])
        if dtype in ("float16", "bfloat16"):
            x = x % 255 - 127  # exact in both
        x = np.concatenate([x.astype(numpy_type), more.astype(numpy_type)])
    elif dtype != "bool":
        i = np.iinfo(dtype)
        x = np.concatenate([x.astype(dtype), r.choice(np.array([i.min, i.max], dtype), (1, n))])
    return x if dtype != "bool" else x % 2 == 0


def to_numpy(a):
    return np.array(a.astype(mx.float32) if a.dtype == mx.bfloat16 else a)


def ascending(x):
    return np.sort(x, axis=1, kind="stable")  # other kinds err for some rows of float16


def check(dtype, n):
    x = values(dtype, n)
    a = mx.array(x, dtype=getattr(mx, dtype if dtype != "bool" else "bool_"))
    order = np.argsort(x, axis=1, kind="stable")
    np.testing.assert_array_equal(np.array(mx.argsort(a, axis=1)), order, f"{dtype} {n}")
    want, got = np.take_along_axis(x, order, 1), to_numpy(mx.sort(a, axis=1))
    np.testing.assert_array_equal(got, want, f"{dtype} {n}")
    if dtype in FLOATS and n:
        # Negative zeros are before positive ones, and NaNs have one sign.
        sign = np.signbit(got)
        assert not (sign[:, 1:] & ~sign[:, :-1]).any(), (dtype, n)
    if n in (40, 300, 1025):
        columns = mx.array(x.T.copy(), dtype=a.dtype)
        np.testing.assert_array_equal(to_numpy(mx.sort(columns, axis=0)).T, want)
        np.testing.assert_array_equal(np.array(mx.argsort(columns, axis=0)).T, order)
        steps = mx.array(np.repeat(x, 2, axis=1), dtype=a.dtype)[:, ::-2][:, ::-1]
        np.testing.assert_array_equal(to_numpy(mx.sort(steps, axis=1)), want)
    if n in (17, 300, 1025, 32768, 200003):
        for kth in {0, n // 2, n - 1, n // 100}:
            part = to_numpy(mx.partition(a, kth, axis=1))
            np.testing.assert_array_equal(ascending(part[:, :kth]), want[:, :kth])
            np.testing.assert_array_equal(part[:, kth], want[:, kth])
            np.testing.assert_array_equal(ascending(part), want)
            places = np.array(mx.argpartition(a, kth, axis=1))
            every = np.tile(np.arange(n), (len(x), 1))
            np.testing.assert_array_equal(ascending(places), every)
            part = np.take_along_axis(x, places.astype(np.int64), 1)
            np.testing.assert_array_equal(ascending(part[:, :kth]), want[:, :kth])
            np.testing.assert_array_equal(part[:, kth], want[:, kth])


for dtype in DTYPES:
    for n in LONG if sys.argv[1:] == ["long"] else [*range(301), *BORDERS]:
        check(dtype, n)
