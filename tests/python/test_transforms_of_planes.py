"""Transforms along the last two axes, one op, beside NumPy: lengths, axes, factors, extremes."""

import numpy as np
import pytest

import mlx.core as mx

SHAPES = [(8, 12), (3, 8, 12), (2, 3, 7, 9), (1, 1), (5, 1), (1, 6), (64, 64)]


def numbers(shape, kind, size=1.0):
    """Normal numbers of float32 or complex64."""
    random = np.random.default_rng(7)
    x = random.standard_normal(shape) * size
    if kind == "complex":
        x = x + 1j * random.standard_normal(shape) * size
    return x.astype(np.complex64 if kind == "complex" else np.float32)


def near(found, wanted):
    """Compares with the largest coefficient."""
    bound = 2e-6 * np.abs(wanted).max(initial=0)
    assert np.abs(np.array(found).astype(wanted.dtype) - wanted).max(initial=0) <= bound


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_beside_numpy(shape, norm):
    for kind, names in (("real", ["fft2", "ifft2", "rfft2"]), ("complex", ["fft2", "ifft2"])):
        x = numbers(shape, kind)
        wide = x.astype(complex if kind == "complex" else float)
        for name in names:
            near(getattr(mx.fft, name)(mx.array(x), norm=norm),
                 getattr(np.fft, name)(wide, norm=norm))  # fmt: skip
    z, columns = numbers(shape, "complex"), 2 * shape[-1] - 1
    s = (shape[-2], columns)
    wanted = np.fft.irfft2(z.astype(complex), s, norm=norm)
    near(mx.fft.irfft2(mx.array(z), s, norm=norm), wanted)


@pytest.mark.parametrize("s", [(8, 12), (8, 5), (8, 17), (5, 12), (11, 12), (11, 17)], ids=str)
def test_lengths(s):
    """Cropped and padded lines; lines that are padded along the other axis are another op."""
    x = numbers((3, 8, 12), "complex")
    for axes in ((-2, -1), (1, 2), (0, 2), (-1, -2)):
        near(mx.fft.fft2(mx.array(x), s, axes), np.fft.fft2(x.astype(complex), s, axes))
        near(mx.fft.ifft2(mx.array(x), s, axes), np.fft.ifft2(x.astype(complex), s, axes))


def test_more_axes():
    x, r = numbers((4, 6, 8, 10), "complex"), numbers((4, 6, 8, 10), "real")
    for axes in (None, (0, 2, 3), (3, 1, 2, 0), (1, 2, 3)):
        near(mx.fft.fftn(mx.array(x), axes=axes), np.fft.fftn(x.astype(complex), axes=axes))
        near(mx.fft.rfftn(mx.array(r), axes=axes), np.fft.rfftn(r.astype(float), axes=axes))
        spectrum = np.fft.rfftn(r.astype(float), axes=axes)
        near(mx.fft.irfftn(mx.array(spectrum.astype(np.complex64)), axes=axes),
             np.fft.irfftn(spectrum, axes=axes))  # fmt: skip


@pytest.mark.parametrize("size", [1e35, 1e-35])
def test_factors_are_applied_axis_by_axis(size):
    """Sums of 64 numbers near the ends of the range are numbers, those of 64 times 64 are not."""
    ones = np.full((64, 64), size, np.complex64)
    for found in (mx.fft.ifft2(mx.array(ones)), mx.fft.irfft2(mx.array(ones), (64, 64))):
        first = np.array(found)[0, 0]
        assert np.isfinite(np.array(found)).all() and abs(first / size - 1) < 1e-5


def test_derivatives_are_the_transposed_transforms():
    x, g = numbers((2, 6, 8), "real"), numbers((2, 6, 5), "complex")
    _, (found,) = mx.vjp(mx.fft.rfft2, [mx.array(x)], [mx.array(g)])

    # <g, rfft2(d)> for each direction d.
    def along(d):
        return (np.fft.rfft2(d) * g.conj()).real.sum()

    for at in ((0, 0, 0), (1, 3, 5), (0, 5, 7)):
        d = np.zeros((2, 6, 8))
        d[at] = 1
        assert abs(found[at].item() - along(d)) < 1e-4


def test_batching_and_compiling():
    x = mx.array(numbers((4, 6, 5, 8), "complex"))
    wanted = mx.fft.fft2(x)
    assert mx.array_equal(mx.vmap(mx.fft.fft2)(x), wanted)
    assert mx.array_equal(mx.compile(mx.fft.fft2)(x), wanted)
    each = mx.vmap(mx.fft.fft2, in_axes=1, out_axes=1)(x)
    assert mx.array_equal(each, wanted)
