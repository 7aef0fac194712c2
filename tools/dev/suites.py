"""Runs of the Python tests: pytest over all files or some, and the sanitizers' variables."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from .shell import PYTHON, Environment, jobs, output, refuse, replace

MANY = 9  # files; more are shared out to processes


def pytest_command(arguments: Sequence[str]) -> list[str]:
    """The command for these arguments of pytest: all files where they name none."""
    files = sum(a.startswith("tests/") for a in arguments)
    words = [PYTHON, "-m", "pytest"]
    if files == 0 or files > MANY:
        words += ["-n", str(min(jobs(), 4)), "--dist", "loadfile"]
    return words + ([] if files else ["tests/python"]) + list(arguments)


def suite(arguments: Sequence[str], variables: Environment) -> NoReturn:
    """Runs pytest in the place of this process."""
    replace(*pytest_command(arguments), variables=variables)


def day() -> int:
    """The number of the date, by which parts of the tests are chosen."""
    return int(time.time()) // 86400


def thirds(which: str) -> list[str]:
    """The test files of a third of the suite: "1" to "3", or that of a day, which changes daily."""
    days = ("today", "tomorrow")
    if which in days:
        which = str((day() + days.index(which)) % 3 + 1)
    if which not in ("1", "2", "3"):
        refuse(f"[test] --third {which} given; accepted: 1, 2, 3, today, tomorrow")
    tests = Path("tests/python")
    files = sorted(str(p) for p in tests.glob("test_*.py"))
    files += sorted(str(p) for p in tests.glob("*/test_*.py"))
    return files[int(which) - 1 :: 3]


def take_third(arguments: list[str]) -> list[str]:
    """The arguments with the files of a third in place of `--third K` at their begin."""
    if arguments[:1] != ["--third"]:
        return arguments
    if len(arguments) < 2:
        refuse("[test] --third without a number; accepted: 1, 2, 3, today, tomorrow")
    files = thirds(arguments[1])
    print(f"{len(files)} test files: --third {arguments[1]}", flush=True)
    return [*files, *arguments[2:]]


def sanitizers(*options: str) -> Environment:
    """The variables with which a Python that was not built for it runs sanitized libraries."""
    libraries = [output("gcc", f"-print-file-name={x}.so") for x in ("libasan", "libstdc++")]
    address = ("detect_leaks=0", "halt_on_error=1", "allocator_may_return_null=1", *options)
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": ":".join(address),
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
