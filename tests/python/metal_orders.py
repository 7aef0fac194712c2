"""Results in two orders of threads: `pytest --backend metal metal_orders.py`.

A kernel without a barrier that it needs gives other bits on the emulated device. The rows are those
of test_values.py; a part of them runs, which the seed chooses, or all with --all.
"""

import os
from types import SimpleNamespace

import cases
import numpy as np
import pytest
import second_backend
from cases.table import device_array, leaves
from test_devices_agree import bits

import mlx.core as mx

pytestmark = pytest.mark.skipif(
    second_backend.in_use() != "metal", reason="about the emulated device for Metal"
)
OF_CPU = ("float64", "complex128")  # which Metal does not have
SHARE = {"elementwise": 0.03}  # whose threads never meet


def in_order(order, row, inputs):
    """The bits of a row's results."""
    os.environ["MLX_EMULATION_ORDER"] = order
    try:
        mx.random.seed(0)
        results = leaves(row.call(*map(device_array, inputs)))
        return [bits(r) for r in results]
    finally:
        del os.environ["MLX_EMULATION_ORDER"]


def check(row, share):
    """Messages about results that differ."""
    for dtype in row.dtypes:
        if dtype in OF_CPU or not cases.chosen(f"order {row.name} {dtype}", share):
            continue
        inputs = row.host_inputs(dtype)
        if in_order("forward", row, inputs) != in_order("backward", row, inputs):
            yield f"{dtype}: other bits in the other order of threads"


@pytest.mark.parametrize("family", cases.names())
def test_bits_do_not_depend_on_the_order_of_threads(family):
    """Compares two runs of each row."""
    cases.run_rows(family, lambda row: check(row, SHARE.get(family, 0.1)))


WITHOUT_BARRIER = """
threadgroup float parts[64];
uint t = thread_position_in_threadgroup.x;
parts[t] = a[t];
out[t] = parts[63 - t];
"""


def test_a_kernel_without_its_barrier_has_other_bits():
    """The two orders differ."""
    kernel = mx.fast.metal_kernel("reversed", ["a"], ["out"], WITHOUT_BARRIER)
    shape = {"grid": (64, 1, 1), "threadgroup": (64, 1, 1), "output_shapes": [(64,)]}
    row = SimpleNamespace(
        call=lambda a: kernel(inputs=[a], output_dtypes=[mx.float32], **shape),
    )
    inputs = [np.arange(64, dtype=np.float32)]
    assert in_order("forward", row, inputs) != in_order("backward", row, inputs)
