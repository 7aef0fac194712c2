"""Signatures, docstrings, stubs and behaviour say the same of each function's parameters."""

import ast
import inspect
import pathlib
import re

import processes
import pytest

import mlx.core as mx

pytestmark = pytest.mark.anywhere

SUBMODULES = ("fast", "fft", "linalg", "random", "special")
MODULES = {"": mx} | {name: getattr(mx, name) for name in SUBMODULES}
FUNCTION = type(mx.add)


def functions():
    """Bound functions by the name under which they are found."""
    found = {}
    for prefix, module in MODULES.items():
        for name in dir(module):
            if isinstance(getattr(module, name), FUNCTION):
                found[f"{prefix}.{name}".lstrip(".")] = getattr(module, name)
    for name in dir(mx.array):
        member = inspect.getattr_static(mx.array, name)
        if isinstance(member, FUNCTION):
            found[f"array.{name}"] = member
    return found


FUNCTIONS = functions()


def declared(line):
    """Names of the parameters in a declaration, and of those that keywords can name."""
    a = ast.parse(f"def {line}: ...").body[0].args
    positional = [x.arg for x in a.posonlyargs]
    keywords = [x.arg for x in [*a.args, *a.kwonlyargs]]
    variadic = [x.arg for x in (a.vararg, a.kwarg) if x]
    return {*positional, *keywords, *variadic}, set(keywords)


def declarations(f):
    """The lines of a docstring that declare the function."""
    lines = f.__doc__.split("\n\n")[0].splitlines()
    assert lines
    return lines


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature_has_the_declaration_of_the_docstring(name):
    f = FUNCTIONS[name]
    lines = declarations(f)
    names, keywords = declared(lines[0])
    for line in lines[1:]:  # a parameter without a keyword is the first line's
        names |= declared(line)[1]
        keywords |= declared(line)[1]
    parameters = inspect.signature(f).parameters
    assert set(parameters) == names
    named = {
        p.name for p in parameters.values() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    }
    assert named <= keywords
    by_position = {p.name for p in parameters.values() if p.kind == p.POSITIONAL_ONLY}
    assert named | by_position >= keywords


def is_known(f, keyword):
    """False where the call says that there is no such keyword."""
    try:
        f(**{keyword: object()})
    except Exception as e:
        return f"unexpected keyword argument '{keyword}'" not in str(e)
    return True


@pytest.mark.parametrize("name", FUNCTIONS)
def test_names_of_the_signature_are_accepted(name):
    f = FUNCTIONS[name]
    parameters = inspect.signature(f).parameters.values()
    if any(p.kind == p.VAR_KEYWORD for p in parameters):
        return
    for p in parameters:
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
            assert is_known(f, p.name), p.name
    assert not is_known(f, "no_such_keyword")


@pytest.mark.skipif(not processes.HAS_STUBS, reason="builds of this kind have no stubs")
def test_stubs_declare_the_same():
    folder = pathlib.Path(mx.__file__).parent / "core"
    for prefix in MODULES:
        tree = ast.parse((folder / f"{prefix or '__init__'}.pyi").read_text())
        stubs = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                args = node.args
                names = [*args.args, *args.kwonlyargs, args.vararg, args.kwarg]
                if node.name not in stubs:
                    names += args.posonlyargs
                stubs.setdefault(node.name, set()).update(a.arg for a in names if a)
        for name, names in stubs.items():
            f = FUNCTIONS.get(f"{prefix}.{name}".lstrip("."))
            if f is not None:
                assert set(inspect.signature(f).parameters) == names, name


def test_defaults_and_required_parameters():
    s = inspect.signature(mx.zeros)
    assert s.parameters["dtype"].default == mx.float32
    assert s.parameters["shape"].default is inspect.Parameter.empty
    assert s.parameters["device"].default is None
    assert re.match(r"\(shape: .*, dtype: .*, \*, stream: .*, device: .*\) -> ", str(s))
    for name in ("empty", "eye", "linspace", "ones", "full", "sum", "var", "sort", "clip"):
        inspect.signature(getattr(mx, name)).bind_partial()
    assert "correction" in inspect.signature(mx.var).parameters
    assert {"min", "max"} <= set(inspect.signature(mx.clip).parameters)
    assert next(iter(inspect.signature(mx.array.sum).parameters)) == "self"
    assert "self" not in inspect.signature(mx.ones(1).sum).parameters
