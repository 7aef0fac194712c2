"""`./dev test --processors` and `--arm`: tests on processors that an emulator has."""

import shutil
import subprocess
import sys
from pathlib import Path

from .builds import BUILD, DOCTEST, PACKAGE, build, compile, configure
from .environment import environment, requirements
from .shell import PYTHON, ROOT, Environment, debian, doctest, jobs, merged, no_more, replace, run

# Nehalem has nothing beyond x86-64-v2, Haswell AVX2.
INSTRUCTION_SETS = {"Nehalem": "v2", "Haswell": "avx2"}
NOT_SHOWN = "TCG doesn't support"

# NEON and no SVE, for which OpenBLAS's kernels give wrong results in this emulator.
ARM = ("neoverse-n1", "cortex-a53")
EMULATOR = "/usr/bin/qemu-aarch64-static"
COMPILER = "/usr/bin/aarch64-linux-gnu-g++"
FOLDER = BUILD / "arm"
SYSROOT = ROOT / FOLDER / "sysroot"
ARM_TESTS = (
    *("values", "special_values", "layouts", "derivatives", "vmap"),
    *("compiled", "plan", "golden", "quantized", "random"),
)


def smoke(processor: str, isa: str) -> None:
    """Computes on one emulated processor, without the emulator's remarks on what it leaves out."""
    command = ["qemu-x86_64", "-cpu", processor, PYTHON, "tests/processors/smoke.py", isa]
    # The environment may name a processor to OpenBLAS: this one, not the emulated one.
    variables = {k: v for k, v in merged(PACKAGE).items() if not k.startswith("OPENBLAS_")}
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr
        for line in child.stderr:
            if NOT_SHOWN not in line:
                print(line, end="", file=sys.stderr)
    if child.returncode:
        raise SystemExit(1)


def processors(arguments: list[str]) -> int:
    """A few computations on processors without AVX-512 and AVX2."""
    no_more("test --processors", arguments)
    if debian("/usr/bin/qemu-x86_64", "qemu-user", "processors without AVX2 or AVX-512"):
        build()
        for processor, isa in INSTRUCTION_SETS.items():
            print(f"{processor}:", flush=True)
            smoke(processor, isa)
    return 0


def arm_packages() -> Environment:
    """Installs Python and packages for 64-bit Arm; the result leads CMake to them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    names = FOLDER / "requirements.txt"
    here = ("cmake", "ninja")  # these run on this processor
    names.write_text("".join(f"{x}\n" for x in requirements("test") if not x.startswith(here)))
    run("tests/arm/setup.sh", PYTHON, names)
    if DOCTEST.is_file():
        target = FOLDER / "include/doctest"
        shutil.copytree(DOCTEST.parent, target, dirs_exist_ok=True)
    return {"PYTHONPATH": f"{FOLDER}/site"}


def arm_launcher() -> Path:
    """The program that starts Python in the emulator, for tests and for pytest-xdist."""
    launcher = ROOT / FOLDER / "python3"
    interpreter = f'"{SYSROOT}/usr/bin/python3.11"'
    launcher.write_text(
        f'#!/bin/sh\nexec {EMULATOR} -cpu {ARM[0]} -L "{SYSROOT}" {interpreter} "$@"\n'
    )
    launcher.chmod(0o755)
    return launcher


def arm(arguments: list[str]) -> int:
    """The engine, the bindings and tests, compiled here for 64-bit Arm and run by an emulator."""
    if not (debian(COMPILER, "g++-aarch64-linux-gnu", "64-bit Arm")
            and debian(EMULATOR, "qemu-user-static", "64-bit Arm")):  # fmt: skip
        return 0
    doctest()
    environment("build")
    site = arm_packages()
    configure(
        FOLDER,
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/aarch64-linux.cmake",
        "-DMLX_WERROR=ON",
        f"-DDOCTEST_INCLUDE={ROOT / FOLDER}/include",
        f"-DMLX_SYSROOT={SYSROOT}",
        variables=site,
    )
    compile(FOLDER, "mlx_tests", "core", "mlxc", variables=site)
    objects = FOLDER / "objects/CMakeFiles/mlx_neon.dir/__/mlx/backend/cpu/isa"
    run(PYTHON, "tests/arm/loops.py", objects)
    for processor in ARM:
        print(f"C++ tests, {processor}:", flush=True)
        run(EMULATOR, "-L", SYSROOT, "-cpu", processor, FOLDER / "tests/mlx_tests", "--no-intro")
    launcher = arm_launcher()
    replace(
        *(launcher, "-m", "pytest", "-p", "no:cacheprovider"),
        *("--tx", f"{jobs()}*popen//python={launcher}", "--dist", "worksteal"),
        *(arguments or [f"tests/python/test_{name}.py" for name in ARM_TESTS]),
        variables={
            "MLX_TEST_PYTHON": str(launcher),
            "PYTHONPATH": f"{ROOT / FOLDER}/python:{ROOT / FOLDER}/site",
        },
    )
