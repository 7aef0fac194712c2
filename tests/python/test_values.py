"""Values of every row of the case lists against a reference in double precision."""

import cases
import numpy as np
import pytest
from cases.table import device_array, dtype_name, error_of, host, leaves, wide


def check(row):
    for dtype in row.dtypes:
        if dtype not in ("float32", "int32") and not cases.chosen(f"value {row.name} {dtype}", 0.4):
            continue
        inputs = row.host_inputs(dtype)
        with np.errstate(all="ignore"):
            want = leaves(row.reference(*map(wide, inputs)))
        got = leaves(row.call(*map(device_array, inputs)))
        if len(got) != len(want):
            yield f"{dtype}: {len(got)} results, reference {len(want)}"
        for g, w in zip(got, want, strict=False):
            message = error_of(row, host(g)[0], w, dtype_name(g))
            if message:
                yield f"{dtype}: {message}"


@pytest.mark.parametrize("family", cases.names())
def test_values(family):
    cases.run_rows(family, check)
