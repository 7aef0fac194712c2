"""The plugin for NVIDIA GPUs: on a driver of the host, and where there is no GPU."""

import os
import pathlib
import random
import re
import subprocess

import pytest
import second_backend
from cases import selection
from processes import EMULATED, SANITIZED, run_checks, run_program

pytestmark = [
    pytest.mark.cpu_only(reason="makes a GPU of its own"),
    pytest.mark.skipif(SANITIZED, reason="kernels run as fibers, which sanitizers do not follow"),
    pytest.mark.skipif(EMULATED, reason="the plugin is compiled for x86-64"),
    pytest.mark.anywhere,
]
HERE = pathlib.Path(__file__).parent


@pytest.mark.sampled(0, always=True)  # minutes where no compiled kernels are kept: --all runs it
def test_on_a_driver_of_the_host():
    """All checks of the files named."""
    files = (
        "cuda_checks.py",
        "cuda_convolutions.py",
        "cuda_failures.py",
        "cuda_graphs.py",
        "cuda_kernels.py",
        "cuda_products.py",
        "test_gpu_interop.py",
    )
    failed = run_checks("cuda-host", *(str(HERE / name) for name in files), timeout=600)
    assert not failed, failed


def test_fourier_transforms_without_the_library(monkeypatch):
    """By own kernels, in both precisions."""
    monkeypatch.setenv("MLX_CUDA_FFT", "")
    failed = run_checks("cuda-host", str(HERE / "fourier_checks.py"), timeout=600)
    assert not failed, failed


def test_kernels_of_the_table_compile():
    """On the compiler of the host: an instance of each function that it has instructions for."""
    folder = pathlib.Path(second_backend.mx.__file__).resolve().parents[2] / "tests"
    variables = os.environ | {"MLX_CUDA_NVRTC": str(folder / "libmlx_host_driver.so")}

    def run(*arguments):
        command = [folder / "mlx_cuda_corpus", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, env=variables)

    names = run("--list").stdout.splitlines()
    assert len(names) == len(set(names)) > 3000
    assert "sort: search_sorted<bfloat16_t>" in names and "random: random_bytes" in names
    assert run("--list", "no such kernel").returncode == 1
    briefs = run("--briefs")
    assert briefs.returncode == 0 and briefs.stdout == "0 briefs stand for two sources\n"
    functions = {}
    by_warpgroups = re.compile(r"attention_groups|packed_warpgroups")
    for name in (n for n in names if not by_warpgroups.match(n)):
        functions.setdefault(name.split("<")[0], []).append(name)
    choose = random.Random(selection.SEED)
    chosen = [choose.choice(instances) for instances in functions.values()]
    ran = run("sm_90", "2", *(f"%{name}" for name in chosen))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(ran.stdout.split()[0]) >= len(functions)


def test_primitives_of_programs():
    """Classes in C++ whose eval_gpu enqueues work, or writes from the host."""
    program = """
import os, subprocess, second_backend, mlx.core as mx, pathlib
plugin = second_backend.use_host_driver()
folder = pathlib.Path(mx.__file__).resolve().parents[2] / "tests"
raise SystemExit(subprocess.run([folder / "mlx_cuda_primitives", plugin]).returncode)
"""
    assert run_program(program, MLX_DEVICE="") == (0, "", "")


FORKED = """
import os, pathlib, second_backend, mlx.core as mx
second_backend.load("cuda-host")
mx.set_default_device(mx.gpu)
{look}
child = os.fork()
if child == 0:
    code = 1
    try:
        assert mx.default_device() == mx.Device(mx.cpu), mx.default_device()
        assert (mx.ones((2,)) + 1).tolist() == [2, 2]
        for act in (lambda: mx.eval(mx.add(mx.ones((2,)), 1, stream=mx.gpu)),
                    lambda: mx.device_info(mx.gpu)):
            try:
                act()
            except RuntimeError as e:
                assert "was used before this process was forked; start child" in str(e), e
            else:
                raise AssertionError
        code = 0
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert mx.default_device() == mx.Device(mx.gpu) and (mx.ones((2,)) + 1).tolist() == [2, 2]
"""


@pytest.mark.parametrize("look", ["mx.default_device()", "mx.device_info(mx.gpu)"])
def test_a_child_forked_before_any_work_has_the_cpu(look):
    """Where the parent has asked for its devices, and not computed."""
    assert run_program(FORKED.replace("{look}", look), MLX_DEVICE="") == (0, "", "")


UNSEEN = """
import second_backend, mlx.core as mx
second_backend.use("cuda-host")
x = mx.random.normal((400, 400))
mx.eval(x)
results = [mx.linalg.svd(x + k, stream=mx.gpu)[1] for k in range(60)]  # the CPU computes them
for result in results:
    mx.async_eval(result)
SEEN
"""


@pytest.mark.parametrize("seen", [False, True])
def test_work_that_has_not_begun_at_the_end_is_dropped(seen):
    program = UNSEEN.replace("SEEN", "mx.eval(results)" if seen else "")
    code, out, text = run_program(program, MLX_DEVICE="", MLX_HOST_DRIVER_REPORT="1")
    assert (code, out) == (0, "") and text.startswith("copies: ")
    assert (int(text.split()[1]) >= 200) == seen


FAULT = """
import second_backend, mlx.core as mx
second_backend.use("cuda-host")

def kernel(name, body):
    f = mx.fast.cuda_kernel(name, ["a"], ["y"], body + "y[threadIdx.x] = a[threadIdx.x];")
    return f(inputs=[x], output_shapes=[(64,)], output_dtypes=[mx.float32], grid=(64, 1, 1),
             threadgroup=(64, 1, 1))[0]

x = mx.arange(64.0)
assert kernel("sound", "").tolist() == x.tolist()
bad = kernel("unsound", "if (threadIdx.x) __shfl_sync(~0u, 1, 0); else __syncthreads();")
for act in (lambda: mx.eval(bad), lambda: mx.eval(mx.sinh(x * 0.71875) - 3), bad.tolist):
    try:
        act()
    except RuntimeError as e:
        assert "the program's kernel 'unsound' failed on the device" in str(e), e
    else:
        raise AssertionError
"""


def test_a_fault_of_the_device_names_the_kernel_of_the_program():
    """Also in calls that come later, such as the load of another kernel."""
    code, out, _ = run_program(FAULT, MLX_DEVICE="")  # the driver of the host says what it met
    assert (code, out) == (0, "")


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
