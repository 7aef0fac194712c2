"""Compositions of vmap, derivatives, checkpoints and functions with rules of their own."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from memory_in_use import memory_in_use

import mlx.core as mx
import mlx.utils

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], np.float32)
W = np.array([[1.0, -2.0], [0.5, 3.0], [-1.5, 0.75]], np.float32)


def loss(x):
    return (mx.sin(x) * x).sum()


def inner(w):
    return lambda x: mx.tanh(x @ w).sum()


def scaled_by(w):
    """A function whose rule reads an array that is no argument."""
    f = mx.custom_function(lambda x: x * w.sum())
    f.vjp(lambda x, c, out: c * w.sum() ** 2)
    return f


def loop(f, x, axis=0):
    return mx.stack([f(mx.array(row)) for row in np.moveaxis(x, axis, 0)])


COMPOSED = {
    "vmap of grad": (lambda x, w: mx.vmap(mx.grad(loss))(x), lambda x, w: loop(mx.grad(loss), X)),
    "grad of vmap": (
        lambda x, w: mx.grad(lambda x: mx.vmap(loss)(x).sum())(x),
        lambda x, w: loop(mx.grad(loss), X),
    ),
    "grad of a captured array through vmap": (
        lambda x, w: mx.grad(lambda w: mx.vmap(inner(w))(x).sum())(w),
        lambda x, w: mx.grad(lambda w: inner(w)(x))(w),
    ),
    "nested vmap": (
        lambda x, w: mx.vmap(lambda a: mx.vmap(lambda b: (a * b).sum())(w.T))(x),
        lambda x, w: x @ w,
    ),
    "nested vmap over both inputs": (
        lambda x, w: mx.vmap(mx.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))(
            x, w.T
        ),
        lambda x, w: x[:, None] * w.T[None],
    ),
    "hessian by two vmaps": (
        lambda x, w: mx.vmap(lambda v: mx.jvp(mx.grad(loss), [x[0]], [v])[1][0])(mx.eye(3)),
        lambda x, w: mx.diag(2 * mx.cos(x[0]) - x[0] * mx.sin(x[0])),
    ),
    "vmap of value_and_grad": (
        lambda x, w: mx.vmap(mx.value_and_grad(loss))(x)[0],
        lambda x, w: loop(loss, X),
    ),
    "grad of checkpoint": (
        lambda x, w: mx.grad(lambda x: mx.checkpoint(inner(mx.array(W)))(x))(x),
        lambda x, w: mx.grad(inner(mx.array(W)))(x),
    ),
    "grad of checkpoint of checkpoint": (
        lambda x, w: mx.grad(mx.checkpoint(lambda x: mx.checkpoint(loss)(x * x)))(x),
        lambda x, w: mx.grad(lambda x: loss(x * x))(x),
    ),
    "second derivative through checkpoint": (
        lambda x, w: mx.grad(lambda x: mx.grad(mx.checkpoint(loss))(x).sum())(x),
        lambda x, w: mx.grad(lambda x: mx.grad(loss)(x).sum())(x),
    ),
    "vmap of grad of checkpoint": (
        lambda x, w: mx.vmap(mx.grad(mx.checkpoint(loss)))(x),
        lambda x, w: loop(mx.grad(loss), X),
    ),
    "grad of vmap of checkpoint": (
        lambda x, w: mx.grad(lambda x: mx.vmap(mx.checkpoint(loss))(x).sum())(x),
        lambda x, w: loop(mx.grad(loss), X),
    ),
    "grad of vmap of checkpoint by a shared input": (
        lambda x, w: mx.grad(
            lambda w: mx.vmap(mx.checkpoint(lambda x, w: inner(w)(x)), in_axes=(0, None))(
                x, w
            ).sum()
        )(w),
        lambda x, w: mx.grad(lambda w: inner(w)(x))(w),
    ),
    "grad of checkpoint by what it reads": (
        lambda x, w: mx.grad(lambda w: mx.checkpoint(lambda x: inner(w * 2)(x))(x + w.sum()))(w),
        lambda x, w: mx.grad(lambda w: inner(w * 2)(x + w.sum()))(w),
    ),
    "grad of compiled checkpoint by what it reads": (
        lambda x, w: mx.grad(
            mx.compile(lambda w, x: mx.checkpoint(lambda x: inner(w * 2)(x))(x + w.sum()))
        )(w, x),
        lambda x, w: mx.grad(lambda w: inner(w * 2)(x + w.sum()))(w),
    ),
    "grad of vmap of checkpoint by what it reads": (
        lambda x, w: mx.grad(
            lambda w: mx.vmap(lambda x: mx.checkpoint(lambda x: inner(w * x.sum())(x))(x))(x).sum()
        )(w),
        lambda x, w: mx.grad(lambda w: sum(inner(w * y.sum())(y) for y in x))(w),
    ),
    "grad of checkpoint of one array as argument and read": (
        lambda x, w: mx.grad(mx.compile(lambda x: mx.checkpoint(lambda y: loss(x * y))(x)))(x),
        lambda x, w: mx.grad(lambda x: loss(x * x))(x),
    ),
    "second derivative of checkpoint by what it reads": (
        lambda x, w: mx.grad(
            lambda w: mx.grad(lambda x: mx.checkpoint(lambda y: inner(w * w)(y * x))(x))(x).sum()
        )(w),
        lambda x, w: mx.grad(lambda w: mx.grad(lambda x: inner(w * w)(x * x))(x).sum())(w),
    ),
    "checkpoint with values other than arrays": (
        lambda x, w: mx.grad(lambda x: mx.checkpoint(lambda x: (loss(x), None, {"n": 3}))(x)[0])(x),
        lambda x, w: mx.grad(loss)(x),
    ),
    "custom function with values other than arrays": (
        lambda x, w: mx.grad(lambda x: mx.custom_function(lambda x: (loss(x), None))(x)[0])(x),
        lambda x, w: mx.grad(loss)(x),
    ),
    "grad of compiled custom function with a rule that reads": (
        lambda x, w: mx.grad(mx.compile(lambda x, w: scaled_by(w)(x).sum()))(x[:, :2], w),
        lambda x, w: mx.broadcast_to(w.sum() ** 2, (len(x), 2)),
    ),
    "vmap of compiled custom function with a rule that reads": (
        lambda x, w: mx.vmap(mx.compile(mx.grad(lambda x, w: scaled_by(w)(x).sum())), (0, None))(
            x, w
        ),
        lambda x, w: mx.broadcast_to(w.sum() ** 2, x.shape),
    ),
    "jvp of checkpoint": (
        lambda x, w: mx.jvp(mx.checkpoint(loss), [x], [x])[1][0],
        lambda x, w: mx.jvp(loss, [x], [x])[1][0],
    ),
    "checkpoint with keyword and tree": (
        lambda x, w: mx.grad(
            lambda d: mx.checkpoint(lambda d, *, s: loss(d["x"]) * s)(d, s=x.sum())
        )({"x": x})["x"],
        lambda x, w: mx.grad(lambda x: loss(x) * mx.array(X).sum())(x),
    ),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_compositions(name):
    got, want = (np.array(f(mx.array(X), mx.array(W))) for f in COMPOSED[name])
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


def scaled():
    """x * y with rules that scale, by which they are known."""

    @mx.custom_function
    def f(x, y):
        return x * y

    f.vjp(lambda primals, cotangent, output: (cotangent * 5, cotangent * output * 7))
    f.jvp(lambda primals, tangents: sum(t * 11 for t in tangents if t is not None))
    return f


RULES = {
    "grad": (lambda f, x, y: mx.grad(lambda x: f(x, y).sum())(x), 5 * np.ones(3)),
    "grad of both": (
        lambda f, x, y: mx.grad(lambda x, y: f(x, y).sum(), argnums=(0, 1))(x, y)[1],
        7 * X[0] * X[1],
    ),
    "jvp": (lambda f, x, y: mx.jvp(f, [x, y], [y, x])[1][0], 11 * (X[0] + X[1])),
    "jvp of one": (lambda f, x, y: mx.jvp(lambda x: f(x, y), [x], [y])[1][0], 11 * X[1]),
    "vmap of grad": (lambda f, x, y: mx.vmap(mx.grad(f))(x, y), 5 * np.ones(3)),
    "grad of vmap": (
        lambda f, x, y: mx.grad(lambda y: mx.vmap(f, in_axes=(0, None))(x, y).sum())(y[0]),
        7 * (X[0] * X[1, 0]).sum(),
    ),
    "jvp of vmap": (lambda f, x, y: mx.jvp(mx.vmap(f), [x, y], [y, x])[1][0], 11 * (X[0] + X[1])),
    "value": (lambda f, x, y: f(x, y), X[0] * X[1]),
    "value within vmap": (lambda f, x, y: mx.vmap(f)(x, y), X[0] * X[1]),
}


@pytest.mark.parametrize("name", RULES)
def test_custom_rules(name):
    call, want = RULES[name]
    got = call(scaled(), mx.array(X[0]), mx.array(X[1]))
    np.testing.assert_allclose(np.array(got), want, rtol=2e-6)


def test_custom_vjp_sees_all_cotangents_at_once():
    seen = []

    @mx.custom_function
    def f(d):
        return d["a"] * 2, [d["b"]]

    @f.vjp
    def _(primals, cotangents, outputs):
        seen.append((primals, cotangents, outputs))
        return {"a": cotangents[0] * cotangents[1][0], "b": None}

    def of(a, b):
        first, (second,) = f({"a": a, "b": b})
        return 3 * first.sum() + mx.sum(second * 4)

    da, db = mx.grad(of, argnums=(0, 1))(mx.array([1.0, 2.0]), mx.array([3.0, 4.0]))
    assert len(seen) == 1 and da.tolist() == [12, 12] and db.tolist() == [0, 0]


P, Q = mx.array([1.0, 2.0]), mx.array([3.0, 4.0])

# Function, arguments, cotangents by the rule, and the derivatives of the arrays.
NONE_IN_VJP = {
    "a number": (lambda x, k: x * k, (P, 2.0), lambda p, c, o: (c * p[1], None), [[2, 2]]),
    "a number first": (lambda k, x: x * k, (2.0, P), lambda p, c, o: (None, c * 5), [[5, 5]]),
    "a text between": (
        lambda x, mode, y: x * y,
        (P, "sum", Q),
        lambda p, c, o: (c * p[2], None, c * p[0]),
        [[3, 4], [1, 2]],
    ),
    "an array": (lambda x, y: x * y, (P, Q), lambda p, c, o: (None, c), [[0, 0], [1, 1]]),
    "a branch": (
        lambda d, y: d["a"] * d["b"] * y,
        ({"a": P, "b": Q, "n": 3}, Q),
        lambda p, c, o: (None, c),
        [[0, 0], [0, 0], [1, 1]],
    ),
    "leaves of a dict in another order": (
        lambda d: d["a"] * d["b"],
        ({"a": P, "n": 3, "b": Q},),
        lambda p, c, o: {"b": c * 2, "a": c, "n": None},
        [[1, 1], [2, 2]],
    ),
    "the arrays alone": (lambda x, k: x * k, (P, 2.0), lambda p, c, o: c * 7, [[7, 7]]),
    "the arrays in a list": (
        lambda x, k, y: x,
        (P, 2, Q),
        lambda p, c, o: [c, None],
        [[1, 1], [0, 0]],
    ),
    "integers": (lambda x, i: x[i], (P, mx.array([0, 1])), lambda p, c, o: (c, None), [[1, 1]]),
}


@pytest.mark.parametrize("name", NONE_IN_VJP)
@pytest.mark.parametrize("within", (lambda f: f, mx.compile), ids=("eager", "compiled"))
def test_vjp_rules_may_give_none(name, within):
    f, args, rule, want = NONE_IN_VJP[name]
    f = mx.custom_function(f)
    f.vjp(rule)
    arrays = [a for _, a in mlx.utils.tree_flatten(args) if isinstance(a, mx.array)]
    floating = [k for k, a in enumerate(arrays) if a.dtype == mx.float32]

    def loss(*given):
        given = list(given)
        return f(
            *mlx.utils.tree_map(lambda a: given.pop(0) if isinstance(a, mx.array) else a, args)
        ).sum()

    grads = within(mx.grad(loss, argnums=floating))(*arrays)
    assert [g.tolist() for g in (grads if len(want) > 1 else [grads])] == want


NONE_IN_JVP = {
    "a number": (lambda x: (x * 2, 3), lambda p, t: (t * 5, None), [[5, 5]]),
    "an array": (lambda x: (x * 2, x), lambda p, t: (t * 5, None), [[5, 5], [0, 0]]),
    "a branch": (
        lambda x: {"a": [x, 1, x], "b": x},
        lambda p, t: {"b": t, "a": None},
        [[0, 0]] * 2 + [[1, 1]],
    ),
    "the arrays alone": (lambda x: (x * 2, 3), lambda p, t: t * 5, [[5, 5]]),
}


@pytest.mark.parametrize("name", NONE_IN_JVP)
def test_jvp_rules_may_give_none(name):
    f, rule, want = NONE_IN_JVP[name]
    f = mx.custom_function(f)
    f.jvp(lambda p, t: rule(p, t))

    def arrays(x):
        return [a for _, a in mlx.utils.tree_flatten(f(x)) if isinstance(a, mx.array)]

    _, tangents = mx.jvp(arrays, [P], [mx.ones(2)])
    assert [t.tolist() for t in tangents] == want


def test_custom_vmap_rule():
    f = mx.custom_function(lambda x, y: x + y)
    seen = []

    @f.vmap
    def _(inputs, axes):
        seen.append(axes)
        return inputs[0] * inputs[1], axes[0]

    assert mx.vmap(f, in_axes=(0, None))(mx.array([1.0, 2.0]), mx.array(3.0)).tolist() == [3, 6]
    assert seen == [(0, None)]


def test_custom_rules_may_evaluate():
    f = mx.custom_function(lambda x, y: (x * y, mx.sin(y)))
    f.vjp(lambda p, c, o: (mx.eval(p, c, o), (c[0] * o[0].tolist()[0], c[1] * 2))[1])
    grads = mx.grad(lambda x, y: sum(f(x, y)).sum(), argnums=(0, 1))(
        mx.array([3.0]), mx.array([2.0])
    )
    assert [g.tolist() for g in grads] == [[6], [2]]


WRONG_OF_TWO = {
    "one array": lambda p, c, o: c,
    "one array in a tuple": lambda p, c, o: (c,),
    "one more None": lambda p, c, o: (c, None, c, None),
    "an array for the number": lambda p, c, o: (c, c, c),
    "a number for the number": lambda p, c, o: (c, 0.0, c),
}


@pytest.mark.parametrize("name", WRONG_OF_TWO)
def test_rules_that_give_too_few_arrays_are_errors(name):
    f = mx.custom_function(lambda x, k, y: x * k * y)
    f.vjp(WRONG_OF_TWO[name])
    with pytest.raises(ValueError, match=r"\[vjp\] the rule of a custom function gave"):
        mx.grad(lambda x: f(x, 2.0, x).sum())(P)


WRONG_RULES = {
    "two cotangents for one input": lambda p, c, o: (c, c),
    "no array": lambda p, c, o: "x",
    "another shape": lambda p, c, o: mx.concatenate([c, c]),
}


@pytest.mark.parametrize("name", WRONG_RULES)
def test_wrong_rules_are_errors(name):
    f = mx.custom_function(lambda x: x * 2)
    f.vjp(WRONG_RULES[name])
    with pytest.raises(ValueError, match=r"\[vjp\]"):
        mx.grad(lambda x: f(x).sum())(mx.array([1.0, 2.0]))


def test_exceptions_pass_through():
    def bad(x):
        raise KeyError("mine")

    for transformed in (
        mx.vmap(bad),
        mx.grad(mx.checkpoint(bad)),
        mx.grad(mx.custom_function(bad)),
    ):
        with pytest.raises(KeyError, match="mine"):
            transformed(mx.array([1.0]))
    assert mx.vmap(mx.exp)(mx.array([0.0])).tolist() == [1]  # the depth of traces is what it was


def test_checkpoints_run_the_function_once():
    """The graph is computed again: effects on the program happen once."""
    calls = []

    def f(x):
        calls.append(1)
        return mx.exp(x).sum()

    mx.checkpoint(f)(mx.array([1.0]))
    mx.eval(mx.grad(mx.checkpoint(f))(mx.array([1.0])))
    assert len(calls) == 2


@pytest.mark.parametrize("around", [lambda f: f, mx.compile], ids=["plain", "compiled"])
def test_checkpoints_draw_once(around):
    def noisy(x):
        return (x * mx.random.uniform(shape=x.shape)).sum()

    value, grad = around(mx.value_and_grad(mx.checkpoint(noisy)))(mx.ones(3))
    assert value.item() == pytest.approx(grad.sum().item())


def test_checkpoints_free_their_intermediate_values():
    def layer(x, w):
        for _ in range(12):
            x = mx.tanh(x @ w)
        return x

    def peak(layer, read):
        x, ws = mx.ones((2048, 64)), [mx.eye(64) for _ in range(8)]
        mx.eval(x, ws)
        before = memory_in_use()
        mx.reset_peak_memory()

        def loss(ws):
            h = x
            for w in ws:
                h = layer(lambda h, w=w: read(h, w))(h) if read else layer(h, w)
            return (h * h).sum()

        mx.eval(mx.grad(loss)(ws))
        return mx.get_peak_memory() - before

    all_kept = peak(layer, None)
    assert peak(mx.checkpoint(layer), None) < all_kept / 2
    assert peak(mx.checkpoint, layer) < all_kept / 2


def test_custom_functions_are_collected():
    class Held:
        pass

    def make():
        held = Held()
        f = mx.custom_function(lambda x: (held, x)[1])
        f.vjp(lambda p, c, o: (f, c)[1])
        mx.eval(mx.grad(lambda x: f(x).sum())(mx.array([1.0])))
        return weakref.ref(held)

    watch = make()
    gc.collect()
    assert watch() is None


AXES = {
    "negative": (dict(in_axes=-1, out_axes=-1), lambda x: x * 2, lambda x: x * 2),
    "moved": (dict(in_axes=1, out_axes=1), mx.cumsum, lambda x: np.cumsum(x, 0)),
    "tree": (dict(out_axes=(0, 1)), lambda x: (x, x)[:2], lambda x: x),
    "constant output": (
        dict(),
        lambda x: mx.array([1.0, 2.0]),
        lambda x: np.tile([1.0, 2.0], (2, 1)),
    ),
    "shared output": (dict(out_axes=[None]), lambda x: [mx.array(3.0)], lambda x: 3.0),
}


@pytest.mark.parametrize("name", AXES)
def test_vmap_axes(name):
    options, f, want = AXES[name]
    got = mx.vmap(f, **options)(mx.array(X))
    got = got[0] if isinstance(got, (list, tuple)) else got
    np.testing.assert_allclose(np.array(got), want(X))


ERRORS = {
    "axis out of range": (dict(in_axes=2), lambda x, y: x, IndexError),
    "output axis out of range": (dict(out_axes=2), lambda x, y: x, IndexError),
    "axis of a wrong type": (dict(in_axes=1.5), lambda x, y: x, ValueError),
    "tree of another form": (dict(in_axes=(0, 0, 0)), lambda x, y: x, ValueError),
    "nothing mapped": (dict(in_axes=(None, None)), lambda x, y: x, ValueError),
    "lengths differ": (dict(in_axes=(0, 1)), lambda x, y: x, ValueError),
    "evaluation inside": (dict(), lambda x, y: x.sum().item(), ValueError),
    "output that is no array": (dict(), lambda x, y: 3, ValueError),
    "mapped output without an axis": (dict(out_axes=[None]), lambda x, y: [x], ValueError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_vmap_errors(name):
    options, f, error = ERRORS[name]
    with pytest.raises(error, match=r"\[(vmap|eval)\]"):
        mx.vmap(f, **options)(mx.array(X), mx.array(X))


def test_vmap_takes_other_arguments_where_none_is_mapped():
    assert mx.vmap(lambda x, k: x * k, in_axes=(0, None))(mx.array([1.0, 2.0]), 3).tolist() == [
        3,
        6,
    ]
    with pytest.raises(ValueError, match=r"\[vmap\] a leaf of type int"):
        mx.vmap(lambda x, k: x)(mx.array([1.0]), k=1)


def test_vmap_of_random_numbers_is_a_loop_over_keys():
    keys = mx.random.split(mx.random.key(3), 4)
    got = mx.vmap(lambda k: mx.random.uniform(shape=(5,), key=k))(keys)
    want = mx.stack([mx.random.uniform(shape=(5,), key=k) for k in keys])
    assert mx.array_equal(got, want).item()


def elsewhere(call, *args):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call, *args).result()


def test_rules_hold_on_other_threads():
    f = scaled()
    x, y = mx.array(X[0]), mx.array(X[1])
    assert mx.grad(lambda x: elsewhere(f, x, y).sum())(x).tolist() == [5, 5, 5]
    calls = []

    def counted(x):
        calls.append(1)
        return mx.exp(x)

    got = mx.grad(lambda x: elsewhere(mx.checkpoint(counted), x).sum())(x)
    assert mx.allclose(got, mx.exp(x))
    assert len(calls) == 1


def test_gradients_survive_evaluation_after_an_inner_transformation():
    """On this thread and on another: an inner derivative is a function of the input."""

    def through(run):
        def f(x):
            slope = mx.grad(lambda y: (y * y * y).sum())(x)
            run(mx.eval, slope)
            return (slope * slope).sum()

        return mx.grad(f)(mx.array([1.0, 2.0])).tolist()

    assert through(lambda call, a: call(a)) == [36, 288]
    assert through(elsewhere) == [36, 288]


def test_steps_beside_a_gradient_of_another_thread_let_go_of_their_graphs():
    entered, done = threading.Event(), threading.Event()

    def waits(x):
        entered.set()
        assert done.wait(60)
        return x

    with ThreadPoolExecutor(1) as thread:
        other = thread.submit(mx.grad(waits), mx.array(1.0))
        assert entered.wait(60)
        x = mx.zeros((1000, 250))
        mx.eval(x)
        before = memory_in_use()
        for _ in range(20):
            x = x - 0.1 * mx.grad(lambda x: (mx.sin(x) * x).sum())(x)
            mx.eval(x)
        grown = mx.get_active_memory() - before
        done.set()
        assert other.result().item() == 1
    assert grown < 3 * x.nbytes
