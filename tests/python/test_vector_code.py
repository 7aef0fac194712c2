"""Machine code of the vector kernels, for faults of compilers that no result shows."""

import functools
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
ELEMENT = re.compile(
    r"(?:mov[bwlq]?|vmov(?:ss|sd|d|q)|vpextr[bwdq]|vextractps)\s+"
    r".*%\w+,(-?0x[0-9a-f]+)?\(%(rsp|rbp)\)$"
)
REGISTER = re.compile(
    r"vmov(?:[au]p[sd]|dq[au])\d*\s+(-?0x[0-9a-f]+)?\(%(rsp|rbp)\),%([xyz])mm\d+$"
)
REGISTER_BYTES = {"x": 16, "y": 32, "z": 64}
RECENT = 40  # instructions


def copies(code):
    """How many times half a register's bytes are copied from memory to memory."""
    found, loads = 0, []
    for line in code:
        instruction = line.rsplit("\t", 1)[-1].strip()
        load, store = LOAD.match(instruction), STORE.match(instruction)
        found += bool(store) and store[1] in loads
        loads = [*loads[1 - NEAR :], load[1] if load else ""]
    return found


def assembled(code):
    """How many registers are loaded from elements that were just stored one by one."""
    found, stores = 0, []
    for line in code:
        instruction = line.rsplit("\t", 1)[-1].strip()
        if load := REGISTER.match(instruction):
            begin = int(load[1] or "0", 16)
            places = {int(s[1] or "0", 16) for s in stores if s and s[2] == load[2]}
            found += sum(0 <= at - begin < REGISTER_BYTES[load[3]] for at in places) > 1
        stores = [*stores[1 - RECENT :], ELEMENT.match(instruction)]
    return found


@functools.cache
def functions_of_library():
    """The code of all functions, as text, by mangled name."""
    dump = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(LIBRARY)], capture_output=True, text=True
    )
    assert dump.returncode == 0
    return dict(f.split(">:\n", 1) for f in re.split(r"\n[0-9a-f]+ <", dump.stdout)[1:])


def functions_of(names):
    """The lines of the functions of real numbers with such names, by mangled name."""
    functions = functions_of_library()
    if not any("8long_row" in name for name in functions):
        pytest.skip("a library without the names of its functions")
    return {
        name: code.splitlines()
        for name, code in functions.items()
        if re.search(names, name) and "Complex" not in name
    }


needs_the_code = pytest.mark.skipif(
    platform.machine() != "x86_64" or not LIBRARY.exists() or not shutil.which("objdump"),
    reason="needs objdump and the library of x86-64",
)


def test_copies_are_recognized():
    split = ["  1:\tvmovdqu 0x10(%rax),%xmm1", "  2:\tnop", "  3:\tvmovdqa %xmm1,0x30(%rdx)"]
    whole = [line.replace("xmm", "ymm") for line in split]
    assert copies(split) == 1 and copies(whole) == 0


def test_assembled_registers_are_recognized():
    stores = ["  1:\tvmovss %xmm1,0x20(%rsp)", "  2:\tmovl %eax,0x24(%rsp)"]
    load = "  3:\tvmovaps 0x20(%rsp),%ymm2"
    elsewhere = load.replace("0x20", "0x40")
    assert assembled([*stores, load]) == 1
    assert assembled([stores[0], load]) == 0 and assembled([*stores, elsewhere]) == 0


@needs_the_code
def test_loops_of_reductions_load_whole_registers():
    """A register that is loaded from two copied halves waits for both: ten times as long."""
    loops = functions_of("8long_row")
    assert len(loops) > 50
    assert [name for name, code in loops.items() if copies(code)] == []


@needs_the_code
def test_ends_of_rows_are_not_assembled_in_memory():
    """A register that is loaded from elements stored one by one waits for all of them."""
    ends = functions_of("10columns_of|9load_some|11short_block|11Tridiagonal|14sort_registers")
    assert len(ends) > 100
    assert [name for name, code in ends.items() if assembled(code)] == []


@needs_the_code
def test_plain_loops_of_integers_are_vectors():
    """Files whose loops are vectors already are compiled at a level that leaves plain loops scalar,
    and of the copies of a function in several files the linker keeps one."""
    if any(name.startswith(("__tsan", "__asan")) for name in functions_of_library()):
        pytest.skip("a library with a sanitizer, without optimizations")
    loops = functions_of(r"cpu(4avx2|6avx512)6(choose|scalarI\w+Li[12]E)I?[bhtjmasil]EEvPKPKvPvl")
    assert len(loops) > 300
    constants = "imag|isfinite|isinf|isnan|isneginf|isposinf"
    calls = "gcd|power|floor_divide|remainder"  # or divisions of 64 bits
    other = re.compile(rf"bodies\d+({constants}|{calls})E|shiftELi2EbE")
    scalar = [n for n, code in loops.items() if not re.search(r"%[yz]mm", "\n".join(code))]
    assert [name for name in scalar if not other.search(name)] == []
    assert sum("6choose" in name for name in loops) == 8
