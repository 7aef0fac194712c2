"""Layers beyond the golden cases: errors, dtypes, random behaviour, edges."""

import math

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten

ERRORS = {
    "nn.Conv2d(4, 6, 3, groups=3)": "must be divisible by the number of groups",
    "nn.Dropout(1.0)": r"1.0 is not in \[0, 1\)",
    "nn.Dropout2d(-0.1)": "is not in",
    "nn.Dropout2d(0.5)(mx.ones((3, 3)))": "Expected 3 or 4 dimensions",
    "nn.Dropout3d(0.5)(mx.ones((3, 3)))": "Expected 4 or 5 dimensions",
    "nn.MaxPool1d((3, 2))": r"\[MaxPool1d\] 'kernel_size' must be an integer or a tuple",
    "nn.AvgPool2d('a')": "containing 2 integers",
    "nn.AvgPool2d(2, padding=None)": "'padding' must be an integer",
    "nn.MaxPool2d(0)": "'kernel_size' must be positive",
    "nn.MaxPool2d(2, padding=-1)": "'padding' must be non-negative",
    "nn.MaxPool2d(2)(mx.ones((4, 4, 3)))": "expects an input with 4 dimensions",
    "nn.GroupNorm(3, 4)": "must be evenly divisible",
    "nn.GroupNorm(2, 4)(mx.ones((4,)))": "at least 2 dimensions",
    "nn.InstanceNorm(4)(mx.ones((3, 4)))": "at least 3 dimensions",
    "nn.BatchNorm(4)(mx.ones((4,)))": "2, 3 or 4 dimensions, but got 1",
    "nn.BatchNorm(2)(mx.ones((1, 2)))": "more than one value per channel",
    "nn.GELU('foo')": "The approximation should be in",
    "nn.MultiHeadAttention(8, 3)": "divisible by the number of heads",
    "nn.SinusoidalPositionalEncoding(3)": "must be positive and even",
    "nn.RNN(3, 4, nonlinearity=3)": "Nonlinearity must be callable",
    "nn.Upsample(2, 'foo')": "unsupported upsampling algorithm",
    "nn.Upsample(2, antialias=True)": "not supported for nearest",
    "nn.Upsample(2, 'linear', True, True)": "not supported",
    "nn.Upsample(2)(mx.ones((3, 3)))": "at least 3D but 2D",
    "nn.Upsample((2, 2))(mx.ones((1, 3, 1)))": "One scale per spatial dimension",
    "nn.QuantizedLinear(64, 8, mode='foo')": "Invalid quantization mode 'foo'",
    "nn.Linear(64, 8).to_quantized(quantize_input=True)": "only supported for 'nvfp4'",
    "nn.Embedding(8, 64).to_quantized(quantize_input=True)": "not supported",
    "nn.quantize(nn.Sequential(nn.ReLU()), class_predicate=lambda *_: True)": "layers with to_qu",
    "nn.quantize(nn.Sequential(nn.Linear(64, 64)), class_predicate=lambda *_: 1)": "returns int",
    "nn.init.he_normal()(mx.ones((3,)))": "at least 2 dimensional",
    "nn.init.he_normal()(mx.ones((3, 3)), 'foo')": "Invalid mode: foo",
    "nn.init.identity()(mx.ones((3, 4)))": "square matrix",
    "nn.init.orthogonal()(mx.ones((3,)))": "2D array",
    "nn.init.sparse(0.5)(mx.ones((3,)))": "2 dimensions",
    "nn.losses.mse_loss(mx.ones(2), mx.ones(2), reduction='foo')": "Invalid reduction",
    "nn.losses.mse_loss(mx.ones(2), mx.ones(3))": "does not match targets shape",
    "nn.losses.cross_entropy(mx.ones((2, 3)), mx.array([0]))": "does not match logits shape",
    "nn.losses.cross_entropy(mx.ones((2, 3)), mx.array([0, 1]), label_smoothing=1.0)": "smoothing",
    "nn.losses.cross_entropy(mx.ones((2, 3)), mx.array([0, 1]), mx.ones(3))": "Weights with shape",
    "nn.losses.gaussian_nll_loss(mx.ones(2), mx.ones(2), mx.ones(1))": "vars shape",
    "nn.losses.margin_ranking_loss(mx.ones(2), mx.ones(2), mx.ones(1))": "do not match",
}


@pytest.mark.parametrize("source, message", ERRORS.items())
def test_errors(source, message):
    """Bad arguments are a ValueError that says what was wrong."""
    with pytest.raises(ValueError, match=message):
        mx.eval(eval(source))


HALF = """
nn.Linear(4, 3) | nn.Conv1d(4, 3, 3) | nn.LayerNorm(4) | nn.RMSNorm(4) | nn.GroupNorm(2, 4)
nn.InstanceNorm(4, affine=True) | nn.BatchNorm(4) | nn.Dropout(0.5) | nn.MaxPool1d(2) | nn.ReLU6()
nn.GELU() | nn.GELU("tanh") | nn.GELU("fast") | nn.ELU() | nn.SELU() | nn.CELU() | nn.Mish()
nn.SiLU() | nn.Hardswish() | nn.HardTanh() | nn.Softshrink() | nn.HardShrink() | nn.LeakyReLU()
nn.PReLU() | nn.LogSoftmax() | nn.Softplus() | nn.GRU(4, 3) | nn.RNN(4, 3) | nn.RoPE(4)
""".replace("\n", "|").split("|")


@pytest.mark.parametrize("source", [case.strip() for case in HALF if case.strip()])
@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=["float16", "bfloat16"])
def test_half_precision_stays(source, dtype):
    """A layer cast to a half type keeps it and stays close to float32."""
    mx.random.seed(0)
    layer = eval(source).eval()
    x = mx.random.normal((2, 6, 4))
    exact = layer(x)
    layer.set_dtype(dtype)
    y = layer(x.astype(dtype))
    assert y.dtype == dtype
    error = mx.max(mx.abs(y.astype(mx.float32) - exact)).item()
    assert error < (0.01 if dtype == mx.float16 else 0.08)


@pytest.mark.parametrize(
    "layer, shape, axes",
    [
        (nn.Dropout(0.3), (200, 300), ()),
        (nn.Dropout2d(0.3), (200, 3, 4, 100), (1, 2)),
        (nn.Dropout3d(0.3), (200, 2, 3, 2, 50), (1, 2, 3)),
        (nn.Dropout2d(0.3), (3, 4, 9000), (0, 1)),
    ],
)
def test_dropout(layer, shape, axes):
    """The share of zeros, the scale, and that channels fall together."""
    mx.random.seed(0)
    y = np.array(layer(mx.ones(shape)))
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.7)}
    single = y.max(axis=axes, keepdims=True) if axes else y
    assert (y == single).all()
    share = (single == 0).mean()
    assert abs(share - 0.3) < 4 * math.sqrt(0.3 * 0.7 / single.size)
    assert mx.array_equal(layer.eval()(mx.ones(shape)), mx.ones(shape)).item()
    layer.train()


FINITE = {
    "nn.elu(x)": [1000.0, -1000.0, 0.0],
    "nn.celu(x)": [1000.0, -1000.0, 0.0],
    "nn.selu(x)": [1000.0, -1000.0, 0.0],
    "nn.softplus(x)": [1000.0, -1000.0, 0.0],
    "nn.mish(x)": [1000.0, -1000.0, 0.0],
    "nn.losses.cosine_similarity_loss(x[None], mx.ones((1, 3)))": [0.0, 0.0, 0.0],
    "nn.losses.binary_cross_entropy(x, mx.array([0.0, 1.0, 1.0]), with_logits=False)": [0, 1, 0.5],
    "nn.losses.binary_cross_entropy(x, mx.array([0.0, 1.0, 1.0]))": [1000.0, -1000.0, 0.0],
    "nn.losses.cross_entropy(x, mx.array(1))": [1000.0, -1000.0, 0.0],
    "nn.losses.log_cosh_loss(x, mx.zeros(3))": [1000.0, -1000.0, 0.0],
    "nn.losses.triplet_loss(x, x, x)": [1.0, 2.0, 3.0],
}


@pytest.mark.parametrize("source, point", FINITE.items())
def test_gradients_are_finite(source, point):
    """No infinity of a branch that is not taken leaks into a gradient."""
    gradient = mx.grad(lambda x: eval(source, {"x": x, "nn": nn, "mx": mx}).sum())(mx.array(point))
    assert np.isfinite(np.array(gradient, dtype=np.float32)).all()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_formula(reduction):
    """Against the definition in float64."""
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(5, 7)) * 10, rng.integers(0, 7, 5)
    log_p = z - np.log(np.exp(z).sum(1, keepdims=True))
    smooth = np.full((5, 7), 0.1 / 7)
    smooth[np.arange(5), y] += 0.9
    expected = -(smooth * log_p).sum(1)
    expected = {"none": expected, "mean": expected.mean(), "sum": expected.sum()}[reduction]
    logits = mx.array(z.astype(np.float32))
    for targets, smoothing in ((mx.array(y), 0.1), (mx.array(smooth.astype(np.float32)), 0.0)):
        loss = nn.losses.cross_entropy(
            logits, targets, label_smoothing=smoothing, reduction=reduction
        )
        np.testing.assert_allclose(np.array(loss), expected, rtol=1e-5)


@pytest.mark.parametrize("scale", [0.3, 0.5, 1.5, 2, 2.7])
def test_upsample_preserves(scale):
    """Constants stay constant in all modes, straight lines stay straight inside."""
    x = mx.broadcast_to(mx.arange(12.0).reshape(1, 12, 1), (1, 12, 1))
    for options in ({"mode": "nearest"}, {"mode": "linear"}, {"mode": "cubic"}):
        ones = nn.Upsample(scale, **options)(mx.ones((1, 12, 1)))
        np.testing.assert_allclose(np.array(ones), 1, rtol=1e-6)
        assert ones.shape == (1, int(12 * scale), 1)
    y = np.array(nn.Upsample(scale, "linear")(x)).ravel()
    inner = y[(y > 1e-3) & (y < 11 - 1e-3)]
    np.testing.assert_allclose(np.diff(inner), 1 / scale, rtol=1e-4)
    aligned = np.array(nn.Upsample(scale, "cubic", align_corners=True)(x)).ravel()
    assert aligned[0] == 0 and (len(aligned) == 1 or aligned[-1] == pytest.approx(11))


def test_quantize_model():
    """Layers are chosen by default, by predicate and by options for each."""
    mx.random.seed(0)

    def model():
        return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Embedding(8, 64), nn.Linear(32, 4))

    x, chosen = mx.random.normal((3, 64)), []
    net = model()
    exact = net.layers[0](x)

    def predicate(path, layer):
        chosen.append(path)
        return {"group_size": 32, "bits": 8} if path == "layers.0" else path == "layers.2"

    nn.quantize(net, class_predicate=predicate)
    assert chosen == ["layers.0", "layers.1", "layers.2", "layers.3"]
    kinds = [type(layer).__name__ for layer in net.layers]
    assert kinds == ["QuantizedLinear", "ReLU", "QuantizedEmbedding", "Linear"]
    assert (net.layers[0].bits, net.layers[2].bits) == (8, 4)
    assert mx.max(mx.abs(net.layers[0](x) - exact)).item() < 0.02
    assert sorted(path for path, _ in tree_flatten(net.trainable_parameters())) == [
        "layers.0.bias",
        "layers.3.bias",
        "layers.3.weight",
    ]
    assert net.layers[2](mx.array(3)).shape == (64,)
    plain = nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 64))
    nn.quantize(plain, group_size=32)
    assert all(isinstance(layer, nn.QuantizedLinear) for layer in plain.layers)


def test_quantised_input_layer_follows_the_mode():
    """QQLinear keeps floating weights to train and quantised ones to evaluate."""
    layer = nn.Linear(64, 8, bias=False).to_quantized(mode="nvfp4", quantize_input=True)
    assert isinstance(layer, nn.QQLinear) and layer.weight.dtype == mx.float32
    layer.eval()
    assert layer.weight.dtype == mx.uint32 and layer.scales.shape == (8, 4)
    assert (
        repr(layer) == "QQLinear(input_dims=64, output_dims=8, group_size=16, bits=4, mode=nvfp4)"
    )
    layer.train()
    assert layer.weight.shape == (8, 64) and "scales" not in layer
    with pytest.raises(NotImplementedError):
        nn.QQLinear.from_linear(nn.Linear(64, 8))


@pytest.mark.parametrize(
    "name, variance",
    [
        ("glorot_normal", 2 / 300),
        ("glorot_uniform", 2 / 300),
        ("he_normal", 1 / 200),
        ("he_uniform", 1 / 200),
        ("normal", 1.0),
        ("uniform", 1 / 12),
    ],
)
def test_initial_variance(name, variance):
    """20,000 numbers have the variance that the formula says."""
    mx.random.seed(0)
    values = np.array(getattr(nn.init, name)()(mx.zeros((100, 200))))
    assert values.var() == pytest.approx(variance, rel=0.05)


def test_orthogonal_and_sparse():
    """Rows are orthonormal up to the gain; each row has its share of zeros."""
    mx.random.seed(0)
    q = np.array(nn.init.orthogonal(2.0)(mx.zeros((5, 9))))
    np.testing.assert_allclose(q @ q.T, 4 * np.eye(5), atol=1e-5)
    values = np.array(nn.init.sparse(0.25)(mx.zeros((6, 8))))
    assert ((values == 0).sum(1) == 2).all()
    assert np.array_equal(np.array(nn.init.identity()(mx.zeros((3, 3)))), np.eye(3))
    assert nn.init.constant(2.0, mx.float16)(mx.zeros((2,))).dtype == mx.float16


def test_average_gradients_alone():
    """In a group of one nothing changes."""
    gradients = {"a": mx.ones((3,)), "b": [mx.zeros((2,))]}
    assert nn.average_gradients(gradients) is gradients
    clipped, norm = nn.utils.clip_grad_norm_sharded({"a": mx.ones(4)}, 1.0)
    assert norm.item() == 2 and clipped["a"].tolist() == pytest.approx([0.5] * 4)


EMPTY = {
    "nn.Embedding(5, 4)": [(0,), (2, 0)],
    "nn.QuantizedEmbedding(5, 64)": [(0,), (2, 0)],
    "nn.QuantizedEmbedding(5, 32, mode='mxfp4', group_size=32)": [(0,), (0, 3)],
    "nn.QuantizedLinear(64, 3)": [(0, 64), (2, 0, 64)],
    "nn.GroupNorm(2, 4)": [(0, 3, 4), (2, 0, 4), (0, 4)],
    "nn.GroupNorm(2, 4, pytorch_compatible=True)": [(0, 3, 4), (2, 0, 4), (0, 4)],
    "nn.InstanceNorm(4)": [(0, 3, 4)],
    "nn.LayerNorm(4)": [(0, 4), (2, 0, 4)],
    "nn.BatchNorm(4).eval()": [(0, 4), (0, 3, 4)],
    "nn.Conv2d(3, 4, 3)": [(0, 5, 6, 3)],
    "nn.ConvTranspose2d(3, 4, 3)": [(0, 5, 6, 3)],
    "nn.MaxPool2d(2)": [(0, 4, 6, 4)],
    "nn.AvgPool1d(3, 2)": [(0, 7, 4)],
    "nn.Upsample(2.0, mode='linear')": [(0, 3, 4, 4)],
    "nn.RNN(3, 4)": [(0, 5, 3), (2, 0, 3), (0, 3)],
    "nn.GRU(3, 4)": [(0, 5, 3), (2, 0, 3), (0, 3)],
    "nn.LSTM(3, 4)": [(0, 5, 3), (2, 0, 3), (0, 3)],
}


@pytest.mark.parametrize("source, shapes", EMPTY.items(), ids=EMPTY)
def test_an_empty_batch(source, shapes):
    """The shape is that of one element, with the length 0 where the input has it."""
    layer = eval(source, {"nn": nn})
    dtype = mx.int32 if "Embedding" in source else mx.float32
    for shape in shapes:
        outs, like = layer(mx.zeros(shape, dtype)), layer(mx.zeros([n or 1 for n in shape], dtype))
        if not isinstance(outs, tuple):
            outs, like = (outs,), (like,)
        for y, one in zip(outs, like, strict=True):
            at = shape.index(0)
            assert y.shape == (*one.shape[:at], 0, *one.shape[at + 1 :])
            assert y.dtype == one.dtype and y.tolist() is not None


@pytest.mark.parametrize("pytorch_compatible", [False, True])
def test_weights_of_group_norm_belong_to_its_last_step(pytorch_compatible):
    x = mx.random.normal((2, 3, 3, 8), key=mx.random.key(0))
    mx.eval(x)
    counts = []
    for affine in (False, True):
        layer = nn.GroupNorm(2, 8, affine=affine, pytorch_compatible=pytorch_compatible)
        mx.eval(layer.parameters())
        counts.append(len(mx._plan_steps(layer(x))))
    assert counts[0] == counts[1]
