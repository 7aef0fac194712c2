"""Ops that accept float32 accept float64, ops that accept complex64 accept complex128, with that
precision."""

import cases
import numpy as np
import pytest
from cases.table import device_array, dtype_name, host, leaves

import mlx.core as mx

DOUBLE = {"float32": "float64", "complex64": "complex128"}


def run(row, dtype):
    """Results of a row, or None where it refuses the dtype."""
    try:
        inputs = row.host_inputs(dtype)
        got = leaves(row.call(*map(device_array, inputs)))
        mx.eval(got)
        return inputs, got
    except (ValueError, TypeError, NotImplementedError):
        return None


def check(row):
    for single, double in DOUBLE.items():
        if not row.differentiable():
            continue  # its arrays are given, with their dtypes
        narrow = run(row, single)
        if narrow is None:
            continue
        wide = run(row, double)
        if wide is None:
            yield f"{single} is taken, {double} refused"
            continue
        for a, b in zip(narrow[1], wide[1], strict=True):
            t = dtype_name(a)
            if t in DOUBLE and dtype_name(b) != DOUBLE[t] and "dtype=mx." not in row.expr:
                yield f"{double}: gives {dtype_name(b)} where {single} gives {t}"
        if double not in row.dtypes or "float32" in row.expr + row.ref:
            continue  # the reference is not for this dtype
        with np.errstate(all="ignore"):
            want = leaves(row.reference(*wide[0]))
        for g, w in zip(wide[1], want, strict=False):
            g, w = host(g)[0], np.asarray(w)
            if g.dtype.kind not in "fc" or g.shape != w.shape or w.dtype.kind not in "fc":
                continue
            finite = np.isfinite(w) & np.isfinite(g)
            scale = max(1e-300, np.max(np.abs(w[finite]), initial=0))
            error = np.max(np.abs(g[finite] - w[finite]), initial=0) / scale
            if error > max(1e-12, row.ulps * 2.0**-52):
                yield f"{double}: error {error:.1e}"


@pytest.mark.parametrize("family", cases.names())
def test_double_precision(family):
    cases.run_rows(family, check)
