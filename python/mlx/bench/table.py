"""Cases made from the table of elementwise operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import definitions
from .registry import CASES, Case, add

SIZE = 1 << 22
PREFIX = "op/"


def entries() -> dict[str, dict[str, Any]]:
    """Rows of the table by case name; none for a package without its headers."""
    path = definitions.file()
    if path is None:
        return {}
    kept = ("name", "arity", "domain", "result", "reference", "low", "high")
    return {PREFIX + row["name"]: {key: row[key] for key in kept} for row in definitions.rows(path)}


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
