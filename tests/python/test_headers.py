"""Headers of applications: each compiles alone, and all of them together in any order.

Programs have macros of their own, in front of the headers and after them: macros of C's complex.h,
and names that other systems' headers define.
"""

import os
import pathlib
import random
import re
import shutil
import subprocess

import pytest
from cases import selection
from installed import header_folders, needs_compiler

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "mlx/compat/published"
#: Headers of bindings need packages of their own; tests of extensions compile them.
BINDINGS = {"mlx/nanobind.h", "mlx/pybind11.h", "mlx/python.h"}
HEADERS = sorted(
    {p.relative_to(PUBLISHED).as_posix() for p in PUBLISHED.rglob("*.h")} - BINDINGS
    | {"mlx/distributed/distributed.h", "mlx/version.h"}
)
#: Macros that programs and headers of systems define in front of others.
MACROS = """\
#define I _Complex_I
#define near
#define far
#define small char
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define ERROR 0
#define CONST const
#define VOID void
"""


def compilers() -> list[str]:
    """The C++ compilers of this machine that the package is tested with."""
    named = [os.environ.get("CXX", "c++"), "clang++"]
    return [name for name in named if shutil.which(name)]


def compiles(text: str, compiler: str, standard: str = "c++20") -> None:
    """Check the source, without warnings."""
    options = [f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x"]
    options += ["c++", "-", *(f"-I{folder}" for folder in header_folders())]
    done = subprocess.run([compiler, *options], input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{text}\n{done.stderr[:3000]}"


def include(*names: str) -> str:
    """Lines that include these headers."""
    return "".join(f'#include "{name}"\n' for name in names)


pytestmark = [pytest.mark.cpu_only("the compiler works on the headers alone"), pytest.mark.anywhere]


@pytest.mark.sampled(0.08, always=True)
@pytest.mark.parametrize("name", HEADERS)
def test_each_alone(name):
    needs_compiler()
    for compiler in compilers():
        compiles(include(name), compiler)
        if selection.EVERYTHING:
            compiles("#include <complex.h>\n" + include(name), compiler, "gnu++20")
            compiles(include(name) + "#include <complex.h>\n", compiler, "gnu++20")


def test_all_in_any_order():
    """After C's complex.h and macros of others, in GNU's dialect, in an order of this run."""
    needs_compiler()
    names = random.Random(selection.SEED).sample(HEADERS, len(HEADERS))
    uses = """
    std::set<int> set;
    std::filesystem::path path;
    auto product = mlx::core::float16_t(2) * mlx::core::float16_t(3);
    """
    after = re.sub(r"define (\w+).*", r"undef \1", MACROS) + uses
    for compiler in compilers():
        compiles(
            "#include <complex.h>\n#undef I\n" + MACROS + include(*names) + after,
            compiler,
            "gnu++20",
        )


def test_ops_alone_brings_arithmetic():
    needs_compiler()
    uses = "auto sum = mlx::core::bfloat16_t(2) + 1;\n"
    compiles(include("mlx/ops.h") + uses, compilers()[0])


def test_published_names_have_headers():
    """The headers that MLX publishes with functions and classes of programs."""
    published = """allocator array compile compile_impl device distributed/distributed
        distributed/ops dtype einsum export export_impl fast fft graph_utils io io/load linalg
        memory mlx ops primitives random scheduler stream transforms transforms_impl
        types/half_types utils version backend/common/utils"""
    assert {f"mlx/{name}.h" for name in published.split()} <= set(HEADERS)
