"""Fused norms of rows in 16 bits are those in float32, rounded once."""

import numpy as np
import pytest

import mlx.core as mx

pytestmark = pytest.mark.cpu_only("sums of a GPU have another order for each dtype")

LENGTHS = [1, 7, 16, 31, 32, 33, 64, 100, 300]


def rows(n, dtype):
    """Rows and weights, of which some give subnormal, infinite and undefined results."""
    rng = np.random.default_rng(n)
    x, bias = rng.normal(size=(6, n)), rng.normal(size=n)
    weight = rng.normal(size=n) * 10.0 ** rng.integers(-3, 3, n)
    weight[:: max(1, n // 3)] *= 1e-39 if dtype == mx.bfloat16 else 1e-7
    bias[:: max(1, n // 3)] = 0
    x[4, n // 2], x[5, n // 3] = np.inf, np.nan
    return [mx.array(v, mx.float32).astype(dtype) for v in (x, weight, bias)]


def bits(a):
    """The words of an array, all NaNs as one."""
    return mx.where(mx.isnan(a), mx.array(np.nan, a.dtype), a).view(mx.uint16).tolist()


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16], ids=str)
@pytest.mark.parametrize("center", [False, True], ids=["rms_norm", "layer_norm"])
def test_narrow_norms_are_those_of_float32(center, dtype, n):
    def norm(x, w, b):
        if not center:
            return mx.fast.rms_norm(x, w, 1e-5)
        return mx.fast.layer_norm(x, w, b, 1e-5)

    given = rows(n, dtype)
    for w, b in ((True, True), (True, False), (False, True), (False, False)):
        x, weight, bias = given
        args = (x, weight if w else None, bias if b else None)
        wide = norm(*(a if a is None else a.astype(mx.float32) for a in args))
        assert bits(norm(*args)) == bits(wide.astype(dtype))
