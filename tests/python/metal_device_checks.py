"""Command buffers and objects of Metal's emulated device: `pytest --backend metal` and this file.

test_metal.py runs it.
"""

import gc
import json

import pytest
import second_backend
from metal_checks import ran

import mlx.core as mx

pytestmark = pytest.mark.gpu_only
ASKED = "a failure that a test asked for"


def commits(evaluate):
    """The number of command buffers that a call commits."""
    mx.synchronize(mx.gpu)
    before = second_backend.emulated_device().emulated_commits()
    evaluate()
    mx.synchronize(mx.gpu)
    return second_backend.emulated_device().emulated_commits() - before


def three_steps(seed):
    """A graph of three kernels."""
    x = mx.full((40, 70), seed, mx.float32)
    mx.eval(x)
    return mx.softmax(mx.sort(mx.cumsum(x * 2.0, axis=1), axis=0), axis=1)


def test_a_launch_is_a_command_buffer(tmp_path):
    """Where steps are watched, each is one, and is reported."""
    first = three_steps(1.0)
    assert commits(lambda: mx.eval(first)) == 1
    profiled = three_steps(2.0)
    with mx.profile(str(tmp_path / "steps.json")):
        assert commits(lambda: mx.eval(profiled)) >= 3
    steps = json.loads((tmp_path / "steps.json").read_text())["traceEvents"]
    assert [s["name"] for s in steps][-2:] == ["sort", "softmax"] and len(steps) >= 3
    assert all(s["dur"] > 0 for s in steps)
    watched = three_steps(3.0)
    with mx.debug_nans():
        assert commits(lambda: mx.eval(watched)) >= 3
        with pytest.raises(RuntimeError, match="softmax"):
            mx.eval(mx.softmax(three_steps(float("inf")), axis=1))
    assert abs(mx.sum(three_steps(4.0)).item() - 40) < 1e-3


def test_a_failed_command_buffer_fails_its_launch():
    """Its results and what needs them are errors with the text; other work goes on."""
    kept = three_steps(1.0)
    mx.eval(kept)
    before = kept.tolist()
    for watched in (False, True):
        y = three_steps(2.0)
        z = y + 1
        second_backend.emulated_device().emulated_fail(0)
        with mx.debug_nans(watched), pytest.raises(RuntimeError, match=ASKED):
            mx.eval(y)
        for failed in (y, z):
            with pytest.raises(RuntimeError, match=ASKED):
                mx.eval(failed + 0)
        assert kept.tolist() == before
        assert abs(mx.sum(three_steps(3.0)).item() - 40) < 1e-3


def test_a_failure_passes_between_streams_and_devices():
    """A step of the CPU, or of another stream, of a result that failed."""
    for stream in (mx.cpu, mx.new_stream(mx.gpu)):
        y = three_steps(2.0)
        second_backend.emulated_device().emulated_fail(0)
        with pytest.raises(RuntimeError, match=ASKED):
            mx.eval(mx.multiply(y, 2, stream=stream))
        assert mx.multiply(mx.ones((3,)), 2, stream=stream).tolist() == [2] * 3


def test_objects_are_given_back():
    """Work that repeats leaves no more objects of the device."""

    def work():
        mx.eval(three_steps(2.0), mx.matmul(mx.ones((70, 40)), mx.ones((40, 9))))
        second_backend.emulated_device().emulated_fail(0)
        with pytest.raises(RuntimeError, match=ASKED):
            mx.eval(three_steps(3.0) * 3)
        mx.eval(three_steps(1.0))  # the stream lets the failed command buffer go
        gc.collect()
        mx.clear_cache()
        mx.synchronize(mx.gpu)
        return second_backend.emulated_device().emulated_objects()

    work()
    assert len({work() for _ in range(4)}) == 1


def test_arrays_without_elements_in_a_source():
    """Inputs and outputs; a write beside one is an error, and the next launch works."""
    a, nothing = mx.ones((8,)), mx.zeros((0,))
    body = "if (N > 0) out[thread_position_in_grid.x] = a[0];"
    for n, shape, given in ((0, (0,), a), (0, (0, 3), nothing), (1, (8,), a)):
        call = {"shapes": [shape], "dtypes": [mx.float32], "template": [("N", n)]}
        (got,) = ran(body, {"a": given}, 1, (8, 1, 1), **call)
        assert got.tolist() == mx.ones(shape).tolist()
    call = {"shapes": [(0,)], "dtypes": [mx.float32], "template": [("N", 1)]}
    with pytest.raises(RuntimeError, match="outside of buffer"):
        mx.eval(ran(body, {"a": a}, 1, (8, 1, 1), **call))
    assert mx.sum(a).item() == 8


def test_calls_of_a_source_that_are_refused():
    """Each by a typed error, and the next launch works."""
    a = mx.ones((8,))
    kernel = mx.fast.metal_kernel("t", ["a"], ["out"], "out[thread_position_in_grid.x] = a[0];")
    good = {
        "inputs": [a],
        "output_shapes": [(8,)],
        "output_dtypes": [mx.float32],
        "grid": (8, 1, 1),
        "threadgroup": (8, 1, 1),
    }
    wrong = [
        ({"output_shapes": None}, TypeError, "incompatible"),
        ({"output_dtypes": None}, TypeError, "incompatible"),
        ({"inputs": None}, TypeError, "incompatible"),
        ({"output_shapes": []}, ValueError, "0 shapes and 1 dtypes"),
        ({"output_shapes": [(-1,)]}, ValueError, r"shape \(-1,\)"),
        ({"output_shapes": [(1 << 40,)]}, MemoryError, "requested"),
        ({"inputs": []}, ValueError, "0 inputs"),
        ({"inputs": [a, a]}, ValueError, "2 inputs"),
        ({"grid": (0, 1, 1)}, ValueError, "positive"),
        ({"grid": (8, -1, 1)}, ValueError, "positive"),
        ({"grid": (8, 1)}, ValueError, "three"),
        ({"threadgroup": (0, 1, 1)}, ValueError, "positive"),
        ({"threadgroup": (32, 32, 2), "grid": (64, 64, 2)}, ValueError, "1024 threads"),
        ({"output_dtypes": [mx.float64]}, ValueError, "float64"),
        ({"template": [("T", "x y")]}, TypeError, "incompatible"),
    ]
    for change, kind, text in wrong:
        call = {k: v for k, v in {**good, **change}.items() if v is not None}
        with pytest.raises(kind, match=text):
            mx.eval(kernel(**call))
        assert kernel(**good)[0].tolist() == [1] * 8
