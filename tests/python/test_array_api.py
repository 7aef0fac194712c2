"""The array API standard: every row of the tables in array_api, and a few calls besides."""

import re

import pytest
from array_api import checks

import mlx.core as mx

# Rows that are not met, because functions of the same name do otherwise in MLX 0.32.4.
KEPT = [
    r"dtype cumulative_(sum|prod)\(u?int(8|16)\)",  # the dtype of the operand
    r"behaviour raises\(lambda: xp.cumulative_sum",  # no axis: all elements
]
CHECKS = dict(checks())
ROWS = list(CHECKS)
SHARE = 128  # rows of a test: on a GPU each compiles a kernel or two


def test_tables_have_rows():
    for table in ("signature", "dtype", "result_type", "special", "complex", "behaviour"):
        assert sum(row.startswith(table) for row in ROWS) > 50
    assert all(any(re.match(kept, row) for row in ROWS) for kept in KEPT)


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("first", range(0, len(ROWS), SHARE))
def test_rows(first):
    """A row is met, or it is one of those that are not."""
    wrong = []
    for row in ROWS[first : first + SHARE]:
        kept = any(re.match(pattern, row) for pattern in KEPT)
        try:
            CHECKS[row](mx)
        except Exception as e:
            if not kept:
                wrong.append(f"{row}\n    {type(e).__name__}: {e}")
        else:
            if kept:
                wrong.append(f"{row}\n    is met")
    text = "\n".join(wrong[:20])
    assert not wrong, f"{len(wrong)} rows:\n{text}"


NAMES = {
    "mx": mx,
    "x": mx.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]),
    "i": mx.array([[1, 2, 3], [4, 5, 6]]),
    "v": mx.array([3.0, 1.0, 2.0]),
}

CALLS = """
    mx.arange(0, stop=3, step=1, device=mx.cpu).shape == (3,)
    mx.zeros((2,), dtype=mx.int32, device=None).dtype == mx.int32
    mx.full((2,), fill_value=3, device=None).tolist() == [3, 3]
    mx.full_like(x, fill_value=2).shape == x.shape
    mx.eye(3, 4, k=1, dtype=mx.float32, device=None).shape == (3, 4)
    mx.astype(x, mx.int32, copy=True, device=None).dtype == mx.int32
    mx.reshape(x, (3, 2), copy=True).shape == (3, 2)
    mx.finfo(x).bits == 32 and mx.iinfo(mx.int8).bits == 8 and mx.iinfo(i).max == 2**31 - 1
    mx.isdtype(mx.bool, 'bool')
    mx.result_type(x, i, mx.int8, 1.0) == mx.float32
    mx.result_type(mx.float16, 1.0) == mx.float16
    mx.result_type(mx.int8, 1.0) == mx.float32
    mx.clip(x) is not None
    mx.unique_all(i).counts.tolist() == [1] * 6
    mx.argsort(mx.array([1, 2, 1, 2]), descending=True).tolist() == [1, 3, 0, 2]
    mx.searchsorted(mx.sort(v), 1.5).item() == 1
    mx.__array_api_version__ == '2025.12'
    x.__array_namespace__(api_version='2025.12') is mx
    x.to_device(x.device) is not None and x.device == mx.default_device()
    mx.fft.fftfreq(4, d=1.0, dtype=mx.float64, device=mx.cpu).dtype == mx.float64
    mx.moveaxis(x, (0, 1), (1, 0)).shape == (3, 2)
    mx.repeat(v, mx.array([1, 2, 0]), axis=0).tolist() == [3, 1, 1]
"""


@pytest.mark.parametrize("call", [c.strip() for c in CALLS.strip().splitlines()])
def test_signatures(call):
    assert eval(call, NAMES)


@pytest.mark.parametrize("call", ["mx.signbit(mx.array(1j))", "mx.hypot(1j, mx.array(1.0))"])
def test_complex_numbers_are_refused(call):
    with pytest.raises(ValueError, match="real dtypes"):
        eval(call, NAMES)
