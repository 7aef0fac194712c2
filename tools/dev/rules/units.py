"""Names that two C++ sources of a folder declare, which they must not: they may share a unit.

CMake compiles several sources of a folder as one (cmake/units.cmake). There two unnamed namespaces
are one, and a function of one source could be chosen for a call in another without an error.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.M | re.S)
DECLARED = re.compile(
    r"^(?:template <[^\n]*>\n)?(?:inline |static |constexpr |constinit |const |thread_local )*"
    r"(?:(?:struct|class|enum class|enum|union) (?P<type>\w+)\b(?! *;)"
    r"|using (?P<alias>\w+) =[^;]*;"
    r"|(?!namespace |using )(?=\S)[\w:<>,*& ]+?[ *&](?P<name>\w+)(?:\[\w*\])* *[(={;])",
    re.M,
)
STATEMENTS = {"if", "for", "return"}
MACRO = re.compile(r"^#define (\w+)(.*(?:(?<=\\)\n.*)*)", re.M)

ROOMS = re.compile(r"^(?:mlx|python/src|tests/fake)(?:/|$)")
APART = {"mlx/backend/cpu/isa"}  # whose sources are compiled one by one


def declared(text: str) -> Iterator[tuple[str, str]]:
    """Names in unnamed namespaces, and macros that stay defined.

    The second text is the meaning of aliases and macros, which two sources may both define alike.
    """
    for block in UNNAMED.finditer(text):
        for found in DECLARED.finditer(block.group(1)):
            name = found["type"] or found["alias"] or found["name"]
            if name not in STATEMENTS:
                yield name, found.group(0) if found["alias"] else ""
    for macro in MACRO.finditer(text):
        if not re.search(rf"^#undef {macro[1]}\b", text, re.M):
            yield "#define " + macro[1], macro[2]


def shared(texts: Mapping[str, str]) -> Iterator[str]:
    """A message for each name that two sources of a folder declare."""
    folders: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for path, text in texts.items():
        folder = path.rpartition("/")[0]
        if ROOMS.match(folder) and folder not in APART:
            for name, meaning in declared(text):
                folders[folder][name][path] = meaning
    for names in folders.values():
        for name, found in names.items():
            meanings = set(found.values())
            if len(found) > 1 and (len(meanings) > 1 or meanings == {""}):
                first, second = list(found)[:2]
                yield f"{second}: {name}, also declared in {first}; sources of a folder share units"
