"""Compiles texts of kernels under rules of Metal's language: `check.py ZIG`, ZIG of ziglang.

C++ for OpenCL has Metal's address spaces, so pointers to memory of the device, of the block and of
the thread do not mix; it has no recursion and, without an extension, no double. The second pass is
C++14. The third looks for what both accept and Metal does not. Errors that are known are named.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAD = '#include "tests/metal/rules.h"\n#include "mlx/backend/gpu/kernels/{}.cuh"\n'
USING = "using namespace mlx::core;\nusing namespace mlx::core::device;\n"
SUM = "Sum<float, float>, Plain, float, FromMemory<float, true>"

# The text, the arguments, and instances. Classes are not copied between address spaces in C++ for
# OpenCL, so elements are numbers.
KERNELS = {
    "reduce": (
        "ReduceArguments",
        [
            f"reduce_rows<{SUM}>",
            "reduce_rows<Sum<float16_t, float>, Mean, float16_t, FromMemory<float16_t, false>>",
            "reduce_columns<Extreme<int32_t, int32_t, true>, Plain, int32_t,"
            " FromMemory<int32_t, false>>",
            f"reduce_shared_columns<{SUM}>",
            f"reduce_few<{SUM}, 4>",
            f"reduce_short<{SUM}, 32, 2>",
            "reduce_chunks<Sum<float, float>, Plain, float, 256>",
        ],
    ),
    "sort": (
        "SortArguments",
        [
            f"{function}<{form}>"
            for function in ("sort_tiles", "merge_runs")
            for form in ("Values<float>", "Values<bfloat16_t>", "ShortPositions<int32_t>")
        ],
    ),
    "matmul": (
        "MatmulArguments",
        ["matrix_product<float, float>", "matrix_product<float16_t, float>"],
    ),
}
SHARED = "non-kernel function variable cannot be declared in local address space"
NEWER = {
    "lambda expressions": r"\[[&=]?\]\s*\(",
    "derived classes": r"^struct \w+(<[^>]*>)? : ",
}


def source(text: str) -> str:
    """Kernels that instantiate a text."""
    arguments, calls = KERNELS[text]
    lines = [
        f"MLX_IN_STEP_KERNEL(k{n}, {arguments}, p) {{ {call}(p); }}\n"
        for n, call in enumerate(calls)
    ]
    return HEAD.format(text) + USING + "".join(lines)


def errors(zig: str, options: list[str], text: str) -> list[str]:
    """The errors of clang for a text."""
    command = [zig, "clang", *options, "-fsyntax-only", "-ferror-limit", "0"]
    folders = ["-I", str(ROOT / "tests/metal/stand_in"), "-I", str(ROOT)]
    file = ROOT / "build" / f"metal_{text}.cl"
    file.write_text(source(text))
    run = subprocess.run([*command, *folders, str(file)], capture_output=True, text=True)
    found = re.findall(r"^\S+: (?:fatal )?error: (.*)$", run.stderr, re.M)
    if run.returncode and not found:
        found = [run.stderr.strip()]
    return found


def main(zig: str) -> int:
    """Prints a line for each text; 1 where an error is not known."""
    opencl = ["-cc1", "-x", "clcpp", "-cl-std=clc++2021", "-cl-ext=-all"]
    opencl += ["-triple", "spir64-unknown-unknown"]
    cpp14 = ["-cc1", "-x", "c++", "-std=c++14", "-triple", "x86_64-unknown-linux-gnu"]
    unknown = 0
    for text in KERNELS:
        found = errors(zig, opencl, text)
        others = [e for e in found if e != SHARED]
        others += [f"as C++14: {e}" for e in errors(zig, cpp14, text)]
        content = (ROOT / f"mlx/backend/gpu/kernels/{text}.cuh").read_text()
        newer = [name for name, form in NEWER.items() if re.search(form, content, re.M)]
        print(f"{text}: {found.count(SHARED)} declarations of shared memory outside of kernels;")
        print(f"  beside these: {', '.join(newer) or 'nothing that Metal refuses'}")
        for error in others:
            print(f"  {error}")
        unknown += len(others)
    return unknown > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
