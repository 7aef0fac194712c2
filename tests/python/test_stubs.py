"""Type stubs: their syntax, that they have every public name, and signatures by value."""

import ast
import importlib.util
import types
from pathlib import Path

import pytest

import mlx.core as mx

pytestmark = pytest.mark.anywhere

PYTHON = Path(__file__).parents[2] / "python"


def program(name: str) -> types.ModuleType:
    """A program of the build, as a module."""
    pytest.importorskip("nanobind")
    spec = importlib.util.spec_from_file_location(f"mlx_{name}", PYTHON / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def modules() -> dict[str, types.ModuleType]:
    children = {n: v for n, v in vars(mx).items() if isinstance(v, types.ModuleType)}
    return {"core": mx, **children}


def declared(tree: ast.Module) -> set[str]:
    """The names that a stub defines or imports at its top level."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets}
    return names


@pytest.mark.parametrize("name", sorted(modules()))
def test_stub_has_the_public_names(name):
    module = modules()[name]
    public = {n for n in vars(module) if not n.startswith("_")} - {"bool"}
    assert public - declared(ast.parse(program("stubs").stub_of(module))) == set()


def test_every_function_has_documentation_and_a_signature():
    for module in modules().values():
        for name, value in vars(module).items():
            if type(value).__name__ == "function":
                signature, doc, _ = value.__nb_signature__[0]
                assert signature.startswith("def "), name
                assert len(doc) > 3, name


def test_signatures_by_value_are_in_the_stub():
    texts, tree = (
        program("docstrings"),
        {n: program("stubs").stub_of(m) for n, m in modules().items()},
    )
    assert {"load", "linalg.svd"} <= set(texts.signatures())
    for path, signatures in texts.signatures().items():
        module, _, name = f"core.{path}".rpartition(".")
        found = [
            ast.unparse(ast.Module([node.args, node.returns], []))
            for node in ast.parse(tree[module.rpartition(".")[2]]).body
            if isinstance(node, ast.FunctionDef) and node.name == name
        ]
        for signature in signatures:
            node = ast.parse(f"{signature}: ...").body[0]
            assert ast.unparse(ast.Module([node.args, node.returns], [])) in found, signature


def test_entries_with_signatures():
    texts = program("docstrings")
    first = texts.signatures()["load"][0]
    assert first.startswith("def load(file: file | str") and first.endswith("= None) -> array")
    assert texts.entries()["load"].startswith("Read ")
