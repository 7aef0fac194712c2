"""Writes one archive with which the tests run on a machine with a GPU: `./dev pack`.

Such a machine may have no network, another Python and no compiler. The archive holds the built
package and its plugin (stripped), the files of the repository, this environment's interpreter and
the packages that tests import. NVIDIA's driver and NVRTC are the machine's: the script `run` looks
for the latter in the places where Python packages and toolkits put it.
"""

import pathlib
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACK = ROOT / "build" / "pack"
TREE = PACK / "tree"
PACKAGES = [
    "_distutils_hack",
    "_pytest",
    "_yaml",
    "execnet",
    "gguf",
    "hypothesis",
    "_hypothesis_ftz_detector.py",
    "_hypothesis_globals.py",
    "_hypothesis_pytestplugin.py",
    "iniconfig",
    "ml_dtypes",
    "nanobind",
    "numpy",
    "numpy.libs",
    "packaging",
    "pkg_resources",
    "pluggy",
    "py.py",
    "pygments",
    "pytest",
    "pytest_xdist",
    "safetensors",
    "scipy",
    "scipy.libs",
    "scipy_openblas32",
    "setuptools",
    "sortedcontainers",
    "tqdm",
    "typing_extensions.py",
    "xdist",
    "yaml",
]
SKIPPED = shutil.ignore_patterns(
    "__pycache__", "site-packages", "test", "tests", "idlelib", "turtledemo", "tkinter", "lib2to3",
    "ensurepip", "config-3*", "*.a", "*.pyi", "*.h", "dist-packages", "distutils", "pydoc_data",
)  # fmt: skip

RUN = """#!/bin/sh
# run test ARGS    the Python tests on the GPU, on all cores: ARGS go to pytest
# run checks       the first things to see: what the GPU is, and whether its bits are the CPU's
# run python ARGS  the interpreter, with the package
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONHOME=$here/interpreter PYTHONPATH=$here/build/python:$here/packages
export PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH=$here/interpreter/lib:$here/packages/scipy_openblas32/lib:$LD_LIBRARY_PATH
for found in $(ls -d /opt/*/.venv/lib/python3*/site-packages/nvidia/cu13/lib \\
    /opt/*/.venv/lib/python3*/site-packages/nvidia/cudnn/lib \\
    /usr/local/lib/python3*/dist-packages/nvidia/cu13/lib \\
    /usr/local/lib/python3*/dist-packages/nvidia/cudnn/lib /usr/local/cuda*/lib64 2>/dev/null); do
  MLX_CUDA_LIBRARY_PATH=$MLX_CUDA_LIBRARY_PATH:$found
done
export MLX_CUDA_LIBRARY_PATH MLX_CUDA_CACHE_DIR=${MLX_CUDA_CACHE_DIR:-$here/kernels}
python=$here/interpreter/bin/python3
cd "$here"
parallel=
[ -d packages/xdist ] && parallel="-n $(nproc)"
what=$1; [ $# -gt 0 ] && shift
case $what in
  test) [ $# -gt 0 ] || set -- tests/python
    exec $python -m pytest -p no:cacheprovider --device gpu $parallel "$@" ;;
  checks)
    $python -c 'import mlx.core as mx; print(mx.default_device(), mx.device_info(mx.gpu))'
    exec $python -m pytest -p no:cacheprovider --device gpu $parallel \\
      tests/python/test_devices_agree*.py "$@" ;;
  python) exec $python "$@" ;;
  *) sed -n 's/^# //p' "$0" ;;
esac
"""


def copy(source, target):
    """A file or a folder, without what tests do not need."""
    if source.is_dir():
        shutil.copytree(source, target, symlinks=False, ignore=SKIPPED, dirs_exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def libraries(program):
    """The shared libraries that the interpreter and its modules need beside the C library."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if name.startswith(("libz.", "libexpat.", "libffi.", "liblzma.", "libbz2.", "libpython")):
            yield name, pathlib.Path(rest.split()[0])


def interpreter():
    """The interpreter and its library, as PYTHONHOME wants them."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    binary = pathlib.Path(sys.executable).resolve()
    home = TREE / "interpreter"
    copy(binary, home / "bin" / "python3")
    copy(pathlib.Path(sysconfig.get_paths()["stdlib"]), home / "lib" / version)
    modules = pathlib.Path(sysconfig.get_paths()["stdlib"], "lib-dynload")
    for program in (
        binary,
        *modules.glob("_ctypes*"),
        *modules.glob("_lzma*"),
        *modules.glob("zlib*"),
    ):
        for name, path in libraries(program):
            copy(path, home / "lib" / name)


def main():
    """The archive, and what to do with it."""
    shutil.rmtree(PACK, ignore_errors=True)
    interpreter()
    site = pathlib.Path(sysconfig.get_paths()["platlib"])
    for name in PACKAGES:
        if (site / name).exists():
            copy(site / name, TREE / "packages" / name)
    for info in site.glob("*.dist-info"):  # plugins of pytest are found through these
        if info.name.split("-")[0] in PACKAGES:
            copy(info, TREE / "packages" / info.name)
    # SciPy's BLAS is the one that the engine has.
    for library in (TREE / "packages" / "scipy.libs").glob("libscipy_openblas*"):
        library.unlink()
        library.symlink_to("../scipy_openblas32/lib/libscipy_openblas.so")
    built = ROOT / "build" / "python" / "mlx"
    shutil.copytree(built, TREE / "build" / "python" / "mlx", symlinks=False,
                    ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True)
    for name in tracked.stdout.decode().rstrip("\0").split("\0"):
        if (ROOT / name).exists():
            copy(ROOT / name, TREE / name)
    headers = TREE / "build" / "python" / "mlx" / "include" / "mlx" / "ops"
    copy(ROOT / "mlx" / "ops" / "elementwise.def", headers / "elementwise.def")
    for library in (*TREE.glob("build/python/mlx/lib/*.so"), *TREE.glob("build/python/mlx/*.so"),
                    *TREE.glob("packages/scipy_openblas32/lib/*.so"),
                    *TREE.glob("interpreter/lib/libpython*.so*")):  # fmt: skip
        subprocess.run(["strip", "--strip-unneeded", library], check=True)
    (TREE / "run").write_text(RUN)
    (TREE / "run").chmod(0o755)
    archive = PACK / "mlx-gpu.tar.xz"
    subprocess.run(["tar", "-C", TREE, "-I", "xz -T0 -6", "-cf", archive, "."], check=True)
    print(f"{archive}: {archive.stat().st_size / 2**20:.1f} MB; unpack it, then ./run checks")


if __name__ == "__main__":
    main()
