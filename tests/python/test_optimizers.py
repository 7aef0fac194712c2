"""mlx.optimizers beyond the golden steps of tests/python/nn: state, schedules, clipping, errors."""

import math

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten, tree_map, tree_unflatten


def shapes(tree):
    """The shapes of a tree's arrays."""
    return tree_map(lambda x: tuple(x.shape), tree)


SCHEDULES = {
    "exponential": (optim.exponential_decay(0.1, 0.9), lambda t: 0.1 * 0.9**t),
    "step": (optim.step_decay(0.1, 0.5, 3), lambda t: 0.1 * 0.5 ** (t // 3)),
    "cosine": (
        optim.cosine_decay(0.1, 5, 0.02),
        lambda t: 0.02 + 0.04 * (1 + math.cos(math.pi * min(t, 5) / 5)),
    ),
    "linear": (optim.linear_schedule(0.1, 0, 4), lambda t: 0.1 - 0.025 * min(t, 4)),
    "joined": (
        optim.join_schedules([lambda t: 1.0, lambda t: 2.0 + t, lambda t: 30.0 + t], [2, 4]),
        lambda t: 1 if t < 2 else t if t < 4 else 26 + t,
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    """Against the formulas, for numbers and for arrays of the step's dtype."""
    schedule, formula = SCHEDULES[name]
    for t in range(9):
        for step in (t, mx.array(t, mx.uint64)):
            assert float(schedule(step)) == pytest.approx(formula(t), rel=1e-5, abs=1e-8)


ERRORS = {
    "optim.linear_schedule(0, 1, 0)": "steps must be greater than 0",
    "optim.cosine_decay(0.1, 0)": "decay_steps must be greater than 0",
    "optim.step_decay(0.1, 0.5, 0)": "step_size must be greater than 0",
    "optim.join_schedules([], [])": "at least 1 schedule",
    "optim.join_schedules([abs], [1])": "Received 1 boundaries but expected 0",
    "optim.SGD(0.1, nesterov=True)": "Nesterov momentum requires",
    "optim.RMSprop(0.1, alpha=-1)": "alpha should be >=0, -1 was provided",
    "optim.Adagrad(0.1, eps=-1)": "epsilon should be >0",
    "optim.AdaDelta(0.1, rho=-1)": "rho should be >=0",
    "optim.Adam(0.1, betas=[0.9, 1.0])": r"beta2 should be in \[0, 1\)",
    "optim.MultiOptimizer([optim.SGD(0.1)] * 2)": "Given 0 filters but 1 needed",
}


@pytest.mark.parametrize("source, message", ERRORS.items())
def test_errors(source, message):
    """Bad settings are a ValueError."""
    with pytest.raises(ValueError, match=message):
        eval(source)


def test_state():
    """The step, the rate and a dict for each parameter; init keeps what is there."""
    layer, optimizer = nn.Sequential(nn.Linear(2, 3), nn.ReLU()), optim.Adam(0.1)
    assert (optimizer.step.dtype, optimizer.learning_rate.dtype) == (mx.uint64, mx.float32)
    before = optimizer.state
    optimizer.init(layer.trainable_parameters())
    moments = {"m": (3, 2), "v": (3, 2)}, {"m": (3,), "v": (3,)}
    assert optimizer.state is before
    assert shapes(before) == {
        "step": (),
        "learning_rate": (),
        "layers": [{"weight": moments[0], "bias": moments[1]}, {}],
    }
    optimizer.update(layer, tree_map(mx.ones_like, layer.trainable_parameters()))
    m = optimizer.state["layers"][0]["weight"]["m"]
    optimizer.init(layer.trainable_parameters())
    assert optimizer.state["layers"][0]["weight"]["m"] is m and optimizer.step.item() == 1
    optimizer.learning_rate = 0.5
    assert optimizer.state["learning_rate"].item() == 0.5
    with pytest.raises(ValueError):
        optimizer.learning_rate = lambda step: step
    with pytest.raises(NotImplementedError):
        optim.Optimizer().init({"a": mx.ones(1)})


def test_resume():
    """A state that went through a flat list continues exactly."""
    rate = optim.linear_schedule(0, 0.1, 10)

    def run(optimizer, parameters, steps):
        for _ in range(steps):
            parameters = optimizer.apply_gradients({"a": mx.array([1.0, -2.0])}, parameters)
        return parameters

    whole, first, second = (optim.AdamW(rate) for _ in range(3))
    expected = run(whole, {"a": mx.ones(2)}, 5)
    half = run(first, {"a": mx.ones(2)}, 3)
    second.state = tree_unflatten(tree_flatten(first.state))
    assert mx.array_equal(run(second, half, 2)["a"], expected["a"]).item()
    assert second.step.item() == 5 and second.learning_rate.item() == pytest.approx(0.04)


def test_schedule_is_evaluated_before_the_step():
    """Step k uses schedule(k), counted from 0; a scheduled rate cannot be overridden for good."""
    optimizer = optim.SGD(lambda step: 0.1 * step)
    seen = []
    for _ in range(3):
        optimizer.apply_gradients({"a": mx.ones(1)}, {"a": mx.ones(1)})
        seen.append((optimizer.learning_rate.item(), optimizer.step.item()))
    assert seen == [(0, 1), (pytest.approx(0.1), 2), (pytest.approx(0.2), 3)]
    optimizer.learning_rate = 7
    optimizer.apply_gradients({"a": mx.ones(1)}, {"a": mx.ones(1)})
    assert optimizer.learning_rate.item() == pytest.approx(0.3)


def test_partial_update():
    """Parameters without gradients stay; unknown ones are a KeyError."""
    layer, optimizer = nn.Linear(2, 2), optim.SGD(1.0)
    bias, weight = layer.bias, np.array(layer.weight)
    optimizer.update(layer, {"weight": mx.ones((2, 2))})
    assert layer.bias is bias
    np.testing.assert_allclose(np.array(layer.weight), weight - 1, rtol=1e-6)
    with pytest.raises(KeyError):
        optimizer.update(layer, {"nope": mx.ones(2)})


def test_multi_optimizer():
    """Each parameter goes to the first optimizer whose filter takes it."""
    both = optim.MultiOptimizer(
        [optim.SGD(0.1, momentum=0.9), optim.Adam(0.01)],
        [lambda path, x: path == "w" or x.ndim > 1],
    )
    parameters = {"w": mx.ones(2), "l": [mx.ones((1, 1)), {"q": mx.ones(1)}]}
    both.init(parameters)
    first, second = both.state["states"]
    assert shapes(first) == {
        "step": (),
        "learning_rate": (),
        "w": {"v": (2,)},
        "l": [{"v": (1, 1)}],
    }
    assert shapes(second["l"]) == [{}, {"q": {"m": (1,), "v": (1,)}}]
    after = both.apply_gradients(parameters, parameters)
    assert after["w"].tolist() == pytest.approx([0.9, 0.9])
    assert after["l"][0].tolist() == [[pytest.approx(0.9)]]
    assert after["l"][1]["q"].tolist() == [pytest.approx(1 - 0.01 * 0.1 / math.sqrt(0.001))]
    both.learning_rate = 0.5
    assert [o.learning_rate.item() for o in both.optimizers] == [0.5, 0.5]
    assert both.step.item() == 1
    both.state = both.state
    for bad in ({}, [], {"states": []}):
        with pytest.raises(ValueError, match="Invalid state"):
            both.state = bad


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16], ids=["float32", "float16"])
def test_clip_grad_norm(dtype):
    """The norm of all together, computed in float32 at least."""
    gradients = {"a": mx.full((4,), 300, dtype), "b": [mx.full((5,), 300, dtype)]}
    clipped, norm = optim.clip_grad_norm(gradients, 1.0)
    assert norm.item() == 900 and norm.dtype == mx.float32
    assert clipped["b"][0].dtype == dtype
    assert clipped["a"].tolist() == pytest.approx([1 / 3] * 4, rel=2e-3)
    same, _ = optim.clip_grad_norm(gradients, 1000.0)
    assert same["a"].tolist() == [300] * 4
    zero, norm = optim.clip_grad_norm({"a": mx.zeros(3)}, 1.0)
    assert norm.item() == 0 and zero["a"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("clip", [optim.clip_grad_norm, nn.utils.clip_grad_norm_sharded])
def test_clip_grad_norm_of_other_gradients(clip):
    """Integers are scaled in float32, complex numbers have a real norm, negative bounds are no."""
    (clipped, flag), norm = clip([mx.array([3, 4]), mx.array([True])], 1.0)
    assert norm.item() == pytest.approx(26**0.5)
    assert clipped.dtype == flag.dtype == mx.float32
    assert clipped.tolist() == pytest.approx([3 / 26**0.5, 4 / 26**0.5], rel=1e-6)
    (clipped,), norm = clip([mx.array([3 + 4j])], 1.0)
    assert norm.item() == 5 and norm.dtype == mx.float32
    assert clipped.item() == pytest.approx(0.6 + 0.8j, rel=1e-6)
    (clipped,), _ = clip([mx.array([3.0, 4.0])], 0.0)
    assert clipped.tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"max_norm should be >=0, -1\.0"):
        clip([mx.array([3.0, 4.0])], -1.0)


NAMES = [
    *("SGD", "RMSprop", "Adagrad", "AdaDelta", "Adam"),
    *("AdamW", "Adamax", "Lion", "Adafactor", "Muon"),
]


@pytest.mark.parametrize("name", NAMES)
def test_half_precision_stays(name):
    """float16 parameters and their state stay float16."""
    optimizer = getattr(optim, name)(0.1)
    parameters = {"w": mx.ones((2, 3), mx.float16), "b": mx.ones((3,), mx.float16)}
    after = optimizer.apply_gradients(tree_map(mx.ones_like, parameters), parameters)
    leaves = tree_flatten(after) + tree_flatten({k: optimizer.state[k] for k in after})
    assert {str(x.dtype) for _, x in leaves} == {"mlx.core.float16"}
    assert all(bool(mx.all(mx.isfinite(x)).item()) for _, x in leaves)


@pytest.mark.parametrize("name", NAMES)
def test_descent(name):
    """Every optimizer brings a linear model close to the line it is to learn."""
    mx.random.seed(0)
    rate = {"AdaDelta": 0.3, "Lion": 0.01, "SGD": 0.5, "Adagrad": 0.5}.get(name, 0.05)
    options = {"Adafactor": {"relative_step": False}, "AdaDelta": {"eps": 1e-3}}.get(name, {})
    model, optimizer = nn.Linear(3, 1), getattr(optim, name)(rate, **options)
    x = mx.random.normal((64, 3))
    y = x @ mx.array([[1.0], [-2.0], [0.5]]) + 0.25
    step = nn.value_and_grad(model, lambda: nn.losses.mse_loss(model(x), y))
    start = step()[0].item()
    for _ in range(300):
        loss, gradients = step()
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state)
    assert loss.item() < 0.02 * start


def test_compiled_step():
    """A compiled step with model and optimizer as captured state is the plain step."""

    def run(compiled):
        mx.random.seed(0)
        model, optimizer = nn.Linear(2, 1), optim.Adam(optim.cosine_decay(0.1, 8))
        gradients_of = nn.value_and_grad(model, lambda x: model(x).square().sum())

        def step(x):
            loss, gradients = gradients_of(x)
            optimizer.update(model, gradients)
            return loss

        optimizer.init(model.trainable_parameters())
        state = [model.state, optimizer.state]
        if compiled:
            step = mx.compile(step, inputs=state, outputs=state)
        losses = [step(mx.array([[1.0, 2.0]])).item() for _ in range(5)]
        assert optimizer.step.item() == 5
        return losses

    assert run(compiled=True) == pytest.approx(run(compiled=False), rel=1e-6)


SETTINGS = {
    "SGD(learning_rate=0.1, momentum=0.9, weight_decay=0.0, dampening=0.0, nesterov=False)": (
        lambda: optim.SGD(0.1, momentum=0.9)
    ),
    "RMSprop(learning_rate=0.01, alpha=0.99, eps=1e-08)": lambda: optim.RMSprop(0.01),
    "Lion(learning_rate=<schedule cosine_decay>, betas=[0.9, 0.99], weight_decay=0.0)": (
        lambda: optim.Lion(optim.cosine_decay(0.1, 10))
    ),
    "Muon(learning_rate=<schedule schedule_of_a_test>, momentum=0.95, weight_decay=0.01,"
    " nesterov=True, ns_steps=5)": lambda: optim.Muon(schedule_of_a_test),
}


def schedule_of_a_test(step):
    return 0.1


@pytest.mark.parametrize("text", SETTINGS)
def test_repr(text):
    """The settings by name; schedules by their function."""
    assert repr(SETTINGS[text]()) == text


@pytest.mark.parametrize("name", ["Adafactor", "MultiOptimizer", "Adam", "AdaDelta"])
def test_repr_of_others(name):
    """Every optimizer has one, also while its state is traced."""
    made = optim.MultiOptimizer([optim.SGD(1.0)]) if name == "MultiOptimizer" else None
    made = made or getattr(optim, name)(learning_rate=0.1)
    texts = []

    def traced(x):
        texts.append(repr(made))
        return x

    mx.compile(traced, inputs=made.state)(mx.array(1.0))
    assert repr(made).startswith(f"{name}(") and texts[0].startswith(f"{name}(")


@pytest.mark.parametrize("given", [{"w": mx.array(1.0)}, [mx.array(1.0)], nn.Linear(1, 1)])
def test_parameters_are_no_learning_rate(given):
    """As the first argument, where other libraries have them."""
    with pytest.raises(TypeError, match=r"\[Adam\] learning_rate is a \w+; .* is accepted"):
        optim.Adam(given)
