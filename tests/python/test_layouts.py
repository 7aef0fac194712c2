"""Inputs of any layout give the same results as contiguous ones."""

import cases
import numpy as np
import pytest
from cases.table import device_array, host, layouts
from memory_in_use import memory_in_use

import mlx.core as mx


def same(row, got, want):
    """Whether two results agree: to the bit where the row promises it."""
    for g, w in zip(host(got), host(want), strict=True):
        if row.exact or g.dtype.kind in "biu":
            if not np.array_equal(g, w, equal_nan=g.dtype.kind in "fc"):
                return False
        elif g.shape != w.shape or not np.allclose(g, w, 1e-4, 1e-5, equal_nan=True):
            return False
    return True


def check(row):
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
    inputs = row.host_inputs(dtype)
    positions = row.differentiable()
    for first in positions:
        for name, values, build in layouts(inputs[first]):
            if values.size == 0 or not cases.chosen(f"layout {row.name} {first} {name}", 0.5):
                continue
            contiguous = [device_array(i) for i in inputs]
            odd = list(contiguous)
            contiguous[first], odd[first] = device_array(values), build()
            if not same(row, row.call(*odd), row.call(*contiguous)):
                yield f"input {first} {name}"
    if len(positions) > 1:
        for n in range(7):
            picked = [list(layouts(inputs[p])) for p in positions]
            odd, contiguous = [device_array(i) for i in inputs], [device_array(i) for i in inputs]
            for position, choices in zip(positions, picked, strict=True):
                _, values, build = choices[(n + 2 * position) % len(choices)]
                if values.size:
                    odd[position], contiguous[position] = build(), device_array(values)
            if cases.chosen(f"mixed {row.name} {n}", 0.3) and not same(
                row, row.call(*odd), row.call(*contiguous)
            ):
                yield f"mixed layouts {n}"


@pytest.mark.parametrize("family", cases.names())
def test_layouts(family):
    cases.run_rows(family, check)


INTEGERS, MATRIX, ROW = [3, 2, 0, 1, 4], [[4.0, 1.0], [1.0, 3.0]], [0.5, -1.0, 2.0, 0.25]
# Each op that may write over an input, where its other inputs are the same array.
ONE_OPERAND = [
    ("mx.put_along_axis(v, mx.array([3, 0, 1, 2, 4]), v, 0)", INTEGERS),
    ("mx.put_along_axis(v, v, v, 0)", INTEGERS),
    ("mx.put_along_axis(v, v, mx.array([7]), 0)", INTEGERS),
    ("v.at[v].add(v)", INTEGERS),
    ("v.at[v % 5].add(v)", INTEGERS),
    ("v.at[v % 5].multiply(v)", INTEGERS),
    ("v.at[v].maximum(v[::-1])", INTEGERS),
    ("mx.slice_update(v, v, mx.array(0), [0])", INTEGERS),
    ("mx.slice_update(v, v[:3], mx.array(2), [0])", INTEGERS),
    ("mx.slice_update(v, v[:1], v[1], [0])", INTEGERS),
    ("assign(v, slice(None, None, -1), v)", INTEGERS),
    ("assign(v, slice(1, None), v[:-1])", INTEGERS),
    ("assign(v, slice(0, 3), v[::2])", INTEGERS),
    ("assign(v, v, v)", [False, True, True, False]),
    ("assign(v, v > 0, v[:3])", ROW),
    ("assign(v, v[::-1] > 0, v[:3])", ROW),
    ("mx.linalg.solve(v, v)", MATRIX),
    ("mx.linalg.solve(v, v, stream=mx.cpu) + v", MATRIX),
    ("mx.linalg.solve_triangular(v, v, upper=True)", MATRIX),
    ("mx.linalg.solve_triangular(v, v, upper=False)", MATRIX),
    ("mx.linalg.cholesky(v) @ v", MATRIX),
    ("mx.linalg.inv(v) @ v", MATRIX),
    ("mx.linalg.tri_inv(v) @ v", MATRIX),
    ("mx.hadamard_transform(v) + v", ROW),
    ("mx.fast.rms_norm(v, v, 1e-5)", ROW),
    ("mx.fast.layer_norm(v, v, v, 1e-5)", ROW),
    ("mx.fast.rope(v[None], 2, traditional=True, base=10, scale=1.0, offset=1) + v", MATRIX),
    ("mx.fast.scaled_dot_product_attention(v, v, v, scale=1.0)", [[[[1.0] * 8, ROW * 2]]]),
    ("mx.quantized_matmul(v, *mx.quantize(v), transpose=True)", [ROW * 16] * 2),
    ("mx.addmm(v, v, v)", MATRIX),
    ("mx.where(v > 1, v, v.T)", MATRIX),
]


def temporary(v):
    """The values of v in memory of their own."""
    return mx.maximum(v, v)


def assign(v, index, values):
    v = temporary(v)
    v[index] = values
    return v


@pytest.mark.parametrize("expr, start", ONE_OPERAND, ids=[e for e, _ in ONE_OPERAND])
def test_one_array_as_several_operands(expr, start):
    """A temporary that is read by an op in two roles is not overwritten while it is read."""
    f = eval(f"lambda v: {expr}", {"mx": mx, "assign": assign})
    kept = mx.array(start)
    mx.eval(kept)
    want = np.array(f(kept))
    inside = mx.compile(lambda v: f(temporary(v)))
    for got in (f(temporary(kept)), mx.compile(f)(kept), inside(kept), f(mx.array(start))):
        assert np.array_equal(np.array(got), want), expr
    assert np.array_equal(np.array(mx.vmap(f)(temporary(mx.stack([kept, kept])))[1]), want)
    assert np.array_equal(np.array(kept), np.array(start, np.array(kept).dtype))


BROADCASTS = [
    (lambda: mx.broadcast_to(mx.array(1.5), (1000, 1000)), (1000, 1000)),
    (lambda: mx.broadcast_to(mx.arange(1000.0) + 0, (1000, 1000)), (1000, 1000)),
    (lambda: mx.broadcast_to((mx.arange(1000.0) + 0)[:, None], (1000, 1000)).T, (1000, 1000)),
    (lambda: mx.expand_dims(mx.broadcast_to(mx.array(2), (1000, 500)), 0), (1, 1000, 500)),
    (lambda: mx.broadcast_to(mx.ones((1,)), (1000, 1000)), (1000, 1000)),
    (lambda: mx.broadcast_to(mx.full((1000, 1), 2.0), (1000, 1000)).T, (1000, 1000)),
    (lambda: mx.broadcast_to(mx.full((1000,), mx.arange(1000.0)), (1000, 1000)), (1000, 1000)),
    (lambda: mx.as_strided(mx.ones((1,)), (1000, 1000), (0, 0)), (1000, 1000)),
    (lambda: mx.compile(lambda: mx.broadcast_to(mx.ones((1,)), (1000, 1000)))(), (1000, 1000)),
]


@pytest.mark.parametrize("make, shape", BROADCASTS)
def test_an_evaluated_broadcast_takes_no_memory_for_repetitions(make, shape):
    before = memory_in_use()
    x = make()
    mx.eval(x)
    assert mx.get_active_memory() - before < 100_000
    n = np.asarray(x)
    assert n.shape == shape and 0 in n.strides and not n.flags.writeable
    assert np.array_equal(n, np.array(make().tolist()))
    with pytest.raises(ValueError, match="read-only"):
        n[0] = 3
    assert (x + 1).sum().item() == pytest.approx(float(n.sum()) + n.size)
    assert mx.array_equal(mx.contiguous(x), x).item()


def test_a_broadcast_larger_than_memory():
    x = mx.broadcast_to(mx.array(1.0), (2**20, 2**20))
    mx.eval(x)
    assert x[5, 7].item() == 1 and x[3].sum().item() == 2**20


def test_filled_arrays_have_memory_for_each_element():
    for make in (
        lambda: mx.zeros((3, 3)),
        lambda: mx.ones((3, 3)),
        lambda: mx.full((3, 3), 2.0),
        lambda: mx.full((3, 3), mx.array([1.0, 2.0, 3.0])),
        lambda: mx.zeros_like(mx.arange(9).reshape(3, 3)),
        lambda: mx.zeros(9).reshape(3, 3),
        lambda: mx.zeros((2, 3, 3))[0],
    ):
        n = np.asarray(make())
        assert 0 not in n.strides and n.flags.writeable
        n[1, 1] = 5
        assert n[0, 0] != 5
        assert not np.array_equal(n, np.asarray(make()))


def active_bytes_after(make, n=1 << 20):
    """Bytes that the result of `make` keeps, once the array of n floats it is made from is gone."""
    before = memory_in_use()
    x = mx.arange(float(n))
    mx.eval(x)
    y = make(x)
    mx.eval(y)
    del x
    kept = mx.get_active_memory() - before
    assert y.size
    return kept


def test_contiguous_slices_let_go_of_their_source():
    for make in (
        lambda x: mx.contiguous(x[-2:]),
        lambda x: mx.contiguous(x[-64:]).reshape(8, 8),
        lambda x: mx.contiguous((x + 1)[:3]),
        lambda x: mx.contiguous(x.reshape(1024, -1)[2]),
        mx.compile(lambda x: mx.contiguous(x[-2:])),
    ):
        assert active_bytes_after(make) < 100_000
    assert active_bytes_after(lambda x: x[-2:]) >= 4 << 20  # a plain slice is a view


def test_contiguous_arrays_are_not_copied():
    x = mx.arange(1e6)
    mx.eval(x)
    before = memory_in_use()
    y = mx.contiguous(x)
    mx.eval(y)
    assert mx.get_active_memory() - before < 1000


@pytest.mark.parametrize(
    "dtype", ["bool_", "int16", "float32", "bfloat16", "complex64", "complex128"]
)
def test_columns_beside_short_rows(dtype):
    """One number for each row of few elements: the last rows of a tile end at its end."""
    dtype = getattr(mx, dtype)
    for rows in (1, 2, 31, 700, 5000):
        for width in (2, 3, 4, 7, 8, 16, 17, 33):
            x = mx.random.randint(0, 100, (rows, width)).astype(dtype)
            column = mx.random.randint(0, 100, (rows, 2)).astype(dtype)[:, 1:]
            stored = mx.contiguous(mx.broadcast_to(column, x.shape))
            mx.eval(stored)
            assert mx.array_equal(x + column, x + stored).item(), (rows, width)
