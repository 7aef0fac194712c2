"""Sums over the alignments of a label sequence with the steps of an input."""

from __future__ import annotations

import mlx.core as mx

#: The logarithm of zero in sums over alignments; an infinity would give derivatives of NaN.
LEAST = -1e30


def _alignments(
    log_probs: mx.array, targets: mx.array, taken: mx.array, lengths: mx.array, blank: int
) -> mx.array:
    """Return negative logarithms of the sums over the alignments, by a scan."""
    batch, steps, _ = log_probs.shape
    states = 2 * targets.shape[1] + 1
    # Labels with a blank before, between and after them; padding is read as any class.
    inside = mx.arange(targets.shape[1]) < lengths[:, None]
    labels = mx.where(inside, targets.astype(mx.int32), blank)
    path = mx.full((batch, states), blank, mx.int32)
    path[:, 1::2] = labels
    wide = log_probs if log_probs.dtype == mx.float64 else log_probs.astype(mx.float32)
    scores = mx.take_along_axis(wide, mx.broadcast_to(path[:, None], (batch, steps, states)), 2)
    # A label may follow another one at once where they differ.
    skips = mx.zeros((batch, states), mx.bool_)
    skips[:, 2:] = (path[:, 2:] != blank) & (path[:, 2:] != path[:, :-2])
    least = mx.array(LEAST, wide.dtype)
    first = mx.where(mx.arange(states) < 2, scores[:, 0], least)

    def step(alpha: mx.array, row: tuple[mx.array, mx.array]) -> tuple[mx.array, None]:
        t, score = row
        before = mx.pad(alpha, [(0, 0), (2, 0)], constant_values=least)
        skipped = mx.where(skips, before[:, :states], least)
        sums = mx.logsumexp(mx.stack([alpha, before[:, 1 : states + 1], skipped]), axis=0)
        moved = mx.maximum(sums + score, least)
        return mx.where((t < taken)[:, None], moved, alpha), None

    rows = (mx.arange(1, steps), mx.moveaxis(scores[:, 1:], 1, 0))
    last, _ = mx.scan(step, first, rows) if steps > 1 else (first, None)
    ends = 2 * lengths[:, None].astype(mx.int32) - mx.array([0, 1])
    found = mx.take_along_axis(last, mx.maximum(ends, 0), axis=1)
    return -mx.logsumexp(mx.where(ends >= 0, found, least), axis=1)
