"""Inputs of any layout give the same results as contiguous ones."""

import cases
import numpy as np
import pytest
from cases.table import device_array, host, layouts


def same(row, got, want):
    """Whether two results agree: to the bit where the row promises it."""
    for g, w in zip(host(got), host(want), strict=True):
        if row.exact or g.dtype.kind in "biu":
            if not np.array_equal(g, w, equal_nan=g.dtype.kind in "fc"):
                return False
        elif g.shape != w.shape or not np.allclose(g, w, 1e-4, 1e-5, equal_nan=True):
            return False
    return True


def check(row):
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
    inputs = row.host_inputs(dtype)
    positions = row.differentiable()
    for first in positions:
        for name, values, build in layouts(inputs[first]):
            if values.size == 0 or not cases.chosen(f"layout {row.name} {first} {name}", 0.5):
                continue
            contiguous = [device_array(i) for i in inputs]
            odd = list(contiguous)
            contiguous[first], odd[first] = device_array(values), build()
            if not same(row, row.call(*odd), row.call(*contiguous)):
                yield f"input {first} {name}"
    if len(positions) > 1:
        for n in range(7):
            picked = [list(layouts(inputs[p])) for p in positions]
            odd, contiguous = [device_array(i) for i in inputs], [device_array(i) for i in inputs]
            for position, choices in zip(positions, picked, strict=True):
                _, values, build = choices[(n + 2 * position) % len(choices)]
                if values.size:
                    odd[position], contiguous[position] = build(), device_array(values)
            if cases.chosen(f"mixed {row.name} {n}", 0.3) and not same(
                row, row.call(*odd), row.call(*contiguous)
            ):
                yield f"mixed layouts {n}"


@pytest.mark.parametrize("family", cases.names())
def test_layouts(family):
    cases.run_rows(family, check)
