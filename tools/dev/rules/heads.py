"""Head comments: each source file begins with a comment that says what it contains."""

import re
from pathlib import PurePath

from .source import is_cpp

COMMENT = {
    "c++": re.compile(r"\s*(//|/\*)"),
    "python": re.compile(r'\s*[rR]?"""\s*\S'),
    "#": re.compile(r"\s*#"),
}


def language(path: str) -> str | None:
    """The manner of a file's comments; None for files that need no head."""
    pure = PurePath(path)
    if is_cpp(path):
        return "c++"
    if pure.suffix == ".py":
        return "python"
    return "#" if pure.suffix in (".cmake", ".sh") or pure.name == "CMakeLists.txt" else None


def has_head(path: str, text: str) -> bool:
    """Whether a file begins with a comment, behind the line that names its interpreter."""
    manner = language(path)
    text = re.sub(r"\A#!.*\n", "", text)
    return manner is None or bool(COMMENT[manner].match(text))
