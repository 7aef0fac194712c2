"""Systems and factors of matrices on the GPU: against NumPy, in every layout, with their errors."""

import numpy as np
import pytest

import mlx.core as mx

pytestmark = [pytest.mark.gpu_only, pytest.mark.sampled(0.5)]

DTYPES = {
    mx.float32: np.float32,
    mx.float64: np.float64,
    mx.complex64: np.complex64,
    mx.complex128: np.complex128,
}
SHAPES = [(1, 1), (5, 5), (33, 33), (64, 64), (3, 2, 17, 17), (20, 8, 8), (8, 66, 66)]
SHAPES += [(130, 130), (2, 129, 129)]  # through the library


def matrices(shape, dtype, seed=0):
    """Matrices of moderate condition, of which no row is its place's pivot."""
    r = np.random.default_rng(seed)
    x = r.standard_normal(shape)
    if np.issubdtype(DTYPES[dtype], np.complexfloating):
        x = x + 1j * r.standard_normal(shape)
    if shape[-1] == shape[-2]:
        x = x + np.roll(np.eye(shape[-1]), 1, -1) * 3 * shape[-1]
    return x


def array(x, dtype):
    return mx.array(x.astype(DTYPES[dtype]), dtype)


def close(found, wanted, dtype):
    unit = np.finfo(DTYPES[dtype]).eps
    found = np.array(found)
    assert found.shape == wanted.shape and found.dtype == DTYPES[dtype]
    assert np.abs(found - wanted).max() <= 40 * unit * wanted.shape[-1] * np.abs(wanted).max()


def layouts(x, dtype):
    """The same matrices in rows, in columns, with gaps, from the last to the first."""
    a = array(x, dtype)
    gaps = array(np.repeat(x, 2, -1), dtype)[..., ::2]
    backwards = array(x[..., ::-1, ::-1], dtype)[..., ::-1, ::-1]
    across = array(np.swapaxes(x, -1, -2), dtype)
    some = [a, mx.swapaxes(across, -1, -2), gaps, backwards]
    return some if x.size < 5000 else some[:1]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_inverses_and_solutions(dtype, shape):
    x = matrices(shape, dtype)
    for a in layouts(x, dtype):
        close(mx.linalg.inv(a, stream=mx.gpu), np.linalg.inv(x), dtype)
    for k in (1, 3, 40):
        b = matrices((*shape[:-1], k), dtype, k)
        for right in layouts(b, dtype):
            close(mx.linalg.solve(a, right, stream=mx.gpu), np.linalg.solve(x, b), dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_cholesky_factors(dtype, shape):
    x = matrices(shape, dtype)
    x = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])
    lower = np.linalg.cholesky(x)
    upper = np.conj(np.swapaxes(lower, -1, -2))
    other = np.triu(np.full(shape[-2:], np.nan), 1)  # the triangle that is not read
    for a in layouts(x, dtype):
        close(mx.linalg.cholesky(a, stream=mx.gpu), lower, dtype)
        close(mx.linalg.cholesky(a, upper=True, stream=mx.gpu), upper, dtype)
    for a, is_upper, wanted in ((x + other, False, lower), (x + other.T, True, upper)):
        a = array(a, dtype)
        close(mx.linalg.cholesky(a, upper=is_upper, stream=mx.gpu), wanted, dtype)


@pytest.mark.parametrize("shape", [(150, 130), (40, 500), (700, 33), (2, 3, 129, 129), (9, 5)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_orthogonal_factors(dtype, shape):
    x = matrices(shape, dtype)
    wanted = np.linalg.qr(x)
    for a in layouts(x, dtype):
        q, r = mx.linalg.qr(a, stream=mx.gpu)
        close(q, wanted[0], dtype)
        close(r, wanted[1], dtype)
        assert not np.tril(np.array(r), -1).any()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_orthogonal_factors_of_dependent_columns(dtype):
    x = matrices((200, 150), dtype)
    x[:, 70:] = x[:, :80]
    x[:, 5] = 0
    q, r = (np.array(a) for a in mx.linalg.qr(array(x, dtype), stream=mx.gpu))
    close(array(q @ r, dtype), x, dtype)
    close(array(np.conj(q.T) @ q, dtype), np.eye(150), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_matrices_without_an_inverse_or_a_factor(dtype):
    for n in (20, 130):
        x = matrices((4, n, n), dtype)
        x[2, :, 7] = x[2, :, 3] = x[2, 7] = x[2, 3] = 0
        a, b = array(x, dtype), mx.ones((4, n, 2), dtype)
        text = r"matrix 2 of the batch is singular \(pivot \d+ is zero\)"
        with pytest.raises(mx.LinAlgError, match=r"linalg.inv.* " + text):
            mx.eval(mx.linalg.inv(a, stream=mx.gpu))
        with pytest.raises(mx.LinAlgError, match=r"linalg.solve.* " + text):
            mx.eval(mx.linalg.solve(a, b, stream=mx.gpu))
    y = np.tile(np.eye(130), (8, 1, 1))
    y[5, 40, 40] = -1
    for part in (y[5:6, :50, :50], y[:, :70, :70], y):
        i = 0 if len(part) == 1 else 5
        text = rf"linalg.cholesky.* matrix {i} of the batch .* minor of order 41 is not positive"
        for upper in (False, True):
            with pytest.raises(mx.LinAlgError, match=text):
                a = array(part, dtype)
                mx.eval(mx.linalg.cholesky(a, upper=upper, stream=mx.gpu))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_near_the_ends_of_the_range(dtype):
    """Powers of two change no digit of what the CPU finds for rows and columns that they scale."""
    small = np.finfo(DTYPES[dtype]).tiny * 2.0**3
    for n in (6, 130):
        x = matrices((n, n), dtype)
        x[1] *= small
        x[:, 2] *= 2.0**20
        a, b = (array(y, dtype) for y in (x, matrices((n, 2), dtype, 1) * small))
        compare_extremes(a, b, dtype)


def compare_extremes(a, b, dtype):
    for f in (mx.linalg.inv, lambda a, stream: mx.linalg.solve(a, b, stream=stream)):
        found, wanted = np.array(f(a, stream=mx.gpu)), np.array(f(a, stream=mx.cpu))
        assert np.isfinite(found).all()
        unit = np.finfo(DTYPES[dtype]).eps
        assert (np.abs(found - wanted) <= 200 * unit * np.abs(wanted).max(0)).all()


def test_derivatives_of_systems():
    a = array(matrices((3, 9, 9), mx.float64), mx.float64)
    b = array(matrices((3, 9, 2), mx.float64, 1), mx.float64)

    def total(a, b):
        s = a @ mx.swapaxes(a, -1, -2)
        return (mx.linalg.inv(a) * mx.linalg.cholesky(s)).sum() + (mx.linalg.solve(a, b) ** 2).sum()

    for f in (mx.grad(total, (0, 1)), mx.compile(mx.grad(total, (0, 1)))):
        with mx.stream(mx.gpu):
            found = f(a, b)
            mx.eval(found)
        with mx.stream(mx.cpu):
            wanted = mx.grad(total, (0, 1))(a, b)
        for x, y in zip(found, wanted, strict=True):
            assert np.abs(np.array(x) - np.array(y)).max() < 1e-11 * np.abs(np.array(y)).max()


def test_not_a_number_stays():
    x = np.eye(12)
    x[4, 5] = np.nan
    assert np.isnan(np.array(mx.linalg.inv(mx.array(x), stream=mx.gpu))).any()
