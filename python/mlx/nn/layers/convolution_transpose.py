"""Transposed convolutions over one, two and three spatial axes; channels are the last axis."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx.nn.layers.base import Module as Module
from mlx.nn.layers.convolution import _Conv


class _ConvTranspose(_Conv):
    _options = ("stride", "padding", "dilation", "output_padding")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[Any, ...],
        stride: int | tuple[Any, ...] = 1,
        padding: int | tuple[Any, ...] = 0,
        dilation: int | tuple[Any, ...] = 1,
        output_padding: int | tuple[Any, ...] = 0,
        bias: bool = True,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, bias=bias
        )
        self.output_padding = self._per_axis(output_padding)


class ConvTranspose1d(_ConvTranspose):
    """Apply the adjoint of a convolution to ``x`` of shape ``(N, L, in_channels)``.

    The output has shape ``(N, L', out_channels)``, ``L' = (L - 1) stride - 2 padding + dilation
    (kernel_size - 1) + output_padding + 1``. ``weight`` of shape ``(out_channels, kernel_size,
    in_channels)`` starts uniform in ``±1/sqrt(in_channels * kernel_size)``, ``bias`` of shape
    ``(out_channels,)`` at zero.

    Args:
        in_channels: the number of input channels.
        out_channels: the number of output channels.
        kernel_size: the length of the kernel.
        stride: the stride of the convolution.
        padding: the padding of the convolution.
        dilation: the dilation of the convolution.
        output_padding: is added to the length of the output.
        bias: whether there is a bias.

    >>> nn.ConvTranspose1d(8, 3, kernel_size=4, stride=2, padding=1)(mx.ones((1, 50, 8))).shape
    (1, 100, 3)
    """

    _function = staticmethod(mx.conv_transpose1d)
    _dims = 1


class ConvTranspose2d(_ConvTranspose):
    """Apply the adjoint of a convolution to images ``x`` of shape ``(N, H, W, in_channels)``.

    Sizes are those of :class:`ConvTranspose1d`. One number stands for both axes. ``weight`` has
    shape ``(out_channels, *kernel_size, in_channels)``.

    Args:
        in_channels: the number of input channels.
        out_channels: the number of output channels.
        kernel_size: the size of the kernel.
        stride: the stride of the convolution.
        padding: the padding of the convolution.
        dilation: the dilation of the convolution.
        output_padding: is added to the size of the output.
        bias: whether there is a bias.

    >>> nn.ConvTranspose2d(8, 3, kernel_size=4, stride=2, padding=1)(mx.ones((1, 16, 16, 8))).shape
    (1, 32, 32, 3)
    """

    _function = staticmethod(mx.conv_transpose2d)
    _dims = 2


class ConvTranspose3d(_ConvTranspose):
    """Apply the adjoint of a convolution to volumes ``x`` of shape ``(N, D, H, W, in_channels)``.

    Sizes are those of :class:`ConvTranspose1d`. One number stands for the three axes. ``weight``
    has shape ``(out_channels, *kernel_size, in_channels)``.

    Args:
        in_channels: the number of input channels.
        out_channels: the number of output channels.
        kernel_size: the size of the kernel.
        stride: the stride of the convolution.
        padding: the padding of the convolution.
        dilation: the dilation of the convolution.
        output_padding: is added to the size of the output.
        bias: whether there is a bias.

    >>> nn.ConvTranspose3d(2, 1, kernel_size=2, stride=2)(mx.ones((1, 4, 4, 4, 2))).shape
    (1, 8, 8, 8, 1)
    """

    _function = staticmethod(mx.conv_transpose3d)
    _dims = 3
