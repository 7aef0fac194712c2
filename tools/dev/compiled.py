"""`./dev test --clang` and `--accelerate`: builds by another compiler, with another BLAS."""

from .builds import BUILD, compile, configure
from .environment import environment
from .shell import doctest, run
from .suites import suite
from .zig import zig

ACCELERATE_TESTS = (
    "tests/python/test_values.py",
    "tests/python/test_derivatives.py",
    "tests/python/test_precision.py",
    "-k",
    "linalg or products or precision",
)


def clang(arguments: list[str]) -> int:
    """Everything compiled by clang, of which a warning is an error; then the tests."""
    environment("test")
    doctest()
    folder = BUILD / "clang"
    configure(folder, "-DMLX_WERROR=ON", variables={"CXX": f"{zig()}/clang++"})
    compile(folder)
    run(folder / "tests/mlx_tests", "--no-intro")
    suite(arguments, {"PYTHONPATH": f"{folder}/python"})


def accelerate(arguments: list[str]) -> int:
    """The engine with the names of Apple's Accelerate, which a library of the tests has here.

    The tests are those of the callers of these names, unless arguments name others.
    """
    environment("test")
    folder = BUILD / "accelerate"
    configure(folder, "-DMLX_WERROR=ON", "-DMLX_ACCELERATE=ON")
    compile(folder, "core")
    suite(arguments or ACCELERATE_TESTS, {"PYTHONPATH": f"{folder}/python"})
