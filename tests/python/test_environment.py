"""Environment variables of the engine: unknown words are errors, at the first use."""

import os
import re
import subprocess

import pytest
from processes import PYTHON, run_program

PROGRAM = """
import mlx.core as mx
for _ in range(2):  # the error stays
    try:
        print((mx.arange(3.0) + 1).tolist())
    except RuntimeError as error:
        print(error)
"""


def lines(**variables):
    """The lines that the program prints under these variables."""
    env = {**os.environ, "MLX_DEVICE": "cpu", **variables}
    done = subprocess.run(
        [*PYTHON, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("variable", "value", "accepted"),
    [
        ("MLX_DEVICE", "xpu", "cpu, gpu"),
        ("MLX_DEBUG", "plans", "plan, passes, verify"),
        ("MLX_DEBUG", "verify,all", "plan, passes, verify"),
        ("MLX_DISABLE_PASSES", "all", "communicate, fuse, rows, assign"),
        ("MLX_DISABLE_PASSES", "fuse,bind", "communicate, fuse, rows, assign"),
    ],
)
def test_unknown_word(variable, value, accepted):
    """The error names the variable, its value and the words that are accepted."""
    text = f"[environment] {variable}={value} given; accepted: {accepted}."
    assert lines(**{variable: value}) == [text, text]


@pytest.mark.parametrize(
    "variables",
    [
        {"MLX_DEVICE": "cpu"},
        {"MLX_DEBUG": ""},
        {"MLX_DEBUG": "plan, verify"},
        {"MLX_DISABLE_PASSES": "communicate,fuse,rows,assign"},
        {"MLX_DISABLE_PASSES": "rows"},
    ],
)
def test_known_words(variables):
    """Nothing, one word, several."""
    assert lines(**variables) == ["[1.0, 2.0, 3.0]"] * 2


def test_gpu_that_is_not_there():
    """MLX_DEVICE=gpu is an error where there is none, and not a silent CPU."""
    first, second = lines(MLX_DEVICE="gpu")
    assert first == second
    assert first == "[1.0, 2.0, 3.0]" or re.fullmatch(
        r"\[environment\] MLX_DEVICE=gpu given, but no GPU was found: .+; accepted: cpu\.", first
    )


LIMITED = """
import pathlib, resource
import mlx.core as mx
mx.set_default_device(mx.cpu)
mx.eval(mx.ones((3,)) + 1)
mapped = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = mapped + 2**29
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(limit)
try:
    mx.eval(mx.full((2**28,), 1.0))
except MemoryError as error:
    print(error)
print(mx.sum(mx.ones((1000, 1000))).item())
"""


def test_limit_of_the_address_space():
    """The error names the limit and its size, and smaller arrays are computed afterwards."""
    code, said, errors = run_program(LIMITED)
    limit, message, total = said.splitlines()
    assert code == 0 and total == "1000000.0", errors
    assert message == (
        f"[malloc] requested {2**30} bytes; ulimit -v allows the process {limit} bytes."
    )
