"""Loss functions.

Every loss is computed element by element, or sample by sample along ``axis``, and then reduced:
``reduction`` is ``"none"``, ``"mean"`` or ``"sum"``.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import mlx.core as mx
from mlx.nn.layers._likelihoods import _less_maximum, _log_of_sum, _negative_log_likelihood

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


def _kept(targets: mx.array, ignored: int | None) -> tuple[mx.array, mx.array | None]:
    """Indices of classes, where those to ignore are replaced by 0, and which ones are kept."""
    if ignored is None:
        return targets, None
    kept = targets != ignored
    return mx.where(kept, targets, mx.zeros((), targets.dtype)), kept


def _reduce_kept(loss: mx.array, kept: mx.array | None, reduction: Reduction) -> mx.array:
    """Reduce the losses that are kept; the mean is over these alone."""
    if kept is None:
        return _reduce(loss, reduction)
    loss = mx.where(kept, loss, mx.zeros((), loss.dtype))
    if reduction != "mean":
        return _reduce(loss, reduction)
    return mx.sum(loss) / mx.sum(kept).astype(loss.dtype)


def cross_entropy(
    logits: mx.array,
    targets: mx.array,
    weights: mx.array | None = None,
    axis: int = -1,
    label_smoothing: float = 0.0,
    reduction: Reduction = "none",
    ignore_index: int | None = None,
) -> mx.array:
    """Return ``-sum(targets * log(softmax(logits)))`` along an axis.

    Args:
        logits: unnormalized log-probabilities of the classes.
        targets: probabilities, with the shape of ``logits``, or indices of classes, with that shape
            less ``axis``.
        weights: factors of the losses, with their shape; the mean does not divide by them.
        axis: the axis of the classes.
        label_smoothing: the share of a uniform distribution in the targets, in ``[0, 1)``.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.
        ignore_index: an index of ``targets`` whose losses are zero and left out of the mean; by
            default none.

    Raises:
        ValueError: the shapes do not fit, ``label_smoothing`` or ``reduction`` is not accepted, or
            ``ignore_index`` is given for targets that are probabilities.

    >>> logits = mx.array([[2.0, 0.0], [0.0, 2.0]])
    >>> nn.losses.cross_entropy(logits, mx.array([0, 0]))
    array([0.126928, 2.12693], dtype=float32)
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
    if ignore_index is not None and not as_indices:
        raise ValueError(
            f"[cross_entropy] ignore_index={ignore_index} for targets that are probabilities;"
            " indices are accepted"
        )
    dtype = logits.dtype if as_indices else mx.result_type(logits, targets)
    targets, kept = _kept(targets, ignore_index)
    if as_indices and label_smoothing == 0 and mx.issubdtype(dtype, mx.floating):
        loss = _negative_log_likelihood(axis % logits.ndim)(logits, targets)[0].astype(dtype)
        return _reduce_kept(_weighted(loss, weights), kept, reduction)
    logits = _less_maximum(logits, axis)
    score = _pick(logits, targets, axis) if as_indices else mx.sum(logits * targets, axis=axis)
    normalizer = _log_of_sum(logits, axis)
    if label_smoothing > 0:
        mean = mx.mean(logits, axis=axis)
        score = (1 - label_smoothing) * score + label_smoothing * mean
    loss = normalizer - score
    if dtype in (mx.float16, mx.bfloat16):
        loss = loss.astype(dtype)
    return _reduce_kept(_weighted(loss, weights), kept, reduction)


def binary_cross_entropy(
    inputs: mx.array,
    targets: mx.array,
    weights: mx.array | None = None,
    with_logits: bool = True,
    reduction: Reduction = "mean",
) -> mx.array:
    """Return ``-(targets * log(p) + (1 - targets) * log(1 - p))``.

    Args:
        inputs: logits, so that ``p = sigmoid(inputs)``; or the probabilities ``p`` if
            ``with_logits`` is false. Their logarithms are then not taken below -100.
        targets: probabilities, with the shape of ``inputs``.
        weights: factors of the losses, with their shape.
        with_logits: whether ``inputs`` are logits.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ, or ``reduction`` is another word.

    >>> nn.losses.binary_cross_entropy(mx.array([0.0]), mx.array([1.0]))
    array(0.693147, dtype=float32)
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
    """Return ``|predictions - targets|``.

    Args:
        predictions: the results of the model.
        targets: the wanted results, of the same shape.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ, or ``reduction`` is another word.

    >>> nn.losses.l1_loss(mx.array([1.0, 2.0]), mx.array([0.0, 4.0]))
    array(1.5, dtype=float32)
    """
    _check_shapes(predictions=predictions, targets=targets)
    return _reduce(mx.abs(predictions - targets), reduction)


def mse_loss(predictions: mx.array, targets: mx.array, reduction: Reduction = "mean") -> mx.array:
    """Return ``(predictions - targets)²``.

    Args:
        predictions: the results of the model.
        targets: the wanted results, of the same shape.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ, or ``reduction`` is another word.

    >>> nn.losses.mse_loss(mx.array([1.0, 2.0]), mx.array([0.0, 4.0]))
    array(2.5, dtype=float32)
    """
    _check_shapes(predictions=predictions, targets=targets)
    return _reduce(mx.square(predictions - targets), reduction)


def nll_loss(
    inputs: mx.array,
    targets: mx.array,
    axis: int = -1,
    reduction: Reduction = "none",
    ignore_index: int | None = None,
) -> mx.array:
    """Return ``-inputs[targets]`` along an axis.

    Args:
        inputs: log-probabilities of the classes.
        targets: indices of classes, with the shape of ``inputs`` less ``axis``.
        axis: the axis of the classes.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.
        ignore_index: an index of ``targets`` whose losses are zero and left out of the mean; by
            default none.

    Raises:
        ValueError: ``reduction`` is another word.

    >>> nn.losses.nll_loss(mx.array([[-0.5, -1.0]]), mx.array([1]))
    array([1], dtype=float32)
    """
    targets, kept = _kept(targets, ignore_index)
    return _reduce_kept(-_pick(inputs, targets, axis), kept, reduction)


def gaussian_nll_loss(
    inputs: mx.array,
    targets: mx.array,
    vars: mx.array,
    full: bool = False,
    eps: float = 1e-6,
    reduction: Reduction = "mean",
) -> mx.array:
    """Return ``(log(vars) + (targets - inputs)² / vars) / 2``.

    That is the negative log-likelihood of ``targets`` under normal distributions, without a
    constant.

    Args:
        inputs: the means.
        targets: the samples, of the same shape.
        vars: the variances, of the same shape; smaller ones than ``eps`` count as ``eps``.
        full: whether to add the constant ``log(2π) / 2``.
        eps: the least variance.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ, or ``reduction`` is another word.

    >>> nn.losses.gaussian_nll_loss(mx.array([0.0]), mx.array([2.0]), mx.array([1.0]))
    array(2, dtype=float32)
    """
    _check_shapes(inputs=inputs, targets=targets, vars=vars)
    vars = mx.maximum(vars, eps)
    loss = 0.5 * (mx.log(vars) + mx.square(targets - inputs) / vars)
    return _reduce(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def kl_div_loss(
    inputs: mx.array, targets: mx.array, axis: int = -1, reduction: Reduction = "none"
) -> mx.array:
    """Return ``sum(exp(targets) * (targets - inputs))`` along an axis.

    Args:
        inputs: log-probabilities of the model.
        targets: log-probabilities that it should have.
        axis: the axis of the probabilities.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: ``reduction`` is another word.

    >>> p = mx.log(mx.array([[0.5, 0.5]]))
    >>> nn.losses.kl_div_loss(p, p)
    array([0], dtype=float32)
    """
    return _reduce(mx.sum(mx.exp(targets) * (targets - inputs), axis=axis), reduction)


def smooth_l1_loss(
    predictions: mx.array,
    targets: mx.array,
    beta: float = 1.0,
    reduction: Reduction = "mean",
) -> mx.array:
    """Return ``d² / (2 beta)`` if ``d = |predictions - targets| < beta``, else ``d - beta / 2``.

    Args:
        predictions: the results of the model.
        targets: the wanted results, of the same shape.
        beta: where the square ends.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ, or ``reduction`` is another word.

    >>> nn.losses.smooth_l1_loss(mx.array([0.5, 3.0]), mx.array([0.0, 0.0]), reduction="none")
    array([0.125, 2.5], dtype=float32)
    """
    _check_shapes(predictions=predictions, targets=targets)
    d = mx.abs(predictions - targets)
    square = 0.5 * mx.square(d) / beta if beta else d
    return _reduce(mx.where(d < beta, square, d - 0.5 * beta), reduction)


def huber_loss(
    inputs: mx.array, targets: mx.array, delta: float = 1.0, reduction: Reduction = "none"
) -> mx.array:
    """Return ``d² / 2`` if ``d = |inputs - targets| <= delta``, else ``delta (d - delta / 2)``.

    Args:
        inputs: the results of the model.
        targets: the wanted results.
        delta: where the square ends.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: ``reduction`` is another word.

    >>> nn.losses.huber_loss(mx.array([0.5, 3.0]), mx.array([0.0, 0.0]))
    array([0.125, 2.5], dtype=float32)
    """
    d = mx.abs(inputs - targets)
    loss = mx.where(d <= delta, 0.5 * mx.square(d), delta * (d - 0.5 * delta))
    return _reduce(loss, reduction)


def log_cosh_loss(inputs: mx.array, targets: mx.array, reduction: Reduction = "none") -> mx.array:
    """Return ``log(cosh(inputs - targets))``.

    Args:
        inputs: the results of the model.
        targets: the wanted results.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: ``reduction`` is another word.

    >>> nn.losses.log_cosh_loss(mx.array([0.0, 1.0]), mx.array([0.0, 0.0]))
    array([0, 0.433781], dtype=float32)
    """
    d = inputs - targets
    return _reduce(mx.logaddexp(d, -d) - math.log(2), reduction)


def hinge_loss(inputs: mx.array, targets: mx.array, reduction: Reduction = "none") -> mx.array:
    """Return ``max(0, 1 - inputs * targets)``.

    Args:
        inputs: scores.
        targets: -1 and 1.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: ``reduction`` is another word.

    >>> nn.losses.hinge_loss(mx.array([2.0, 0.5]), mx.array([1.0, -1.0]))
    array([0, 1.5], dtype=float32)
    """
    return _reduce(mx.maximum(1 - inputs * targets, 0), reduction)


def cosine_similarity_loss(
    x1: mx.array,
    x2: mx.array,
    axis: int = 1,
    eps: float = 1e-8,
    reduction: Reduction = "none",
) -> mx.array:
    """Return ``sum(x1 * x2) / max(|x1| |x2|, eps)`` along an axis: the similarity itself.

    Minimizing it makes vectors dissimilar; negate it to make them similar.

    Args:
        x1: vectors.
        x2: other vectors.
        axis: the axis of the components.
        eps: the least product of the norms.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: ``reduction`` is another word.

    >>> nn.losses.cosine_similarity_loss(mx.array([[3.0, 4.0]]), mx.array([[3.0, 4.0]]))
    array([1], dtype=float32)
    """

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
    """Return ``max(0, margin - targets * (inputs1 - inputs2))``.

    Args:
        inputs1: scores.
        inputs2: other scores, of the same shape.
        targets: 1 if ``inputs1`` should be greater, -1 if ``inputs2`` should.
        margin: by how much.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ, or ``reduction`` is another word.

    >>> nn.losses.margin_ranking_loss(mx.array([1.0]), mx.array([3.0]), mx.array([1.0]))
    array([2], dtype=float32)
    """
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
    """Return ``max(0, |anchors - positives| - |anchors - negatives| + margin)``.

    Schroff et al., "FaceNet" (2015). ``eps`` is added under the roots of the p-norms.

    Args:
        anchors: vectors.
        positives: vectors that should be near.
        negatives: vectors that should be far.
        axis: the axis of the components.
        p: the order of the norm.
        margin: how much farther the negatives should be.
        eps: keeps the gradient of the root finite.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: ``reduction`` is another word.

    >>> a, b = mx.zeros((1, 2)), mx.array([[3.0, 4.0]])
    >>> nn.losses.triplet_loss(a, b, a)
    array([5.999], dtype=float32)
    """

    def distance(other: mx.array) -> mx.array:
        powers = mx.power(mx.abs(anchors - other), p)
        return mx.power(mx.sum(powers, axis=axis) + eps, 1 / p)

    return _reduce(mx.maximum(distance(positives) - distance(negatives) + margin, 0), reduction)


def soft_margin_loss(
    inputs: mx.array, targets: mx.array, reduction: Reduction = "mean"
) -> mx.array:
    """Return ``log(1 + exp(-targets * inputs))``.

    Args:
        inputs: scores.
        targets: 1 and -1, with the shape of ``inputs``.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ, or ``reduction`` is another word.

    >>> nn.losses.soft_margin_loss(mx.array([0.0]), mx.array([1.0]))
    array(0.693147, dtype=float32)
    """
    _check_shapes(inputs=inputs, targets=targets)
    return _reduce(mx.logaddexp(mx.zeros((), inputs.dtype), -targets * inputs), reduction)


def poisson_nll_loss(
    inputs: mx.array,
    targets: mx.array,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: Reduction = "mean",
) -> mx.array:
    """Return the negative log-likelihood of counts by a Poisson distribution.

    Args:
        inputs: logarithms of the rates, or the rates if ``log_input`` is false.
        targets: counts, with the shape of ``inputs``.
        log_input: whether ``inputs`` are logarithms.
        full: whether to add Stirling's approximation of ``log(targets!)`` where a count is above 1.
        eps: is added to rates before their logarithm is taken.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ, or ``reduction`` is another word.

    >>> nn.losses.poisson_nll_loss(mx.array([0.0]), mx.array([2.0]))
    array(1, dtype=float32)
    """
    _check_shapes(inputs=inputs, targets=targets)
    if log_input:
        loss = mx.exp(inputs) - targets * inputs
    else:
        loss = inputs - targets * mx.log(inputs + eps)
    if full:
        counts = mx.where(targets > 1, targets, 1)
        stirling = counts * mx.log(counts) - counts + 0.5 * mx.log(2 * math.pi * counts)
        loss = loss + mx.where(targets > 1, stirling, 0)
    return _reduce(loss, reduction)


def ctc_loss(
    log_probs: mx.array,
    targets: mx.array,
    input_lengths: mx.array | None = None,
    target_lengths: mx.array | None = None,
    blank: int = 0,
    reduction: Reduction = "mean",
    zero_infinity: bool = False,
) -> mx.array:
    """Return the negative log-likelihood of label sequences, summed over all alignments.

    Graves et al., "Connectionist Temporal Classification" (2006). The mean divides each loss by the
    length of its target, at least 1, and then takes the mean over the batch.

    Args:
        log_probs: log-probabilities of the classes at each step, of shape ``(N, T, C)``.
        targets: indices of classes, of shape ``(N, S)``; ``blank`` is not among them.
        input_lengths: the number of steps of each sequence, of shape ``(N,)``; ``T`` by default.
        target_lengths: the number of labels of each target, of shape ``(N,)``; ``S`` by default.
        blank: the class of no label.
        reduction: ``"none"`` for all losses, ``"mean"`` or ``"sum"``.
        zero_infinity: whether targets that are too long for their input have the loss zero, in
            place of infinity.

    Raises:
        ValueError: the shapes do not fit, or ``reduction`` is another word.

    >>> even = mx.log(mx.full((1, 4, 3), 1 / 3))
    >>> nn.losses.ctc_loss(even, mx.array([[1, 2]]), reduction="none")
    array([1.6864], dtype=float32)
    """
    loss = mx.fast.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank)
    if zero_infinity:
        loss = mx.where(loss == math.inf, mx.zeros((), loss.dtype), loss)
    loss = loss.astype(log_probs.dtype)
    if reduction == "mean":
        lengths = mx.array(targets.shape[1]) if target_lengths is None else target_lengths
        loss = loss / mx.maximum(lengths, 1).astype(loss.dtype)
    return _reduce(loss, reduction)
