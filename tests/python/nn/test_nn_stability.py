"""Accuracy where inputs are large, or have 16 bits."""

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn

DTYPES = [mx.float16, mx.bfloat16, mx.float32, mx.float64]
# Half a unit in the last place of a result that was rounded once, and the error of sums.
EPS = {mx.float16: 2**-11, mx.bfloat16: 2**-8, mx.float32: 2**-20, mx.float64: 2**-48}
BY_DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def exact(x):
    """The elements as doubles."""
    return np.array(x.astype(mx.float64, stream=mx.cpu))


def log_softmax(x):
    """In double precision, along the last axis."""
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def logits(offset, dtype):
    """Rows with a spread of some units around a number, which may be large."""
    spread = np.random.RandomState(1).randn(16, 40) * 4
    return mx.array(spread + offset).astype(dtype, stream=mx.cpu)


def close(value, expected, dtype):
    """Whether a result is right up to its rounding."""
    tolerance = EPS[dtype] * np.maximum(np.abs(expected), 1)
    return np.all(np.abs(exact(value) - expected) <= tolerance)


CLASSES = mx.array(np.random.RandomState(2).randint(0, 40, 16))
ROWS = np.arange(16)


@BY_DTYPE
@pytest.mark.parametrize("offset", [0.0, -300.0, 3e4, 1e8])
def test_probabilities_of_large_logits(offset, dtype):
    """Losses depend on the differences of logits alone, and are rounded once."""
    if dtype == mx.float16 and offset == 1e8:
        offset = -6e4
    with mx.stream(mx.cpu):
        x = logits(offset, dtype)
        reference = log_softmax(exact(x))
        picked = -reference[ROWS, np.array(CLASSES)]
        y = nn.log_softmax(x)
        assert y.dtype == dtype and close(y, reference, dtype)
        assert close(nn.log_softmax(x.T, axis=0).T, reference, dtype)
        assert close(nn.LogSoftmax()(x), reference, dtype)
        loss = nn.losses.cross_entropy(x, CLASSES)
        assert loss.dtype == dtype and close(loss, picked, dtype)
        assert close(nn.losses.cross_entropy(x.T, CLASSES, axis=0), picked, dtype)
        one_hot = mx.array(np.eye(40)[np.array(CLASSES)]).astype(dtype)
        loss = nn.losses.cross_entropy(x, one_hot)
        assert loss.dtype == dtype and close(loss, picked, dtype)
        smooth = 0.9 * picked - 0.1 * reference.mean(-1)
        assert close(nn.losses.cross_entropy(x, CLASSES, label_smoothing=0.1), smooth, dtype)
        fast = mx.fast.cross_entropy(x, CLASSES)
        assert close(fast, picked, mx.float64 if dtype == mx.float64 else mx.float32)
        nll = nn.losses.nll_loss(y, CLASSES)
        assert close(nll, picked, dtype)
        assert np.all(exact(nn.losses.kl_div_loss(y, y)) == 0)


@BY_DTYPE
def test_gradients_of_large_logits(dtype):
    """Softmax less one-hot, whatever is added to the logits."""
    with mx.stream(mx.cpu):
        x = logits(3e4, dtype)
        expected = np.exp(log_softmax(exact(x))) - np.eye(40)[np.array(CLASSES)]
        for f in (
            nn.losses.cross_entropy,
            mx.fast.cross_entropy,
            lambda x, t: nn.losses.nll_loss(nn.log_softmax(x), t),
        ):
            g = mx.grad(lambda x, f=f: f(x, CLASSES).sum())(x)
            assert g.dtype == dtype
            assert np.all(np.abs(exact(g) - expected) <= 4 * EPS[dtype])


def test_two_equal_large_logits():
    """Each has the probability one half."""
    x = mx.array([1e8, 1e8])
    half = -np.log(2)
    assert np.allclose(nn.log_softmax(x), [half, half])
    assert np.allclose(nn.losses.cross_entropy(x, mx.array(0)), -half)
    assert np.allclose(nn.losses.cross_entropy(x, mx.array([0.5, 0.5])), -half)
    assert np.allclose(mx.fast.cross_entropy(x, mx.array(0)), -half)


def test_impossible_classes():
    """A logit of -inf is a probability of zero."""
    x = mx.array([-float("inf"), 0.0])
    assert nn.log_softmax(x).tolist() == [-float("inf"), 0]
    assert nn.losses.cross_entropy(x, mx.array(1)).item() == 0
    assert nn.losses.cross_entropy(x, mx.array(0)).item() == float("inf")


def test_dtypes_of_log_softmax():
    """Integers become float32; complex numbers stay."""
    assert nn.log_softmax(mx.array([1, 2])).dtype == mx.float32
    assert nn.log_softmax(mx.array([1 + 1j, 2])).dtype == mx.complex64


NORMS = {
    "layer": (lambda: nn.LayerNorm(6), (4, 6), (-1,)),
    "rms": (lambda: nn.RMSNorm(6), (4, 6), None),
    "instance": (lambda: nn.InstanceNorm(3), (2, 5, 4, 3), (1, 2)),
    "instance affine": (lambda: nn.InstanceNorm(3, affine=True), (2, 5, 4, 3), (1, 2)),
    "group": (lambda: nn.GroupNorm(1, 6), (3, 5, 6), (1, 2)),
    "group as in PyTorch": (
        lambda: nn.GroupNorm(1, 6, pytorch_compatible=True),
        (3, 5, 6),
        (1, 2),
    ),
    "batch": (lambda: nn.BatchNorm(4), (6, 5, 4), (0, 1)),
}


@BY_DTYPE
@pytest.mark.parametrize("scale", [1.0, 3e4])
@pytest.mark.parametrize("name", NORMS)
def test_statistics_are_wide(name, scale, dtype):
    """The squares of 16-bit numbers fit float32; the result is rounded once to its dtype."""
    make, shape, axes = NORMS[name]
    with mx.stream(mx.cpu):
        x = mx.array(scale * np.random.RandomState(3).uniform(-1, 1, shape))
        x = x.astype(dtype)
        layer = make()
        layer.set_dtype(dtype)
        y = layer(x)
        v = exact(x)
        if axes is None:
            expected = v / np.sqrt((v * v).mean(-1, keepdims=True) + layer.eps)
        else:
            mean, var = v.mean(axes, keepdims=True), v.var(axes, keepdims=True)
            expected = (v - mean) / np.sqrt(var + layer.eps)
        assert y.dtype == dtype
        assert close(y, expected, mx.float32 if dtype == mx.float64 else dtype)
        if name == "batch":
            n = v.size // v.shape[-1]
            seen = 0.1 * v.mean((0, 1)), 0.9 + 0.1 * v.var((0, 1)) * n / (n - 1)
            for kept, one in zip((layer.running_mean, layer.running_var), seen, strict=True):
                if np.all(one < 6e4) or dtype != mx.float16:
                    assert kept.dtype == dtype
                    error = np.abs(exact(kept) - one)
                    assert np.all(error <= 2 * EPS[dtype] * np.maximum(np.abs(one), 1))
            layer.eval()
            assert layer(x).dtype == dtype


@pytest.mark.parametrize("of", [mx.float16, mx.bfloat16, mx.float32], ids=str)
@pytest.mark.parametrize("parameters", [mx.float16, mx.bfloat16, mx.float32], ids=str)
def test_dtypes_of_norms(parameters, of):
    """A result has the common dtype of the input and the parameters, LayerNorm's too."""
    both = mx.result_type(of, parameters)
    for name, (make, shape, _) in NORMS.items():
        layer = make()
        layer.set_dtype(parameters)
        x = mx.zeros(shape, of) + mx.arange(shape[-1]).astype(of)
        expected = both if layer.parameters() else of
        assert layer(x).dtype == expected, name
        if name == "batch":
            assert layer.running_mean.dtype == layer.running_var.dtype == both
            assert layer.eval()(x).dtype == both


def test_the_two_extremes_of_float16():
    """Their variance does not fit float16; the normalised values are -1 and 1."""
    x = mx.array([[-512.0], [512.0]], dtype=mx.float16)
    assert nn.InstanceNorm(1)(x[None]).flatten().tolist() == [-1, 1]
    assert nn.BatchNorm(1, affine=False)(x).flatten().tolist() == [-1, 1]
    assert nn.GroupNorm(1, 1, affine=False)(x[None]).flatten().tolist() == [-1, 1]
    assert nn.LayerNorm(2, affine=False)(x.T).flatten().tolist() == [-1, 1]
    assert nn.RMSNorm(2)(x.T).flatten().tolist() == [-1, 1]


def test_step_at_its_threshold():
    """The threshold itself belongs to the upper side; NaN to the lower one."""
    x = mx.array([-1.0, 0.0, 1.0, float("nan")])
    assert nn.step(x).tolist() == [0, 1, 1, 0]
    assert nn.Step(1.0)(x).tolist() == [0, 0, 1, 0]
    assert nn.step(mx.array([1, 2, 3]), 2).tolist() == [0, 1, 1]
