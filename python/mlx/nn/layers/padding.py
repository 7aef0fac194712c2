"""Padding of spatial axes: constants, the edge, mirror images, the other end."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
from mlx.nn.layers.base import Module

Widths = int | Sequence[int] | Sequence[Sequence[int]]
"""One width for all ends, one for each axis, or a pair (before, after) for each axis."""

MODES = ("zeros", "reflect", "replicate", "circular")


def pairs_of(layer: object, widths: Widths, dims: int) -> tuple[tuple[int, int], ...]:
    """``(before, after)`` for each of the axes."""
    each: Sequence[int | Sequence[int]] = (widths,) * dims if isinstance(widths, int) else widths
    pairs = [(w, w) if isinstance(w, int) else tuple(w) for w in each]
    if len(pairs) != dims or any(len(p) != 2 or min(p) < 0 for p in pairs):
        raise ValueError(
            f"[{type(layer).__name__}] padding={widths!r}; a number that is not negative, or"
            f" {dims} numbers or pairs of them are accepted"
        )
    return tuple((p[0], p[1]) for p in pairs)


def pad_spatial(
    x: mx.array, pairs: Sequence[tuple[int, int]], mode: str = "zeros", value: float = 0.0
) -> mx.array:
    """Pad the axes between the first and the last one of ``x (N, ..., C)``."""
    if x.ndim != len(pairs) + 2:
        raise ValueError(
            f"[padding] an input with {x.ndim} axes; {len(pairs) + 2} axes (N, ..., C) are accepted"
        )
    if not any(map(any, pairs)):
        return x
    for axis, (before, after) in enumerate(pairs, start=1):
        most = {"reflect": x.shape[axis] - 1, "circular": x.shape[axis]}.get(mode)
        if most is not None and max(before, after) > max(most, 0):
            raise ValueError(
                f"[padding] {max(before, after)} elements in mode {mode!r} along an axis of length"
                f" {x.shape[axis]}; at most {max(most, 0)} are accepted"
            )
    if mode == "circular":
        for axis, (before, after) in enumerate(pairs, start=1):
            n = x.shape[axis]
            if before or after:
                x = mx.take(x, mx.arange(-before, n + after) % n, axis=axis)
        return x
    widths = [(0, 0), *pairs, (0, 0)]
    if mode == "zeros":
        return mx.pad(x, widths, constant_values=mx.array(value, x.dtype))
    return mx.pad(x, widths, mode="edge" if mode == "replicate" else mode)  # type: ignore[arg-type]


class _Pad(Module):
    _dims: int
    _mode = "zeros"
    _value = 0.0

    def __init__(self, padding: Widths) -> None:
        super().__init__()
        self._padding = pairs_of(self, padding, self._dims)

    def _extra_repr(self) -> str:
        return f"padding={self._padding}"

    def __call__(self, x: mx.array) -> mx.array:
        return pad_spatial(x, self._padding, self._mode, self._value)


class _ConstantPad(_Pad):
    def __init__(self, padding: Widths, value: float) -> None:
        super().__init__(padding)
        self._value = value

    def _extra_repr(self) -> str:
        return f"padding={self._padding}, value={self._value}"


class ZeroPad1d(_Pad):
    """Add zeros around ``x (N, L, C)``.

    Args:
        padding: one width for both ends, or a pair ``((before, after),)``.

    >>> nn.ZeroPad1d(1)(mx.ones((1, 2, 1))).flatten()
    array([0, 1, 1, 0], dtype=float32)
    """

    _dims = 1


class ZeroPad2d(_Pad):
    """Add zeros around ``x (N, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.

    >>> nn.ZeroPad2d(2)(mx.ones((1, 8, 8, 3))).shape
    (1, 12, 12, 3)
    """

    _dims = 2


class ZeroPad3d(_Pad):
    """Add zeros around ``x (N, D, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.

    >>> nn.ZeroPad3d(2)(mx.ones((1, 8, 8, 8, 3))).shape
    (1, 12, 12, 12, 3)
    """

    _dims = 3


class ConstantPad1d(_ConstantPad):
    """Add a number around ``x (N, L, C)``.

    Args:
        padding: one width for both ends, or a pair ``((before, after),)``.
        value: the number.

    >>> nn.ConstantPad1d(1, 7.0)(mx.ones((1, 2, 1))).flatten()
    array([7, 1, 1, 7], dtype=float32)
    """

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Add a number around ``x (N, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.
        value: the number.

    >>> nn.ConstantPad2d(2, 1.0)(mx.ones((1, 8, 8, 3))).shape
    (1, 12, 12, 3)
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Add a number around ``x (N, D, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.
        value: the number.

    >>> nn.ConstantPad3d(2, 1.0)(mx.ones((1, 8, 8, 8, 3))).shape
    (1, 12, 12, 12, 3)
    """

    _dims = 3


class ReflectionPad1d(_Pad):
    """Add the mirror image, without the outermost element, around ``x (N, L, C)``.

    Args:
        padding: one width for both ends, or a pair ``((before, after),)``.

    >>> nn.ReflectionPad1d(1)(mx.arange(3.0).reshape(1, 3, 1)).flatten()
    array([1, 0, 1, 2, 1], dtype=float32)
    """

    _dims = 1
    _mode = "reflect"


class ReflectionPad2d(_Pad):
    """Add the mirror image, without the outermost element, around ``x (N, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.

    >>> nn.ReflectionPad2d(2)(mx.ones((1, 8, 8, 3))).shape
    (1, 12, 12, 3)
    """

    _dims = 2
    _mode = "reflect"


class ReflectionPad3d(_Pad):
    """Add the mirror image, without the outermost element, around ``x (N, D, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.

    >>> nn.ReflectionPad3d(2)(mx.ones((1, 8, 8, 8, 3))).shape
    (1, 12, 12, 12, 3)
    """

    _dims = 3
    _mode = "reflect"


class ReplicationPad1d(_Pad):
    """Add the outermost element, repeated, around ``x (N, L, C)``.

    Args:
        padding: one width for both ends, or a pair ``((before, after),)``.

    >>> nn.ReplicationPad1d(1)(mx.arange(3.0).reshape(1, 3, 1)).flatten()
    array([0, 0, 1, 2, 2], dtype=float32)
    """

    _dims = 1
    _mode = "replicate"


class ReplicationPad2d(_Pad):
    """Add the outermost element, repeated, around ``x (N, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.

    >>> nn.ReplicationPad2d(2)(mx.ones((1, 8, 8, 3))).shape
    (1, 12, 12, 3)
    """

    _dims = 2
    _mode = "replicate"


class ReplicationPad3d(_Pad):
    """Add the outermost element, repeated, around ``x (N, D, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.

    >>> nn.ReplicationPad3d(2)(mx.ones((1, 8, 8, 8, 3))).shape
    (1, 12, 12, 12, 3)
    """

    _dims = 3
    _mode = "replicate"


class CircularPad1d(_Pad):
    """Add the elements of the other end around ``x (N, L, C)``.

    Args:
        padding: one width for both ends, or a pair ``((before, after),)``.

    >>> nn.CircularPad1d(1)(mx.arange(3.0).reshape(1, 3, 1)).flatten()
    array([2, 0, 1, 2, 0], dtype=float32)
    """

    _dims = 1
    _mode = "circular"


class CircularPad2d(_Pad):
    """Add the elements of the other end around ``x (N, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.

    >>> nn.CircularPad2d(2)(mx.ones((1, 8, 8, 3))).shape
    (1, 12, 12, 3)
    """

    _dims = 2
    _mode = "circular"


class CircularPad3d(_Pad):
    """Add the elements of the other end around ``x (N, D, H, W, C)``.

    Args:
        padding: one width for all ends, a width for each axis, or a pair (before, after) for
            each.

    >>> nn.CircularPad3d(2)(mx.ones((1, 8, 8, 8, 3))).shape
    (1, 12, 12, 12, 3)
    """

    _dims = 3
    _mode = "circular"
