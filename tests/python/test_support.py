"""The page docs/support.md: its marks are measured, and every function is on it."""

import pathlib
import sys

import pytest

import mlx.core as mx

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def support():
    """The script that writes the page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tests")
        import support

        yield support
        del sys.modules["support"]


@pytest.fixture(scope="module")
def table(support):
    """The rows of each function."""
    return support.rows_by_function()


# Of these, some have derivatives although their tests leave them out, some only for complex
# numbers, and some have a derivative that cancels where all tangents are equal.
@pytest.mark.parametrize("transform", [mx.vjp, mx.jvp])
@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("copysign", "●"),
        ("array.astype", "●"),
        ("imag", "●"),
        ("sign", "●"),
        ("subtract", "●"),
        ("softmax", "●"),
        ("sin", "●"),
        ("floor", "0"),
        ("argmax", "0"),
        ("equal", "0"),
        ("bitwise_and", ""),
    ],
)
def test_marks_of_derivatives(support, table, name, transform, mark):
    """A function is marked as having a derivative if one is found that is not zero."""
    marks = {support.derivative(row, transform) for row in table[name]}
    assert max(marks, key=["", "0", "●"].index) == mark


def test_words(support):
    """The page has the script's words about devices, engines and tests."""
    page = support.PAGE.read_text()
    assert [
        text for text in (support.HEAD, support.COLLECTIVES, support.TESTS) if text not in page
    ] == []


def test_collectives(support):
    """The page has the lines that running gives."""
    page = support.PAGE.read_text()
    assert [line for line in support.collectives() if line not in page] == []


def test_every_function_is_listed(support, table):
    """In the table, or among those without rows."""
    page = support.PAGE.read_text()
    assert [n for n in table if f"\n| {n} |" not in page] == []
    assert [n for n in support.without_rows(table) if f"`{n}`" not in page] == []
