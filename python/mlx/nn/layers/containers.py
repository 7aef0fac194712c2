"""Modules that hold other modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
from mlx.nn.layers.base import Module


class Sequential(Module):
    """Call modules or plain functions one after the other.

    Args:
        modules: the callables; each gets the result of the one before.

    >>> model = nn.Sequential(nn.Linear(2, 8), nn.relu, nn.Linear(8, 1))
    >>> model(mx.ones((3, 2))).shape
    (3, 1)
    """

    def __init__(self, *modules: Callable[..., Any]) -> None:
        super().__init__()
        self.layers = list(modules)

    def __call__(self, x: mx.array) -> mx.array:
        for layer in self.layers:
            x = layer(x)
        return x
