"""mlx.extension: arguments of the commands; with --all, the example is built and used."""

import os
import shutil
import sys

import pytest
from installed import run
from test_embedding import ROOT

pytestmark = pytest.mark.anywhere

EXAMPLE = ROOT / "examples" / "extension"
PYBIND11 = ROOT / "examples" / "pybind11"
USE = """
import mlx.core as mx
from scaled_sum import scaled_sum
x = mx.array([1.0, 2.0])
y = scaled_sum(x, mx.ones(2), 2, 3, stream=mx.cpu)
assert y.tolist() == [5, 7], y
assert mx.grad(lambda x: scaled_sum(x, x, 2, 3).sum())(x).tolist() == [5, 5]
import numpy as np
assert scaled_sum(np.array([1.0, 2.0], np.float32), 1.0, 2, 3).tolist() == [5, 7]
assert scaled_sum(x, True, 2).tolist() == [3, 5]
for wrong in ([1.0, 2.0], "12", None, b"12", object()):
    try:
        scaled_sum(x, wrong)
    except TypeError:
        continue
    raise AssertionError(f"{wrong!r} was accepted")
print("used")
"""
USE_PYBIND11 = """
import mlx.core as mx
from rescaled import rescaled
x = mx.array([1.0, 3.0, 2.0])
assert rescaled(x).tolist() == [0, 1, 0.5]
assert rescaled(x, low=-1, high=3, stream=mx.cpu).tolist() == [-1, 3, 1]
assert mx.grad(lambda x: rescaled(x)[2])(x).tolist() == [-0.25, -0.25, 0.5]
print("used")
"""
FROM_SOURCES = """
from setuptools import Extension, setup
from mlx import extension
setup(
    name="scaled_sum",
    packages=["scaled_sum"],
    ext_modules=[Extension("scaled_sum._ext", ["bindings.cpp"])],
    cmdclass={"build_ext": extension.BuildExtension},
)
"""


@pytest.fixture
def extension():
    """The module, which needs setuptools."""
    pytest.importorskip("setuptools")
    from mlx import extension

    return extension


@pytest.mark.cpu_only("installs this machine's build")
@pytest.mark.parametrize("way", ["by CMake", "from sources", "pybind11"])
def test_build_and_use(way, extension, prefix, tmp_path, request):
    """The example is built in place against an installed package, imported and differentiated."""
    if not request.config.getoption("--all"):
        pytest.skip("builds nanobind: run with --all")
    project = tmp_path / "project"
    shutil.copytree(PYBIND11 if way == "pybind11" else EXAMPLE, project)
    if way == "from sources":
        (project / "CMakeLists.txt").unlink()
        (project / "setup.py").write_text(FROM_SOURCES)
    environment = {**os.environ, "PYTHONPATH": str(prefix)}
    environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + environment["PATH"]
    if shutil.which("ccache"):
        environment["CMAKE_ARGS"] = "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
        environment.update(CC="ccache cc", CXX="ccache c++")
    run(sys.executable, "setup.py", "-q", "build_ext", "--inplace", cwd=project, env=environment)
    use = USE_PYBIND11 if way == "pybind11" else USE
    assert "used" in run(sys.executable, "-c", use, cwd=project, env=environment)


def test_needs_an_installed_package(extension, monkeypatch, tmp_path):
    """A copy of the package without headers is refused by name."""
    import mlx.core

    monkeypatch.setattr(mlx.core, "__file__", str(tmp_path / "core.so"))
    with pytest.raises(RuntimeError, match=r"no C\+\+ headers"):
        extension._package()


def test_sources_get_their_flags_and_folders(extension, monkeypatch, tmp_path):
    """Headers, libmlx beside the package, C++20 unless chosen, nanobind unless declined."""
    from setuptools import Distribution, Extension

    monkeypatch.setattr(extension, "_package", lambda: tmp_path)
    ext = Extension("a.b._ext", ["x.cpp"], extra_compile_args=["-std=c++23"])
    plain = Extension("_ext", ["x.cpp"])
    for one, options in ((ext, {}), (plain, {"nanobind": False})):
        command = extension.BuildExtension.with_options(**options)(Distribution())
        command._complete(one)
    assert ext.include_dirs[0] == str(tmp_path / "include")
    assert ext.runtime_library_dirs[0] == "$ORIGIN/../../mlx/lib"
    assert "-std=c++20" not in ext.extra_compile_args
    assert ("NB_DOMAIN", "mlx") in ext.define_macros
    assert plain.sources == ["x.cpp"]
    assert plain.runtime_library_dirs[0] == "$ORIGIN/mlx/lib"
    assert plain.extra_compile_args == ["-std=c++20"]


def test_cmake_extension(extension):
    """No sources, an absolute folder."""
    ext = extension.CMakeExtension("a._ext", "..")
    assert ext.name == "a._ext"
    assert ext.sources == []
    assert ext.sourcedir == os.path.abspath("..")


def test_metal(extension):
    """Kernels are sorted out from the sources, and the command refuses them."""
    from setuptools import Distribution

    ext = extension.MetalExtension("a._ext", ["x.cpp", "k.metal"], extra_compile_args=["-O3"])
    assert ext.sources == ["x.cpp"]
    assert ext.extra_compile_args == {"cxx": ["-O3"], "metal": []}
    assert [(library.name, library.sources) for library in ext.metal_libraries] == [
        ("_ext", ["k.metal"])
    ]
    with pytest.raises(ValueError, match="at least one"):
        extension.MetalExtension("a", ["x.cpp"])
    with pytest.raises(ValueError, match="at least one"):
        extension.MetalLibrary("k", [])
    with pytest.raises(ValueError, match="without folders"):
        extension.MetalLibrary("a/k", ["k.metal"])
    command = extension.BuildExtension(Distribution({"ext_modules": [ext]}))
    command.ensure_finalized()
    with pytest.raises(RuntimeError, match="no Metal backend"):
        command.run()
