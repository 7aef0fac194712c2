"""Writes the type stubs of the extension module.

    python stubs.py OUTPUT_DIRECTORY

nanobind's generator does the work; this adds the module's own function type, the types that
signatures name, and one file for each submodule. The stubs are OUTPUT/core/__init__.pyi,
OUTPUT/core/random.pyi, …
"""

import importlib
import importlib.util
import re
import sys
import types
from pathlib import Path

from nanobind import stubgen

#: Names to which the signatures of the functions refer.
TYPES = """\
P = ParamSpec("P")
R = TypeVar("R")
scalar: TypeAlias = int | float | bool | complex
list_or_scalar: TypeAlias = scalar | list["list_or_scalar"]
StreamOrDevice: TypeAlias = "Stream | ThreadLocalStream | Device | DeviceType | None"
ScalarOrArray: TypeAlias = "scalar | array | SupportsArray | DLPackCompatible"
ArrayInput: TypeAlias = (
    "scalar | Sequence[Any] | array | SupportsArray | SupportsNumpyArray | DLPackCompatible"
)
file: TypeAlias = IO[bytes]


class SupportsArray(Protocol):
    def __mlx_array__(self) -> array: ...


class SupportsNumpyArray(Protocol):
    def __array__(self) -> Any: ...


class DLPackCompatible(Protocol):
    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

"""
TYPING = (
    "from collections.abc import Callable, Sequence\n"
    "import pathlib\nimport types\n"
    "from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar\n"
)


def texts() -> types.ModuleType:
    """The reader of the texts of functions, docstrings.py."""
    path = Path(__file__).with_name("docstrings.py")
    spec = importlib.util.spec_from_file_location("docstrings", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: Functions whose result depends on the value of an argument: a signature for each.
SIGNATURES = texts().signatures()


class Stubs(stubgen.StubGen):
    """The generator, acquainted with the functions of mlx.core."""

    @staticmethod
    def _own(tp: type) -> bool:
        return tp.__module__ == "mlx.core" and tp.__name__ == "function"

    def is_function(self, tp: type) -> bool:
        return self._own(tp) or super().is_function(tp)

    def put_function(self, fn, name=None, parent=None) -> None:
        if not self._own(type(fn)):
            super().put_function(fn, name, parent)
        elif fn.__module__ != self.module.__name__:
            self.put_value(fn, name)
        elif name and name != fn.__name__:
            self.write_ln(f"{name} = {fn.__name__}\n")
        else:
            by_value = SIGNATURES.get(f"{fn.__module__}.{fn.__name__}".removeprefix("mlx.core."))
            self.put_nb_func(ByValue(fn, by_value) if by_value else fn, name)

    def put_type(self, tp: type, name=None) -> None:
        if issubclass(tp, tuple) and hasattr(tp, "_fields"):
            fields = "\n".join(f"    {field}: array" for field in tp._fields)
            self.write_ln(f"class {tp.__name__}({self.bind('typing', 'NamedTuple')}):\n{fields}\n")
        else:
            super().put_type(tp, name)

    def put(self, value, name=None, parent=None) -> None:
        # The slots of the array class have no signatures of their own.
        if name == "bool":  # the name would hide the class that annotations mean
            return
        if name in ("__buffer__", "__release_buffer__"):  # methods since Python 3.12
            return
        # Definitions that only say that a name is another one; a checker would accept all names.
        hint = "mlx._names" in (type(value).__module__, getattr(value, "__module__", None))
        if name == "__getattr__" or hint:
            return
        if isinstance(value, types.WrapperDescriptorType) and name in OPERATORS:
            ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            self.write_ln(f"def {name}{OPERATORS[name]}: ...{ignored}\n")
        elif not (isinstance(value, types.ModuleType) and self.stack):
            # Private classes are what some public names are made of; the generator also takes a
            # name that ends with `_` for a private one.
            self.include_private = isinstance(value, type) or not (name or "_").startswith("_")
            super().put(value, name, parent)
            self.include_private = False


class ByValue:
    """A function with the signatures of its text in place of its first one."""

    def __init__(self, fn, signatures: list[str]) -> None:
        self.__name__, self.__module__ = fn.__name__, fn.__module__
        (_, *rest), *others = fn.__nb_signature__
        self.__nb_signature__ = (*((s, *rest) for s in signatures), *others)


def operators() -> dict[str, str]:
    """Signatures of the array class's operators, by method name."""
    out = {}
    arithmetic = "add sub mul truediv floordiv mod pow lshift rshift and or xor matmul"
    for op in arithmetic.split():
        for prefix in ("", "r", "i"):
            out[f"__{prefix}{op}__"] = "(self, other: ScalarOrArray) -> array"
    for op in ("lt", "le", "gt", "ge"):
        out[f"__{op}__"] = "(self, other: ScalarOrArray) -> array"
    for op in ("eq", "ne"):
        out[f"__{op}__"] = "(self, other: object) -> array"
    for op in ("divmod", "rdivmod"):
        out[f"__{op}__"] = "(self, other: ScalarOrArray) -> tuple[array, array]"
    for op in ("neg", "pos", "abs", "invert"):
        out[f"__{op}__"] = "(self) -> array"
    for op, result in (
        ("bool", "bool"), ("int", "int"), ("float", "float"), ("index", "int"), ("len", "int"),
        ("hash", "int"), ("repr", "str"), ("iter", "ArrayIterator"),
    ):  # fmt: skip
        out[f"__{op}__"] = f"(self) -> {result}"
    out["__getitem__"] = "(self, index: object) -> array"
    out["__delitem__"] = "(self, index: object) -> None"
    out["__setitem__"] = "(self, index: object, value: ScalarOrArray | list_or_scalar) -> None"
    return out


OPERATORS = operators()


def stub_of(module: types.ModuleType) -> str:
    """The text of one module's stub."""
    stubs = Stubs(module)
    stubs.put(module)
    _, doc, body = stubs.get().split('"""', 2) if module.__doc__ else ("", "", stubs.get())
    if module.__name__ == "mlx.core":
        children = [n for n, v in vars(module).items() if isinstance(v, types.ModuleType)]
        own = "".join(f"from mlx.core import {n} as {n}\n" for n in sorted(children)) + "\n" + TYPES
    else:
        own = "from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray\n"
        own += "from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar\n"
    body = re.sub(r"\bCallable\b(?=[),])", "Callable[..., Any]", body.lstrip())
    return f'"""{doc}"""\n\n{TYPING}{own}\n{body}'


def main() -> None:
    # The folder of this script has the sources of the package, which is without the extension.
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != Path(__file__).resolve().parent]
    target = Path(sys.argv[1]) / "core"
    target.mkdir(parents=True, exist_ok=True)
    core = importlib.import_module("mlx.core")
    modules = {"__init__": core}
    modules |= {n: v for n, v in vars(core).items() if isinstance(v, types.ModuleType)}
    for name, module in modules.items():
        (target / f"{name}.pyi").write_text(stub_of(module), encoding="utf-8")


if __name__ == "__main__":
    main()
