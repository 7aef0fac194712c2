"""Cases made from the table of elementwise operations, when run from a source tree."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Callable
from typing import Any

from .registry import CASES, Case, add

SIZE = 1 << 22
PREFIX = "op/"


def entries() -> dict[str, dict[str, Any]]:
    """Rows of the table by case name; none without the source tree or what its tests need."""
    tests = pathlib.Path(__file__).resolve().parents[3] / "tests"
    if not (tests / "python/cases/elementwise.py").exists():
        return {}
    before = list(sys.path)
    sys.path[:0] = [str(tests / "golden"), str(tests / "python")]
    try:
        rows = importlib.import_module("cases.elementwise").ENTRIES
    except ImportError as error:
        print(f"no cases from the table of operations: {error}", file=sys.stderr)
        return {}
    finally:
        sys.path[:] = before
    kept = ("name", "arity", "domain", "result", "reference", "low", "high")
    return {PREFIX + row["name"]: {key: row[key] for key in kept} for row in rows}


def add_op(entry: dict[str, Any]) -> None:
    """List the case of one row of the table: 4 M elements, float32 unless the op takes others."""
    name, arity = PREFIX + entry["name"], int(entry["arity"])
    if name in CASES:
        return
    dtype = "int32" if entry["domain"] == "integral" else "float32"
    first = "bool_" if entry["name"] == "where" else dtype
    width = 1 if entry["result"] == "boolean" else 4

    def make(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        low, high = float(entry["low"]), float(entry["high"])
        dtypes = [first] + [dtype] * (arity - 1)
        function = f.from_table(entry["name"], entry["reference"])
        return function, tuple(f.uniform((SIZE,), low, high, d) for d in dtypes)

    add(Case(name, make, bytes=SIZE * (4.0 * arity + width), default=False))
