"""Builds by CMake and Ninja: the one in build/, and others below it."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

from .environment import environment
from .shell import PYTHON, ROOT, Environment, jobs, logged, merged

BUILD = Path("build")
PACKAGE: Environment = {"PYTHONPATH": "build/python"}  # the build's package is importable
BEAT = 20  # seconds
DOCTEST = Path("/usr/include/doctest/doctest.h")


def without_doctest(folder: Path) -> bool:
    """Whether doctest was installed after the build was configured, which left it out."""
    cache = folder / "CMakeCache.txt"
    if not (DOCTEST.is_file() and cache.is_file()):
        return False
    lines = cache.read_text(errors="replace").splitlines()
    return any(x.startswith("DOCTEST_INCLUDE:") and "NOTFOUND" in x for x in lines)


def configured(folder: Path, command: str) -> bool:
    """Whether this command has configured the build, and pyproject.toml did not change since."""
    ninja, stamp = folder / "build.ninja", folder / ".configured"
    if not (ninja.is_file() and stamp.is_file() and stamp.read_text() == command):
        return False
    newer = ninja.stat().st_mtime > Path("pyproject.toml").stat().st_mtime
    return newer and not without_doctest(folder)


def configure(folder: Path, *options: str, variables: Environment | None = None) -> None:
    """Runs CMake, unless it has been done."""
    command = [
        *(".venv/bin/cmake", "-S", ".", "-B", str(folder), "-G", "Ninja"),
        f"-DCMAKE_MAKE_PROGRAM={ROOT}/.venv/bin/ninja",
        f"-DPython_EXECUTABLE={ROOT / PYTHON}",
        "-DMLX_BUILD_TESTS=ON",
        *options,
    ]
    text = "\n".join(command) + "\n"
    if not configured(folder, text):
        logged(folder / "configure.log", *command, variables=variables)
        (folder / ".configured").write_text(text)


class Beat:
    """Says at least every 20 seconds that Ninja is still at work: a few files take a minute."""

    def __init__(self, log: Path, output: TextIO, seconds: float = BEAT) -> None:
        self._log, self._output, self._seconds = log, output, seconds
        self._start = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()

    def _run(self) -> None:
        while not self._done.wait(self._seconds):
            try:
                idle = time.time() - self._log.stat().st_mtime
            except OSError:
                idle = self._seconds
            if idle >= self._seconds:
                passed = int(time.monotonic() - self._start)
                text = f"  still compiling after {passed // 60}:{passed % 60:02}"
                print(text, file=self._output, flush=True)


def compile(
    folder: Path, *targets: str, quiet: bool = False, variables: Environment | None = None
) -> None:
    """Runs Ninja, whose failure ends the command. Its output is shown, or only if it fails."""
    command = [".venv/bin/ninja", "-C", str(folder), "-j", str(jobs()), *targets]
    sys.stdout.flush()
    with Beat(folder / ".ninja_log", sys.stderr if quiet else sys.stdout):
        shown = subprocess.PIPE if quiet else None
        done = subprocess.run(command, env=merged(variables), stdout=shown)
    if done.returncode:
        sys.stdout.write((done.stdout or b"").decode(errors="replace"))
        raise SystemExit(done.returncode if done.returncode > 0 else 1)


def build(*targets: str, quiet: bool = False) -> None:
    """The build in build/, of which everything else uses the package."""
    environment("build")
    configure(BUILD, "-DMLX_WERROR=ON")
    compile(BUILD, *targets, quiet=quiet)
