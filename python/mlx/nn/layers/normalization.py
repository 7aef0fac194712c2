"""Layers that shift and scale activations to mean 0 and variance 1."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
from mlx.nn.layers._checks import check_positive, check_sizes
from mlx.nn.layers.base import Module

_NARROW = (mx.float16, mx.bfloat16)


def _widened(x: mx.array) -> mx.array:
    """``x`` in float32 if it has 16 bits, in which squares overflow early."""
    return x.astype(mx.float32) if x.dtype in _NARROW else x


def _standardized(
    x: mx.array, axes: tuple[int, ...], eps: float
) -> tuple[mx.array, mx.array, mx.array]:
    """The values of `_standardize`. Each pass reads ``x`` itself, and stores no distances."""

    def distances(mean: mx.array) -> mx.array:
        return _widened(x) - mean

    mean = mx.mean(_widened(x), axis=axes, keepdims=True)
    var = mx.mean(mx.square(distances(mean)), axis=axes, keepdims=True)
    y = distances(mean) * mx.rsqrt(var + eps)
    return y.astype(x.dtype) if x.dtype in _NARROW else y, mean, var


def _standardize(
    x: mx.array, axes: tuple[int, ...], eps: float
) -> tuple[mx.array, mx.array, mx.array]:
    """``(x - mean) / sqrt(var + eps)`` over ``axes``, the mean and the (biased) variance.

    All is computed in float32 where ``x`` has 16 bits, and the result is rounded to its dtype. The
    cotangent of ``x`` is computed from ``x`` again: with the distances d from the mean and
    r = 1 / sqrt(var + eps) it is r (g - mean(g)) - d r² mean(g d r), beside the terms of the mean
    and the variance.
    """
    count = math.prod(x.shape[axis] for axis in axes)
    if count == 0 or not mx.issubdtype(x.dtype, mx.floating):
        return _standardized(x, axes, eps)
    standardized = mx.custom_function(lambda x: _standardized(x, axes, eps))

    @standardized.vjp
    def cotangent(
        x: mx.array, cotangents: tuple[mx.array, ...], outputs: tuple[mx.array, ...]
    ) -> mx.array:
        g, of_mean, of_var = cotangents
        _, mean, var = outputs
        r = mx.rsqrt(var + eps)

        def average(terms: mx.array) -> mx.array:
            return mx.mean(terms, axis=axes, keepdims=True)

        along = average(_widened(g) * ((_widened(x) - mean) * r))
        slope = 2 / count * of_var - r * r * along
        shift = of_mean / count - r * average(_widened(g))
        return (r * _widened(g) + slope * (_widened(x) - mean) + shift).astype(x.dtype)

    y, mean, var = standardized(x)
    return y, mean, var


class _Affine(Module):
    """A layer with the optional parameters ``weight``, from one, and ``bias``, from zero."""

    def _set_affine(self, dims: int, weight: bool, bias: bool) -> None:
        if weight:
            self.weight = mx.ones((dims,))
        if bias:
            self.bias = mx.zeros((dims,))

    def _affine(self, x: mx.array, shape: tuple[int, ...] | None = None) -> mx.array:
        """``weight * x + bias`` where there are these; ``shape``: theirs, if not as they are."""
        if "weight" not in self:
            return x
        weight, bias = self["weight"], self["bias"]
        if shape is not None:
            weight, bias = weight.reshape(shape), bias.reshape(shape)
        return weight * x + bias


class LayerNorm(_Affine):
    """Normalize the last axis to mean 0 and variance 1, then compute ``weight * x + bias``.

    Ba et al., "Layer Normalization" (2016).

    Args:
        dims: the size of the last axis.
        eps: added to the variance.
        affine: whether there are the parameters ``weight`` and ``bias`` of shape ``(dims,)``.
        bias: whether there is ``bias``, if ``affine``.

    >>> nn.LayerNorm(2)(mx.array([[1.0, 3.0]]))
    array([[-0.999995, 0.999995]], dtype=float32)
    """

    def __init__(
        self, dims: int, eps: float = 1e-5, affine: bool = True, bias: bool = True
    ) -> None:
        super().__init__()
        check_sizes(self, 0, dims=dims)
        check_positive(self, eps=eps)
        self._set_affine(dims, affine, affine and bias)
        self.eps = eps
        self.dims = dims

    def _extra_repr(self) -> str:
        return f"{self.dims}, eps={self.eps}, affine={'weight' in self}"

    def __call__(self, x: mx.array) -> mx.array:
        return mx.fast.layer_norm(x, self.get("weight"), self.get("bias"), self.eps)


class RMSNorm(Module):
    """Compute ``weight * x / sqrt(mean(x²) + eps)`` over the last axis.

    Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019). ``weight`` of shape
    ``(dims,)`` starts at one. Sums are accumulated in float32.

    Args:
        dims: the size of the last axis.
        eps: added to the mean square.

    >>> nn.RMSNorm(2)(mx.array([[3.0, 3.0]]))
    array([[0.999999, 0.999999]], dtype=float32)
    """

    def __init__(self, dims: int, eps: float = 1e-5) -> None:
        super().__init__()
        check_sizes(self, 0, dims=dims)
        check_positive(self, eps=eps)
        self.weight = mx.ones((dims,))
        self.eps = eps

    def _extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, eps={self.eps}"

    def __call__(self, x: mx.array) -> mx.array:
        return mx.fast.rms_norm(x, self["weight"], self.eps)


class InstanceNorm(_Affine):
    """Normalize the spatial axes of each sample and channel of ``x (N, ..., C)``.

    Ulyanov et al., "Instance Normalization" (2016).

    Args:
        dims: the number of channels ``C``.
        eps: added to the variance.
        affine: whether there are the parameters ``weight`` and ``bias`` of shape ``(dims,)``.

    >>> nn.InstanceNorm(3)(mx.ones((2, 8, 8, 3))).shape
    (2, 8, 8, 3)
    """

    def __init__(self, dims: int, eps: float = 1e-5, affine: bool = False) -> None:
        super().__init__()
        check_sizes(self, 0, dims=dims)
        check_positive(self, eps=eps)
        self._set_affine(dims, affine, affine)
        self.dims = dims
        self.eps = eps

    def _extra_repr(self) -> str:
        return f"{self.dims}, eps={self.eps}, affine={'weight' in self}"

    def __call__(self, x: mx.array) -> mx.array:
        if x.ndim < 3:
            raise ValueError(
                "InstanceNorm expects inputs with at least 3 dimensions (N, ..., C) but the input"
                f" has {x.ndim} dimensions."
            )
        return self._affine(_standardize(x, tuple(range(1, x.ndim - 1)), self.eps)[0])


class GroupNorm(_Affine):
    """Normalize groups of channels of each sample of ``x (N, ..., C)``.

    Wu and He, "Group Normalization" (2018).

    Args:
        num_groups: the number of groups; it divides ``dims``.
        dims: the number of channels ``C``.
        eps: added to the variance.
        affine: whether there are the parameters ``weight`` and ``bias`` of shape ``(dims,)``.
        pytorch_compatible: whether a group is a run of neighbouring channels, as in PyTorch;
            otherwise channel ``c`` belongs to the group ``c % num_groups``.

    >>> nn.GroupNorm(2, 4)(mx.ones((2, 8, 8, 4))).shape
    (2, 8, 8, 4)
    """

    def __init__(
        self,
        num_groups: int,
        dims: int,
        eps: float = 1e-5,
        affine: bool = True,
        pytorch_compatible: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(self, num_groups=num_groups, dims=dims)
        check_positive(self, eps=eps)
        if dims % num_groups:
            raise ValueError(
                f"The number of features ({dims}) must be evenly divisible by the number of"
                f" groups ({num_groups})."
            )
        self._set_affine(dims, affine, affine)
        self.num_groups = num_groups
        self.dims = dims
        self.eps = eps
        self.pytorch_compatible = pytorch_compatible

    def _extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.dims}, eps={self.eps}, affine={'weight' in self},"
            f" pytorch_compatible={self.pytorch_compatible}"
        )

    def __call__(self, x: mx.array) -> mx.array:
        if x.ndim < 2:
            raise ValueError(
                "GroupNorm expects inputs with at least 2 dimensions (N, ..., C) but the input has"
                f" {x.ndim} dimensions."
            )
        batch, channels = x.shape[0], x.shape[-1]
        places, of_group = math.prod(x.shape[1:-1]), channels // self.num_groups
        if self.pytorch_compatible:
            groups, axes = (self.num_groups, of_group), (1, 3)
        else:
            groups, axes = (of_group, self.num_groups), (1, 2)
        # Weights of the groups' shape: one step computes all that is behind the statistics.
        y = _standardize(x.reshape(batch, places, *groups), axes, self.eps)[0]
        return self._affine(y, groups).reshape(x.shape)


class BatchNorm(_Affine):
    """Normalize each channel over the batch and the spatial axes.

    Ioffe and Szegedy, "Batch Normalization" (2015). In training mode by the statistics of the input
    ``x (N, ..., C)``, which also enter the running ones; in evaluation mode by the running ones, if
    they are tracked. The running statistics are parameters that stay frozen.

    Args:
        num_features: the number of channels ``C``.
        eps: added to the variance.
        momentum: the share of the new value in the running mean and (unbiased) variance.
        affine: whether there are the parameters ``weight`` and ``bias`` of shape
            ``(num_features,)``.
        track_running_stats: whether to keep ``running_mean`` and ``running_var``.

    >>> nn.BatchNorm(1)(mx.array([[1.0], [3.0]]))
    array([[-0.999995],
           [0.999995]], dtype=float32)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        check_sizes(self, 0, num_features=num_features)
        check_positive(self, eps=eps)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.track_running_stats = track_running_stats
        self._set_affine(num_features, affine, affine)
        if track_running_stats:
            self.running_mean = mx.zeros((num_features,))
            self.running_var = mx.ones((num_features,))
            self._freeze_statistics()

    def _extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum},"
            f" affine={'weight' in self}, track_running_stats={self.track_running_stats}"
        )

    def _freeze_statistics(self) -> None:
        self.freeze(keys=["running_mean", "running_var"], recurse=False)

    def unfreeze(self, *args: Any, **kwargs: Any) -> Module:
        """Undo :meth:`freeze` except for the running statistics."""
        super().unfreeze(*args, **kwargs)
        self._freeze_statistics()
        return self

    def __call__(self, x: mx.array) -> mx.array:
        if not 2 <= x.ndim <= 4:
            raise ValueError(
                f"Expected input tensor to have 2, 3 or 4 dimensions, but got {x.ndim}"
            )
        if not self.training and self.track_running_stats:
            return self._affine(self._by_running_statistics(x))
        count = x.size // x.shape[-1] if x.shape[-1] else 0
        if self.training and count == 1:
            raise ValueError("BatchNorm training requires more than one value per channel.")
        y, mean, var = _standardize(x, tuple(range(x.ndim - 1)), self.eps)
        if self.training and self.track_running_stats and count > 1:
            unbiased = var.flatten() * (count / (count - 1))
            self.running_mean = self._averaged(self["running_mean"], mean.flatten(), x.dtype)
            self.running_var = self._averaged(self["running_var"], unbiased, x.dtype)
        return self._affine(y)

    def _by_running_statistics(self, x: mx.array) -> mx.array:
        mean, var = self["running_mean"], self["running_var"]
        y = (_widened(x) - _widened(mean)) * mx.rsqrt(_widened(var) + self.eps)
        return y.astype(mx.result_type(x, mean, var)) if x.dtype in _NARROW else y

    def _averaged(self, running: mx.array, new: mx.array, of: mx.Dtype) -> mx.array:
        """The running statistic after one of inputs of dtype ``of``."""
        mean = (1 - self.momentum) * _widened(running) + self.momentum * new
        return mean.astype(running.dtype) if running.dtype == of else mean
