"""Ops with kernels of their own on the GPU: equal to the CPU, or within a bound of the largest."""

import numpy as np
import pytest
from test_devices_agree import BOUNDS, DTYPES, FLOATS, INTEGERS, check, near, on, values

import mlx.core as mx

pytestmark = [pytest.mark.gpu_only, pytest.mark.sampled(0.5)]

COMPLEX = [mx.complex64, mx.complex128]
SCANS = ["cumsum", "cumprod", "cummax", "cummin"]


def layouts(x):
    """An array, and views of it."""
    return [x, x.transpose(2, 0, 1)[:, ::-1], mx.broadcast_to(x[:1], x.shape), x[:, :0]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scans(dtype):
    x = values(dtype, (3, 5, 40))
    for name in SCANS:
        f = getattr(mx, name)
        for a in layouts(x):
            check(f, a, axis=2)
        check(f, x, axis=0, reverse=True, inclusive=False)
        if dtype in INTEGERS or name in SCANS[2:]:  # elsewhere blocks share a line
            check(lambda a, stream, f=f: f(a, stream=stream), x)
    check(lambda a, stream: mx.cumsum(a, stream=stream), values(dtype, ()))


@pytest.mark.parametrize("dtype", [mx.bool_, mx.int8, mx.uint32, mx.float16, mx.float64], ids=str)
def test_scans_of_long_lines(dtype):
    """Blocks scan chunks of lines: integers and extremes do not depend on that."""
    for shape, axis in (((2, 70), 1), ((70, 3), 0), ((3, 20000), 1)):
        x = values(dtype, shape)
        for name in SCANS[0 if dtype in INTEGERS else 2 :]:
            f = getattr(mx, name)
            check(f, x, axis=axis)
            check(f, x, axis=axis, reverse=True, inclusive=False)
    x = mx.array([1.0, np.nan, 3.0] + [2.0] * 9000)
    for f in (mx.cummax, mx.cummin):
        check(f, x)


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_scans_of_floats(dtype):
    x = values(dtype, (3, 20000)) / 1000
    for f, bound in ((mx.cumsum, 4), (mx.logcumsumexp, 4)):
        for a in (x, x[:, :100], x[:, :7], x.T[::-1]):
            for axis in (0, 1):
                near(f, a, axis=axis, bound=bound * BOUNDS[dtype])
        near(f, x, axis=1, reverse=True, inclusive=False, bound=bound * BOUNDS[dtype])
    near(mx.logcumsumexp, mx.full((2, 200), -float("inf"), dtype), axis=1, bound=0)
    near(mx.cumprod, 1 + x / 1e5, axis=1, bound=64 * BOUNDS[dtype])


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_scans_of_complex_numbers(dtype):
    x = values(dtype, (2, 300)) / 1000
    for f in (mx.cumsum, mx.logcumsumexp):
        for part in (mx.real, mx.imag):
            near(lambda x, stream, f=f, part=part: on(stream, lambda: part(f(x, axis=1))), x,
                 bound=2e-6)  # fmt: skip


def test_derivatives_of_scans():
    x = values(mx.float32, (5, 40)) / 300
    for f in (mx.cumprod, mx.cumsum, mx.cummax, mx.logcumsumexp):
        near(lambda x, stream, f=f: on(stream, mx.grad(lambda x: f(x, axis=1).sum()), x), x,
             bound=1e-5)  # fmt: skip
    check(lambda x, stream: on(stream, mx.vmap(lambda x: mx.cummax(x, axis=0)), x), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sorts(dtype):
    x = values(dtype, (3, 5, 40))
    if dtype not in INTEGERS and dtype != mx.bool_:
        special = mx.array([np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, np.nan, 0.0]).astype(dtype)
        x = mx.concatenate([x, mx.broadcast_to(special, (3, 5, 8))], axis=2, stream=mx.cpu)
    for a in layouts(x):
        for axis in range(3):
            check(mx.sort, a, axis=axis)
            check(mx.argsort, a, axis=axis)
    check(mx.partition, x, kth=7, axis=2)
    check(mx.argpartition, x, kth=1, axis=0)
    check(lambda a, stream: mx.sort(a, axis=None, stream=stream), x)
    check(mx.sort, values(dtype, (1, 1)), axis=0)


@pytest.mark.parametrize("dtype", [mx.bool_, mx.int16, mx.float32, mx.int64, *COMPLEX], ids=str)
def test_sorts_of_long_lines(dtype):
    for shape, axis in (((2, 1025), 1), ((5001, 3), 0), ((1, 1024), 1), ((2, 4096), 1)):
        x = values(dtype, shape)
        check(mx.sort, x, axis=axis)
        check(mx.argsort, x, axis=axis)  # stable: equal elements in order
    few = values(mx.int32, (3000,)) % 5
    check(mx.argsort, few.astype(dtype, stream=mx.cpu))


def test_top_elements():
    x = values(mx.float32, (4, 3000))
    found = mx.topk(x, 32, axis=1, stream=mx.gpu)
    wanted = mx.sort(x, axis=1, stream=mx.cpu)[:, -32:]
    assert np.array_equal(np.sort(np.array(found)), np.array(wanted))
    check(lambda x, stream: on(stream, mx.vmap(lambda x: mx.argsort(x)), x), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_searches(dtype):
    s, v = mx.sort(values(dtype, (100,)), stream=mx.cpu), values(dtype, (3, 50), 1)
    v = mx.concatenate([v, mx.broadcast_to(s[::9][:10], (3, 10))], axis=1, stream=mx.cpu)
    for side in ("left", "right"):
        for a, b in ((s, v), (s[::2], v.T), (s[:0], v), (s, v[:0]), (s, s[3])):
            check(lambda a, b, stream, side=side: mx.searchsorted(a, b, side, stream=stream), a, b)


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_rotations(dtype):
    x = values(dtype, (2, 3, 5, 16)) / 10
    freqs = mx.array(np.linspace(1, 50, 4).astype(np.float32))
    offsets = mx.array([3, 100])
    for a in (x, x.transpose(0, 2, 1, 3), x[:, :, ::-2], x[0], x[:, :0]):
        for traditional in (False, True):
            for options in (
                {"base": 10000.0, "offset": 7},
                {"base": None, "freqs": freqs, "offset": 0},
                {"base": 100.0, "offset": offsets if a.ndim == 4 else 2},
            ):
                near(mx.fast.rope, a, dims=8, traditional=traditional, scale=0.5,
                     bound=2 * BOUNDS[dtype], **options)  # fmt: skip
    near(lambda x, stream: on(stream, mx.grad(lambda x: (mx.fast.rope(
        x, 16, traditional=False, base=1e4, scale=1.0, offset=1) * x).sum()), x), x,
        bound=4 * BOUNDS[dtype])  # fmt: skip


def attention_inputs(dtype, queries, keys, heads=4, key_heads=2, features=20, width=24):
    rng = np.random.default_rng(3)
    shapes = ((heads, queries, features), (key_heads, keys, features), (key_heads, keys, width))
    return [mx.array(rng.standard_normal((2, *s))).astype(dtype, stream=mx.cpu) for s in shapes]


ATTENTION = {mx.float16: 4e-3, mx.bfloat16: 3e-2, mx.float32: 1e-5, mx.float64: 1e-12}


@pytest.mark.parametrize("dtype", ATTENTION, ids=str)
def test_attention(dtype):
    f, bound = mx.fast.scaled_dot_product_attention, ATTENTION[dtype]
    rng = np.random.default_rng(5)
    for queries, keys in ((1, 130), (3, 600), (37, 70), (70, 37), (3, 0), (0, 3)):
        q, k, v = attention_inputs(dtype, queries, keys)
        chosen = mx.array(rng.random((2, 1, queries, keys)) < 0.5)
        added = mx.array(rng.standard_normal((queries, keys))).astype(dtype, stream=mx.cpu)
        sinks = mx.array(rng.standard_normal(4)).astype(dtype, stream=mx.cpu)
        for mask in (None, "causal", chosen, added):
            for s in (None, sinks):
                near(f, q, k, v, scale=0.3, mask=mask, sinks=s, bound=bound)
    q, k, v = attention_inputs(dtype, 9, 50, width=300)
    near(f, q, k, v, scale=0.3, bound=bound)
    backward = (q[:, :, ::-1], k[:, :, ::-1], v[:, :, ::-1, ::2])
    near(f, *backward, scale=0.3, mask="causal", bound=bound)
    nothing = mx.zeros((9, 50), dtype=mx.bool_)
    near(f, q, k, v, scale=0.3, mask=nothing, bound=bound)


def test_derivatives_of_attention():
    q, k, v = attention_inputs(mx.float32, 9, 13)

    def total(q, k, v):
        f = mx.fast.scaled_dot_product_attention
        return mx.square(f(q, k, v, scale=0.3, mask="causal")).sum()

    for i in range(3):
        near(lambda q, k, v, stream, i=i: on(stream, mx.grad(total, i), q, k, v), q, k, v,
             bound=1e-4)  # fmt: skip


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_derivatives_of_norms(dtype):
    x, w, b = values(dtype, (6, 40), 1), values(dtype, (40,), 2), values(dtype, (40,), 3)

    def layer(x, w, b):
        return (mx.fast.layer_norm(x, w, b, 1e-5) * x).sum()

    def rms(x, w, b):
        return (mx.fast.rms_norm(x, w, 1e-5) * x + b).sum()

    for f in (layer, rms):
        for i in range(3):
            near(lambda x, w, b, stream, f=f, i=i: on(stream, mx.grad(f, i), x, w, b), x, w, b,
                 bound=32 * BOUNDS[dtype])  # fmt: skip


CONVOLUTIONS = [
    ((2, 20, 6), (10, 3, 6), {}),
    ((2, 20, 6), (10, 3, 2), {"stride": 2, "padding": 3, "kernel_dilation": 2, "groups": 3,
                              "groups_out": 9}),
    ((2, 9, 8, 4), (70, 3, 2, 4), {"stride": (2, 1), "padding": ((1, 0), (2, 1))}),
    ((1, 9, 8, 6), (6, 3, 3, 1), {"groups": 6, "flip": True, "padding": 1}),
    ((2, 5, 6, 4, 3), (5, 2, 3, 2, 3), {"input_dilation": (1, 2, 3), "flip": True, "padding": 2}),
    ((2, 4, 3), (3, 9, 3), {"padding": ([8], [2])}),
    ((3, 30, 20, 16), (16, 3, 3, 16), {"padding": 1}),
    ((3, 30, 20, 16), (16, 1, 1, 16), {}),
    ((2, 90, 12), (20, 5, 12), {"stride": 2, "kernel_dilation": 2, "flip": True}),
    ((0, 5, 4), (3, 2, 4), {}),
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_convolutions(dtype):
    rng = np.random.default_rng(7)
    for x_shape, w_shape, given in CONVOLUTIONS:
        options = {k: v for k, v in given.items() if k != "groups_out"}
        shape = (given.get("groups_out", w_shape[0]), *w_shape[1:])
        x = mx.array(rng.standard_normal(x_shape)).astype(dtype, stream=mx.cpu)
        w = mx.array(rng.standard_normal(shape)).astype(dtype, stream=mx.cpu)
        near(mx.conv_general, x, w, bound=2 * FLOATS[dtype], **options)
        near(mx.conv_general, x[..., ::-1], w, bound=2 * FLOATS[dtype], **options)

        def total(x, w, options=options):
            return mx.square(mx.conv_general(x, w, **options)).sum()

        for i in range(2):
            near(lambda x, w, stream, f=total, i=i: on(stream, mx.grad(f, i), x, w), x, w,
                 bound=8 * FLOATS[dtype])  # fmt: skip


def test_weights_of_many_positions():
    """The sum over positions is cut into parts."""
    rng = np.random.default_rng(8)
    x = mx.array(rng.standard_normal((2, 60, 50, 3)).astype(np.float32))
    w = mx.array(rng.standard_normal((5, 3, 3, 3)).astype(np.float32))
    f = mx.grad(lambda x, w: mx.square(mx.conv2d(x, w)).sum(), 1)
    near(lambda x, w, stream: on(stream, f, x, w), x, w, bound=1e-4)


PACKINGS = [("affine", b, g) for b in (1, 2, 3, 4, 5, 6, 8) for g in (32, 64)] + [
    ("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)]  # fmt: skip
SHORT = [mx.float16, mx.bfloat16, mx.float32]


@pytest.mark.parametrize("dtype", SHORT, ids=str)
@pytest.mark.parametrize("mode,bits,group", PACKINGS)
def test_packing(mode, bits, group, dtype):
    w = values(dtype, (6, 192)) / 50
    w = mx.concatenate([w, mx.zeros_like(w[:1]), mx.full((1, 192), 3.0, dtype)], stream=mx.cpu)
    options = {"mode": mode, "bits": bits, "group_size": group}
    for i in range(3 if mode == "affine" else 2):
        check(lambda w, stream, i=i: mx.quantize(w, **options, stream=stream)[i], w)
    packed = mx.quantize(w, **options, stream=mx.cpu)
    check(lambda *a, stream: mx.dequantize(*a, **options, dtype=dtype, stream=stream), *packed)
    for m in (1, 3, 40):
        x = values(dtype, (2, m, 192), m) / 50
        f = mx.quantized_matmul
        near(f, x, *packed, transpose=True, bound=2 * FLOATS[dtype], **options)
        near(f, x[..., :8], *packed, transpose=False, bound=2 * FLOATS[dtype], **options)


@pytest.mark.parametrize("dtype", SHORT[:2], ids=str)
@pytest.mark.parametrize("mode,bits,group", [p for p in PACKINGS if p[1] in (4, 8)])
def test_products_with_packed_matrices(mode, bits, group, dtype):
    """Rows, columns and inner lengths that fill no block; x that begins between vectors."""
    options = {"mode": mode, "bits": bits, "group_size": group}
    packed = mx.quantize(values(dtype, (70, 256)) / 50, **options, stream=mx.cpu)
    short = mx.quantize(values(dtype, (9, 3 * group)) / 50, **options, stream=mx.cpu)
    for m, begin, w in ((2, 0, short), (9, 1, packed), (17, 0, packed), (40, 1, short),
                        (70, 0, packed), (70, 1, short), (130, 0, short)):  # fmt: skip
        k = 256 if w is packed else 3 * group
        x = mx.contiguous(values(dtype, (m * k + begin,), m) / 50, stream=mx.cpu)
        near(lambda *a, stream: mx.quantized_matmul(*a, stream=stream, **options),
             x[begin:].reshape(m, k), *w, bound=2 * FLOATS[dtype])  # fmt: skip


@pytest.mark.parametrize("dtype", SHORT, ids=str)
def test_products_of_gathered_packed_matrices(dtype):
    w = mx.quantize(values(dtype, (4, 70, 64)) / 50, group_size=32, bits=4, stream=mx.cpu)
    lhs, rhs = mx.array([[0, 2, -1], [1, 1, 0]]), mx.array([[3], [0]], dtype=mx.uint8)
    for m in (1, 20):
        x = values(dtype, (3, m, 64), m) / 50
        near(lambda x, *w, stream: mx.gather_qmm(
            x, *w, lhs_indices=lhs, rhs_indices=rhs, group_size=32, bits=4, stream=stream), x, *w,
            bound=2 * FLOATS[dtype])  # fmt: skip
        bad = mx.gather_qmm(x, *w, rhs_indices=mx.array([0, 4, 1]), group_size=32, bits=4,
                            stream=mx.gpu)  # fmt: skip
        with pytest.raises(IndexError, match=r"index 4 .* axis 0 with size 4"):
            mx.eval(bad)


def pairs(n, matrices, others):
    """Indices of n matrices and of others, some from the end; the last but one is in no pair."""
    i = np.arange(n)
    rhs = np.where(i * i % others == others - 2, others - 1, i * i % others)
    return mx.array(i * 7 % matrices - (i % 2) * matrices), mx.array(np.sort(rhs).astype(np.uint16))


@pytest.mark.parametrize("dtype", SHORT, ids=str)
@pytest.mark.parametrize("transpose", [True, False])
def test_products_grouped_by_packed_matrices(dtype, transpose):
    """Rows that share a matrix form tiles of one product."""
    for m, n, k, count in ((1, 96, 64, 300), (3, 64, 160, 70), (70, 64, 64, 5), (1, 32, 32, 99)):
        shape = (5, n, k) if transpose else (5, k, n)
        w = mx.quantize(values(dtype, shape) / 50, group_size=32, bits=4, stream=mx.cpu)
        x = values(dtype, (6, m, k), m) / 50
        for lhs, rhs in (pairs(count, 6, 5), pairs(count, 6, 4)):
            near(lambda x, *w, stream, lhs=lhs, rhs=rhs: mx.gather_qmm(
                x, *w, lhs_indices=lhs, rhs_indices=rhs, transpose=transpose, group_size=32, bits=4,
                sorted_indices=True, stream=stream), x, *w, bound=2 * FLOATS[dtype])  # fmt: skip
        bad = mx.gather_qmm(x, *w, lhs_indices=lhs, rhs_indices=rhs + 5, transpose=transpose,
                            group_size=32, bits=4, stream=mx.gpu)  # fmt: skip
        with pytest.raises(IndexError, match=r"gather_qmm.* index \d+ .* axis 0 with size 5"):
            mx.eval(bad)


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float32, mx.float64, mx.complex64, mx.int32],
                         ids=str)  # fmt: skip
def test_products_grouped_by_matrices(dtype):
    def part(x):
        return mx.real(x) if dtype == mx.complex64 else x

    for m, n, k, count in ((1, 48, 32, 300), (3, 32, 56, 70), (70, 32, 64, 5), (1, 16, 16, 300)):
        a, b, c = (values(dtype, s) if dtype == mx.int32 else values(dtype, s) / 50
                   for s in ((6, m, k), (5, k, n), (5, n, k)))  # fmt: skip
        for lhs, rhs in (pairs(count, 6, 5), pairs(count, 6, 4)):
            for x, y in ((a, b), (a, c.swapaxes(1, 2)), (a[::-1, :, ::-1], b[::-1]),
                         (a.transpose(1, 2, 0)[::-1].transpose(2, 0, 1), b),
                         (mx.broadcast_to(a[:1], a.shape), mx.broadcast_to(b[:1], b.shape)),
                         (a[..., :16], b[:, :16]), (a, b[..., ::2])):  # fmt: skip
                near(lambda x, y, stream, lhs=lhs, rhs=rhs: on(
                    stream, lambda: part(mx.gather_mm(x, y, lhs, rhs, sorted_indices=True))), x, y,
                    bound=4 * FLOATS.get(dtype, 1e-5))  # fmt: skip
        bad = mx.gather_mm(a, b, lhs - 6, rhs, stream=mx.gpu)
        with pytest.raises(IndexError, match=r"gather_mm.* axis 0 with size 6"):
            mx.eval(bad)


@pytest.mark.parametrize("dtype", [mx.float16, mx.float32, mx.float64, mx.complex64, mx.int32],
                         ids=str)  # fmt: skip
def test_products_of_gathered_matrices(dtype):
    def part(x):
        return mx.real(x) if dtype == mx.complex64 else x

    bound = 4 * FLOATS.get(dtype, 1e-5)
    a, b = (values(dtype, s) if dtype == mx.int32 else values(dtype, s) / 50
            for s in ((3, 5, 70), (4, 70, 66)))  # fmt: skip
    lhs, rhs = mx.array([[0, 2, -1], [1, 1, 0]]), mx.array([[3], [0]], dtype=mx.uint8)
    for x, y in ((a, b), (a[:, ::-1], b.transpose(0, 2, 1)[:, :, ::-1].transpose(0, 2, 1))):
        near(lambda x, y, stream: on(stream, lambda: part(mx.gather_mm(x, y, lhs, rhs))), x, y,
             bound=bound)  # fmt: skip
    bad = mx.gather_mm(a, b, rhs_indices=mx.array([0, -5, 1]), stream=mx.gpu)
    with pytest.raises(IndexError, match=r"index -5 .* axis 0 with size 4"):
        mx.eval(bad)
    for ends in ([[0, 10], [10, 70], [5, 5], [9, 3]], np.zeros((0, 2), np.int32)):
        segments = mx.array(ends)
        near(lambda x, y, stream, s=segments: on(
            stream, lambda: part(mx.segmented_mm(x[0], y[0], s))), a, b, bound=bound)  # fmt: skip
    bad = mx.segmented_mm(a[0], b[0], mx.array([[0, 71]]), stream=mx.gpu)
    with pytest.raises(IndexError, match=r"index 71 .* axis 0 with size 71"):
        mx.eval(bad)


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_hadamard_transforms(dtype):
    """Parts of a row in a block, whole rows of several blocks, and all orders of the matrix."""
    for shape in ((5, 1), (3, 70, 8), (70, 64), (2, 12), (3, 80), (2, 28 * 16), (2, 16384),
                  (1, 12 * 8192), (0, 4)):  # fmt: skip
        x = values(dtype, shape)
        for a in (x, x[::-1], mx.broadcast_to(x[:1], x.shape)):
            check(mx.hadamard_transform, a)
        check(mx.hadamard_transform, x, scale=0.3)
    check(mx.hadamard_transform, values(dtype, ()))
    x = values(dtype, (40, 6))
    check(lambda x, stream: on(stream, lambda: mx.hadamard_transform(x.T)), x[:, :5])
    check(lambda x, stream: on(stream, mx.grad(lambda x: mx.square(
        mx.hadamard_transform(x)).sum()), x), x[:, :4])  # fmt: skip


def near_numbers(f, *arrays, bound, **options):
    """Like `near`, of complex numbers."""
    found, wanted = (f(*arrays, stream=s, **options) for s in (mx.gpu, mx.cpu))
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    found, wanted = (np.array(x.astype(mx.complex128, stream=mx.cpu)) for x in (found, wanted))
    assert (np.abs(found - wanted) <= bound * max(np.abs(wanted).max(initial=0), 1e-6)).all()


TRANSFORMS = {mx.float32: 2e-6, mx.float64: 1e-14, mx.complex64: 2e-6, mx.complex128: 1e-14}


@pytest.mark.parametrize("dtype", TRANSFORMS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 12, 97, 256, 1001])
def test_fourier_transforms(n, dtype):
    """Along any axis, of any layout, padded and cropped; few lines that lie apart, and many."""
    x, bound = values(dtype, (3, n, 5)) / 10, TRANSFORMS[dtype]
    real = dtype not in COMPLEX
    functions = [mx.fft.fft, mx.fft.ifft, mx.fft.rfft if real else mx.fft.irfft]
    for f in functions:
        for a in (x, x[::-1, :, ::-2], x.transpose(2, 1, 0), mx.broadcast_to(x[:1], x.shape)):
            for length in {n, n // 2 + 1, n + 3}:
                near_numbers(f, a, length, axis=1, bound=bound)
        moved = x.transpose(0, 2, 1)
        for a in (moved, mx.contiguous(moved, stream=mx.cpu), moved.reshape(15, n)):
            near_numbers(f, a, n, axis=-1, bound=bound)
        near_numbers(f, x, n, axis=0, bound=bound)
        near_numbers(f, x[:0], n, axis=1, bound=bound)
        for norm in ("ortho", "forward"):
            near_numbers(f, x, n, axis=1, norm=norm, bound=bound)
    many = values(dtype, (70, n % 50 + 1, 3), 1) / 10
    for f in functions:
        near_numbers(f, many, n % 50 + 1, axis=1, bound=bound)


def test_transforms_of_real_numbers_at_odd_places():
    """The library reads pairs of them."""
    x = values(mx.float32, (4, 101)) / 10
    for a in (x[1:], x[:, 1:], x[2, 3:], mx.contiguous(x.flatten()[1:])):
        near_numbers(mx.fft.rfft, a, bound=2e-6)
    flat = x.flatten() + 0
    mx.eval(flat)
    for k in range(4):
        near_numbers(mx.fft.rfft, flat[k : k + 64], bound=2e-6)


def test_several_axes_and_derivatives_of_transforms():
    x = values(mx.float32, (4, 6, 10)) / 10
    for f in (mx.fft.fftn, mx.fft.rfftn, mx.fft.fft2):
        near_numbers(f, x, bound=2e-6)
    near_numbers(mx.fft.irfftn, values(mx.complex64, (4, 6, 6)) / 10, bound=2e-6)

    def power(x):
        return mx.square(mx.abs(mx.fft.rfft(x, axis=1))).sum()

    near(lambda x, stream: on(stream, mx.grad(power), x), x, bound=1e-5)
    near_numbers(lambda x, stream: on(stream, mx.vmap(lambda x: mx.fft.fft(x), 1), x), x,
                 bound=2e-6)  # fmt: skip


def test_many_lengths_of_transforms():
    """More than the library's plans that are kept."""
    x = values(mx.complex64, (200,)) / 10
    for _ in range(2):
        for n in range(2, 90):
            near_numbers(mx.fft.fft, x, n, bound=2e-6)


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("width", [1, 33, 128, 256, 300])
def test_gated_delta_rules(width, dtype):
    """Rows of a state in one or several elements a thread; the last width has no kernel."""
    rng = np.random.default_rng(11)
    batches, length, key_heads, heads, height = 2, 7, 2, 4, 5

    def numbers(*shape):
        return mx.array(rng.standard_normal(shape) * 0.3).astype(dtype, stream=mx.cpu)

    q, k = (numbers(batches, length, key_heads, width) for _ in range(2))
    v, state = numbers(batches, length, heads, height), numbers(batches, heads, height, width)
    beta = numbers(batches, length, heads)
    mask = mx.array(rng.random((batches, length)) < 0.7)
    for gates in (numbers(batches, length, heads), numbers(batches, length, heads, width)):
        for given in ((None, None), (state, mask)):
            for views in ((q, k, v), (q[:, ::-1], k[..., ::-1], v[:, ::-1])):
                for i in range(2):
                    near(lambda *x, stream, g=given, i=i: mx.fast.gated_delta_update(
                        *x, *g, stream=stream)[i], *views, gates, beta,
                        bound=8 * BOUNDS[dtype])  # fmt: skip
    near(lambda *x, stream: mx.fast.gated_delta_update(*x, stream=stream)[0],
         q[:, :0], k[:, :0], v[:, :0], gates[:, :0], beta[:, :0], bound=0)  # fmt: skip
