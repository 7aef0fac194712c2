"""Cases of mlx.nn and mlx.optimizers, and what to compute for each.

Shared by the tests and by tests/golden/nn/make.py, which records what the published wheel
computes.  A case is a line of source; arrays in it come from `data`, so that no
random generator of the library is involved unless that is what a case is about.
"""

import zlib

import numpy as np

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim  # noqa: F401, used by the cases
from mlx.utils import tree_flatten, tree_map, tree_unflatten


def data(name, shape, scale=1.0):
    """Normal numbers that depend on the name and the shape alone."""
    random = np.random.RandomState(zlib.crc32(repr((name, tuple(shape))).encode()))
    return (scale * random.randn(*shape)).astype(np.float32)


# Layers: source, then the shapes of the inputs ("i" marks indices below 5).
LAYERS = """
nn.Identity(3) | 2,3
nn.Linear(4, 3) | 2,5,4
nn.Linear(4, 3, bias=False) | 4
nn.Bilinear(2, 3, 4) | 5,2 | 5,3
nn.Bilinear(2, 3, 4, bias=False) | 2 | 3
nn.Embedding(5, 4) | i3,2
nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1)) | 6,4
nn.Conv1d(4, 6, 3) | 2,9,4
nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=False) | 2,9,4
nn.Conv2d(4, 6, 3, padding=1) | 2,5,6,4
nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2) | 2,7,6,4
nn.Conv3d(2, 3, (2, 3, 1), stride=(1, 2, 1), padding=1) | 1,3,5,2,2
nn.ConvTranspose1d(4, 3, 3, stride=2, padding=1, output_padding=1) | 2,5,4
nn.ConvTranspose2d(4, 3, (3, 2), stride=(2, 1), dilation=(1, 2)) | 2,3,4,4
nn.ConvTranspose3d(2, 3, 2, stride=2, bias=False) | 1,2,3,2,2
nn.MaxPool1d(2) | 2,6,3
nn.MaxPool1d(3, stride=2, padding=1) | 2,7,3
nn.MaxPool2d(2) | 2,4,6,3
nn.MaxPool2d((3, 2), stride=(2, 1), padding=(1, 0)) | 2,5,6,3
nn.MaxPool3d(2, stride=1) | 1,3,4,3,2
nn.AvgPool1d(3, stride=1, padding=1) | 2,7,3
nn.AvgPool2d(2) | 2,4,7,3
nn.AvgPool2d(3, stride=2, padding=1) | 2,5,6,3
nn.AvgPool3d((1, 2, 2)) | 1,2,4,4,2
nn.LayerNorm(6) | 2,3,6
nn.LayerNorm(6, eps=1e-2, bias=False) | 4,6
nn.LayerNorm(6, affine=False) | 4,6
nn.RMSNorm(6) | 2,3,6
nn.GroupNorm(2, 6) | 3,4,6
nn.GroupNorm(2, 6) | 3,6
nn.GroupNorm(3, 6, pytorch_compatible=True) | 2,3,4,6
nn.GroupNorm(3, 6, affine=False, pytorch_compatible=True) | 2,6
nn.InstanceNorm(4) | 2,5,4
nn.InstanceNorm(4, affine=True) | 2,3,5,4
nn.BatchNorm(4) | 5,4
nn.BatchNorm(4, momentum=0.3, affine=False) | 2,3,4
nn.BatchNorm(4, track_running_stats=False) | 2,3,3,4
nn.BatchNorm(4).eval() | 5,4
nn.Dropout(0.5).eval() | 5,4
nn.RoPE(6) | 2,5,6
nn.RoPE(4, traditional=True, base=100.0, scale=0.5) | 2,2,5,6
nn.SinusoidalPositionalEncoding(6) | 2,3
nn.SinusoidalPositionalEncoding(8, 1e-3, 2, scale=2.0, cos_first=True, full_turns=True) | 4
nn.ALiBi() | 1,6,4,4
nn.MultiHeadAttention(8, 2) | 2,3,8 | 2,5,8 | 2,5,8
nn.MultiHeadAttention(8, 2, 3, 5, 6, 10, 7, bias=True) | 2,3,3 | 2,4,5 | 2,4,6
nn.MultiHeadAttention(8, 4) | 2,5,8 | 2,5,8 | 2,5,8 | 5,5
nn.TransformerEncoderLayer(8, 2) | 2,3,8 | 3,3
nn.TransformerEncoderLayer(8, 2, mlp_dims=5, activation=nn.gelu, norm_first=False) | 2,3,8 | 3,3
nn.TransformerDecoderLayer(8, 2) | 2,3,8 | 2,4,8 | 3,3 | 3,4
nn.TransformerDecoderLayer(8, 2, norm_first=False) | 2,3,8 | 2,4,8 | 3,3 | 3,4
nn.TransformerEncoder(2, 8, 2, checkpoint=True) | 2,3,8 | 3,3
nn.TransformerDecoder(1, 8, 2, norm_first=False) | 2,3,8 | 2,4,8 | 3,3 | 3,4
nn.Transformer(8, 2, 1, 1, mlp_dims=6) | 2,4,8 | 2,3,8 | 4,4 | 3,3 | 3,4
nn.RNN(3, 4) | 2,5,3
nn.RNN(3, 4, bias=False, nonlinearity=nn.relu) | 5,3 | 4
nn.GRU(3, 4) | 2,5,3
nn.GRU(3, 4) | 2,5,3 | 2,4
nn.GRU(3, 4, bias=False) | 5,3 | 4
nn.LSTM(3, 4) | 2,5,3
nn.LSTM(3, 4, bias=False) | 5,3 | 4 | 4
nn.Upsample(2) | 1,3,2,2
nn.Upsample(1.7) | 2,7,2
nn.Upsample(0.6) | 2,8,2
nn.Upsample((2, 1.5), mode="linear") | 1,3,4,2
nn.Upsample(2, mode="linear", align_corners=True) | 1,3,4,2
nn.Upsample(0.4, mode="linear", antialias=True) | 1,8,9,2
nn.Upsample(2, mode="cubic") | 1,3,4,2
nn.Upsample((0.5, 3), mode="cubic", align_corners=True) | 1,6,4,2
nn.Upsample(0.4, mode="cubic", antialias=True) | 1,8,9,2
nn.CELU(0.7) | 4,5
nn.ELU(1.3) | 4,5
nn.GELU() | 4,5
nn.GELU("precise") | 4,5
nn.GELU("tanh") | 4,5
nn.GELU("fast") | 4,5
nn.GLU() | 4,6
nn.GLU(axis=0) | 4,6
nn.HardShrink(0.3) | 4,5
nn.HardTanh() | 4,5
nn.Hardswish() | 4,5
nn.LeakyReLU(0.2) | 4,5
nn.LogSigmoid() | 4,5
nn.LogSoftmax() | 4,5
nn.Mish() | 4,5
nn.PReLU() | 4,5
nn.PReLU(5) | 4,5
nn.ReLU() | 4,5
nn.ReLU2() | 4,5
nn.ReLU6() | 4,5
nn.SELU() | 4,5
nn.SiLU() | 4,5
nn.Sigmoid() | 4,5
nn.Softmax() | 4,5
nn.Softmin() | 4,5
nn.Softplus() | 4,5
nn.Softshrink(0.3) | 4,5
nn.Softsign() | 4,5
nn.Step(0.1) | 4,5
nn.Tanh() | 4,5
nn.QuantizedLinear(64, 3) | 2,64
nn.Linear(64, 3).to_quantized(32, 8) | 2,64
nn.Linear(64, 3, bias=False).to_quantized(mode="mxfp4") | 2,64
nn.Embedding(5, 64).to_quantized() | i3,2
nn.Embedding(5, 64).to_quantized(32, 8) | i4
nn.AllToShardedLinear(4, 3) | 2,4
nn.ShardedToAllLinear(4, 3, bias=False) | 2,4
nn.FullyShardedModule(nn.Linear(4, 3)) | 2,4
""".strip().splitlines()

# Losses of a and b (4, 3); p and q are probabilities, v positive, i indices below 3, s signs.
LOSSES = """
cross_entropy(a, i)
cross_entropy(a, i, reduction="mean")
cross_entropy(a, q, reduction="sum")
cross_entropy(a, i, weights=v[:, 0], label_smoothing=0.2)
cross_entropy(a, q, label_smoothing=0.1)
cross_entropy(a, i[:3], axis=0)
cross_entropy(a, mx.abs(b), axis=0)
binary_cross_entropy(a, p)
binary_cross_entropy(a, p, weights=v, reduction="none")
binary_cross_entropy(mx.sigmoid(a), p, with_logits=False, reduction="sum")
l1_loss(a, b)
mse_loss(a, b)
mse_loss(a, b, reduction="none")
nll_loss(a, i)
nll_loss(a, i[:3], axis=0, reduction="mean")
gaussian_nll_loss(a, b, v)
gaussian_nll_loss(a, b, v, full=True, reduction="none")
kl_div_loss(mx.log(mx.softmax(a)), mx.log(p))
kl_div_loss(a, b, axis=0, reduction="mean")
smooth_l1_loss(a, b)
smooth_l1_loss(a, b, beta=0.3, reduction="none")
huber_loss(a, b)
huber_loss(a, b, delta=0.3, reduction="mean")
log_cosh_loss(20 * a, b)
hinge_loss(a, s)
cosine_similarity_loss(a, b)
cosine_similarity_loss(a, b, axis=0, eps=3.0, reduction="sum")
margin_ranking_loss(a, b, s)
margin_ranking_loss(a, b, s, margin=0.5, reduction="mean")
triplet_loss(a, b, p)
triplet_loss(a, b, p, axis=0, p=3, margin=0.2, reduction="sum")
""".strip().splitlines()

OPTIMIZERS = """
SGD(0.1)
SGD(0.1, momentum=0.9)
SGD(0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
SGD(0.1, momentum=0.9, dampening=0.2)
SGD(optim.cosine_decay(0.1, 3))
RMSprop(0.01)
RMSprop(0.01, alpha=0.9, eps=1e-3)
Adagrad(0.1)
AdaDelta(1.0)
AdaDelta(1.0, rho=0.8, eps=1e-3)
Adam(0.1)
Adam(0.1, betas=[0.8, 0.9], eps=1e-4, bias_correction=True)
AdamW(0.1)
AdamW(optim.linear_schedule(0.0, 0.1, 3), weight_decay=0.1, bias_correction=True)
Adamax(0.1)
Lion(0.1)
Lion(0.1, betas=[0.8, 0.9], weight_decay=0.1)
Adafactor()
Adafactor(warmup_init=True)
Adafactor(0.1, relative_step=False, scale_parameter=False, beta_1=0.9, weight_decay=0.1)
Muon(0.1)
Muon(0.1, weight_decay=0.0, nesterov=False, ns_steps=3)
MultiOptimizer([optim.SGD(0.1), optim.Adam(0.1)], [lambda path, x: x.ndim > 1])
""".strip().splitlines()

# Initialisers and layers whose random parameters follow from the seed.
RANDOM = """
nn.init.uniform(-1, 2)(mx.zeros((3, 4)))
nn.init.normal(0.5, 2)(mx.zeros((3, 4)))
nn.init.glorot_uniform()(mx.zeros((3, 5, 4)), 2.0)
nn.init.glorot_normal()(mx.zeros((3, 4)))
nn.init.he_uniform()(mx.zeros((3, 4)), "fan_out")
nn.init.he_normal()(mx.zeros((3, 2, 4)), gain=0.5)
nn.init.sparse(0.4)(mx.zeros((4, 6)))
nn.init.orthogonal(2.0)(mx.zeros((4, 6)))
nn.Linear(4, 3)
nn.Bilinear(2, 3, 4)
nn.Embedding(5, 4)
nn.Conv1d(4, 6, 3, groups=2)
nn.Conv2d(4, 6, (3, 2))
nn.Conv3d(2, 3, 2)
nn.ConvTranspose2d(4, 3, 2)
nn.RNN(3, 4)
nn.GRU(3, 4)
nn.LSTM(3, 4)
nn.MultiHeadAttention(8, 2, bias=True)
nn.TransformerEncoderLayer(8, 2)
nn.QuantizedLinear(64, 3)
nn.Dropout(0.4)(mx.ones((4, 5)))
nn.Dropout2d(0.4)(mx.ones((2, 3, 2, 4)))
nn.Dropout3d(0.4)(mx.ones((2, 2, 3, 2, 4)))
""".strip().splitlines()


def numpy_leaves(tree, prefix):
    """The arrays of a tree by path, as NumPy arrays (bfloat16 as float32)."""
    return {
        f"{prefix}.{path}": np.array(x.astype(mx.float32) if x.dtype == mx.bfloat16 else x)
        for path, x in tree_flatten(tree)
        if isinstance(x, mx.array)
    }


def _fixed_parameters(model):
    """Replace the floating parameters of a layer by numbers that do not depend on a generator."""

    def value(path, x):
        fixed = data(path, x.shape, 0.4)
        return mx.array(np.abs(fixed) + 0.5 if path.endswith("running_var") else fixed)

    fixed = [
        (path, value(path, x) if x.dtype == mx.float32 else x)
        for path, x in tree_flatten(model.parameters())
    ]
    return model.update(tree_unflatten(fixed)) if fixed else model


def _quantizes(source):
    return "uantized" in source


def _inputs(shapes):
    arrays = []
    for k, text in enumerate(shapes):
        shape = tuple(map(int, text.strip().lstrip("i").split(",")))
        indices = text.strip().startswith("i")
        arrays.append(
            mx.array(np.arange(np.prod(shape)).reshape(shape) * 7 % 5)
            if indices
            else mx.array(data(k, shape))
        )
    return arrays


def _weighted_sum(outputs):
    """A scalar whose gradient differs from element to element."""
    total = mx.array(0.0)
    for _, y in tree_flatten(outputs):
        if mx.issubdtype(y.dtype, mx.floating):
            total = total + (y.flatten() * mx.cos(mx.arange(y.size))).sum()
    return total


def run_layer(line):
    """Output, changed parameters and gradients of a layer; repr and shapes as text."""
    source, *shapes = line.split(" | ")
    mx.random.seed(0)
    layer = eval(source)
    text = {
        "repr": repr(layer) if "nonlinearity" not in repr(layer) else "",
        "shapes": {path: list(x.shape) for path, x in tree_flatten(layer.parameters())},
        "trainable": sorted(path for path, _ in tree_flatten(layer.trainable_parameters())),
    }
    if not _quantizes(source):
        _fixed_parameters(layer)
    inputs = _inputs(shapes)
    if isinstance(layer, (nn.TransformerEncoder, nn.TransformerEncoderLayer)) and len(inputs) < 2:
        inputs.append(None)
    results = numpy_leaves(layer(*inputs), "output")
    results.update(numpy_leaves(layer.parameters(), "after") if not _quantizes(source) else {})
    differentiable = [k for k, x in enumerate(inputs) if mx.issubdtype(x.dtype, mx.floating)]
    names = {path for path in text["trainable"]}

    def loss(parameters, chosen):
        layer.update(parameters)
        given = list(inputs)
        for k, x in zip(differentiable, chosen, strict=True):
            given[k] = x
        return _weighted_sum(layer(*given))

    if names or differentiable:
        arguments = (layer.trainable_parameters(), [inputs[k] for k in differentiable])
        wanted = [i for i, part in enumerate((names, differentiable)) if part]
        gradients = mx.grad(loss, argnums=wanted)(*arguments)
        for i, tree in zip(wanted, gradients if len(wanted) > 1 else [gradients], strict=True):
            results.update(numpy_leaves(tree, ("gradient", "input_gradient")[i]))
    return results, text


def run_loss(line):
    """Value of a loss and its gradient with respect to a."""
    a, b = (mx.array(data(name, (4, 3))) for name in "ab")
    names = {
        "a": a,
        "b": b,
        "mx": mx,
        "nn": nn,
        "i": mx.array([0, 2, 1, 1]),
        "s": mx.sign(mx.array(data("s", (4, 3)))),
    }
    names["p"], names["q"], names["v"] = mx.sigmoid(b), mx.softmax(b, axis=-1), mx.abs(b) + 0.1

    def loss(x):
        return eval("nn.losses." + line, {**names, "a": x})

    gradient = mx.grad(lambda x: _weighted_sum(loss(x)))(a)
    return {"value": np.array(loss(a)), "gradient": np.array(gradient)}, {}


def run_optimizer(line, steps=4):
    """Parameters and state after some steps."""
    shapes = {"weight": (4, 3), "layers": [{"bias": (3,)}], "kernel": (2, 3, 2, 2)}

    def tree(name, scale):
        return tree_map(
            lambda shape: mx.array(data(name, shape, scale)),
            shapes,
            is_leaf=lambda x: isinstance(x, tuple),
        )

    optimizer = eval("optim." + line)
    parameters = tree("start", 1.0)
    for k in range(steps):
        parameters = optimizer.apply_gradients(tree(k, 0.5), parameters)
    return numpy_leaves(parameters, "parameter") | numpy_leaves(optimizer.state, "state"), {}


def run_random(line):
    """The numbers of the generator after seeding it."""
    mx.random.seed(42)
    value = eval(line)
    return numpy_leaves(value.parameters() if isinstance(value, nn.Module) else value, "value"), {}


SECTIONS = {
    "layers": (LAYERS, run_layer),
    "losses": (LOSSES, run_loss),
    "optimizers": (OPTIMIZERS, run_optimizer),
    "random": (RANDOM, run_random),
}
