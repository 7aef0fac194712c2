"""Checks every include against the table of docs/architecture.md.

`python tests/includes.py` prints every include that the table does not allow, and every directory
or file in it that does not exist. A row names an area (a directory, a file, or the headers of a
directory) and what it may include: other areas, and single files of them. An area may include its
own files; a source file may also include the public header of the same name.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r"^\s*#\s*include\s+([\"<])([^\">]+)[\">]", re.M)
# Compiled once per instruction set: what these headers define has no linkage.
SYSTEM_HEADERS = {
    "mlx/backend/cpu/isa": {"stddef.h", "stdint.h", "immintrin.h", "arm_neon.h"},
    "mlx/backend/cpu/simd": {"stdint.h", "immintrin.h", "arm_neon.h"},
}


class Table:
    """The areas and what each may include, from the document."""

    def __init__(self, text):
        self.reads = {}
        for line in text.splitlines():
            cells = line.split("|")[1:-1]
            if line.startswith("| `") and len(cells) == 3:
                for area in re.findall(r"`([^`]+)`", cells[0]):
                    self.reads[area] = re.findall(r"`([^`]+)`", cells[2])

    def area_of(self, path):
        """The innermost area that contains a file, or None."""
        beside = str(pathlib.PurePath(path).parent / ("*" + pathlib.PurePath(path).suffix))
        areas = [r for r in self.reads if r in (path, beside)]
        folders = [r for r in self.reads if path.startswith(r + "/")]
        return max(areas or folders, key=len, default=None)

    def allows(self, path, included):
        """Whether a file may include another."""
        area, target = self.area_of(path), self.area_of(included)
        if area is None or area == target:
            return True
        own = f"mlx/{pathlib.PurePath(path).stem}.h"
        return included == own or any(included == r or target == r for r in self.reads[area])

    def faults(self, root):
        """Directories and files in the table that do not exist."""
        for area, reads in self.reads.items():
            for name in [area, *reads]:
                if not any(root.glob(name)):
                    yield f"docs/architecture.md: there is no {name}"


def includes(root, path):
    """(is a system header, name) of each include, with names that start at the root."""
    for quote, name in INCLUDE.findall((root / path).read_text()):
        beside = (root / path).parent / name
        if quote == '"' and not name.startswith("mlx/") and beside.exists():
            name = beside.resolve().relative_to(root).as_posix()
        yield quote == "<" and not name.startswith("mlx/"), name


def faults(root, table):
    """One message per include that is not allowed."""
    yield from table.faults(root)
    for folder in ("mlx", "python/src"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".def"):
                continue
            path = file.relative_to(root).as_posix()
            area = table.area_of(path)
            if area is None:
                yield f"{path}: not in any area of docs/architecture.md"
            named = list(includes(root, path))
            # The headers of intrinsics have it on some processors.
            sized = area in SYSTEM_HEADERS and re.search(r"\bsize_t\b", file.read_text())
            if sized and (True, "stddef.h") not in named:
                yield f"{path}: size_t without <stddef.h>"
            for system, name in named:
                if system:
                    if name not in SYSTEM_HEADERS.get(area, {name}):
                        yield f"{path}: <{name}> in an area without the standard library"
                elif not table.allows(path, name):
                    yield f"{path}: {area} may not include {name}"


def main():
    table = Table((ROOT / "docs/architecture.md").read_text())
    found = list(faults(ROOT, table))
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
