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
    """The adjoint of a convolution along the length of ``x`` of shape ``(N, L, in_channels)``.

    The output has shape ``(N, L', out_channels)``, ``L' = (L - 1) stride - 2 padding + dilation
    (kernel_size - 1) + output_padding + 1``.  ``weight`` of shape ``(out_channels, kernel_size,
    in_channels)`` starts uniform in ``±1/sqrt(in_channels * kernel_size)``, ``bias`` of shape
    ``(out_channels,)`` at zero.
    """

    _function = staticmethod(mx.conv_transpose1d)
    _dims = 1


class ConvTranspose2d(_ConvTranspose):
    """:class:`ConvTranspose1d` for images ``x`` of shape ``(N, H, W, in_channels)``.

    One number stands for both axes; ``weight`` has shape ``(out_channels, *kernel_size,
    in_channels)``.
    """

    _function = staticmethod(mx.conv_transpose2d)
    _dims = 2


class ConvTranspose3d(_ConvTranspose):
    """:class:`ConvTranspose1d` for volumes ``x`` of shape ``(N, D, H, W, in_channels)``.

    One number stands for the three axes; ``weight`` has shape ``(out_channels, *kernel_size,
    in_channels)``.
    """

    _function = staticmethod(mx.conv_transpose3d)
    _dims = 3
