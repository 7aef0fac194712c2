"""`./dev wheel`: wheels for other machines."""

import os
import shutil
from pathlib import Path

from ..builds import BUILD, build, compile, configure
from ..environment import environment
from ..processor import instruction_set
from ..shell import PYTHON, ROOT, Environment, logged, no_more, output, run as run_program
from ..zig import zig

USAGE = """\
  wheel [PYTHON...] make wheels in build/dist that run on systems with glibc 2.28 or later, for this
                    environment's Python or for others
       --this-processor
                    for this machine alone: kernels of its instruction set, two thirds of the work
       --macos        for macOS 14 on 64-bit Arm and this environment's Python, cross-compiled
"""

DIST = Path("build/dist")
RAW = DIST / "raw"
PIP = ("-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps")


def programs_first() -> Environment:
    """The path with the environment's programs before others."""
    return {"PATH": f"{ROOT}/.venv/bin{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def wheels() -> list[Path]:
    """The wheels that were made."""
    return sorted(DIST.glob("*.whl"))


def with_plugin() -> bool:
    """Whether the build has the plugin for NVIDIA GPUs."""
    cache = BUILD / "CMakeCache.txt"
    return cache.is_file() and "MLX_CUDA:BOOL=ON" in cache.read_text().splitlines()


def linux(interpreters: list[str]) -> None:
    """Makes wheels for this environment's Python, or for the interpreters that are named."""
    environment("wheel")
    shutil.rmtree(DIST, ignore_errors=True)
    if not interpreters:
        build("stubs")
        settings = ("--no-build-isolation", "--config-settings=build-dir=build")
        run_program(PYTHON, *PIP, *settings, "-w", RAW, ".")
    for interpreter in interpreters:
        print(f"For {output(interpreter, '--version')}:", flush=True)
        run_program(interpreter, *PIP, "--config-settings=build-dir=build/wheel", "-w", RAW, ".")
    # The plugin asks for newer libraries; the BLAS is another package.
    tag = "auto" if with_plugin() else "manylinux_2_28_x86_64"
    options = ("-z", "9", "--plat", tag, "--exclude", "libscipy_openblas.so", "-w", DIST)
    logged(
        BUILD / "auditwheel.log",
        *(PYTHON, "-m", "auditwheel", "repair", *options),
        *sorted(RAW.glob("*.whl")),
        variables=programs_first(),
    )
    shutil.rmtree(RAW, ignore_errors=True)
    print(*wheels(), sep="\n")


def this_processor() -> None:
    """Makes a wheel with kernels of this machine's instruction set, and for its system."""
    environment("build")
    shutil.rmtree(DIST, ignore_errors=True)
    settings = ("build-dir=build/processor", f"cmake.define.MLX_ONLY_ISA={instruction_set()}")
    run_program(
        *(PYTHON, *PIP, "--no-build-isolation"),
        *(f"--config-settings={setting}" for setting in settings),
        *("-w", DIST, "."),
        variables=programs_first(),
    )
    print(*wheels(), sep="\n")


def macos() -> None:
    """Makes the wheel for macOS 14 on 64-bit Arm."""
    build("stubs")  # of this system: an extension of the other cannot be imported here
    folder = BUILD / "macos"
    configure(
        folder,
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/macos.cmake",
        f"-DMLX_ZIG={zig()}",
        "-DMLX_BUILD_TESTS=OFF",
        "-DMLX_WERROR=ON",
    )
    compile(folder, "core", "mlxc", "mlx_metal")
    shutil.rmtree(DIST, ignore_errors=True)
    command = (PYTHON, "cmake/macos/wheel.py", BUILD, folder, DIST)
    run_program(*command, variables=programs_first())
    run_program(PYTHON, "tests/apple/check_wheel.py", *wheels())


def run(arguments: list[str]) -> int:
    """Makes wheels for Linux, for this machine or for macOS."""
    if arguments[:1] == ["--macos"]:
        no_more("wheel", arguments[1:], "--macos alone")
        macos()
    elif arguments[:1] == ["--this-processor"]:
        no_more("wheel", arguments[1:], "--this-processor alone")
        this_processor()
    else:
        linux(arguments)
    return 0
