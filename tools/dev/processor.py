"""The instruction set of this machine, for builds that run on such processors alone."""

import platform
from pathlib import Path

CPU = Path("/proc/cpuinfo")
#: Extensions as the system names them, from the widest set. The library itself asks the processor
#: (mlx/backend/cpu/cpu_info.cpp).
EXTENSIONS = {
    "avx512": "avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni avx2 fma f16c movbe abm",
    "avx2": "avx2 fma f16c movbe bmi1 bmi2 abm",
    "v2": "",
}


def extensions() -> set[str]:
    """The processor's instruction set extensions, as far as the system lists them."""
    try:
        text = CPU.read_text()
    except OSError:
        return set()
    return set(text.split("flags", 1)[-1].split("\n", 1)[0].split())


def instruction_set() -> str:
    """The widest row of mlx/backend/cpu/isas.def that this machine runs."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return "neon"
    there = extensions()
    return next(isa for isa, needed in EXTENSIONS.items() if set(needed.split()) <= there)


def only_this() -> str:
    """The option of CMake for a build with kernels of this machine's instruction set alone."""
    return f"-DMLX_ONLY_ISA={instruction_set()}"
