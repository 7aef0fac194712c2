"""A build in a folder whose name has characters that shells and CMake read in another way."""

import os
import pathlib
import shlex
import subprocess
import sys

import installed
import processes
import pytest

pytestmark = [
    pytest.mark.anywhere,
    pytest.mark.skipif(processes.EMULATED, reason="CMake configures for this processor"),
]

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **options):
    """The output of a program that has no variables of this Python."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "PYTHONPATH")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """The folder of a configured build, its source folder, and the commands of the build."""
    folder = tmp_path_factory.mktemp("paths") / "Ünï cödé (x) & y"
    folder.mkdir()
    source, target = folder / "m lx's", folder / "build"
    source.symlink_to(ROOT, target_is_directory=True)
    ninja = installed.tool("ninja")
    run(
        *(installed.tool("cmake"), "-S", str(source), "-B", str(target), "-G", "Ninja"),
        *(f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DPython_EXECUTABLE={sys.executable}"),
    )
    return target, source, run(ninja, "-C", str(target), "-t", "commands", "all").splitlines()


def test_paths_are_words_of_commands(build):
    """A shell reads a path as one word in every command: none is divided at a blank."""
    _, source, commands = build
    parts = {"(x)", "&", "y", "y/build", "cödé"}
    programs = set()
    for line in commands[1:]:  # after ninja's own line
        words = shlex.split(line)
        assert parts.isdisjoint(words), line
        programs |= {pathlib.Path(w).name for w in words if w.startswith(f"{source}/")}
    assert {"docstrings.py", "generate.py", "stubs.py", "creation.cpp"} <= programs


def test_programs_that_write_sources(build):
    """Generators run by their commands, and write into the folder."""
    target, _, commands = build
    for program, written in (("docstrings.py", "docstrings.cpp"), ("generate.py", "c/mlx/c/ops.h")):
        assert not (target / written).exists()
        (command,) = [c for c in commands if f"/{program}" in c]
        run("sh", "-c", command, cwd=target)
        assert (target / written).stat().st_size > 1000
