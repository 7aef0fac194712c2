"""Sources that the backend for Metal gives to the device: `pytest --backend metal` and this file.

test_metal.py runs it.
"""

import pathlib

import pytest
from processes import run_program

pytestmark = [pytest.mark.gpu_only]
METAL = str(pathlib.Path(__file__).resolve().parents[1] / "metal")

PRINTED = """
import sys
sys.path.insert(0, sys.argv[1])
import printed
printed.compare()
"""


def test_texts_of_printed_programs():
    """Each is that of tests/metal/printed; printed.py writes them anew."""
    assert run_program(PRINTED, METAL, MLX_DEVICE="") == (0, "", "")


# A barrier between a line and what follows, and a reduction that needs it.
BARRIERS = {
    "columns": (
        "(parts[turn][warp][column]) = own[0];\n      __syncthreads();",
        "mx.sum(values(mx.float32, (300, 37)), axis=0)",
    ),
    "columns of vectors": (
        "own_lanes.lanes[v][0];\n      }\n      __syncthreads();",
        "mx.sum(values(mx.float32, (300, 1000)), axis=0)",
    ),
    "rows": (
        "parts[warp * kOwn + b] = blocks[b];\n    }\n    __syncthreads();",
        "(lambda x: x - mx.max(mx.abs(x), 1, keepdims=True))(values(mx.float32, (300, 2000)))",
    ),
}
IN_ORDERS = """
import os, sys
import mlx.core as mx
from test_devices_agree import bits, values
seen = set()
for order in ("forward", "backward"):
    os.environ["MLX_EMULATION_ORDER"] = order
    seen.add(str(bits(eval(sys.argv[1]))))
print(len(seen))
"""


@pytest.mark.sampled(0.4)  # --all runs all
@pytest.mark.parametrize("name", BARRIERS)
def test_a_missing_barrier_changes_bits(name):
    """Two orders of threads give other bits without it, and equal ones with it."""
    before, formula = BARRIERS[name]
    change = f"{before}=>{before.removesuffix('__syncthreads();')}"
    for results, settings in ((1, {}), (2, {"MLX_EMULATION_CHANGE": change})):
        assert run_program(IN_ORDERS, formula, MLX_DEVICE="", **settings) == (0, f"{results}\n", "")
