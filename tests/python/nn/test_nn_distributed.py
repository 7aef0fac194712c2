"""Layers and helpers of several processes against the same ones in one process."""

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map

dist = mx.distributed
simulate = dist.simulate


def close(a, b, tolerance=1e-5):
    """Compare to a relative tolerance."""
    np.testing.assert_allclose(np.array(a), np.array(b), rtol=tolerance, atol=tolerance)


def apply(model, grads):
    """One step of gradient descent."""
    model.update(tree_map(lambda p, g: p - 0.1 * g, model.trainable_parameters(), grads))


def test_data_parallel():
    """Training on parts of a batch equals training on the whole batch."""
    data = np.random.default_rng(0)
    x, y = (
        data.normal(size=(16, 8)).astype(np.float32),
        data.normal(size=(16, 4)).astype(np.float32),
    )

    def train():
        group = dist.init()
        mx.random.seed(1)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        part = slice(group.rank(), None, group.size())
        xs, ys = mx.array(x[part]), mx.array(y[part])
        step = nn.value_and_grad(model, lambda m, a, b: nn.losses.mse_loss(m(a), b))
        losses = []
        for _ in range(5):
            loss, grads = step(model, xs, ys)
            grads = nn.average_gradients(grads, all_reduce_size=200)
            apply(model, grads)
            losses.append((dist.all_sum(loss) / group.size()).item())
        return losses

    whole = train()
    for size in (2, 4):
        for losses in simulate(train, size):
            np.testing.assert_allclose(losses, whole, rtol=1e-5)


def whole_network(quantized=False):
    """Two linear layers, the same in every rank."""
    mx.random.seed(4)
    layers = [nn.Linear(128, 512), nn.Linear(512, 128)]
    return [nn.QuantizedLinear.from_linear(l) for l in layers] if quantized else layers


def loss_of(layers, x):
    return ((layers[1](nn.relu(layers[0](x)))) ** 2).mean()


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("quantized", [False, True])
def test_sharded_layers(size, quantized):
    """Outputs, gradients of the input, and of the parts of the weights."""
    x = mx.array(np.random.default_rng(2).normal(size=(6, 128)).astype(np.float32))
    layers = whole_network(quantized)
    want, grad = mx.value_and_grad(lambda x: loss_of(layers, x))(x)
    weights = {}
    if not quantized:
        first = layers[0]
        _, weights = nn.value_and_grad(first, lambda x: loss_of([first, layers[1]], x))(x)
    mx.eval(want, grad, weights)

    def check():
        rank = dist.init().rank()
        own = whole_network(quantized)
        parts = [nn.layers.distributed.shard_linear(own[0], "all-to-sharded")]
        parts.append(nn.layers.distributed.shard_linear(own[1], "sharded-to-all"))
        assert parts[0].weight.shape[0] == 512 // size
        value, gradient = mx.value_and_grad(lambda x: loss_of(parts, x))(x)
        close(value, want)
        close(gradient, grad, 1e-4)
        if not quantized:
            first = parts[0]
            _, g = nn.value_and_grad(first, lambda x: loss_of([first, parts[1]], x))(x)
            close(g["weight"], mx.split(weights["weight"], size)[rank], 1e-4)
            close(g["bias"], mx.split(weights["bias"], size)[rank], 1e-4)

    simulate(check, size)


def test_segments():
    """Fused layers are divided part by part."""
    x = mx.random.normal((3, 8))
    fused = nn.Linear(8, 12)
    whole = mx.split(fused(x), 3, axis=-1)
    mx.eval(whole)

    def check():
        layer = nn.layers.distributed.shard_linear(fused, "all-to-sharded", segments=3)
        rank = dist.init().rank()
        mine = mx.split(layer(x), 3, axis=-1)
        for part, all_of_it in zip(mine, whole, strict=True):
            close(part, mx.split(all_of_it, 2, axis=-1)[rank])

    simulate(check, 2)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_fully_sharded(size):
    """Training with divided parameters equals training with whole ones."""
    data = np.random.default_rng(8)
    x = mx.array(data.normal(size=(8, 16)).astype(np.float32))

    def build():
        mx.random.seed(3)
        return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))

    def train(model, x):
        step = nn.value_and_grad(model, lambda m, x: (m(x) ** 2).mean())
        losses = []
        for _ in range(4):
            loss, grads = step(model, x)
            _, norm = nn.utils.clip_grad_norm_sharded(grads, 1e9)
            apply(model, grads)
            losses.append((loss.item(), norm.item()))
        return losses

    def check():
        group = dist.init()
        part = x[group.rank() :: size]
        whole = build()
        step = nn.value_and_grad(whole, lambda m, x: (m(x) ** 2).mean())
        want = []
        for _ in range(4):
            loss, grads = step(whole, part)
            grads = nn.average_gradients(grads)
            norm = mx.sqrt(sum((g * g).sum() for _, g in tree_flatten(grads)))
            apply(whole, grads)
            want.append((loss.item(), norm.item()))
        sharded = nn.fully_shard(build())
        sizes = [p.size for _, p in tree_flatten(sharded.parameters())]
        assert sum(sizes) == (16 * 32 * 2 + 48) // size
        close(train(sharded, part), want, 1e-4)

    simulate(check, size)


def test_average_gradients_of_dtypes():
    """Several dtypes, sums of several arrays and of single ones."""

    def check():
        r = dist.init().rank()
        tree = {
            "a": mx.full((3, 2), 1.0 + r),
            "b": [mx.full((4,), 2.0 * r, mx.bfloat16), mx.array(float(r))],
            "c": mx.full((5,), 4.0 * r, mx.float16),
        }
        for nbytes in (0, 8, 32 << 20):
            mean = nn.average_gradients(tree, all_reduce_size=nbytes)
            assert [(k, v.dtype, v.flatten()[0].item()) for k, v in tree_flatten(mean)] == [
                ("a", mx.float32, 1.5),
                ("b.0", mx.bfloat16, 1.0),
                ("b.1", mx.float32, 0.5),
                ("c", mx.float16, 2.0),
            ]

    simulate(check, 2)


def test_number_of_sums(monkeypatch):
    """Programs replace all_sum to count or compress what is sent."""
    calls = []
    original = dist.all_sum

    def counted(x, **kwargs):
        calls.append(x.size)
        return original(x, **kwargs)

    monkeypatch.setattr(dist, "all_sum", counted)
    tree = [mx.ones(10) for _ in range(6)]
    simulate(lambda: mx.eval(nn.average_gradients(tree, all_reduce_size=80)), 2)
    assert sorted(calls) == [20] * 6
