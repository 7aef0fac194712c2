"""Times of rows of work on a GPU, here and in PyTorch, in one process.

    PYTHONPATH=build/python python tests/peers/gpu_vs_torch.py [PATTERNS]   (in a Python with torch)

Prints, for each row whose name matches a pattern, the medians of calls that wait for their
results, in milliseconds, and the ratio of PyTorch's time to ours. TF32 is allowed in products of
both. Inputs are random numbers of the same shapes and dtypes. `--profile` prints our steps of each
row instead.
"""

import argparse
import functools
import re
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

import mlx.core as mx
from mlx import nn, optimizers

DEVICE = "cuda"
ROUNDS, SECONDS = 30, 0.4
DTYPES = {"bf16": (mx.bfloat16, torch.bfloat16), "f32": (mx.float32, torch.float32)}


class Inputs:
    """Random arrays in both frameworks."""

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.normals = torch.Generator(DEVICE).manual_seed(0)

    def __call__(self, *shape, dtype="bf16", scale=1.0):
        """Normal numbers, as (ours, PyTorch's)."""
        a = torch.randn(shape, generator=self.normals, device=DEVICE) * scale
        ours, theirs = DTYPES[dtype]
        return mx.array(a.cpu().numpy()).astype(ours), a.to(theirs)

    def integers(self, below, *shape):
        """Integers from 0 on, as (ours, PyTorch's)."""
        a = self.random.integers(0, below, shape)
        return mx.array(a.astype(np.int32)), torch.from_numpy(a).to(DEVICE)


ROWS = []


def row(name):
    """Names a function that takes inputs and gives two functions without arguments."""

    def add(make):
        ROWS.append((name, make))
        return make

    return add


def both(function, *pairs):
    """The same expression of `xp`, the module, on both members of pairs."""
    ours, theirs = zip(*pairs, strict=True)
    return lambda: function(mx, *ours), lambda: function(torch, *theirs)


# --- rows and elements


def rms_norm(x, w):
    return x * mx.rsqrt(mx.mean(x * x, -1, keepdims=True) + 1e-5) * w


@row("RMS norm, 65536 x 1024, bfloat16")
def _(inputs):
    (a, b), (w, v) = inputs(65536, 1024), inputs(1024)
    compiled = mx.compile(rms_norm)
    return lambda: compiled(a, w), lambda: F.rms_norm(b, (1024,), v, 1e-5)


@row("softmax of rows, 65536 x 1024, bfloat16")
def _(inputs):
    a, b = inputs(65536, 1024)
    return lambda: mx.softmax(a, -1), lambda: torch.softmax(b, -1)


@row("sum of columns, 65536 x 1024, bfloat16")
def _(inputs):
    a, b = inputs(65536, 1024)
    return lambda: mx.sum(a, 0), lambda: torch.sum(b, 0)


@row("variance of rows, 65536 x 1024, bfloat16")
def _(inputs):
    a, b = inputs(65536, 1024)
    return lambda: mx.var(a, -1), lambda: torch.var(b, -1, unbiased=False)


@row("GELU of 64 M, bfloat16")
def _(inputs):
    a, b = inputs(1 << 13, 1 << 13)
    return (lambda: nn.gelu(a)), lambda: F.gelu(b)


@row("64 M normal numbers, float32")
def _(inputs):
    return (lambda: mx.random.normal((1 << 26,))), lambda: torch.randn(1 << 26, device=DEVICE)


@row("sort of 16384 rows of 1024, float32")
def _(inputs):
    a, b = inputs(16384, 1024, dtype="f32")
    return lambda: mx.sort(a, -1), lambda: torch.sort(b, -1)


@row("32 largest of 2048 rows of 8192, float32")
def _(inputs):
    a, b = inputs(2048, 8192, dtype="f32")
    return lambda: mx.topk(a, 32, -1), lambda: torch.topk(b, 32, -1)


@row("8192 rows of 512 at indices, bfloat16")
def _(inputs):
    (a, b), (i, j) = inputs(32768, 512), inputs.integers(32768, 8192)
    return lambda: mx.take(a, i, 0), lambda: torch.index_select(b, 0, j)


@row("scatter-add of 16384 rows of 128, float32")
def _(inputs):
    (a, b), (u, v) = inputs(4096, 128, dtype="f32"), inputs(16384, 128, dtype="f32")
    i, j = inputs.integers(4096, 16384)
    return lambda: a.at[i].add(u), lambda: b.index_add(0, j, v)


@row("complex FFT of 64 x 1024 x 1024")
def _(inputs):
    a, b = inputs(64, 1024, 1024, dtype="f32")
    return lambda: mx.fft.fft2(a), lambda: torch.fft.fft2(b)


# --- products


def product(n, dtype):
    def make(inputs):
        return both(
            lambda xp, a, b: xp.matmul(a, b), inputs(n, n, dtype=dtype), inputs(n, n, dtype=dtype)
        )

    return make


row("8192^3 bfloat16")(product(8192, "bf16"))
row("4096^3 float32 (TF32)")(product(4096, "f32"))


@row("4096 x 1024 x 4096, bias and GELU, bfloat16")
def _(inputs):
    (x, y), (w, v), (b, c) = inputs(4096, 1024), inputs(4096, 1024, scale=0.03), inputs(4096)
    ours = mx.compile(lambda x: nn.gelu(mx.addmm(b, x, w.T)))
    return lambda: ours(x), lambda: F.gelu(F.linear(y, v, c))


def packed(rows, bits=4):
    def make(inputs):
        (x, y), (w, v) = inputs(rows, 4096), inputs(4096, 4096, scale=0.02)
        q = mx.quantize(w, 64, bits)
        mx.eval(q)
        return (
            lambda: mx.quantized_matmul(x, *q, transpose=True, group_size=64, bits=bits),
            lambda: F.linear(y, v),
        )

    return make


for rows in (1, 16, 64, 256):
    row(f"4-bit {rows} x 4096^2 (there: bfloat16)")(packed(rows))


@row("4-bit, 2048 rows by 16 matrices of 2048^2 (there: bfloat16)")
def _(inputs):
    (x, y), (w, v) = inputs(2048, 1, 2048), inputs(16, 2048, 2048, scale=0.02)
    q = mx.quantize(w, 64, 4)
    i = mx.sort(mx.random.randint(0, 16, (2048,)))
    mx.eval(q, i)
    batches = y.view(16, 128, 2048)

    def ours():
        return mx.gather_qmm(
            x, *q, rhs_indices=i, transpose=True, group_size=64, bits=4, sorted_indices=True
        )

    return ours, lambda: torch.bmm(batches, v.transpose(1, 2))


# --- convolutions


def conv(batch, size, channels, dtype, derivative=False):
    def make(inputs):
        x, y = inputs(batch, size, size, channels, dtype=dtype)
        w, v = inputs(channels, 3, 3, channels, dtype=dtype, scale=0.05)
        y = y.permute(0, 3, 1, 2)
        v = v.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
        if not derivative:
            return lambda: mx.conv2d(x, w, padding=1), lambda: F.conv2d(y, v, padding=1)
        grad = mx.grad(lambda x, w: mx.sum(mx.conv2d(x, w, padding=1) ** 2), (0, 1))
        y, v = y.requires_grad_(), v.requires_grad_()

        def theirs():
            return torch.autograd.grad((F.conv2d(y, v, padding=1) ** 2).sum(), (y, v))

        return lambda: grad(x, w), theirs

    return make


row("convolution 3 x 3, 64 x 56^2 x 64, bfloat16")(conv(64, 56, 64, "bf16"))
row("convolution 3 x 3, 64 x 14^2 x 256, bfloat16")(conv(64, 14, 256, "bf16"))
row("convolution 3 x 3, 64 x 56^2 x 64, float32 (TF32)")(conv(64, 56, 64, "f32"))
row("convolution 3 x 3, 64 x 56^2 x 64, with derivatives, bfloat16")(conv(64, 56, 64, "bf16", True))


# --- attention


def attention(b, h, kv, queries, keys, d, causal=False, mask=None, derivative=False, dtype="bf16"):
    def make(inputs):
        q, k, v = (
            inputs(b, n, length, d, dtype=dtype)
            for n, length in ((h, queries), (kv, keys), (kv, keys))
        )
        kinds = {"additive": inputs(queries, keys), "bool": None, None: None}
        ours_mask = theirs_mask = None
        if mask == "additive":
            ours_mask, theirs_mask = kinds[mask]
        elif mask == "bool":
            a, c = inputs(queries, keys)
            ours_mask, theirs_mask = a > 0, c > 0
        scale = d**-0.5

        def ours(q, k, v):
            m = "causal" if causal else ours_mask
            return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=m)

        def theirs(q, k, v):
            return F.scaled_dot_product_attention(
                q, k, v, attn_mask=theirs_mask, is_causal=causal, enable_gqa=h != kv
            )

        if not derivative:
            return lambda: ours(q[0], k[0], v[0]), lambda: theirs(q[1], k[1], v[1])
        c, d_ = inputs(b, h, queries, d, dtype=dtype)
        args = [a[1].requires_grad_() for a in (q, k, v)]

        def backward():
            return torch.autograd.grad(theirs(*args), args, d_)

        return lambda: mx.vjp(ours, [q[0], k[0], v[0]], [c])[1], backward

    return make


row("attention 8 x 16 x 2048 x 64, bfloat16")(attention(8, 16, 16, 2048, 2048, 64))
row("attention 8 x 16 x 2048 x 128, bfloat16")(attention(8, 16, 16, 2048, 2048, 128))
row("attention 4 x 16 x 4096 x 128, causal, bfloat16")(attention(4, 16, 16, 4096, 4096, 128, True))
row("attention 2 x 32 on 8 x 1024 x 128, causal, bfloat16")(
    attention(2, 32, 8, 1024, 1024, 128, True)
)
row("attention 8 x 16 x 2048 x 128, boolean mask, bfloat16")(
    attention(8, 16, 16, 2048, 2048, 128, mask="bool")
)
row("attention 8 x 16 x 2048 x 128, additive mask, bfloat16")(
    attention(8, 16, 16, 2048, 2048, 128, mask="additive")
)
row("attention 8 x 16 x 2048 x 64, float32 (TF32)")(
    attention(8, 16, 16, 2048, 2048, 64, dtype="f32")
)
row("attention with derivative, 4 x 16 x 2048 x 128, causal, bfloat16")(
    attention(4, 16, 16, 2048, 2048, 128, True, derivative=True)
)
row("attention with derivative, 8 x 16 x 2048 x 64, bfloat16")(
    attention(8, 16, 16, 2048, 2048, 64, derivative=True)
)
row("attention of one query, 8192 keys, 32 heads on 8, bfloat16")(attention(1, 32, 8, 1, 8192, 128))


# --- linear algebra, float32


def positive(inputs, n, batch=()):
    a, b = inputs(*batch, n, n, dtype="f32")
    return a @ a.swapaxes(-1, -2) + n * mx.eye(n), b @ b.mT + n * torch.eye(n, device=DEVICE)


@row("Cholesky factor of 512")
def _(inputs):
    a, b = positive(inputs, 512)
    return lambda: mx.linalg.cholesky(a), lambda: torch.linalg.cholesky(b)


@row("QR of 512")
def _(inputs):
    a, b = inputs(512, 512, dtype="f32")
    return lambda: mx.linalg.qr(a), lambda: torch.linalg.qr(b)


@row("eigh of 512")
def _(inputs):
    a, b = positive(inputs, 512)
    return lambda: mx.linalg.eigh(a), lambda: torch.linalg.eigh(b)


@row("SVD of 256")
def _(inputs):
    a, b = inputs(256, 256, dtype="f32")
    return lambda: mx.linalg.svd(a), lambda: torch.linalg.svd(b)


@row("solution of 512")
def _(inputs):
    (a, b), (x, y) = positive(inputs, 512), inputs(512, 512, dtype="f32")
    return lambda: mx.linalg.solve(a, x), lambda: torch.linalg.solve(b, y)


@row("64 inverses of 128")
def _(inputs):
    a, b = positive(inputs, 128, (64,))
    return lambda: mx.linalg.inv(a), lambda: torch.linalg.inv(b)


# --- ResNet-18


class OurBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm(after), nn.BatchNorm(after)
        self.short = nn.Conv2d(before, after, 1, stride, bias=False) if stride > 1 else None

    def __call__(self, x):
        y = self.norm2(self.conv2(nn.relu(self.norm1(self.conv1(x)))))
        return nn.relu(y + (self.short(x) if self.short else x))


class TheirBlock(torch.nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        layer = torch.nn
        self.conv1 = layer.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = layer.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = layer.BatchNorm2d(after), layer.BatchNorm2d(after)
        self.short = layer.Conv2d(before, after, 1, stride, bias=False) if stride > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + (self.short(x) if self.short else x))


def blocks(block):
    """The eight blocks of the network."""
    layers, before = [], 64
    for after in (64, 128, 256, 512):
        layers += [block(before, after, 1 + (after > before)), block(after, after, 1)]
        before = after
    return layers


@row("training step, ResNet-18, 64 images of 224^2, bfloat16")
def _(inputs):
    x, y = inputs(64, 224, 224, 3)
    t, u = inputs.integers(1000, 64)
    ours = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        *blocks(OurBlock),
        lambda x: mx.mean(x, (1, 2)),
        nn.Linear(512, 1000),
    )
    ours.set_dtype(mx.bfloat16)
    optimizer = optimizers.SGD(0.01)
    step = nn.value_and_grad(ours, lambda x: nn.losses.cross_entropy(ours(x), t, reduction="mean"))

    @functools.partial(mx.compile, inputs=[ours, optimizer], outputs=[ours, optimizer])
    def train(x):
        loss, gradients = step(x)
        optimizer.update(ours, gradients)
        return loss

    layer = torch.nn
    theirs = layer.Sequential(
        layer.Conv2d(3, 64, 7, 2, 3, bias=False),
        layer.BatchNorm2d(64),
        layer.ReLU(),
        layer.MaxPool2d(3, 2, 1),
        *blocks(TheirBlock),
        layer.AdaptiveAvgPool2d(1),
        layer.Flatten(),
        layer.Linear(512, 1000),
    ).to(DEVICE, torch.bfloat16, memory_format=torch.channels_last)
    descent = torch.optim.SGD(theirs.parameters(), 0.01)
    y = y.permute(0, 3, 1, 2)

    def their_train():
        descent.zero_grad()
        loss = F.cross_entropy(theirs(y), u)
        loss.backward()
        descent.step()
        return loss

    def our_train():
        return train(x), ours.state, optimizer.state

    return our_train, their_train


# --- times


def median(call):
    """The median of times of calls, in milliseconds."""
    for _ in range(3):
        call()
    times, end = [], time.perf_counter() + SECONDS
    while len(times) < ROUNDS and (time.perf_counter() < end or len(times) < 5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def warm():
    """Works for a second, so that the first row finds the clocks of the others."""
    a, end = torch.ones((4096, 4096), device=DEVICE), time.perf_counter() + 1
    while time.perf_counter() < end:
        torch.matmul(a, a)
        torch.cuda.synchronize()


def waiting(ours, theirs):
    """The same functions, waiting for their results."""

    def wait_here():
        mx.eval(ours())

    def wait_there():
        theirs()
        torch.cuda.synchronize()

    return wait_here, wait_there


def measure(name, make, profile):
    """Prints the times of a row, or our steps of it."""
    ours, theirs = waiting(*make(Inputs()))
    here = median(ours)
    if profile:
        with mx.profile() as p:
            ours()
        return print(name, p, sep="\n", flush=True)
    there = median(theirs)
    return print(f"| {name} | {here:.3f} | {there:.3f} | x{there / here:.2f} |", flush=True)


def main():
    """Times or profiles rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", default=[""], help="regular expressions of names")
    parser.add_argument("--profile", action="store_true", help="print our steps")
    options = parser.parse_args()
    mx.set_default_device(mx.gpu)
    mx.set_matmul_precision("high")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    warm()
    for name, make in ROWS:
        if not any(re.search(p, name) for p in options.patterns):
            continue
        try:
            measure(name, make, options.profile)
        except (RuntimeError, ValueError, TypeError) as error:  # the other rows are measured still
            print(f"| {name} | {type(error).__name__}: {str(error).splitlines()[0]} |", flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
