"""Initialisers: functions that return a function from an array to new values of its shape.

>>> weight = nn.init.he_normal()(mx.zeros((16, 8)))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import mlx.core as mx

Initializer = Callable[..., mx.array]


def _fans(a: mx.array) -> tuple[int, int]:
    """Fan-in and fan-out of weights ``(outputs, *kernel, inputs)``."""
    if a.ndim < 2:
        raise ValueError(
            "Glorot / He initialization requires at least 2 dimensional input but input with"
            f" {a.ndim} dimensions."
        )
    kernel = math.prod(a.shape[1:-1])
    return a.shape[-1] * kernel, a.shape[0] * kernel


def _chosen_fan(a: mx.array, mode: str) -> int:
    fans = dict(zip(("fan_in", "fan_out"), _fans(a), strict=True))
    if mode not in fans:
        raise ValueError(f"Invalid mode: {mode}. Valid modes are: {', '.join(fans)}")
    return fans[mode]


def constant(value: float, dtype: mx.Dtype = mx.float32) -> Initializer:
    """``value`` everywhere."""

    def initializer(a: mx.array) -> mx.array:
        return mx.full(a.shape, value, dtype=dtype)

    return initializer


def normal(mean: float = 0.0, std: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """A normal distribution."""

    def initializer(a: mx.array) -> mx.array:
        return mx.random.normal(a.shape, dtype=dtype, loc=mean, scale=std)

    return initializer


def uniform(low: float = 0.0, high: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """The uniform distribution on ``[low, high)``."""

    def initializer(a: mx.array) -> mx.array:
        return mx.random.uniform(low, high, a.shape, dtype=dtype)

    return initializer


def identity(dtype: mx.Dtype = mx.float32) -> Initializer:
    """The identity matrix; the array must be square."""

    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise ValueError(
                f"The input array must be a square matrix but got shape {tuple(a.shape)}."
            )
        return mx.eye(a.shape[0], dtype=dtype)

    return initializer


def glorot_normal(dtype: mx.Dtype = mx.float32) -> Initializer:
    """Normal with variance ``gain² * 2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""

    def initializer(a: mx.array, gain: float = 1.0) -> mx.array:
        return normal(0.0, gain * math.sqrt(2 / sum(_fans(a))), dtype)(a)

    return initializer


def glorot_uniform(dtype: mx.Dtype = mx.float32) -> Initializer:
    """Uniform with the variance of :func:`glorot_normal`."""

    def initializer(a: mx.array, gain: float = 1.0) -> mx.array:
        bound = gain * math.sqrt(6 / sum(_fans(a)))
        return uniform(-bound, bound, dtype)(a)

    return initializer


def he_normal(dtype: mx.Dtype = mx.float32) -> Initializer:
    """Normal with variance ``gain² / fan`` (He et al., 2015), the fan chosen by ``mode``."""

    def initializer(
        a: mx.array, mode: Literal["fan_in", "fan_out"] = "fan_in", gain: float = 1.0
    ) -> mx.array:
        return normal(0.0, gain / math.sqrt(_chosen_fan(a, mode)), dtype)(a)

    return initializer


def he_uniform(dtype: mx.Dtype = mx.float32) -> Initializer:
    """Uniform with the variance of :func:`he_normal`."""

    def initializer(
        a: mx.array, mode: Literal["fan_in", "fan_out"] = "fan_in", gain: float = 1.0
    ) -> mx.array:
        bound = gain * math.sqrt(3 / _chosen_fan(a, mode))
        return uniform(-bound, bound, dtype)(a)

    return initializer


def sparse(
    sparsity: float, mean: float = 0.0, std: float = 1.0, dtype: mx.Dtype = mx.float32
) -> Initializer:
    """Normal, with the share ``sparsity`` of each row of a matrix set to zero at random."""

    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2:
            raise ValueError("Only tensors with 2 dimensions are supported")
        zeros = math.ceil(sparsity * a.shape[1])
        order = mx.argsort(mx.random.uniform(shape=a.shape), axis=1)
        values = mx.random.normal(a.shape, dtype=dtype, loc=mean, scale=std)
        return mx.put_along_axis(values, order[:, :zeros], mx.array(0, dtype=dtype), axis=1)

    return initializer


def orthogonal(gain: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """``gain`` times a random matrix with orthonormal rows or columns (Saxe et al., 2014)."""

    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2:
            raise ValueError(
                f"Orthogonal initialization requires a 2D array but got a {a.ndim}D array."
            )
        rows, columns = a.shape
        n = max(rows, columns)
        q, r = mx.linalg.qr(mx.random.normal((n, n)), stream=mx.cpu)
        # The signs of r's diagonal make the distribution uniform (Mezzadri, 2007).
        q = q * mx.sign(mx.diag(r))
        return (gain * q[:rows, :columns]).astype(dtype)

    return initializer
