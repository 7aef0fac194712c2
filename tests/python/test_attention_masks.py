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


@pytest.mark.cpu_only("blocks of GPUs differ")
@pytest.mark.parametrize("last", [17, 50, 129])
@pytest.mark.parametrize("scale", [0.125, 1.5, -0.125])
@pytest.mark.parametrize("dtype", BOUNDS, ids=lambda dtype: str(dtype).split(".")[-1])
def test_a_causal_row_does_not_depend_on_the_rows_beside_it(dtype, scale, last):
    rng = np.random.default_rng(8)
    q, k, v = (
        mx.array(rng.standard_normal((1, 2, 300, 64)).astype(np.float32)).astype(dtype)
        for _ in range(3)
    )

    def attention(queries):
        return mx.fast.scaled_dot_product_attention(queries, k, v, scale=scale, mask="causal")

    assert mx.array_equal(attention(q)[:, :, -last:], attention(q[:, :, -last:]))


@pytest.mark.parametrize("scale", [0.3, 1.5, -0.3])
@pytest.mark.parametrize("dtype", BOUNDS, ids=lambda dtype: str(dtype).split(".")[-1])
def test_rows_without_keys_have_the_mean_of_the_values(dtype, scale):
    """Causal rows before the first key: all scores are the lowest one."""
    rng = np.random.default_rng(9)
    q, k, v = (
        mx.array(rng.standard_normal((1, 2, n, 64)).astype(np.float32)).astype(dtype)
        for n in (90, 6, 6)
    )
    got = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask="causal")
    want = np.array(v.astype(mx.float32)).mean(2, keepdims=True)
    assert np.abs(np.array(got.astype(mx.float32))[:, :, :84] - want).max() <= BOUNDS[dtype]


@pytest.mark.parametrize("size", [1e3, 1e12, 1e17])
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16], ids=["float32", "bfloat16"])
def test_large_scores_choose_one_value(dtype, size):
    """A difference of large scores is exact or far from 0: no weight is infinite."""
    rng = np.random.default_rng(10)
    q, k, v = (
        mx.array(rng.standard_normal((1, 2, n, 64)).astype(np.float32)) for n in (70, 40, 40)
    )
    q, k, v = (size * q).astype(dtype), (size * k).astype(dtype), v.astype(dtype)

    def attend(v):
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=0.3)

    got = attend(v)
    x, y, values = (np.array(a.astype(mx.float32)).astype(np.float64) for a in (q, k, v))
    chosen = np.argmax(x @ y.swapaxes(-1, -2), -1)
    want = np.take_along_axis(values, chosen[..., None], 2)
    assert np.abs(np.array(got.astype(mx.float32)) - want).max() <= BOUNDS[dtype]
    # The cotangent of a value is the sum of those of the rows that chose it.
    given = mx.array(rng.integers(-4, 5, got.shape).astype(np.float32)).astype(dtype)
    found = np.array(mx.vjp(attend, [v], [given])[1][0].astype(mx.float32))
    taken = (chosen[..., None] == np.arange(40)).astype(np.float32)
    assert np.array_equal(found, taken.swapaxes(-1, -2) @ np.array(given.astype(mx.float32)))
