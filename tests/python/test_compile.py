"""Compiled functions: traces, shapes, errors, and other transformations around and inside them."""

import gc
import inspect
import re
import threading
import warnings
import weakref
from collections import namedtuple

import numpy as np
import pytest
from processes import run_program

import mlx.core as mx


class Counted:
    """A function that counts how often it runs."""

    def __init__(self, fun):
        self.fun, self.runs = fun, 0

    def __call__(self, *args, **kwargs):
        self.runs += 1
        return self.fun(*args, **kwargs)


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(np.array(a.astype(mx.float32)), np.array(b.astype(mx.float32)))


def formula(x, y):
    return mx.exp(-x) + y


def test_a_compiled_function_has_the_functions_results():
    f = mx.compile(formula)
    x, y = mx.array(1.0), mx.array(2.0)
    assert str(f(x, y)) == "array(2.36788, dtype=float32)"
    same(f(x, y), formula(x, y))


def test_one_trace_per_signature():
    f = Counted(formula)
    g = mx.compile(f)
    a, b = mx.ones((2, 3)), mx.ones((2, 3))
    for _ in range(3):
        g(a, b)
    assert f.runs == 1
    mx.compile(f)(a, b)  # another wrapper of the same function
    assert f.runs == 1
    g(mx.ones((4,)), mx.ones((4,)))
    g(a.astype(mx.float16), b)
    g(a, 2.0)
    g(a, 2.0)
    g(a, 2)
    assert f.runs == 5
    g(a, 3.0)
    assert f.runs == 6


def test_traces_die_with_the_last_wrapper():
    f = Counted(formula)
    gc.collect()  # traces of other tests
    before = mx.compile_cache_info()["size"]
    g = mx.compile(f)
    g(mx.ones(2), mx.ones(2))
    assert mx.compile_cache_info()["size"] == before + 1
    alive = weakref.ref(f)
    del f, g
    gc.collect()
    assert mx.compile_cache_info()["size"] == before
    assert alive() is None


class Held:
    """Something that a weak reference can watch."""

    def __init__(self, *things):
        self.things = list(things)


def cycle_through_closure():
    held = Held()

    def f(x):
        return x * (2 if held and wrapper else 1)

    wrapper = mx.compile(f)
    return wrapper, held


def cycle_through_result():
    held = Held()

    def f(x):
        return x, held

    wrapper = mx.compile(f)
    held.things.append(wrapper)
    return wrapper, held


def cycle_through_inputs():
    held = Held()
    state = [mx.array(1.0), held]
    wrapper = mx.compile(lambda x: x + state[0], inputs=state)
    held.things.append(wrapper)
    return wrapper, held


def cycle_through_outputs():
    held = Held()
    state = {"a": mx.array(1.0)}

    def f(x):
        state["a"] = x
        state["b"] = held
        return x

    wrapper = mx.compile(f, outputs=state)
    held.things.append(wrapper)
    return wrapper, held


def cycle_through_two_wrappers():
    held = Held()

    def f(x):
        return x + 1, held

    wrapper = mx.compile(f)
    held.things += [wrapper, mx.compile(f), mx.grad(lambda x: mx.compile(f)(x)[0])]
    held.things[1](mx.array(1.0))
    held.things[2](mx.array(1.0))
    return wrapper, held


def cycle_through_transformations():
    held = Held()

    def f(x):
        return x.sum() if held else x

    wrapper = mx.vmap(mx.checkpoint(mx.grad(mx.compile(f))))
    held.things.append(wrapper)
    return wrapper, held


@pytest.mark.parametrize(
    "make",
    [
        cycle_through_closure,
        cycle_through_result,
        cycle_through_inputs,
        cycle_through_outputs,
        cycle_through_two_wrappers,
        cycle_through_transformations,
    ],
)
def test_cycles_through_compiled_functions_are_collected(make):
    wrapper, held = make()
    kept = mx.compile_cache_info()["size"]
    for shape in ((2,), (3,)):
        wrapper(mx.ones(shape))
    gc.collect()
    assert mx.compile_cache_info()["size"] >= kept  # used traces stay
    wrapper(mx.ones(2))
    alive = weakref.ref(held)
    del wrapper, held
    gc.collect()
    assert alive() is None


def test_captured_objects_are_told_apart_by_identity():
    class Mode:
        def __init__(self, scale):
            self.scale = scale

    state = [None, mx.array(2.0)]
    f = mx.compile(lambda x: x * state[1] * state[0].scale, inputs=state)
    x = mx.array(1.0)
    for scale in range(1, 16):
        state[0] = Mode(scale)  # may lie where the last one was
        assert f(x).item() == 2.0 * scale
    # Classes as well: the second one may lie where the first one was.
    for n in range(20):
        kind = namedtuple(f"Pair{n}", "a b")
        assert type(mx.compile(lambda p: p)(kind(x, x))) is kind
        g = mx.compile(lambda p: p._replace(a=p.b))
        assert type(g(kind(x, x))) is kind


def test_the_cache_is_bounded():
    f = Counted(lambda x: x + 1)
    g = mx.compile(f)
    former = mx.set_compile_cache_size(2)
    try:
        for n in (1, 2, 3):
            mx.eval(g(mx.ones(n)))
        assert mx.compile_cache_info()["size"] == 2
        g(mx.ones(3))
        assert f.runs == 3
        g(mx.ones(1))
        assert f.runs == 4
        mx.clear_compile_cache()
        assert mx.compile_cache_info()["size"] == 0
        g(mx.ones(3))
        assert f.runs == 5
    finally:
        mx.set_compile_cache_size(former)


def test_a_function_that_is_traced_often_warns_once():
    g = mx.compile(lambda x: x * 2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in range(1, 40):
            g(mx.ones(n))
    assert len(seen) == 1
    text = str(seen[0].message)
    assert "lambda" in text and "args[0]: an array of shape (16,), float32 became" in text


Pair = namedtuple("Pair", "a b")


def test_arguments_and_results_are_trees():
    def f(x, options, scale=1.0, name="x"):
        return {"sum": [x["a"] + x["b"].b, None], "pair": Pair(x["b"].a * scale, name)}, options

    g = mx.compile(f)
    x = {"a": mx.array(1.0), "b": Pair(mx.array(2.0), mx.array(3.0))}
    for _ in range(2):
        out, options = g(x, [None, 2, "s", True], scale=2.0, name="n")
        assert out["sum"][0].item() == 4 and out["sum"][1] is None
        assert type(out["pair"]) is Pair and out["pair"].a.item() == 4 and out["pair"].b == "n"
        assert options == [None, 2, "s", True]
    assert g(x, [], name="m")[0]["pair"].b == "m"


@pytest.mark.parametrize("bad", [np.ones(2), set(), 1 + 2j, b"x", object(), mx.float32])
def test_other_arguments_are_refused(bad):
    with pytest.raises(ValueError, match=r"\[compile\] an argument of type"):
        mx.compile(lambda x: x)(bad)


def test_the_wrapper_looks_like_the_function():
    def f(x, y=2):
        "Words."
        return x * y

    g = mx.compile(f)
    assert str(inspect.signature(g)) == "(x, y=2)"
    assert (g.__name__, g.__doc__) == ("f", "Words.")


def test_outputs_that_are_inputs_constants_or_repeated():
    c = mx.arange(3)

    def f(x):
        y = x + 1
        return x, c, y, y, mx.array(5), 7, None

    for _ in range(2):
        x, k, y, z, five, seven, none = mx.compile(f)(mx.array([1.0, 2.0]))
        assert x.tolist() == [1, 2] and k.tolist() == [0, 1, 2] and y.tolist() == z.tolist()
        assert five.item() == 5 and seven == 7 and none is None


# --- placeholders --------------------------------------------------------------------------------


def evaluations():
    yield "eval", lambda x: mx.eval(x + 1)
    yield "eval input", lambda x: mx.eval(x)
    yield "async_eval", lambda x: mx.async_eval(x + 1)
    yield "print", lambda x: str(-x)
    yield "repr input", lambda x: repr(x)
    yield "item", lambda x: x.sum().item()
    yield "tolist", lambda x: x.tolist()
    yield "bool", lambda x: bool((x > 0).all())
    yield "numpy", lambda x: np.array(x)
    yield "memoryview", lambda x: memoryview(x)
    yield "nonzero", lambda x: mx.nonzero(x)
    yield "mask", lambda x: x[x > 0]


@pytest.mark.parametrize("name", [n for n, _ in evaluations()])
def test_reading_a_placeholder_names_the_function(name):
    read = dict(evaluations())[name]

    def my_function(x):
        read(x)
        return x

    with pytest.raises(ValueError, match=r"my_function|traced"):
        mx.compile(my_function)(mx.ones(3))
    with pytest.raises(ValueError):
        mx.vmap(my_function)(mx.ones((2, 3)))


def test_leaked_placeholders_print_and_raise():
    leaked = []

    @mx.compile
    def my_function(x):
        leaked.extend([x, x + 1])
        return x * 2

    assert my_function(mx.ones(2)).tolist() == [2, 2]
    for a in leaked:
        assert str(a) == "array(<placeholder>, shape=(2,), dtype=float32)"
        with pytest.raises(ValueError, match="my_function"):
            mx.eval(a)
        with pytest.raises(ValueError, match="my_function"):
            mx.eval(a * 3)


def test_evaluation_inside_grad_works_and_async_is_refused():
    def f(x):
        y = x * x
        mx.eval(y)
        return (y * 2).sum()

    assert mx.grad(f)(mx.array([1.0, 2.0])).tolist() == [4, 8]

    def g(x):
        mx.async_eval(x * x)
        return x.sum()

    with pytest.raises(ValueError, match="async_eval"):
        mx.grad(g)(mx.ones(2))


def test_constants_can_be_evaluated_while_tracing():
    def f(x):
        k = mx.arange(3) * 2
        return x + k.sum().item()

    assert mx.compile(f)(mx.array(1.0)).item() == 7


# --- with other transformations ------------------------------------------------------------------

X = [0.5, -1.0, 2.0]


def body(x):
    return mx.sin(x) * x + mx.exp(-x * x)


@pytest.mark.parametrize(
    "outer",
    [
        lambda f: f,
        lambda f: mx.grad(lambda x: f(x).sum()),
        lambda f: mx.grad(lambda x: mx.grad(lambda x: f(x).sum())(x).sum()),
        lambda f: mx.vmap(f),
        lambda f: mx.vmap(mx.grad(f)),
        lambda f: lambda x: mx.jvp(f, [x], [mx.ones_like(x)])[1][0],
        lambda f: lambda x: mx.vjp(f, [x], [mx.ones_like(x)])[1][0],
        lambda f: mx.checkpoint(f),
        lambda f: mx.grad(lambda x: mx.checkpoint(f)(x).sum()),
        lambda f: mx.compile(lambda x: f(f(x))),
    ],
    ids=[
        "plain",
        "grad",
        "grad of grad",
        "vmap",
        "vmap of grad",
        "jvp",
        "vjp",
        "checkpoint",
        "grad of checkpoint",
        "nested",
    ],
)
def test_transformations_of_compiled_and_compiled_transformations(outer):
    x = mx.array(X)
    plain = outer(body)(x)
    np.testing.assert_allclose(outer(mx.compile(body))(x), plain, rtol=1e-6)
    np.testing.assert_allclose(mx.compile(outer(body))(x), plain, rtol=1e-6)
    np.testing.assert_allclose(mx.compile(outer(mx.compile(body)))(x), plain, rtol=1e-6)


def test_a_compiled_closure_over_an_outer_input():
    def outer(x):
        return mx.compile(lambda y: y * x)(x + 1).sum()

    x = mx.array(X)
    expected = 2 * np.array(X) + 1
    np.testing.assert_allclose(mx.grad(outer)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(mx.compile(mx.grad(outer))(x), expected, rtol=1e-6)
    held = []
    inner = mx.compile(lambda y: y * held[0])

    def f(x, value):
        held[:] = [x]
        return inner(value)

    for value in (2.0, 3.0):  # captured values belong to one gradient only
        assert mx.grad(f)(mx.array(1.0), mx.array(value)).item() == value


def test_an_outer_input_that_is_only_returned_belongs_to_one_call():
    held = []
    inner = mx.compile(lambda y: (y * 2, held[0]))

    def f(x):
        held[:] = [x]
        return inner(mx.array(1.0))[1] * x

    for value in (3.0, 5.0):
        assert mx.grad(f)(mx.array(value)).item() == 2 * value


def test_custom_rules_survive():
    @mx.custom_function
    def f(x):
        return x * x

    @f.vjp
    def f_vjp(primal, cotangent, output):
        return cotangent * 100

    g = mx.compile(lambda x: f(x) + 1)
    assert g(mx.array(3.0)).item() == 10
    assert mx.grad(g)(mx.array(3.0)).item() == 100
    assert mx.compile(mx.grad(g))(mx.array(3.0)).item() == 100
    h = mx.compile(lambda x: mx.stop_gradient(x) * x)
    assert mx.grad(h)(mx.array(3.0)).item() == 3


# --- what runs -----------------------------------------------------------------------------------


def test_a_chain_of_calls_and_ordinary_ops():
    f = mx.compile(lambda x: x * 2 + 1)
    x = mx.array([1.0, 2.0])
    y = f(f(x) - 1) + f(x)
    expected = ((np.array([1, 2.0]) * 2 + 1) - 1) * 2 + 1 + (np.array([1, 2.0]) * 2 + 1)
    assert y.tolist() == expected.tolist()
    z = x
    for _ in range(500):
        z = f(z) * 0.5
    assert z.tolist() == [251.0, 252.0]


def test_strided_broadcast_and_sliced_inputs():
    f = mx.compile(lambda x, y: x @ y + x.sum(axis=1, keepdims=True))
    base = mx.random.normal((12, 12))
    views = [base[:4, :4], base.T[1:5, 2:6], base[::3, ::3], base[3::-1, 3::-1]]
    views.append(mx.broadcast_to(base[0, :4], (4, 4)))
    for a in views:
        for b in views:
            mx.eval(a, b)
            np.testing.assert_array_equal(f(a, b), a @ b + a.sum(axis=1, keepdims=True))


def test_common_work_is_done_once_and_identities_vanish():
    x = mx.random.normal((64,))

    def f(x):
        a = mx.exp(x * 1 + 0) / 1
        b = mx.exp(x)
        return mx.negative(-a) + b.astype(mx.float32).reshape(64).T.T

    np.testing.assert_array_equal(mx.compile(f)(x), f(x))
    for v in (-0.0, float("nan"), float("inf")):
        z = mx.array([v])
        for g in (
            lambda x: x + 0.0,
            lambda x: x * 1.0,
            lambda x: x - 0.0,
            lambda x: mx.negative(-x),
        ):
            a, b = np.array(mx.compile(g)(z)), np.array(g(z))
            assert np.array_equal(np.signbit(a), np.signbit(b)) and np.array_equal(
                a, b, equal_nan=True
            )


def test_many_outputs():
    f = mx.compile(lambda *xs: [x + 1 for x in xs])
    out = f(*[mx.full((2,), k) for k in range(600)])
    mx.eval(out)
    assert [o[0].item() for o in out] == list(range(1, 601))


def test_disable_compile():
    f = Counted(lambda x: x + 1)
    g = mx.compile(f)
    g(mx.array(1))
    mx.disable_compile()
    try:
        assert g(mx.array(1)).item() == 2 and f.runs == 2
        assert mx.compile(lambda x: x.item())(mx.array(3)) == 3
    finally:
        mx.enable_compile()
    g(mx.array(1))
    assert f.runs == 2


def test_threads():
    f = Counted(lambda x, w: mx.tanh(x @ w).sum())
    g = mx.compile(f)
    w = mx.random.normal((8, 8))
    mx.eval(w)
    data = [np.random.default_rng(i).normal(size=(4, 8)).astype(np.float32) for i in range(4)]
    expected = [np.tanh(d @ np.array(w)).sum() for d in data]
    errors = []

    def work(i):
        try:
            for _ in range(50):
                got = g(mx.array(data[i]), w).item()
                np.testing.assert_allclose(got, expected[i], rtol=1e-4, atol=1e-5)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors[0]


def test_recursion():
    @mx.compile
    def f(x, n):
        return x if n == 0 else f(x * 2, n - 1)

    assert f(mx.array(1.0), 5).item() == 32


PASSES = """
import sys
import mlx.core as mx
f = lambda x: mx.exp(x) + 1
f = mx.compile(f) if sys.argv[1] == "compiled" else f
x = mx.ones((4,))
mx.eval(x)
for _ in range(4):
    print("next", file=sys.stderr, flush=True)
    mx.eval(f(x))
"""


@pytest.mark.parametrize("kind", ["eager", "compiled"])
def test_calls_go_through_the_passes_of_graphs(kind):
    """A form without a plan takes all of them, a form with one the last."""
    code, _, err = run_program(PASSES, kind, MLX_DEBUG="passes")
    assert code == 0, err
    evaluations = [re.findall(r"^pass (\w+) \S+ us$", e, re.M) for e in err.split("next\n")[1:]]
    first, *_, last = [[name for name in e if name != "schedule"] for e in evaluations]
    launch = ["bind", "publish", "prepare", "run"]
    assert first == ["place", "fuse", "lower", "rows", "assign", *launch]
    assert last == launch
    assert all(e[0] == "schedule" for e in evaluations)
