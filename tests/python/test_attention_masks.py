"""Masks of -inf in attention: of some keys, of all but one, of whole rows, which become NaN."""

import numpy as np
import pytest

import mlx.core as mx

SIZES = {"few keys": (5, 7, 8), "a tile of queries": (64, 130, 64), "several tiles": (200, 300, 64)}
BOUNDS = {mx.float32: 2e-6, mx.float16: 2e-3, mx.bfloat16: 2e-2}


def masked(rng, queries, keys):
    """A mask that hides a third of the keys, all keys of row 1 and all but the last of row 2."""
    mask = np.where(rng.random((queries, keys)) < 0.3, -np.inf, 0.0)
    mask[1], mask[2, :-1], mask[2, -1] = -np.inf, -np.inf, 0.0
    return mask


def reference(q, k, v, mask):
    """Attention by its formula, in float64."""
    with np.errstate(invalid="ignore"):
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + mask
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", BOUNDS, ids=lambda dtype: str(dtype).split(".")[-1])
def test_masks_of_infinity(dtype, size, compiled):
    queries, keys, features = SIZES[size]
    rng = np.random.default_rng(7)
    arrays = [
        mx.array(rng.standard_normal((2, 2, n, features)).astype(np.float32)).astype(dtype)
        for n in (queries, keys, keys)
    ]
    mask = masked(rng, queries, keys)

    def attention(q, k, v, m):
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=features**-0.5, mask=m)

    run = mx.compile(attention) if compiled else attention
    got = np.array(run(*arrays, mx.array(mask.astype(np.float32)).astype(dtype)).astype(mx.float32))
    want = reference(*(np.array(a.astype(mx.float32), np.float64) for a in arrays), mask)
    assert np.isnan(want[:, :, 1]).all()
    assert np.array_equal(np.isnan(got), np.isnan(want))
    assert np.nanmax(np.abs(got - want)) <= BOUNDS[dtype]
