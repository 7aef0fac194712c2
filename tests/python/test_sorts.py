"""Sorts of hard inputs with every instruction set, on one thread and on several."""

import pathlib

import pytest
from processes import instruction_sets, run_program

pytestmark = pytest.mark.anywhere

PROGRAM = (pathlib.Path(__file__).parent / "sorts.py").read_text()


@pytest.mark.parametrize(("rows", "threads"), [("short", 1), ("long", 1), ("long", 3)])
@pytest.mark.parametrize("isa", instruction_sets())
def test_order_of_keys_and_positions(isa, rows, threads):
    if not instruction_sets()[isa]:
        pytest.skip(f"this machine has no {isa}")
    code, _, error = run_program(PROGRAM, rows, MLX_CPU_ISA=isa, MLX_NUM_THREADS=str(threads))
    assert code == 0, error[-3000:]
