"""Pooling to a given size: the windows follow from the sizes of input and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.base import Module


def _bounds(n: int, m: int) -> list[tuple[int, int]]:
    """The first and the last position, exclusive, of each of ``m`` windows of ``n`` positions."""
    return [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]


def _windows(x: mx.array, axis: int, bounds: list[tuple[int, int]]) -> mx.array:
    """The windows along a new axis after ``axis``; short ones repeat their last position."""
    longest = max(end - begin for begin, end in bounds)
    rows = [[min(begin + k, end - 1) for k in range(longest)] for begin, end in bounds]
    return mx.take(x, mx.array(rows, mx.uint32), axis=axis)


def _means(x: mx.array, axis: int, bounds: list[tuple[int, int]]) -> mx.array:
    windows = _windows(x, axis, bounds)
    lengths = mx.array([end - begin for begin, end in bounds])
    kept = mx.arange(windows.shape[axis + 1]) < lengths[:, None]
    weights = (kept / lengths[:, None]).astype(x.dtype)
    weights = weights.reshape(*weights.shape, *[1] * (x.ndim - axis - 1))
    return mx.sum(windows * weights, axis=axis + 1)


def _greatest(x: mx.array, axis: int, bounds: list[tuple[int, int]]) -> mx.array:
    return mx.max(_windows(x, axis, bounds), axis=axis + 1)


def adaptive_pool(
    x: mx.array,
    sizes: Sequence[int | None],
    along: Callable[[mx.array, int, list[tuple[int, int]]], mx.array],
) -> mx.array:
    """Pool the axes between the first and the last one of ``x (N, ..., C)`` to ``sizes``."""
    if x.ndim != len(sizes) + 2:
        raise ValueError(
            f"[adaptive pooling] an input with {x.ndim} axes; {len(sizes) + 2} axes (N, ..., C) are"
            " accepted"
        )
    for axis, m in enumerate(sizes, start=1):
        n = x.shape[axis]
        if m is None or m == n:
            continue
        if n == 0:
            raise ValueError(f"[adaptive pooling] axis {axis} is empty; a longer one is accepted")
        if n % m == 0:  # a view of equal windows
            split = x.reshape(*x.shape[:axis], m, n // m, *x.shape[axis + 1 :])
            x = (mx.mean if along is _means else mx.max)(split, axis=axis + 1)
        else:
            x = along(x, axis, _bounds(n, m))
    return x


class _Adaptive(Module):
    _dims: int
    _along: Callable[..., mx.array]

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        n = self._dims
        sizes: tuple[int | None, ...]
        if output_size is None or isinstance(output_size, int):
            sizes = (output_size,) * n
        else:
            sizes = tuple(output_size)
        if len(sizes) != n:
            raise ValueError(
                f"[{type(self).__name__}] output_size={output_size!r}; a number or {n} of them are"
                " accepted"
            )
        check_sizes(self, output_size=[size for size in sizes if size is not None])
        self._output_size = sizes

    def _extra_repr(self) -> str:
        return f"output_size={self._output_size}"

    def __call__(self, x: mx.array) -> mx.array:
        return adaptive_pool(x, self._output_size, type(self)._along)


class AdaptiveAvgPool1d(_Adaptive):
    """Take means over windows of ``x (N, L, C)`` so that the output has a given size.

    Window ``i`` of ``m`` along an axis of length ``n`` goes from ``floor(i n / m)`` to
    ``ceil((i + 1) n / m)``.

    Args:
        output_size: the length of the output; None keeps the length of the input.

    >>> nn.AdaptiveAvgPool1d(2)(mx.arange(6.0).reshape(1, 6, 1)).flatten()
    array([1, 4], dtype=float32)
    """

    _dims = 1
    _along = staticmethod(_means)


class AdaptiveAvgPool2d(_Adaptive):
    """Take means over windows of ``x (N, H, W, C)`` so that the output has a given size.

    Windows are those of :class:`AdaptiveAvgPool1d`, axis by axis.

    Args:
        output_size: the size of the output: one number for both axes, or a pair; None keeps an
            axis.

    >>> nn.AdaptiveAvgPool2d(2)(mx.ones((1, 7, 7, 3))).shape
    (1, 2, 2, 3)
    """

    _dims = 2
    _along = staticmethod(_means)


class AdaptiveAvgPool3d(_Adaptive):
    """Take means over windows of ``x (N, D, H, W, C)`` so that the output has a given size.

    Windows are those of :class:`AdaptiveAvgPool1d`, axis by axis.

    Args:
        output_size: the size of the output: one number for all axes, or a triple; None keeps an
            axis.

    >>> nn.AdaptiveAvgPool3d(2)(mx.ones((1, 7, 7, 7, 3))).shape
    (1, 2, 2, 2, 3)
    """

    _dims = 3
    _along = staticmethod(_means)


class AdaptiveMaxPool1d(_Adaptive):
    """Take the greatest values over windows of ``x (N, L, C)`` so that the output has a given size.

    Window ``i`` of ``m`` along an axis of length ``n`` goes from ``floor(i n / m)`` to
    ``ceil((i + 1) n / m)``.

    Args:
        output_size: the length of the output; None keeps the length of the input.

    >>> nn.AdaptiveMaxPool1d(2)(mx.arange(6.0).reshape(1, 6, 1)).flatten()
    array([2, 5], dtype=float32)
    """

    _dims = 1
    _along = staticmethod(_greatest)


class AdaptiveMaxPool2d(_Adaptive):
    """Take the greatest values over windows of ``x (N, H, W, C)``, to a given size.

    Windows are those of :class:`AdaptiveMaxPool1d`, axis by axis.

    Args:
        output_size: the size of the output: one number for both axes, or a pair; None keeps an
            axis.

    >>> nn.AdaptiveMaxPool2d(2)(mx.ones((1, 7, 7, 3))).shape
    (1, 2, 2, 3)
    """

    _dims = 2
    _along = staticmethod(_greatest)


class AdaptiveMaxPool3d(_Adaptive):
    """Take the greatest values over windows of ``x (N, D, H, W, C)``, to a given size.

    Windows are those of :class:`AdaptiveMaxPool1d`, axis by axis.

    Args:
        output_size: the size of the output: one number for all axes, or a triple; None keeps an
            axis.

    >>> nn.AdaptiveMaxPool3d(2)(mx.ones((1, 7, 7, 7, 3))).shape
    (1, 2, 2, 2, 3)
    """

    _dims = 3
    _along = staticmethod(_greatest)
