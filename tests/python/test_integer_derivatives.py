"""Derivatives with respect to integers: the arithmetic's, in the integers' dtype."""

import numpy as np
import pytest

import mlx.core as mx

INTEGERS = [mx.int8, mx.uint8, mx.int16, mx.int32, mx.int64, mx.uint32, mx.uint64]
ROW = mx.array([2, 3, 1])

# A function of x = [1, 2, 3] and its derivative.
BY_INTEGERS = {
    "x * x": [2, 4, 6],
    "x + 1": [1, 1, 1],
    "5 - x + 2 * x": [1, 1, 1],
    "x ** 3": [3, 12, 27],
    "mx.square(x)": [2, 4, 6],
    "mx.abs(x)": [1, 1, 1],
    "x * x[::-1]": [6, 4, 2],
    "x[:2] * x[1:]": [2, 4, 2],
    "mx.cumsum(x)": [3, 2, 1],
    "mx.prod(x)": [6, 3, 2],
    "mx.max(x) * 4": [0, 0, 4],
    "mx.sort(x) * mx.sort(x)": [2, 4, 6],
    "mx.where(x > 1, x, 0)": [0, 1, 1],
    "mx.maximum(x, 2)": [0, 0, 1],
    "mx.broadcast_to(x, (4, 3))": [4, 4, 4],
    "mx.concatenate([x, ROW.astype(x.dtype), x * x])": [3, 5, 7],
    "mx.stack([x, x]).T.flatten()": [2, 2, 2],
    "mx.outer(x, x)": [12, 12, 12],
    "x @ ROW.astype(x.dtype)": [2, 3, 1],
    "x % 2": [1, 1, 1],
    "x // 2": [0, 0, 0],
    "x & 1": [0, 0, 0],
    "mx.sign(x)": [0, 0, 0],
    "x > 1": [0, 0, 0],
    "mx.argmax(x)": [0, 0, 0],
    "mx.array([5.0, 6.0, 7.0, 8.0])[x]": [0, 0, 0],
    "mx.array([5, 6, 7, 8])[x]": [0, 0, 0],
    "mx.stop_gradient(x)": [0, 0, 0],
    "x.astype(mx.float32) ** 2": [2, 4, 6],
    "x * 1.5": [1, 1, 1],
    "x * 0.5": [0, 0, 0],
    "mx.sin(x.astype(mx.float32)) * 8": [4, -3, -7],
    "x.astype(mx.int64) * 2": [2, 2, 2],
    "(x.astype(mx.float32) * 1.5).astype(mx.int32)": [0, 0, 0],
    "x - mx.round(x * 1.0).astype(mx.int32)": [1, 1, 1],
}


def function(source):
    """The source as a function of x."""
    return lambda x: eval(source, {"mx": mx, "ROW": ROW, "x": x})


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("source", BY_INTEGERS)
def test_by_integers(source, dtype):
    """grad, vjp and jvp agree, and the gradient has the dtype of the integers."""
    x = mx.array([1, 2, 3], dtype=dtype)
    expected = np.array(BY_INTEGERS[source])
    f = function(source)
    if mx.issubdtype(dtype, mx.unsignedinteger) and (expected < 0).any():
        expected = None  # a negative float in an unsigned dtype is not defined
    g = mx.grad(lambda x: f(x).sum())(x)
    assert g.dtype == dtype and g.shape == x.shape
    if expected is not None:
        assert np.array_equal(np.array(g), expected)
    y = f(x)
    (value,), (vjp,) = mx.vjp(f, [x], [mx.ones_like(y)])
    assert mx.array_equal(value, y) and vjp.dtype == dtype and mx.array_equal(vjp, g)
    (value,), (tangent,) = mx.jvp(f, [x], [mx.ones_like(x)])
    assert mx.array_equal(value, y)
    assert tangent.dtype == y.dtype and tangent.shape == y.shape
    if expected is not None and not mx.issubdtype(y.dtype, mx.floating) and y.dtype != mx.bool_:
        assert int(tangent.sum().item()) == expected.sum()


BY_FLOATS = {
    "x.astype(mx.int32)": [0, 0, 0],
    "(x.astype(mx.int32) ** 2).astype(mx.float32)": [0, 0, 0],
    "x.astype(mx.int32) * x": [1, 2, 3],
    "mx.array([5.0, 6.0, 7.0, 8.0])[x.astype(mx.int32)] * x": [6, 7, 8],
    "x * ROW": [2, 3, 1],
    "(x > 2) * x": [0, 1, 1],
    "mx.argmax(x).astype(mx.float32)": [0, 0, 0],
    "mx.argsort(x) + x": [1, 1, 1],
    "mx.round(x) + mx.floor(x)": [0, 0, 0],
}


@pytest.mark.parametrize("source", BY_FLOATS)
def test_rounded_values_have_no_derivative(source):
    """A cast from a floating dtype and an index have the derivative 0."""
    x = mx.array([1.25, 2.25, 3.25])
    f = function(source)
    g = mx.grad(lambda x: f(x).sum())(x)
    assert g.dtype == mx.float32 and np.allclose(g, BY_FLOATS[source])
    (y,), (t,) = mx.jvp(f, [x], [mx.ones_like(x)])
    assert t.dtype == y.dtype and np.allclose(t.astype(mx.float32).sum(), sum(BY_FLOATS[source]))


def test_integers_beside_floats():
    """In one tree, and as one of several arguments."""
    n, w = mx.array([1, 2, 3]), mx.array([0.5, 1.5, 2.5])
    g = mx.grad(lambda d: (d["w"] * d["n"]).sum())({"w": w, "n": n})
    assert g["w"].tolist() == [1, 2, 3] and g["w"].dtype == mx.float32
    assert g["n"].tolist() == [0, 1, 2] and g["n"].dtype == mx.int32
    a, b = mx.grad(lambda n, w: (n * n * w).sum(), argnums=(0, 1))(n, w)
    assert a.tolist() == [0, 4, 12] and b.tolist() == [1, 4, 9]


def test_further_derivatives_and_batches():
    """Derivatives of derivatives, under vmap and compile."""
    x = mx.array([1, 2, 3])
    first = mx.grad(lambda x: (x**3).sum())
    assert mx.grad(lambda x: first(x).sum())(x).tolist() == [6, 12, 18]
    rows = mx.stack([x, 2 * x])
    assert mx.vmap(mx.grad(lambda r: (r * r).sum()))(rows).tolist() == [[2, 4, 6], [4, 8, 12]]
    assert mx.compile(first)(x).tolist() == [3, 12, 27]


def test_by_bool():
    """The derivative with respect to bool is False."""
    x = mx.array([True, False])
    g = mx.grad(lambda x: (x * mx.array([2.0, 3.0])).sum())(x)
    assert g.dtype == mx.bool_ and g.tolist() == [False, False]


@pytest.mark.parametrize("cotangent", [[1, 1, 1], [1.5, 1.5, 1.5]])
def test_cotangents_are_truncated_to_integers(cotangent):
    """The cotangent of an integer array is an integer array."""
    x = mx.array([1, 2, 3])
    (g,) = mx.vjp(lambda x: x * 2, [x], [mx.array(cotangent)])[1]
    assert g.dtype == mx.int32 and g.tolist() == [2, 2, 2]
