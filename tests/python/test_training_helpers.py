"""Mixed precision, accumulated gradients, plateaus and minimization beside the optimizers' rows."""

import pickle

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten, tree_map

X = mx.array(np.random.RandomState(0).randn(8, 4).astype(np.float32))
Y = mx.array(np.random.RandomState(1).randn(8, 2).astype(np.float32))


def net(dtype=mx.float32):
    mx.random.seed(3)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    model.set_dtype(dtype)
    return model


def loss_of(model, x=X, y=Y):
    return mx.mean(mx.square(model(x.astype(model.layers[0].weight.dtype)) - y))


def test_accumulated_gradients():
    """The mean over batches is the gradient of all rows."""
    model = net()
    step = nn.value_and_grad(model, lambda x, y: loss_of(model, x, y))
    whole = step(X, Y)[1]
    accumulator = optim.GradientAccumulator(4)
    for _ in range(2):
        means = [accumulator.add(step(X[k : k + 2], Y[k : k + 2])[1]) for k in range(0, 8, 2)]
        assert means[:3] == [None] * 3
        for (_, a), (_, b) in zip(tree_flatten(means[3]), tree_flatten(whole), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="steps should be >=1, 0 was provided"):
        optim.GradientAccumulator(0)


@pytest.mark.parametrize("scale", [None, 1024.0, "dynamic"])
@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32])
def test_master_weights(scale, dtype):
    """The float32 copies are those of the optimizer alone with the same gradients."""
    model, parameters = net(dtype), None
    optimizer, alone = optim.MixedPrecision(optim.Adam(1e-3), scale), optim.Adam(1e-3)
    step = nn.value_and_grad(model, lambda: optimizer.scale_loss(loss_of(model)))
    parameters = tree_map(lambda x: x.astype(mx.float32), model.trainable_parameters())
    for _ in range(5):
        factor = optimizer.state["scale"]
        _, gradients = step()
        wide = tree_map(lambda g: g.astype(mx.float32) / factor, gradients)  # noqa: B023
        optimizer.update(model, gradients)
        parameters = alone.apply_gradients(wide, parameters)
    master = dict(tree_flatten(optimizer.state["master"]))
    for path, x in tree_flatten(model.parameters()):
        assert x.dtype == dtype and master[path].dtype == mx.float32
        assert mx.array_equal(x, master[path].astype(dtype))
        np.testing.assert_allclose(master[path], dict(tree_flatten(parameters))[path], rtol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_dynamic_scale(compiled):
    """Infinite gradients halve the scale and change nothing else; quiet steps double it."""
    optimizer = optim.MixedPrecision(optim.Adam(1e-2), "dynamic", growth_interval=2)
    w = {"w": mx.array([1.0, 2.0], mx.float16)}
    optimizer.init(w)

    def update(gradients, w):
        return optimizer.apply_gradients(gradients, w)

    state, seen = optimizer.state, []
    run = mx.compile(update, inputs=state, outputs=state) if compiled else update
    for g in (1.0, np.inf, 1.0, 1.0, np.nan):
        before = {path: mx.array(x) for path, x in tree_flatten(state["optimizer"])}
        new = run({"w": mx.array([g, 1.0], mx.float16)}, w)
        mx.eval(new, state)
        unchanged = mx.array_equal(new["w"], w["w"]).item()
        kept = all(mx.array_equal(x, before[k]) for k, x in tree_flatten(state["optimizer"]))
        assert unchanged == kept == (not np.isfinite(g))
        w = new
        seen.append(state["scale"].item() / 2**15)
    assert seen == [1, 0.5, 0.5, 1, 0.5] and optimizer.step.item() == 3


def test_mixed_precision_settings():
    optimizer = optim.MixedPrecision(optim.SGD(0.1), 128.0)
    assert optimizer.scale_loss(mx.array(2.0)).item() == 256
    optimizer.learning_rate = 0.5
    assert optimizer.learning_rate.item() == 0.5 and optimizer.step.item() == 0
    assert pickle.loads(pickle.dumps(optimizer)).loss_scale == 128.0
    for wrong in ("static", -1.0):
        with pytest.raises(ValueError, match="loss_scale should be None, 'dynamic' or >0"):
            optim.MixedPrecision(optim.SGD(0.1), wrong)


def test_plateau():
    """The learning rates follow the definition of PyTorch's scheduler of this name."""
    sgd = optim.SGD(1.0)
    plateau = optim.ReduceOnPlateau(sgd, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    rates = []
    for metric in [3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]:
        plateau.step(mx.array(metric))
        rates.append(round(sgd.learning_rate.item(), 3))
    assert rates == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2]
    best = optim.ReduceOnPlateau(optim.SGD(1.0), patience=0, mode="max")
    for metric in (0.5, 0.6, 0.5):
        best.step(metric)
    assert round(best.optimizer.learning_rate.item(), 3) == 0.1
    for wrong in ({"factor": 1.0}, {"mode": "least"}):
        with pytest.raises(ValueError, match="must be"):
            optim.ReduceOnPlateau(sgd, **wrong)
    with pytest.raises(ValueError, match="follows a schedule"):
        optim.ReduceOnPlateau(optim.SGD(optim.step_decay(0.1, 0.5, 2)))


def test_minimization():
    """Rosenbrock's function has its minimum at ones, and a quadratic one where A x = b."""

    def valley(w):
        x = w["x"]
        return mx.sum(100 * mx.square(x[1:] - mx.square(x[:-1])) + mx.square(1 - x[:-1]))

    start = {"x": mx.zeros((6,), mx.float64)}
    best, value = optim.LBFGS().minimize(mx.value_and_grad(valley), start, 200, 1e-9)
    np.testing.assert_allclose(best["x"], 1, atol=1e-8)
    assert value.item() < 1e-16
    a = np.random.RandomState(0).randn(5, 5)
    a, b = mx.array(a @ a.T + np.eye(5), mx.float64), mx.array(np.arange(5.0), mx.float64)
    solve = mx.value_and_grad(lambda w: 0.5 * w["x"] @ a @ w["x"] - b @ w["x"])
    best, _ = optim.LBFGS().minimize(solve, {"x": mx.zeros((5,), mx.float64)}, tolerance=1e-5)
    np.testing.assert_allclose(a @ best["x"], b, atol=1e-3)
    here, value = optim.LBFGS().minimize(solve, {"x": mx.zeros((5,), mx.float64)}, max_iter=0)
    assert here["x"].tolist() == [0] * 5 and value.item() == 0


def test_steps_of_lbfgs_compile():
    optimizer, other = optim.LBFGS(0.5, 3), optim.LBFGS(0.5, 3)
    w = {"a": mx.array([1.0, -2.0]), "b": [mx.array([[3.0]])]}
    optimizer.init(w)

    def gradients(w):
        return mx.grad(lambda w: mx.sum(w["a"] ** 4) + mx.sum(mx.cosh(w["b"][0])))(w)

    def update(w):
        return optimizer.apply_gradients(gradients(w), w)

    compiled = mx.compile(update, inputs=optimizer.state, outputs=optimizer.state)
    eager = w
    for _ in range(6):
        w = compiled(w)
        eager = other.apply_gradients(gradients(eager), eager)
    for (_, x), (_, y) in zip(tree_flatten(w), tree_flatten(eager), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)
