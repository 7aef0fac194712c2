"""Values of every row of the case lists against a reference in double precision."""

import cases
import numpy as np
import pytest
from cases.table import device_array, error_of, host, wide

pytestmark = pytest.mark.second_backend


def result_dtype(array):
    """The name of an array's dtype in mlx.core."""
    return str(array.dtype).rsplit(".", 1)[-1]


def flat(result):
    """The arrays of a result as a flat list."""
    return [a for r in result for a in flat(r)] if isinstance(result, (list, tuple)) else [result]


def check(row):
    for dtype in row.dtypes:
        if dtype not in ("float32", "int32") and not cases.chosen(f"value {row.name} {dtype}", 0.4):
            continue
        inputs = row.host_inputs(dtype)
        with np.errstate(all="ignore"):
            want = flat(row.reference(*map(wide, inputs)))
        got = flat(row.call(*map(device_array, inputs)))
        if len(got) != len(want):
            yield f"{dtype}: {len(got)} results, reference {len(want)}"
        for g, w in zip(got, want, strict=False):
            message = error_of(row, host(g)[0], w, result_dtype(g))
            if message:
                yield f"{dtype}: {message}"


@pytest.mark.parametrize("family", cases.names())
def test_values(family):
    cases.run_rows(family, check)
