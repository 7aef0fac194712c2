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


PARTS = {"--third": 3, "--sixth": 6, "--twelfth": 12}


def part_of_files(option: str, which: str) -> list[str]:
    """The test files of a part of the suite, by its number or by a day, which changes daily."""
    count, days = PARTS[option], ("today", "tomorrow")
    numbers = [str(k + 1) for k in range(count)]
    if which in days:
        which = str((day() + days.index(which)) % count + 1)
    if which not in numbers:
        refuse(f"[test] {option} {which} given; accepted: {', '.join((*numbers, *days))}")
    tests = Path("tests/python")
    files = sorted(str(p) for p in tests.glob("test_*.py"))
    files += sorted(str(p) for p in tests.glob("*/test_*.py"))
    return files[int(which) - 1 :: count]


def take_part(arguments: list[str]) -> list[str]:
    """The arguments with the files of a part in the place of `--third K` and its like."""
    if not arguments or arguments[0] not in PARTS:
        return arguments
    option, *rest = arguments
    if not rest:
        refuse(f"[test] {option} without a number; accepted: 1 to {PARTS[option]}, today, tomorrow")
    files = part_of_files(option, rest[0])
    print(f"{len(files)} test files: {option} {rest[0]}", flush=True)
    return [*files, *rest[1:]]


def sanitizers(*options: str) -> Environment:
    """The variables with which a Python that was not built for it runs sanitized libraries."""
    libraries = [output("gcc", f"-print-file-name={x}.so") for x in ("libasan", "libstdc++")]
    address = ("detect_leaks=0", "halt_on_error=1", "allocator_may_return_null=1", *options)
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": ":".join(address),
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
