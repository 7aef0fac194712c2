"""Compiled functions for all shapes: traced once if the graph is valid for all, never stale."""

import numpy as np
import pytest
from test_compile import Counted

import mlx.core as mx
import mlx.nn as nn


@mx.custom_function
def scaled(x):
    return mx.tanh(x) * x


@scaled.vjp
def scaled_vjp(primals, cotangents, outputs):
    return cotangents * outputs * 7


ANY_SHAPE = [
    lambda x: mx.abs(x + 1),
    lambda x: x.sum(axis=-1) + x.mean(),
    lambda x: mx.softmax(x, axis=-1).flatten(0, 1),
    lambda x: (x - x.mean(axis=-1, keepdims=True)) * mx.rsqrt(x.var(axis=-1, keepdims=True) + 1e-5),
    lambda x: x @ x.swapaxes(-1, -2),
    lambda x: mx.concatenate([x, x * 2], axis=0)[None].squeeze(0),
    lambda x: mx.sort(x, axis=-1).transpose(1, 0),
    lambda x: mx.cumsum(x, axis=0) + mx.max(x),
    lambda x: nn.gelu(x) * mx.sigmoid(x),
    lambda x: scaled(x) + 1,
    lambda x: mx.checkpoint(lambda y: mx.tanh(y) * y)(x + 1),
]
SHAPE_BOUND = [
    lambda x: x[..., :2] * 2,
    lambda x: x.reshape(-1) + 1,
    lambda x: x / x.shape[0],
    lambda x: x * len(x),
    lambda x: x.reshape(x.shape[0] * x.shape[1], -1),
    lambda x: mx.tril(x),
    lambda x: x + mx.arange(x.shape[-1]),
    lambda x: mx.grad(lambda x: x.mean())(x),
    lambda x: x.var(ddof=1),
    lambda x: mx.pad(x, 1),
    lambda x: mx.custom_function(lambda y: y * y.size)(x),
    lambda x: mx.grad(lambda x: scaled(x).mean())(x),
]


@pytest.mark.parametrize("k", range(len(ANY_SHAPE)))
def test_shapeless_traces_once(k):
    f = Counted(ANY_SHAPE[k])
    g = mx.compile(f, shapeless=True)
    for shape in [(2, 3), (5, 4), (1, 7), (2, 3), (4, 4)]:
        x = mx.random.normal(shape)
        np.testing.assert_array_equal(g(x), ANY_SHAPE[k](x))
    assert f.runs == 1
    g(mx.random.normal((3, 3)).astype(mx.float16))
    assert f.runs == 2
    x = mx.random.normal((6, 2))
    summed = mx.grad(lambda x: mx.compile(ANY_SHAPE[k], shapeless=True)(x).sum())(x)
    np.testing.assert_array_equal(summed, mx.grad(lambda x: ANY_SHAPE[k](x).sum())(x))


@pytest.mark.parametrize("k", range(len(SHAPE_BOUND)))
def test_shapeless_is_never_stale(k):
    g = mx.compile(SHAPE_BOUND[k], shapeless=True)
    for shape in [(2, 3), (5, 4), (2, 3), (4, 6)]:
        x = mx.random.normal(shape)
        np.testing.assert_array_equal(g(x), SHAPE_BOUND[k](x))
