"""Shared parts of the training programs: weights from NumPy, and a training loop."""

import numpy as np

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_unflatten

STEPS = 20


def numbers(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> mx.array:
    """Normally distributed numbers that do not depend on the framework."""
    return mx.array((scale * rng.standard_normal(shape)).astype(np.float32))


def initialize(model: nn.Module, seed: int) -> nn.Module:
    """Give every floating-point parameter a value made by NumPy, in the order of the names."""
    rng = np.random.default_rng(seed)
    values = []
    for name, old in sorted(tree_flatten(model.parameters())):
        if not mx.issubdtype(old.dtype, mx.floating):
            continue
        if old.ndim > 1:
            new = numbers(rng, *old.shape, scale=(old.size / old.shape[0]) ** -0.5)
        else:
            new = numbers(rng, *old.shape, scale=0.1) + (1.0 if name.endswith("weight") else 0.0)
        values.append((name, new))
    model.update(tree_unflatten(values))
    return model


def train(model, optimizer, loss_fn, batches) -> list[float]:
    """The loss of each step; `batches` yields the arguments of `loss_fn`."""
    step, losses = nn.value_and_grad(model, loss_fn), []
    for batch in batches:
        loss, gradients = step(*batch)
        optimizer.update(model, gradients)
        mx.eval(loss, model.parameters(), optimizer.state)
        losses.append(loss.item())
    return losses
