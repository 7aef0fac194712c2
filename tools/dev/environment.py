"""The environment in .venv: build requirements, and the groups of pyproject.toml."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .shell import PYTHON, merged, refuse

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


def whole() -> bool:
    """Whether the environment has an interpreter and pip: without ensurepip, venv leaves a half."""
    packages = Path(".venv/lib").glob("python3*/site-packages/pip")
    return os.access(PYTHON, os.X_OK) and any(packages)


def make() -> None:
    """Makes the environment; half of one is removed, so that the next try starts anew."""
    command = (sys.executable, "-m", "venv", "--clear", ".venv")
    sys.stdout.flush()
    try:
        # Its errors are kept: interrupted, it prints where it was.
        done = subprocess.run(command, env=merged(None), stderr=subprocess.PIPE)
    except BaseException:
        shutil.rmtree(".venv", ignore_errors=True)
        raise
    if done.returncode:
        shutil.rmtree(".venv", ignore_errors=True)
        sys.stderr.write((done.stderr or b"").decode(errors="replace"))
        refuse(
            f"[dev] {sys.executable} cannot make an environment in .venv; on Debian and Ubuntu:"
            " apt install python3-venv"
        )


UNREACHABLE = ("NewConnectionError", "Temporary failure in name resolution", "Max retries exceeded")


def install(*arguments: str | Path) -> None:
    """Runs `pip install`. Where the index cannot be reached, one line says so."""
    # Modules are compiled when they are imported: most never are.
    quiet = ("-q", "--no-compile", "--disable-pip-version-check")
    command = [str(c) for c in (PYTHON, "-m", "pip", "install", *quiet, *arguments)]
    sys.stdout.flush()
    done = subprocess.run(command, env=merged(None), stderr=subprocess.PIPE)
    said = (done.stderr or b"").decode(errors="replace")
    if done.returncode and any(sign in said for sign in UNREACHABLE):
        refuse("[dev] the package index cannot be reached; pip needs it for the first build")
    sys.stderr.write(said)
    if done.returncode:
        raise SystemExit(done.returncode)


def environment(group: str) -> None:
    """Makes the environment and installs a group, once per change of its requirements."""
    stamp = Path(STAMP.format(group))
    wanted = "\n".join(requirements(group)) + "\n"
    there = whole()
    if there and stamp.is_file() and stamp.read_text() == wanted:
        return
    if not os.access(".", os.W_OK):
        refuse(f"[dev] {Path.cwd()} is not writable; a copy that is, is accepted")
    if not there:
        make()  # also where the interpreter went away: with all packages
    names = Path(".venv/requirements.txt")
    names.write_text(wanted)
    install("-r", names)
    stamp.write_text(wanted)
