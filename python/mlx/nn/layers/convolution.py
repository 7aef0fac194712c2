"""Convolutions over one, two and three spatial axes; channels are the last axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.base import Module
from mlx.nn.layers.padding import MODES, pad_spatial, pairs_of


class _Conv(Module):
    """The base of all convolutions.

    ``weight`` of shape ``(out_channels, *kernel_size, in_channels / groups)`` starts uniform in
    ``±1/sqrt(fan)``, ``fan`` being the product of all sizes but the first; ``bias`` of shape
    ``(out_channels,)`` starts at zero.
    """

    _function: Callable[..., mx.array]
    _dims: int
    """The number of spatial axes."""
    _options: tuple[str, ...] = ("stride", "padding", "dilation", "groups")
    """The attributes that the function takes after the weights, in its order."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[Any, ...],
        stride: int | tuple[Any, ...] = 1,
        padding: int | tuple[Any, ...] | str = 0,
        dilation: int | tuple[Any, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__()
        check_sizes(self, in_channels=in_channels, kernel_size=kernel_size, groups=groups)
        check_sizes(self, stride=stride, dilation=dilation)
        check_sizes(self, 0, out_channels=out_channels)
        if in_channels % groups:
            raise ValueError(
                f"The number of input channels ({in_channels}) must be divisible by the number"
                f" of groups ({groups})"
            )
        kernel = (kernel_size,) * self._dims if isinstance(kernel_size, int) else kernel_size
        shape = (out_channels, *kernel, in_channels // groups)
        bound = math.sqrt(1 / math.prod(shape[1:]))
        self.weight = mx.random.uniform(-bound, bound, shape)
        if bias:
            self.bias = mx.zeros((out_channels,))
        self.stride = self._per_axis(stride)
        self.dilation = dilation
        self._uneven: tuple[tuple[int, int], ...] = ()  # where both sides have different widths
        if isinstance(padding, str):
            padding = self._named_padding(padding, kernel)
        self.padding = self._per_axis(padding)
        self.groups = groups
        if padding_mode not in MODES:
            raise ValueError(
                f"[{type(self).__name__}] padding_mode={padding_mode!r}; one of {MODES} is accepted"
            )
        self._padding_mode = padding_mode

    def _named_padding(self, name: str, kernel: tuple[Any, ...]) -> int | tuple[Any, ...]:
        """The elements on both sides for "valid", none, or "same", as many as keep the lengths."""
        if name not in ("same", "valid"):
            raise ValueError(
                f"[{type(self).__name__}] padding={name!r}; numbers, 'same' and 'valid' are"
                " accepted"
            )
        if name == "valid":
            return 0
        ones = (1,) * self._dims
        if self._per_axis(self.stride) not in (1, ones):
            raise ValueError(
                f"[{type(self).__name__}] padding='same' with a stride of {self.stride};"
                " strides of 1 keep the length"
            )
        dilation = self._per_axis(self.dilation)
        each = dilation if isinstance(dilation, tuple) else (dilation,) * self._dims
        spans = [d * (k - 1) for d, k in zip(each, kernel, strict=True)]
        if any(span % 2 for span in spans):
            # As in PyTorch, the odd element is after the others.
            self._uneven = tuple((span // 2, span - span // 2) for span in spans)
            return 0
        return tuple(span // 2 for span in spans) if self._dims > 1 else spans[0] // 2

    def _pairs(self) -> tuple[tuple[int, int], ...]:
        """The elements (before, after) of each axis that are added apart from the convolution."""
        if self._uneven or self._padding_mode == "zeros":
            return self._uneven
        return pairs_of(self, self.padding, self._dims)

    def _per_axis(self, value: int | tuple[Any, ...]) -> int | tuple[Any, ...]:
        return (value,) * self._dims if isinstance(value, int) and self._dims > 1 else value

    def _extra_repr(self) -> str:
        out_channels, *kernel, in_channels = self.weight.shape
        parts = [str(in_channels * self.groups), str(out_channels)]
        parts.append(f"kernel_size={tuple(kernel) if self._dims > 1 else kernel[0]}")
        parts += [f"{name}={getattr(self, name)}" for name in self._options]
        if self._uneven:
            parts[parts.index(f"padding={self.padding}")] = f"padding={self._uneven}"
        if self._padding_mode != "zeros":
            parts.append(f"padding_mode={self._padding_mode!r}")
        return ", ".join([*parts, f"bias={'bias' in self}"])

    def __call__(self, x: mx.array) -> mx.array:
        options = {name: getattr(self, name) for name in self._options}
        if pairs := self._pairs():
            x = pad_spatial(x, pairs, self._padding_mode)
            options["padding"] = 0
        y = type(self)._function(x, self["weight"], *options.values())
        return y + self["bias"] if "bias" in self else y


class Conv1d(_Conv):
    """Convolve ``x`` of shape ``(N, L, in_channels)`` along its length.

    The output has shape ``(N, L', out_channels)``, ``L' = (L + 2 padding - dilation (kernel_size -
    1) - 1) // stride + 1``. ``weight`` of shape ``(out_channels, kernel_size, in_channels /
    groups)`` starts uniform in ``±1/sqrt(kernel_size * in_channels / groups)``, ``bias`` of shape
    ``(out_channels,)`` at zero.

    Args:
        in_channels: the number of input channels.
        out_channels: the number of output channels.
        kernel_size: the length of the kernel.
        stride: the distance of neighbouring windows.
        padding: the zeros on both sides, ``"valid"`` for none, or ``"same"`` for as many as keep
            the length.
        dilation: the distance of neighbouring elements of a window.
        groups: the channels are divided into this many groups, convolved one by one.
        bias: whether there is a bias.
        padding_mode: the elements of the padding: ``"zeros"``, or ``"reflect"``, ``"replicate"``
            and ``"circular"`` as in :class:`ReflectionPad1d` and its like.

    >>> nn.Conv1d(3, 8, kernel_size=5, padding=2)(mx.ones((1, 100, 3))).shape
    (1, 100, 8)
    """

    _function = staticmethod(mx.conv1d)
    _dims = 1


class Conv2d(_Conv):
    """Convolve images ``x`` of shape ``(N, H, W, in_channels)``.

    The output has shape ``(N, H', W', out_channels)``, each size by the formula of :class:`Conv1d`.
    One number stands for both axes. ``weight`` has shape ``(out_channels, *kernel_size, in_channels
    / groups)``; it and ``bias`` start like those of :class:`Conv1d`.

    Args:
        in_channels: the number of input channels.
        out_channels: the number of output channels.
        kernel_size: the size of the kernel.
        stride: the distance of neighbouring windows.
        padding: the zeros on all sides, ``"valid"`` for none, or ``"same"`` for as many as keep the
            sizes.
        dilation: the distance of neighbouring elements of a window.
        groups: the channels are divided into this many groups, convolved one by one.
        bias: whether there is a bias.
        padding_mode: the elements of the padding: ``"zeros"``, or ``"reflect"``, ``"replicate"``
            and ``"circular"`` as in :class:`ReflectionPad1d` and its like.

    >>> nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1)(mx.ones((1, 32, 32, 3))).shape
    (1, 16, 16, 8)
    """

    _function = staticmethod(mx.conv2d)
    _dims = 2


class Conv3d(_Conv):
    """Convolve volumes ``x`` of shape ``(N, D, H, W, in_channels)``.

    The output has shape ``(N, D', H', W', out_channels)``, each size by the formula of
    :class:`Conv1d`. One number stands for the three axes. ``weight`` has shape ``(out_channels,
    *kernel_size, in_channels)``; it and ``bias`` start like those of :class:`Conv1d`.

    Args:
        in_channels: the number of input channels.
        out_channels: the number of output channels.
        kernel_size: the size of the kernel.
        stride: the distance of neighbouring windows.
        padding: the zeros on all sides, ``"valid"`` for none, or ``"same"`` for as many as keep the
            sizes.
        dilation: the distance of neighbouring elements of a window.
        bias: whether there is a bias.
        padding_mode: the elements of the padding: ``"zeros"``, or ``"reflect"``, ``"replicate"``
            and ``"circular"`` as in :class:`ReflectionPad1d` and its like.

    >>> nn.Conv3d(1, 2, kernel_size=3)(mx.ones((1, 8, 8, 8, 1))).shape
    (1, 6, 6, 6, 2)
    """

    _function = staticmethod(mx.conv3d)
    _dims = 3
    _options = ("stride", "padding", "dilation")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[Any, ...],
        stride: int | tuple[Any, ...] = 1,
        padding: int | tuple[Any, ...] | str = 0,
        dilation: int | tuple[Any, ...] = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            bias=bias,
            padding_mode=padding_mode,
        )
