"""The pages of the documentation: their Python blocks run, and print what the pages show.

The blocks of a page run in order in one namespace, in an empty directory. A block with `>>>` is a
doctest; the output of others is not compared. `python torch` and the like mark a block that runs
where that package is installed, and a block of a language other than Python is not run here: the
C++ ones are parts of the examples, which other tests build.
"""

import doctest
import importlib.util
import pathlib
import re

import pytest
from memory_in_use import memory_in_use

import mlx.core as mx

pytestmark = pytest.mark.anywhere

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
FOLDERS = ("start", "guides", "from", "how")
PAGES = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]
PAGES.append(DOCS / "index.md")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", re.M | re.S)
LISTED = re.compile(r"^```\{(?:functions|classes)\} (\S+)\n(.*?)^```$", re.M | re.S)
NAME = re.compile(r"`((?:mx|nn|optim)(?:\.[A-Za-z_]\w*)+)")


def name_of(page):
    """The page's path below docs/."""
    return str(page.relative_to(DOCS))


def blocks(page):
    """(line, packages, code) of the Python blocks of a page."""
    text = page.read_text()
    for m in BLOCK.finditer(text):
        if m[1] == "python":
            yield text[: m.start(3)].count("\n") + 1, m[2].split(), m[3]


@pytest.fixture
def clean(tmp_path, monkeypatch):
    """An empty directory and a fixed seed; settings are put back."""
    monkeypatch.chdir(tmp_path)
    limits = mx.get_memory_limit(), mx.get_memory_ceiling()
    precision = mx.get_printoptions().precision
    device = mx.default_device()
    mx.random.seed(0)
    memory_in_use()  # frees the garbage of other tests: a page prints differences of such figures
    yield
    mx.set_memory_limit(limits[0])
    mx.set_memory_ceiling(limits[1])
    mx.set_printoptions(precision=precision)
    mx.set_default_device(device)
    mx.enable_compile()


@pytest.mark.cpu_only("pages show what the CPU prints")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page(page, clean):
    """Every block runs, and what is shown is printed."""
    space, said = {"__name__": "page"}, []
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=OPTIONS)
    for line, packages, code in blocks(page):
        if not all(map(importlib.util.find_spec, packages)):
            continue
        if ">>>" in code:
            test = parser.get_doctest(code, space, page.name, str(page), line - 1)
            runner.run(test, out=said.append, clear_globs=False)
            space = test.globs
        else:
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), space)
    assert not said, "".join(said)


def test_pages_exist():
    """All sections have pages with code."""
    for folder in FOLDERS:
        assert any(list(blocks(page)) for page in PAGES if page.parent.name == folder)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names(page):
    """Every function and class that the text names exists."""
    import mlx.nn as nn
    import mlx.optimizers as optim

    def found(path):
        head, *rest = path.split(".")
        value = {"mx": mx, "nn": nn, "optim": optim}[head]
        for name in rest:
            value = getattr(value, name, None)
        return value is not None or path == "mx.newaxis"

    assert [n for n in sorted(set(NAME.findall(page.read_text()))) if not found(n)] == []


def test_environment_variables():
    """The page lists the variables that the sources read, and no others."""
    root = DOCS.parent
    rooms = (root / "mlx", root / "python" / "src")
    sources = [p for room in rooms for end in ("cpp", "h") for p in room.rglob(f"*.{end}")]
    readers = "getenv|get_var|open_library_of_device|variable|seconds_of|whole_number|number_in"
    read = re.compile(rf'(?:(?:{readers})\(|first_set\(\{{)"(MLX_\w+)"')
    known = {name for source in sources for name in read.findall(source.read_text())}
    assert len(known) > 5
    page = (DOCS / "reference" / "environment.md").read_text()
    engine = page[: page.index("Variables of the build")]
    assert set(re.findall(r"^\| `(MLX_\w+)`", engine, re.M)) == known


def test_reference():
    """Names in the reference exist and have a text."""
    import importlib

    wanting = []
    pages = sorted((DOCS / "reference").glob("*.md"))
    blocks = [b for page in pages for b in LISTED.findall(page.read_text())]
    for where, names in blocks:
        module = mx
        if not where.startswith("mlx.core"):
            module = importlib.import_module(where)
        for part in where.split(".")[2:] if module is mx else ():
            module = getattr(module, part)
        for name in names.split():
            if name == "rest":
                continue
            listed = getattr(module, name, print)  # constants have a text of the site
            if listed is print or (callable(listed) and not text_of(listed)):
                wanting.append(f"{where}.{name}")
    assert wanting == []
    assert len(blocks) > 40


def text_of(value):
    """The text of a docstring, without the signatures."""
    parts = [doc for _, doc, *_ in getattr(value, "__nb_signature__", ())]
    return "".join(parts) or value.__doc__
