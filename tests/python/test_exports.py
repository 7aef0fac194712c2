"""The library exports the intended symbols only (mlx/core/api.h)."""

import pathlib
import re
import subprocess

import pytest

import mlx.core as mx

LIBRARY = pathlib.Path(mx.__file__).parent / "lib/libmlx.so"
# Of the CPU backend: kernels of one's own are registered, and tests look at tiles and words.
OF_THE_CPU = {
    "register_kernel",
    "elementwise_kernels",
    "random_kernels",
    "range_kernels",
    "fill_word",
    "reciprocal_parts",
    "split_reciprocal",
    "supported_isa",  # the tests run each of these sets
    "tile_model_step",
    "get_command_encoder",  # for work of extensions
}


@pytest.fixture(scope="module")
def exported():
    """(type, mangled name) of every symbol that others can link against."""
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", str(LIBRARY)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [(line.split()[1], line.split()[0]) for line in text.splitlines()]


def test_functions_are_few_and_this_library_s(exported):
    names = [name for kind, name in exported if kind in "TDBR"]
    assert 500 < len(names) < 1500
    assert not [name for name in names if "3mlx4core" not in name]


def test_nothing_is_shown_by_accident(exported):
    """Code of headers: of the standard library's, which say so themselves, and no others."""
    standard = re.compile(r"_Z(TS|TI|TV|GV|Z)?N?K?(St|S[a-z]|9__gnu_cxx|10__cxxabi)")
    other = [n for _, n in exported if "3mlx4core" not in n and not standard.match(n)]
    assert not other


def test_kernels_are_hidden(exported):
    kernels = [n for _, n in exported if "3mlx4core3cpu" in n]
    shown = {word for n in kernels for word in OF_THE_CPU if word in n}
    assert not [n for n in kernels if not any(word in n for word in OF_THE_CPU)]
    assert "register_kernel" in shown
