"""An installed copy of the package, and programs that work with it."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

import pytest
from processes import EMULATED, SANITIZED

import mlx.core as mx


def tool(name: str) -> str:
    """The path of a program of this Python's environment, or of the machine."""
    beside = pathlib.Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name) or pytest.skip(f"no {name}")


def run(*command: str, **options) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **options
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout


def needs_compiler() -> None:
    """Skip the test where a program compiled here could not use the package."""
    if SANITIZED:
        pytest.skip("what is compiled here has no sanitizers")
    if EMULATED:
        pytest.skip("the compiler compiles for this machine, not for the emulated one")


def header_folders() -> list[pathlib.Path]:
    """The folders of the headers: of the installed package, or of the build tree."""
    package = pathlib.Path(mx.__file__).resolve().parent
    if (package / "include").is_dir():
        return [package / "include"]
    root, build = pathlib.Path(__file__).resolve().parents[2], package.parents[1]
    return [root, root / "mlx/compat/published", build / "include", build / "c"]


def install(folder: pathlib.Path) -> pathlib.Path:
    """A directory with an installed `mlx` in it: the build tree's, or the one under test."""
    needs_compiler()
    package = pathlib.Path(mx.__file__).parent
    if (package / "share").is_dir():
        return package.parent
    build = package.parents[1]
    for component in ("cpp", "python"):
        options = ("--prefix", str(folder), "--component", component)
        run(tool("cmake"), "--install", str(build), *options)
    blas = importlib.util.find_spec("scipy_openblas32").submodule_search_locations[0]
    (folder / "scipy_openblas32").symlink_to(blas)  # its neighbour in a Python environment
    return folder
