"""What README.md says: its example runs, its links lead somewhere, its reading path is short."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_example(capsys):
    """The example finds the line it looks for."""
    (source,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(source, {})
    loss = float(capsys.readouterr().out.split()[0])
    assert loss < 1e-6


def test_reading_path():
    """The listed files have about the listed lengths, and fewer than 2,000 lines together."""
    rows = re.findall(r"^\| (\d+) \| \[([^\]]+)\]", README, re.M)
    assert len(rows) > 10
    lengths = {path: len((ROOT / path).read_text().splitlines()) for _, path in rows}
    off = [(path, lengths[path]) for n, path in rows if abs(int(n) - lengths[path]) > 0.2 * int(n)]
    assert not off
    assert sum(lengths.values()) < 2000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    """Links to files lead to files."""
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing
