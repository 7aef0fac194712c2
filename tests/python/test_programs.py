"""Random programs of random ops: every transformation agrees with plain evaluation, and hypothesis
shrinks what does not."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, given, settings

import mlx.core as mx

UNARY = [
    "sin",
    "tanh",
    "exp",
    "negative",
    "abs",
    "square",
    "sigmoid",
    "log1p_abs",
    "sort",
    "cumsum",
]
BINARY = ["add", "multiply", "subtract", "maximum", "matmul", "where"]
SHAPED = ["sum", "mean", "max", "transpose", "reverse", "slice", "softmax", "update", "gather"]


def apply(op, k, a, b):
    """One op on values of shape (4, 4), which it keeps."""
    if op == "log1p_abs":
        return mx.log1p(mx.abs(a))
    if op == "sort":
        return mx.sort(a, axis=k % 2)
    if op == "cumsum":
        return mx.cumsum(a, axis=k % 2) * 0.25
    if op == "matmul":
        return mx.tanh(a @ b)
    if op == "where":
        return mx.where(a > b, a, b * 0.5)
    if op in ("sum", "mean", "max"):
        return a - getattr(mx, op)(a, axis=k % 2, keepdims=True) * 0.125
    if op == "transpose":
        return a.T
    if op == "reverse":
        return a[::-1] if k % 2 else a[:, ::-1]
    if op == "slice":
        return mx.concatenate([a[:, k % 3 :], b[:, : k % 3]], axis=1)
    if op == "softmax":
        return mx.softmax(a, axis=k % 2)
    if op == "update":
        return a.at[k % 4].add(b[0])
    if op == "gather":
        return mx.take(a, mx.array([k % 4, 0, 3, 1]), axis=k % 2)
    return getattr(mx, op)(*([a, b] if op in BINARY else [mx.minimum(a, 3.0)]))


steps = st.lists(
    st.tuples(
        st.sampled_from(UNARY + BINARY + SHAPED),
        st.integers(0, 5),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=14,
)


def program(code):
    def run(x, y):
        values = [x, y]
        for op, k, i, j in code:
            values.append(apply(op, k, values[i % len(values)], values[j % len(values)]))
        return values[-1] + values[len(values) // 2]

    return run


def inputs(seed, n=()):
    rng = np.random.RandomState(seed)
    return [mx.array(rng.uniform(-1, 1, (*n, 4, 4)), mx.float64) for _ in range(2)]


def near(got, want, factor=1e-9):
    got, want = np.array(got), np.array(want)
    np.testing.assert_allclose(got, want, rtol=factor, atol=factor * max(1, np.abs(want).max()))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps, st.integers(0, 3))
def test_programs(code, seed):
    f = program(code)
    x, y = inputs(seed)
    plain = f(x, y)
    np.testing.assert_array_equal(np.array(mx.compile(f)(x, y)), np.array(plain))
    np.testing.assert_array_equal(np.array(mx.compile(f, shapeless=True)(x, y)), np.array(plain))
    near(mx.checkpoint(f)(x, y), plain)

    def loss(x, y):
        return (f(x, y) * mx.cos(mx.arange(16, dtype=mx.float64)).reshape(4, 4)).sum()

    grads = mx.grad(loss, argnums=[0, 1])(x, y)
    for other in (
        mx.compile(mx.grad(loss, argnums=[0, 1])),
        mx.grad(mx.compile(loss), argnums=[0, 1]),
        mx.grad(mx.checkpoint(loss), argnums=[0, 1]),
    ):
        for g, w in zip(other(x, y), grads, strict=True):
            near(g, w)
    tangents = [mx.sin(x), mx.cos(y)]
    forward = mx.jvp(loss, [x, y], tangents)[1][0]
    near(forward, sum((g * t).sum() for g, t in zip(grads, tangents, strict=True)), 1e-8)

    xs, ys = inputs(seed + 10, (3,))
    each = mx.stack([f(a, b) for a, b in zip(xs, ys, strict=True)])
    near(mx.vmap(f)(xs, ys), each)
    near(mx.compile(mx.vmap(mx.compile(f)))(xs, ys), each)
    each = mx.stack([mx.grad(loss)(a, b) for a, b in zip(xs, ys, strict=True)])
    near(mx.vmap(mx.grad(loss))(xs, ys), each)
    near(mx.grad(lambda a: mx.vmap(loss)(a, ys).sum())(xs), each)
