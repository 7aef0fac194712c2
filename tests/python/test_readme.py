"""README.md: its example runs, its links exist, its reading list covers every pass."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_example(capsys):
    """The example converges."""
    (source,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(source, {})
    loss = float(capsys.readouterr().out.split()[0])
    assert loss < 1e-6


def test_reading_path():
    """Every pass is listed; files have about the listed lengths, and together under 3,700 lines."""
    rows = re.findall(r"^\| (\d+) \| \[([^\]]+)\]", README, re.M)
    assert len(rows) > 10
    lengths = {path: len((ROOT / path).read_text().splitlines()) for _, path in rows}
    off = [(path, lengths[path]) for n, path in rows if abs(int(n) - lengths[path]) > 0.2 * int(n)]
    assert not off
    assert sum(lengths.values()) < 3700
    passes = (ROOT / "mlx/runtime/evaluate.cpp").read_text()
    files = {f"mlx/runtime/{name}.cpp" for name in re.findall(r"run_pass\(Pass::(\w+)", passes)}
    files = {path for path in files if (ROOT / path).exists()}
    assert len(files) > 5
    assert files <= set(lengths)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    """Linked files exist."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing
