"""Packed matrices: values against NumPy, derivatives, batching, files of the wheel's layout."""

import ml_dtypes
import numpy as np
import pytest

import mlx.core as mx

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
MODES = {"mxfp4": (32, 4), "mxfp8": (32, 8), "nvfp4": (16, 4)}
AFFINE = [("affine", g, b) for g in (32, 64, 128) for b in (1, 2, 3, 4, 5, 6, 8)]
ALL = [*AFFINE, *((m, *k) for m, k in MODES.items())]
EPS = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}


def e4m3(codes):
    return codes.astype("uint8").view(ml_dtypes.float8_e4m3fn).astype("float64")


def packed(seed, rows, columns, mode, group, bits):
    """Arguments of the products, keywords, and the matrix they stand for."""
    rng = np.random.RandomState(seed)
    codes = rng.randint(0, 2**bits, (rows, columns))
    if mode == "mxfp8":
        codes = np.where(codes & 127 == 127, 0, codes)
    stream = ((codes[..., None] >> np.arange(bits)) & 1).reshape(rows, -1).astype("uint8")
    words = mx.array(np.packbits(stream, -1, "little").view("uint32"))
    shape = (rows, columns // group)
    keys = {"mode": mode, "group_size": group, "bits": bits}
    if mode == "affine":
        scales = (rng.randint(1, 9, shape) / 64).astype("float32")
        biases = (rng.randint(-8, 9, shape) / 16).astype("float32")
        matrix = codes * np.repeat(scales, group, -1) + np.repeat(biases, group, -1)
        return (words, mx.array(scales), mx.array(biases)), keys, matrix
    scales = rng.randint(*((20, 60) if mode == "nvfp4" else (120, 130)), shape).astype("uint8")
    unit = e4m3(scales) if mode == "nvfp4" else 2.0 ** (scales - 127.0)
    values = e4m3(codes) if bits == 8 else E2M1[codes & 7] * np.where(codes & 8, -1, 1)
    return (words, mx.array(scales)), keys, values * np.repeat(unit, group, -1)


def random(seed, *shape, dtype="float32"):
    return mx.array(np.random.RandomState(seed).uniform(-1, 1, shape)).astype(getattr(mx, dtype))


def host(a):
    return np.array(a.astype(mx.float32)).astype("float64")


def close(got, want, eps):
    want = np.asarray(want)
    assert got.shape == want.shape
    assert np.abs(host(got) - want).max(initial=0) <= eps * np.abs(want).max(initial=1e-30)


@pytest.mark.parametrize("mode, group, bits", ALL)
def test_dequantize(mode, group, bits):
    args, keys, matrix = packed(1, 7, 384, mode, group, bits)
    close(mx.dequantize(*args, **keys, dtype=mx.float32), matrix, 1e-7)
    strided = [mx.repeat(a, 2, 0)[::2] for a in args]
    close(mx.dequantize(*strided, **keys, dtype=mx.bfloat16), matrix, 8e-3)


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("mode, group, bits", ALL)
def test_products(mode, group, bits, dtype):
    for columns in {group, 3 * group, 1152}:
        args, keys, matrix = packed(columns, 75, columns, mode, group, bits)
        for m in (1, 2, 5, 12, 13, 40):
            x = random(m, m, columns, dtype=dtype)
            got = mx.quantized_matmul(x, *args, **keys)
            close(got.astype(mx.float32), host(x) @ matrix.T, 2 * EPS[dtype])
        y = random(3, 6, 75, dtype=dtype)
        got = mx.quantized_matmul(y, *args, transpose=False, **keys)
        close(got.astype(mx.float32), host(y) @ matrix, 2 * EPS[dtype])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode, group, bits", ALL)
def test_products_of_uneven_rows(mode, group, bits, dtype):
    """Outliers, whose weights are zero, among small numbers; rows of tiny numbers; few nonzeros."""
    columns = 9 * group
    args, keys, matrix = packed(7, 21, columns, mode, group, bits)
    outliers = np.zeros(columns, bool)
    outliers[5 :: 3 * group] = True
    rng = np.random.RandomState(1)
    rows = {
        "alike": rng.standard_normal(columns),
        "outliers": np.where(outliers, 3000, rng.standard_normal(columns)),
        "zeros": np.where(rng.uniform(size=columns) < 0.95, 0, rng.standard_normal(columns)),
        "tiny": rng.standard_normal(columns) * 2.0**-14,
    }
    x = mx.array(np.stack(list(rows.values()))).astype(getattr(mx, dtype))
    for m in (1, 4):
        got = mx.concatenate(
            [mx.quantized_matmul(x[i : i + m], *args, **keys) for i in range(0, 4, m)]
        )
        products = host(x)[:, None] * matrix
        small = np.abs(np.where(outliers, 0, products)).sum(-1)
        want = products.sum(-1)
        bound = EPS[dtype] * np.abs(want) + 1e-4 * small + 2.0**-24
        representable = np.abs(want) < 6e4  # as float16
        assert np.all((np.abs(host(got) - want) <= bound) | ~representable), rows.keys()


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_outliers_without_weight(bits, dtype):
    """An outlier with a weight of zero takes no precision from the small numbers beside it."""
    rng = np.random.RandomState(bits)
    zero = 2 ** (bits - 1)
    codes = rng.randint(0, 2**bits, (19, 256))
    codes[:, [3, 200]] = zero
    stream = ((codes[..., None] >> np.arange(bits)) & 1).reshape(19, -1).astype("uint8")
    words = mx.array(np.packbits(stream, -1, "little").view("uint32"))
    scales = mx.full((19, 4), 0.125, getattr(mx, dtype))
    x = rng.standard_normal((3, 256))
    x[1:, [3, 200]] = 3000, -7000
    x = mx.array(x).astype(getattr(mx, dtype))
    got = mx.quantized_matmul(x, words, scales, -zero * scales, bits=bits)
    products = host(x)[:, None] * ((codes - zero) * 0.125)
    want, size = products.sum(-1), np.abs(products).sum(-1)
    assert np.all(np.abs(host(got) - want) <= EPS[dtype] * np.abs(want) + 1e-4 * size)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("mode, group, bits", ALL)
def test_products_of_rows_that_are_not_finite(mode, group, bits, value):
    args, keys, matrix = packed(3, 9, 3 * group, mode, group, bits)
    x = host(random(0, 3, 3 * group, dtype="bfloat16"))
    x[1, 4] = value
    got = host(mx.quantized_matmul(mx.array(x).astype(mx.bfloat16), *args, **keys))
    assert not np.isfinite(got[1]).any()
    want = x[::2] @ matrix.T
    assert np.abs(got[::2] - want).max() <= 2 * EPS["bfloat16"] * np.abs(want).max()


@pytest.mark.parametrize("mode, group, bits", ALL)
def test_quantize_is_near(mode, group, bits):
    w = random(3, 9, 256)
    args = mx.quantize(w, group, bits, mode)
    got = host(mx.dequantize(*args, group_size=group, bits=bits, mode=mode, dtype=mx.float32))
    steps = {"mxfp4": 0.35, "mxfp8": 0.07, "nvfp4": 0.2}.get(mode, 2.0 / (2**bits - 1))
    assert np.abs(got - host(w)).max() <= steps


def test_many_threads_and_rows():
    args, keys, matrix = packed(5, 1030, 4096, "affine", 64, 4)
    for m in (1, 3, 300):
        x = random(m, m, 4096)
        close(mx.quantized_matmul(x, *args, **keys), host(x) @ matrix.T, 1e-5)


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("transpose", [True, False])
def test_rows_of_several_blocks(transpose, dtype):
    """More rows of x than a block has, and a last block that is not full."""
    args, keys, matrix = packed(3, 128, 192, "affine", 64, 4)
    matrix = matrix.T if transpose else matrix
    for rows in (145, 192, 213, 700):
        x = random(rows, rows, matrix.shape[0], dtype=dtype)
        got = mx.quantized_matmul(x, *args, transpose=transpose, **keys)
        bound = np.abs(host(x)) @ np.abs(matrix)
        assert (np.abs(host(got) - host(x) @ matrix) <= EPS[dtype] * bound).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("group", [32, 64, 128])
def test_few_rows_with_scales_of_their_dtype(group, bits, dtype):
    """One or several stages of the inner axis, partial ones, and rows beside the last block's."""
    for n, columns in ((1, 256), (19, 512), (40, 2304), (16, 4864)):
        args, keys, matrix = packed(n, n, columns, "affine", group, bits)
        args = args[0], *(a.astype(getattr(mx, dtype)) for a in args[1:])
        for m in (1, 3, 8):
            x = random(m, m, columns, dtype=dtype)
            bound = np.abs(host(x)) @ np.abs(matrix.T)
            for got in (
                mx.quantized_matmul(x, *args, **keys),
                mx.quantized_matmul(
                    mx.pad(x.reshape(-1), (1, 0))[1:].reshape(m, -1), *args, **keys
                ),
            ):
                assert (np.abs(host(got) - host(x) @ matrix.T) <= EPS[dtype] * bound).all()


@pytest.mark.parametrize("rows", [1, 3])
def test_gather_of_few_rows(rows):
    made = [packed(e, 24, 1152, "affine", 64, 4) for e in range(3)]
    words, scales, biases = (mx.stack([m[0][i] for m in made]) for i in range(3))
    scales, biases = scales.astype(mx.bfloat16), biases.astype(mx.bfloat16)
    x, at, of = random(0, 5, rows, 1152, dtype="bfloat16"), [4, 0, 0, 2], [2, 1, 0, 2]
    got = mx.gather_qmm(x, words, scales, biases, mx.array(at), mx.array(of))
    for result, i, e in zip(got, at, of, strict=True):
        bound = np.abs(host(x[i])) @ np.abs(made[e][2].T)
        want = host(x[i]) @ made[e][2].T
        assert (np.abs(host(result) - want) <= EPS["bfloat16"] * bound).all()


def test_batches_broadcast():
    w = random(0, 5, 16, 128)
    args = mx.quantize(w)
    full = host(mx.dequantize(*args))
    for shape in ((5, 3, 128), (2, 1, 3, 128), (3, 128), (2, 5, 1, 128), (0, 128)):
        x = random(1, *shape)
        close(mx.quantized_matmul(x, *args), host(x) @ full.swapaxes(-1, -2), 1e-5)
    x = random(1, 128)
    one = mx.quantize(w[0])
    close(mx.quantized_matmul(x, *one), host(x) @ host(mx.dequantize(*one)).T, 1e-5)
    assert mx.quantized_matmul(x[None], *mx.quantize(mx.zeros((0, 128)))).shape == (1, 0)


@pytest.mark.parametrize("transpose", [True, False])
def test_derivatives_are_those_of_the_matrix(transpose):
    w, scales, biases = mx.quantize(random(0, 64, 128))
    x, g = random(1, 2, 3, 128 if transpose else 64), random(2, 2, 3, 64 if transpose else 128)

    def packed_product(x, s, b):
        return mx.quantized_matmul(x, w, s, b, transpose=transpose)

    def plain_product(x, s, b):
        full = mx.dequantize(w, s, b)
        return x @ (full.T if transpose else full)

    primals = [x, scales, biases]
    for transform, seeds in ((mx.vjp, [g]), (mx.jvp, [x, scales * 2, biases * 3])):
        got, want = (transform(f, primals, seeds)[1] for f in (packed_product, plain_product))
        for a, b in zip(got, want, strict=True):
            close(a, host(b), 1e-5)


def test_batching():
    w = mx.quantize(random(0, 4, 16, 128))
    x = random(1, 4, 3, 128)
    one = [a[1] for a in w]
    each = [mx.quantized_matmul(x[i], *(a[i] for a in w)) for i in range(4)]
    close(mx.vmap(mx.quantized_matmul)(x, *w), np.stack([host(e) for e in each]), 1e-5)
    got = mx.vmap(lambda x: mx.quantized_matmul(x, *one), in_axes=1, out_axes=1)(x)
    close(got, host(mx.quantized_matmul(x, *one)), 1e-5)
    got = mx.vmap(lambda w, s, b: mx.quantized_matmul(x[0], w, s, b))(*w)
    close(got, host(mx.quantized_matmul(x[0][None], *w)), 1e-5)
    close(mx.vmap(mx.dequantize)(*w), host(mx.dequantize(*w)), 0)


@pytest.mark.parametrize("transpose", [True, False])
def test_gather(transpose):
    w, scales, biases = mx.quantize(random(0, 5, 64, 128))
    n = 128 if transpose else 64
    x, lhs, rhs = random(1, 3, 2, n), mx.array([[0, 1], [2, -1]]), mx.array([[4, 1], [1, 0]])

    def packed_product(x, s, b):
        return mx.gather_qmm(x, w, s, b, lhs, rhs, transpose)

    def plain_product(x, s, b):
        full = mx.dequantize(w, s, b)
        return mx.gather_mm(x, full.swapaxes(-1, -2) if transpose else full, lhs, rhs)

    primals = [x, scales, biases]
    close(packed_product(*primals), host(plain_product(*primals)), 1e-5)
    g = random(2, *packed_product(*primals).shape)
    for transform, seeds in ((mx.vjp, [g]), (mx.jvp, [x, scales, biases])):
        got, want = (transform(f, primals, seeds)[1] for f in (packed_product, plain_product))
        for a, b in zip(got, want, strict=True):
            close(a, host(b), 1e-5)
    many = mx.stack([x, 2 * x])
    close(
        mx.vmap(lambda x: packed_product(x, scales, biases))(many),
        np.stack([host(packed_product(m, scales, biases)) for m in many]),
        1e-5,
    )
    with pytest.raises(IndexError):
        mx.eval(mx.gather_qmm(x, w, scales, biases, lhs, mx.array([5]), transpose))


@pytest.mark.parametrize("mode", MODES)
def test_rounded_products(mode):
    x, w = random(0, 3, 128), random(1, 32, 128)
    packed = [mx.quantize(a, mode=mode) for a in (x, w)]
    rounded = [host(mx.dequantize(*p, mode=mode, dtype=mx.float32)) for p in packed]
    want = rounded[0] @ rounded[1].T
    close(mx.qqmm(x, w, mode=mode), want, 1e-5)
    close(mx.qqmm(x, *mx.quantize(w, mode=mode), mode=mode), want, 1e-5)
    experts = mx.quantize(mx.stack([w, -w]), mode=mode)
    got = mx.gather_qqmm(x[None], *experts, rhs_indices=mx.array([1]), mode=mode)
    close(got, -want[None], 1e-5)
    gx, gw = mx.grad(lambda x, w: mx.qqmm(x, w, mode=mode).sum(), argnums=(0, 1))(x, w)
    close(gx, np.broadcast_to(rounded[1].sum(0), (3, 128)), 1e-5)
    close(gw, np.broadcast_to(rounded[0].sum(0), (32, 128)), 1e-5)


def test_global_scale():
    x, w = random(0, 3, 64), random(1, 8, 64)
    gx, gw = mx.array(5.0), mx.array(700.0)
    q = mx.quantize(w, mode="nvfp4", global_scale=gw)
    full = mx.dequantize(*q, mode="nvfp4", global_scale=gw)
    assert np.abs(host(full) - host(w)).max() < 0.2
    round_x = mx.quantize(x, mode="nvfp4", global_scale=gx)
    round_x = mx.dequantize(*round_x, mode="nvfp4", global_scale=gx)
    want = host(round_x) @ host(full).T
    close(mx.qqmm(x, *q, global_scale_x=gx, global_scale_w=gw), want, 1e-5)
    close(mx.qqmm(x, w, global_scale_x=gx, global_scale_w=gw), want, 1e-5)


def test_errors_name_accepted_arguments():
    w, x = random(0, 16, 128), random(1, 3, 128)
    q, s, b = mx.quantize(w)
    for call in (
        lambda: mx.quantize(w, 48),
        lambda: mx.quantize(w, bits=7),
        lambda: mx.quantize(w, mode="nvfp4", bits=8),
        lambda: mx.quantize(w, mode="other"),
        lambda: mx.quantize(w[0]),
        lambda: mx.quantize(w[:, :100]),
        lambda: mx.quantize(w.astype(mx.int32)),
        lambda: mx.quantize(w, global_scale=mx.array(1.0)),
        lambda: mx.dequantize(q, s),
        lambda: mx.dequantize(q, s[:3], b[:3]),
        lambda: mx.dequantize(q.astype(mx.int32), s, b),
        lambda: mx.quantized_matmul(x[:, :64], q, s, b),
        lambda: mx.quantized_matmul(x, q, s, b, bits=8),
        lambda: mx.quantized_matmul(x.astype(mx.complex64), q, s, b),
        lambda: mx.qqmm(x, w, mode="affine"),
    ):
        with pytest.raises(ValueError, match=r"^\[\w+\] .*; .*(accepted|need|has |have )"):
            call()


def test_compiled():
    args, keys, _ = packed(1, 64, 128, "affine", 64, 4)
    f = mx.compile(lambda x: mx.quantized_matmul(x * 2, *args, **keys) + 1)
    x = random(0, 3, 128)
    assert mx.array_equal(f(x), mx.quantized_matmul(x * 2, *args, **keys) + 1)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_small_weights_of_large_codes(dtype):
    """The rounding of activations counts by the size of a weight, not of its scale and code."""
    rng = np.random.RandomState(0)
    large = rng.rand(128) < 0.1
    w = np.where(large, rng.choice([-300, 300], (64, 128)), rng.uniform(-1, 1, (64, 128)))
    weight, *units = mx.quantize(mx.array(w.astype(np.float32)).astype(dtype), 32, 8)
    wide = [u.astype(mx.float32) for u in units]
    whole = np.array(mx.dequantize(weight, *wide, group_size=32, bits=8).astype(mx.float64))
    x = rng.uniform(0.3, 1, (3, 128)) * np.where(np.arange(128) % 2, 1, 2.0**-8)
    x = np.where(large, 0, x)  # no large weight is read
    x = mx.array(x.astype(np.float32)).astype(dtype)
    got = np.array(mx.quantized_matmul(x, weight, *units, group_size=32, bits=8).astype(mx.float64))
    given = np.array(x.astype(mx.float64))
    want = given @ whole.T
    eps = 2.0**-8 if dtype == mx.bfloat16 else 2.0**-11
    sums = 2.0**-22 * 600 * given.sum(1, keepdims=True)  # of codes and of biases, in float32
    bound = eps * np.abs(want) + 2.0**-14 * (given != 0) @ np.abs(whole).T + sums
    assert (np.abs(got - want) <= bound).all()
