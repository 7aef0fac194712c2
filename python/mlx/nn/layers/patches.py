"""Windows as vectors and back, and space as channels and back; channels are the last axis."""

from __future__ import annotations

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.base import Module

Pair = int | tuple[int, int]


def _pair(value: Pair) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


class _Windows(Module):
    """The geometry of the windows of :class:`Unfold` and :class:`Fold`."""

    def __init__(self, kernel_size: Pair, dilation: Pair, padding: Pair, stride: Pair) -> None:
        super().__init__()
        check_sizes(self, kernel_size=kernel_size, dilation=dilation, stride=stride)
        check_sizes(self, 0, padding=padding)
        self._kernel, self._dilation = _pair(kernel_size), _pair(dilation)
        self._padding, self._stride = _pair(padding), _pair(stride)

    def _extra_repr(self) -> str:
        return (
            f"kernel_size={self._kernel}, dilation={self._dilation}, padding={self._padding},"
            f" stride={self._stride}"
        )

    def _positions(self, axis: int, n: int) -> mx.array:
        """The padded positions of each window along an axis of length ``n``."""
        kernel, dilation = self._kernel[axis], self._dilation[axis]
        count = (n + 2 * self._padding[axis] - dilation * (kernel - 1) - 1) // self._stride[axis]
        if count < 0:
            raise ValueError(
                f"[{type(self).__name__}] an axis of length {n} for a window of"
                f" {dilation * (kernel - 1) + 1}; one that holds a window is accepted"
            )
        return mx.arange(count + 1)[:, None] * self._stride[axis] + mx.arange(kernel) * dilation


class Unfold(_Windows):
    """List the windows of images ``x (N, H, W, C)`` as vectors ``(N, windows, C kh kw)``.

    A vector has the elements of a channel side by side: the last axis is ``C``, then the rows, then
    the columns of the window.

    Args:
        kernel_size: the size of a window.
        dilation: the distance of neighbouring elements of a window.
        padding: the zeros on all sides.
        stride: the distance of neighbouring windows.

    >>> nn.Unfold(2)(mx.ones((1, 4, 5, 3))).shape
    (1, 12, 12)
    """

    def __init__(
        self, kernel_size: Pair, dilation: Pair = 1, padding: Pair = 0, stride: Pair = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)

    def __call__(self, x: mx.array) -> mx.array:
        batch, height, width, channels = x.shape
        rows, columns = self._positions(0, height), self._positions(1, width)
        x = mx.pad(x, [(0, 0), *((p, p) for p in self._padding), (0, 0)])
        windows = mx.take(mx.take(x, columns, axis=2), rows, axis=1)
        size = channels * self._kernel[0] * self._kernel[1]
        # (N, rows, kh, columns, kw, C)
        return windows.transpose(0, 1, 3, 5, 2, 4).reshape(batch, -1, size)


class Fold(_Windows):
    """Add up windows ``x (N, windows, C kh kw)`` to images ``(N, *output_size, C)``.

    Vectors are those of :class:`Unfold`; where windows overlap, their elements are added.

    Args:
        output_size: the height and the width of the images.
        kernel_size: the size of a window.
        dilation: the distance of neighbouring elements of a window.
        padding: the elements on all sides that are left out.
        stride: the distance of neighbouring windows.

    >>> nn.Fold((2, 3), 2)(mx.ones((1, 2, 4)))[0, 0].flatten()
    array([1, 2, 1], dtype=float32)
    """

    def __init__(
        self,
        output_size: Pair,
        kernel_size: Pair,
        dilation: Pair = 1,
        padding: Pair = 0,
        stride: Pair = 1,
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        check_sizes(self, output_size=output_size)
        self._output_size = _pair(output_size)

    def _extra_repr(self) -> str:
        return f"output_size={self._output_size}, " + super()._extra_repr()

    def __call__(self, x: mx.array) -> mx.array:
        (height, width), (down, across) = self._output_size, self._padding
        rows, columns = self._positions(0, height), self._positions(1, width)
        kernel = self._kernel[0] * self._kernel[1]
        count = rows.shape[0] * columns.shape[0]
        if x.ndim != 3 or x.shape[1] != count or x.shape[2] % kernel:
            raise ValueError(
                f"[Fold] an input of shape {x.shape}; (N, {count}, C * {kernel}) is accepted"
            )
        channels = x.shape[2] // kernel
        windows = x.reshape(-1, rows.shape[0], columns.shape[0], channels, *self._kernel)
        windows = windows.transpose(0, 1, 4, 2, 5, 3)
        padded = mx.zeros((x.shape[0], height + 2 * down, width + 2 * across, channels), x.dtype)
        image = padded.at[:, rows[:, :, None, None], columns].add(windows)
        return image[:, down : down + height, across : across + width]


class PixelShuffle(Module):
    """Turn channels into space: ``(N, H, W, C r²)`` becomes ``(N, H r, W r, C)``.

    Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
    Convolutional Neural Network" (2016).

    Args:
        upscale_factor: the factor ``r``.

    >>> nn.PixelShuffle(2)(mx.ones((1, 4, 5, 12))).shape
    (1, 8, 10, 3)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        check_sizes(self, upscale_factor=upscale_factor)
        self._factor = upscale_factor

    def _extra_repr(self) -> str:
        return f"upscale_factor={self._factor}"

    def __call__(self, x: mx.array) -> mx.array:
        *batch, height, width, channels = x.shape
        r = self._factor
        if channels % (r * r):
            raise ValueError(
                f"[PixelShuffle] {channels} channels; a multiple of {r * r} is accepted"
            )
        x = x.reshape(-1, height, width, channels // (r * r), r, r).transpose(0, 1, 4, 2, 5, 3)
        return x.reshape(*batch, height * r, width * r, channels // (r * r))


class PixelUnshuffle(Module):
    """Turn space into channels: ``(N, H r, W r, C)`` becomes ``(N, H, W, C r²)``.

    The inverse of :class:`PixelShuffle`.

    Args:
        downscale_factor: the factor ``r``.

    >>> nn.PixelUnshuffle(2)(mx.ones((1, 8, 10, 3))).shape
    (1, 4, 5, 12)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        check_sizes(self, downscale_factor=downscale_factor)
        self._factor = downscale_factor

    def _extra_repr(self) -> str:
        return f"downscale_factor={self._factor}"

    def __call__(self, x: mx.array) -> mx.array:
        *batch, height, width, channels = x.shape
        r = self._factor
        if height % r or width % r:
            raise ValueError(
                f"[PixelUnshuffle] an image of {height} × {width}; multiples of {r} are accepted"
            )
        x = x.reshape(-1, height // r, r, width // r, r, channels).transpose(0, 1, 3, 5, 2, 4)
        return x.reshape(*batch, height // r, width // r, channels * r * r)
