"""C++ applications against an installed package: found by CMake, built, run."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import mlx.core as mx

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "cpp"
NAMES = sorted(p.parent.name for p in EXAMPLES.glob("*/CMakeLists.txt"))


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


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> pathlib.Path:
    """A directory with an installed `mlx` in it: the build tree's, or the one under test."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the examples are not built with sanitizers")
    package = pathlib.Path(mx.__file__).parent
    if (package / "share").is_dir():
        return package.parent
    build = package.parents[1]
    prefix = tmp_path_factory.mktemp("prefix")
    for component in ("cpp", "python"):
        options = ("--prefix", str(prefix), "--component", component)
        run(tool("cmake"), "--install", str(build), *options)
    blas = importlib.util.find_spec("scipy_openblas32").submodule_search_locations[0]
    (prefix / "scipy_openblas32").symlink_to(blas)  # its neighbour in a Python environment
    return prefix


@pytest.fixture(scope="module")
def programs(prefix, tmp_path_factory) -> pathlib.Path:
    """The directory of the built examples."""
    here = tmp_path_factory.mktemp("examples")
    environment = {**os.environ, "PYTHONPATH": str(prefix)}
    found = run(sys.executable, "-m", "mlx", "--cmake-dir", env=environment, cwd=here).strip()
    assert pathlib.Path(found).is_relative_to(prefix)
    launcher = shutil.which("ccache")
    run(
        tool("cmake"),
        *("-S", str(EXAMPLES), "-B", str(here), "-G", "Ninja"),
        f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        *(f"-D{name}_DIR={found}" for name in ("mlx", "MLX")),
        *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []),
    )
    run(tool("cmake"), "--build", str(here))
    return here / "bin"


@pytest.mark.parametrize("name", NAMES)
def test_example(programs, name):
    """Each example checks itself and says so by its exit code."""
    assert run(str(programs / name))


def test_package_has_what_headers_include(prefix):
    """Every header that an installed header includes is installed."""
    include = prefix / "mlx" / "include"
    headers = list(include.rglob("*.h"))
    assert include / "mlx" / "mlx.h" in headers
    missing = [
        (header.name, line)
        for header in headers
        for line in header.read_text().splitlines()
        if line.startswith('#include "mlx/') and not (include / line.split('"')[1]).exists()
    ]
    assert not missing
