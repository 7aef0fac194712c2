"""Linear maps at a point, second results, shapes without values: values, forms, nesting, errors."""

import pickle

import numpy as np
import pytest

import mlx.core as mx

X, Y = mx.array([0.3, -0.7]), mx.array(1.5)


def f(tree, y):
    """A tree of trees."""
    return {"product": tree["x"] * mx.sin(y), "parts": [mx.exp(tree["x"][0]) * y]}


def pulled(c, d):
    """The cotangents of the arguments of f by NumPy."""
    x, y = np.array(X, np.float64), 1.5
    of_x = c * np.sin(y) + d * y * np.exp(x[0]) * np.array([1, 0])
    return of_x, (c * x).sum() * np.cos(y) + d * np.exp(x[0])


def pushed(t, s):
    """The tangents of the results of f by NumPy."""
    x, y = np.array(X, np.float64), 1.5
    return t * np.sin(y) + x * np.cos(y) * s, np.exp(x[0]) * (t[0] * y + s)


@pytest.mark.parametrize("times", [1, 3])
def test_cotangents(times):
    calls = []
    out, pull = mx.vjp_fn(lambda *a: calls.append(a) or f(*a), {"x": X}, Y)
    before = len(calls)
    np.testing.assert_allclose(out["product"], np.array(X) * np.sin(1.5), rtol=1e-6)
    for k in range(times):
        c, d = np.array([1.0, k]), 0.5
        tree, y = pull({"product": mx.array(c, mx.float32), "parts": [mx.array(d)]})
        want = pulled(c, d)
        np.testing.assert_allclose(tree["x"], want[0], rtol=1e-6)
        np.testing.assert_allclose(y, want[1], rtol=1e-6)
    assert len(calls) == before  # the map does not call the function
    np.testing.assert_allclose(
        pull({"product": None, "parts": [mx.array(1.0)]})[1], pulled(0, 1)[1]
    )


def test_tangents():
    calls = []
    _, push = mx.linearize(lambda *a: calls.append(a) or f(*a), {"x": X}, Y)
    assert len(calls) == 1
    t, s = np.array([1.0, -2.0]), 0.25
    got = push({"x": mx.array(t, mx.float32)}, mx.array(s))
    np.testing.assert_allclose(got["product"], pushed(t, s)[0], rtol=1e-6)
    np.testing.assert_allclose(got["parts"][0], pushed(t, s)[1], rtol=1e-6)
    np.testing.assert_allclose(
        push(None, mx.array(1.0))["parts"][0], pushed(np.zeros(2), 1)[1], rtol=1e-6
    )
    assert len(calls) == 1


@pytest.mark.parametrize("make", [mx.vjp_fn, mx.linearize])
def test_transformations(make):
    """Derivatives, batches and compiled calls of a function that uses a linear map."""

    def g(x):
        return make(lambda y: mx.sin(y) * x, x)[1](mx.array(1.0, x.dtype))

    x = mx.array([0.5, -0.2], mx.float64)
    value, slope = np.array(x) * np.cos(x), np.cos(x) - np.array(x) * np.sin(x)
    np.testing.assert_allclose(mx.vmap(g)(x), value, rtol=1e-12)
    np.testing.assert_allclose(mx.vmap(mx.grad(g))(x), slope, rtol=1e-12)
    np.testing.assert_allclose(mx.vmap(mx.compile(g))(x), value, rtol=1e-12)
    np.testing.assert_allclose(mx.compile(mx.grad(g))(x[0]), slope[0], rtol=1e-12)
    scanned = mx.scan(lambda c, v: (c, g(v)), mx.array(0.0), x)[1]
    np.testing.assert_allclose(scanned, value, rtol=1e-12)


def test_random_numbers_are_those_of_the_result():
    mx.random.seed(0)
    out, pull = mx.vjp_fn(lambda x: x * mx.random.uniform(shape=(3,)), mx.ones((3,)))
    for _ in range(2):
        assert mx.array_equal(pull(mx.ones((3,))), out)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32, mx.float64, mx.complex64])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_dtypes_and_shapes(dtype, shape):
    x = mx.full(shape, 2.0, dtype)
    for make in (mx.vjp_fn, mx.linearize):
        out, linear = make(mx.square, x)
        got = linear(mx.ones(shape, dtype))
        assert got.dtype == out.dtype == dtype and got.shape == shape
        assert mx.array_equal(got, 2 * x)
    assert mx.array_equal(mx.linear_transpose(lambda v: 3 * v, x)(x), 3 * x)


def test_second_results():
    """has_aux: any tree beside the value, of the call with the arguments themselves."""

    def with_aux(x):
        return mx.sum(x**3), {"twice": x * 2, "name": "n"}

    x = mx.array([1.0, 2.0])
    cube = mx.array([3.0, 12.0])
    results = {
        "grad": mx.grad(with_aux, has_aux=True)(x),
        "value_and_grad": mx.value_and_grad(with_aux, has_aux=True)(x),
        "jacfwd": mx.jacfwd(with_aux, has_aux=True)(x),
        "jacrev": mx.jacrev(with_aux, has_aux=True)(x),
    }
    for name in ("grad", "jacfwd", "jacrev"):
        assert mx.allclose(results[name][0], cube), name
        assert results[name][1]["twice"].tolist() == [2, 4] and results[name][1]["name"] == "n"
    (value, aux), gradient = results["value_and_grad"]
    assert value.item() == 9 and aux["name"] == "n" and mx.array_equal(gradient, cube)
    second, aux = mx.hessian(with_aux, has_aux=True)(x)
    np.testing.assert_allclose(second, np.diag([6, 12]))
    assert aux["twice"].tolist() == [2, 4]
    for make in (mx.vjp_fn, mx.linearize):
        value, _, aux = make(with_aux, x, has_aux=True)
        assert value.item() == 9 and aux["twice"].tolist() == [2, 4]
    compiled = mx.compile(lambda x: mx.grad(lambda x: (mx.sum(x**3), x + 1), has_aux=True)(x))
    assert [a.tolist() for a in compiled(x)] == [[3, 12], [2, 3]]
    batched = mx.vmap(mx.grad(lambda x: (x**3, x + 1), has_aux=True))(x)
    assert [a.tolist() for a in batched] == [[3, 12], [2, 3]]
    assert pickle.loads(pickle.dumps(mx.grad(cubes, has_aux=True)))(X)[1] == 3


def cubes(x):
    return mx.sum(x**3), 3


def test_shapes_without_values():
    struct = mx.ShapeDtypeStruct((3, 4), mx.float16)
    out = mx.eval_shape(lambda a, b=None: {"y": a @ b, "n": 3}, struct, b=mx.zeros((4, 5)))
    assert out == {"y": mx.ShapeDtypeStruct((3, 5), mx.float32), "n": 3}
    assert out["y"].shape == (3, 5) and out["y"].dtype == mx.float32 and out["y"].ndim == 2
    assert hash(struct) == hash(mx.ShapeDtypeStruct([3, 4], mx.float16)) and struct != out["y"]
    huge = mx.ShapeDtypeStruct((2**20, 2**20), mx.float32)
    assert mx.eval_shape(mx.grad(lambda x: (x @ x).sum()), huge) == huge
    with pytest.raises(ValueError, match=r"\[eval\] .* of eval_shape"):
        mx.eval_shape(lambda x: x.item(), mx.zeros(()))
    with pytest.raises(TypeError, match="a shape of type str; an int or a sequence"):
        mx.ShapeDtypeStruct("ab", mx.float32)


def test_keywords_of_vmap():
    """Arrays in keyword arguments are mapped over their first axes."""
    rows, table = mx.arange(3.0), {"k": mx.arange(6.0).reshape(3, 2)}
    got = mx.vmap(lambda a, b=None: a + b["k"].sum())(rows, b=table)
    assert got.tolist() == [1, 6, 11]
    assert (
        mx.vmap(lambda *, b: b * 2, in_axes=1)(b=table["k"]).tolist() == (table["k"] * 2).tolist()
    )
    axes = ({"x": 1, "y": None}, [0, None])
    tree = ({"x": mx.ones((2, 3)), "y": mx.ones((4,))}, [mx.arange(3.0), 2.0])
    out = mx.vmap(lambda d, s: d["x"].sum() + d["y"].sum() + s[0] * s[1], in_axes=axes)(*tree)
    assert out.tolist() == [6, 8, 10]
    with pytest.raises(ValueError, match="a keyword argument"):
        mx.vmap(lambda a, b: a)(rows, b=2)


def test_apply_at_indices():
    x = mx.arange(6.0)
    assert x.at[1:3].apply(mx.square).tolist() == [0, 1, 4, 3, 4, 5]
    assert x.at[mx.array([0, 5])].apply(lambda v: v - 1).tolist() == [-1, 1, 2, 3, 4, 4]
    gradient = mx.grad(lambda v: v.at[1:3].apply(mx.square).sum())(x)
    assert gradient.tolist() == [1, 2, 4, 1, 1, 1]
    with pytest.raises(ValueError, match="no indices were given"):
        x.at.apply(mx.square)


ERRORS = {
    "form": (lambda: mx.vjp_fn(f, {"x": X}, Y)[1](Y), ValueError, "trees like the result"),
    "tangents": (lambda: mx.linearize(mx.sin, Y)[1](X), ValueError, r"has shape \(2,\); \(\) is"),
    "leaf": (lambda: mx.vjp_fn(mx.sin, 1.0), ValueError, "trees of arrays are accepted"),
    "pair": (lambda: mx.grad(mx.sum, has_aux=True)(X), ValueError, "has_aux=True that returned"),
    "pair of vjp_fn": (
        lambda: mx.vjp_fn(mx.sum, X, has_aux=True),
        ValueError,
        "that returned array",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()
