"""Times of many single operations on a GPU, here and in PyTorch: shapes and dtypes of every kind.

    PYTHONPATH=build/python python tests/peers/gpu_more_vs_torch.py [PATTERNS]

In a Python with torch. The rows of `gpu_vs_torch.py` are the work that models do most; these rows
find other kinds of work that are slow. Prints the same columns.
"""

import gpu_vs_torch as table
import torch
import torch.nn.functional as F
from gpu_vs_torch import DEVICE, both, main, row

import mlx.core as mx
from mlx import nn

table.ROWS.clear()
table.DTYPES |= {"f16": (mx.float16, torch.float16), "i32": (mx.int32, torch.int32)}
table.DTYPES |= {"i64": (mx.int64, torch.int64), "u8": (mx.uint8, torch.uint8)}


def same(name, function, *shapes, dtypes=("bf16", "f32")):
    """A row for each dtype: one expression of `xp` on inputs of the shapes."""
    for dtype in dtypes:

        def make(inputs, dtype=dtype):
            scale = 1.0 if dtype[0] in "bf" else 100.0
            return both(function, *(inputs(*s, dtype=dtype, scale=scale) for s in shapes))

        row(f"{name}, {dtype}")(make)


def pair(name, ours, theirs, *shapes, dtypes=("bf16", "f32")):
    """A row for each dtype: two functions of inputs of the shapes."""
    for dtype in dtypes:

        def make(inputs, dtype=dtype):
            mine, others = zip(*(inputs(*s, dtype=dtype) for s in shapes), strict=True)
            return lambda: ours(*mine), lambda: theirs(*others)

        row(f"{name}, {dtype}")(make)


BIG = (8192, 8192)

# --- elements
for name in ("exp", "sin", "tanh", "sqrt", "log1p", "erf", "sigmoid"):
    same(f"{name} of 64 M", lambda xp, a, n=name: getattr(xp, n)(a), BIG)
same("a + b of 64 M", lambda xp, a, b: a + b, BIG, BIG, dtypes=("bf16", "f32", "i32", "u8"))
same("a * row + column", lambda xp, a, r, c: a * r + c, BIG, (8192,), (8192, 1))
same("a > b, where", lambda xp, a, b: xp.where(a > b, a, b), BIG, BIG)
same("transpose, copied", lambda xp, a: (a.T if xp is mx else a.T.contiguous()) + 0, BIG)
pair("cast to float32", lambda a: a.astype(mx.float32), lambda a: a.float(), BIG, dtypes=("bf16",))
pair(
    "cast to bfloat16",
    lambda a: a.astype(mx.bfloat16),
    lambda a: a.bfloat16(),
    BIG,
    dtypes=("f32",),
)
pair(
    "permuted (0, 2, 1, 3), copied",
    lambda a: mx.contiguous(a.transpose(0, 2, 1, 3)),
    lambda a: a.permute(0, 2, 1, 3).contiguous(),
    (16, 2048, 16, 128),
)
pair(
    "concatenated on the last axis",
    lambda a, b: mx.concatenate([a, b], -1),
    lambda a, b: torch.cat([a, b], -1),
    (8192, 4096),
    (8192, 4096),
)
pair("padded by 1", lambda a: mx.pad(a, 1), lambda a: F.pad(a, (1, 1, 1, 1)), BIG)
pair("SiLU times gate", lambda a, b: nn.silu(a) * b, lambda a, b: F.silu(a) * b, BIG, BIG)
pair("every second column", lambda a: a[:, ::2] + 0, lambda a: a[:, ::2] + 0, BIG)
pair("rolled", lambda a: mx.roll(a, 5, 1), lambda a: torch.roll(a, 5, 1), BIG)

# --- reductions
for axis in (None, 0, 1):
    pair(
        f"sum of 8192^2, axis {axis}",
        lambda a, x=axis: mx.sum(a, x),
        lambda a, x=axis: torch.sum(a, x) if x is not None else torch.sum(a),
        BIG,
    )
pair("sum of columns, 3 M x 64", lambda a: mx.sum(a, 0), lambda a: torch.sum(a, 0), (3 << 20, 64))
pair(
    "sum of columns, 200 K x 512", lambda a: mx.sum(a, 0), lambda a: torch.sum(a, 0), (200000, 512)
)
pair("sum of rows of 16", lambda a: mx.sum(a, -1), lambda a: torch.sum(a, -1), (4 << 20, 16))
pair("middle axis", lambda a: mx.sum(a, 1), lambda a: torch.sum(a, 1), (64, 1024, 1024))
pair(
    "mean of (0, 2, 3)",
    lambda a: mx.mean(a, (0, 2, 3)),
    lambda a: a.mean((0, 2, 3)),
    (64, 64, 112, 112),
)
pair("max of all", lambda a: mx.max(a), lambda a: torch.max(a), BIG)
pair("max of columns", lambda a: mx.max(a, 0), lambda a: torch.amax(a, 0), BIG)
pair("argmax of rows", lambda a: mx.argmax(a, -1), lambda a: torch.argmax(a, -1), (4096, 32768))
pair("argmax of columns", lambda a: mx.argmax(a, 0), lambda a: torch.argmax(a, 0), BIG)
pair("variance of columns", lambda a: mx.var(a, 0), lambda a: torch.var(a, 0), (65536, 1024))
pair(
    "logsumexp of rows",
    lambda a: mx.logsumexp(a, -1),
    lambda a: torch.logsumexp(a, -1),
    (8192, 32768 // 4),
)
pair("norm of all", lambda a: mx.linalg.norm(a), lambda a: torch.linalg.norm(a), BIG)
pair("all finite", lambda a: mx.all(mx.isfinite(a)), lambda a: torch.isfinite(a).all(), BIG)
pair(
    "cumsum of rows",
    lambda a: mx.cumsum(a, -1),
    lambda a: torch.cumsum(a, -1),
    (8192, 4096),
    dtypes=("bf16", "f32", "i32"),
)
pair("cumsum of columns", lambda a: mx.cumsum(a, 0), lambda a: torch.cumsum(a, 0), (8192, 4096))
pair("cumsum of 32 M", lambda a: mx.cumsum(a), lambda a: torch.cumsum(a, 0), (1 << 25,))

# --- rows
pair(
    "softmax of rows of 32 K",
    lambda a: mx.softmax(a, -1),
    lambda a: torch.softmax(a, -1),
    (2048, 32768),
)
pair(
    "softmax of rows of 64",
    lambda a: mx.softmax(a, -1),
    lambda a: torch.softmax(a, -1),
    (1 << 20, 64),
)
pair("softmax of columns", lambda a: mx.softmax(a, 0), lambda a: torch.softmax(a, 0), (4096, 8192))


def layer_norms(width):
    """Functions of rows, weights and biases, ours and PyTorch's."""
    return (
        lambda a, w, b: mx.fast.layer_norm(a, w, b, 1e-5),
        lambda a, w, b: F.layer_norm(a, (width,), w, b),
    )


def rms_norms(width):
    """Functions of rows and weights, ours and PyTorch's."""
    return (
        lambda a, w: mx.fast.rms_norm(a, w, 1e-5),
        lambda a, w: F.rms_norm(a, (width,), w, 1e-5),
    )


pair("layer norm, 32768 x 2048", *layer_norms(2048), (32768, 2048), (2048,), (2048,))
pair("RMS norm, 32768 x 4096", *rms_norms(4096), (32768, 4096), (4096,))


def gradient(function):
    """The derivative of a sum of squares with respect to each argument."""
    return lambda *args: torch.autograd.grad(
        (function(*(x := [a.detach().requires_grad_() for a in args])) ** 2).sum(), x
    )


def ours_gradient(function):
    """The same here."""
    return lambda *args: mx.grad(lambda *x: mx.sum(function(*x) ** 2), tuple(range(len(args))))(
        *args
    )


def derivative(name, ours, theirs, *shapes, dtypes=("bf16", "f32")):
    """A row of derivatives for each dtype."""
    pair(name, ours_gradient(ours), gradient(theirs), *shapes, dtypes=dtypes)


derivative(
    "softmax with derivative",
    lambda a: mx.softmax(a, -1),
    lambda a: torch.softmax(a, -1),
    (16384, 2048),
)
derivative("layer norm with derivative", *layer_norms(2048), (16384, 2048), (2048,), (2048,))
derivative("RMS norm with derivative", *rms_norms(2048), (16384, 2048), (2048,))


@row("cross entropy, 8192 x 32768, bf16")
def _(inputs):
    (a, b), (i, j) = inputs(8192, 32768), inputs.integers(32768, 8192)
    return (lambda: mx.mean(nn.losses.cross_entropy(a, i))), lambda: F.cross_entropy(b, j)


@row("cross entropy with derivative, 8192 x 32768, bf16")
def _(inputs):
    (a, b), (i, j) = inputs(8192, 32768), inputs.integers(32768, 8192)
    b = b.requires_grad_()
    step = mx.grad(lambda a: mx.mean(nn.losses.cross_entropy(a, i)))
    return (lambda: step(a)), lambda: torch.autograd.grad(F.cross_entropy(b, j), b)


@row("embedding with derivative, 32000 x 1024 at 16384, bf16")
def _(inputs):
    (a, b), (i, j) = inputs(32000, 1024), inputs.integers(32000, 16384)
    b = b.requires_grad_()
    step = mx.grad(lambda a: mx.sum(a[i] * 2))
    return (lambda: step(a)), lambda: torch.autograd.grad((F.embedding(j, b) * 2).sum(), b)


# --- indices, sorts, selections
@row("take_along_axis, 8192^2, f32")
def _(inputs):
    (a, b), (i, j) = inputs(*BIG, dtype="f32"), inputs.integers(8192, 8192, 4096)
    return (lambda: mx.take_along_axis(a, i, 1)), lambda: torch.take_along_dim(b, j, 1)


@row("columns at 4096 indices, f32")
def _(inputs):
    (a, b), (i, j) = inputs(*BIG, dtype="f32"), inputs.integers(8192, 4096)
    return (lambda: mx.take(a, i, 1)), lambda: torch.index_select(b, 1, j)


@row("4 M single elements, f32")
def _(inputs):
    (a, b), (i, j) = inputs(1 << 26, dtype="f32"), inputs.integers(1 << 26, 4 << 20)
    return (lambda: a[i]), lambda: b[j]


@row("scatter of 4 M single elements, f32")
def _(inputs):
    (a, b), (i, j) = inputs(1 << 24, dtype="f32"), inputs.integers(1 << 24, 4 << 20)
    u, v = inputs(4 << 20, dtype="f32")
    return (lambda: a.at[i].add(u)), lambda: b.index_add(0, j, v)


@row("histogram: add ones at 4 M of 256, f32")
def _(inputs):
    i, j = inputs.integers(256, 4 << 20)
    u, v = mx.ones((4 << 20,)), torch.ones(4 << 20, device=DEVICE)
    zero = torch.zeros(256, device=DEVICE)
    return (lambda: mx.zeros((256,)).at[i].add(u)), lambda: zero.index_add(0, j, v)


@row("elements of a mask, 16 M, f32")
def _(inputs):
    a, b = inputs(1 << 24, dtype="f32")
    return (lambda: mx.nonzero(a > 0) if hasattr(mx, "nonzero") else a), lambda: torch.nonzero(
        b > 0
    )


pair(
    "sort of 16 M", lambda a: mx.sort(a), lambda a: torch.sort(a), (1 << 24,), dtypes=("f32", "i32")
)
pair(
    "argsort of 4096 x 4096",
    lambda a: mx.argsort(a, -1),
    lambda a: torch.argsort(a, -1),
    (4096, 4096),
)
pair("sort of columns", lambda a: mx.sort(a, 0), lambda a: torch.sort(a, 0), (4096, 4096))
pair("topk 50 of 128 K", lambda a: mx.topk(a, 50), lambda a: torch.topk(a, 50, -1), (32, 131072))
pair(
    "median of rows",
    lambda a: mx.median(a, -1),
    lambda a: torch.median(a, -1),
    (4096, 4096),
    dtypes=("f32",),
)
pair(
    "unique of 4 M", lambda a: mx.unique(a), lambda a: torch.unique(a), (4 << 20,), dtypes=("i32",)
)

# --- random
row("64 M uniform numbers, f32")(
    lambda inputs: (
        (lambda: mx.random.uniform(shape=(1 << 26,))),
        lambda: torch.rand(1 << 26, device=DEVICE),
    )
)
pair("dropout of 64 M", nn.Dropout(0.5), lambda a: F.dropout(a, 0.5), BIG, dtypes=("bf16",))
pair(
    "categorical of 4096 x 32768",
    mx.random.categorical,
    lambda a: torch.multinomial(torch.softmax(a, -1), 1),
    (4096, 32768),
    dtypes=("f32",),
)
row("permutation of 16 M")(
    lambda inputs: (
        (lambda: mx.random.permutation(1 << 24)),
        lambda: torch.randperm(1 << 24, device=DEVICE),
    )
)

# --- products
for shape in (
    (512,) * 3,
    (1024,) * 3,
    (2048,) * 3,
    (1000, 1001, 999),
    (8192, 64, 8192),
    (64, 8192, 8192),
):
    m, k, n = shape
    same(
        f"product {m} x {k} x {n}",
        lambda xp, a, b: a @ b,
        (m, k),
        (k, n),
        dtypes=("bf16", "f16", "f32"),
    )
same("a.T @ b, 4096^3", lambda xp, a, b: a.T @ b, (4096, 4096), (4096, 4096), dtypes=("bf16",))
same("512 products of 128^3", lambda xp, a, b: a @ b, (512, 128, 128), (512, 128, 128))
same("4096 products of 16^3", lambda xp, a, b: a @ b, (4096, 16, 16), (4096, 16, 16))
same("vector by 8192^2", lambda xp, a, b: a @ b, (8192,), BIG)
same("8192^2 by vector", lambda xp, a, b: a @ b, BIG, (8192,))
same(
    "bqhd,bkhd->bhqk",
    lambda xp, a, b: xp.einsum("bqhd,bkhd->bhqk", a, b),
    (4, 1024, 16, 64),
    (4, 1024, 16, 64),
)
same("outer product 8192", lambda xp, a, b: xp.outer(a, b), (8192,), (8192,))


# --- convolutions
def conv(name, ours, theirs, x, w, **more):
    """A convolution, channels last here and first there."""

    def make(inputs, derivative):
        (a, b), (c, d) = inputs(*x), inputs(*w, scale=0.05)
        last = len(x) - 1
        b, d = (t.movedim(last, 1) for t in (b, d))
        if len(x) == 4:
            d = d.contiguous(memory_format=torch.channels_last)
        f, g = (lambda a, c: ours(a, c, **more)), lambda b, d: theirs(b, d, **more)
        if derivative:
            f, g = ours_gradient(f), gradient(g)
        return (lambda: f(a, c)), lambda: g(b, d)

    row(f"{name}, bf16")(lambda inputs: make(inputs, False))
    row(f"{name} with derivatives, bf16")(lambda inputs: make(inputs, True))


conv("conv1d 5, 64 x 2048 x 256", mx.conv1d, F.conv1d, (64, 2048, 256), (256, 5, 256), padding=2)
conv("conv2d 1x1, 64 x 28^2 x 512", mx.conv2d, F.conv2d, (64, 28, 28, 512), (512, 1, 1, 512))
conv(
    "conv2d 7x7 / 2 of images",
    mx.conv2d,
    F.conv2d,
    (64, 224, 224, 3),
    (64, 7, 7, 3),
    stride=2,
    padding=3,
)
conv(
    "conv2d 3x3 / 2", mx.conv2d, F.conv2d, (64, 56, 56, 128), (128, 3, 3, 128), stride=2, padding=1
)
conv("depthwise 3x3", mx.conv2d, F.conv2d, (64, 56, 56, 128), (128, 3, 3, 1), padding=1, groups=128)
conv("conv3d 3x3x3", mx.conv3d, F.conv3d, (8, 16, 56, 56, 32), (32, 3, 3, 3, 32), padding=1)


@row("conv_transpose2d 4x4 / 2, bf16")
def _(inputs):
    (a, b), (w, v) = inputs(32, 32, 32, 256), inputs(128, 4, 4, 256, scale=0.05)
    b, v = b.permute(0, 3, 1, 2), v.permute(3, 0, 1, 2)
    return (
        lambda: mx.conv_transpose2d(a, w, stride=2, padding=1),
        lambda: F.conv_transpose2d(b, v, stride=2, padding=1),
    )


@row("max pool 2x2, 64 x 112^2 x 64, bf16")
def _(inputs):
    a, b = inputs(64, 112, 112, 64)
    pool, b = nn.MaxPool2d(2), b.permute(0, 3, 1, 2)
    return (lambda: pool(a)), lambda: F.max_pool2d(b, 2)


@row("batch norm in training, 64 x 56^2 x 256, bf16")
def _(inputs):
    a, b = inputs(64, 56, 56, 256)
    norm, theirs = nn.BatchNorm(256), torch.nn.BatchNorm2d(256).to(DEVICE, torch.bfloat16)
    norm.set_dtype(mx.bfloat16)
    b = b.permute(0, 3, 1, 2)
    return (lambda: (norm(a), norm.running_mean, norm.running_var)), lambda: theirs(b)


@row("group norm, 32 x 64^2 x 256, bf16")
def _(inputs):
    a, b = inputs(32, 64, 64, 256)
    norm, theirs = nn.GroupNorm(32, 256, pytorch_compatible=True), torch.nn.GroupNorm(32, 256)
    norm.set_dtype(mx.bfloat16)
    theirs, b = theirs.to(DEVICE, torch.bfloat16), b.permute(0, 3, 1, 2).contiguous()
    return (lambda: norm(a)), lambda: theirs(b)


@row("upsampled twice, nearest, 32 x 64^2 x 128, bf16")
def _(inputs):
    a, b = inputs(32, 64, 64, 128)
    up, b = nn.Upsample(2.0), b.permute(0, 3, 1, 2)
    return (lambda: up(a)), lambda: F.interpolate(b, scale_factor=2)


# --- attention and recurrent layers
for heads, kv, length, d in (
    (16, 16, 512, 64),
    (16, 16, 1000, 80),
    (32, 4, 4096, 128),
    (8, 8, 2048, 256),
):
    for dtype in ("bf16", "f16"):

        def make(inputs, heads=heads, kv=kv, length=length, d=d, dtype=dtype):
            return table.attention(2, heads, kv, length, length, d, True, dtype=dtype)(inputs)

        row(f"causal attention 2 x {heads} on {kv} x {length} x {d}, {dtype}")(make)
row("attention f32 exact heads 4 x 16 x 1024 x 64")(
    table.attention(4, 16, 16, 1024, 1024, 64, dtype="f32")
)
row("attention with derivative f32, 4 x 16 x 1024 x 64")(
    table.attention(4, 16, 16, 1024, 1024, 64, derivative=True, dtype="f32")
)
row("attention with derivative, 2 x 32 on 8 x 2048 x 128, causal, bf16")(
    table.attention(2, 32, 8, 2048, 2048, 128, True, derivative=True)
)


@row("RoPE, 8 x 32 x 2048 x 128, bf16")
def _(inputs):
    a, b = inputs(8, 32, 2048, 128)
    angles = torch.arange(2048, device=DEVICE)[:, None] * 10000.0 ** (
        -torch.arange(0, 64, device=DEVICE) / 64
    )
    cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()

    def theirs(b):
        x, y = b[..., :64], b[..., 64:]
        return torch.cat([x * cos - y * sin, y * cos + x * sin], -1)

    return (
        lambda: mx.fast.rope(a, 128, traditional=False, base=10000.0, scale=1.0, offset=0),
        lambda: theirs(b),
    )


@row("LSTM, 32 x 256 x 512, f32")
def _(inputs):
    a, b = inputs(32, 256, 512, dtype="f32")
    layer, theirs = nn.LSTM(512, 512), torch.nn.LSTM(512, 512, batch_first=True).to(DEVICE)
    return (lambda: layer(a)), lambda: theirs(b)


# --- transforms and linear algebra
for shape in ((64, 1 << 16), (1 << 22,)):
    pair(
        f"FFT of {shape}",
        lambda a: mx.fft.fft(a),
        lambda a: torch.fft.fft(a),
        shape,
        dtypes=("f32",),
    )
pair(
    "rfft of 4096 x 4096",
    lambda a: mx.fft.rfft(a),
    lambda a: torch.fft.rfft(a),
    (4096, 4096),
    dtypes=("f32",),
)
pair(
    "singular values of 64 x 64^2",
    lambda a: mx.linalg.svd(a, compute_uv=False),
    lambda a: torch.linalg.svdvals(a),
    (64, 64, 64),
    dtypes=("f32",),
)
pair(
    "inverse of 1024",
    lambda a: mx.linalg.inv(a),
    lambda a: torch.linalg.inv(a),
    (1024, 1024),
    dtypes=("f32",),
)
pair(
    "QR of 256 x 32^2",
    lambda a: mx.linalg.qr(a),
    lambda a: torch.linalg.qr(a),
    (256, 32, 32),
    dtypes=("f32",),
)

if __name__ == "__main__":
    main()
