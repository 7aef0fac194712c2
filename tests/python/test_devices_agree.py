"""What the GPU computes equals what the CPU does, bit for bit: run with --backend or --device gpu."""

import itertools

import numpy as np
import pytest

import mlx.core as mx

REAL = [mx.float16, mx.bfloat16, mx.float32, mx.float64]
INTEGERS = [mx.int8, mx.int16, mx.int32, mx.int64, mx.uint8, mx.uint16, mx.uint32, mx.uint64]
DTYPES = [mx.bool_, *INTEGERS, *REAL, mx.complex64, mx.complex128]


def bits(a):
    """The bytes of an array's elements, every NaN the same."""
    if a.dtype == mx.bfloat16:
        a = a.astype(mx.float32, stream=mx.cpu)
    x = np.array(a)
    parts = [x.real, x.imag] if np.iscomplexobj(x) else [x]
    whole = []
    for p in parts:
        p = np.ascontiguousarray(p)
        whole.append(np.where(p != p, np.zeros_like(p), p).tobytes() + (p != p).tobytes())
    return whole


def values(dtype, shape, seed=0):
    """An array of the dtype with elements of every size."""
    rng = np.random.default_rng(seed)
    if dtype == mx.bool_:
        return mx.array(rng.random(shape) < 0.5)
    if dtype in INTEGERS:
        info = mx.iinfo(dtype)
        name = str(dtype).rsplit(".", 1)[-1]
        return mx.array(rng.integers(info.min, info.max, shape, name, endpoint=True))
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)
    if dtype in (mx.complex64, mx.complex128):
        x = x + 1j * rng.standard_normal(shape)
        return mx.array(x.astype(np.complex64 if dtype == mx.complex64 else np.complex128))
    return mx.array(x.astype(np.float64)).astype(dtype, stream=mx.cpu)


def check(f, *arrays, **options):
    """Calls f on the GPU and on the CPU and compares."""
    on_gpu, on_cpu = f(*arrays, stream=mx.gpu, **options), f(*arrays, stream=mx.cpu, **options)
    assert (on_gpu.shape, on_gpu.dtype) == (on_cpu.shape, on_cpu.dtype)
    assert bits(on_gpu) == bits(on_cpu)


pytestmark = pytest.mark.gpu_only

REDUCTIONS = ["sum", "prod", "max", "min", "mean", "any", "all"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [*REDUCTIONS, "argmax", "argmin"])
def test_reductions(name, dtype):
    f = getattr(mx, name)
    x = values(dtype, (37, 5, 41))
    axes = [0, 1, 2, None] if name.startswith("arg") else [0, 1, 2, None, (0, 2), (1, 2)]
    for axis in axes:
        check(f, x, axis=axis)
    check(f, x.transpose(2, 0, 1), axis=0)
    check(f, x[::-2, :, ::3], axis=2)
    check(f, mx.broadcast_to(x[:1], (4, 5, 41)), axis=0)


@pytest.mark.parametrize("length", [1, 31, 32, 33, 511, 512, 513, 4096, 70001])
def test_the_order_of_sums(length):
    x = values(mx.float32, (length,))
    check(mx.sum, x)
    check(mx.sum, mx.broadcast_to(x[:, None], (length, 3)) * mx.array([1.0, 3.0, 0.1]), axis=0)


def test_columns():
    x = values(mx.float32, (3000, 70))
    for f, axis in itertools.product((mx.sum, mx.max, mx.mean, mx.argmax), (0, 1)):
        check(f, x, axis=axis)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "any", "all"])
def test_reductions_of_nothing(name):
    check(getattr(mx, name), mx.zeros((3, 0)), axis=1)


@pytest.mark.parametrize("dtype", [mx.bool_, mx.int8, mx.uint16, mx.int32, mx.uint64], ids=str)
def test_products_of_integers(dtype):
    a, b = values(dtype, (3, 70, 130), 1), values(dtype, (130, 65), 2)
    check(mx.matmul, a, b)
    check(mx.matmul, a.transpose(0, 2, 1)[:, ::-1], values(dtype, (3, 70, 9), 3))


FLOATS = {mx.float16: 2e-3, mx.bfloat16: 2e-2, mx.float32: 1e-5, mx.float64: 1e-13}


@pytest.mark.parametrize("dtype", [*FLOATS, mx.complex64, mx.complex128], ids=str)
def test_products_of_floats(dtype):
    bound = FLOATS.get(dtype) or (1e-5 if dtype == mx.complex64 else 1e-13)
    wide = mx.complex128 if dtype in (mx.complex64, mx.complex128) else mx.float64
    for shape_a, shape_b in (((37, 1100), (1100, 66)), ((2, 1, 5, 7), (3, 7, 1)), ((4, 0), (0, 3))):
        rng = np.random.default_rng(4)
        a, b = (mx.array(rng.standard_normal(s)).astype(dtype) for s in (shape_a, shape_b))
        found = np.array(mx.matmul(a, b, stream=mx.gpu).astype(wide, stream=mx.cpu))
        a, b = (np.array(x.astype(wide, stream=mx.cpu)) for x in (a, b))
        size = np.abs(a) @ np.abs(b)
        assert (np.abs(found - a @ b) <= bound * size + 1e-30).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_concatenate(dtype):
    a, b, c = values(dtype, (4, 5, 3), 1), values(dtype, (4, 2, 3), 2), values(dtype, (4, 0, 3), 3)

    def joined(a, b, c, stream):
        return mx.concatenate([a, b[::-1], c, a.transpose(0, 1, 2)[:, ::-2]], axis=1, stream=stream)

    check(joined, a, b, c)
