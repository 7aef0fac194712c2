"""`./dev test`: the C++ and the Python tests, on this processor or in another way."""

from collections.abc import Callable
from pathlib import Path

from ..builds import PACKAGE, build
from ..compiled import accelerate, clang
from ..emulated import arm, processors
from ..environment import environment
from ..sanitized import addresses, threads
from ..shell import PYTHON, doctest, jobs, no_more, refuse, replace, run as run_program
from ..suites import pytest_command, suite, take_part
from ..zig import ziglang
from . import wheel

USAGE = """\
  test [ARGS]       build, then run the C++ and Python tests; ARGS go to pytest
       --third K, --sixth K, --twelfth K
                      the first argument: the C++ tests and that part of the Python files
                      (from 1 on; today or tomorrow, which change with the date)
       --all          the whole product of the case lists
       --seed N       the sample of the case lists that was printed with this number
       --huge         also arrays of more than 2^31 elements (12 GB)
       --backend NAME on the second backend, whose memory the host cannot read (fake) or can read
                      (fake-unified); on the plugin for NVIDIA GPUs with a driver of the host
                      (cuda-host); on the backend for Metal with an emulated device (metal)
       --device gpu   on this machine's GPU
    or, with one of these first:
       --exhaustive   every float32 and 16-bit pattern of each unary function
       --sanitize [--third K | --sixth K | --twelfth K]
                      kernels of Metal's emulated device, then the Python suite, under
                      AddressSanitizer and UndefinedBehaviorSanitizer
       --threads [ARGS]
                      the C++ tests under ThreadSanitizer, then three processes of them that work
                      together, then their threads on the plugin for NVIDIA GPUs; ARGS go to the
                      test program (-tc="threads*" runs these alone)
       --processors   imports and computes on emulated processors without AVX-512 and AVX2
       --arm [ARGS]   the C++ tests, and some Python tests or ARGS, on emulated 64-bit Arm (needs a
                      cross compiler)
       --clang [ARGS] all tests, compiled by clang, of which a warning is an error
       --accelerate [ARGS]
                      the tests of linear algebra and products, compiled for Apple's BLAS and
                      LAPACK, with a library of the tests in their place
       --metal [ARGS] texts of kernels for GPUs, compiled under rules of Metal's language by clang;
                      then ARGS, or all tests of the backend for Metal, on an emulated device
       --wheel        builds the wheel and the source archive, installs in an empty environment
                      and computes there
"""


def exhaustive(arguments: list[str]) -> int:
    """Every float32 and 16-bit pattern of each unary function."""
    build("exhaustive_math")
    replace("build/tests/exhaustive_math", *arguments)


def installed(arguments: list[str]) -> int:
    """The wheel and the source archive."""
    no_more("test --wheel", arguments)
    wheel.run([])
    run_program(PYTHON, "tests/wheel.py", wheel.DIST)
    return 0


def metal(arguments: list[str]) -> int:
    """Texts of kernels under rules of Metal's language, then the tests of the backend."""
    Path("build").mkdir(exist_ok=True)
    run_program(PYTHON, "tests/metal/check.py", ziglang())
    environment("test")
    build()
    options = ["-n", str(min(jobs(), 4)), "--backend", "metal"]
    if not arguments:  # a part of the rows, which the date chooses
        run_program(*pytest_command([*options, "tests/python/metal_orders.py"]), variables=PACKAGE)
    names = [f"metal{part}_checks" for part in ("", "_device", "_math", "_source", "_subnormal")]
    files = [f"tests/python/{name}.py" for name in (*names, "metal_memory", "fourier_checks")]
    suite([*options, "--all", *(arguments or files)], PACKAGE)
    return 0


def plain(arguments: list[str]) -> int:
    """The C++ tests, then the Python tests."""
    arguments = take_part(arguments)
    environment("test")
    doctest()
    build()
    program = Path("build/tests/mlx_tests")
    if program.exists():
        print("C++ tests:")
        run_program(program, "--no-intro")
        print("Python tests:")
    suite(arguments, PACKAGE)


WAYS: dict[str, Callable[[list[str]], int]] = {
    "--exhaustive": exhaustive,
    "--sanitize": addresses,
    "--threads": threads,
    "--processors": processors,
    "--arm": arm,
    "--clang": clang,
    "--accelerate": accelerate,
    "--metal": metal,
    "--wheel": installed,
}


def run(arguments: list[str]) -> int:
    """Tests in the way that the first argument names, or on this build."""
    way = WAYS.get(arguments[0]) if arguments else None
    rest = arguments[1:] if way else arguments
    if late := [a for a in rest if a in WAYS]:
        refuse(f"[test] {late[0]} after other arguments; accepted: as the first one, and once")
    return (way or plain)(rest)
