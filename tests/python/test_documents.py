"""The user documents: each example, with the output that it prints.

Examples of compilation are in test_compile.py and test_shapeless.py.
"""

import math

import numpy as np
import pytest

import mlx.core as mx

pytestmark = pytest.mark.anywhere


def test_gradients_of_functions():
    assert str(mx.grad(mx.sin)(mx.array(mx.pi))) == "array(-1, dtype=float32)"
    assert str(mx.cos(mx.array(mx.pi))) == "array(-1, dtype=float32)"
    assert str(mx.grad(mx.grad(mx.sin))(mx.array(mx.pi / 2))) == "array(-1, dtype=float32)"
    assert str(mx.sin(mx.array(mx.pi / 2))) == "array(1, dtype=float32)"


def loss_fn(w, x, y):
    return mx.mean(mx.square(w * x - y))


def test_gradients_by_argument():
    w, x, y = mx.array(1.0), mx.array([0.5, -0.5]), mx.array([1.5, -1.5])
    assert str(mx.grad(loss_fn)(w, x, y)) == "array(-1, dtype=float32)"
    assert str(mx.grad(loss_fn, argnums=1)(w, x, y)) == "array([-1, 1], dtype=float32)"
    loss, gradient = mx.value_and_grad(loss_fn)(w, x, y)
    assert str(loss) == "array(1, dtype=float32)"
    assert str(gradient) == "array(-1, dtype=float32)"


def test_gradients_of_containers():
    def loss(params, x, y):
        return mx.mean(mx.square(params["weight"] * x + params["bias"] - y))

    params = {"weight": mx.array(1.0), "bias": mx.array(0.0)}
    grads = mx.grad(loss)(params, mx.array([0.5, -0.5]), mx.array([1.5, -1.5]))
    expected = "{'weight': array(-1, dtype=float32), 'bias': array(0, dtype=float32)}"
    assert str(grads) == expected


def test_vectorization():
    xs, ys = mx.random.uniform(shape=(4096, 100)), mx.random.uniform(shape=(100, 4096))
    looped = [xs[i] + ys[:, i] for i in range(xs.shape[0])]
    mapped = mx.vmap(lambda x, y: x + y, in_axes=(0, 1))(xs, ys)
    np.testing.assert_array_equal(mapped, mx.stack(looped))
    mapped = mx.vmap(lambda x, y: x + y, in_axes=(1, 0))(xs, ys)
    np.testing.assert_array_equal(mapped, (xs + ys.T).T)


def test_indexing():
    a = mx.arange(10)
    assert str(a[3]) == "array(3, dtype=int32)"
    assert str(a[-2]) == "array(8, dtype=int32)"
    assert str(a[2:8:2]) == "array([2, 4, 6], dtype=int32)"
    assert str(a[mx.array([5, 7])]) == "array([5, 7], dtype=int32)"
    b = mx.arange(8).reshape(2, 2, 2)
    assert b[:, :, 0].tolist() == b[..., 0].tolist() == [[0, 2], [4, 6]]
    assert tuple(mx.arange(8)[None].shape) == (1, 8)


def test_updates_in_place():
    a = mx.array([1, 2, 3])
    b = a
    b[2] = 0
    assert str(a) == str(b) == "array([1, 2, 0], dtype=int32)"

    def fun(x, idx):
        x[idx] = 2.0
        return x.sum()

    gradient = mx.grad(fun)(mx.array([1.0, 2.0, 3.0]), mx.array([1]))
    assert str(gradient) == "array([1, 0, 1], dtype=float32)"


def test_only_used_results_are_computed():
    big = mx.zeros((1 << 18, 1 << 18))  # 256 GiB, were it computed

    def fun(x):
        return x + 1, mx.exp(big + x)

    y, _ = fun(mx.array(1.0))
    assert y.item() == 2


def test_control_flow_on_values():
    def fun(x):
        y = x.sum()
        return (x * 2).sum() if y > 0 else (x * 3).sum()

    assert mx.grad(fun)(mx.array([1.0])).item() == 2
    assert mx.grad(fun)(mx.array([-1.0])).item() == 3


def test_numpy_views():
    a = mx.arange(3)
    b = np.array(a)
    assert mx.array(b).tolist() == [0, 1, 2]
    view = np.asarray(a)
    assert not view.flags.owndata
    view[0] = 1
    assert a[0].item() == 1

    def f(x):
        x_view = np.asarray(x)
        x_view[:] *= x_view
        return x.sum()

    # The document shows that the derivative does not know of the change: a warning tells.
    with pytest.warns(UserWarning, match="has no derivative"):
        value, grad = mx.value_and_grad(f)(mx.array([3.0]))
    assert value.item() == 9.0 and grad.item() == 1.0
    f(x := mx.array([3.0]))
    assert x.item() == 9.0
    assert memoryview(mx.arange(3)).tolist() == [0, 1, 2]


def test_saving(tmp_path):
    a, b = mx.array([1.0]), mx.array([2.0])
    mx.save(str(tmp_path / "array"), a)
    assert str(mx.load(str(tmp_path / "array.npy"))) == "array([1], dtype=float32)"
    mx.savez(str(tmp_path / "arrays"), a, b=b)
    loaded = mx.load(str(tmp_path / "arrays.npz"))
    assert {k: str(v) for k, v in loaded.items()} == {
        "b": "array([2], dtype=float32)",
        "arr_0": "array([1], dtype=float32)",
    }
    mx.save_safetensors(str(tmp_path / "arrays"), {"a": a, "b": b})
    assert mx.load(str(tmp_path / "arrays.safetensors"))["b"].item() == 2
    mx.save_gguf(str(tmp_path / "arrays"), {"a": a, "b": b})
    assert mx.load(str(tmp_path / "arrays.gguf"))["a"].item() == 1


def test_compiled_gradient_and_gelu():
    grad_fn = mx.grad(mx.exp)
    compiled = mx.compile(grad_fn)
    for f in (grad_fn, compiled):
        assert str(f(mx.array(1.0))) == "array(2.71828, dtype=float32)"

    def gelu(x):
        return x * (1 + mx.erf(x / math.sqrt(2))) / 2

    x = mx.random.uniform(shape=(32, 40, 16))
    np.testing.assert_array_equal(mx.compile(gelu)(x), gelu(x))
