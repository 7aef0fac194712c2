"""Loss functions.

Every loss is computed element by element, or sample by sample along ``axis``, and then reduced:
``reduction`` is ``"none"``, ``"mean"`` or ``"sum"``.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import mlx.core as mx
from mlx.nn.layers.activations import _less_maximum

Reduction = Literal["none", "mean", "sum"]


def _reduce(loss: mx.array, reduction: Reduction = "none") -> mx.array:
    if reduction not in get_args(Reduction):
        raise ValueError(f"Invalid reduction. Must be one of {get_args(Reduction)}.")
    return loss if reduction == "none" else getattr(mx, reduction)(loss)


def _check_shapes(**arrays: mx.array) -> None:
    """``ValueError`` unless all arrays have the shape of the first one."""
    (name, first), *others = arrays.items()
    for other, x in others:
        if x.shape != first.shape:
            raise ValueError(
                f"{name.capitalize()} shape {first.shape} does not match {other} shape {x.shape}."
            )


def _weighted(loss: mx.array, weights: mx.array | None) -> mx.array:
    if weights is None:
        return loss
    if weights.shape != loss.shape:
        raise ValueError(
            f"Weights with shape {weights.shape} is not the same as output loss with shape"
            f" {loss.shape}."
        )
    return loss * weights


def _pick(x: mx.array, indices: mx.array, axis: int) -> mx.array:
    """The entries of ``x`` along ``axis`` at ``indices``, whose shape lacks that axis."""
    return mx.take_along_axis(x, mx.expand_dims(indices, axis), axis).squeeze(axis)


def cross_entropy(
    logits: mx.array,
    targets: mx.array,
    weights: mx.array | None = None,
    axis: int = -1,
    label_smoothing: float = 0.0,
    reduction: Reduction = "none",
) -> mx.array:
    """``-sum(targets * log(softmax(logits)))`` along ``axis``.

    Args:
        logits: unnormalised log-probabilities of the classes.
        targets: probabilities, with the shape of ``logits``, or indices of classes, with that
            shape less ``axis``.
        weights: factors of the losses, with their shape; the mean does not divide by them.
        axis: the axis of classes.
        label_smoothing: the share of a uniform distribution in the targets, in ``[0, 1)``.
        reduction: see :mod:`mlx.nn.losses`.
    """
    if not 0 <= label_smoothing < 1:
        raise ValueError(f"Label smoothing must be in [0, 1), got {label_smoothing}.")
    as_indices = targets.ndim != logits.ndim
    expected = list(logits.shape)
    if as_indices and logits.ndim:
        expected.pop(axis)
    if list(targets.shape) != expected:
        raise ValueError(
            f"Targets shape {targets.shape} does not match logits shape {logits.shape}."
        )
    dtype = logits.dtype if as_indices else mx.result_type(logits, targets)
    logits = _less_maximum(logits, axis)
    score = _pick(logits, targets, axis) if as_indices else mx.sum(logits * targets, axis=axis)
    normalizer = mx.logsumexp(logits, axis=axis)
    if label_smoothing > 0:
        mean = mx.mean(logits, axis=axis)
        score = (1 - label_smoothing) * score + label_smoothing * mean
    loss = normalizer - score
    if dtype in (mx.float16, mx.bfloat16):
        loss = loss.astype(dtype)
    return _reduce(_weighted(loss, weights), reduction)


def binary_cross_entropy(
    inputs: mx.array,
    targets: mx.array,
    weights: mx.array | None = None,
    with_logits: bool = True,
    reduction: Reduction = "mean",
) -> mx.array:
    """``-(targets * log(p) + (1 - targets) * log(1 - p))``.

    ``inputs`` are logits, ``p = sigmoid(inputs)``, or with ``with_logits=False`` the
    probabilities ``p`` themselves, whose logarithms are not taken below -100.
    """
    _check_shapes(inputs=inputs, targets=targets)
    if with_logits:
        loss = mx.logaddexp(0.0, inputs) - inputs * targets
    else:

        def log(p: mx.array) -> mx.array:
            # The inner choice keeps the gradient finite at p = 0.
            safe = mx.where(p > 0, p, 1)
            return mx.where(p > 0, mx.maximum(mx.log(safe), -100), -100)

        loss = -(targets * log(inputs) + (1 - targets) * log(1 - inputs))
    return _reduce(_weighted(loss, weights), reduction)


def l1_loss(predictions: mx.array, targets: mx.array, reduction: Reduction = "mean") -> mx.array:
    """``|predictions - targets|``."""
    _check_shapes(predictions=predictions, targets=targets)
    return _reduce(mx.abs(predictions - targets), reduction)


def mse_loss(predictions: mx.array, targets: mx.array, reduction: Reduction = "mean") -> mx.array:
    """``(predictions - targets)²``."""
    _check_shapes(predictions=predictions, targets=targets)
    return _reduce(mx.square(predictions - targets), reduction)


def nll_loss(
    inputs: mx.array, targets: mx.array, axis: int = -1, reduction: Reduction = "none"
) -> mx.array:
    """``-inputs[targets]`` along ``axis``, for log-probabilities and indices of classes."""
    return _reduce(-_pick(inputs, targets, axis), reduction)


def gaussian_nll_loss(
    inputs: mx.array,
    targets: mx.array,
    vars: mx.array,
    full: bool = False,
    eps: float = 1e-6,
    reduction: Reduction = "mean",
) -> mx.array:
    """``(log(vars) + (targets - inputs)² / vars) / 2`` for normal distributions.

    Args:
        inputs: the means.
        targets: the samples.
        vars: the variances; those below ``eps`` count as ``eps``.
        full: add the constant ``log(2π) / 2``.
        eps: the least variance.
        reduction: see :mod:`mlx.nn.losses`.
    """
    _check_shapes(inputs=inputs, targets=targets, vars=vars)
    vars = mx.maximum(vars, eps)
    loss = 0.5 * (mx.log(vars) + mx.square(targets - inputs) / vars)
    return _reduce(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def kl_div_loss(
    inputs: mx.array, targets: mx.array, axis: int = -1, reduction: Reduction = "none"
) -> mx.array:
    """``sum(exp(targets) * (targets - inputs))`` along ``axis``, both log-probabilities."""
    return _reduce(mx.sum(mx.exp(targets) * (targets - inputs), axis=axis), reduction)


def smooth_l1_loss(
    predictions: mx.array,
    targets: mx.array,
    beta: float = 1.0,
    reduction: Reduction = "mean",
) -> mx.array:
    """``d² / (2 beta)`` where ``d = |predictions - targets| < beta``, else ``d - beta / 2``."""
    _check_shapes(predictions=predictions, targets=targets)
    d = mx.abs(predictions - targets)
    square = 0.5 * mx.square(d) / beta if beta else d
    return _reduce(mx.where(d < beta, square, d - 0.5 * beta), reduction)


def huber_loss(
    inputs: mx.array, targets: mx.array, delta: float = 1.0, reduction: Reduction = "none"
) -> mx.array:
    """``d² / 2`` where ``d = |inputs - targets| <= delta``, ``delta (d - delta / 2)`` elsewhere."""
    d = mx.abs(inputs - targets)
    loss = mx.where(d <= delta, 0.5 * mx.square(d), delta * (d - 0.5 * delta))
    return _reduce(loss, reduction)


def log_cosh_loss(inputs: mx.array, targets: mx.array, reduction: Reduction = "none") -> mx.array:
    """``log(cosh(inputs - targets))``."""
    d = inputs - targets
    return _reduce(mx.logaddexp(d, -d) - math.log(2), reduction)


def hinge_loss(inputs: mx.array, targets: mx.array, reduction: Reduction = "none") -> mx.array:
    """``max(0, 1 - inputs * targets)`` for targets -1 and 1."""
    return _reduce(mx.maximum(1 - inputs * targets, 0), reduction)


def cosine_similarity_loss(
    x1: mx.array,
    x2: mx.array,
    axis: int = 1,
    eps: float = 1e-8,
    reduction: Reduction = "none",
) -> mx.array:
    """``sum(x1 * x2) / max(|x1| |x2|, eps)`` along ``axis``: the similarity itself."""

    def norm(x: mx.array) -> mx.array:
        # Bounded below, so that the gradient at zero is zero and not undefined.
        return mx.sqrt(mx.maximum(mx.sum(mx.square(x), axis=axis), 1e-30))

    similarity = mx.sum(x1 * x2, axis=axis) / mx.maximum(norm(x1) * norm(x2), eps)
    return _reduce(similarity, reduction)


def margin_ranking_loss(
    inputs1: mx.array,
    inputs2: mx.array,
    targets: mx.array,
    margin: float = 0.0,
    reduction: Reduction = "none",
) -> mx.array:
    """``max(0, margin - targets * (inputs1 - inputs2))``: target 1 wants ``inputs1`` greater."""
    if not inputs1.shape == inputs2.shape == targets.shape:
        raise ValueError(
            "The shapes of the arguments do not match. The provided shapes are"
            f" inputs1.shape={inputs1.shape}, inputs2.shape={inputs2.shape}, and"
            f" targets.shape={targets.shape}."
        )
    return _reduce(mx.maximum(0, margin - targets * (inputs1 - inputs2)), reduction)


def triplet_loss(
    anchors: mx.array,
    positives: mx.array,
    negatives: mx.array,
    axis: int = -1,
    p: int = 2,
    margin: float = 1.0,
    eps: float = 1e-6,
    reduction: Reduction = "none",
) -> mx.array:
    """``max(0, |anchors - positives| - |anchors - negatives| + margin)`` with p-norms.

    ``eps`` is added under the roots.  Schroff et al., "FaceNet" (2015).
    """

    def distance(other: mx.array) -> mx.array:
        powers = mx.power(mx.abs(anchors - other), p)
        return mx.power(mx.sum(powers, axis=axis) + eps, 1 / p)

    return _reduce(mx.maximum(distance(positives) - distance(negatives) + margin, 0), reduction)
