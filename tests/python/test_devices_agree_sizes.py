"""Sizes and layouts for which the GPU has kernels of their own: equal to the CPU, bit for bit."""

import numpy as np
import pytest
import second_backend
from test_devices_agree import check, on, values

import mlx.core as mx

pytestmark = [pytest.mark.gpu_only, pytest.mark.sampled(0.5)]

TYPES = [mx.bool_, mx.int8, mx.float16, mx.bfloat16, mx.float32, mx.int64, mx.complex64]


def longest(dtype):
    """The longest line that one block sorts."""
    return 4096 if dtype.size == 8 else 8192


@pytest.mark.parametrize("dtype", [mx.int8, mx.float32, mx.int64], ids=str)
def test_sorts_of_several_tiles(dtype):
    """Lines that one block cannot hold, of equal elements too; and the longest that it can."""
    n = longest(dtype)
    check(mx.sort, values(dtype, (2, n + 1)), axis=1)
    check(mx.argsort, values(dtype, (n + 1, 1)), axis=0)
    few = values(mx.int32, (n + 700,)) % 3
    check(mx.argsort, few.astype(dtype, stream=mx.cpu))
    check(mx.sort, values(dtype, (1, n)), axis=1)


def sides_in_order(row, places, pivot):
    """Whether elements on each side of a pivot, and those equal to it, kept their order."""
    sides = row < pivot, row == pivot, row > pivot
    return all((np.diff(places[side]) > 0).all() for side in sides)


@pytest.mark.parametrize("dtype", [mx.float16, mx.float32, mx.uint64], ids=str)
def test_partitions_of_tiles(dtype):
    """Of one and of several; on NVIDIA GPUs each side keeps the order of the line."""
    for n, axis in ((longest(dtype) + 100, 1), (1300, 1), (601, 0)):
        x = values(dtype, (2, n) if axis else (n, 2))
        rows = np.moveaxis(np.array(x), axis, 1)
        for kth in (0, n // 2, n - 1):
            part, places = (
                np.moveaxis(np.array(f(x, kth, axis=axis, stream=mx.gpu)), axis, 1)
                for f in (mx.partition, mx.argpartition)
            )
            found = np.take_along_axis(rows, places.astype(np.int64), 1)
            ordered = np.sort(rows, 1)
            assert np.array_equal(found, part)
            assert np.array_equal(np.sort(part[:, :kth]), ordered[:, :kth])
            assert np.array_equal(part[:, kth], ordered[:, kth])
            assert np.array_equal(np.sort(part), ordered)
            if second_backend.is_cuda():
                for row, place in zip(part, places, strict=True):
                    assert sides_in_order(row, place.astype(np.int64), row[kth])


def updated(mode):
    return lambda a, i, u, stream: on(stream, lambda: getattr(a.at[i], mode)(u))


def assigned(a, i, u, stream):
    """a with other slices at indices; of repeated ones the last counts."""

    def assign():
        b = a + mx.zeros((), a.dtype)
        b[i] = u
        return b

    return on(stream, assign)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_many_updates(dtype):
    """More than a thread walks, in all modes, with strides, of one axis and of two."""
    rng = np.random.default_rng(0)
    a = values(dtype, (50, 3))
    for n in (300, 4500):
        i = mx.array(rng.integers(-50, 50, n).astype(np.int32))
        u = values(dtype, (n, 3), 1)
        modes = ["add", "maximum", "multiply", "minimum", "divide"]
        for mode in modes[: 4 if dtype == mx.bool_ else 5] if n == 300 else modes[:2]:
            check(updated(mode), a, i, u)
        check(updated("add"), a, i, values(dtype, (3, n), 2).T)
        check(assigned, a, i, u)
        one = mx.zeros(n, mx.int32)
        check(updated("add"), a, one, u)
        for mode in ("add", "maximum"):  # few targets, which have many updates each
            check(updated(mode), a[:4], i % 4, u)
            check(updated(mode), a[:3, 0], i % 3, u[:, 0])
        check(lambda a, i, u, stream: on(stream, lambda: a.at[i, i % 3].add(u)), a, i, u[:, 1])
        along = mx.array(rng.integers(-50, 50, (n, 3)).astype(np.int32))
        check(mx.put_along_axis, a, along, u, axis=0)
    for columns in (8, 12):  # rows of neighbours, from addresses of vectors and others
        wide = values(dtype, (50, columns))
        u = values(dtype, (301, columns + 4), 1)
        for some in (u[1:, :columns], u[1:, 1 : columns + 1], u.reshape(-1, 301)[:columns, 1:].T):
            check(updated("add"), wide, mx.array(rng.integers(-50, 50, 300).astype(np.int32)), some)
    with pytest.raises(IndexError, match=r"^\[scatter\] index 50 is out of range for axis 0"):
        at = mx.array(np.r_[np.zeros(400, np.int32), 50])
        mx.eval(on(mx.gpu, lambda: a.at[at].add(values(dtype, (401, 3)))))


@pytest.mark.parametrize("dtype", [mx.bool_, mx.float32, mx.bfloat16, mx.complex64], ids=str)
@pytest.mark.parametrize("n", [1024, 20000, 33000])
def test_updates_of_many_targets(dtype, n):
    """More than a block looks at once, and more than it looks at; most of them of a few targets."""
    rng = np.random.default_rng(n)
    some = rng.integers(0, 3000, n)
    for i in (some, np.minimum(some, rng.integers(0, 3000, n)), np.where(some < 2000, 7, some)):
        at = mx.array(i.astype(np.int32))
        for columns in (1, 5, 130, 1000) if n == 1024 else (1, 24):
            a, u = values(dtype, (3000, columns)), values(dtype, (n, columns), 1)
            check(updated("add"), a, at, u)
            check(updated("maximum"), a[:, 0], at, u[:, columns - 1])
        check(lambda a, i, u, stream: on(stream, lambda: a.at[i, i % 3].add(u)),
              values(dtype, (3000, 3)), at, values(dtype, (n,)))  # fmt: skip


@pytest.mark.parametrize("dtype", [*TYPES, mx.complex128], ids=str)
def test_vectors_of_neighbours(dtype):
    """Lengths that no vector divides, views that begin between, rows and columns that repeat."""
    for n in (1, 7, 1000, 4099):
        x, y = values(dtype, (n,)), values(dtype, (n,), 1)
        check(mx.add, x, y)
        check(mx.equal, x[1:], y[:-1])
        check(lambda x, stream: mx.where(x == x, x, 2, stream=stream), x)
    x, row, column = values(dtype, (40, 64)), values(dtype, (64,), 1), values(dtype, (40, 1), 2)
    for other in (row, column, row[1:2]):
        check(mx.add, x, other)
    for view in (x[:, 8:40], x[3:, 1:], x.reshape(5, 8, 4, 16).transpose(0, 2, 1, 3)):
        check(mx.contiguous, view)


@pytest.mark.parametrize("dtype", [*TYPES, mx.complex128], ids=str)
def test_operands_that_lie_across(dtype):
    shapes = [((100, 70), (1, 0)), ((3, 65, 66), (0, 2, 1)), ((20, 17, 40), (2, 1, 0)),
              ((20, 5, 40), (2, 1, 0)), ((20, 17, 40), (1, 2, 0)), ((99, 70), (1, 0))]  # fmt: skip
    for shape, axes in shapes:
        x = values(dtype, shape).transpose(axes)
        y = values(dtype, x.shape, 1)
        check(mx.contiguous, x)
        check(mx.add, x, y)
        check(lambda x, y, stream: on(stream, lambda: (x + y) * y[..., :1] + x[:1]), x, y)
        check(lambda x, stream: on(stream, lambda: x + mx.arange(x.shape[-1])), x)
    x = values(dtype, (90, 90))
    check(mx.add, x, x.T)
    check(mx.add, x[::-1].T, x)
    for axis in (0, 1):
        check(lambda x, axis, stream: mx.concatenate([x.T, x], axis=axis, stream=stream), x, axis)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 17, 31, 32, 33, 100, 300, 512, 513])
def test_short_reductions(dtype, n):
    """Of rows and of columns, with outputs that fill no block."""
    for shape, axis in (((37, n), 1), ((n, 70), 0), ((3, n, 40), 1)):
        x = values(dtype, shape)
        for f in (mx.sum, mx.max, mx.any, mx.argmin):
            if dtype == mx.complex64 and f in (mx.max, mx.argmin):
                continue
            check(f, x, axis=axis)
        check(lambda x, axis, stream: on(stream, lambda: (x + x).sum(axis)), x, axis)
    if 1 < n < 32 and n != 16:  # elsewhere one of the two adds no zero, and keeps the sign
        check(mx.sum, mx.full((3, n), -0.0), axis=1)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("columns", [32, 68, 128])
def test_reductions_of_neighbouring_columns(dtype, columns):
    """In blocks of elements and parts of one, from addresses of vectors and others."""
    x = values(dtype, (2100 * columns + 1,))
    for a in (x[:-1], x[1:]):
        for f in (mx.sum, mx.any) if dtype == mx.complex64 else (mx.sum, mx.max, mx.all, mx.argmin):
            check(f, a.reshape(-1, columns), axis=0)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("n", [1, 3, 4, 16])
def test_few_elements_of_many_neighbouring_outputs(dtype, n):
    """Rows and the windows of a pool, from addresses of vectors and others."""
    x = values(dtype, (n * (1 << 18) + 1,))
    for a in (x[:-1], x[1:]):
        check(mx.sum, a.reshape(n, -1), axis=0)
        check(mx.mean, a.reshape(64, n, -1), axis=1)
    if dtype == mx.complex64:
        return
    check(mx.argmax, x[1:].reshape(n, -1), axis=0)
    windows = mx.as_strided(x, (64, 64, n, 64), (64 * 64, 64, 64, 1))
    check(mx.max, windows, axis=2)
    check(lambda x, axis, stream: on(stream, lambda: (x + x).max(axis)), windows, axis=2)


@pytest.mark.parametrize("dtype", [*TYPES, mx.int32], ids=str)
def test_reductions_of_neighbours(dtype):
    """Rows of several blocks, axes on both sides of a kept one, and programs that feed them."""
    shapes = [((33 * 1024,), None), ((9, 1032), 1), ((3, 20000), 1), ((2, 4104), 1),
              ((5, 40, 64), 1), ((4, 3, 24, 16), (0, 2, 3)), ((2, 64, 4, 8), (1, 3)),
              ((2, 2100, 8), (0, 1))]  # fmt: skip
    for shape, axis in shapes:
        x = values(dtype, (int(np.prod(shape)) + 8,))
        for a in (x[:-8], x[8:], x[5:-3]):
            a = a.reshape(shape)
            check(mx.sum, a, axis=axis)
            if dtype != mx.complex64 and not isinstance(axis, tuple):
                check(mx.argmax, a, axis=axis)
            if dtype in (mx.float16, mx.bfloat16, mx.float32):
                check(lambda a, axis, stream: on(stream, lambda: (a * a).sum(axis)), a, axis)
                check(mx.var, a, axis=axis)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_tables_of_results(dtype):
    """Programs of so many elements of 16 bits look their results up in a table of all numbers."""
    numbers = np.resize(np.arange(65536, dtype=np.uint16), (1 << 24) + 3)
    x = mx.view(mx.array(numbers), dtype, stream=mx.cpu)
    for f in (mx.log1p, lambda x, stream: on(stream, lambda: x * mx.sigmoid(x))):
        check(f, x)
    for scale in (0.5, 2.0):  # constants: a table each
        check(lambda x, stream, c=scale: on(stream, mx.compile(lambda: mx.erf(x * c) + x)), x)


@pytest.mark.parametrize("dtype", [mx.bool_, mx.int8, mx.float16, mx.int64, mx.float32], ids=str)
def test_rows_in_pieces(dtype):
    """Rows of 16 bytes and others, and rows that begin between."""
    i = mx.array([3, 0, -1, 3, 2, 2])
    for width in (1, 7, 16, 48):
        x = values(dtype, (5, width + 16))
        for a in (x[:, :width], x[:, 16:], x[:, 1 : width + 1]):
            check(mx.take, a, i, axis=0)
            check(mx.take, a.T, i, axis=1)


@pytest.mark.parametrize("dtype", [mx.int8, mx.int32, mx.float32, mx.uint64], ids=str)
def test_long_scans(dtype):
    """Lines of several chunks, and lines that many threads share."""
    for shape, axis in (((1, 20_001), 1), ((2, 8192), 1), ((9000, 2), 0), ((70, 65), 1)):
        x = values(dtype, shape)
        for f in (mx.cummax, mx.cumsum):
            if f is mx.cummax or dtype != mx.float32:
                for options in ({}, {"reverse": True}, {"inclusive": False}):
                    check(f, x, axis=axis, **options)


def packed_on_cpu(shape, dtype, group, bits):
    """A packed matrix, and the one that it stands for, in float64."""
    with mx.stream(mx.cpu):
        packed = mx.quantize(values(dtype, shape), group, bits)
        whole = mx.dequantize(*packed, group_size=group, bits=bits)
        mx.eval(packed, whole)
        return packed, np.array(whole.astype(mx.float64))


def is_sum_of(got, x, w, dtype):
    """Whether got is x @ w.T to the rounding of dtype and of sums in float32."""
    x, got = (np.array(a.astype(mx.float64, stream=mx.cpu)) for a in (x, got))
    eps = 2.0**-8 if dtype == mx.bfloat16 else 2.0**-11
    bound = eps * (np.abs(x) @ np.abs(w.T)) + 2.0**-24
    if not second_backend.is_cuda():
        # The CPU's kernels, which do not round elements of w, and those of x in few rows to
        # multiples of at most 2^-13 of the largest one.
        largest = np.abs(x).max(1, initial=0, keepdims=True)
        bound = 2 * bound + 2.0**-14 * largest * np.abs(w).sum(1)
    return (np.abs(got - x @ w.T) <= bound).all()


def small(dtype, shape, seed=0):
    """Elements whose products with others float16 holds."""
    return values(dtype, shape, seed) * 2.0**-7


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_many_rows_with_packed_matrices(dtype, bits):
    """Blocks that are not full, and rows that end within a chunk of the inner axis."""
    some = (33, 64, 100, 129, 300)
    shapes = ((32, 130, 96, some), (64, 256, 320, some), (128, 97, 128, some))
    many = ((64, 17000, 64, (40, 256)),)  # a block for each processor of a GPU, or two
    for group, n, k, numbers in shapes + many:
        packed, whole = packed_on_cpu((n, k), dtype, group, bits)
        for rows in numbers:
            x = small(dtype, (rows, k), seed=rows)
            options = {"group_size": group, "bits": bits, "stream": mx.gpu}
            assert is_sum_of(mx.quantized_matmul(x, *packed, **options), x, whole, dtype)
            apart = mx.concatenate([x, x], 1)[:, :k]  # whose rows are further apart
            assert is_sum_of(mx.quantized_matmul(apart, *packed, **options), x, whole, dtype)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_many_rows_with_gathered_packed_matrices(dtype, bits):
    """Rows of each of some matrices: none, a few, a tile, several tiles."""
    n, k, group = 144, 96, 32
    packed, whole = packed_on_cpu((5, n, k), dtype, group, bits)
    numbers = np.repeat([0, 1, 3, 4], [200, 3, 128, 65])
    for order in (numbers, np.random.default_rng(0).permutation(numbers)):
        x = small(dtype, (len(order), 1, k))
        got = mx.gather_qmm(
            x, *packed, rhs_indices=mx.array(order), group_size=group, bits=bits, stream=mx.gpu
        )
        for number in range(5):
            these = mx.array(np.flatnonzero(order == number))
            with mx.stream(mx.cpu):
                part, result = mx.take(x[:, 0], these, 0), mx.take(got[:, 0], these, 0)
            assert is_sum_of(result, part, whole[number], dtype)
