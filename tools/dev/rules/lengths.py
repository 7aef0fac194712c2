"""Lengths of files, functions and classes."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .source import code, is_cpp

FILE, FUNCTION, CLASS = 600, 80, 300


@dataclass(frozen=True)
class Block:
    """A function or a class with the lines that it has."""

    kind: str
    name: str
    line: int
    length: int


LABEL = re.compile(r"^\s*(?:(?:public|private|protected)\s*:(?!:)\s*)+")
TEMPLATE = re.compile(r"^\s*(?:template\s*<|requires\b)")
CLASS_HEAD = re.compile(
    r"^(?:(?:typedef|static|constexpr|inline|const|friend)\s+)*(class|struct|union)\b"
)
NAME = re.compile(r"(~?\w+|operator\s*\S+?)\s*\(")


def without_template(head: str) -> str:
    """A declaration without its template parameters."""
    head = head.strip()
    while found := re.match(r"template\s*<", head):
        depth, at = 1, found.end()
        while at < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[at], 0) if head[at - 1] != "-" else 0
            at += 1
        head = head[at:].strip()
    return head


def kind_of(head: str, outer: str) -> str:
    """The kind of block behind these words: "namespace", "class", "function" or "other"."""
    plain = without_template(LABEL.sub("", head))
    if outer == "function":
        local = CLASS_HEAD.match(plain)
        return "class" if local and "(" not in plain else "other"
    if re.match(r"(inline\s+)?namespace\b|extern\s*$", plain):
        return "namespace"
    if CLASS_HEAD.match(plain) and not re.search(r"\)\s*(const|noexcept|override)?\s*$", plain):
        return "class"
    if not plain or re.match(r"(typedef\s+)?enum\b", plain):
        return "other"
    if "(" in plain and not plain.endswith("="):
        return "function"
    return "function" if re.search(r"\]\s*$", plain) and "=" in plain else "other"


def name_of(kind: str, head: str) -> str:
    """The name of a class or a function."""
    plain = without_template(LABEL.sub("", head))
    if kind == "class":
        words = re.split(r"\s:(?!:)|[<({]", plain + " ")[0]
        words = re.sub(r"\bfinal\b", "", words).split()
        return words[-1] if words[-1:] != [] else "?"
    found = NAME.search(plain)
    return found[1] if found else plain.split("=")[0].split()[-1]


def in_initializers(head: str) -> bool:
    """Whether a brace after these words gives a value to a member, before a constructor's body."""
    found = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", head)
    return bool(found and re.search(r"[\w>]\s*$", head[found.end() :]))


def cpp_blocks(text: str) -> Iterator[Block]:
    """The functions and classes of a C++ file; lambdas belong to the function around them."""
    plain = code(text)
    stack: list[tuple[str, str, int]] = []  # kind, head, start
    head_start, parens = 0, 0
    for found in re.finditer(r"[{}();]", plain):
        at, sign = found.start(), found[0]
        inside = stack[-1][0] if stack else "namespace"
        if sign in "()":
            parens = max(0, parens + (1 if sign == "(" else -1))
        elif sign == "{":
            head = plain[head_start:at]
            outer = next((k for k, *_ in reversed(stack) if k in ("function", "class")), "")
            if inside == "value" or (inside != "other" and outer != "function"
                                     and (parens or in_initializers(head))):  # fmt: skip
                stack.append(("value", "", head_start))
                continue
            kind = "other" if inside == "other" and outer != "class" else kind_of(head, outer)
            stack.append((kind, head, head_start))
            head_start, parens = at + 1, 0
        elif sign == "}" and stack:
            kind, head, start = stack.pop()
            if kind == "value":
                continue
            if kind in ("function", "class"):
                label = LABEL.match(head)
                start += label.end() if label else len(head) - len(head.lstrip())
                line = plain.count("\n", 0, start) + 1
                length = plain.count("\n", start, at) + 1
                yield Block(kind, name_of(kind, head), line, length)
            head_start, parens = at + 1, 0
        elif sign == ";" and not parens and inside != "value":
            head_start = at + 1


def documentation(node: ast.AST) -> int:
    """The lines of the docstrings in a function or a class."""
    lines = 0
    for inner in ast.walk(node):
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = inner.body[0]
            if ast.get_docstring(inner) is not None:
                lines += (first.end_lineno or 0) - first.lineno + 1
    return lines


def python_blocks(text: str) -> Iterator[Block]:
    """The functions and classes of a Python file, whose docstrings do not count."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            lines = (node.end_lineno or 0) - node.lineno + 1
            yield Block(kind, node.name, node.lineno, lines - documentation(node))


def blocks(path: str, text: str) -> list[Block]:
    """The functions and classes of a file."""
    if is_cpp(path):
        return list(cpp_blocks(text))
    return list(python_blocks(text)) if path.endswith(".py") else []
