"""The documentation names the tests that do not run on a GPU."""

import pathlib
import re

import cpu_only

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_page_names_each_of_them_with_its_reason():
    """`./dev support` writes the table."""
    page = (ROOT / "docs" / "support.md").read_text()
    assert "\n".join(cpu_only.table()) in page


def test_all_marks_are_found():
    """Also those that a decorator or a list of marks holds in another way."""
    files = [*cpu_only.HERE.glob("test_*.py"), *cpu_only.HERE.glob("*/test_*.py")]
    written = sum(len(re.findall(r"mark\.cpu_only\(", path.read_text())) for path in files)
    assert len(cpu_only.table()) - 2 == written
