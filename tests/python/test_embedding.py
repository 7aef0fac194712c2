"""C++ applications that use an installed package: found by CMake, built, run."""

import os
import pathlib
import shutil

import pytest
from installed import run, tool
from processes import PYTHON

import mlx.core as mx

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "cpp"
PROJECTS = EXAMPLES.glob("*/CMakeLists.txt")
NAMES = sorted(p.parent.name for p in PROJECTS if "find_package" in p.read_text())


@pytest.fixture(scope="module")
def programs(prefix, tmp_path_factory) -> pathlib.Path:
    """The directory of the built examples."""
    here = tmp_path_factory.mktemp("examples")
    environment = {**os.environ, "PYTHONPATH": str(prefix)}
    found = run(*PYTHON, "-m", "mlx", "--cmake-dir", env=environment, cwd=here).strip()
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


@pytest.mark.cpu_only("C++ programs of their own, which compute on the CPU")
@pytest.mark.parametrize("name", NAMES)
def test_example(programs, name):
    """Each example checks itself and says so by its exit code."""
    assert run(str(programs / name))


@pytest.mark.cpu_only("C++ programs of their own, which compute on the CPU")
def test_exported_from_python(programs, tmp_path):
    """A network that Python trained and exported has the same results in C++."""
    options = ("--program", str(programs / "exported_function"), "--output", str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(mx.__file__).parents[1])}
    said = run(*PYTHON, str(EXAMPLES.parent / "exported.py"), *options, env=environment)
    assert float(said.rsplit("largest difference: ", 1)[1]) < 1e-5, said


@pytest.mark.cpu_only("installs this machine's build")
def test_package_has_all_included_headers(prefix):
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
