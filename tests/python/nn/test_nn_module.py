"""Module: its tree, freezing, updating, files, and gradients through it."""

import copy
import pickle

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map


class Net(nn.Module):
    """One of everything that an attribute can be."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
        self.blocks = [nn.Linear(3, 3), nn.ReLU(), [nn.Dropout(0.25)]]
        self.table = {"x": nn.Embedding(4, 2), "y": mx.array([1.0]), "n": 3}
        self.w = mx.zeros((2,))
        self.pair = (nn.ReLU(), mx.array(1))
        self._hidden = mx.ones((1,))
        self.number = 3
        self.norm = nn.BatchNorm(2)

    def __call__(self, x):
        """Use the first layer only."""
        return self.a(x)

    def _extra_repr(self):
        return "number=3"


def paths(tree):
    """The paths of a tree's leaves."""
    return [path for path, _ in tree_flatten(tree)]


def shapes(tree):
    """The shapes of a tree's arrays."""
    return tree_map(lambda x: tuple(x.shape), tree)


LINEAR = {"weight": (3, 2), "bias": (3,)}
BATCH_NORM = {"weight": (2,), "bias": (2,), "running_mean": (2,), "running_var": (2,)}


def test_repr_lists_the_children():
    """One line for each child, indented, with its path."""
    assert repr(Net()) == (
        "Net(number=3\n"
        "  (a): Linear(input_dims=2, output_dims=3, bias=True)\n"
        "  (blocks.0): Linear(input_dims=3, output_dims=3, bias=True)\n"
        "  (blocks.1): ReLU()\n"
        "  (blocks.2.0): Dropout(p=0.25)\n"
        "  (table.x): Embedding(4, 2)\n"
        "  (norm): BatchNorm(2, eps=1e-05, momentum=0.1, affine=True,"
        " track_running_stats=True)\n"
        ")"
    )
    assert repr(nn.Module()) == "Module()"


def test_entries_and_attributes():
    """Arrays and containers are entries, the rest are attributes, and either may replace one."""
    net = Net()
    assert list(net) == ["a", "blocks", "table", "w", "pair", "_hidden", "norm"]
    assert net.number == 3 and "number" not in net
    net.number = mx.array(1)
    assert "number" in net and "number" not in vars(net)
    net.number = "text"
    assert "number" not in net and net.number == "text"
    del net.w
    assert "w" not in net
    for name in ("w", "other"):
        with pytest.raises(AttributeError, match=f"'Net' object has no attribute '{name}'"):
            getattr(net, name)
        with pytest.raises(AttributeError):
            delattr(net, name)
    with pytest.raises(AttributeError):
        net.update = mx.array(1)
    with pytest.raises(AttributeError):
        net.training = False
    assert net.state is net


def test_trees():
    """Parameters, children and modules."""
    net = Net()
    expected = {
        "a": LINEAR,
        "blocks": [{"weight": (3, 3), "bias": (3,)}, {}, [{}]],
        "table": {"x": {"weight": (4, 2)}, "y": (1,), "n": {}},
        "w": (2,),
        "norm": BATCH_NORM,
    }
    assert shapes(net.parameters()) == expected
    expected["norm"] = {"weight": (2,), "bias": (2,)}
    assert shapes(net.trainable_parameters()) == expected
    names = [type(module).__name__ for module in net.modules()]
    assert names == ["Net", "BatchNorm", "Embedding", "Dropout", "ReLU", "Linear", "Linear"]
    order = ["", "norm", "table.x", "blocks.2.0", "blocks.1", "blocks.0", "a"]
    assert [path for path, _ in net.named_modules()] == order
    assert net.children()["table"] == {"x": net.table["x"], "y": {}, "n": {}}
    outer = nn.Sequential(nn.Sequential(nn.ReLU()), nn.Tanh())
    assert outer.leaf_modules()["layers"][0] == {"layers": [outer.layers[0].layers[0]]}
    seen = []
    assert net.apply_to_modules(lambda path, _: seen.append(path)) is net and seen == order


def test_filter_and_map():
    """Filters see module, key and value; keys within containers are paths."""
    net, seen = Net(), []

    def keep(module, key, value):
        seen.append((type(module).__name__, key))
        return not isinstance(value, (tuple, int))

    sizes = net.filter_and_map(keep, lambda x: x.size)
    assert sizes["table"] == {"x": {"weight": 8}, "y": 1, "n": {}} and "pair" not in sizes
    assert seen[:4] == [("Net", "a"), ("Linear", "weight"), ("Linear", "bias"), ("Net", "blocks")]
    assert ("Net", "blocks.2.0") in seen and ("Net", "table.x") in seen
    with pytest.raises(RuntimeError):
        net.filter_and_map(lambda *_: True, is_leaf_fn=lambda *_: False)


WEIGHTS = ["a.weight", "blocks.0.weight", "table.x.weight"]
LAYERS = ["a.weight", "a.bias", "blocks.0.weight", "blocks.0.bias", "table.x.weight"]


@pytest.mark.parametrize(
    "options, trainable",
    [
        ({}, []),
        ({"keys": "bias"}, [*WEIGHTS, "table.y", "w", "norm.weight"]),
        ({"keys": ["weight"]}, ["a.bias", "blocks.0.bias", "table.y", "w", "norm.bias"]),
        ({"recurse": False}, [*LAYERS, "norm.weight", "norm.bias"]),
    ],
)
def test_freeze(options, trainable):
    """The arrays left to train; unfreezing restores all but running statistics."""
    net = Net()
    before = paths(net.trainable_parameters())
    assert net.freeze(**options) is net
    assert paths(net.trainable_parameters()) == trainable
    assert paths(net.unfreeze().trainable_parameters()) == before
    with pytest.raises(KeyError, match="doesn't contain member nope"):
        net.freeze(keys="nope", strict=True)


def test_training_mode():
    """train and eval reach every module."""
    net = Net()
    assert net.training and net.eval() is net
    assert not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())


@pytest.mark.parametrize(
    "tree, message",
    [
        ({"nope": mx.array(1)}, 'does not have parameter named "nope"'),
        ({"a": {"nope": mx.array(1)}}, 'does not have parameter named "nope"'),
        ({"number": mx.array(1)}, 'does not have parameter named "number"'),
        ({"w": 3}, "invalid type: int"),
        ({"a": mx.array(1)}, "invalid type: array"),
        ({"blocks": [{}] * 4}, "index 3 is out of bounds"),
        ({"blocks": {"0": {}}}, 'does not have parameter named "0"'),
        ({"pair": (mx.array(1),)}, "invalid type: tuple"),
        (3, "invalid type: int"),
    ],
)
def test_update_refuses(tree, message):
    """Strict updates name what does not fit; others leave it out."""
    net = Net()
    with pytest.raises(ValueError, match=message):
        net.update(tree)
    before = shapes(net.parameters())
    assert net.update(tree, strict=False) is net
    assert shapes(net.parameters()) == before


def test_update_and_apply():
    """Arrays are replaced wherever they are, shapes unchecked."""
    net = Net()
    net.update({"blocks": [{"bias": mx.ones((3,))}], "table": {"y": mx.zeros((2, 2))}})
    assert net.blocks[0].bias.tolist() == [1, 1, 1] and net.table["y"].shape == (2, 2)
    assert net.apply(lambda x: x + 1).w.tolist() == [1, 1]
    assert net.a.weight.dtype == net.set_dtype(mx.float16).set_dtype(mx.float32).w.dtype
    net.counts = mx.array([1])
    net.set_dtype(mx.bfloat16)
    assert (net.a.weight.dtype, net.counts.dtype) == (mx.bfloat16, mx.int32)
    assert net.set_dtype(mx.float32, predicate=None).counts.dtype == mx.float32


def test_update_modules():
    """Modules are replaced by modules only."""
    net = Net()
    net.update_modules({"a": nn.ReLU(), "blocks": [{}, nn.Tanh()], "table": {"x": nn.GELU()}})
    kinds = [type(m).__name__ for m in (net.a, net.blocks[0], net.blocks[1], net.table["x"])]
    assert kinds == ["ReLU", "Linear", "Tanh", "GELU"]
    bad = ({"nope": nn.ReLU()}, {"a": 3}, {"a": mx.array(1)}, {"blocks": [nn.ReLU()] * 4})
    for tree in bad:
        with pytest.raises(ValueError):
            net.update_modules(tree)
        net.update_modules(tree, strict=False)
    assert isinstance(net.a, nn.ReLU)
    net.update_modules(net.leaf_modules())


@pytest.mark.parametrize("name", ["weights.npz", "weights.safetensors"])
def test_weights_in_files(tmp_path, name):
    """Saved weights are loaded, by string or path."""
    one, other = Net(), Net()
    one.save_weights(str(tmp_path / name))
    assert sorted(mx.load(str(tmp_path / name))) == sorted(paths(one.parameters()))
    assert other.load_weights(tmp_path / name) is other
    for (path, x), (_, y) in zip(
        tree_flatten(one.parameters()), tree_flatten(other.parameters()), strict=True
    ):
        assert mx.array_equal(x, y).item(), path
    with pytest.raises(ValueError, match="Unsupported file extension"):
        one.save_weights(str(tmp_path / "weights.bin"))


WEIGHT, BIAS = ("weight", mx.ones((3, 2))), ("bias", mx.ones((3,)))


@pytest.mark.parametrize(
    "weights, message",
    [
        ([WEIGHT], r"Missing 1 parameters: \nbias\."),
        ([], r"Missing 2 parameters: \nbias,\nweight\."),
        ([WEIGHT, BIAS, ("q", BIAS[1])], r"Received 1 parameters not in model: \nq\."),
        ([("weight", mx.ones((3, 3))), BIAS], r"Expected shape \(3, 2\) but received"),
        ([("weight", np.ones((3, 2))), BIAS], "Expected mx.array but received"),
    ],
)
def test_load_weights_refuses(weights, message):
    """A strict load checks names, shapes and types before it replaces anything."""
    layer = nn.Linear(2, 3)
    before = layer.weight
    with pytest.raises(ValueError, match=message):
        layer.load_weights(weights)
    assert layer.weight is before


def test_load_weights_not_strict():
    """Without strict, what has no place is skipped."""
    layer = nn.Linear(2, 3)
    layer.load_weights([("weight", mx.ones((4, 4))), ("q", mx.ones(1))], strict=False)
    assert layer.weight.shape == (4, 4) and "q" not in layer
    assert layer.load_weights([WEIGHT], strict=False).weight.shape == (3, 2)


def test_copies():
    """Deep copies and pickles are independent and equal."""
    net = Net()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert repr(other) == repr(net) and other.a is not net.a
        assert other.norm._no_grad == net.norm._no_grad
        assert mx.array_equal(other.a.weight, net.a.weight).item()


def test_value_and_grad():
    """Gradients are a tree like the trainable parameters; values may carry more."""
    layer = nn.Linear(2, 1)
    x = mx.array([[1.0, 2.0], [3.0, 4.0]])

    def loss(x, factor=1):
        """Sum."""
        return factor * layer(x).sum(), {"x": x}

    function = nn.value_and_grad(layer, loss)
    assert function.__name__ == "loss" and function.__doc__ == "Sum."
    (value, extra), gradients = function(x, factor=2)
    assert value.item() == pytest.approx(2 * layer(x).sum().item())
    assert extra["x"].shape == (2, 2)
    assert {k: v.tolist() for k, v in gradients.items()} == {"weight": [[8, 12]], "bias": [4]}
    layer.freeze(keys="bias")
    assert list(function(x)[1]) == ["weight"]
    layer.freeze()
    with pytest.raises(ValueError):
        function(x)


def test_running_statistics_survive_gradients():
    """Batch statistics seen while differentiating are ordinary arrays afterwards."""
    norm = nn.BatchNorm(2)
    x = mx.array([[1.0, 2.0], [3.0, 5.0], [6.0, 7.0]])
    nn.value_and_grad(norm, lambda x: norm(x).sum())(x)
    np.testing.assert_allclose(np.array(norm.running_mean), [1 / 3, 7 / 15], rtol=1e-6)
    np.testing.assert_allclose(np.array(norm.running_var), [23 / 15, 23 / 15], rtol=1e-6)


def test_checkpoint():
    """Recomputation changes neither value nor gradients."""
    layer, x = nn.Linear(3, 2), mx.ones((4, 3))
    plain = nn.value_and_grad(layer, lambda x: layer(x).square().sum())(x)
    recomputed = nn.utils.checkpoint(layer)
    again = nn.value_and_grad(layer, lambda x: recomputed(x).square().sum())(x)
    for (_, a), (_, b) in zip(tree_flatten(plain), tree_flatten(again), strict=True):
        np.testing.assert_allclose(np.array(a), np.array(b), rtol=1e-6)
    other = nn.utils.checkpoint(layer, lambda x, scale: {"y": scale * layer(x)})
    assert mx.allclose(other(x, scale=2)["y"], 2 * layer(x)).item()


@pytest.mark.parametrize("name", ["model", "module", "fn", "parameters", "args", "kwargs"])
def test_keywords_of_any_name_reach_the_function(name):
    """Wrappers keep no name for themselves."""

    class Scaled(nn.Linear):
        def __call__(self, x, **scale):
            return super().__call__(x) * scale[name]

    layer, x = Scaled(2, 1), mx.ones((1, 2))
    want = 2 * nn.Linear.__call__(layer, x).item()
    value, gradients = nn.value_and_grad(layer, lambda x, **s: layer(x, **s).sum())(x, **{name: 2})
    assert value.item() == want and gradients["bias"].tolist() == [2]
    assert nn.utils.checkpoint(layer)(x, **{name: 2}).item() == want
    assert nn.fully_shard(layer)(x, **{name: 2}).item() == want
