"""Extensions that use mlx/python.h: the functions that the module hands out, and the casters for
pybind11 and nanobind in extensions compiled here.
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sysconfig

import numpy as np
import pytest
from installed import needs_compiler
from processes import run_program

import mlx.core as mx

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(mx.__file__).resolve().parents[2]
CAPSULE = b"mlx.core.array._extension_api"


class Api(ctypes.Structure):
    """mlx::core::python::ExtensionApi, in Python's words."""

    _fields_ = [
        ("abi", ctypes.c_int),
        ("wrap", ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)),
        ("unwrap", ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)),
    ]


get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def test_the_capsule():
    api = Api.from_address(get_pointer(mx.array._extension_api, CAPSULE))
    header = (ROOT / "mlx/compat/published/mlx/python.h").read_text()
    assert f"constexpr int kAbi = {api.abi};" in header
    a = mx.arange(3.0)
    again = api.wrap(api.unwrap(a))
    assert again is not a and again.tolist() == [0, 1, 2]
    assert np.asarray(again).ctypes.data == np.asarray(a).ctypes.data
    assert api.unwrap(np.zeros(3)) is None and api.unwrap(3) is None
    assert api.unwrap(mx.array.__new__(mx.array)) is None
    null = ctypes.c_void_p(None)
    with pytest.raises(ValueError, match="null handle"):
        api.wrap(ctypes.addressof(null))


EXTENSION = ROOT / "tests" / "extension"


def compile_extension(tool, folder, source=None, *options):
    """Compile the extension `made` against the sources and the library of the build."""
    needs_compiler()
    include, link = [], []
    if tool == "pybind11":
        include = [pytest.importorskip("pybind11").get_include()]
    else:
        nanobind = pathlib.Path(pytest.importorskip("nanobind").__file__).parent
        library = BUILD / "objects" / "libnanobind-static.a"
        if not library.exists():
            pytest.skip("no nanobind in this build; the example is tested with --all")
        include, link = [nanobind / "include"], [library]
    source = EXTENSION / (source or f"with_{tool}.cpp")
    installed = pathlib.Path(mx.__file__).resolve().parent / "include"
    own = (
        [installed]
        if installed.is_dir()
        else [ROOT, ROOT / "mlx/compat/published", BUILD / "include"]
    )
    headers = [*own, *include]
    headers.append(sysconfig.get_paths()["include"])
    library = pathlib.Path(mx.__file__).resolve().parent / "lib"
    compiler = [*(["ccache"] if shutil.which("ccache") else []), os.environ.get("CXX", "c++")]
    flags = ["-std=c++20", "-O0", "-fPIC", "-fvisibility=hidden", "-DNDEBUG", *options]
    flags += [f"-I{path}" for path in headers]
    target = folder / ("made" + sysconfig.get_config_var("EXT_SUFFIX"))
    run = [*compiler, *flags, "-c", source, "-o", folder / "made.o"]
    subprocess.run(list(map(str, run)), check=True)
    run = [compiler[-1], "-shared", folder / "made.o", *link, f"-L{library}", "-lmlx"]
    run += [f"-Wl,-rpath,{library}", "-o", target]
    subprocess.run(list(map(str, run)), check=True)
    return folder


AS_PUBLISHED = """
import sys
sys.path.insert(0, sys.argv[1])
import mlx.core as mx
from made import axpy
x, y = mx.array([1.0, 2.0]), mx.ones(2)
for stream in (None, mx.cpu, mx.default_stream(mx.cpu), mx.Device(mx.cpu, 0)):
    assert axpy(x, y, 3.0, stream=stream).tolist() == [4, 7]
assert mx.grad(lambda x: axpy(x, x, 3.0).sum())(x).tolist() == [4, 4]
assert mx.jvp(lambda x: axpy(x, y, 3.0), [x], [y])[1][0].tolist() == [3, 3]
assert mx.vmap(lambda x, y: axpy(x, y, 2.0))(x, y).tolist() == [3, 5]
print("used")
"""


@pytest.mark.cpu_only("the extension uses the build's library")
def test_extension_as_published(tmp_path):
    """Sources with nanobind's own casters, in the domain of mlx.core, and members by macros."""
    compile_extension("nanobind", tmp_path, "as_published.cpp", "-DNB_DOMAIN=mlx")
    assert run_program(AS_PUBLISHED, str(tmp_path)) == (0, "used\n", "")


OTHER_ABI = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import mlx.core as mx
words = (ctypes.c_void_p * 6)(99)
new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))
mx.array._extension_api = new(ctypes.addressof(words), b"mlx.core.array._extension_api", None)
try:
    import made
except ImportError as error:
    print(error.__cause__)  # what the tool caught at the start of the module
"""

NO_API = """
import sys
sys.path.insert(0, sys.argv[1])
import mlx.core as mx
del mx.array._extension_api
try:
    import made
except ImportError as error:
    print(error.__cause__)  # what the tool caught at the start of the module
"""


@pytest.mark.cpu_only("the extension uses the build's library")
@pytest.mark.sampled(0.5, always=True)
@pytest.mark.parametrize("tool", ["pybind11", "nanobind"])
def test_extensions(tool, tmp_path):
    """Arrays go both ways without a copy; another ABI fails the import."""
    folder = str(compile_extension(tool, tmp_path))
    use = (EXTENSION / "use.py").read_text()
    for order in ("first", "last"):  # the extension imports mlx.core itself
        assert run_program(use, folder, order) == (0, "used\n", "")
    code, out, err = run_program(OTHER_ABI, folder)
    assert (code, err) == (0, "") and "ABI 99; compile the extension again" in out
    code, out, err = run_program(NO_API, folder)
    assert (code, err) == (0, "") and "without support for extensions" in out
