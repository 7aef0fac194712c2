"""The package's metadata, and what `python -m mlx` prints."""

import ctypes
import os
import pathlib
import re
import subprocess
import sys

import installed
import processes
import pytest

import mlx.core as mx

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["LICENSE", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CITATION.cff"]


def run(*arguments):
    """The finished process of `python -m mlx`."""
    command = [*processes.PYTHON, "-m", "mlx", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """The fields of the metadata that the wheel gets, as lists."""
    build = pytest.importorskip("scikit_build_core.build")
    where = tmp_path_factory.mktemp("metadata")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        made = build.prepare_metadata_for_build_wheel(str(where))
    fields: dict[str, list[str]] = {}
    for line in (where / made / "METADATA").read_text().split("\n\n")[0].splitlines():
        name, _, value = line.partition(": ")
        fields.setdefault(name, []).append(value)
    return fields


def test_version_is_in_one_place(metadata):
    """CMakeLists.txt has it; the module and the metadata say the same."""
    (version,) = re.findall(r"project\(mlx VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert metadata["Version"] == [version] == [mx.__version__]
    assert version not in (ROOT / "pyproject.toml").read_text()


def test_metadata(metadata):
    """Licence, authors and classifiers are there, addresses are not."""
    assert metadata["License-Expression"] == ["MIT"]
    assert metadata["License-File"] == ["LICENSE"]
    assert metadata["Author"] == ["The project's authors"]
    (summary,) = metadata["Summary"]
    assert "independent implementation" in summary and "replaces Apple's package" in summary
    assert "://" not in summary
    assert "Typing :: Typed" in metadata["Classifier"]
    assert not {"Home-page", "Project-URL"} & set(metadata)
    assert {"demo", "docs", "test", "lint"} <= set(metadata["Provides-Extra"])


@pytest.mark.parametrize("name", FILES)
def test_files(name):
    """The files that hosts and tools look for."""
    assert len((ROOT / name).read_text()) > 200


@pytest.mark.skipif(not processes.HAS_STUBS, reason="builds of this kind have no stubs")
def test_typed():
    """Type checkers take the annotations of the package."""
    assert (pathlib.Path(mx.__file__).parent / "py.typed").exists()


def test_facts():
    """Without options: everything that a report of a fault needs."""
    done = run()
    assert done.returncode == 0, done.stderr
    facts = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert facts["version"].strip() == mx.__version__
    assert facts["instruction set"].strip() in processes.instruction_sets()
    assert int(facts["threads"]) >= 1
    assert "cpu 0" in facts["devices"]
    assert "OpenBLAS" in facts["BLAS"]
    assert pathlib.Path(facts["package"].strip()).is_dir()


def test_options():
    """The version alone; two options at once are refused."""
    assert run("--version").stdout == f"mlx {mx.__version__}\n"
    assert run("--version", "--cmake-dir").returncode == 2


@pytest.mark.cpu_only("instruction sets of the CPU")
def test_an_instruction_set_of_another_machine():
    """The error names those that this machine has."""
    sets = processes.instruction_sets()
    for name in {"v2", "avx2", "neon", "sse"} - set(sets):
        code = "import mlx.core as mx; mx.eval(mx.ones(3) + 1)"
        status, _, error = processes.run_program(code, MLX_CPU_ISA=name)
        assert status == 1
        assert f"MLX_CPU_ISA={name} given; accepted: {', '.join(sets)}, " in error


PACKAGES_OF_DEBIAN = "On Debian and Ubuntu: apt install"


@pytest.mark.parametrize(
    ("option", "sentence", "way_out"),
    [
        (
            "CXX=/nowhere/c++",
            "mlx needs a C++20 compiler, and none was found.",
            PACKAGES_OF_DEBIAN,
        ),
        (
            "-DPython_INCLUDE_DIR=/nowhere",
            "mlx needs the headers of Python 3.",
            PACKAGES_OF_DEBIAN,
        ),
        ("-DMLX_ONLY_ISA=sse", "MLX_ONLY_ISA=sse given; accepted:", ""),
    ],
    ids=["compiler", "headers", "instruction set"],
)
@pytest.mark.skipif(processes.EMULATED, reason="CMake runs here and compiles for this processor")
def test_missing_parts_are_named(tmp_path, option, sentence, way_out):
    """A build without a compiler or Python's headers, or for a processor without a name, ends with
    a sentence that says so."""
    name, _, value = option.partition("=")
    variables, options = ({}, [option]) if name.startswith("-") else ({name: value}, [])
    options += [f"-DCMAKE_MAKE_PROGRAM={installed.tool('ninja')}"]
    options += [f"-DPython_EXECUTABLE={sys.executable}"]
    # CMake may be a program of another Python.
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "PYTHONPATH")}
    done = subprocess.run(
        [installed.tool("cmake"), "-S", str(ROOT), "-B", str(tmp_path), "-G", "Ninja", *options],
        env={**env, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert sentence in said and way_out in said, done.stderr


@pytest.mark.cpu_only("a program that imports the package after its path is set")
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("files", [("data/__init__.py",), ("data.py",), ("tools/data.py",)])
def test_packages_of_other_distributions(tmp_path, files, first):
    """Packages mlx.… are imported from another entry of the path, first or last on it."""
    name = ".".join(["mlx", *files[0].removesuffix(".py").removesuffix("/__init__").split("/")])
    place = tmp_path / "mlx" / files[0]
    place.parent.mkdir(parents=True)
    place.write_text("import mlx.core as mx\nVALUE = mx.array(3).item()\n")
    text = f"""
import sys
sys.path.insert({0 if first else "len(sys.path)"}, {str(tmp_path)!r})
import {name}, mlx, mlx.nn, mlx.optimizers
print({name}.VALUE, mlx.core.array(4).item(), mlx.__version__ == mlx.core.__version__)
"""
    code, out, error = processes.run_program(text)
    assert (code, out.split()) == (0, ["3", "4", "True"]), error


WAITER = """
#include <condition_variable>
#include <exception>
#include <sstream>
extern "C" int wait_for_nothing() {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [] { return true; });
  std::exception_ptr error = std::make_exception_ptr(1), copy = error;
  std::ostringstream text;
  text << (copy == error);
  return text.str() == "1" ? 7 : 0;
}
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="for libstdc++")
def test_portable_functions_beside_an_archive_of_the_library(tmp_path):
    """Only functions of libc are replaced then; this process has a shared libstdc++ too."""
    source, library = tmp_path / "waiter.cpp", tmp_path / "libwaiter.so"
    source.write_text(WAITER)
    portable = pathlib.Path(__file__).parents[2] / "cmake/portable.cpp"
    compiler = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-fPIC", "-shared", "-pthread"]
    archive = ["-static-libstdc++", "-Wl,--exclude-libs,libstdc++.a"]
    subprocess.run([*compiler, *archive, source, portable, "-o", library, "-ldl"], check=True)
    assert ctypes.CDLL(str(library)).wait_for_nothing() == 7
