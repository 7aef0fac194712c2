"""Memory of the host on Metal's emulated device: `pytest --backend metal metal_memory.py`.

Whole pages are used in place; other memory is copied. test_metal.py runs it.
"""

import ctypes
import mmap

import numpy as np
import pytest
import second_backend

import mlx.core as mx

pytestmark = pytest.mark.gpu_only
PAGE = 16 << 10  # bytes


seen = 0


def copied():
    """Bytes that were copied between the memories since the last call."""
    global seen
    mx.synchronize(mx.gpu)
    count = second_backend.metal_library().mlx_metal_copied
    count.restype = ctypes.c_size_t
    before, seen = seen, count()
    return seen - before


def on_host(n):
    """Evaluated numbers in memory of the CPU."""
    a = mx.arange(n, dtype=mx.float32, stream=mx.cpu)
    mx.eval(a)
    return a


def pages(n):
    """Numbers of NumPy in whole pages."""
    memory = np.frombuffer(mmap.mmap(-1, n * 4 + PAGE), np.uint8)
    first = -memory.ctypes.data % PAGE
    numbers = memory[first : first + n * 4].view(np.float32)
    numbers[:] = np.arange(n)
    return numbers


def test_large_arrays_of_the_cpu_are_not_copied():
    """Neither to the device nor back; small ones are, once."""
    large, small = on_host(1 << 20), on_host(1000)
    copied()
    assert mx.sum(large * 2).item() == (1 << 20) * ((1 << 20) - 1)
    assert (large[3:6] + 1).tolist() == [4, 5, 6]
    mx.eval(mx.add(large, 1, stream=mx.cpu))
    assert copied() == 0
    mx.eval(small + 1, small * 2)
    assert copied() == 4000
    assert (small + 3)[999].item() == 1002
    assert copied() == 0


def test_results_may_take_the_place_of_wrapped_arrays():
    """A donated array's memory is written by the device, and read by the host in place."""
    a = on_host(1 << 20)
    copied()
    for k in range(4):
        a = a + 1
        mx.eval(a)
        assert a[5].item() == 6 + k
        a = mx.add(a, 0, stream=mx.cpu)
        mx.eval(a)
    assert copied() == 0
    kept = on_host(1 << 20)
    more = kept + 1
    assert (more[7].item(), kept[7].item()) == (8, 7)


def test_an_export_of_wrapped_memory_sees_and_makes_changes():
    """A view is neither moved nor written by later results."""
    a = on_host(1 << 20)
    view = np.asarray(a)
    copied()
    for k in range(3):
        view[7] = 100 + k
        assert (a * 2)[7].item() == 2 * (100 + k)
    a = a + 1
    mx.eval(a)
    assert view[8] == 8 and a[8].item() == 9
    assert copied() == 0


def test_memory_of_others_is_wrapped_where_it_is_whole_pages():
    """Results leave it unchanged; parts that overlap, or begin within a page, are copied."""
    n = 64 * PAGE // 4
    numbers = pages(n)
    a, again = (mx.from_dlpack(numbers, copy=False) for _ in range(2))
    copied()
    assert mx.negative(a)[n - 1].item() == 1 - n
    assert (again + a)[n - 1].item() == 2 * (n - 1)
    a, again = again + 1, None
    mx.eval(a)
    assert np.array_equal(numbers, np.arange(n))
    assert copied() == 0
    for part in (numbers[1:], numbers[: n - 1]):
        assert (mx.from_dlpack(part, copy=False) + 1)[0].item() == part[0] + 1
        assert copied() == 4 * (n - 1)
    whole, half = (mx.from_dlpack(x, copy=False) for x in (numbers, numbers[n // 2 :]))
    assert mx.sum(whole[n // 2 :] - half).item() == 0
    assert copied() == 2 * n
