"""Ops with kernels of their own on the GPU: equal to the CPU, or within a bound of the largest."""

import numpy as np
import pytest
from test_devices_agree import BOUNDS, DTYPES, INTEGERS, check, near, on, values

import mlx.core as mx

pytestmark = pytest.mark.gpu_only

COMPLEX = [mx.complex64, mx.complex128]
SCANS = ["cumsum", "cumprod", "cummax", "cummin"]


def layouts(x):
    """An array as it lies, and views of it."""
    return [x, x.transpose(2, 0, 1)[:, ::-1], mx.broadcast_to(x[:1], x.shape), x[:, :0]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scans(dtype):
    x = values(dtype, (3, 5, 40))
    for name in SCANS:
        f = getattr(mx, name)
        for a in layouts(x):
            check(f, a, axis=2)
        check(f, x, axis=0, reverse=True, inclusive=False)
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
