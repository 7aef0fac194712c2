"""The table of elementwise operations, read from ``elementwise.def``: without other modules.

The file is in the source tree, and among the headers of an installed package.
"""

from __future__ import annotations

import pathlib
import re

KEYS = [
    "name",
    "arity",
    "domain",
    "result",
    "signature",
    "partials",
    "kind",
    "reference",
    "low",
    "high",
    "doc",
]


def file() -> pathlib.Path | None:
    """The table's file, or None where there are no headers."""
    package = pathlib.Path(__file__).resolve().parents[1]
    for root in (package / "include", package.parents[1]):
        path = root / "mlx" / "ops" / "elementwise.def"
        if path.is_file():
            return path
    return None


def fields(line: str) -> list[str]:
    """The comma-separated fields of one E(...) line, minding brackets and quotes."""
    inner = line[line.index("(") + 1 : line.rindex(")")]
    parts, depth, quoted, word = [], 0, False, ""
    for char in inner + ",":
        quoted ^= char == '"'
        depth += 0 if quoted else (char in "([{") - (char in ")]}")
        if char == "," and depth == 0 and not quoted:
            parts.append(word.strip().strip('"'))
            word = ""
        else:
            word += char
    return parts


def rows(path: pathlib.Path) -> list[dict[str, str]]:
    """Every row of the table by column."""
    lines = re.findall(r"^E\(.*\)$", path.read_text(encoding="utf-8"), re.M)
    found = [dict(zip(KEYS, fields(line), strict=True)) for line in lines]
    if len(found) < 50:
        raise ValueError(f"[bench] {path} has {len(found)} rows; the table of operations has more")
    return found
