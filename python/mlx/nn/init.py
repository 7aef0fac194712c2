"""Initialisers: functions that return a function from an array to new values of its shape.

>>> weight = nn.init.he_normal()(mx.zeros((16, 8)))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, ParamSpec

import mlx.core as mx

Initializer = Callable[..., mx.array]
_P = ParamSpec("_P")


class _Made:
    """An initialiser that pickles as the call that made it."""

    def __init__(self, initializer: Initializer, *call: Any) -> None:
        self._initializer = initializer
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> mx.array:
        return self._initializer(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, self._call


def _make(function: Callable[..., Initializer], args: Any, kwargs: Any) -> Initializer:
    return function(*args, **kwargs)


def _picklable(function: Callable[_P, Initializer]) -> Callable[_P, Initializer]:
    @wraps(function)
    def make(*args: _P.args, **kwargs: _P.kwargs) -> Initializer:
        return _Made(function(*args, **kwargs), make, args, kwargs)

    return make


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


@_picklable
def constant(value: float, dtype: mx.Dtype = mx.float32) -> Initializer:
    """Return an initializer that gives one value.

    Args:
        value: the value.
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape.

    >>> nn.init.constant(2.0)(mx.zeros((3,)))
    array([2, 2, 2], dtype=float32)
    """

    def initializer(a: mx.array) -> mx.array:
        return mx.full(a.shape, value, dtype=dtype)

    return initializer


@_picklable
def normal(mean: float = 0.0, std: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """Return an initializer that draws from a normal distribution.

    Args:
        mean: its mean.
        std: its standard deviation.
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape.

    >>> nn.init.normal(std=0.1)(mx.zeros((2, 3))).shape
    (2, 3)
    """

    def initializer(a: mx.array) -> mx.array:
        return mx.random.normal(a.shape, dtype=dtype, loc=mean, scale=std)

    return initializer


@_picklable
def uniform(low: float = 0.0, high: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """Return an initializer that draws evenly from ``[low, high)``.

    Args:
        low: the lower bound.
        high: the upper bound.
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape.

    >>> nn.init.uniform(-1, 1)(mx.zeros((2, 3))).shape
    (2, 3)
    """

    def initializer(a: mx.array) -> mx.array:
        return mx.random.uniform(low, high, a.shape, dtype=dtype)

    return initializer


@_picklable
def identity(dtype: mx.Dtype = mx.float32) -> Initializer:
    """Return an initializer that gives the identity matrix.

    Args:
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape. The array has to be a
        square matrix.

    >>> nn.init.identity()(mx.zeros((2, 2)))
    array([[1, 0],
           [0, 1]], dtype=float32)
    """

    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise ValueError(
                f"The input array must be a square matrix but got shape {tuple(a.shape)}."
            )
        return mx.eye(a.shape[0], dtype=dtype)

    return initializer


@_picklable
def glorot_normal(dtype: mx.Dtype = mx.float32) -> Initializer:
    """Return an initializer that draws normally with variance ``gain² * 2 / (fan_in + fan_out)``.

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward networks" (2010).

    Args:
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape. It also takes ``gain``.

    >>> nn.init.glorot_normal()(mx.zeros((4, 3)), gain=2.0).shape
    (4, 3)
    """

    def initializer(a: mx.array, gain: float = 1.0) -> mx.array:
        return normal(0.0, gain * math.sqrt(2 / sum(_fans(a))), dtype)(a)

    return initializer


@_picklable
def glorot_uniform(dtype: mx.Dtype = mx.float32) -> Initializer:
    """Return an initializer that draws evenly, with the variance of :func:`glorot_normal`.

    Args:
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape. It also takes ``gain``.

    >>> nn.init.glorot_uniform()(mx.zeros((4, 3))).shape
    (4, 3)
    """

    def initializer(a: mx.array, gain: float = 1.0) -> mx.array:
        bound = gain * math.sqrt(6 / sum(_fans(a)))
        return uniform(-bound, bound, dtype)(a)

    return initializer


@_picklable
def he_normal(dtype: mx.Dtype = mx.float32) -> Initializer:
    """Return an initializer that draws normally with variance ``gain² / fan``.

    He et al., "Delving Deep into Rectifiers" (2015).

    Args:
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape. It also takes ``mode``,
        ``"fan_in"`` or ``"fan_out"``, and ``gain``.

    >>> nn.init.he_normal()(mx.zeros((4, 3)), mode="fan_out").shape
    (4, 3)
    """

    def initializer(
        a: mx.array, mode: Literal["fan_in", "fan_out"] = "fan_in", gain: float = 1.0
    ) -> mx.array:
        return normal(0.0, gain / math.sqrt(_chosen_fan(a, mode)), dtype)(a)

    return initializer


@_picklable
def he_uniform(dtype: mx.Dtype = mx.float32) -> Initializer:
    """Return an initializer that draws evenly, with the variance of :func:`he_normal`.

    Args:
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape. It also takes ``mode``,
        ``"fan_in"`` or ``"fan_out"``, and ``gain``.

    >>> nn.init.he_uniform()(mx.zeros((4, 3))).shape
    (4, 3)
    """

    def initializer(
        a: mx.array, mode: Literal["fan_in", "fan_out"] = "fan_in", gain: float = 1.0
    ) -> mx.array:
        bound = gain * math.sqrt(3 / _chosen_fan(a, mode))
        return uniform(-bound, bound, dtype)(a)

    return initializer


@_picklable
def sparse(
    sparsity: float, mean: float = 0.0, std: float = 1.0, dtype: mx.Dtype = mx.float32
) -> Initializer:
    """Return an initializer that draws normally and sets a share of each row to zero.

    Args:
        sparsity: the share.
        mean: the mean of the distribution.
        std: its standard deviation.
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape. The array has to be a
        matrix.

    >>> mx.sum(nn.init.sparse(0.5)(mx.zeros((2, 8))) == 0, axis=1)
    array([4, 4], dtype=int32)
    """

    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2:
            raise ValueError("Only tensors with 2 dimensions are supported")
        zeros = math.ceil(sparsity * a.shape[1])
        order = mx.argsort(mx.random.uniform(shape=a.shape), axis=1)
        values = mx.random.normal(a.shape, dtype=dtype, loc=mean, scale=std)
        return mx.put_along_axis(values, order[:, :zeros], mx.array(0, dtype=dtype), axis=1)

    return initializer


@_picklable
def orthogonal(gain: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """Return an initializer that draws a matrix with orthonormal rows or columns.

    Saxe et al., "Exact solutions to the nonlinear dynamics of learning" (2014).

    Args:
        gain: multiplies the matrix.
        dtype: the dtype of the values.

    Returns:
        A function that takes an array and returns new values of its shape. The array has to be a
        matrix.

    >>> w = nn.init.orthogonal()(mx.zeros((2, 4)))
    >>> mx.allclose(w @ w.T, mx.eye(2), atol=1e-5)
    array(True, dtype=bool)
    """

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
