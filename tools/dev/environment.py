"""The environment in .venv: build requirements, and the groups of pyproject.toml."""

import os
import re
import sys
from pathlib import Path

from .shell import PYTHON, run

STAMP = ".venv/.installed-{}"


def listed(text: str, key: str) -> list[str]:
    """The strings of a list in pyproject.toml. (The library's reader is newer than Python 3.10.)"""
    found = re.search(rf"^{re.escape(key)} = \[(.*?)\]\s*$", text, re.S | re.M)
    if not found:
        raise SystemExit(f"pyproject.toml: no list {key}")
    return re.findall(r'"([^"]+)"', found[1])


def requirements(group: str, project: Path = Path("pyproject.toml")) -> list[str]:
    """The packages that a build and this group need; the group "build" adds none."""
    text = project.read_text()
    return listed(text, "requires") + (listed(text, group) if group != "build" else [])


def environment(group: str) -> None:
    """Makes the environment and installs a group, once per change of its requirements."""
    stamp = Path(STAMP.format(group))
    wanted = "\n".join(requirements(group)) + "\n"
    there = os.access(PYTHON, os.X_OK)
    if there and stamp.is_file() and stamp.read_text() == wanted:
        return
    if not there:
        # An environment whose interpreter went away is made again, with all packages.
        run(sys.executable, "-m", "venv", "--clear", ".venv")
    names = Path(".venv/requirements.txt")
    names.write_text(wanted)
    # Modules are compiled when they are imported: most never are.
    quiet = ("-q", "--no-compile", "--disable-pip-version-check")
    run(PYTHON, "-m", "pip", "install", *quiet, "-r", names)
    stamp.write_text(wanted)
