"""Random towers of transformations over random programs against an evaluation that uses none of
them: loops for vmap, nothing for compile and its like, forward derivatives for reverse ones and
reverse ones for forward ones, and differences where a tower has one derivative."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import hypothesis.strategies as st
import numpy as np
from cases import selection
from hypothesis import HealthCheck, given, settings

import mlx.core as mx

N = 2  # functions go from (N, N) to (N, N)
WEIGHTS = mx.array([[0.5, -1.0], [1.5, 0.75]], mx.float64)
SCALES = (1.0, 0.5, -0.75)
SMOOTH = {
    "sin": lambda a, b, k: mx.sin(a),
    "tanh": lambda a, b, k: mx.tanh(a) + 0.25,
    "exp": lambda a, b, k: mx.exp(mx.tanh(a)),
    "add": lambda a, b, k: a + 0.5 * b,
    "multiply": lambda a, b, k: a * b,
    "divide": lambda a, b, k: a / (2 + b * b),
    "matmul": lambda a, b, k: a @ mx.cos(b),
    "sum": lambda a, b, k: a - 0.25 * mx.sum(a, axis=k % 2, keepdims=True) * b,
    "transpose": lambda a, b, k: a.T,
    "reverse": lambda a, b, k: a[::-1] if k % 2 else a[:, ::-1],
    "concatenate": lambda a, b, k: mx.concatenate([a[1:], b[:1]], axis=0),
    "softmax": lambda a, b, k: mx.softmax(a, axis=k % 2),
    "update": lambda a, b, k: a.at[k % N].add(b[0]),
    "set": lambda a, b, k: assigned(a, k % N, b[1] * 0.5),
    "gather": lambda a, b, k: mx.take(a, mx.array([k % N, 0]), axis=k % 2),
    "scan": lambda a, b, k: mx.cumsum(a, axis=k % 2),
    "where": lambda a, b, k: mx.where(mx.array([[True, False], [k % 2 == 0, True]]), a, b),
    "einsum": lambda a, b, k: mx.einsum("ij,kj->ik", a, b),
    "split": lambda a, b, k: mx.concatenate(mx.split(a, N, axis=k % 2)[::-1], axis=k % 2),
    "norm": lambda a, b, k: mx.fast.rms_norm(a, b[0], 1e-3),
    "logsumexp": lambda a, b, k: a - mx.logsumexp(b, axis=k % 2, keepdims=True),
    "stop": lambda a, b, k: a * mx.stop_gradient(mx.ones_like(b)),
}
KINKED = {
    "sort": lambda a, b, k: mx.sort(a, axis=k % 2),
    "max": lambda a, b, k: a - mx.max(b, axis=k % 2, keepdims=True),
    "maximum": lambda a, b, k: mx.maximum(a, b - 0.125),
    "abs": lambda a, b, k: mx.abs(a) * b,
    "select": lambda a, b, k: mx.where(a > b, a, b * 0.5),
}
OPS = SMOOTH | KINKED


def assigned(a, row, value):
    a = a + 0
    a[row] = value
    return a


def program(code):
    """The function of a list of (op, number, operand, operand)."""

    def run(x):
        values = [x, mx.sin(x) + 0.5]
        for op, k, i, j in code:
            values.append(OPS[op](values[i % len(values)], values[j % len(values)], k))
        return values[-1] + 0.5 * values[len(values) // 2]

    return run


def basis():
    for i in range(N * N):
        e = np.zeros(N * N)
        e[i] = 1
        yield mx.array(e.reshape(N, N), mx.float64)


def loss(f):
    return lambda x: (f(x) * WEIGHTS).sum()


def forward(f, x, t):
    return mx.jvp(f, [x], [t])[1][0]


def backward(f, x, c):
    return mx.vjp(f, [x], [c])[1][0]


def differences(f, x, t, h=1e-6):
    return (f(x + h * t) - f(x - h * t)) / (2 * h)


def pulled(f, x, c, push):
    """J^T c, column by column."""
    return mx.stack([(push(f, x, e) * c).sum() for e in basis()]).reshape(N, N)


def pushed(f, x, t):
    """J t, row by row."""
    return mx.stack([(backward(f, x, e) * t).sum() for e in basis()]).reshape(N, N)


def batch(x, axis):
    return mx.stack([x * s for s in SCALES], axis=axis)


def mixed(stacked, axis):
    parts = [mx.take(stacked, i, axis=axis) for i in range(len(SCALES))]
    return parts[0] * 0.5 + parts[1] - parts[2] * 0.25


def custom_with_vjp(f):
    g = mx.custom_function(f)
    g.vjp(lambda x, c, y: backward(f, x, c))
    return g


def custom_with_jvp(f):
    g = mx.custom_function(f)
    g.jvp(lambda x, t: forward(f, x, t))
    return g


def in_tree(f):
    g = mx.compile(lambda d, *, scale: {"y": [f(d["x"]) * scale], "n": None})
    return lambda x: g({"x": x}, scale=1.0)["y"][0]


def evaluated(f, on=lambda call, y: call(y)):
    """The result has its value before what is around goes on, where it may have one."""

    def run(x):
        y = f(x)
        with contextlib.suppress(ValueError):  # nothing has a value inside of vmap and compile
            on(mx.eval, y)
        return y

    return run


def evaluated_elsewhere(f):
    def on_a_thread(call, y):
        with ThreadPoolExecutor(1) as thread:
            thread.submit(call, y).result()

    return evaluated(f, on_a_thread)


def value_and_grad(f):
    def run(x):
        value, slope = mx.value_and_grad(loss(f))(x)
        return value * 0.125 + slope

    return run


def grad_of_tree(f):
    def run(x):
        found = mx.grad(lambda d: loss(f)(d["a"] * 0.5 + d["b"][0]))({"a": x, "b": [x * 0.5]})
        return found["a"] + found["b"][0]

    return run


def identity(f, push):
    return f


# name: (transformed, its meaning given a forward derivative, how many derivatives it takes)
LAYERS = {
    "compile": (mx.compile, identity, 0),
    "shapeless": (lambda f: mx.compile(f, shapeless=True), identity, 0),
    "checkpoint": (mx.checkpoint, identity, 0),
    "custom": (mx.custom_function, identity, 0),
    "custom vjp": (custom_with_vjp, identity, 0),
    "custom jvp": (custom_with_jvp, identity, 0),
    "tree": (in_tree, identity, 0),
    "evaluated": (evaluated, identity, 0),
    "evaluated elsewhere": (evaluated_elsewhere, identity, 0),
    "grad": (lambda f: mx.grad(loss(f)), lambda f, push: lambda x: pulled(f, x, WEIGHTS, push), 1),
    "value and grad": (
        value_and_grad,
        lambda f, push: lambda x: loss(f)(x) * 0.125 + pulled(f, x, WEIGHTS, push),
        1,
    ),
    "grad of tree": (
        grad_of_tree,
        lambda f, push: lambda x: 1.5 * pulled(f, x, WEIGHTS, push),
        1,
    ),
    "vjp": (
        lambda f: lambda x: backward(f, x, mx.cos(x)),
        lambda f, push: lambda x: pulled(f, x, mx.cos(x), push),
        1,
    ),
    "jvp": (
        lambda f: lambda x: forward(f, x, mx.sin(x)),
        lambda f, push: (
            lambda x: pushed(f, x, mx.sin(x)) if push is forward else push(f, x, mx.sin(x))
        ),
        1,
    ),
    "vmap closure": (
        lambda f: lambda x: mx.vmap(lambda s: f(x * s))(mx.array(SCALES, mx.float64)).sum(0),
        lambda f, push: lambda x: sum((f(x * s) for s in SCALES[1:]), f(x * SCALES[0])),
        0,
    ),
    "vmap rows": (
        lambda f: lambda x: mx.vmap(lambda r: f(r[:, None] * r).sum(0), in_axes=1, out_axes=1)(x),
        lambda f, push: (
            lambda x: mx.stack([f(r[:, None] * r).sum(0) for r in (x[:, 0], x[:, 1])], 1)
        ),
        0,
    ),
    "vmap two": (
        lambda f: (
            lambda x: mx.vmap(
                lambda d, y: f(d["x"] * 0.5 + y), in_axes=({"x": 0}, None), out_axes=-1
            )({"x": batch(x, 0)}, x).sum(-1)
        ),
        lambda f, push: (
            lambda x: sum((f(x * (s * 0.5) + x) for s in SCALES[1:]), f(x * (SCALES[0] * 0.5) + x))
        ),
        0,
    ),
}
for at in (0, 1, 2, -1):
    for to in (0, 1, -1):
        LAYERS[f"vmap {at} {to}"] = (
            lambda f, at=at, to=to: (
                lambda x: mixed(mx.vmap(f, in_axes=at, out_axes=to)(batch(x, at)), to)
            ),
            lambda f, push: lambda x: mixed(mx.stack([f(x * s) for s in SCALES]), 0),
            0,
        )


def codes(ops):
    step = st.tuples(
        st.sampled_from(sorted(ops)), st.integers(0, 3), st.integers(0, 20), st.integers(0, 20)
    )
    return st.lists(step, min_size=1, max_size=6)


def derivatives(tower):
    return sum(LAYERS[name][2] for name in tower)


def near(got, want, relative):
    got, want = np.array(got), np.array(want)
    assert got.dtype == np.float64 and got.shape == (N, N)
    scale = max(1.0, np.abs(want).max())
    np.testing.assert_allclose(got, want, rtol=relative, atol=relative * scale)


def check(code, tower, seed, push, relative):
    x = mx.array(np.random.RandomState(seed).uniform(-1, 1, (N, N)), mx.float64)
    f = meaning = program(code)
    for name in tower:
        transformed, plain, _ = LAYERS[name]
        f, meaning = transformed(f), plain(meaning, push)
    want = meaning(x)
    near(f(x), want, relative)
    near(f(x), want, relative)  # compiled functions now replay


options = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "derandomize": True,
    "database": None,
}
names = st.sampled_from(sorted(LAYERS))
towers = st.lists(names, min_size=1, max_size=5).filter(lambda t: derivatives(t) <= 3)


def examples(n):
    """Fewer by default than with --all."""
    return n * 25 if selection.EVERYTHING else n


def test_towers():
    @settings(max_examples=examples(60), **options)
    @given(codes(OPS), towers, st.integers(0, 3))
    def run(code, tower, seed):
        check(code, tower, seed, forward, 1e-8)

    run()


def test_towers_with_one_derivative_against_differences():
    one = st.lists(names, min_size=1, max_size=4).filter(lambda t: derivatives(t) == 1)

    @settings(max_examples=examples(25), **options)
    @given(codes(SMOOTH), one, st.integers(0, 3))
    def run(code, tower, seed):
        check(code, tower, seed, differences, 1e-6)

    run()
