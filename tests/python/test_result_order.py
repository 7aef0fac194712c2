"""Results of ops that keep the memory order of their input."""

import itertools

import numpy as np
import pytest
import second_backend

import mlx.core as mx

OPS = {
    "sort": mx.sort,
    "argsort": mx.argsort,
    "partition": lambda x, axis: mx.sort(mx.partition(x, x.shape[axis] // 2, axis=axis), axis=axis),
    "cumsum": lambda x, axis: mx.cumsum(x, axis),
    "reverse cumsum": lambda x, axis: mx.cumsum(x, axis, reverse=True),
    "exclusive cumprod": lambda x, axis: mx.cumprod(x, axis, inclusive=False),
    "cummax": lambda x, axis: mx.cummax(x, axis),
    "logcumsumexp": lambda x, axis: (
        mx.logcumsumexp(x, axis) if mx.issubdtype(x.dtype, mx.inexact) else mx.cummin(x, axis)
    ),
}
DTYPES = ["float32", "float16", "bfloat16", "float64", "int8", "int64", "complex64", "bool_"]


def host(x):
    """The elements, as numpy has them."""
    return np.array(x.astype(mx.float32) if x.dtype == mx.bfloat16 else x)


def evaluated(shape, salt, dtype="float32"):
    random = np.random.default_rng(salt)
    x = random.integers(-9, 9, shape) if dtype in ("int8", "int64") else random.normal(size=shape)
    a = mx.array(x.astype(np.float32)).astype(getattr(mx, dtype))
    mx.eval(a)
    return a


def strides(x):
    """Strides of a result in elements, those of axes of length 1 left out."""
    a = np.asarray(x)
    return [s // a.itemsize for s, n in zip(a.strides, a.shape, strict=True) if n > 1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPS)
def test_any_order_gives_the_bits_of_rows(name, dtype):
    op = OPS[name]
    if dtype in ("complex64", "bool_") and name == "logcumsumexp":
        return
    shapes = [(5,), (7, 70), (70, 7), (1, 9), (3, 1, 6), (4, 5, 6), (2, 3, 4, 5), (0, 3), (1, 1)]
    for shape in shapes:
        rows = evaluated(shape, len(shape), dtype)
        for order in itertools.permutations(range(len(shape))):
            inverse = [order.index(k) for k in range(len(shape))]
            # The same elements, in another order in memory.
            moved = mx.contiguous(mx.transpose(rows, order))
            mx.eval(moved)
            same = mx.transpose(moved, inverse)
            for axis in range(len(shape)):
                if shape[axis] == 0 and name == "partition":
                    continue
                np.testing.assert_array_equal(host(op(same, axis)), host(op(rows, axis)))


@pytest.mark.cpu_only("memory orders are those of the CPU's kernels")
@pytest.mark.parametrize("name", ["sort", "argsort", "cumsum", "cummax"])
def test_a_dense_input_gives_its_order(name):
    a = evaluated((6, 7, 8), 0)
    views = {
        "rows": (a, [56, 8, 1]),
        "transposed": (a.T, [1, 8, 56]),
        "axes in another order": (mx.transpose(a, (1, 0, 2)), [8, 56, 1]),
        "length 1": (a.T[:, :, None], [1, 8, 56]),
        "sliced": (a[::2].T, [21, 3, 1]),
        "reversed": (a[:, ::-1], [56, 8, 1]),
        "broadcast": (mx.broadcast_to(a[0, 0], (6, 7, 8)), [56, 8, 1]),
    }
    for view, (x, want) in views.items():
        for axis in range(x.ndim):
            out = OPS[name](x, axis)
            # The next op has the same order, and may be fused with its operands.
            more = OPS[name](x, axis) * 2
            assert strides(out) == strides(more), (view, axis)
            # The op may compute its input as it reads it.
            stored = x * 2
            mx.eval(stored)
            at_once = OPS[name](x * 2, axis)
            assert strides(at_once) == strides(OPS[name](stored, axis)), (view, axis)
            # The second backend wants copies of some inputs, which are rows.
            copied = second_backend.in_use() and name != "argsort" and view != "rows"
            lengths = [n for n in x.shape if n > 1]
            rows = [lengths[1] * lengths[2], lengths[2], 1]
            assert strides(out) == want or (copied and strides(out) == rows), (view, axis)


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_products_of_results_do_not_depend_on_fusion(name, order):
    """A product rounds by the memory order of its operands."""
    a = mx.transpose(evaluated((4, 30, 50), 1), order)
    other = evaluated((a.shape[-1], 20), 2)

    def formula(a, other, axis):
        return (OPS[name](mx.tanh(a) * 3, axis) * 0.5).astype(mx.float32) @ other

    for axis in range(3):
        at_once = formula(a, other, axis)
        compiled = mx.compile(lambda a, other, axis=axis: formula(a, other, axis))(a, other)
        mx.eval(at_once, compiled)
        first = mx.tanh(a) * 3
        mx.eval(first)
        second = OPS[name](first, axis)
        mx.eval(second)
        stepwise = (second * 0.5).astype(mx.float32) @ other
        mx._set_fusion(False)
        try:
            unfused = formula(a, other, axis)
            mx.eval(unfused)
        finally:
            mx._set_fusion(True)
        for result in (compiled, stepwise, unfused):
            np.testing.assert_array_equal(host(result), host(at_once))


def test_long_lines_of_a_transposed_array():
    """Axes whose sorts need a workspace, and scans in chunks."""
    a = evaluated((1 << 17, 2), 3)
    for name in ("sort", "argsort", "cumsum", "cummax"):
        want = host(OPS[name](a, 0))
        moved = mx.contiguous(a.T)
        mx.eval(moved)
        np.testing.assert_array_equal(host(OPS[name](moved.T, 0)), want)
        np.testing.assert_array_equal(host(OPS[name](moved.T * 1, 0)), want)
