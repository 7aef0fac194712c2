"""Writes the docstrings of mlx.core as C++.

    python docstrings.py OUTPUT.cpp

The texts are python/docstrings/*.txt. An entry begins with a line `:: name`, the name of a function
below mlx.core. Signatures `def name(…) -> type: ...` may follow, in place of the binding's, of a
function whose result depends on the value of an argument: stubs.py writes them into the type stubs.
A line `@name` stands for the lines of that name in shared.txt, and what follows the name is added
to them.
"""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "docstrings"
WIDTH = 92
#: Compilers limit the length of a string literal; parts of this length are joined.
PART = 8000
#: A signature in the syntax of type stubs, which may go on in lines that begin with a space or `)`.
STUB = r"(?:def .*\n(?:[ )].*\n)*)"


def shared(text: str) -> dict[str, list[str]]:
    """The lines that entries share, by name."""
    out: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("@"):
            name, _, rest = line[1:].partition(" ")
            out.setdefault(name, []).append(rest)
    return out


def expanded(line: str, lines: dict[str, list[str]]) -> list[str]:
    """A line of an entry without references."""
    m = re.fullmatch(r"( *)@(\w+)(.*)", line)
    if not m:
        return [line]
    indent = m[1]
    *before, last = lines[m[2]]
    out = []
    for text in [*before, last + m[3]]:
        # A continued item is indented; a continued sentence is not.
        more = indent + ("    " if re.match(r"[\w.]+: ", text) else "")
        out += textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=more)
    return out


def parts(folder: Path) -> Iterator[tuple[str, list[str], str]]:
    """The name, the stub lines and the rest of each entry."""
    for file in sorted(folder.glob("*.txt")):
        found = re.split(r"^:: ([\w.]+)\n", file.read_text(encoding="utf-8"), flags=re.M)
        for name, text in zip(found[1::2], found[2::2], strict=True):
            stubs = re.match(rf"({STUB})*", text)
            assert stubs
            yield name, re.findall(STUB, stubs[0]), text[stubs.end() :]


def signatures(folder: Path = FOLDER) -> dict[str, list[str]]:
    """The signatures by value, by name; each is one line."""
    return {
        name: [" ".join(s.split()).replace(" )", ")").removesuffix(": ...") for s in stubs]
        for name, stubs, _ in parts(folder)
        if stubs
    }


def entries(folder: Path = FOLDER) -> dict[str, str]:
    """All docstrings by name."""
    lines = shared((folder / "shared.txt").read_text(encoding="utf-8"))
    out: dict[str, str] = {}
    for name, _, text in parts(folder):
        if name in out:
            raise ValueError(f"a second text for {name}")
        out[name] = "\n".join(
            new for line in text.strip().splitlines() for new in expanded(line, lines)
        )
    return out


def literal(text: str) -> str:
    """A text as C++ string literals."""
    parts = [text[i : i + PART] for i in range(0, len(text), PART)] or [""]
    return "\n".join(f'R"doc({part})doc"' for part in parts)


def main() -> None:
    """Write the table, sorted by name."""
    rows = [f'    {{"{name}", {literal(text)}}},' for name, text in sorted(entries().items())]
    Path(sys.argv[1]).write_text(
        "// Written by python/docstrings.py.\n"
        '#include "docstrings.h"\n\n'
        "namespace mlx::python {\n\n"
        "const Docstring docstrings[] = {\n" + "\n".join(rows) + "\n};\n"
        f"const size_t n_docstrings = {len(rows)};\n\n"
        "}  // namespace mlx::python\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
