"""Resizing to a size, and sampling at positions between the elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Literal

import mlx.core as mx
from mlx.nn.layers.adaptive import _means, adaptive_pool
from mlx.nn.layers.upsample import (
    Scales,
    _antialiasing_taps,
    _cubic,
    _interpolating_taps,
    _resample,
    _triangle,
)

_LINEAR = ("linear", "bilinear", "trilinear")
_CUBIC = ("cubic", "bicubic")


def _sizes(
    x: mx.array, size: int | Sequence[int] | None, scale_factor: Scales | None
) -> tuple[list[int], list[float]]:
    """The new lengths of the spatial axes, and the factors that they are sampled with."""
    spatial = list(x.shape[1:-1])
    if x.ndim < 3:
        raise ValueError(f"[interpolate] an input with {x.ndim} axes; (N, ..., C) is accepted")
    if (size is None) == (scale_factor is None):
        raise ValueError("[interpolate] size or scale_factor, and not both, is accepted")
    given = size if size is not None else scale_factor
    each = list(given) if isinstance(given, Sequence) else [given] * len(spatial)
    if len(each) != len(spatial):
        raise ValueError(f"[interpolate] {len(each)} sizes; {len(spatial)} are accepted")
    if size is not None:
        sizes = [int(m) for m in each]  # type: ignore[arg-type]
        factors = [m / n if n else 1.0 for m, n in zip(sizes, spatial, strict=True)]
    else:
        factors = [float(f) for f in each]  # type: ignore[arg-type]
        sizes = [int(n * f) for n, f in zip(spatial, factors, strict=True)]
    if min(sizes) < 1 or min(spatial) < 1:
        raise ValueError(f"[interpolate] from {spatial} to {sizes}; at least 1 is accepted")
    return sizes, factors


def interpolate(
    x: mx.array,
    size: int | Sequence[int] | None = None,
    scale_factor: Scales | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
    antialias: bool = False,
) -> mx.array:
    """Resize the spatial axes of ``x (N, ..., C)`` to a size or by a factor.

    Positions are those of PyTorch's function of the same name. :class:`Upsample` places them
    around the middle, which is the same where the factor gives an integral size.

    Args:
        x: the array; channels are its last axis.
        size: the new lengths of the spatial axes: one for all, or one for each.
        scale_factor: factors of the lengths, in place of ``size``; results are rounded down.
        mode: ``"nearest"``, which takes the element at ``floor(i n / m)``; ``"nearest-exact"``,
            ``floor((i + 1/2) n / m)``; ``"linear"`` or ``"cubic"`` interpolation (``"bilinear"``,
            ``"trilinear"`` and ``"bicubic"`` are the same); ``"area"`` for means.
        align_corners: whether the first and last output coincide with the first and last input, for
            linear and cubic interpolation.
        antialias: whether to average over as many inputs as an output spans when shrinking.

    Returns:
        The array ``(N, *size, C)``.

    Raises:
        ValueError: neither or both of ``size`` and ``scale_factor`` are given, or the mode is
            unknown.

    >>> nn.interpolate(mx.arange(4.0).reshape(1, 4, 1), size=2, mode="linear").flatten()
    array([0.5, 2.5], dtype=float32)
    """
    sizes, factors = _sizes(x, size, scale_factor)
    if mode not in ("nearest", "nearest-exact", "area", *_LINEAR, *_CUBIC):
        raise ValueError(
            f"[interpolate] mode={mode!r}; 'nearest', 'nearest-exact', 'linear', 'cubic' and 'area'"
            " are accepted"
        )
    smooth = mode in _LINEAR or mode in _CUBIC
    if ((align_corners or antialias) and not smooth) or (align_corners and antialias):
        raise ValueError(
            f"[interpolate] align_corners={align_corners} and antialias={antialias} in mode"
            f" {mode!r}; one of both is accepted, in linear and cubic modes"
        )
    if mode == "area":
        return adaptive_pool(x, sizes, _means)
    kernel: Callable[[float], float]
    if mode in _LINEAR:
        kernel, radius = _triangle, 1
    else:
        kernel, radius = _cubic(-0.5 if antialias else -0.75), 2
    for axis, (m, factor) in enumerate(zip(sizes, factors, strict=True), start=1):
        n = x.shape[axis]
        if not smooth:
            half = 0.5 if mode == "nearest-exact" else 0.0
            rows = [min(int((i + half) / factor), n - 1) for i in range(m)]
            x = mx.take(x, mx.array(rows, mx.uint32), axis=axis)
            continue
        if align_corners:
            centers = [i * (n - 1) / max(m - 1, 1) for i in range(m)]
        else:
            centers = [(i + 0.5) / factor - 0.5 for i in range(m)]
        if antialias:
            taps = _antialiasing_taps(kernel, radius, centers, n, factor)
        else:
            taps = _interpolating_taps(kernel, radius, centers, n)
        x = _resample(x, axis, taps).astype(x.dtype)
    return x


def _unnormalized(grid: mx.array, n: int, align_corners: bool) -> mx.array:
    """Positions from -1 to 1 as positions among ``n`` elements."""
    return (grid + 1) * ((n - 1) / 2) if align_corners else ((grid + 1) * n - 1) / 2


def _reflected(at: mx.array, n: int, align_corners: bool) -> mx.array:
    """Positions mirrored at the ends, or at the outer edges of the outermost elements."""
    low, span = (0.0, n - 1) if align_corners else (-0.5, n)
    if span == 0:
        return mx.zeros_like(at)
    distance = mx.abs(at - low)
    turns = mx.floor(distance / span)
    rest = distance - turns * span
    return mx.where(turns % 2 == 0, rest + low, span - rest + low)


class _Grid:
    """The elements of ``x (N, ..., C)`` at integral positions ``(N, Q)`` along each axis."""

    def __init__(self, x: mx.array, padding_mode: str, align_corners: bool) -> None:
        self.sizes, self.mode, self.aligned = x.shape[1:-1], padding_mode, align_corners
        self.rows = x.reshape(x.shape[0], -1, x.shape[-1])

    def bounded(self, at: mx.array, n: int) -> mx.array:
        """Positions moved into the array, where the padding mode says so."""
        if self.mode == "reflection":
            at = _reflected(at, n, self.aligned)
        return at if self.mode == "zeros" else mx.clip(at, 0, n - 1)

    def read(self, positions: Sequence[mx.array]) -> mx.array:
        """The elements ``(N, Q, C)``, zeros outside."""
        flat, inside = mx.array(0, mx.int32), mx.array(True)
        for at, n in zip(positions, self.sizes, strict=True):
            inside = inside & (at >= 0) & (at <= n - 1)
            flat = flat * n + mx.clip(at, 0, n - 1).astype(mx.int32)
        found = mx.take_along_axis(self.rows, flat[..., None], axis=1)
        return mx.where(inside[..., None], found, mx.zeros((), found.dtype))


def grid_sample(
    x: mx.array,
    grid: mx.array,
    mode: Literal["bilinear", "nearest", "bicubic"] = "bilinear",
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros",
    align_corners: bool = False,
) -> mx.array:
    """Take samples of images or volumes at positions of a grid, as PyTorch's ``grid_sample``.

    Jaderberg et al., "Spatial Transformer Networks" (2015).

    Args:
        x: images ``(N, H, W, C)`` or volumes ``(N, D, H, W, C)``.
        grid: positions ``(N, H', W', 2)`` or ``(N, D', H', W', 3)`` from -1 to 1; the last axis is
            ``(x, y)`` or ``(x, y, z)``, so that the first item is along the width.
        mode: linear interpolation along each axis, the nearest element, or cubic interpolation
            (images alone).
        padding_mode: the elements outside: zeros, the nearest element, or the mirror image.
        align_corners: whether -1 and 1 are the middles of the outermost elements, in place of
            their outer edges.

    Returns:
        An array ``(N, H', W', C)`` or ``(N, D', H', W', C)``.

    Raises:
        ValueError: the shapes do not fit, or a mode is unknown.

    >>> x = mx.arange(4.0).reshape(1, 2, 2, 1)
    >>> nn.grid_sample(x, mx.zeros((1, 1, 1, 2))).item()
    1.5
    """
    spatial = x.ndim - 2
    if spatial not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != spatial:
        raise ValueError(
            f"[grid_sample] shapes {x.shape} and {grid.shape}; (N, H, W, C) with (N, H', W', 2) and"
            " (N, D, H, W, C) with (N, D', H', W', 3) are accepted"
        )
    if x.shape[0] != grid.shape[0]:
        raise ValueError(f"[grid_sample] {x.shape[0]} inputs and {grid.shape[0]} grids")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"[grid_sample] padding_mode={padding_mode!r}; 'zeros', 'border' and 'reflection' are"
            " accepted"
        )
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and spatial == 3):
        raise ValueError(
            f"[grid_sample] mode={mode!r} over {spatial} axes; 'bilinear' and 'nearest', and over"
            " two axes 'bicubic', are accepted"
        )
    source = _Grid(x, padding_mode, align_corners)
    points = grid.reshape(grid.shape[0], -1, spatial)
    at = [
        _unnormalized(points[..., spatial - 1 - k], n, align_corners)
        for k, n in enumerate(source.sizes)
    ]
    if mode != "bicubic":
        at = [source.bounded(p, n) for p, n in zip(at, source.sizes, strict=True)]
    if mode == "nearest":
        out = source.read([mx.round(p) for p in at])
    else:
        out = _weighted(source, at, cubic=mode == "bicubic")
    return out.reshape(*grid.shape[:-1], x.shape[-1]).astype(x.dtype)


def _weighted(source: _Grid, at: list[mx.array], cubic: bool) -> mx.array:
    """The sum of the neighbours of each position by their weights along each axis."""
    taps = []
    for position, n in zip(at, source.sizes, strict=True):
        base = mx.stop_gradient(mx.floor(position))
        t = position - base
        if cubic:
            weights = _cubic_weights(t)
            taps.append([(source.bounded(base + k - 1, n), w) for k, w in enumerate(weights)])
        else:
            taps.append([(base, 1 - t), (base + 1, t)])
    total = mx.array(0.0, at[0].dtype)
    for corner in product(*taps):
        weight = corner[0][1]
        for _, w in corner[1:]:
            weight = weight * w
        total = total + weight[..., None] * source.read([position for position, _ in corner])
    return total


def _cubic_weights(t: mx.array, a: float = -0.75) -> list[mx.array]:
    """Weights of the four neighbours at a distance ``t`` from the second one, by Keys' kernel."""

    def near(x: mx.array) -> mx.array:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: mx.array) -> mx.array:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def normalize(
    x: mx.array, p: float = 2.0, axis: int | tuple[int, ...] = -1, eps: float = 1e-12
) -> mx.array:
    """Divide vectors by their p-norm: ``x / max(norm(x), eps)``.

    Args:
        x: an array of floats.
        p: the order of the norm; ``inf`` for the greatest absolute value.
        axis: the axis or axes of a vector.
        eps: the smallest divisor.

    >>> nn.normalize(mx.array([3.0, 4.0]))
    array([0.6, 0.8], dtype=float32)
    """
    magnitude = mx.abs(x)
    if p == float("inf"):
        norm = mx.max(magnitude, axis=axis, keepdims=True)
    elif p == 1:
        norm = mx.sum(magnitude, axis=axis, keepdims=True)
    else:
        # A vector of zeros has the derivative 0, as where the norm is below eps.
        total = mx.sum(magnitude**p, axis=axis, keepdims=True)
        some = total > 0
        norm = mx.where(some, mx.where(some, total, 1) ** (1 / p), 0)
    return x / mx.maximum(norm, eps)
