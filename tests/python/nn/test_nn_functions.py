"""Functions of jax.nn: values by NumPy, derivatives by differences, dtypes, batches, errors."""

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn

X = np.random.RandomState(1).uniform(-5, 5, (4, 6))
FUNCTIONS = {
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "standardize": lambda x: (
        (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    ),
    "logmeanexp": lambda x: np.log(np.mean(np.exp(x))),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x))),
}
BOUNDS = {mx.float64: 1e-12, mx.float32: 2e-6, mx.float16: 1e-2, mx.bfloat16: 8e-2}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name):
    """Each floating dtype, strided and compiled."""
    f, reference = getattr(nn, name), FUNCTIONS[name]
    for dtype, bound in BOUNDS.items():
        x = mx.array(X, dtype)
        want = reference(np.array(x.astype(mx.float64)))
        assert f(x).dtype == dtype
        for got in (f(x), mx.compile(f)(x), f(mx.array(X[:, ::-1].copy(), dtype)[:, ::-1])):
            np.testing.assert_allclose(got.astype(mx.float64), want, rtol=bound, atol=bound)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    """The gradient, and that of a batch."""
    f, reference, step = getattr(nn, name), FUNCTIONS[name], 1e-6
    weights = np.random.RandomState(2).uniform(0.5, 1, X.shape)
    slope = mx.grad(lambda x: (f(x) * mx.array(weights, mx.float64)).sum())
    x = mx.array(X, mx.float64)
    for i, j in ((0, 0), (1, 4), (3, 5)):
        moved = np.zeros_like(X)
        moved[i, j] = step
        ends = [(reference(X + s * moved) * weights).sum() for s in (1, -1)]
        np.testing.assert_allclose(slope(x)[i, j], (ends[0] - ends[1]) / (2 * step), atol=1e-7)
    if name not in ("logmeanexp", "logsumexp"):
        np.testing.assert_allclose(mx.vmap(f)(x), f(x), rtol=1e-12)


def test_axes():
    x = mx.array(X, mx.float64)
    np.testing.assert_allclose(
        nn.logmeanexp(x, axis=1, keepdims=True),
        np.log(np.mean(np.exp(X), 1, keepdims=True)), rtol=1e-12,
    )  # fmt: skip
    both = (X - X.mean()) / np.sqrt(X.var() + 1e-3)
    np.testing.assert_allclose(nn.standardize(x, (0, 1), 1e-3), both, rtol=1e-12)


@pytest.mark.parametrize("dtype", [mx.int8, mx.int32, mx.uint64])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_one_hot(dtype, shape):
    indices = np.arange(int(np.prod(shape))).reshape(shape) % 5
    got = nn.one_hot(mx.array(indices).astype(dtype), 4)
    np.testing.assert_array_equal(got, (indices[..., None] == np.arange(4)).astype(np.float32))
    assert nn.one_hot(mx.array(1), 3, mx.bool_).tolist() == [False, True, False]
    assert nn.one_hot(mx.array([-1]), 2).tolist() == [[0, 0]]
    mapped = mx.vmap(lambda x: nn.one_hot(x, 3))(mx.array([0, 2]))
    assert mapped.tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(ValueError, match=r"\[one_hot\] .*float32; integers are accepted"):
        nn.one_hot(mx.array(1.0), 3)


def test_other_names():
    assert nn.swish is nn.silu and nn.soft_sign is nn.softsign and nn.hardtanh is nn.hard_tanh
    assert nn.hard_silu is nn.hard_swish is nn.hardswish and nn.hardsigmoid is nn.hard_sigmoid
