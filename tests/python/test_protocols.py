"""Arrays where Python and NumPy expect a number, a sequence, an array of NumPy's, a pickle."""

import bisect
import copy
import decimal
import fractions
import functools
import math
import pickle
import reprlib
import statistics
import threading

import ml_dtypes
import numpy as np
import pytest

import mlx.core as mx
import mlx.optimizers as optim
from mlx.utils import tree_flatten, tree_map

NUMPY_OPERANDS = [
    np.float64(2),
    np.float32(2),
    np.int64(2),
    np.bool_(True),
    np.array([1.0, 2.0], np.float32),
    np.array([[1], [2]], np.int32),
    np.array(3.0),
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", ">="]


@pytest.mark.parametrize("op", OPERATORS)
def test_numpy_operands_on_the_left_give_arrays(op):
    apply = eval(f"lambda left, right: left {op} right")
    x = mx.array([3.0, 4.0])
    for left in NUMPY_OPERANDS:
        got, want = apply(left, x), apply(left, np.asarray(x))
        assert isinstance(got, mx.array), (op, left)
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)


def test_products_and_bits_with_numpy_on_the_left():
    x = mx.array([3, 5])
    assert isinstance(np.ones((2, 2), np.int32) @ x, mx.array)
    for op in ("&", "|", "^", "<<", ">>"):
        assert isinstance(eval(f"np.array([1, 2], np.int32) {op} x"), mx.array)
    assert divmod(np.array([7, 9], np.int32), x)[0].tolist() == [2, 1]


def test_gradients_with_numpy_on_the_left():
    assert mx.grad(lambda x: (x * (np.sqrt(4) * x)).sum())(mx.array(3.0)).item() == 12
    weights = np.array([1.0, 2.0], np.float32)
    assert mx.grad(lambda x: (weights * x * x).sum())(mx.array([1.0, 1.0])).tolist() == [2, 4]
    assert mx.vmap(lambda x: np.float32(2) * x)(mx.ones(3)).tolist() == [2, 2, 2]
    assert mx.compile(lambda x: weights + x)(mx.ones(2)).tolist() == [2, 3]


def test_ufuncs_by_name_give_numpy_arrays():
    x = mx.array([1.0, 4.0])
    assert isinstance(np.sqrt(x), np.ndarray) and np.sqrt(x).tolist() == [1, 2]
    assert isinstance(np.add(x, x), np.ndarray)


EXPORTS = {
    "ufunc": lambda x: np.sin(x),
    "asarray": lambda x: np.asarray(x),
    "memoryview": lambda x: memoryview(x),
    "dlpack": lambda x: np.from_dlpack(x),
    "interface": lambda x: x.__array_interface__,
}


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("transform", [mx.vmap, mx.compile], ids=lambda t: t.__name__)
def test_exports_of_transformed_arrays_are_refused(export, transform):
    def f(x):
        EXPORTS[export](x)
        return x.sum()

    with pytest.raises(
        (ValueError, BufferError), match="Not allowed inside a graph transformation"
    ):
        transform(f)(mx.ones(3))


def test_reductions_of_numpy():
    x = mx.array([[1.0, 5.0], [2.0, 4.0]])
    n = np.asarray(x)
    for f in (np.sum, np.prod, np.max, np.min, np.mean, np.std, np.var):
        for axis in (None, 0, 1, (0, 1)):
            got = f(x, axis=axis)
            assert isinstance(got, mx.array)
            np.testing.assert_allclose(np.asarray(got), f(n, axis=axis), rtol=1e-6)
        assert f(x, axis=0, keepdims=True).shape == (1, 2)
    assert np.std(x, ddof=1).item() == pytest.approx(np.std(n, ddof=1))
    assert np.any(x > 4).item() and not np.all(x > 4).item()
    assert x.sum(dtype=mx.float64, out=None).dtype == mx.float64
    with pytest.raises(TypeError, match="out of type"):
        np.sum(x, out=np.zeros(()))


def test_sequences():
    x = mx.array([1, 3, 5])
    assert [i.item() for i in reversed(x)] == [5, 3, 1]
    assert bisect.bisect(x, 3) == 2
    assert list(map(int, x)) == [1, 3, 5]
    assert [row.tolist() for row in reversed(mx.ones((2, 1)))] == [[1], [1]]
    with pytest.raises(TypeError):
        reversed(mx.array(1))
    assert statistics.mean(mx.array([1.0, 2.0, 6.0])) == 3


def test_numbers():
    assert round(mx.array([2.567, -1.25]), 1).tolist() == pytest.approx([2.6, -1.2])
    assert round(mx.array(2.5)).item() == 2
    assert math.trunc(mx.array(-2.7)) == -2 and math.floor(mx.array(-2.7)) == -3
    quotient, rest = divmod(mx.array([7, -7]), 2)
    assert quotient.tolist() == [3, -4] and rest.tolist() == [1, 1]
    assert [a.item() for a in divmod(9, mx.array(4))] == [2, 1]
    assert mx.array(2.5).as_integer_ratio() == (5, 2)
    with pytest.raises(TypeError, match="without axes"):
        math.trunc(mx.ones(2))
    assert mx.array(fractions.Fraction(1, 4)).item() == 0.25
    assert mx.array(decimal.Decimal("1.5")).item() == 1.5


def test_array_interface():
    x = mx.arange(6).reshape(2, 3)
    for a in (x, x.T, x[::-1], mx.array(3.5), mx.zeros((0, 2)), mx.array([True]), mx.array([1j])):
        holder = type("Holder", (), {"__array_interface__": a.__array_interface__, "a": a})()
        assert np.array_equal(np.asarray(holder), np.asarray(a))
        assert np.asarray(holder).shape == a.shape

    class Foreign:
        kept = np.arange(4, dtype=np.int16).reshape(2, 2)
        __array_interface__ = kept.__array_interface__

    assert mx.array(Foreign()).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(AttributeError):
        mx.ones(2, mx.bfloat16).__array_interface__  # noqa: B018


def test_bfloat16_in_numpy(monkeypatch):
    x = mx.array([1.5, -2.0], mx.bfloat16)
    for got in (np.asarray(x), np.array(x)):
        assert got.dtype == ml_dtypes.bfloat16 and got.tolist() == [1.5, -2.0]
    assert mx.array(np.asarray(x)).dtype == mx.bfloat16
    import sys

    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match=r"\.astype\(mx\.float32\)"):
        np.asarray(x)


@pytest.mark.parametrize("dtype", ["i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_big_endian_input(dtype):
    for n in (np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3).T, np.array(5), np.zeros(0)):
        n = n.astype(">" + dtype)
        got = mx.array(n)
        assert got.shape == n.shape and np.array_equal(
            np.asarray(got), n.astype(np.asarray(got).dtype)
        )
        assert mx.array(n, mx.float32).dtype == mx.float32


def square(x):
    return x * x


def total(x, y=2.0):
    return (x * x * y).sum()


TRANSFORMED = {
    "compile": (lambda: mx.compile(square), (mx.array(3.0),)),
    "shapeless": (lambda: mx.compile(square, shapeless=True), (mx.array(3.0),)),
    "grad": (lambda: mx.grad(total), (mx.array([1.0, 2.0]),)),
    "grad of two": (lambda: mx.grad(total, argnums=(0, 1)), (mx.ones(2), mx.array(3.0))),
    "grad by name": (lambda: mx.value_and_grad(total, argnums=None, argnames="y"), (mx.ones(2),)),
    "vmap": (lambda: mx.vmap(square, in_axes=1, out_axes=0), (mx.arange(6.0).reshape(2, 3),)),
    "checkpoint": (lambda: mx.checkpoint(square), (mx.array(3.0),)),
    "compiled gradient": (lambda: mx.compile(mx.grad(total)), (mx.array([1.0, 2.0]),)),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformed_functions_pickle(name):
    make, args = TRANSFORMED[name]
    f = make()
    keywords = {"y": mx.array(2.0)} if name == "grad by name" else {}
    again = pickle.loads(pickle.dumps(f))
    want, got = f(*args, **keywords), again(*args, **keywords)
    copied = copy.deepcopy(f)(*args, **keywords)
    for other in (got, copied):
        pairs = zip(tree_flatten([want]), tree_flatten([other]), strict=True)
        assert all(a is b is None or mx.array_equal(a, b) for (_, a), (_, b) in pairs)


@pytest.mark.parametrize(
    "schedule",
    [
        optim.exponential_decay(1e-1, 0.9),
        optim.step_decay(1e-1, 0.9, 10),
        optim.cosine_decay(1e-1, 100),
        optim.linear_schedule(0, 1e-1, 100),
        optim.join_schedules(
            [optim.linear_schedule(0, 0.1, 10), optim.cosine_decay(0.1, 10)], [10]
        ),
    ],
)
def test_optimizers_with_schedules_pickle(schedule):
    optimizer = optim.Adam(learning_rate=schedule)
    parameters = {"w": mx.ones(3)}
    for _ in range(3):
        parameters = optimizer.apply_gradients({"w": mx.ones(3)}, parameters)
    again = pickle.loads(pickle.dumps(optimizer))
    a = optimizer.apply_gradients({"w": mx.ones(3)}, parameters)
    b = again.apply_gradients({"w": mx.ones(3)}, parameters)
    assert mx.array_equal(a["w"], b["w"])
    assert mx.array_equal(optimizer.learning_rate, again.learning_rate)


def test_reprlib():
    assert reprlib.repr(mx.arange(3)) == repr(mx.arange(3))
    assert "array" in reprlib.repr({"a": mx.arange(3)})
    import array

    assert reprlib.repr(array.array("i", [1])) == "array('i', [1])"


def test_the_key_of_random_numbers():
    state = mx.random.state
    assert state[0] is state[0]
    mx.random.seed(3)
    key = mx.random.key(7)
    state[0][:] = key
    assert mx.array_equal(mx.random.state[0], key)
    got = mx.random.uniform().item()
    mx.random.seed(7)
    assert mx.random.uniform().item() == got
    state[0] = key
    assert mx.random.uniform().item() == got
    kept = state[0]
    mx.random.seed(7)
    assert kept is state[0] and mx.array_equal(kept, key)


def test_the_key_flattens_pickles_and_is_saved(tmp_path):
    state = mx.random.state
    mx.random.seed(11)
    assert [path for path, _ in tree_flatten({"rng": state})] == ["rng.0"]
    assert tree_map(lambda a: a + 0, state)[0].tolist() == state[0].tolist()
    kept = pickle.loads(pickle.dumps(state))
    mx.savez(str(tmp_path / "a.npz"), **dict(tree_flatten({"rng": state})))
    first = mx.random.uniform().item()
    state[0] = kept[0]
    assert mx.random.uniform().item() == first
    state[0] = mx.load(str(tmp_path / "a.npz"))["rng.0"]
    assert mx.random.uniform().item() == first
    assert copy.deepcopy(state)[0].shape == (2,)


def test_each_thread_has_a_key_of_its_own():
    mx.random.seed(5)
    before = mx.random.state[0].tolist()
    keys = []

    def work():
        mx.random.seed(6)
        keys.append(mx.random.state[0])
        keys.append(mx.random.uniform().item())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert mx.random.state[0].tolist() == before
    assert keys[0].shape == (2,)  # lives on without its thread
    mx.random.seed(6)
    assert mx.random.uniform().item() == keys[1]


@pytest.mark.parametrize("transform", [mx.vmap, mx.compile], ids=["vmap", "compile"])
def test_evaluation_in_transformations_is_refused_in_the_usual_words(transform):
    for look in (mx.eval, mx.async_eval, lambda x: x.sum().item(), functools.partial(np.asarray)):

        def f(x, look=look):
            look(x)
            return x

        with pytest.raises(
            (ValueError, BufferError), match="Not allowed inside a graph transformation"
        ):
            transform(f)(mx.ones(3))
