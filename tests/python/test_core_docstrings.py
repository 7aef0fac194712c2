"""Docstrings of the functions of mlx.core: their form, and that examples print what they show.

A function starts with a verb, names each parameter under `Args:`, says what it returns under
`Returns:` and has an example. The texts are python/docstrings/*.txt.
"""

import doctest
import inspect
import re

import pytest

import mlx.core as mx

pytestmark = pytest.mark.anywhere

SUBMODULES = ("linalg", "fft", "random", "fast", "distributed", "special")
MODULES = {"": mx} | {f"{name}.": getattr(mx, name) for name in SUBMODULES}
VERBS = re.compile(
    "Accept|Add|Apply|Broadcast|Clear|Compute|Convert|Count|Draw|Drop|Evaluate|Exchange|Insert|Join|Let"
    "|Limit|Make|Merge|Move|Multiply|Pack|Permute|Raise|Read|Receive|Record|Reinterpret|Release"
    "|Remove|Repeat|Replace|Return|Reverse|Round|Seed|Send|Set|Shift|Split|Start|Take|Test|Trace"
    "|Undo|Unpack|Wait|Write"
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented():
    """The public functions by name, each once: other names of a function share its text."""
    found = {}
    for prefix, module in MODULES.items():
        for name, value in sorted(vars(module).items()):
            own = type(value).__name__ == "function" and hasattr(value, "__nb_signature__")
            if own and not re.match("_[^_]", name):
                found.setdefault(id(value), (prefix + value.__name__, value))
    return dict(found.values())


ENTRIES = documented()


def text_of(f):
    """The text that all signatures share."""
    (text,) = {doc for _, doc, _ in f.__nb_signature__}
    return text


def section(text, name):
    """The lines of a section of a docstring."""
    return (re.findall(rf"^{name}:\n((?: .*\n?)*)", text, re.M) or [""])[0]


def test_all_are_found():
    """The modules are walked."""
    assert len(ENTRIES) > 340


@pytest.mark.parametrize("name", ENTRIES)
def test_form(name):
    """A verb, all parameters and no others, the result, an example."""
    f = ENTRIES[name]
    text = text_of(f)
    first = text.split("\n\n")[0]
    assert VERBS.fullmatch(first.split(" ")[0]), first
    assert first.endswith(".")
    assert not re.search(r"\bwhere\b(?!`)", first.replace("`where`", "")), (
        "conditions begin with if"
    )
    parameters = set(inspect.signature(f).parameters)
    named = re.findall(r"^    (\w+):", section(text, "Args"), re.M)
    assert len(named) == len(set(named)) and set(named) == parameters
    returns = [s.partition(" -> ")[2] for s, *_ in f.__nb_signature__]
    assert bool(section(text, "Returns")) == (returns[0] != "None")
    without = re.search("RuntimeError: always|there is no other process", section(text, "Raises"))
    assert ">>>" in section(text, "Example") or without
    assert max(map(len, text.split("\n"))) <= 100


@pytest.mark.cpu_only("examples show what the CPU prints")
@pytest.mark.parametrize("name", ENTRIES)
def test_example(name, tmp_path, monkeypatch):
    """The example prints what it shows, and leaves no file behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said = []
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=OPTIONS)
    mx.random.seed(0)
    test = parser.get_doctest(text_of(ENTRIES[name]), {"mx": mx}, name, name, 0)
    runner.run(test, out=said.append)
    assert not said, "".join(said)


def test_every_text_has_a_function():
    """No entry outlives its function."""
    import importlib.util
    import pathlib

    root = pathlib.Path(__file__).parents[2] / "python"
    spec = importlib.util.spec_from_file_location("docstrings", root / "docstrings.py")
    docstrings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docstrings)
    names = {n for n in docstrings.entries() if not n.startswith("array.")}
    assert names - set(ENTRIES) == set()


def test_methods_of_arrays_have_a_text():
    """The docstring of the function of the same name, where a method has none."""
    for name in dir(mx.array(1)):
        method = inspect.getattr_static(mx.array, name)
        if hasattr(method, "__nb_signature__"):
            assert min(len(doc) for _, doc, _ in method.__nb_signature__) > 3, name
    assert "See `mlx.core.argmax`" in mx.array.argmax.__doc__


@pytest.mark.parametrize("name", ["sum", "linspace", "clip", "linalg.qr"])
def test_help_shows_the_text_of_overloaded_functions(name):
    """`help` prints all signatures, then the text."""
    f = ENTRIES[name]
    assert f.__doc__.endswith(text_of(f)) and f.__doc__.count(name.split(".")[-1] + "(") > 1
