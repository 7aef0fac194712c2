"""The handwritten digits of UCI, one row of 64 pixels each, and the measure of success."""

from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits

import mlx.core as mx


def load(seed: int = 0) -> tuple[mx.array, mx.array, mx.array, mx.array]:
    """Images `(N, 64)` from 0 to 1 and labels `(N,)`: four fifths to train on, one to test."""
    digits = load_digits()
    pixels = (digits.data / 16).astype(np.float32)
    order = np.random.default_rng(seed).permutation(len(pixels))
    train, test = np.split(order, [len(order) * 4 // 5])
    parts = (pixels[train], digits.target[train], pixels[test], digits.target[test])
    return tuple(map(mx.array, parts))


def accuracy(scores: Callable, x: mx.array, y: mx.array) -> float:
    """The share of rows of `x` whose highest score is that of the label."""
    return mx.mean(mx.argmax(scores(x), axis=1) == y).item()
