"""Functions of floats on Metal's emulated device: `pytest --backend metal metal_math_checks.py`.

test_metal.py runs it. Each unary function has the CPU's bits for every pattern of 16 bits, and for
float32 patterns of every exponent; the errors of the CPU's functions are in docs/accuracy.md.
"""

import numpy as np
import pytest
from metal_checks import FLOATS, agree, unary

import mlx.core as mx

pytestmark = [pytest.mark.gpu_only, pytest.mark.sampled(0.05)]  # --all runs all
STEP = 65_521  # a prime number: the patterns of float32 have all kinds of last bits


def patterns(dtype):
    """All patterns of 16 bits, or every 65,521st of 32 bits."""
    if dtype == mx.float32:
        return mx.array(np.arange(0, 1 << 32, STEP, dtype=np.uint32)).view(dtype)
    return mx.array(np.arange(1 << 16, dtype=np.uint16)).view(dtype)


@pytest.mark.parametrize("name", unary(mx.float32))
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_patterns(dtype, name):
    """A function has the same bits; a NaN has any."""
    f = getattr(mx, name)

    def known(x):
        y = f(x)
        return [y if y.dtype == mx.bool_ else mx.where(mx.isnan(y), mx.array(7, y.dtype), y)]

    agree(known, patterns(dtype))
