"""Programs that tests run in a Python of their own, and what the machine can run."""

import os
import pathlib
import platform
import re
import subprocess
import sys

import second_backend

ISAS = pathlib.Path(__file__).resolve().parents[2] / "mlx/backend/cpu/isas.def"
FLAGS = {"avx2": "avx2", "avx512": "avx512bw"}  # as the system names them
# A program that runs this Python in an emulator, which the kernel does not start by itself.
EMULATED = "MLX_TEST_PYTHON" in os.environ
PYTHON = [os.environ.get("MLX_TEST_PYTHON", sys.executable)]
# Code of sanitizers is several times slower, and its frames are larger.
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
HAS_STUBS = not (SANITIZED or EMULATED)  # making them imports the extension


def run_program(text, *arguments, timeout=600 if SANITIZED or EMULATED else 120, **settings):
    """Run a program with environment variables; its exit code, and what it wrote."""
    # A shell lets what it runs in the background ignore this signal.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    if name := second_backend.in_use():
        start += f"import second_backend; second_backend.use({name!r})\n"
    done = subprocess.run(
        [*PYTHON, "-c", start + text, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.returncode, done.stdout, done.stderr


def run_checks(backend, *arguments, timeout):
    """Run pytest on a second backend; its output if a test failed, else nothing.

    The bits of the CPU are those of the instruction sets that have FMA.
    """
    environment = {name: value for name, value in os.environ.items() if name != "MLX_CPU_ISA"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "--backend", backend, "-p", "no:cacheprovider",
         *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
    )  # fmt: skip
    return "" if run.returncode == 0 else run.stdout + run.stderr


def instruction_sets():
    """The sets that kernels of this build are compiled for: does this machine run each?

    MLX_TEST_ISA names the only one, where a build has one.
    """
    if only := os.environ.get("MLX_TEST_ISA"):
        return {only: True}
    machine = platform.machine().lower()
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine)
    section = ISAS.read_text().split(f"defined(__{machine}__)")[1].split("#elif")[0]
    first, *others = re.findall(r"X\((\w+), \d", section)  # the first one runs everywhere
    return {first: True} | {isa: FLAGS[isa] in cpu_flags() for isa in others}


def cpu_flags():
    """Instruction set extensions of this machine."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    return set(text.split("flags", 1)[-1].split("\n", 1)[0].split())
