"""Which room of the engine includes which: the table of docs/architecture.md, checked.

`python tests/rooms.py` prints every include that the table does not allow, and every room or file
that it names and that is not there. A row names a room (a folder, a file, or the headers of a
folder) and what it reads: other rooms, and single files of them. A room reads itself; a source also
reads the public header of its own name, which declares what it defines.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r"^\s*#\s*include\s+([\"<])([^\">]+)[\">]", re.M)
# Compiled once per instruction set: what these headers define has no linkage.
SYSTEM_HEADERS = {
    "mlx/backend/cpu/isa": {"stddef.h", "stdint.h", "immintrin.h"},
    "mlx/backend/cpu/simd": {"stdint.h", "immintrin.h"},
}


class Table:
    """Rooms and what each reads, as the document has them."""

    def __init__(self, text):
        self.reads = {}
        for line in text.splitlines():
            cells = line.split("|")[1:-1]
            if line.startswith("| `") and len(cells) == 3:
                for room in re.findall(r"`([^`]+)`", cells[0]):
                    self.reads[room] = re.findall(r"`([^`]+)`", cells[2])

    def room_of(self, path):
        """The longest room that holds a file, None where there is none."""
        beside = str(pathlib.PurePath(path).parent / ("*" + pathlib.PurePath(path).suffix))
        rooms = [r for r in self.reads if r in (path, beside)]
        folders = [r for r in self.reads if path.startswith(r + "/")]
        return max(rooms or folders, key=len, default=None)

    def allows(self, path, included):
        """Whether a file may include another."""
        room, target = self.room_of(path), self.room_of(included)
        if room is None or room == target:
            return True
        own = f"mlx/{pathlib.PurePath(path).stem}.h"
        return included == own or any(included == r or target == r for r in self.reads[room])

    def faults(self, root):
        """What the table names and what is not there."""
        for room, reads in self.reads.items():
            for name in [room, *reads]:
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
    """One line for each include that is not allowed."""
    yield from table.faults(root)
    for folder in ("mlx", "python/src"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".def"):
                continue
            path = file.relative_to(root).as_posix()
            room = table.room_of(path)
            if room is None:
                yield f"{path}: no room of docs/architecture.md"
            for system, name in includes(root, path):
                if system:
                    if name not in SYSTEM_HEADERS.get(room, {name}):
                        yield f"{path}: <{name}> in a room without the standard library"
                elif not table.allows(path, name):
                    yield f"{path}: {room} does not read {name}"


def main():
    table = Table((ROOT / "docs/architecture.md").read_text())
    found = list(faults(ROOT, table))
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
