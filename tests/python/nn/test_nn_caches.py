"""Caches of keys and values: token by token, in chunks and at once give the same attention."""

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn

TOKENS, SCALE = 13, 0.25


def parts(heads=2, size=32, seed=0):
    """Queries of twice as many heads, keys and values of all tokens."""
    random = np.random.RandomState(seed)
    shapes = ((2 * heads, size), (heads, size), (heads, size))
    return [mx.array(random.randn(2, h, TOKENS, d).astype(np.float32)) for h, d in shapes]


def attention(q, k, v, allowed):
    """By NumPy in float64."""
    q, k, v = (np.array(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], axis=1) for x in (k, v))
    scores = np.where(allowed, q @ k.swapaxes(-1, -2) * SCALE, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def allowed(window=TOKENS, keep=0):
    """Which keys each token sees."""
    i, j = np.arange(TOKENS)[:, None], np.arange(TOKENS)
    return (j <= i) & ((j > i - (window - keep)) | (j < keep))


CACHES = {
    "plain": (lambda: nn.KVCache(step=4), {}, 2e-6),
    "rotating": (lambda: nn.RotatingKVCache(5), {"window": 5}, 2e-6),
    "keeping": (lambda: nn.RotatingKVCache(6, keep=2), {"window": 6, "keep": 2}, 2e-6),
    "quantized": (lambda: nn.QuantizedKVCache(32, 8, step=4), {}, 5e-2),
}
CHUNKS = [[1] * TOKENS, [TOKENS], [4, 1, 1, 1, 3, 1, 2], [1, 5, 1, 1, 5], [7, 1, 1, 1, 1, 1, 1]]


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("name", CACHES)
def test_chunks(name, chunks):
    make, window, bound = CACHES[name]
    q, k, v = parts()
    cache, rows, first = make(), [], 0
    for n in chunks:
        at = slice(first, first + n)
        rows.append(cache.attend(q[:, :, at], k[:, :, at], v[:, :, at], SCALE))
        first += n
        assert cache.offset == first
    got = mx.concatenate(rows, axis=2)
    np.testing.assert_allclose(got, attention(q, k, v, allowed(**window)), atol=bound)


@pytest.mark.parametrize("name", CACHES)
def test_state(name):
    """A cache goes on from the state of another one, through a file."""
    make = CACHES[name][0]
    q, k, v = parts()
    cache, other = make(), make()
    cache.attend(q[:, :, :9], k[:, :, :9], v[:, :, :9], SCALE)
    other.state = cache.state
    assert other.offset == cache.offset
    step = [x[:, :, 9:10] for x in (q, k, v)]
    assert mx.array_equal(cache.attend(*step, SCALE), other.attend(*step, SCALE))


@pytest.mark.parametrize("name", CACHES)
@pytest.mark.parametrize("tokens", [1, 3, 9])
def test_trim(name, tokens):
    make = CACHES[name][0]
    q, k, v = ([x[:, :, :n] for n in (4, 4 - tokens)] for x in parts())
    cache, shorter = make(), make()
    cache.attend(q[0], k[0], v[0], SCALE)
    assert cache.trim(tokens) == min(tokens, 4) and cache.offset == max(4 - tokens, 0)
    if tokens < 4:
        shorter.attend(q[1], k[1], v[1], SCALE)
    step = [x[0][:, :, :1] for x in (q, k, v)]
    assert mx.array_equal(cache.attend(*step, SCALE), shorter.attend(*step, SCALE))


def test_windows_that_rotated_are_not_trimmed():
    cache = nn.RotatingKVCache(4)
    x = mx.ones((1, 1, 6, 8))
    cache.update_and_fetch(x, x)
    assert cache.trim(2) == 0 and cache.offset == 6


def test_errors():
    with pytest.raises(ValueError, match=r"keep=4; 0 <= keep < max_size is accepted"):
        nn.RotatingKVCache(4, keep=4)
    with pytest.raises(ValueError, match=r"step=0; at least 1 is accepted"):
        nn.KVCache(step=0)
