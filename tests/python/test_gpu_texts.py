"""Kernels of graphs begin early: they wait for the one before, and read what it wrote."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2] / "mlx/backend"
# Declarations beside the macros, whose kernels wait; loads that may read what a cache kept from
# before the wait.
FORBIDDEN = re.compile(r"__global__|__ldg|\.nc\b|__restrict")


def files():
    """The texts of kernels, and the files that print them."""
    folders = ("gpu/kernels", "gpu/families", "math")
    return [p for f in folders for p in sorted((ROOT / f).iterdir()) if p.is_file()]


@pytest.mark.parametrize("file", files(), ids=lambda p: p.name)
def test_kernels_wait_and_read_coherently(file):
    assert not FORBIDDEN.findall(file.read_text())


def test_the_pattern_finds_such_text():
    target = (ROOT / "cuda/device/target.cuh").read_text()
    assert FORBIDDEN.findall(target) == ["__global__"]
    assert FORBIDDEN.search('asm("ld.global.nc.v4.u32 {}")')
