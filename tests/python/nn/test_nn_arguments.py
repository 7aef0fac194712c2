"""Arguments of layers and optimizers: wrong ones are refused when they are given."""

import nn_cases  # noqa: F401
import pytest

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten

SIZES = {
    "Linear": (dict(input_dims=4, output_dims=3), {"output_dims"}),
    "Bilinear": (dict(input1_dims=4, input2_dims=3, output_dims=2), {"input2_dims", "output_dims"}),
    "Embedding": (dict(num_embeddings=4, dims=3), {"num_embeddings"}),
    "QuantizedLinear": (dict(input_dims=64, output_dims=4), {"output_dims"}),
    "QuantizedEmbedding": (dict(num_embeddings=4, dims=64), {"num_embeddings"}),
    "QQLinear": (dict(input_dims=64, output_dims=32), {"output_dims"}),
    "AllToShardedLinear": (dict(input_dims=4, output_dims=3), set()),
    "ShardedToAllLinear": (dict(input_dims=4, output_dims=3), set()),
    "QuantizedAllToShardedLinear": (dict(input_dims=64, output_dims=4), set()),
    "QuantizedShardedToAllLinear": (dict(input_dims=64, output_dims=4), set()),
    "GroupNorm": (dict(num_groups=2, dims=4), set()),
    "LayerNorm": (dict(dims=4), {"dims"}),
    "RMSNorm": (dict(dims=4), {"dims"}),
    "InstanceNorm": (dict(dims=4), {"dims"}),
    "BatchNorm": (dict(num_features=4), {"num_features"}),
    "SinusoidalPositionalEncoding": (dict(dims=4), set()),
    "MultiHeadAttention": (dict(dims=8, num_heads=2), set()),
    "TransformerEncoderLayer": (dict(dims=8, num_heads=2), set()),
    "TransformerDecoderLayer": (dict(dims=8, num_heads=2), set()),
    "TransformerEncoder": (dict(num_layers=1, dims=8, num_heads=2), {"num_layers"}),
    "TransformerDecoder": (dict(num_layers=1, dims=8, num_heads=2), {"num_layers"}),
    **{n: (dict(input_size=3, hidden_size=4), {"input_size"}) for n in ("RNN", "GRU", "LSTM")},
    **{
        f"Conv{n}d": (
            dict(in_channels=4, out_channels=4, kernel_size=2, stride=1, dilation=1)
            | ({"groups": 1} if n < 3 else {}),
            {"out_channels"},
        )
        for n in (1, 2, 3)
    },
    **{
        f"ConvTranspose{n}d": (
            dict(in_channels=4, out_channels=4, kernel_size=2, stride=1, dilation=1),
            {"out_channels"},
        )
        for n in (1, 2, 3)
    },
    **{
        f"{k}Pool{n}d": (dict(kernel_size=2, stride=2), set())
        for k in ("Max", "Avg")
        for n in (1, 2)
    },
}
NUMBERS = {
    **{
        name: ("eps", [0.0, -1.0, float("nan")])
        for name in ("LayerNorm", "RMSNorm", "InstanceNorm", "GroupNorm", "BatchNorm")
    },
    **{
        name: ("p", [1.0, 1.5, -0.5, float("nan")])
        for name in ("Dropout", "Dropout2d", "Dropout3d")
    },
    "SinusoidalPositionalEncoding": ("min_freq", [0.0, -1.0]),
    "TransformerEncoderLayer": ("dropout", [1.0, -0.1]),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    """Each size is refused by name where it is negative, zero (unless that works) or no integer."""
    layer = getattr(nn, name)
    good, may_be_zero = SIZES[name]
    layer(**good)
    for size in good:
        bad = [-1, 2.5, "a", None] if size != "stride" else [-1, 2.5, "a"]
        for value in bad + ([] if size in may_be_zero else [0]):
            with pytest.raises((ValueError, TypeError), match=size):
                layer(**{**good, size: value})
        if size in may_be_zero:
            layer(**{**good, size: 0})


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    """Numbers out of their range are a ValueError that shows them."""
    key, values = NUMBERS[name]
    good = SIZES.get(name, ({}, None))[0]
    for value in values:
        with pytest.raises(ValueError, match=str(value)):
            getattr(nn, name)(**{**good, key: value})


NAN = float("nan")
OPTIMIZERS = {
    "RMSprop": {"alpha": [-0.1, NAN], "eps": [0.0, -1.0, NAN]},
    "Adagrad": {"eps": [0.0, -1.0, NAN]},
    "AdaDelta": {"rho": [-0.1, NAN], "eps": [0.0, -1.0, NAN]},
    **{
        name: {"betas": [(1.0, 0.9), (0.9, 1.0), (-0.1, 0.9), (0.9, -0.1), (0.9,), (0.9, 0.9, 0.9)]}
        for name in ("Adam", "AdamW", "Adamax", "Lion")
    },
    "Adafactor": {"eps": [(1e-30,), (1e-30, 1e-3, 1)]},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    """Settings that would make every step NaN, or grow without bound, are refused."""
    getattr(optim, name)(learning_rate=0.1)
    for key, values in OPTIMIZERS[name].items():
        for value in values:
            with pytest.raises(ValueError, match=f"{name}|Adam"):
                getattr(optim, name)(learning_rate=0.1, **{key: value})
    if name in ("Adam", "AdamW", "Adamax"):
        getattr(optim, name)(0.1, eps=0.0)
        with pytest.raises(ValueError, match="epsilon"):
            getattr(optim, name)(0.1, eps=-1.0)


def test_scales_of_upsample():
    """Negative and infinite scales are refused when the length of the axis is known."""
    x = mx.zeros((1, 3, 2))
    for scale in (-1.0, -0.5, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="scale_factor"):
            nn.Upsample(scale)(x)
    assert nn.Upsample(0.0)(x).shape == (1, 0, 2)


class ReadOnly(nn.Module):
    """The class has a property of the name that is set."""

    def __init__(self, value):
        super().__init__()
        self.w = value

    @property
    def w(self):
        """A constant."""
        return 5


class Stored(ReadOnly):
    """The property of the name keeps the value in the module's entry."""

    @property
    def w(self):
        """The entry."""
        return self["w"]

    @w.setter
    def w(self, value):
        self["w"] = value


@pytest.mark.parametrize("value", [3, "text", mx.zeros(2), [mx.zeros(2)], nn.ReLU()])
def test_properties_of_modules(value):
    """A property without a setter refuses every value, one with a setter decides what is kept."""
    with pytest.raises(AttributeError, match="w"):
        ReadOnly(value)
    model = Stored(value)
    assert model["w"] is value and model.w is value
    if isinstance(value, mx.array):
        assert list(model.parameters()) == ["w"]


class Wrapped(nn.Module):
    """Properties compute their values of another module, which is not there at first."""

    @property
    def layers(self):
        """The layers of the inner model."""
        return self.inner.layers

    @property
    def broken(self):
        """Fails with another error than AttributeError."""
        raise KeyError("own")


@pytest.mark.parametrize("value", [[nn.ReLU()], {"a": mx.zeros(2)}, (1,), nn.ReLU(), mx.zeros(2)])
def test_entries_that_properties_without_setters_find(value):
    """Where a property without a setter has no value, the entry of its name is stored and found."""
    model = Wrapped()
    model.layers = value
    assert model["layers"] is value and model.layers is value
    model.layers = [mx.ones(1)]
    assert [name for name, _ in tree_flatten(model.parameters())] == ["layers.0"]
    del model.layers
    model.inner = Wrapped()
    model.inner.layers = value
    assert model.layers is value
    with pytest.raises(AttributeError, match="layers"):
        model.layers = [1]


@pytest.mark.parametrize("value", [3, "text", None])
def test_other_values_need_setters(value):
    with pytest.raises(AttributeError, match="layers"):
        Wrapped().layers = value


def test_errors_of_properties_are_their_own():
    with pytest.raises(AttributeError, match="has no attribute 'inner'"):
        _ = Wrapped().layers
    for act in (lambda: Wrapped().broken, lambda: setattr(Wrapped(), "broken", [1])):
        with pytest.raises(KeyError, match="own"):
            act()


def test_strict_freezing_of_trees():
    """With ``strict`` a name has to be in one of the modules, not in all of them."""
    layers = lambda: (nn.Linear(2, 2), nn.Linear(2, 2, bias=False), nn.ReLU())  # noqa: E731
    model = nn.Sequential(nn.Sequential(*layers()), *layers())
    for keys in ("bias", ["bias", "weight"], "layers"):
        model.freeze(keys=keys, strict=True).unfreeze(keys=keys, strict=True)
    model.freeze(keys="bias", strict=True)
    assert "bias" not in str(model.trainable_parameters())
    for keys in ("nothing", ["bias", "nothing"]):
        for change in (model.freeze, model.unfreeze):
            with pytest.raises(KeyError, match="nothing"):
                change(keys=keys, strict=True)
    without = nn.Linear(2, 2, bias=False)
    for change in (without.freeze, without.unfreeze):
        for recurse in (True, False):
            with pytest.raises(KeyError, match="bias"):
                change(keys=["weight", "bias"], strict=True, recurse=recurse)
    assert not without._no_grad
    with pytest.raises(KeyError):
        model.freeze(keys="bias", strict=True, recurse=False)


NAMED_PADDINGS = {
    "valid": ((3, 8, 3), dict(padding="valid"), (2, 18, 8)),
    "strided": ((3, 8, 3), dict(padding="valid", stride=2), (2, 9, 8)),
    "same": ((3, 8, 5), dict(padding="same"), (2, 20, 8)),
    "dilated": ((3, 8, 4), dict(padding="same", dilation=2), (2, 20, 8)),
    "one": ((3, 8, 1), dict(padding="same"), (2, 20, 8)),
}


@pytest.mark.parametrize("name", NAMED_PADDINGS)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_named_paddings(name, dims):
    """The shape, and the values of the padding in numbers."""
    sizes, options, shape = NAMED_PADDINGS[name]
    layer = getattr(nn, f"Conv{dims}d")(*sizes, **options)
    x = mx.random.normal((2, *(20,) * dims, 3))
    y = layer(x)
    assert y.shape == (2, *shape[1:2] * dims, 8)
    reach = options.get("dilation", 1) * (sizes[2] - 1) // 2
    number = reach if options["padding"] == "same" else 0
    other = getattr(nn, f"Conv{dims}d")(*sizes, **(options | {"padding": number}))
    other.update(layer.parameters())
    assert mx.array_equal(y, other(x)) and repr(layer) == repr(other)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(kernel_size=3, stride=2, padding="same"), r"\[Conv2d\] padding='same' with a stride"),
        (dict(kernel_size=3, padding_mode="edge"), r"\[Conv2d\] padding_mode='edge'; one of "),
        (dict(kernel_size=3, padding="full"), r"\[Conv2d\] padding='full'; .* are accepted"),
    ],
)  # fmt: skip
def test_named_paddings_that_do_not_exist(options, message):
    with pytest.raises(ValueError, match=message):
        nn.Conv2d(3, 8, **options)


def test_a_function_before_its_module():
    """The order of `value_and_grad` is the other one."""
    with pytest.raises(TypeError, match=r"\[value_and_grad\] .*the module comes first"):
        nn.value_and_grad(lambda x: x, nn.Linear(1, 1))
