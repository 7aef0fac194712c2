"""Resizing of spatial axes by interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import mlx.core as mx
from mlx.nn.layers.base import Module

Scales = float | Sequence[float]
"""One factor for all spatial axes, or one for each."""

Taps = list[list[tuple[int, float]]]
"""For each output position the input positions that enter it, with their weights."""


def _centers(n: int, m: int, scale: float, align_corners: bool) -> list[float]:
    """Where ``m`` output positions lie between ``n`` input positions.

    Neighbours are ``1 / scale`` apart and centred, or fill the range with ``align_corners``.
    """
    if align_corners:
        return [i * (n - 1) / max(m - 1, 1) for i in range(m)]
    start = ((n - 1) - (m - 1) / scale) / 2
    return [start + i / scale for i in range(m)]


def _triangle(x: float) -> float:
    return max(0.0, 1 - abs(x))


def _cubic(a: float) -> Callable[[float], float]:
    """The convolution kernel of Keys, "Cubic Convolution Interpolation" (1981)."""

    def kernel(x: float) -> float:
        x = abs(x)
        if x < 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return a * (((x - 5) * x + 8) * x - 4) if x < 2 else 0.0

    return kernel


def _interpolating_taps(
    kernel: Callable[[float], float], radius: int, centers: list[float], n: int
) -> Taps:
    """Weights by the distance; positions beyond the edge stand for the edge."""
    return [
        [
            (min(max(j, 0), n - 1), kernel(center - j))
            for j in range(math.floor(center) - radius + 1, math.floor(center) + radius + 1)
        ]
        for center in centers
    ]


def _antialiasing_taps(
    kernel: Callable[[float], float], radius: int, centers: list[float], n: int, scale: float
) -> Taps:
    """Weights of a kernel as wide as an output step, normalised over the positions that exist."""
    width = max(1.0, 1 / scale)
    reach = math.ceil(radius * width) + 1
    taps = []
    for center in centers:
        low = math.floor(center) - reach
        weights = [
            (j, kernel((center - j) / width)) if 0 <= j < n else (min(max(j, 0), n - 1), 0.0)
            for j in range(low, low + 2 * reach + 1)
        ]
        total = sum(weight for _, weight in weights)
        taps.append([(j, weight / total) for j, weight in weights])
    return taps


def _resample(x: mx.array, axis: int, taps: Taps) -> mx.array:
    """Sum the weighted input positions along ``axis``."""
    shape = [1] * x.ndim
    shape[axis] = len(taps)
    y = mx.zeros((1,))
    for column in zip(*taps, strict=True):
        positions, weights = zip(*column, strict=True)
        if any(weights):
            part = mx.take(x, mx.array(positions), axis=axis)
            y = y + part * mx.array(weights).reshape(shape)
    return y


def _nearest(x: mx.array, axis: int, scale: float) -> mx.array:
    n, m = x.shape[axis], int(x.shape[axis] * scale)
    if scale == int(scale) and scale > 0:
        return mx.repeat(x, int(scale), axis=axis)
    steps = mx.arange(m)
    if m > n:
        positions = mx.round((steps + 0.5) * (n / m) - 0.5)
    else:
        positions = mx.floor(steps * n / max(m, 1))
    positions = mx.clip(positions, 0, max(n - 1, 0)).astype(mx.uint32)
    return mx.take(x, positions, axis=axis)


def _resized(x: mx.array, scales: Scales, along: Callable[..., mx.array]) -> mx.array:
    """``along(x, axis, scale)`` for each spatial axis of ``x (N, ..., C)``."""
    spatial = x.ndim - 2
    if spatial <= 0:
        raise ValueError(
            "[Upsample] The input should have at least 1 spatial dimension which means it"
            f" should be at least 3D but {x.ndim}D was provided"
        )
    factors = scales if isinstance(scales, Sequence) else (scales,) * spatial
    if len(factors) != spatial:
        raise ValueError(
            "[Upsample] One scale per spatial dimension is required but"
            f" scale_factor={factors} and the number of spatial dimensions were {spatial}"
        )
    for axis, scale in enumerate(factors, start=1):
        if not 0 <= scale < math.inf:
            raise ValueError(
                f"[Upsample] scale_factor must be finite and not negative but got {scale}"
            )
        if int(x.shape[axis] * scale) == 0:
            x = x[(slice(None),) * axis + (slice(0),)]
        else:
            x = along(x, axis, scale)
    return x


def _interpolated(
    x: mx.array,
    scales: Scales,
    kernel: Callable[[float], float],
    radius: int,
    align_corners: bool,
    antialias: bool,
) -> mx.array:
    """Resize ``x`` by a kernel that reaches ``radius`` inputs to either side."""

    def along(x: mx.array, axis: int, scale: float) -> mx.array:
        if scale == 1:
            return x
        n = x.shape[axis]
        centers = _centers(n, int(n * scale), scale, align_corners)
        if antialias:
            return _resample(x, axis, _antialiasing_taps(kernel, radius, centers, n, scale))
        return _resample(x, axis, _interpolating_taps(kernel, radius, centers, n))

    return _resized(x, scales, along)


def upsample_nearest(x: mx.array, scale_factor: Scales) -> mx.array:
    """:class:`Upsample` in the mode ``"nearest"``."""
    return _resized(x, scale_factor, _nearest)


def upsample_linear(
    x: mx.array, scale_factor: Scales, align_corners: bool = False, antialias: bool = False
) -> mx.array:
    """:class:`Upsample` in the mode ``"linear"``."""
    return _interpolated(x, scale_factor, _triangle, 1, align_corners, antialias)


def upsample_cubic(
    x: mx.array, scale_factor: Scales, align_corners: bool = False, antialias: bool = False
) -> mx.array:
    """:class:`Upsample` in the mode ``"cubic"``."""
    # The usual cubics: Keys' own for smoothing, a sharper one for interpolation.
    kernel = _cubic(-0.5 if antialias else -0.75)
    return _interpolated(x, scale_factor, kernel, 2, align_corners, antialias)


class Upsample(Module):
    """Resize the spatial axes of ``x (N, ..., C)``, each from ``n`` to ``floor(n * scale)``.

    Args:
        scale_factor: one factor for all spatial axes, or one for each.
        mode: ``"nearest"`` takes the nearest input; ``"linear"`` and ``"cubic"`` interpolate with
            straight lines or with Keys' cubic kernel between inputs, axis by axis.
        align_corners: whether the first and last output coincide with the first and last input.
            Ignored by ``"nearest"``.
        antialias: whether to average over as many inputs as an output spans when shrinking. Not for
            ``"nearest"`` and not with ``align_corners``.

    >>> nn.Upsample(2, mode="linear")(mx.zeros((1, 8, 8, 3))).shape
    (1, 16, 16, 3)
    """

    def __init__(
        self,
        scale_factor: float | Sequence[float],
        mode: Literal["nearest", "linear", "cubic"] = "nearest",
        align_corners: bool = False,
        antialias: bool = False,
    ) -> None:
        super().__init__()
        if mode not in ("nearest", "linear", "cubic"):
            raise ValueError(f"[Upsample] Got unsupported upsampling algorithm: {mode}")
        if antialias and mode == "nearest":
            raise ValueError(
                "[Upsample] Antialiasing is not supported for nearest neighbor upsampling"
            )
        if antialias and align_corners:
            raise ValueError(
                "[Upsample] antialias=True with align_corners=True is not supported. Use"
                " align_corners=False for antialiased interpolation."
            )
        if isinstance(scale_factor, (list, tuple)):
            self.scale_factor: float | tuple[float, ...] = tuple(map(float, scale_factor))
        else:
            self.scale_factor = float(scale_factor)  # type: ignore[arg-type]
        self.mode = mode
        self.align_corners = align_corners
        self.antialias = antialias

    def _extra_repr(self) -> str:
        return (
            f"scale_factor={self.scale_factor}, mode={self.mode!r},"
            f" align_corners={self.align_corners}" + (", antialias=True" if self.antialias else "")
        )

    def __call__(self, x: mx.array) -> mx.array:
        options = {"align_corners": self.align_corners, "antialias": self.antialias}
        if self.mode == "nearest":
            return upsample_nearest(x, self.scale_factor)
        if self.mode == "linear":
            return upsample_linear(x, self.scale_factor, **options)
        return upsample_cubic(x, self.scale_factor, **options)
