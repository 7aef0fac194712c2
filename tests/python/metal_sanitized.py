"""Kernels on Metal's emulated device, both with sanitizers: `./dev test --sanitize` runs it.

A kernel of each family, sources of programs, and uses of memory that must be reported.
"""

import pytest
from metal_checks import (  # noqa: F401
    test_a_source_of_each_element,
    test_a_source_with_shapes_and_strides,
    test_a_source_with_shared_memory_and_atomic_outputs,
    test_bits_do_not_depend_on_the_order_of_threads,
)
from metal_memory import (  # noqa: F401
    test_memory_of_others_is_wrapped_where_it_is_whole_pages,
    test_results_may_take_the_place_of_wrapped_arrays,
)
from processes import run_program


def running(thread):
    """The end of a report."""
    return f"threadgroup (0, 0, 0), thread ({thread}, 0, 0): is running"


# Bodies of a kernel with 8 threads and 8 elements each of `a` and `out`, and what is said of them.
MEET = "threadgroup_barrier(mem_flags::mem_threadgroup);"
OUTSIDE = {
    "a read behind a buffer": ("out[i] = a[i + 1];", running(7)),
    "a read before a buffer": ("out[i] = (a - 1)[i];", running(0)),
    "a write behind a buffer": ("out[i + 1] = a[i];", running(7)),
    "a write behind a buffer, after a stop": (f"{MEET} out[i + 1] = a[i];", running(7)),
    "a read behind threadgroup memory": (
        f"threadgroup float all[8]; threadgroup float* p = all; p[i] = a[i]; {MEET} out[i] = p[9];",
        running(0),
    ),
    "a read behind an array": (
        f"threadgroup float all[8]; all[i] = a[i]; {MEET} out[i] = all[i + 1];",
        "index 8 out of bounds for type 'float [8]'",
    ),
    "a read behind an array of a thread": (
        f"float own[4]; for (uint k = 0; k < 4; ++k) own[k] = a[k]; {MEET} out[i] = own[i];",
        "index 4 out of bounds for type 'float [4]'",
    ),
}
PROGRAM = """
import sys, mlx.core as mx
kernel = mx.fast.metal_kernel("outside", ["a"], ["out"],
                              "uint i = thread_position_in_grid.x;" + sys.argv[1])
call = {"grid": (8, 1, 1), "threadgroup": (8, 1, 1), "output_shapes": [(8,)]}
a = mx.arange(8.0)
mx.eval(a)  # has a buffer of its size
mx.eval(kernel(inputs=[a], output_dtypes=[mx.float32], **call))
"""


@pytest.mark.parametrize("what", OUTSIDE)
def test_uses_outside_of_memory_are_reported(what):
    """At once, with the kernel; with the thread too, except for arrays of a known size."""
    body, said = OUTSIDE[what]
    code, out, error = run_program(PROGRAM, body, MLX_DEVICE="")
    assert code != 0 and out == "", error
    assert said in error and "outside" in error, error
