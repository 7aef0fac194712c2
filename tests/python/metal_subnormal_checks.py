"""Arithmetic of a device that takes subnormal float32 numbers as zeros: `pytest --backend metal`.

test_metal.py runs it. A subnormal operand counts as itself or as a zero of its sign, and a result
below the normal range as any other, also of bfloat16. float16 has its subnormal numbers.
"""

import os

import numpy as np
import pytest
from metal_checks import FLOATS, ORDERED, binary, unary
from processes import run_program

import mlx.core as mx

pytestmark = [pytest.mark.gpu_only]
LEAST = np.float32(2.0**-126)  # normal


@pytest.fixture
def flushing():
    """The emulated device takes subnormal numbers as zeros."""
    os.environ["MLX_EMULATION_SUBNORMALS"] = "flush"
    yield
    del os.environ["MLX_EMULATION_SUBNORMALS"]


def of_host(a):
    """The elements, those of bfloat16 as float32."""
    return np.array(a.astype(mx.float32, stream=mx.cpu) if a.dtype == mx.bfloat16 else a)


def with_zeros(x):
    """Zeros of the sign of subnormal numbers in their place."""
    return np.where(np.abs(x) < LEAST, np.copysign(np.float32(0), x), x).astype(x.dtype)


def small(dtype, n, seed):
    """Numbers of every size, many of them subnormal or almost."""
    rng = np.random.default_rng(seed)
    low = rng.choice([-149, -130], n)
    x = rng.standard_normal(n) * 2.0 ** rng.integers(low, np.where(rng.random(n) < 0.5, -120, 120))
    return mx.array(x.astype(np.float32)).astype(dtype, stream=mx.cpu)


def alike(got, want):
    """Elements that are equal, or both below the normal range; rounding may end at its least."""
    if got.dtype == bool:
        return got == want
    below = (np.abs(got) <= LEAST) & (np.abs(want) <= LEAST)
    return (got == want) | ((got != got) & (want != want)) | below


@pytest.mark.sampled(0.4)  # --all runs all
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("names", [unary, binary])
def test_elementwise_ops(flushing, names, dtype):
    """Each op has the CPU's result of the operands, or of zeros in the place of subnormal ones."""
    operands = [small(dtype, 1000, seed) for seed in range(1 if names is unary else 2)]
    zeros = [mx.array(with_zeros(of_host(a))).astype(dtype, stream=mx.cpu) for a in operands]
    part = 8 if names is unary else 6  # as in metal_checks, which has compiled these kernels
    every = names(dtype)
    for some in (every[k : k + part] for k in range(0, len(every), part)):
        got = [getattr(mx, n)(*operands) for n in some]
        mx.eval(got)
        for name, g in zip(some, got, strict=True):
            first, second = (
                of_host(getattr(mx, name)(*given, stream=mx.cpu)) for given in (operands, zeros)
            )
            g = of_host(g)
            assert (alike(g, first) | alike(g, second)).all(), name


def test_subnormal_numbers(flushing):
    """float32 and bfloat16 are zeros in arithmetic, and float16 is not; copies keep them all."""
    for dtype, zero in ((mx.float32, True), (mx.bfloat16, True), (mx.float16, False)):
        x = mx.array(1e-6 if dtype == mx.float16 else 1e-39, dtype)
        assert ((x * 0.5).item() == 0) == zero
        assert mx.contiguous(mx.broadcast_to(x, (3, 5)).T)[1, 1].item() == x.item() != 0


FAMILIES = f"""
import os
import numpy as np
found = []
for mode in ("keep", "flush"):
    os.environ["MLX_EMULATION_SUBNORMALS"] = mode
{ORDERED.rsplit("print", 1)[0].replace(chr(10), chr(10) + "    ")}
    mx.eval(results)
    found.append([np.array(a) for r in results for a in (r if isinstance(r, tuple) else [r])])
for x, y in zip(*found, strict=True):
    assert np.array_equal(x, y) or np.abs(x - y).max() < 1e-30, (x.shape, x.dtype)
"""


@pytest.mark.sampled(0.4)
def test_results_of_ordinary_numbers():
    """Kernels of families give the same ones, up to sums of what underflows."""
    assert run_program(FAMILIES, MLX_DEVICE="") == (0, "", "")
