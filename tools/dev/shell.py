"""Programs that commands start, what these print, and packages of the system."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

# `dev` starts in the root of the repository, and every path is relative to it.
ROOT = Path(__file__).resolve().parents[2]
PYTHON = ".venv/bin/python"

Environment = dict[str, str]


def jobs() -> int:
    """The number of parallel jobs: MLX_BUILD_JOBS, or the processors that this process may use."""
    if given := os.environ.get("MLX_BUILD_JOBS"):
        if not given.isdecimal() or int(given) == 0:
            refuse(f"[dev] MLX_BUILD_JOBS={given}; accepted: a number from 1")
        return int(given)
    return processors()


def processors() -> int:
    """The number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def refuse(message: str) -> NoReturn:
    """Ends the command, which was called in a wrong way."""
    print(message, file=sys.stderr)
    raise SystemExit(2)


def no_more(name: str, arguments: list[str], accepted: str = "no arguments") -> None:
    """Refuses arguments that a command does not have."""
    if arguments:
        refuse(f"[{name}] {' '.join(arguments)} given; accepted: {accepted}")


def merged(variables: Environment | None) -> Environment:
    """The environment of this process with these variables set."""
    return {**os.environ, **(variables or {})}


def status(*command: str | Path, variables: Environment | None = None) -> int:
    """Runs a program; the result is its exit status as a shell has it."""
    sys.stdout.flush()
    code = subprocess.run([str(c) for c in command], env=merged(variables)).returncode
    return code if code >= 0 else 128 - code


def run(*command: str | Path, variables: Environment | None = None) -> None:
    """Runs a program, whose failure ends the command."""
    if code := status(*command, variables=variables):
        raise SystemExit(code)


def replace(*command: str | Path, variables: Environment | None = None) -> NoReturn:
    """Runs a program in the place of this one: it gets the signals and gives the exit status."""
    sys.stdout.flush()
    words = [str(c) for c in command]
    os.execvpe(words[0], words, merged(variables))


def logged(log: Path, *command: str | Path, variables: Environment | None = None) -> None:
    """Runs a program whose output goes to a file, which is shown if the program fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        done = subprocess.run(
            [str(c) for c in command], env=merged(variables), stdout=file, stderr=subprocess.STDOUT
        )
    if done.returncode:
        sys.stdout.write(log.read_text(errors="replace"))
        raise SystemExit(1)


def output(*command: str | Path, variables: Environment | None = None) -> str:
    """The text that a program prints, without the last newline; its failure ends the command."""
    done = subprocess.run(
        [str(c) for c in command], env=merged(variables), stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout.rstrip("\n")


def debian(file: str, package: str, untested: str) -> bool:
    """Whether a file is there, for which a Debian package is installed where that can be done.

    Where it cannot, a loud message says which tests are left out.
    """
    if os.path.isfile(file):
        return True
    if os.geteuid() == 0 and shutil.which("apt-get"):
        nothing = subprocess.DEVNULL
        silent = merged({"DEBIAN_FRONTEND": "noninteractive"})
        for words in (["update"], ["install", "-y", package]):
            command = ["apt-get", *words]
            if subprocess.call(command, env=silent, stdin=nothing, stdout=nothing, stderr=nothing):
                break
    if os.path.isfile(file):
        return True
    print(
        f"\n!!! NOT TESTED: {untested}. It needs {file}: install the package {package}.\n",
        file=sys.stderr,
    )
    return False


def doctest() -> bool:
    """Whether the header of doctest is there, without which no C++ tests are built."""
    return debian("/usr/include/doctest/doctest.h", "doctest-dev", "C++ tests")
