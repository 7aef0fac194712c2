"""Train a line by the C interface, with ctypes alone: python line.py path/to/libmlxc.so

The loss is the mean of (w x + b - y)^2; `loss` below is a Python function that the library calls.
"""

import ctypes
import sys


class Handle(ctypes.Structure):
    """Any struct of the interface: one pointer, passed by value."""

    _fields_ = (("ctx", ctypes.c_void_p),)


library = ctypes.CDLL(sys.argv[1])
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Handle), Handle)
HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
FLOAT32, STEPS, RATE = 10, 200, 0.1

for name, arguments in {
    "mlx_default_cpu_stream_new": [],
    "mlx_array_new_float": [ctypes.c_float],
    "mlx_vector_array_new": [],
    "mlx_closure_new_func": [FUNCTION],
}.items():
    getattr(library, name).restype = Handle
    getattr(library, name).argtypes = arguments


def call(name: str, *arguments: object) -> Handle:
    """The result of a function whose first parameter is its place."""
    result = Handle()
    if getattr(library, name)(ctypes.byref(result), *arguments):
        raise RuntimeError(name)
    return result


@HANDLER
def show_error(message: bytes, _: object) -> None:
    """Prints what went wrong."""
    print("error:", message.decode())


library.mlx_set_error_handler(show_error, None, None)
stream = library.mlx_default_cpu_stream_new()
xs = call("mlx_arange", *map(ctypes.c_double, (-1, 1, 0.125)), FLOAT32, stream)
three, one = library.mlx_array_new_float(3), library.mlx_array_new_float(1)
rate = library.mlx_array_new_float(RATE)
ys = call("mlx_add", call("mlx_multiply", xs, three, stream), one, stream)  # 3 x + 1


@FUNCTION
def loss(result: object, inputs: Handle) -> int:
    """The mean of the squared errors, for [w, b]."""
    w, b = (call("mlx_vector_array_get", inputs, ctypes.c_size_t(k)) for k in range(2))
    line = call("mlx_add", call("mlx_multiply", xs, w, stream), b, stream)
    error = call("mlx_square", call("mlx_subtract", line, ys, stream), stream)
    mean = call("mlx_mean", error, ctypes.c_bool(False), stream)
    return library.mlx_vector_array_set_value(result, mean)


numbers = (ctypes.c_int * 2)(0, 1)
closure = library.mlx_closure_new_func(loss)
gradient = call("mlx_value_and_grad", closure, numbers, ctypes.c_size_t(2))
weights = [library.mlx_array_new_float(0), library.mlx_array_new_float(0)]
for _ in range(STEPS):
    inputs = library.mlx_vector_array_new()
    for weight in weights:
        library.mlx_vector_array_append_value(inputs, weight)
    values, gradients = Handle(), Handle()
    place = ctypes.byref(values), ctypes.byref(gradients)
    if library.mlx_closure_value_and_grad_apply(*place, gradient, inputs):
        raise RuntimeError("mlx_closure_value_and_grad_apply")
    for k in range(2):
        slope = call("mlx_vector_array_get", gradients, ctypes.c_size_t(k))
        step = call("mlx_multiply", slope, rate, stream)
        weights[k] = call("mlx_subtract", weights[k], step, stream)
    updated = library.mlx_vector_array_new()
    for weight in weights:
        library.mlx_vector_array_append_value(updated, weight)
    library.mlx_eval(updated)

found = []
for weight in weights:
    number = ctypes.c_float()
    library.mlx_array_item_float32(ctypes.byref(number), weight)
    found.append(number.value)
print(f"w {found[0]:.2f}, b {found[1]:.2f}")
sys.exit(0 if abs(found[0] - 3) < 0.05 and abs(found[1] - 1) < 0.05 else 1)
