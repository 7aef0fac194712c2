"""The backend for Metal: on the emulated device, and where there is no device."""

import pathlib

import pytest
from cases import selection
from processes import EMULATED, SANITIZED, run_checks, run_program

pytestmark = [
    pytest.mark.cpu_only(reason="makes a GPU of its own"),
    pytest.mark.skipif(SANITIZED, reason="metal_sanitized.py is run on a build of its own"),
    pytest.mark.skipif(EMULATED, reason="kernels are compiled for this processor"),
    pytest.mark.anywhere,
]
HERE = pathlib.Path(__file__).parent


# Each compiles many kernels by the system's compiler, which takes minutes.
AGREE = [
    f"test_devices_agree{part}"
    for part in ("", "_attention", "_loops", "_ops", "_selection", "_sizes")
]


CHECKS = ["metal_memory", "fourier_checks", *(AGREE if selection.EVERYTHING else [])]
CHECKS += [f"metal{name}_checks" for name in ("", "_device", "_math", "_source", "_subnormal")]


@pytest.mark.parametrize("file", CHECKS)
def test_on_the_emulated_device(file):
    """A sample of the checks; --all runs all, and compares all ops with the CPU."""
    every = ["--all"] if selection.EVERYTHING else []
    path, seed = str(HERE / f"{file}.py"), str(selection.SEED)
    failed = run_checks("metal", "--seed", seed, *every, path, timeout=1800)
    assert not failed, failed


def test_without_a_device():
    """A library without Metal registers nothing."""
    program = """
import pathlib, mlx.core as mx
library = pathlib.Path(mx.__file__).resolve().parents[2] / "tests" / "libmlx_metal.so"
mx._load_test_backend(str(library))
assert mx.default_device() == mx.Device(mx.cpu) and not mx.metal.is_available()
try:
    mx.device_info(mx.gpu)
except ValueError as e:
    print(e)
"""
    code, _, error = run_program(program, MLX_DEVICE="")
    assert (code, error) == (0, ""), error
