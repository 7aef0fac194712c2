"""Trees of arrays, and functions that transformations return, as Python sees them."""

import gc
import threading
from collections import OrderedDict, namedtuple

import pytest

import mlx.core as mx


def test_gradients_keep_the_form_of_trees():
    Point = namedtuple("Point", "x y")

    class Named(dict):
        pass

    tree = {"a": Point(mx.array(2.0), [mx.array(3.0)]), "b": Named(c=mx.array(4.0)),
            "d": OrderedDict(e=(mx.array(5.0),))}  # fmt: skip

    def f(t):
        return t["a"].x * t["a"].y[0] * t["b"]["c"] * t["d"]["e"][0]

    g = mx.grad(f)(tree)
    assert isinstance(g["a"], Point) and isinstance(g["b"], Named)
    assert isinstance(g["d"], OrderedDict)
    assert g["a"].x.item() == 60 and g["a"].y[0].item() == 40
    assert g["b"]["c"].item() == 30 and g["d"]["e"][0].item() == 24


def test_selection_of_arguments():
    def f(x, y, z=1.0):
        return x * y * z

    x, y = mx.array(3.0), mx.array(4.0)
    assert mx.grad(f)(x, y).item() == 4
    assert [g.item() for g in mx.grad(f, argnums=(0, 1))(x, y)] == [4, 3]
    assert mx.grad(f, argnums=[1])(x, y).item() == 3
    none, by_name = mx.grad(f, argnames="z")(x, y, z=mx.array(2.0))
    assert none is None and by_name["z"].item() == 12
    first, by_name = mx.grad(f, argnums=0, argnames=["z"])(x, y, z=mx.array(2.0))
    assert first.item() == 8
    for kwargs, args in (({"argnums": 2}, (x, y)), ({"argnums": -1}, (x, y)),
                         ({"argnums": (0, 0)}, (x, y)), ({"argnums": []}, (x, y)),
                         ({"argnames": "z"}, (x, y)), ({}, (3.0, y))):  # fmt: skip
        with pytest.raises(ValueError):
            mx.grad(f, **kwargs)(*args)


def test_auxiliary_results():
    value, grad = mx.value_and_grad(lambda x: (x * x, {"a": x + 1}, "s"))(mx.array(3.0))
    assert value[0].item() == 9 and value[1]["a"].item() == 4 and value[2] == "s"
    assert grad.item() == 6
    for bad in (lambda x: 3.0, lambda x: (), lambda x: [x], lambda x: None):
        with pytest.raises(ValueError):
            mx.value_and_grad(bad)(mx.array(3.0))
    with pytest.raises(ValueError):
        mx.grad(lambda x: (x, x))(mx.array(3.0))
    with pytest.raises(ValueError):
        mx.grad(lambda x: x)(mx.array([3.0, 1.0]))


def test_the_arrays_of_the_caller_stay_as_they_are():
    x, y = mx.array([1.0, 2.0]), mx.array([1.0, 1.0])

    def f(x, y):
        y += 1
        x *= 2
        x[0] = 5.0
        return (x * y).sum()

    assert mx.grad(f)(x, y).tolist() == [0, 4]
    assert x.tolist() == [1, 2] and y.tolist() == [1, 1]


def test_transformed_functions_look_like_the_original():
    def foo(x, scale=2):
        "doc"
        return x * scale

    import inspect

    g = mx.grad(foo)
    assert g.__name__ == "foo" and g.__doc__ == "doc"
    assert list(inspect.signature(g).parameters) == ["x", "scale"]
    assert g(mx.array(1.0), scale=3).item() == 3


def test_errors_of_the_function_pass_through():
    class Mine(Exception):
        pass

    def f(x):
        raise Mine("here")

    with pytest.raises(Mine, match="here"):
        mx.grad(f)(mx.array(1.0))
    assert mx.grad(lambda x: x * x)(mx.array(3.0)).item() == 6


def test_transformed_functions_are_collected():
    import weakref

    class Holder:
        pass

    holder = Holder()
    ref = weakref.ref(holder)
    holder.g = mx.grad(lambda x, h=holder: x * h.scale)
    del holder
    gc.collect()
    assert ref() is None


def test_eval_walks_trees_and_ignores_the_rest():
    a, b = mx.arange(3) + 1, mx.arange(3) * 2
    mx.eval(a, [{"b": (b,)}], None, 3, "x")
    mx.async_eval(a + b)
    assert b.tolist() == [0, 2, 4]


def test_threads_use_arrays_of_others():
    a = mx.arange(1000)
    results = []

    def work():
        for _ in range(50):
            results.append((a + 1).sum().item())

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results == [500500] * 200
