"""Softmax, logsumexp and norms of rows that are shorter than a register, and of very long ones."""

import numpy as np
import pytest

import mlx.core as mx

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 100]
TYPES = {mx.float32: 3e-6, mx.float16: 2e-3, mx.bfloat16: 1.6e-2, mx.float64: 1e-14}
FLOATS = [t for t in TYPES if t != mx.float64]


def layer_norm(x):
    """Without weights; rows of one element are their weights and biases."""
    return mx.fast.layer_norm(x, None, None, 1e-5)


def weighted_norm(x):
    """With weights and biases."""
    n = x.shape[-1]
    weight, bias = (mx.array(np.linspace(a, a + 1, n), dtype=x.dtype) for a in (1, -2))
    return mx.fast.layer_norm(x, weight, bias, 1e-5)


def rms_norm(x):
    """With weights."""
    return mx.fast.rms_norm(x, mx.array(np.linspace(1, 2, x.shape[-1]), dtype=x.dtype), 1e-5)


FUNCTIONS = {
    "softmax": lambda x: mx.softmax(x, axis=-1),
    "logsumexp": lambda x: mx.logsumexp(x, axis=-1),
    "layer_norm": layer_norm,
    "weighted_norm": weighted_norm,
    "rms_norm": rms_norm,
}


def expected(name, x):
    """The function of rows, in double precision."""
    largest = x.max(-1, keepdims=True)
    e = np.exp(x - largest)
    if name == "softmax":
        return e / e.sum(-1, keepdims=True)
    if name == "logsumexp":
        return (largest + np.log(e.sum(-1, keepdims=True)))[..., 0]
    n = x.shape[-1]
    weight = np.linspace(1, 2, n) if name != "layer_norm" else 1
    centred = x if name == "rms_norm" else x - x.mean(-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight
    return y + np.linspace(-2, -1, n) if name == "weighted_norm" else y


def numbers(dtype, *shape):
    """Normal numbers of a dtype, and the same in double precision."""
    x = mx.array(np.random.default_rng(shape[-1]).standard_normal(shape)).astype(dtype)
    return x, np.array(x.astype(mx.float32), np.float64) if dtype != mx.float64 else np.array(x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype):
    """Every length and several numbers of rows."""
    for n in LENGTHS:
        for rows in (1, 5, 16, 37):
            x, wide = numbers(dtype, rows, n)
            y = np.array(FUNCTIONS[name](x).astype(mx.float32), np.float64)
            want = expected(name, wide)
            bound = TYPES[dtype] * 4 * np.maximum(1, np.abs(want))
            assert np.all(np.abs(y - want) <= bound), (n, rows, np.abs(y - want).max())


@pytest.mark.cpu_only(reason="GPUs have no float64, and other orders of sums")
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits(name, dtype):
    """A row alone has the bits that it has among others."""
    for n in LENGTHS:
        x, wide = numbers(dtype, 37, n)
        together = np.array(FUNCTIONS[name](x).astype(mx.float64))
        alone = [np.array(FUNCTIONS[name](x[i]).astype(mx.float64)) for i in range(37)]
        np.testing.assert_array_equal(together, np.stack(alone), f"{n}")
        if dtype == mx.float64:
            np.testing.assert_allclose(together, expected(name, wide), 1e-12, 1e-13)


@pytest.mark.parametrize(
    "shape", [(50, 2), (50, 3), (1000, 1), (3, 40, 5), (20, 8), (20, 9), (4, 7)]
)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_columns(dtype, shape):
    """Softmax over an axis before a few positions."""
    x, wide = numbers(dtype, *shape)
    axis = len(shape) - 2
    y = np.array(mx.softmax(x, axis=axis).astype(mx.float32))
    want = np.moveaxis(expected("softmax", np.moveaxis(wide, axis, -1)), -1, axis)
    np.testing.assert_allclose(y, want, 4 * TYPES[dtype], 4 * TYPES[dtype])


@pytest.mark.parametrize("n", [1, 3, 8, 16, 17])
def test_special_numbers(n):
    """Infinities and NaN give what they give in NumPy's formulas; other rows keep their results."""
    rng = np.random.default_rng(n)
    x = rng.standard_normal((64, n)).astype(np.float32)
    x[rng.random((64, n)) < 0.1] = -np.inf
    x[::7] = -np.inf
    x[3, 0], x[5, n - 1] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        want = expected("softmax", x.astype(np.float64))
        largest = x.max(-1)
        logs = np.where(np.isinf(largest), largest, expected("logsumexp", x.astype(np.float64)))
    np.testing.assert_allclose(mx.softmax(mx.array(x), axis=-1), want, 1e-5, 1e-6)
    np.testing.assert_allclose(mx.logsumexp(mx.array(x), axis=-1), logs, 1e-5, 1e-6)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(20_000,), (3, 33_001), (2, 70_001)])
def test_long_rows(dtype, shape):
    """Rows that several threads or blocks share."""
    x, wide = numbers(dtype, *shape)
    for name in ("softmax", "logsumexp"):
        y = np.array(FUNCTIONS[name](x).astype(mx.float32), np.float64)
        np.testing.assert_allclose(y, expected(name, wide), 4 * TYPES[dtype], 1e-6)
    columns = mx.contiguous(x.reshape(-1, shape[-1]).T)
    y = np.array(mx.softmax(columns, axis=0).astype(mx.float32)).T.reshape(shape)
    np.testing.assert_allclose(y, expected("softmax", wide), 4 * TYPES[dtype], 1e-6)


def test_special_long_rows():
    """A part of -infinities has no share; NaN and infinities reach all of a row."""
    x = np.where(np.arange(50_000) < 30_000, -np.inf, 1.0).astype(np.float32)
    np.testing.assert_allclose(mx.softmax(mx.array(x))[29_999:30_001], [0, 1 / 20_000], 1e-5)
    np.testing.assert_allclose(mx.logsumexp(mx.array(x)).item(), 1 + np.log(20_000), 1e-6)
    for value, log in ((np.nan, np.nan), (np.inf, np.inf)):
        x[40_000] = value
        assert np.all(np.isnan(np.array(mx.softmax(mx.array(x)))[30_000:]) | (value == np.inf))
        np.testing.assert_array_equal(mx.logsumexp(mx.array(x)).item(), log)
    nothing = mx.full((50_000,), -np.inf)
    assert (
        np.all(np.isnan(np.array(mx.softmax(nothing)))) and mx.logsumexp(nothing).item() == -np.inf
    )
