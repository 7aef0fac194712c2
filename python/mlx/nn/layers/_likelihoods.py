"""Logarithms of probabilities from logits, without overflow and in few passes over long rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx


def _less_maximum(x: mx.array, axis: int) -> mx.array:
    """Logits less their maximum along ``axis``, which changes no probability.

    The difference of logits and a logarithm of their sum is then accurate for large ones too.
    In float32 where ``x`` has 16 bits.
    """
    if x.dtype in (mx.float16, mx.bfloat16):
        x = x.astype(mx.float32)
    if x.dtype == mx.complex64:
        return x
    return x - mx.stop_gradient(mx.max(x, axis=axis, keepdims=True))


def _log_of_sum(shifted: mx.array, axis: int, keepdims: bool = False) -> mx.array:
    """The logarithm of the sum of exponentials of what `_less_maximum` gives.

    A formula, which computes the shifted logits as it reads them; `logsumexp` would read an array
    of them.
    """
    if shifted.dtype == mx.complex64:
        return mx.logsumexp(shifted, axis=axis, keepdims=keepdims)
    return mx.log(mx.sum(mx.exp(shifted), axis=axis, keepdims=keepdims))


@functools.cache
def _negative_log_likelihood(axis: int) -> Callable[..., Any]:
    """The function of logits and indices of classes along ``axis`` that gives the losses.

    Its other results, the largest logits and the sums of exponentials, serve the derivative. That
    is one pass over the logits as they are stored: it needs neither an array of probabilities in
    float32 nor one that is 0 but at the targets.
    """

    def shifted(x: mx.array, largest: mx.array) -> mx.array:
        return x.astype(largest.dtype) - largest

    @mx.custom_function
    def losses(x: mx.array, targets: mx.array) -> tuple[mx.array, mx.array, mx.array]:
        dtype = mx.float32 if x.itemsize == 2 else x.dtype
        largest = mx.stop_gradient(mx.max(x, axis=axis, keepdims=True)).astype(dtype)
        total = mx.sum(mx.exp(shifted(x, largest)), axis=axis, keepdims=True)
        picked = mx.take_along_axis(x, mx.expand_dims(targets, axis), axis)
        return (mx.log(total) - shifted(picked, largest)).squeeze(axis), largest, total

    @losses.vjp
    def derivative(
        primals: tuple[mx.array, mx.array],
        cotangents: Sequence[mx.array],
        outputs: Sequence[mx.array],
    ) -> tuple[mx.array, None]:
        (x, targets), (_, largest, total) = primals, outputs
        count = x.shape[axis]
        index = targets.astype(mx.int32 if count < 2**31 else mx.int64)
        index = mx.where(index < 0, index + count, index)
        classes = mx.arange(count, dtype=index.dtype).reshape(-1, *[1] * (x.ndim - axis - 1))
        hit = classes == mx.expand_dims(index, axis)
        share = mx.exp(shifted(x, largest)) / total - hit
        return (mx.expand_dims(cotangents[0], axis) * share).astype(x.dtype), None

    return losses
