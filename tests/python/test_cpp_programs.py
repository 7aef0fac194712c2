"""Programs in C++ as they are written for MLX: they compile against the headers and run."""

import os
import pathlib
import subprocess

import pytest
from installed import header_folders, needs_compiler, run

import mlx.core as mx

pytestmark = [pytest.mark.cpu_only("the programs compute on the CPU"), pytest.mark.anywhere]

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "programs/cpp"
LIBRARIES = pathlib.Path(mx.__file__).resolve().parent / "lib"
#: The output of each program.
EXPECTED = {
    "collectives": "rank 0 of 1\narray(10, dtype=float32)\n10\n",
    "export_import": "trained\n300 3 array(true, dtype=bool)\n1\n",
    "linear_regression": "fitted\n",
    "logistic_regression": "told apart\n",
    "metal_capture": "array([5, 5, 5, 5], dtype=float32)\n",
    "tour": """\
array([[2, 3],
       [4, 5]], dtype=float32)
array([[2],
       [4]], dtype=float32)
array([[5, 11],
       [11, 25]], dtype=float32)
array([0.5, 1.5], dtype=float16)
value array(9, dtype=float32), tangent array(6, dtype=float32)
sums array([3, 7], dtype=int32)
compiled array(2, dtype=float32)
""",
}


@pytest.mark.sampled(0.3, always=True)
@pytest.mark.parametrize("name", EXPECTED)
def test_program(name, tmp_path):
    needs_compiler()
    program = str(tmp_path / name)
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-Wall", "-Wextra", "-Werror"]
    command += [*(f"-I{folder}" for folder in header_folders()), str(PROGRAMS / f"{name}.cpp")]
    link = [f"-L{LIBRARIES}", "-lmlx", f"-Wl,-rpath,{LIBRARIES}", "-Wl,--allow-shlib-undefined"]
    run(*command, "-o", program, *link)
    alone = {k: v for k, v in os.environ.items() if not k.startswith(("MLX_RANK", "MLX_HOSTFILE"))}
    done = subprocess.run([program, str(tmp_path)], capture_output=True, text=True, env=alone)
    assert (done.returncode, done.stdout) == (0, EXPECTED[name]), done.stderr


def test_every_program_is_run():
    assert {p.stem for p in PROGRAMS.glob("*.cpp")} == set(EXPECTED)
