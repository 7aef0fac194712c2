"""The names that libraries for macOS may ask for: the lists of them, and what is wrong with a use.

It reads no libraries, so that it needs no package; `check_wheel.py` does.
"""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGINE = "@rpath/libmlx.dylib"
INTERFACE = "@rpath/libmlxc.dylib"  # for C
SYSTEM = "/usr/lib/libSystem.B.dylib"
ACCELERATE = "/System/Library/Frameworks/Accelerate.framework/Versions/A/Accelerate"
# The lists with which it was linked. The linker has all names of the C library; the used ones
# are listed for this check, so that a new one is looked at before it is added.
LISTS = {
    "/usr/lib/libc++.1.dylib": ROOT / "cmake/macos/libc++.txt",
    ACCELERATE: ROOT / "cmake/macos/Accelerate.txt",
    SYSTEM: ROOT / "tests/apple/libSystem.txt",
}


def listed(file):
    """The names of a list."""
    return {line for line in file.read_text().splitlines() if line and not line.startswith("#")}


def check_names(asked, lists, exported):
    """Complaints about names: `asked` are pairs of a library, None for any, and a name, `lists` the
    names of each library, `exported` those of the engine."""
    for library, name in sorted(asked, key=str):
        if library is None:
            if not name.startswith(("_Py", "__Py")):
                yield f"{name} is asked of no library, and is no name of Python's"
        elif library == ENGINE:
            if name not in exported:
                yield f"{name} is asked of the engine, which has no such name"
        elif name not in lists.get(library, ()):
            yield f"{name} is not in the list of {library}"
    unused = lists[SYSTEM] - {name for library, name in asked if library == SYSTEM}
    for name in sorted(unused):
        yield f"{name} of the list of {SYSTEM} is not asked for"
