"""Fourier transforms by own kernels, on devices without a library of them.

`pytest --backend metal fourier_checks.py`, or `--backend cuda-host` with MLX_CUDA_FFT="".
test_metal.py and test_cuda_plugin.py run it. On Metal each test is an error where an op runs
through the CPU (conftest.py); here launches on the driver of the host are counted.
"""

import numpy as np
import pytest
import second_backend
from test_devices_agree import bits

import mlx.core as mx

pytestmark = [pytest.mark.gpu_only, pytest.mark.sampled(0.3)]  # --all runs all
# Of the largest number of a result. Lengths that are convolved have twice the error of others.
BOUND, WIDE_BOUND = 5e-7, 1e-15


def reals(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def numbers(*shape):
    return (reals(*shape) + 1j * reals(*shape)[..., ::-1]).astype(np.complex64)


def near(found, wanted):
    """Compares with NumPy's result in double precision."""
    mx.eval(found)
    wide = found.dtype in (mx.float64, mx.complex128)
    bound = WIDE_BOUND if wide else BOUND
    found = np.array(found.astype(mx.complex128, stream=mx.cpu))
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0) <= bound * np.abs(wanted).max(initial=1e-30)


def all_kinds(n, lines=3):
    """Every kind of transform of some lines of n numbers."""
    x, r = numbers(lines, n), reals(lines, n)
    near(mx.fft.fft(mx.array(x)), np.fft.fft(x.astype(complex)))
    near(mx.fft.ifft(mx.array(x)), np.fft.ifft(x.astype(complex)))
    near(mx.fft.fft(mx.array(r)), np.fft.fft(r.astype(float)))
    near(mx.fft.ifft(mx.array(r)), np.fft.ifft(r.astype(float)))
    near(mx.fft.rfft(mx.array(r)), np.fft.rfft(r.astype(float)))
    half = x[:, : n // 2 + 1]
    near(mx.fft.irfft(mx.array(half), n), np.fft.irfft(half.astype(complex), n))
    near(mx.fft.hfft(mx.array(half), n), np.fft.hfft(half.astype(complex), n))
    near(mx.fft.ihfft(mx.array(r)), np.fft.ihfft(r.astype(float)))


@pytest.mark.parametrize("first", [1, 17, 33, 49])
def test_short_lengths(first):
    for n in range(first, first + 16):
        all_kinds(n)


@pytest.mark.parametrize(
    "n", [2**k for k in range(7, 15)] + [97, 127, 243, 343, 625, 1001, 1021, 2039, 2100, 4095]
)
def test_longer_lengths(n):
    """In one pass, and in two; convolved in a tile's memory, and by passes."""
    all_kinds(n, 2)


@pytest.mark.parametrize("n", [10007, 90000, 131101, 1 << 19])
def test_long_lines(n):
    """Of three passes, and convolutions of six."""
    x = numbers(1, n)
    near(mx.fft.fft(mx.array(x)), np.fft.fft(x.astype(complex)))


VIEWS = (lambda a: a, lambda a: a[::-1], lambda a: a[::-1, ..., ::-1], lambda a: a[..., ::2])


@pytest.mark.parametrize("n", [6, 11, 100, 131, 1100, 1500, 2048])
def test_along_other_axes(n):
    """Lines side by side: few and many, of arrays of any layout, cropped and padded."""
    for shape in ((2, n, 5), (n, 2), (n, 37), (1, n, 3, 2)):
        axis, x = shape.index(n), numbers(*shape)
        for view in VIEWS:
            for length in (n, n // 2 + 1, n + 3):
                wanted = np.fft.fft(view(x).astype(complex), length, axis=axis)
                near(mx.fft.fft(view(mx.array(x)), length, axis=axis), wanted)
    square, r = numbers(n, n % 60 + 3), reals(n, 9)
    near(mx.fft.ifft(mx.array(square).T), np.fft.ifft(square.astype(complex).T))
    wanted = np.fft.rfft(r.astype(float)[:, ::-2], axis=0)
    near(mx.fft.rfft(mx.array(r)[:, ::-2], axis=0), wanted)
    near(mx.fft.rfft(mx.broadcast_to(mx.array(r[:, 1]), (3, n))),
         np.fft.rfft(np.broadcast_to(r[:, 1].astype(float), (3, n))))  # fmt: skip


@pytest.mark.parametrize("n", [2**k for k in range(4, 13)])
def test_powers_of_two_along_other_axes(n):
    """Every kind, with as many elements in a line as asked for, fewer and more."""
    for outer, length, inner in ((2, n, 5), (1, n - 3, 70), (3, n + 5, 4)):
        x, r = numbers(outer, length, inner), reals(outer, length, inner)
        z, d = x.astype(complex), r.astype(float)
        half = slice(0, min(length, n // 2 + 1))
        for view in VIEWS[:2]:
            a, b = view(mx.array(x)), view(mx.array(r))
            near(mx.fft.fft(a, n, axis=1), np.fft.fft(view(z), n, axis=1))
            near(mx.fft.ifft(a, n, axis=1), np.fft.ifft(view(z), n, axis=1))
            near(mx.fft.rfft(b, n, axis=1), np.fft.rfft(view(d), n, axis=1))
            near(mx.fft.irfft(a[:, half], n, axis=1), np.fft.irfft(view(z)[:, half], n, axis=1))
        near(mx.fft.fft(mx.array(r), n, axis=1, norm="ortho"), np.fft.fft(d, n, 1, norm="ortho"))
        if second_backend.in_use() != "metal" and n <= 512:
            wide = mx.array(z, mx.complex128)
            near(mx.fft.fft(wide, n, axis=1), np.fft.fft(z, n, axis=1))
            near(mx.fft.irfft(wide[:, half], n, axis=1), np.fft.irfft(z[:, half], n, axis=1))


@pytest.mark.parametrize("shape", [(3, 64, 7), (700,)])
def test_numbers_that_are_not_aligned_to_pairs(shape):
    flat = reals(2 * int(np.prod(shape)) + 1)
    x = mx.array(flat)[1:].view(mx.complex64).reshape(shape)
    wanted = flat[1:].view(np.complex64).reshape(shape).astype(complex)
    axis = len(shape) // 2
    near(mx.fft.fft(x, axis=axis), np.fft.fft(wanted, axis=axis))
    near(mx.fft.irfft(x, axis=axis), np.fft.irfft(wanted, axis=axis))


def test_several_axes():
    x, r = numbers(6, 10, 14), reals(6, 10, 14)
    near(mx.fft.fftn(mx.array(x)), np.fft.fftn(x.astype(complex)))
    near(mx.fft.ifft2(mx.array(x), axes=(0, 2)), np.fft.ifft2(x.astype(complex), axes=(0, 2)))
    for axes in ((0, 1, 2), (2, 0), (1, 2), (0, 1), (2, 1, 0)):
        near(mx.fft.fftn(mx.array(r), axes=axes), np.fft.fftn(r.astype(float), axes=axes))
        near(mx.fft.ifftn(mx.array(r).T, axes=axes), np.fft.ifftn(r.astype(float).T, axes=axes))
    many = r[0].reshape(1, 10, *[1] * 36, 14)  # axes beyond the bits of a word
    for axes in ((38, 1), (1, 38), (38,), (1,)):
        near(mx.fft.fftn(mx.array(many), axes=axes), np.fft.fftn(many.astype(float), axes=axes))
    near(mx.fft.rfftn(mx.array(r), norm="ortho"), np.fft.rfftn(r.astype(float), norm="ortho"))
    options = {"s": (6, 11, 9), "axes": (0, 1, 2), "norm": "forward"}
    near(mx.fft.irfftn(mx.array(x), **options), np.fft.irfftn(x.astype(complex), **options))


def test_nothing():
    """No lines, and lines without elements that are padded."""
    for shape in ((0, 12), (12, 0), (3, 0, 97)):
        axis = shape.index(0) - 1
        assert mx.fft.fft(mx.zeros(shape), axis=axis).tolist() == np.zeros(shape).tolist()
    near(mx.fft.fft(mx.zeros((3, 0), mx.complex64), 7), np.zeros((3, 7)))
    near(mx.fft.irfft(mx.zeros((3, 0), mx.complex64), 7), np.zeros((3, 7)))


@pytest.mark.parametrize("n", [1, 8, 60, 97, 600, 1021, 5000])
def test_bits_do_not_depend_on_other_lines(n):
    x = mx.array(numbers(40, n))
    for f in (mx.fft.fft, mx.fft.irfft):
        if n == 1 and f is mx.fft.irfft:
            continue
        whole = f(x)
        for k in (0, 17, 39):
            assert bits(whole[k]) == bits(f(x[k]))
    # Lines side by side are divided into passes in another way, the same for any number of them.
    beside = mx.fft.fft(x.T, axis=0)
    assert bits(beside[:, 5:30]) == bits(mx.fft.fft(x.T[:, 5:30], axis=0))


def test_numbers_that_are_not_finite_stay_in_their_line():
    x = numbers(3, 24)
    x[1, 5] = np.inf
    found = np.array(mx.fft.fft(mx.array(x)))
    assert np.isfinite(found[[0, 2]]).all() and not np.isfinite(found[1]).any()


def test_double_precision():
    """On a device whose kernels have it."""
    if second_backend.in_use() == "metal":
        x = mx.fft.fft(mx.array(numbers(2, 5)).astype(mx.complex128, stream=mx.cpu))
        near(x, np.fft.fft(numbers(2, 5).astype(complex)))  # through the CPU
        return
    launches = second_backend.host_driver().mlx_host_launches()
    for n in (1, 12, 97, 256, 2100, 5000):
        x = numbers(2, n).astype(complex)
        near(mx.fft.fft(mx.array(x)), np.fft.fft(x))
        near(mx.fft.irfft(mx.array(x), n), np.fft.irfft(x, n))
    assert second_backend.host_driver().mlx_host_launches() >= launches + 12
