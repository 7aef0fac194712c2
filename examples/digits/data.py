"""The handwritten digits of UCI: 1,797 grey images of 8×8 pixels."""

import numpy as np
from sklearn.datasets import load_digits

import mlx.core as mx


def load(seed: int = 0) -> tuple[mx.array, mx.array, mx.array, mx.array]:
    """Images `(N, 8, 8, 1)` from 0 to 1 and labels `(N,)`: four fifths to train on, one to test."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[..., None]
    order = np.random.default_rng(seed).permutation(len(images))
    train, test = np.split(order, [len(order) * 4 // 5])
    return (
        mx.array(images[train]),
        mx.array(digits.target[train]),
        mx.array(images[test]),
        mx.array(digits.target[test]),
    )
