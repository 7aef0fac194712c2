"""Includes: each is allowed by the table of docs/architecture.md.

Directories and files in the table have to exist. A row names an area (a directory, a file, or the
headers of a directory) and what it may include: other areas, and single files of them. An area may
include its own files; a source file may also include the public header of the same name.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

SUFFIXES = (".h", ".cpp", ".cuh", ".def")
# Headers under the paths that applications know: mlx/ops.h is mlx/compat/published/mlx/ops.h.
PUBLISHED = "mlx/compat/published"
INCLUDE = re.compile(r"^\s*#\s*include\s+([\"<])([^\">]+)[\">]", re.M)
# Compiled once per instruction set: the definitions of these headers have no linkage.
SYSTEM_HEADERS = {
    "mlx/backend/cpu/isa": {"stddef.h", "stdint.h", "immintrin.h", "arm_neon.h"},
    "mlx/backend/cpu/simd": {"stdint.h", "immintrin.h", "arm_neon.h"},
}


class Table:
    """The areas and what each may include, from the document."""

    def __init__(self, text: str) -> None:
        self.reads: dict[str, list[str]] = {}
        for line in text.splitlines():
            cells = line.split("|")[1:-1]
            if line.startswith("| `") and len(cells) == 3:
                for area in re.findall(r"`([^`]+)`", cells[0]):
                    self.reads[area] = re.findall(r"`([^`]+)`", cells[2])

    def area_of(self, path: str) -> str | None:
        """The innermost area that contains a file, or None."""
        pure = PurePath(path)
        beside = str(pure.parent / ("*" + pure.suffix))
        areas = [r for r in self.reads if r in (path, beside)]
        folders = [r for r in self.reads if path.startswith(r + "/")]
        return max(areas or folders, key=len, default=None)

    def allows(self, path: str, included: str) -> bool:
        """Whether a file may include another."""
        area, target = self.area_of(path), self.area_of(included)
        if area is None or area == target:
            return True
        own = f"{PUBLISHED}/mlx/{PurePath(path).stem}.h"
        return included == own or any(included == r or target == r for r in self.reads[area])

    def faults(self, root: Path) -> Iterator[str]:
        """Directories and files in the table that do not exist."""
        for area, reads in self.reads.items():
            for name in [area, *reads]:
                if not any(root.glob(name)):
                    yield f"docs/architecture.md: there is no {name}"


def includes(root: Path, path: str) -> Iterator[tuple[bool, str]]:
    """(is a system header, name) of each include, with names that start at the root."""
    for quote, name in INCLUDE.findall((root / path).read_text()):
        beside = (root / path).parent / name
        if quote == '"' and not name.startswith("mlx/") and beside.exists():
            name = beside.resolve().relative_to(root).as_posix()
        for published in (f"{PUBLISHED}/{name}", f"{PUBLISHED}/{name}.in"):
            if not (root / name).exists() and (root / published).exists():
                name = published.removesuffix(".in")
        yield quote == "<" and not name.startswith("mlx/"), name


def faults(root: Path, table: Table) -> Iterator[str]:
    """One message per include that is not allowed."""
    yield from table.faults(root)
    for folder in ("mlx", "python/src"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            path = file.relative_to(root).as_posix()
            area = table.area_of(path)
            if area is None:
                yield f"{path}: not in any area of docs/architecture.md"
            named = list(includes(root, path))
            own = SYSTEM_HEADERS.get(area or "")
            # The headers of intrinsics have it on some processors.
            sized = own and re.search(r"\bsize_t\b", file.read_text())
            if sized and (True, "stddef.h") not in named:
                yield f"{path}: size_t without <stddef.h>"
            for system, name in named:
                if system:
                    if own and name not in own:
                        yield f"{path}: <{name}> in an area without the standard library"
                elif not table.allows(path, name):
                    yield f"{path}: {area} may not include {name}"
