"""Docstrings of the Python layer: their form, and that their examples print what they show.

A public function or class starts with a verb, names each parameter under `Args:`, says what it
returns if its first line does not, and has an example.
"""

import doctest
import inspect
import re

import pytest

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx import extension, utils
from mlx.nn import init, losses, utils as nn_utils
from mlx.optimizers import schedulers

pytestmark = pytest.mark.anywhere

MODULES = (nn, losses, init, nn_utils, optim, schedulers, utils, extension)
VERBS = re.compile(
    "Add|Apply|Average|Build|Call|Cast|Compute|Convolve|Describe|Divide|Draw|Drop|Encode|Fold|Hold|List"
    "|Look|Make|Merge|Normalize|Pack|Replace|Resize|Restore|Return|Rotate|Scale|Set|Take|Turn|Undo|Unite"
    "|Write"
)
#: Parameters of calls that may be anything.
VARIADIC = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented():
    """Public functions and classes of the Python layer by name, each once."""
    found = {}
    for module in MODULES:
        for name, value in sorted(vars(module).items()):
            own = getattr(value, "__module__", "").startswith("mlx.") and name == getattr(
                value, "__name__", ""
            )
            bound = getattr(value, "__module__", "").startswith("mlx.core")
            if callable(value) and own and not bound and not name.startswith("_"):
                found.setdefault(id(value), (f"{value.__module__}.{name}", value))
    return dict(found.values())


def methods():
    """Public methods of the base classes."""
    for cls in (nn.Module, optim.Optimizer, optim.MultiOptimizer):
        for name, value in vars(cls).items():
            if not name.startswith("_") and not isinstance(value, staticmethod):
                yield f"{cls.__name__}.{name}", getattr(value, "fget", value)


ENTRIES = documented()
METHODS = dict(methods())


def namespace():
    """Names that examples use."""
    trees = {name: f for name, f in vars(utils).items() if name.startswith("tree_")}
    return {"mx": mx, "nn": nn, "optim": optim, **trees}


def test_all_are_found():
    """The modules are walked."""
    assert len(ENTRIES) > 140
    assert len(METHODS) > 20


@pytest.mark.parametrize("name", [*ENTRIES, *METHODS])
def test_form(name):
    """A verb, all parameters, the result."""
    value = ENTRIES.get(name) or METHODS[name]
    text = inspect.getdoc(value) or ""
    first = text.split("\n")[0]
    assert VERBS.fullmatch(first.split(" ")[0]), first
    assert first.endswith((".", ":"))
    made = value.__init__ if inspect.isclass(value) else value
    ours = getattr(made, "__module__", "mlx").startswith("mlx")
    parameters = [
        p.name
        for p in inspect.signature(made).parameters.values()
        if ours and p.name != "self" and p.kind not in VARIADIC
    ]
    if "as :meth:" in first or "with the same arguments" in first:
        return
    (arguments,) = re.findall(r"^Args:\n((?: .*\n?)*)", text, re.M) or [""]
    named = re.findall(r"^    (\w+):", arguments, re.M)
    assert [p for p in parameters if p not in named] == []
    if name in ENTRIES:
        assert ">>>" in text or name.endswith("clip_grad_norm_sharded")
    if inspect.isfunction(value) and first.split(" ")[0] in ("Build", "Turn", "Scale", "Average"):
        assert "Returns:" in text


@pytest.mark.cpu_only("examples show what the CPU prints")
@pytest.mark.parametrize("name", [*ENTRIES, *METHODS])
def test_example(name):
    """The example prints what it shows."""
    value, said = ENTRIES.get(name) or METHODS[name], []
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=OPTIONS)
    mx.random.seed(0)
    test = parser.get_doctest(inspect.getdoc(value) or "", namespace(), name, name, 0)
    runner.run(test, out=said.append)
    assert not said, "".join(said)
