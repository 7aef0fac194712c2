"""Jacobians and second derivatives: values, forms, nesting, errors."""

import pickle

import numpy as np
import pytest

import mlx.core as mx

W = np.random.RandomState(0).uniform(-1, 1, (4, 3))


def curve(x):
    """Outputs of shape (4,) from inputs of shape (3,)."""
    return mx.tanh(mx.array(W, x.dtype) @ x)


def slope(x):
    """The Jacobian of the curve, by NumPy."""
    return (1 - np.tanh(W @ x) ** 2)[:, None] * W


X = np.array([0.3, -0.2, 0.9])
BOTH = pytest.mark.parametrize("jacobian", [mx.jacfwd, mx.jacrev])


@BOTH
@pytest.mark.parametrize("dtype", [mx.float32, mx.float64])
def test_values(jacobian, dtype):
    got = jacobian(curve)(mx.array(X, dtype))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, slope(X), rtol=1e-5)
    np.testing.assert_allclose(mx.compile(jacobian(curve))(mx.array(X)), slope(X), rtol=1e-5)


@BOTH
def test_batches(jacobian):
    rows = np.stack([X, -X])
    got = mx.vmap(jacobian(curve))(mx.array(rows))
    np.testing.assert_allclose(got, [slope(X), slope(-X)], rtol=1e-5)


@BOTH
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (3, 0)])
def test_shapes(jacobian, shape):
    x = mx.ones(shape)
    assert jacobian(lambda v: mx.stack([v, v * v]))(x).shape == (2, *shape, *shape)
    assert jacobian(mx.sum)(x).shape == shape
    assert jacobian(lambda v: v[..., None] * mx.zeros((0,)))(x).shape == (*shape, 0, *shape)


@BOTH
def test_layouts(jacobian):
    x = mx.arange(12.0).reshape(3, 4).T[::-2]
    want = jacobian(lambda v: mx.sin(v).sum(0))(mx.array(np.array(x)))
    np.testing.assert_array_equal(jacobian(lambda v: mx.sin(v).sum(0))(x), want)


@BOTH
def test_forms(jacobian):
    """Trees of results, of which each array becomes the form of a gradient."""

    def f(p, scale, *, shift):
        return {"y": p["w"] * scale + shift, "z": [p["b"].sum()]}

    p = {"w": mx.array([1.0, 2.0]), "b": mx.array([3.0])}
    found = jacobian(f, argnums=(0, 1), argnames="shift")(p, mx.array(2.0), shift=mx.array(1.0))
    (by_p, by_scale), by_name = found["y"]
    assert by_p["w"].tolist() == [[2, 0], [0, 2]] and by_p["b"].tolist() == [[0], [0]]
    assert by_scale.tolist() == [1, 2] and by_name["shift"].tolist() == [1, 1]
    assert found["z"][0][0][0]["b"].tolist() == [1]
    assert jacobian(f)(p, 2.0, shift=0.0)["y"]["w"].tolist() == [[2, 0], [0, 2]]


def test_hessian():
    def f(x):
        return (x[0] ** 3) * x[1] + mx.exp(x[2])

    a, b, c = 1.5, -0.5, 0.25
    want = [[6 * a * b, 3 * a * a, 0], [3 * a * a, 0, 0], [0, 0, np.exp(c)]]
    x = mx.array([a, b, c])
    np.testing.assert_allclose(mx.hessian(f)(x), want, rtol=1e-5)
    np.testing.assert_allclose(mx.compile(mx.hessian(f))(x), want, rtol=1e-5)
    np.testing.assert_allclose(mx.jacrev(mx.grad(f))(x), want, rtol=1e-5)
    np.testing.assert_allclose(mx.vmap(mx.hessian(f))(x[None]), [want], rtol=1e-5)


def test_hessian_of_two_arguments():
    (aa, ab), (ba, bb) = mx.hessian(lambda a, b: a * a * b, argnums=(0, 1))(
        mx.array(2.0), mx.array(3.0)
    )
    assert [v.item() for v in (aa, ab, ba, bb)] == [6, 4, 4, 0]


def test_third_derivative():
    third = mx.jacfwd(mx.hessian(lambda x: (x**4).sum()))(mx.array([1.0, 2.0]))
    assert third.tolist() == [[[24, 0], [0, 0]], [[0, 0], [0, 48]]]


@pytest.mark.parametrize("jacobian", [mx.jacfwd, mx.jacrev, mx.hessian])
def test_errors(jacobian):
    name = "jac"
    with pytest.raises(ValueError, match=rf"\[{name}.*int32; real floating dtypes are accepted"):
        jacobian(lambda x: x * 1.5)(mx.array([1]))
    with pytest.raises(ValueError, match="argnums contains 1 but the function is called with 1"):
        jacobian(curve, argnums=1)(mx.array(X))
    with pytest.raises(ValueError, match="argnums contains 0 twice"):
        jacobian(curve, argnums=(0, 0))


def test_integer_results():
    with pytest.raises(ValueError, match="a result of dtype int32"):
        mx.jacrev(lambda x: (x > 0).astype(mx.int32))(mx.array([1.0]))


def test_pickles():
    again = pickle.loads(pickle.dumps(mx.jacfwd(mx.sin)))
    assert again(mx.array([0.0])).tolist() == [[1]]
