"""Rows of the case lists on inputs that contain NaN, infinities, signed zeros and subnormals."""

import zlib

import cases
import numpy as np
import pytest
from cases.table import (
    FLOATS,
    device_array,
    dtype_name,
    error_of,
    host,
    leaves,
    numpy_dtype,
    smallest,
    wide,
)

FAMILIES = ["elementwise", "order", "reduce", "standard", "view"]


def strewn(values, dtype, salt, specials):
    """A copy of `values` in which about every third number is one of `specials`."""
    rng = np.random.RandomState(zlib.crc32(salt.encode()))
    chosen = rng.choice(np.array(specials), values.shape).astype(numpy_dtype(dtype))
    return np.where(rng.uniform(size=values.shape) < 0.3, chosen, values)


def variants(dtype):
    """Sets of special values, separate because NaN hides the effect of the others."""
    tiny = smallest(dtype)
    yield "nan", [np.nan]
    yield "infinities", [np.inf, -np.inf]
    yield "one infinity", [np.inf]
    yield "zeros", [0.0, -0.0, tiny, -tiny]
    yield "all", [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]


def check(row):
    for dtype in [d for d in row.dtypes if d in FLOATS]:
        for name, specials in variants(dtype):
            if not cases.chosen(f"special {row.name} {dtype} {name}", 0.15):
                continue
            inputs = [
                strewn(i, dtype, f"{row.name}{n}{name}", specials)
                if n in row.differentiable()
                else i
                for n, i in enumerate(row.host_inputs(dtype))
            ]
            with np.errstate(all="ignore"):
                wants = leaves(row.reference(*map(wide, inputs)))
            for got, want in zip(leaves(row.call(*map(device_array, inputs))), wants, strict=True):
                message = error_of(row, host(got)[0], want, dtype_name(got))
                if message:
                    yield f"{dtype} {name}: {message}"


@pytest.mark.parametrize("family", FAMILIES)
def test_special_values(family):
    cases.run_rows(family, check, lambda row: row.special)
