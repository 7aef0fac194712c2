"""Tiles of bfloat16: the model of the unit runs everywhere, the unit where the processor has it."""

import pathlib
import platform

import pytest
from processes import cpu_flags, run_program

PROGRAM = (pathlib.Path(__file__).parent / "tile_products.py").read_text()
X86 = platform.machine().lower() in ("x86_64", "amd64")


def results(isa, threads=2):
    code, out, error = run_program(PROGRAM, str(threads), MLX_CPU_ISA=isa)
    assert code == 0, error
    unit, wrong, digests = out.splitlines()
    return unit, int(wrong), digests


def test_products_by_the_model_are_exact_and_do_not_depend_on_threads():
    unit, wrong, digests = results("amx-model")
    assert (unit, wrong) == ("amx-model", 0)
    assert results("amx-model", threads=1)[2] == digests
    assert results("amx-model", threads=7)[2] == digests


@pytest.mark.skipif("amx_bf16" not in cpu_flags(), reason="the processor has no AMX")
def test_the_unit_has_the_bits_of_its_model():
    unit, wrong, digests = results("amx")
    assert (unit, wrong) == ("amx", 0)
    assert digests == results("amx-model")[2]


@pytest.mark.skipif(not X86, reason="the sets of other architectures have other names")
@pytest.mark.parametrize("isa", ["v2", "avx2"])
def test_a_smaller_set_has_no_unit(isa):
    if isa == "avx2" and isa not in cpu_flags():
        pytest.skip("the processor has no AVX2")
    unit, wrong, _ = results(isa)
    assert (unit, wrong) == ("none", 0)


@pytest.mark.cpu_only("an instruction set of the CPU")
def test_a_unit_that_is_missing_is_an_error():
    if "amx_bf16" in cpu_flags():
        pytest.skip("the processor has AMX")
    code, _, error = run_program(
        "import mlx.core as mx; mx.eval(mx.ones(3) + 1)", MLX_CPU_ISA="amx"
    )
    assert code != 0 and "MLX_CPU_ISA=amx given; accepted:" in error and "amx-model" in error
