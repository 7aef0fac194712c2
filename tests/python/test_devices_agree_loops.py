"""Scans on a GPU: iterations of kernels, with the bits of the same steps one by one."""

import numpy as np
import pytest
import second_backend

import mlx.core as mx
from mlx.utils import tree_flatten

pytestmark = pytest.mark.gpu_only

STEPS, ROWS, SIZE = 5, 70, 64


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    shapes = (SIZE, SIZE), (ROWS, SIZE), (STEPS, ROWS, SIZE)
    return [mx.array(rng.normal(size=s).astype(np.float32) / 8) for s in shapes]


def unrolled(body, carry, xs, reverse=False):
    """Gives the results of `mx.scan`, step by step."""
    found = []
    for k in reversed(range(len(xs))) if reverse else range(len(xs)):
        carry, result = body(carry, xs[k])
        found.append([v for _, v in tree_flatten(result)])
    return carry, [mx.stack(list(s)) for s in zip(*found[:: -1 if reverse else 1], strict=True)]


def check(body, carry, xs, **options):
    """Equal bits, which products of another device would not have."""
    with mx.stream(mx.gpu):
        one, other = mx.scan(body, carry, xs, **options), unrolled(body, carry, xs, **options)
        mx.eval(one, other)
    pairs = zip(tree_flatten(one), tree_flatten(other), strict=True)
    for (_, a), (_, b) in pairs:
        assert a.dtype == b.dtype and np.array_equal(np.array(a), np.array(b), equal_nan=True)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps", [1, 2, STEPS])
def test_steps_of_a_network(arrays, steps, reverse):
    weight, first, xs = arrays

    def body(carry, x):
        h, total = carry
        h = mx.tanh(h @ weight + x)
        return (h, total + h.sum()), (h * 2, mx.max(h, axis=0), h[:, :3])

    check(body, (first, mx.array(0.0)), xs[:steps], reverse=reverse)


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16, mx.int32, mx.complex64], ids=str)
def test_dtypes(arrays, dtype):
    weight, first, xs = ((a * 16).astype(dtype) for a in arrays)
    check(lambda c, x: (c + x, (c * x, c.T)), first, xs)
    if mx.issubdtype(dtype, mx.inexact):
        check(lambda c, x: (c @ weight, x @ weight), first, xs)


def test_carried_values_change_places(arrays):
    _, first, xs = arrays
    check(lambda c, x: ((c[1], c[0] + x), c[0][::-1]), (first, first + 1), xs)
    check(lambda c, x: (x, c), first, xs)
    check(lambda c, x: (c + x, mx.ones((4,))), first, xs)


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.float64], ids=str)
def test_slices_between_vectors(dtype):
    """Slices of 67 * 71 elements begin at addresses that are no multiples of 16 bytes."""
    if dtype == mx.float64 and second_backend.in_use() == "metal":
        return
    rng = np.random.default_rng(1)
    first, xs = (mx.array(rng.normal(size=s)).astype(dtype) for s in ((67, 71), (STEPS, 67, 71)))

    def body(c, x):
        new = c + x
        spectrum = mx.fft.irfft(x[:, :40], n=71)
        return new, (new, spectrum, mx.sort(new, axis=1), c.sum(), c[1:, 1:])

    check(body, first, xs)
    check(lambda c, x: (c * x, (c, c * x)), first[:, ::-1], xs, reverse=True)


def test_loops_inside(arrays):
    _, first, xs = arrays

    def body(c, x):
        return mx.scan(lambda h, t: (mx.sin(h) + t, h.mean()), c, mx.stack([x, x + 1]))

    check(body, first, xs)

    def halved(c, x):
        h = mx.while_loop(lambda h: mx.abs(h).sum() > 100, lambda h: h * 0.5, c + x)
        return h, h.sum()

    check(halved, first, xs)


def test_transformations(arrays):
    weight, first, xs = arrays

    def loss(run, weight, first, xs):
        h, (a,) = run(lambda c, x: ((h := mx.tanh(c @ weight + x)), [h * h]), first, xs)
        return h.sum() + a.mean()

    for wrap in (lambda f: f, mx.compile):
        with mx.stream(mx.gpu):
            one, other = (
                wrap(mx.grad(lambda *a, run=run: loss(run, *a), argnums=(0, 1, 2)))(*arrays)
                for run in (mx.scan, unrolled)
            )
            for a, b in zip(one, other, strict=True):
                assert np.allclose(np.array(a), np.array(b), rtol=1e-5, atol=2e-5)
            many = mx.stack([first, first * 2])
            mapped = mx.vmap(lambda c: mx.scan(lambda c, x: (c @ weight, x + c), c, xs))(many)
            for k in (0, 1):
                alone = mx.scan(lambda c, x: (c @ weight, x + c), many[k], xs)
                for a, b in zip(mapped, alone, strict=True):
                    assert np.allclose(np.array(a[k]), np.array(b), rtol=1e-5, atol=2e-5)


def test_wrong_indices_name_the_op(arrays):
    weight, first, xs = arrays

    def body(c, x):
        c = c + mx.take_along_axis(x, mx.argmin(x, axis=1)[:, None], axis=1)
        return c + weight[mx.argmax(x, axis=1)[:1] + 1000], x.sum()

    with mx.stream(mx.gpu), pytest.raises(IndexError, match=r"^\[take\] index 10\d\d is out of"):
        mx.eval(mx.scan(body, first, xs))
    check(lambda c, x: (c + x, x), first, xs)


@pytest.mark.skipif(not second_backend.is_cuda(), reason="a kernel in CUDA")
def test_custom_kernels_inside(arrays):
    _, first, xs = arrays
    kernel = mx.fast.cuda_kernel(
        name="twice",
        input_names=["x"],
        output_names=["y"],
        source="unsigned i = blockIdx.x * 64 + threadIdx.x; if (i < x_shape[0]) y[i] = 2 * x[i];",
        ensure_row_contiguous=True,
    )

    def twice(x):
        flat = x.reshape(-1)
        (y,) = kernel(
            inputs=[flat],
            grid=(flat.size, 1, 1),
            threadgroup=(64, 1, 1),
            output_shapes=[flat.shape],
            output_dtypes=[flat.dtype],
        )
        return y.reshape(x.shape)

    check(lambda c, x: (twice(c) + x, c.sum()), first, xs)


def test_recurrent_layers():
    import mlx.nn as nn

    x = mx.random.normal((3, 7, 80), key=mx.random.key(1))
    for layer in (nn.RNN(80, 96), nn.GRU(80, 96), nn.LSTM(80, 96)):
        found = {}
        for device in (mx.cpu, mx.gpu):
            with mx.stream(device):
                y = layer(x)
                found[device] = np.array(y[0] if isinstance(y, tuple) else y)
        assert np.allclose(found[mx.cpu], found[mx.gpu], rtol=1e-4, atol=1e-5)
