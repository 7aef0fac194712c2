"""Calls every function of the extension `made`, which is imported before or after mlx.core."""

import gc
import sys
import threading

sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "first":
    import made
import numpy as np

import mlx.core as mx

if sys.argv[2] != "first":
    import made


def address(a):
    """Where the elements of an array are."""
    return np.asarray(a).__array_interface__["data"][0]


def refused(kind, call, *arguments):
    """The message of a call that must fail."""
    try:
        call(*arguments)
    except kind as error:
        return str(error)
    raise AssertionError(arguments)


class Sub(mx.array):
    """A class derived from arrays."""


a = mx.arange(6.0).reshape(2, 3)
layouts = [a, a.T, a[::-1], a[0, 1], a[:0], a.astype(mx.bfloat16), mx.array(True)]
for x in [*layouts, mx.broadcast_to(a[0], (4, 3)), Sub([1.0])]:
    assert made.doubled(x).tolist() == (x + x).tolist()
    assert made.dtype_of(x) is x.dtype
    assert made.total(x) == float(x.sum().item())
assert address(made.same(a)) == address(a)  # no copy
assert mx.grad(lambda x: made.doubled(x * x).sum())(a).tolist() == (4 * a).tolist()
assert mx.vmap(made.doubled)(a).tolist() == (a + a).tolist()
assert mx.compile(made.doubled)(a).tolist() == (a + a).tolist()
streams = [None, mx.cpu, mx.default_stream(mx.cpu), mx.Device(mx.cpu, 0), mx.new_stream(mx.cpu)]
for stream in streams:
    assert made.converted(a, mx.int16, stream).dtype == mx.int16
made.keep(a * 2)
gc.collect()
assert made.give().tolist() == (a * 2).tolist()
assert [p.tolist() for p in made.negatives([a, a[0]])] == [(-a).tolist(), (-a[0]).tolist()]
# Values that core functions take as arrays.
for x in (3, 2.5, True, 1j, np.float32(2), np.ones((2, 3)), np.arange(4)[::-2]):
    assert made.doubled(x).tolist() == (mx.asarray(x) + mx.asarray(x)).tolist()
for wrong in ("text", None, [1.0], b"1", mx.float32, mx.array.__new__(mx.array)):
    for call in (made.doubled, made.keep, made.total):
        refused(TypeError, call, wrong)
for wrong in ("cpu", 1.5, a):
    refused(TypeError, made.converted, a, mx.int16, wrong)
refused(TypeError, made.converted, a, "int16", None)
assert "null handle" in refused(ValueError, made.null_handle)
assert "reshape" in refused(ValueError, made.failing, a)


def compute():
    """Evaluation in C++, for which Python's lock is released."""
    for _ in range(50):
        made.total(made.doubled(a))


threads = [threading.Thread(target=compute) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
made.keep(mx.array(0))
print("used")
