"""Sources as the rules see them: C++ without comments and texts, and the comments of a file."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

CPP = (".cpp", ".h", ".cuh", ".def")

# A quote within a number (1'000) belongs to the number.
TOKEN = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
      | (?P<raw>R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")
      | (?P<number>\b\d[\w.']*)
      | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<directive>^[ \t]*\#(?:[^\n\\/]|\\.|\\\n|/(?![/*]))*)""",
    re.X | re.S | re.M,
)


def is_cpp(path: str) -> bool:
    """Whether a file is C++: named as such, or a header in the manner of the standard library."""
    pure = PurePath(path)
    return pure.suffix in CPP or (pure.suffix == "" and "device/std" in path)


def blank(text: str) -> str:
    """Spaces in the place of a text, whose lines stay lines."""
    return re.sub(r"[^\n]", " ", text)


def code(text: str) -> str:
    """C++ without comments, strings, characters and directives, at the same positions."""

    def replaced(found: re.Match[str]) -> str:
        kind = found.lastgroup
        return found[0] if kind == "number" else blank(found[0])

    return TOKEN.sub(replaced, text)


@dataclass(frozen=True)
class Comment:
    """A comment: of several lines where these follow each other."""

    line: int
    text: str
    marker: str = "//"  # or "///", "/*", "#", and '"""' for docstrings


def lines_of_comments(text: str) -> Iterator[tuple[int, int, bool, str, str]]:
    """(line, column, whether it has its line for itself, marker, text) of each comment line."""
    for found in TOKEN.finditer(text):
        if found["comment"] is None:
            continue
        start = text.rfind("\n", 0, found.start()) + 1
        alone = not text[start : found.start()].strip()
        line = text.count("\n", 0, found.start()) + 1
        written = found["comment"]
        marker = "///" if written.startswith("///") else written[:2]
        if marker == "/*":
            body = re.sub(r"^[ \t]*\*+ ?", "", written[2:-2], flags=re.M)
        else:
            body = written[len(marker) :]
        yield line, found.start() - start, alone, marker, body.removeprefix("<").strip()


def joined(lines: Iterator[tuple[int, int, bool, str, str]]) -> Iterator[Comment]:
    """Comments of several lines from their lines: an empty one ends a comment."""
    current: list[str] = []
    first, before = 0, (0, -1, "")
    for line, column, alone, marker, text in lines:
        follows = alone and (line, column, marker) == (before[0] + 1, *before[1:])
        if current and not follows:
            yield Comment(first, " ".join(current), before[2])
            current = []
        if not text:
            if current:
                yield Comment(first, " ".join(current), before[2])
            current = []
        else:
            first = first if current else line
            current.append(text)
        before = (line, column, marker)
    if current:
        yield Comment(first, " ".join(current), before[2])


def cpp_comments(text: str) -> list[Comment]:
    """The comments of a C++ file; a comment after code goes on in comments below it."""
    return list(joined(lines_of_comments(text)))


def python_comments(text: str) -> list[Comment]:
    """The comments and docstrings of a Python file."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            alone = not token.line[:column].strip()
            found.append((line, column, alone, "#", token.string.lstrip("#!: ").strip()))
    comments = list(joined(iter(found)))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            said = ast.get_docstring(node)
            if said:
                line = node.body[0].lineno
                comments.append(Comment(line, said, '"""'))
    return comments
