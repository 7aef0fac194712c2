"""The guide to adding a device, beside the class that it describes."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_table_has_each_function_of_a_device():
    """In any order, each of them once."""
    header = (ROOT / "mlx/backend/gpu/device.h").read_text()
    body = re.search(r"^class Hardware \{\n(.+?)^\};", header, re.M | re.S)[1]
    functions = set(re.findall(r"^  virtual [^(]*?(\w+)\(", body, re.M)) - {"Hardware"}
    guide = (ROOT / "docs/how/device.md").read_text()
    table = re.search(r"^\| function \|.+?\n\n", guide, re.M | re.S)[0]
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]+)\|", table, re.M)))
    assert len(functions) > 20 and sorted(listed) == sorted(functions)
