"""`./dev example`: the programs of examples/ that name this command in their head comment."""

import ast
import re
import sys
from pathlib import Path

from ..builds import PACKAGE, build
from ..environment import environment
from ..shell import PYTHON, replace

USAGE = """\
  example [NAME [ARGS]]
                    an example of examples/, which says first what it does; without a name: the list
"""

FOLDER = Path("examples")


def head(program: Path) -> str:
    """The head comment of a program."""
    return ast.get_docstring(ast.parse(program.read_text())) or ""


def examples(folder: Path = FOLDER) -> list[tuple[str, str]]:
    """The name of each example and the first line of its head comment."""
    heads = [head(path) for path in sorted(folder.rglob("*.py"))]
    named = [(re.search(r"^ +\./dev example (\S+)", said, re.M), said) for said in heads]
    return [(name[1], said.splitlines()[0]) for name, said in named if name]


def listing() -> str:
    """The list of examples, as it is printed."""
    return "\n".join(f"  {name:<22} {line}" for name, line in examples())


def program(name: str, folder: Path = FOLDER) -> Path | None:
    """The file of an example: NAME.py, or train.py in the folder NAME."""
    files = (folder / f"{name}.py", folder / name / "train.py")
    return next((file for file in files if file.is_file()), None)


def run(arguments: list[str]) -> int:
    """Lists the examples, or runs one."""
    if not arguments:
        print(listing())
        return 0
    name, *rest = arguments
    file = program(name)
    if file is None:
        print(f"[example] no example {name}; there are:\n{listing()}", file=sys.stderr)
        return 2
    environment("demo")
    build()
    print(head(file), "\n")
    replace(PYTHON, file, *rest, variables=PACKAGE)
