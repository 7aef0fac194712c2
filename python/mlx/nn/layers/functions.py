"""Functions of jax.nn beside the activations of MLX, and other names of these."""

from __future__ import annotations

import mlx.core as mx
from mlx.nn.layers.activations import hard_tanh, hardswish, silu, softsign

swish = silu
hard_silu = hardswish
hard_swish = hardswish
hardtanh = hard_tanh
soft_sign = softsign


def hard_sigmoid(x: mx.array) -> mx.array:
    """Return ``min(max(x + 3, 0), 6) / 6``, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.hard_sigmoid(mx.array([-4.0, 0.0, 1.5]))
    array([0, 0.5, 0.75], dtype=float32)
    """
    return mx.minimum(mx.maximum(x + 3, 0), 6) / 6


hardsigmoid = hard_sigmoid


def squareplus(x: mx.array, b: float = 4.0) -> mx.array:
    """Return ``(x + sqrt(x² + b)) / 2``, elementwise: a smooth ReLU without exponentials.

    Barron, "Squareplus: A Softplus-Like Algebraic Rectifier" (2021).

    Args:
        x: an array of any shape.
        b: the smoothness.

    >>> nn.squareplus(mx.array([-1.5, 0.0, 1.5]))
    array([0.5, 1, 2], dtype=float32)
    """
    return (x + mx.sqrt(mx.square(x) + b)) / 2


def sparse_plus(x: mx.array) -> mx.array:
    """Return 0 up to -1, x from 1 on, and ``(x + 1)² / 4`` between, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.sparse_plus(mx.array([-2.0, 0.0, 2.0]))
    array([0, 0.25, 2], dtype=float32)
    """
    between = mx.square(mx.minimum(mx.maximum(x, -1), 1) + 1) / 4
    return mx.where(x < 1, between, x)


def sparse_sigmoid(x: mx.array) -> mx.array:
    """Return ``min(max((x + 1) / 2, 0), 1)``, elementwise: the derivative of ``sparse_plus``.

    Args:
        x: an array of any shape.

    >>> nn.sparse_sigmoid(mx.array([-2.0, 0.5, 2.0]))
    array([0, 0.75, 1], dtype=float32)
    """
    return mx.minimum(mx.maximum((x + 1) / 2, 0), 1)


def one_hot(x: mx.array, num_classes: int, dtype: mx.Dtype = mx.float32) -> mx.array:
    """Return vectors with a one at the position of each index, and zeros.

    Args:
        x: an array of integers; indices that are out of range give zeros.
        num_classes: the length of the vectors, which are a new last axis.
        dtype: the dtype of the result.

    >>> nn.one_hot(mx.array([0, 2]), 3)
    array([[1, 0, 0],
           [0, 0, 1]], dtype=float32)
    """
    if mx.issubdtype(x.dtype, mx.inexact):
        raise ValueError(f"[one_hot] indices of dtype {x.dtype}; integers are accepted")
    return (mx.expand_dims(x, -1) == mx.arange(num_classes)).astype(dtype)


def standardize(x: mx.array, axis: int | tuple[int, ...] = -1, epsilon: float = 1e-5) -> mx.array:
    """Return numbers moved and scaled to mean 0 and variance 1.

    Args:
        x: an array of any shape.
        axis: the axis or axes of the mean and the variance.
        epsilon: a number that is added to the variance.

    >>> nn.standardize(mx.array([1.0, 3.0]))
    array([-0.999995, 0.999995], dtype=float32)
    """
    moved = x - mx.mean(x, axis, keepdims=True)
    return moved * mx.rsqrt(mx.var(x, axis, keepdims=True) + epsilon)


def logsumexp(
    x: mx.array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> mx.array:
    """Return the logarithm of the sum of exponentials, as ``mx.logsumexp``.

    Args:
        x: an array of any shape.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes are kept with length 1.

    >>> nn.logsumexp(mx.array([0.0, 0.0]))
    array(0.693147, dtype=float32)
    """
    return mx.logsumexp(x, axis, keepdims)


def logmeanexp(
    x: mx.array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> mx.array:
    """Return the logarithm of the mean of exponentials.

    Args:
        x: an array of any shape.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes are kept with length 1.

    >>> nn.logmeanexp(mx.array([2.0, 2.0]))
    array(2, dtype=float32)
    """
    return mx.logsumexp(x, axis, keepdims) - mx.log(mx.sum(mx.ones_like(x), axis, keepdims))
