"""What masks select, at sizes that cross blocks and chunks, against NumPy."""

import numpy as np
import pytest

import mlx.core as mx

SIZES = (0, 1, 7, 8, 9, 16, 31, 1023, 1025, 4097, 32768, 32769, 140_001)
DTYPES = ("bool_", "int8", "uint16", "float16", "bfloat16", "int32", "float32", "int64")
DTYPES += ("float64", "complex64", "complex128")
LENGTHS = (1, 2, 3, 4, 8, 16, 40)  # of rows


def masks(size):
    """Masks of one length: full, empty, dense, sparse, in runs, and with one element at an end."""
    rng = np.random.default_rng(size)
    yield np.ones(size, bool)
    yield np.zeros(size, bool)
    for share in (0.5, 0.02, 0.98):
        yield rng.random(size) < share
    yield np.arange(size) // 900 % 3 == 1
    for last in (-1, 0):
        one = np.zeros(size, bool)
        one[last:][:1] = True
        yield one


def array(values, dtype="float32"):
    return mx.array(values).astype(getattr(mx, dtype))


def equal(a, expected, dtype=None):
    """Whether the elements are the same; positions are int32 unless a dtype is given."""
    got = np.array(a.astype(mx.float32) if a.dtype == mx.bfloat16 else a)
    return a.dtype == (dtype or mx.int32) and np.array_equal(got, expected)


@pytest.mark.parametrize("size", SIZES)
def test_positions(size):
    for m in masks(size):
        a = mx.array(m)
        assert equal(mx.flatnonzero(a), np.flatnonzero(m))
        assert equal(mx.where(a[::-1])[0], np.flatnonzero(m[::-1]))
        shapes = [(size, 1), (1, size), (-1, 3), (-1, 4, 2), (5, -1), (2, -1, 7), (4, 2, -1, 2)]
        for shape in shapes if size else [(0, 3), (2, 0)]:
            fit = m[: size // (k := abs(np.prod(shape))) * k].reshape(shape) if size else m
            fit = fit.reshape(shape)
            for n, b in ((fit, mx.array(fit)), (fit.T, mx.array(fit).T)):
                assert equal(mx.argwhere(b), np.argwhere(n)), shape
                places = mx.nonzero(b)
                assert len(places) == n.ndim
                assert all(map(equal, places, np.nonzero(n))), shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements(dtype):
    for size in SIZES[1:]:
        a = array(np.random.default_rng(size).integers(0, 100, size), dtype)
        x = np.array(a.astype(mx.float32) if dtype == "bfloat16" else a)
        for m in masks(size):
            b = mx.array(m)
            assert equal(a[b], x[m], a.dtype)
            assert equal(a[::-1][b], x[::-1][m], a.dtype)
            assert equal(mx.extract(b, a), x[m], a.dtype)
            assert equal(mx.compress(b[: size // 2], a), x[: size // 2][m[: size // 2]], a.dtype)


@pytest.mark.parametrize("dtype", ("int8", "float16", "float32", "complex64", "complex128"))
@pytest.mark.parametrize("length", LENGTHS)
def test_rows_of_any_length_and_layout(dtype, length):
    for size in (9, 1025, 33_000):
        a = array(np.random.default_rng(size).integers(0, 100, (size, length)), dtype)
        x = np.array(a)
        wide = mx.repeat(a, 2, 1)
        for m in masks(size):
            b = mx.array(m)
            assert equal(a[b], x[m], a.dtype)
            assert equal(wide[:, ::-2][b], x[:, ::-1][m], a.dtype)
            assert equal(a.T.reshape(length, size).T[::-1][b], x[::-1][m], a.dtype)
            assert equal(mx.broadcast_to(a[:1], a.shape)[b], x[:1].repeat(m.sum(), 0), a.dtype)
            assert equal(a.T[:, b], x.T[:, m], a.dtype)
            assert equal(mx.compress(b, a.T, 1), x.T[:, m], a.dtype)


def test_masks_over_several_axes():
    x = np.arange(60 * 50 * 12, dtype=np.float32).reshape(60, 50, 12)
    a = mx.array(x)
    for m in masks(3000):
        m = m.reshape(60, 50)
        b = mx.array(m)
        assert equal(a[b], x[m], mx.float32)
        assert equal(a[:, ::-1, ::3][b, ...], x[:, ::-1, ::3][m], mx.float32)
        assert equal(a.swapaxes(0, 1)[b.T, :], x.swapaxes(0, 1)[m.T], mx.float32)
        assert equal(a[..., 0][b], x[..., 0][m], mx.float32)
        assert equal(a.transpose(2, 1, 0)[:, b.T], x.transpose(2, 1, 0)[:, m.T], mx.float32)
    assert a[mx.ones((60, 50), mx.bool_)][:, :0].shape == (3000, 0)
    assert a[:, :, :0][mx.ones((60, 50), mx.bool_)].shape == (3000, 0)


def test_what_counts():
    for dtype in (mx.float16, mx.bfloat16, mx.float32, mx.float64):
        a = mx.array([np.nan, 0.0, -0.0, np.inf, 1e-7, -1.0] * 999).astype(dtype)
        assert mx.flatnonzero(a)[:5].tolist() == [0, 3, 4, 5, 6]
        assert mx.argwhere(a).shape == (4 * 999, 1)
    assert mx.flatnonzero(mx.array([0j, 1j, complex(0, np.nan), 1.0])).tolist() == [1, 2, 3]
    odd = mx.array([2, 0, 255, 1] * 2000, mx.uint8).view(mx.bool_)
    assert mx.flatnonzero(odd)[:3].tolist() == [0, 2, 3] and mx.flatnonzero(odd).size == 6000
    assert mx.arange(8000)[odd].size == 6000
    assert mx.argwhere(mx.array(3)).shape == (1, 0) and mx.argwhere(mx.array(0)).shape == (0, 0)


@pytest.mark.parametrize("size", (9, 5000, 70_000))
def test_derivatives(size):
    x = np.linspace(-1, 2, size * 3).astype(np.float32).reshape(size, 3)
    a = mx.array(x)
    for m in masks(size):
        b = mx.array(m)
        weights = np.arange(m.sum() * 3, dtype=np.float32).reshape(-1, 3)
        expected = np.zeros_like(x)
        expected[m] = weights * 2 * x[m]

        def loss(a, b=b, weights=weights):
            return mx.sum(mx.square(a[b]) * mx.array(weights))

        assert np.allclose(mx.grad(loss)(a), expected, 1e-6)
        assert np.allclose(mx.compile(mx.grad(loss))(a), expected, 1e-6)
        tangent = mx.jvp(lambda a, b=b: a[b], [a], [2 * a])[1][0]
        assert np.array_equal(tangent, 2 * x[m])
        twice = mx.grad(lambda a, loss=loss: mx.sum(mx.square(mx.grad(loss)(a))))(a)
        expected[m] = 8 * weights**2 * x[m]
        assert np.allclose(twice, expected, 1e-5)
        batch = mx.vmap(lambda a, b=b: a[b], 2, 1)(mx.stack([a, -a], 2))
        assert np.array_equal(batch, np.stack([x[m], -x[m]], 1))
    assert np.allclose(mx.grad(lambda a: mx.sum(a[a > 0] ** 2))(a), 2 * x * (x > 0))


@pytest.mark.parametrize("size", (9, 200_000))
def test_a_mask_that_changes_before_it_is_used(size):
    mask = mx.zeros(size, mx.bool_)
    view = np.asarray(memoryview(mask))
    view[:3] = True
    for some in (0, 4, size):
        read = mx.arange(size)[mask]
        view[:] = np.arange(size) < some
        with pytest.raises(ValueError, match=r"\[index\] a mask that was changed"):
            mx.eval(read)
        view[:] = np.arange(size) < 3
    assert mx.arange(size)[mask].tolist() == [0, 1, 2]


def test_functions_of_files_read_through_masks(tmp_path):
    mask = mx.array([True, False, True])
    path = str(tmp_path / "f.mlxfn")
    mx.export_function(path, lambda x: mx.exp(x)[mask], mx.zeros((3, 2)))
    (got,) = mx.import_function(path)(mx.ones((3, 2)))
    assert got.shape == (2, 2)
    shapeless = mx.compile(lambda x: x[mask] * 2, shapeless=True)
    assert shapeless(mx.ones((3, 1))).shape == (2, 1) and shapeless(mx.ones((3, 5))).shape == (2, 5)
    with pytest.raises(IndexError, match="the lengths must agree"):
        shapeless(mx.ones((4, 5)))
