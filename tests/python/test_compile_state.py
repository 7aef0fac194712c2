"""Compiled functions with captured state: read, filled in place, donated, restored after errors."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from memory_in_use import memory_in_use

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten


def test_uncaptured_state_is_constant_and_captured_state_is_read():
    state = [mx.array(1.0)]

    def f(x):
        return x + state[0]

    constant, read = mx.compile(f), mx.compile(f, inputs=state)
    assert constant(mx.array(1.0)).item() == 2 and read(mx.array(1.0)).item() == 2
    state[0] = mx.array(5.0)
    assert constant(mx.array(1.0)).item() == 2 and read(mx.array(1.0)).item() == 6


def test_captured_outputs_are_filled_in_place():
    state = []

    @partial(mx.compile, outputs=state)
    def f(x, y):
        z = x + y
        state.append(z)
        return mx.exp(z), state

    f(mx.array(1.0), mx.array(2.0))
    assert str(state) == "[array(3, dtype=float32)]"
    f(mx.array(2.0), mx.array(2.0))
    assert str(state) == "[array(4, dtype=float32)]"


def test_containers_keep_their_identity_and_former_values():
    inner = {"n": mx.array(1.0), "t": (mx.array(2.0), "s")}
    state = {"x": inner, "list": [mx.array(3.0)]}
    held, listed = inner["n"], state["list"]

    @partial(mx.compile, inputs=state, outputs=state)
    def step(dx):
        state["x"]["n"] = state["x"]["n"] + dx
        state["list"][0] += dx
        state["x"]["new"] = dx * 2

    for k in range(1, 4):
        step(mx.array(1.0))
        assert state["x"] is inner and state["list"] is listed
        assert inner["n"].item() == 1 + k and listed[0].item() == 3 + k
        assert inner["new"].item() == 2 and held.item() == 1
    assert inner["t"][1] == "s"


def test_a_training_step_with_module_optimizer_and_random_state():
    def run(compiled):
        mx.random.seed(3)
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 1))
        optimizer = optim.Adam(learning_rate=0.05)
        x, y = mx.random.normal((16, 4)), mx.random.normal((16, 1))
        mx.eval(model.parameters(), x, y)
        loss_and_grad = nn.value_and_grad(model, lambda m, x, y: nn.losses.mse_loss(m(x), y))
        state = [model.state, optimizer.state, mx.random.state]

        def step(x, y):
            loss, grads = loss_and_grad(model, x, y)
            optimizer.update(model, grads)
            return loss

        if compiled:
            step = mx.compile(step, inputs=state, outputs=state)
        losses = []
        for _ in range(6):
            losses.append(step(x, y).item())
            mx.eval(state)
        return losses, dict(tree_flatten(model.parameters()))

    (a, p), (b, q) = run(False), run(True)
    assert len(set(a)) == 6  # dropout draws anew at each step
    np.testing.assert_allclose(a, b, rtol=1e-6)
    for k in p:
        np.testing.assert_allclose(np.array(p[k]), np.array(q[k]), rtol=1e-5, atol=1e-6)


def test_captured_state_is_donated():
    state = [mx.zeros((1 << 20,))]

    @partial(mx.compile, inputs=state, outputs=state)
    def step():
        state[0] = state[0] + 1

    for _ in range(3):
        step()
        mx.eval(state)
    start = memory_in_use()
    mx.reset_peak_memory()
    for _ in range(3):
        step()
        mx.eval(state)
    assert mx.get_peak_memory() - start < 1 << 20
    assert state[0][5].item() == 6


def test_an_input_with_another_reference_is_not_donated():
    f = mx.compile(lambda x, y: (x + 1, y * 2))
    x = mx.ones((1000,)) * 3
    mx.eval(x)
    view = x[10:]
    mx.eval(view)
    for _ in range(2):
        a, b = f(x, x)
        mx.eval(a, b)
        assert x.tolist() == [3] * 1000 and view.tolist() == [3] * 990
        assert a[0].item() == 4 and b[0].item() == 6
    both = f(mx.zeros((1000,)) + 1, mx.zeros((1000,)) + 1)
    assert both[0][0].item() == 2 and both[1][0].item() == 2


def test_errors_leave_everything_as_it_was():
    state = {"w": mx.array(1.0), "l": [mx.array(2.0)]}
    w, inner = state["w"], state["l"]

    @partial(mx.compile, inputs=state, outputs=state)
    def f(x):
        state["w"] = state["w"] + x
        state["new"] = x
        state["l"].append(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        f(mx.array(1.0))
    assert list(state) == ["w", "l"] and state["w"] is w and state["l"] is inner
    assert len(inner) == 1 and inner[0].item() == 2 and w.item() == 1
    assert mx.compile(lambda x: x + 1)(mx.array(1.0)).item() == 2


def test_captured_tuples_are_rebound():
    state = (mx.array(1.0), [mx.array(2.0)])

    @partial(mx.compile, inputs=state, outputs=state)
    def f(x):
        state[1][0] = state[1][0] + state[0] + x

    for k in (1, 2):
        f(mx.array(1.0))
        assert state[0].item() == 1 and state[1][0].item() == 2 + 2 * k


def test_threads_share_captured_state():
    """No thread sees what a trace on another puts into the containers, and no update is lost."""
    state = {"n": mx.array(0), "w": mx.ones(())}

    def step(x):
        state["n"] = state["n"] + 1
        for _ in range(50):
            x = x * state["w"]
        return x

    f = mx.compile(step, inputs=state, outputs=state)

    def work(i):
        with mx.stream(mx.new_stream(mx.cpu)):
            for k in range(14):
                mx.eval(f(mx.ones(1 + (i + k) % 3)))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert state["n"].item() == 56


def test_threads_trace_functions_that_call_each_other():
    met = threading.Barrier(2, timeout=20)

    def caller(other, op):
        def f(x, n):
            if n == 3:
                met.wait()
            return op(functions[other](x, n - 1) if n else x)

        return mx.compile(f)

    functions = {"f": caller("g", lambda x: x + 1), "g": caller("f", lambda x: x * 2)}

    def work(name):
        with mx.stream(mx.new_stream(mx.cpu)):
            return functions[name](mx.ones(()), 3).item()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, "fg")) == [7, 10]
