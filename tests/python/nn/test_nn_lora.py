"""Adapters: values by NumPy, what is trained, fusion with plain and packed weights, errors."""

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten

X = mx.array(np.random.RandomState(0).randn(3, 64).astype(np.float32))
I = mx.array([[1, 3], [0, 3]])
BASES = {
    "linear": (lambda: nn.Linear(64, 32), nn.LoRALinear, X),
    "without bias": (lambda: nn.Linear(64, 32, bias=False), nn.LoRALinear, X),
    "packed linear": (lambda: nn.QuantizedLinear(64, 32, bits=8), nn.LoRALinear, X),
    "embedding": (lambda: nn.Embedding(5, 64), nn.LoRAEmbedding, I),
    "packed embedding": (lambda: nn.QuantizedEmbedding(5, 64, bits=8), nn.LoRAEmbedding, I),
}


def moved(layer):
    """The layer with an adapter that is not zero."""
    layer.lora_b = mx.array(np.random.RandomState(1).randn(*layer.lora_b.shape) * 0.1, mx.float32)
    return layer


@pytest.mark.parametrize("name", BASES)
def test_values(name):
    make, kind, x = BASES[name]
    base = make()
    layer = kind.from_base(base, r=4, scale=2.0)
    assert mx.array_equal(layer(x), base(x))
    moved(layer)
    a, b = (np.array(p, np.float64) for p in (layer.lora_a, layer.lora_b))
    low = a[np.array(x)] if x.dtype == I.dtype else np.array(x) @ a
    np.testing.assert_allclose(layer(x), np.array(base(x)) + 2 * low @ b, rtol=1e-4, atol=1e-5)
    assert [path for path, _ in tree_flatten(layer.trainable_parameters())] == ["lora_a", "lora_b"]


@pytest.mark.parametrize("name", BASES)
def test_fusion(name):
    """The fused layer has the class of the base and gives the same results."""
    make, kind, x = BASES[name]
    base = make()
    layer = moved(kind.from_base(base, r=4, scale=0.5))
    fused = layer.fuse()
    assert type(fused) is type(base)
    bound = 0.1 if "packed" in name else 1e-5
    np.testing.assert_allclose(fused(x), layer(x), rtol=bound, atol=bound)
    if kind is nn.LoRAEmbedding:
        np.testing.assert_allclose(
            fused.as_linear(X), layer.as_linear(X), rtol=bound, atol=5 * bound
        )


@pytest.mark.parametrize("bits", [None, 4])
def test_training(bits):
    """Steps change the adapters alone, and reduce the loss."""
    mx.random.seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    if bits:
        nn.quantize(model, bits=bits)
    nn.add_lora(model, r=4, scale=1.0)
    before = dict(tree_flatten(model.parameters()))
    optimizer = optim.Adam(1e-2)
    step = nn.value_and_grad(model, lambda x: mx.mean(mx.square(model(x) - 1)))
    losses = []
    for _ in range(20):
        loss, gradients = step(X)
        optimizer.update(model, gradients)
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    for path, x in tree_flatten(model.parameters()):
        assert mx.array_equal(x, before[path]) == ("lora" not in path), path


def test_chosen_layers():
    model = nn.Sequential(nn.Embedding(5, 64), nn.Linear(64, 2), nn.Tanh())
    nn.add_lora(model, r=2, class_predicate=lambda path, layer: not isinstance(layer, nn.Tanh))
    assert [type(layer).__name__ for layer in model.layers] == [
        "LoRAEmbedding",
        "LoRALinear",
        "Tanh",
    ]
    with pytest.raises(ValueError, match=r"\[add_lora\] layer 'layers.0', a Tanh; linear layers"):
        nn.add_lora(nn.Sequential(nn.Tanh()), class_predicate=lambda path, layer: True)
    with pytest.raises(ValueError, match=r"\[LoRALinear\] r=0; at least 1 is accepted"):
        nn.LoRALinear(4, 4, r=0)
