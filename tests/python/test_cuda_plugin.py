"""The plugin for NVIDIA GPUs: on a driver of the host, and where there is no GPU."""

import os
import pathlib
import subprocess
import sys

import pytest
from processes import EMULATED, SANITIZED, run_program

pytestmark = [
    pytest.mark.cpu_only(reason="makes a GPU of its own"),
    pytest.mark.skipif(SANITIZED, reason="kernels run as fibers, which sanitizers do not follow"),
    pytest.mark.skipif(EMULATED, reason="the plugin is compiled for x86-64"),
]
HERE = pathlib.Path(__file__).parent


@pytest.mark.sampled(0, always=True)  # minutes where no compiled kernels are kept: --all runs it
def test_on_a_driver_of_the_host():
    """All checks of the files named. The CPU's bits are those of the sets that have FMA."""
    files = ("cuda_checks.py", "cuda_failures.py", "cuda_kernels.py", "test_gpu_interop.py")
    environment = {name: value for name, value in os.environ.items() if name != "MLX_CPU_ISA"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "--backend", "cuda-host",
         "-p", "no:cacheprovider", *(str(HERE / name) for name in files)],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


def test_primitives_of_programs():
    """Classes in C++ whose eval_gpu enqueues work, or writes from the host."""
    program = """
import os, subprocess, second_backend, mlx.core as mx, pathlib
plugin = second_backend.use_host_driver()
folder = pathlib.Path(mx.__file__).resolve().parents[2] / "tests"
raise SystemExit(subprocess.run([folder / "mlx_cuda_primitives", plugin]).returncode)
"""
    assert run_program(program, MLX_DEVICE="") == (0, "", "")


def test_without_a_driver_there_is_no_gpu_and_no_message():
    program = """
import second_backend, mlx.core as mx
path = second_backend.use_host_driver()
import os
os.environ["MLX_CUDA_DRIVER"] = "/nonexistent/libcuda.so.1"
mx._load_test_backend(str(path))
assert not mx.is_available(mx.gpu) and mx.device_count(mx.gpu) == 0
assert mx.default_device() == mx.Device(mx.cpu)
try:
    mx.set_default_device(mx.gpu)
except ValueError as e:
    assert "not available here: NVIDIA's driver (/nonexistent/libcuda.so.1) is not found" in str(e)
else:
    raise AssertionError
print((mx.ones((2,)) + 1).tolist())
"""
    assert run_program(program, MLX_DEVICE="") == (0, "[2.0, 2.0]\n", "")
