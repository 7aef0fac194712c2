"""Convolutions of the plugin for NVIDIA GPUs: `pytest --backend cuda-host cuda_convolutions.py`.

test_cuda_plugin.py runs it, on a driver and on functions of cuDNN of the host.
"""

import numpy as np
import pytest
import second_backend
from cuda_checks import no_faults, outputs  # noqa: F401
from processes import run_program
from test_devices_agree import values

import mlx.core as mx

# Convolutions by the shapes of input and weight, their options, and whether the library computes
# them and their cotangents. They have so few features that no other library does.
CONVOLUTIONS = {
    "padding": ((2, 9, 8, 6), (10, 3, 3, 6), {"padding": 1}, True),
    "stride": ((2, 9, 8, 6), (10, 3, 2, 6), {"stride": (2, 1), "padding": (1, 0)}, True),
    "groups": ((2, 9, 8, 6), (12, 3, 3, 2), {"groups": 3, "kernel_dilation": 2}, True),
    "channels": ((1, 7, 6, 4), (8, 3, 3, 1), {"groups": 4, "padding": 1}, True),
    "one axis": ((3, 20, 4), (5, 3, 4), {"padding": 2}, True),
    "three axes": ((2, 4, 5, 6, 4), (5, 3, 3, 2, 4), {"stride": (1, 2, 1)}, True),
    "few channels": ((2, 9, 8, 3), (16, 3, 3, 3), {"stride": 2, "padding": 1}, True),
    "pixels with a stride": ((2, 9, 8, 6), (5, 1, 1, 6), {"stride": 2}, True),
    "zeros between": (
        (2, 5, 4, 6),
        (3, 3, 3, 6),
        {"input_dilation": 2, "flip": True, "padding": 2},
        True,
    ),
    "end that no window reaches": (
        (2, 8, 8, 6),
        (5, 3, 3, 6),
        {"stride": 2, "padding": ([1, 1], [0, 0])},
        True,
    ),
    "more on one side": ((2, 9, 8, 6), (5, 3, 3, 6), {"padding": ([2, 0], [1, 0])}, False),
    "crop": ((2, 9, 8, 6), (5, 3, 3, 6), {"padding": ([-1, 0], [0, 0])}, False),
    "refused": ((1, 6, 6, 6, 2), (3, 2, 2, 2, 2), {"kernel_dilation": 2}, False),
}


def conv_and_cotangents(x, w, options):
    """A convolution, and the cotangents of its operands."""

    def f(x, w):
        return mx.conv_general(x, w, **options)

    y = f(x, w)
    return [y, *mx.vjp(f, [x, w], [y])[1]]


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16], ids=str)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_go_to_the_library(name, dtype):
    driver, library = second_backend.host_driver(), 3
    left, right, options, served = CONVOLUTIONS[name]
    x, w = (values(mx.float32, s, k).astype(dtype) / 100 for k, s in ((1, left), (2, right)))
    bound = 1e-5 if dtype == mx.float32 else 1e-2
    with mx.stream(mx.new_stream(mx.gpu)):  # whose graphs have none of these
        mx.eval(x, w, conv_and_cotangents(x, w, options))  # plans, and what is refused, are known
        driver.mlx_host_fail(library, 0, 0)
        got = conv_and_cotangents(x, w, options)
        mx.eval(got)
    mx.synchronize()
    assert driver.mlx_host_calls(library) == (3 if served else 0)
    with mx.stream(mx.cpu):
        want = conv_and_cotangents(x, w, options)
        mx.eval(want)
    for a, b in zip(got, want, strict=True):
        a, b = (np.array(z.astype(mx.float32)) for z in (a, b))
        assert np.abs(a - b).max() <= bound * np.abs(b).max()


def test_convolutions_of_operands_between_vectors():
    """Views whose first element has any address."""
    x, w = (values(mx.float32, (n,), n) / 100 for n in (1 + 2 * 9 * 8 * 6, 7 + 540))
    mx.eval(x, w)

    def f(x, w):
        return conv_and_cotangents(
            x[1:].reshape(2, 9, 8, 6), w[7:].reshape(10, 3, 3, 6), {"padding": 1}
        )

    for a, b in zip(*outputs(f, x, w), strict=True):
        assert np.allclose(np.array(a), np.array(b), rtol=1e-4, atol=1e-4)


def test_convolutions_without_the_library():
    """As patches and as sums of the plugin's own kernels."""
    program = """
import second_backend, numpy as np, mlx.core as mx
second_backend.use('cuda-host')
from cuda_convolutions import CONVOLUTIONS, conv_and_cotangents, values
for left, right, options, _ in CONVOLUTIONS.values():
    x, w = (values(mx.float32, s, k) / 100 for k, s in ((1, left), (2, right)))
    got = conv_and_cotangents(x, w, options)
    mx.eval(got)
    with mx.stream(mx.cpu):
        want = conv_and_cotangents(x, w, options)
        mx.eval(want)
    for a, b in zip(got, want):
        assert np.abs(np.array(a) - np.array(b)).max() < 1e-5 * np.abs(np.array(b)).max()
mx.synchronize()
assert second_backend.host_driver().mlx_host_faults() == 0
"""
    for library in ("", "/nonexistent/libcudnn.so"):
        assert run_program(program, MLX_CUDA_CUDNN=library) == (0, "", "")
