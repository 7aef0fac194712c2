"""Groups of parameters: their rules, state, rates and errors; the optimizers' rows have values."""

import copy
import pickle

import pytest

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten, tree_map, tree_unflatten

RULES = {"layers.0": {"learning_rate": 0.5}, "*.bias": {"weight_decay": 0.0}}


def net(dtype=mx.float32):
    mx.random.seed(3)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    model.set_dtype(dtype)
    return model


def groups(rules=None, **settings):
    settings = {"learning_rate": 0.1, "weight_decay": 0.1, **settings}
    return optim.ParameterGroups(optim.AdamW, RULES if rules is None else rules, **settings)


def steps(optimizer, model, count):
    for k in range(count):
        gradients = tree_map(lambda x: mx.sin(x * 7 + k), model.trainable_parameters())  # noqa: B023
        optimizer.update(model, gradients)
    mx.eval(model.state, optimizer.state)


def equal(one, two):
    pairs = zip(tree_flatten(one), tree_flatten(two), strict=True)
    return all(p == q and mx.array_equal(a, b).item() for (p, a), (q, b) in pairs)


RULE_CASES = {
    "weight": ([], [0, 1, 2, 3]),
    "layers.0": ([0, 1], [2, 3]),
    "layers.0.weight": ([0], [1, 2, 3]),
    "*.weight": ([0, 2], [1, 3]),
    "*bias": ([1, 3], [0, 2]),
    "layers.?.bias": ([1, 3], [0, 2]),
    "layers.[2-9]": ([2, 3], [0, 1]),
    "*": ([0, 1, 2, 3], []),
}
PATHS = ["layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"]


@pytest.mark.parametrize("pattern", RULE_CASES)
def test_patterns(pattern):
    """A pattern fits whole paths and those below; the same as pairs or as a dict."""
    want = [sorted(PATHS[k] for k in part) for part in RULE_CASES[pattern]]
    for rules in ({pattern: {}}, [(pattern, {})], ((pattern, {}),)):
        found = groups(rules).paths(net().trainable_parameters())
        assert [sorted(part) for part in found] == want


def test_first_rule_counts():
    """A rule after another one gets what is left, functions see path and array."""
    seen = []

    def large(path, x):
        seen.append((path, x.shape))
        return x.ndim > 1

    found = groups([("layers.0.bias", {}), (large, {}), ("*", {})]).paths(net().parameters())
    assert [sorted(part) for part in found] == [[PATHS[1]], [PATHS[0], PATHS[2]], [PATHS[3]], []]
    assert (PATHS[2], (2, 3)) in seen and PATHS[1] not in dict(seen)


def test_frozen_parameters():
    """Parameters without gradients stay."""
    model, optimizer = net(), groups({"layers.2": {"learning_rate": 0.5}})
    model.layers[0].freeze()
    before = dict(tree_flatten(model.parameters()))
    steps(optimizer, model, 2)
    changed = [k for k, x in tree_flatten(model.parameters()) if not mx.array_equal(x, before[k])]
    assert sorted(changed) == sorted(PATHS[2:])


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16, mx.float64], ids=str)
@pytest.mark.parametrize("again", ["state", "flat", "pickle", "deepcopy"])
def test_training_goes_on(again, dtype):
    """After three steps, a copy takes the fourth and fifth as the optimizer itself."""
    model, optimizer = net(dtype), groups(learning_rate=optim.cosine_decay(0.1, 10))
    steps(optimizer, model, 3)
    other = copy.deepcopy(model)
    if again in ("state", "flat"):
        second = groups(learning_rate=optim.cosine_decay(0.1, 10))
        state = copy.deepcopy(optimizer.state)
        second.state = state if again == "state" else tree_unflatten(tree_flatten(state))
    else:
        second = copy.deepcopy(optimizer) if again == "deepcopy" else None
        second = second or pickle.loads(pickle.dumps(optimizer))
    steps(optimizer, model, 2)
    steps(second, other, 2)
    assert equal(model.parameters(), other.parameters()) and second.step.item() == 5
    assert all(x.dtype == dtype for _, x in tree_flatten(model.parameters()))


def test_saved_and_loaded(tmp_path):
    """The state goes through a file of arrays by path."""
    model, optimizer = net(), groups()
    steps(optimizer, model, 2)
    mx.save_safetensors(str(tmp_path / "state.safetensors"), dict(tree_flatten(optimizer.state)))
    second = groups()
    second.state = tree_unflatten(list(mx.load(str(tmp_path / "state.safetensors")).items()))
    other = copy.deepcopy(model)
    steps(optimizer, model, 1)
    steps(second, other, 1)
    assert equal(model.parameters(), other.parameters())
    with pytest.raises(ValueError, match="Invalid state"):
        groups({}).state = optimizer.state


def test_compiled():
    """A compiled step changes parameters and the state of all groups as an eager one."""
    results = []
    for compiled in (False, True):
        model, optimizer = net(), groups(learning_rate=optim.step_decay(0.1, 0.5, 2))
        optimizer.init(model.trainable_parameters())
        loss = nn.value_and_grad(model, lambda x: mx.mean(mx.square(model(x))))  # noqa: B023

        def step(x):
            value, gradients = loss(x)  # noqa: B023
            optimizer.update(model, gradients)  # noqa: B023
            return value

        state = [model.state, optimizer.state]
        run = mx.compile(step, inputs=state, outputs=state) if compiled else step
        for k in range(4):
            run(mx.ones((5, 4)) * (k + 1))
        mx.eval(model.state, optimizer.state)
        assert optimizer.step.item() == 4 and optimizer.learning_rate.item() < 0.1
        results.append(tree_flatten(model.parameters()))
    for (path, a), (other, b) in zip(*results, strict=True):
        assert path == other and mx.allclose(a, b, rtol=1e-5, atol=1e-6).item()


def test_rates():
    """The rate of the rest is set for groups without one of their own."""
    optimizer = groups()
    assert optimizer.learning_rate.item() == pytest.approx(0.1)
    optimizer.learning_rate = 0.3
    rates = [group.learning_rate.item() for group in optimizer.optimizers]
    assert rates == pytest.approx([0.5, 0.3, 0.3])
    assert [group.weight_decay for group in optimizer.optimizers] == [0.1, 0.0, 0.1]


def test_mixed_precision():
    """Master weights are grouped by the paths of the parameters."""
    model = net(mx.float16)
    rules = {"layers.0": {"learning_rate": 0.0}}
    optimizer = optim.MixedPrecision(
        optim.ParameterGroups(optim.SGD, rules, learning_rate=0.1), "dynamic"
    )
    before = dict(tree_flatten(model.parameters()))
    gradients = tree_map(lambda x: mx.full_like(x, 2**15), model.trainable_parameters())
    optimizer.update(model, gradients)
    for path, x in tree_flatten(model.parameters()):
        assert mx.array_equal(x, before[path]).item() == path.startswith("layers.0")
    assert optimizer.step.item() == 1


def test_unused_pattern():
    """A pattern that fits no path gives a warning when the state is made."""
    with pytest.warns(UserWarning, match=r"'laiers\.0' fits none of 4 parameters, such as"):
        groups({"laiers.0": {}}).init(net().trainable_parameters())
    with pytest.warns(UserWarning, match="fits none of 0 parameters$"):
        groups({"a": {}}).init({})


ERRORS = [
    (lambda: optim.ParameterGroups(optim.SGD(0.1), {}), TypeError, "optimizer is an object of SGD"),
    (lambda: groups({1: {}}), TypeError, "a rule for 1; a pattern of paths or a function"),
    (lambda: groups({"a": 0.1}), TypeError, "0.1 as the settings of 'a'; a dict of settings"),
    (lambda: groups({"a": {"weigth_decay": 0.0}}), TypeError, "weigth_decay"),
    (lambda: groups({"a": {"lr": 0.1}}), TypeError, "for lr= write learning_rate="),
    (lambda: groups({"a": {"betas": [0.9, 1.0]}}), ValueError, r"beta2 should be in \[0, 1\)"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS, ids=[text for *_, text in ERRORS])
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_repr():
    """The rules with their optimizers."""
    text = repr(optim.ParameterGroups(optim.SGD, {"b": {"momentum": 0.5}}, learning_rate=0.1))
    assert text.startswith("ParameterGroups(b: SGD(learning_rate=0.1, momentum=0.5,")
    assert "; others: SGD(learning_rate=0.1, momentum=0" in text
