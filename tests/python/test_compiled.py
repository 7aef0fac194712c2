"""Compiled functions give the bits of eager ones, at the first call and at later ones."""

import cases
import numpy as np
import pytest
from cases.table import device_array, host

import mlx.core as mx


def check(row):
    for dtype in [d for d in row.dtypes if d in ("float32", "bfloat16", "int32", "complex64")]:
        if dtype != "float32" and not cases.chosen(f"compiled {row.name} {dtype}", 0.3):
            continue
        compiled = mx.compile(row.call)
        for seed in range(2):
            inputs = [device_array(i) for i in row.host_inputs(dtype, seed)]
            got, want = host(compiled(*inputs)), host(row.call(*inputs))
            for g, w in zip(got, want, strict=True):
                if not np.array_equal(g, w, equal_nan=g.dtype.kind in "fc"):
                    yield f"{dtype}, call {seed}: {g.ravel()[:4]}, eager {w.ravel()[:4]}"


@pytest.mark.parametrize("family", cases.names())
def test_compiled(family):
    cases.run_rows(family, check, lambda row: row.traced)


def around(row):
    """The row with elementwise work before and after, all of which may be fused."""
    positions = row.differentiable()

    def function(*inputs):
        inputs = [
            mx.exp(mx.tanh(i) * 0.5) * i if n in positions else i for n, i in enumerate(inputs)
        ]
        out = row.call(*inputs)
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        return [(mx.abs(o) + 1.5) * 0.25 - o for o in out if mx.issubdtype(o.dtype, mx.inexact)]

    return function


def check_fused(row):
    if "float32" not in row.dtypes or not cases.chosen("fused " + row.name, 0.4):
        return
    function = around(row)
    inputs = [device_array(i) for i in row.host_inputs("float32")]
    for n, (g, w) in enumerate(
        zip(host(mx.compile(function)(*inputs)), host(function(*inputs)), strict=True)
    ):
        if not np.array_equal(g, w, equal_nan=True):
            yield f"output {n}: {g.ravel()[:4]}, eager {w.ravel()[:4]}"


@pytest.mark.parametrize("family", cases.names())
def test_compiled_between_elementwise_work(family):
    cases.run_rows(family, check_fused, lambda row: row.traced)
