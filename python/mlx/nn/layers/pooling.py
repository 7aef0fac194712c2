"""Maximum and average pooling over one, two and three spatial axes; channels are last."""

from __future__ import annotations

import math
from collections.abc import Callable

import mlx.core as mx
from mlx.nn.layers.base import Module


def _contiguous_strides(shape: tuple[int, ...]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def _windows(x: mx.array, size: tuple[int, ...], stride: tuple[int, ...]) -> mx.array:
    """View ``x (N, *spatial, C)`` as its windows ``(N, *positions, *size, C)``."""
    batch, *spatial, channels = x.shape
    if len(spatial) != len(size):
        raise ValueError(
            f"Pooling over {len(size)} spatial axes expects an input with {len(size) + 2}"
            f" dimensions (N, ..., C) but the input has {x.ndim} dimensions."
        )
    if size == stride and all(n % s == 0 for n, s in zip(spatial, size, strict=True)):
        split = [m for n, s in zip(spatial, size, strict=True) for m in (n // s, s)]
        axes = [*range(1, 2 * len(size), 2), *range(2, 2 * len(size) + 1, 2)]
        return x.reshape(batch, *split, channels).transpose(0, *axes, -1)
    counts = [max(0, (n - s) // step + 1) for n, s, step in zip(spatial, size, stride, strict=True)]
    strides = _contiguous_strides(x.shape)
    steps = [a * step for a, step in zip(strides[1:-1], stride, strict=True)]
    return mx.as_strided(
        x,
        shape=(batch, *counts, *size, channels),
        strides=(strides[0], *steps, *strides[1:]),
    )


class _Pool(Module):
    """Reduce the windows of ``kernel_size`` that lie ``stride`` apart, channel by channel."""

    _dims: int
    _reduce: Callable[..., mx.array]
    _padding_value: float

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] | None = 0,
    ) -> None:
        super().__init__()
        self._kernel_size = self._per_axis("kernel_size", kernel_size)
        self._stride = self._per_axis("stride", kernel_size if stride is None else stride)
        self._padding = self._per_axis("padding", padding)

    def _per_axis(self, name: str, value: object) -> tuple[int, ...]:
        """Check an argument and repeat it for every axis."""
        me, n = type(self).__name__, self._dims
        sizes = (value,) * n if isinstance(value, int) else value
        if (
            not isinstance(sizes, (tuple, list))
            or len(sizes) != n
            or not all(isinstance(size, int) for size in sizes)
        ):
            raise ValueError(
                f"[{me}] '{name}' must be an integer or a tuple containing {n}"
                f" integer{'s' if n > 1 else ''}"
            )
        sizes = tuple(sizes)
        least, text = (0, "non-negative") if name == "padding" else (1, "positive")
        if min(sizes) < least:
            raise ValueError(f"[{me}] '{name}' must be {text} but got {sizes}.")
        return sizes

    def _extra_repr(self) -> str:
        return f"kernel_size={self._kernel_size}, stride={self._stride}, padding={self._padding}"

    def __call__(self, x: mx.array) -> mx.array:
        if any(self._padding):
            widths = [(0, 0), *((p, p) for p in self._padding), (0, 0)]
            x = mx.pad(x, widths, constant_values=self._padding_value)
        windows = _windows(x, self._kernel_size, self._stride)
        axes = range(-self._dims - 1, -1)
        return type(self)._reduce(windows, axis=tuple(axes))


class _Pool1d(_Pool):
    _dims = 1


class _Pool2d(_Pool):
    _dims = 2


class _Pool3d(_Pool):
    _dims = 3


class MaxPool1d(_Pool1d):
    """Take the greatest value of every window of ``x (N, L, C)``.

    Windows that do not fit are left out. The output has shape ``(N, L', C)``, ``L' = (L + 2 padding
    - kernel_size) // stride + 1``.

    Args:
        kernel_size: the length of a window.
        stride: the distance of neighbouring windows, ``kernel_size`` by default.
        padding: the elements ``-inf`` on both sides.

    >>> nn.MaxPool1d(2)(mx.array([1.0, 5.0, 2.0, 3.0]).reshape(1, 4, 1)).flatten()
    array([5, 3], dtype=float32)
    """

    _reduce = staticmethod(mx.max)
    _padding_value = -float("inf")


class MaxPool2d(_Pool2d):
    """Take the greatest value of every window of ``x (N, H, W, C)``.

    Arguments are those of :class:`MaxPool1d`: one number, or a pair.

    Args:
        kernel_size: the size of a window.
        stride: the distance of neighbouring windows, ``kernel_size`` by default.
        padding: the elements ``-inf`` on all sides.

    >>> nn.MaxPool2d(2)(mx.ones((1, 8, 8, 3))).shape
    (1, 4, 4, 3)
    """

    _reduce = staticmethod(mx.max)
    _padding_value = -float("inf")


class MaxPool3d(_Pool3d):
    """Take the greatest value of every window of ``x (N, D, H, W, C)``.

    Arguments are those of :class:`MaxPool1d`: one number, or a triple.

    Args:
        kernel_size: the size of a window.
        stride: the distance of neighbouring windows, ``kernel_size`` by default.
        padding: the elements ``-inf`` on all sides.

    >>> nn.MaxPool3d(2)(mx.ones((1, 8, 8, 8, 3))).shape
    (1, 4, 4, 4, 3)
    """

    _reduce = staticmethod(mx.max)
    _padding_value = -float("inf")


class AvgPool1d(_Pool1d):
    """Take the mean of every window of ``x (N, L, C)``; the zeros of the padding count.

    Shapes are those of :class:`MaxPool1d`.

    Args:
        kernel_size: the length of a window.
        stride: the distance of neighbouring windows, ``kernel_size`` by default.
        padding: the zeros on both sides.

    >>> nn.AvgPool1d(2)(mx.array([1.0, 5.0, 2.0, 3.0]).reshape(1, 4, 1)).flatten()
    array([3, 2.5], dtype=float32)
    """

    _reduce = staticmethod(mx.mean)
    _padding_value = 0


class AvgPool2d(_Pool2d):
    """Take the mean of every window of ``x (N, H, W, C)``; the zeros of the padding count.

    Arguments are those of :class:`AvgPool1d`: one number, or a pair.

    Args:
        kernel_size: the size of a window.
        stride: the distance of neighbouring windows, ``kernel_size`` by default.
        padding: the zeros on all sides.

    >>> nn.AvgPool2d(2)(mx.ones((1, 8, 8, 3))).shape
    (1, 4, 4, 3)
    """

    _reduce = staticmethod(mx.mean)
    _padding_value = 0


class AvgPool3d(_Pool3d):
    """Take the mean of every window of ``x (N, D, H, W, C)``; the zeros of the padding count.

    Arguments are those of :class:`AvgPool1d`: one number, or a triple.

    Args:
        kernel_size: the size of a window.
        stride: the distance of neighbouring windows, ``kernel_size`` by default.
        padding: the zeros on all sides.

    >>> nn.AvgPool3d(2)(mx.ones((1, 8, 8, 8, 3))).shape
    (1, 4, 4, 4, 3)
    """

    _reduce = staticmethod(mx.mean)
    _padding_value = 0
