"""`./dev lint`: formatters, linters and the rules of CONTRIBUTING.md."""

import subprocess

from ..builds import build
from ..environment import environment
from ..rules import check
from ..shell import ROOT, no_more, status

USAGE = """\
  lint [--fix]      clang-format, ruff, mypy, and the rules of CONTRIBUTING.md: includes, lengths,
                    head comments, language, titles of commits
       --fix          also format, and shorten the list of exceptions
"""

SOURCES = ("*.cpp", "*.h", "*.cuh")
PROGRAM = ".venv/bin/"


def tracked(*patterns: str) -> list[str]:
    """The files of the repository that match."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], stdout=subprocess.PIPE, text=True)
    return [name for name in listed.stdout.split("\0") if name]


def rules(fix: bool = False) -> bool:
    """Reports findings against the rules of CONTRIBUTING.md; the result: whether there are any."""
    against = check.messages(ROOT, fix)
    print(*against, sep="\n", end="\n" if against else "")
    return bool(against)


def run(arguments: list[str]) -> int:
    """Checks everything, or changes what the formatters change; the rest is reported."""
    fix = arguments[:1] == ["--fix"]
    no_more("lint", arguments[fix:], "--fix")
    environment("lint")
    build("stubs", quiet=True)  # by which mypy knows mlx.core
    steps = [
        [f"{PROGRAM}clang-format", *(["-i"] if fix else ["--dry-run", "--Werror"])],
        [f"{PROGRAM}ruff", "check", *(["--fix"] if fix else []), "."],
        [f"{PROGRAM}ruff", "format", *([] if fix else ["--check"]), "."],
        [f"{PROGRAM}mypy"],
        [f"{PROGRAM}mypy", "tests/python/test_types.py"],
    ]
    steps[0] += tracked(*SOURCES)
    failed = [status(*step) for step in steps]
    return int(any(failed) or rules(fix))
