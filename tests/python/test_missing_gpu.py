"""The reason why there is no GPU: each place that tells it tells the same one."""

import os
import pathlib
import subprocess
import sys

import pytest
from installed import needs_compiler, run, tool
from processes import EMULATED, SANITIZED

import mlx.core as mx

pytestmark = [
    pytest.mark.cpu_only(reason="is about processes without a GPU"),
    pytest.mark.anywhere,
    pytest.mark.skipif(SANITIZED or EMULATED, reason="loads libraries that are compiled here"),
    pytest.mark.skipif(sys.platform == "darwin", reason="the plugin there has another name"),
]
PACKAGE = pathlib.Path(mx.__file__).resolve().parent
OLD_DRIVER = """
int cuDriverGetVersion(int* version) { *version = 11040; return 0; }
int cuInit(unsigned flags) { return 0; }
"""
FIRST_USE = """
import mlx.core as mx
assert not mx.is_available(mx.gpu) and mx.device_count(mx.gpu) == 0
for use in (lambda: mx.set_default_device(mx.gpu), lambda: mx.ones(2, stream=mx.gpu)):
    try:
        use()
    except ValueError as e:
        print(str(e).split(" is not available here: ")[1])
    else:
        raise AssertionError
"""
DEFAULT = """
import mlx.core as mx
try:
    mx.ones(2) + 1
except RuntimeError as e:
    print(str(e).split("MLX_DEVICE=gpu given, but no GPU was found: ")[1])
else:
    raise AssertionError
"""


def compiled(folder, name, text):
    """A library of a program in C."""
    needs_compiler()
    source = folder / f"{name}.c"
    source.write_text(text)
    run(tool("cc"), "-shared", "-fPIC", "-w", "-o", str(folder / name), str(source))
    return folder / name


def engine_with(folder, plugin):
    """The engine's library in a new folder, beside this plugin or none."""
    library = folder / "lib" / "libmlx.so"
    library.parent.mkdir()
    library.symlink_to(PACKAGE / "lib" / "libmlx.so")
    if plugin is not None:
        (library.parent / "libmlx_cuda.so").symlink_to(plugin)
    return library


def reasons(**variables):
    """The reason as each place gives it, each in a new process."""
    path = os.pathsep.join(sys.path)
    env = {**os.environ, "PYTHONPATH": path, "MLX_DEVICE": "", **variables}

    def output(*arguments, **more):
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, env=env | more, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    facts = dict(line.split(": ", 1) for line in output("-m", "mlx") if ": " in line)
    listed = {name.strip(): text.strip() for name, text in facts.items()}
    (default,) = output("-c", DEFAULT, MLX_DEVICE="gpu")
    return {
        *output("-c", FIRST_USE),
        default.removesuffix("; accepted: cpu."),
        listed["no GPU"],
    }


def driver_reasons(driver):
    if not (PACKAGE / "lib" / "libmlx_cuda.so").exists():
        pytest.skip("this build has no plugin for NVIDIA GPUs")
    return reasons(MLX_CUDA_DRIVER=str(driver))


def test_no_driver():
    name = "/nonexistent/libcuda.so.1"
    assert driver_reasons(name) == {f"NVIDIA's driver ({name}) is not found"}


def test_a_driver_that_is_too_old(tmp_path):
    (reason,) = driver_reasons(compiled(tmp_path, "libcuda.so", OLD_DRIVER))
    assert reason.startswith("NVIDIA's driver is too old: it serves CUDA 11.4 and has no cu")
    assert reason.endswith("; one for CUDA 12 or later is needed")


def test_no_plugin(tmp_path):
    library = engine_with(tmp_path, None)
    assert reasons(LD_PRELOAD=str(library)) == {
        "this build of mlx has no plugin for GPUs (libmlx_cuda.so)"
    }


def test_a_broken_plugin(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("no library")
    library = engine_with(tmp_path, broken)
    (reason,) = reasons(LD_PRELOAD=str(library))
    assert reason.startswith(f"[plugin] {library.with_name('libmlx_cuda.so')}: ")


def test_a_plugin_without_its_function(tmp_path):
    library = engine_with(tmp_path, compiled(tmp_path, "empty", "int nothing;"))
    assert reasons(LD_PRELOAD=str(library)) == {
        f"[plugin] {library.with_name('libmlx_cuda.so')} has no function mlx_register_backend"
    }


@pytest.mark.parametrize("number", [0, 1, 99])
def test_a_plugin_of_another_build(tmp_path, number):
    text = f"int mlx_plugin_abi(void) {{ return {number}; }}\nvoid mlx_register_backend(void) {{}}"
    library = engine_with(tmp_path, compiled(tmp_path, "other", text))
    (reason,) = reasons(LD_PRELOAD=str(library))
    place = library.with_name("libmlx_cuda.so")
    assert reason.startswith(f"[plugin] {place} is of another build: its ABI is {number}, the en")
    assert reason.endswith("; install both from one package")
