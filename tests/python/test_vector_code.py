"""Machine code of the vector kernels, for faults of compilers that no result shows."""

import pathlib
import platform
import re
import shutil
import subprocess

import pytest

import mlx.core as mx

pytestmark = pytest.mark.anywhere

LIBRARY = pathlib.Path(mx.__file__).parent / "lib" / "libmlx.so"
LOAD = re.compile(r"vmov\w+\s+(?:-?0x[0-9a-f]+)?\(%\w+\),%(xmm\d+)$")
STORE = re.compile(r"vmov\w+\s+%(xmm\d+),(?:-?0x[0-9a-f]+)?\(%\w+\)$")
NEAR = 4  # instructions from one to the other


def copies(code):
    """How many times half a register's bytes are copied from memory to memory."""
    found, loads = 0, []
    for line in code:
        instruction = line.rsplit("\t", 1)[-1].strip()
        load, store = LOAD.match(instruction), STORE.match(instruction)
        found += bool(store) and store[1] in loads
        loads = [*loads[1 - NEAR :], load[1] if load else ""]
    return found


def test_copies_are_recognized():
    split = ["  1:\tvmovdqu 0x10(%rax),%xmm1", "  2:\tnop", "  3:\tvmovdqa %xmm1,0x30(%rdx)"]
    whole = [line.replace("xmm", "ymm") for line in split]
    assert copies(split) == 1 and copies(whole) == 0


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not LIBRARY.exists() or not shutil.which("objdump"),
    reason="needs objdump and the library of x86-64",
)
def test_loops_of_reductions_load_whole_registers():
    """A register that is loaded from two copied halves waits for both: ten times as long."""
    dump = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(LIBRARY)], capture_output=True, text=True
    )
    if "8long_row" not in dump.stdout:
        pytest.skip("a library without the names of its functions")
    functions = re.split(r"\n[0-9a-f]+ <", dump.stdout)
    loops = [f for f in functions if "8long_row" in f[:300] and "Complex" not in f[:300]]
    assert dump.returncode == 0 and len(loops) > 50
    slow = [f.split(">")[0] for f in loops if copies(f.splitlines()[1:])]
    assert slow == []
