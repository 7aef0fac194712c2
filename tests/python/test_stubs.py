"""The public surface, as type stubs: a change of a name or signature shows up here.

MLX_UPDATE_STUBS=1 pytest tests/python/test_stubs.py writes the golden copies anew.
"""

import importlib.util
import os
import types
from pathlib import Path

import pytest

import mlx.core as mx

pytestmark = pytest.mark.anywhere

GOLDEN = Path(__file__).parent / "golden_stubs"
GENERATOR = Path(__file__).parents[2] / "python" / "stubs.py"


def generator() -> types.ModuleType:
    pytest.importorskip("nanobind")
    spec = importlib.util.spec_from_file_location("mlx_stubs", GENERATOR)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def modules() -> dict[str, types.ModuleType]:
    children = {n: v for n, v in vars(mx).items() if isinstance(v, types.ModuleType)}
    return {"core": mx, **children}


@pytest.mark.parametrize("name", sorted(modules()))
def test_stub_is_the_reviewed_one(name):
    text = generator().stub_of(modules()[name])
    compile(text, f"{name}.pyi", "exec")
    golden = GOLDEN / f"{name}.pyi"
    if os.environ.get("MLX_UPDATE_STUBS"):
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text


def test_every_function_has_documentation_and_a_signature():
    for module in modules().values():
        for name, value in vars(module).items():
            if type(value).__name__ == "function":
                signature, doc, _ = value.__nb_signature__[0]
                assert signature.startswith("def "), name
                assert len(doc) > 3, name
