"""Factorisations of small matrices, of medium ones (by LAPACK), and of large ones (by panels)."""

import numpy as np
import pytest

import mlx.core as mx

pytestmark = pytest.mark.cpu_only("all of them are factors that the CPU computes")

SIZES = [1, 2, 15, 16, 17, 63, 100, 191, 192, 193, 257, 320, 512]
DTYPES = [mx.float32, mx.float64, mx.complex64]


def numbers(shape, dtype, seed=0):
    """Normal numbers, computed with twice the digits."""
    random = np.random.default_rng(seed)
    x = random.normal(size=shape)
    return x + 1j * random.normal(size=shape) if dtype == mx.complex64 else x


def array(x, dtype):
    """An array on the CPU, which has all of the dtypes."""
    with mx.stream(mx.cpu):
        if dtype == mx.float64:
            return mx.array(x, dtype=dtype)
        return mx.array(x.astype(np.complex64 if dtype == mx.complex64 else np.float32))


def close(x, y, dtype, n, size):
    """True if the difference is within the bound of a backward stable algorithm."""
    eps = 2.0**-52 if dtype == mx.float64 else 2.0**-23
    return np.max(np.abs(np.array(x) - y), initial=0) <= 40 * eps * (n + 4) * size


def matrix(n, dtype):
    """A matrix without symmetry whose pivots are not on the diagonal, of condition below 100."""
    q = np.linalg.qr(numbers((n, n), dtype, n))[0]
    return (q * np.geomspace(1, 30, n))[np.random.default_rng(n).permutation(n)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_inverses_and_solutions(n, dtype):
    a, b, more = matrix(n, dtype), numbers((n, 3), dtype, 1), numbers((n, 35), dtype, 2)
    with mx.stream(mx.cpu):
        inverse = mx.linalg.inv(array(a, dtype))
        solution = mx.linalg.solve(array(a, dtype), array(b, dtype))
        vector = mx.linalg.solve(array(a, dtype), array(b[:, 0], dtype))
        solutions = mx.linalg.solve(array(a, dtype), array(more, dtype))
        mx.eval(inverse, solution, vector, solutions)
    largest = np.linalg.norm(np.linalg.inv(a), 2) * 100
    assert close(inverse, np.linalg.inv(a), dtype, n, largest)
    assert close(solution, np.linalg.solve(a, b), dtype, n, largest * 4)
    assert close(solutions, np.linalg.solve(a, more), dtype, n, largest * 4)
    assert close(vector, np.linalg.solve(a, b[:, 0]), dtype, n, largest * 4)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [*[(n, n) for n in SIZES], (400, 200), (200, 400), (90, 17)])
def test_triangular_factors(shape, dtype):
    a = numbers(shape, dtype)
    with mx.stream(mx.cpu):
        rows, lower, upper = (np.array(x) for x in mx.linalg.lu(array(a, dtype)))
    assert not np.triu(lower, 1).any() and not np.tril(upper, -1).any()
    assert np.abs(lower).max() <= 1.5 and (lower.diagonal() == 1).all()
    assert close((lower @ upper)[rows], a, dtype, min(shape), np.abs(a).max() * 2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_cholesky_factors(n, upper, dtype):
    x = matrix(n, dtype)
    a = x @ x.conj().T
    with mx.stream(mx.cpu):
        factor = np.array(mx.linalg.cholesky(array(a, dtype), upper=upper))
    other = np.tril(factor, -1) if upper else np.triu(factor, 1)
    assert not other.any()
    product = factor.conj().T @ factor if upper else factor @ factor.conj().T
    assert close(product, a, dtype, n, np.abs(a).max())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "shape",
    [
        *[(n, n) for n in SIZES],
        (400, 200),
        (200, 400),
        (230, 225),
        (700, 193),
        (193, 250),
        (16, 3),
        (2, 16),
    ],
)
def test_orthogonal_factors(shape, dtype):
    a = numbers(shape, dtype)
    with mx.stream(mx.cpu):
        q, r = (np.array(x) for x in mx.linalg.qr(array(a, dtype)))
    k = min(shape)
    assert q.shape == (shape[0], k) and r.shape == (k, shape[1]) and not np.tril(r, -1).any()
    assert close(q @ r, a, dtype, k, np.abs(a).max() * 2)
    assert close(q.conj().T @ q, np.eye(k), dtype, k, 1)
    # The signs are those of LAPACK, whatever the size.
    with mx.stream(mx.cpu):
        few = np.array(mx.linalg.qr(array(a[:, :2], dtype))[1])
    assert np.sign(few.real.diagonal()[:k]).tolist() == np.sign(r.real.diagonal()[:2]).tolist()


def symmetric(kind, n, dtype):
    """A Hermitian matrix: general, with equal eigenvalues, of a wide range, or nearly diagonal."""
    q = np.linalg.qr(numbers((n, n), dtype, n))[0]
    if kind == "equal":
        return (q * np.repeat([1.0, 2.0], [n // 2, n - n // 2])) @ q.conj().T
    if kind == "graded":
        scale = np.geomspace(1, 1e-30, n)
        return scale[:, None] * (q + q.conj().T) * scale
    if kind == "diagonal":
        return np.diag(np.arange(n) % 3.0)
    return q * 3 + q.conj().T * 3


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", ["general", "equal", "graded", "diagonal"])
@pytest.mark.parametrize("n", [1, 2, 23, 24, 25, 48, 49, 65, 130, 257])
def test_eigenvalues_and_vectors(n, kind, dtype):
    a = symmetric(kind, n, dtype)
    largest = np.abs(a).max()
    expected = np.linalg.eigvalsh(a)
    for triangle, one in (("L", np.tril), ("U", np.triu)):
        with mx.stream(mx.cpu):
            x = array(one(a), dtype)
            values, vectors = (np.array(r) for r in mx.linalg.eigh(x, triangle))
            alone = np.array(mx.linalg.eigvalsh(x, triangle))
        assert (np.diff(values) >= 0).all()
        assert close(values, expected, dtype, n, largest)
        assert close(alone, expected, dtype, n, largest)
        assert close(a @ vectors, vectors * values, dtype, n, largest)
        assert close(vectors.conj().T @ vectors, np.eye(n), dtype, n, 1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", ["general", "equal", "graded", "diagonal"])
@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 160, 257])
def test_singular_values_and_vectors(n, kind, dtype):
    q, shift = np.linalg.qr(numbers((n, n), dtype))[0], n // 3
    for a in (symmetric(kind, n, dtype) @ q, np.roll(np.triu(symmetric(kind, n, dtype)), shift, 0)):
        largest = np.abs(a).max(initial=0) or 1
        with mx.stream(mx.cpu):
            u, values, v = (np.array(r) for r in mx.linalg.svd(array(a, dtype)))
        assert (np.diff(values) <= 0).all() and (values >= 0).all()
        assert close(values, np.linalg.svd(a, compute_uv=False), dtype, n, largest)
        assert close((u * values) @ v, a, dtype, n, largest)
        assert close(u.conj().T @ u, np.eye(n), dtype, n, 1)
        assert close(v @ v.conj().T, np.eye(n), dtype, n, 1)


ENDS = [(mx.float32, 1e36), (mx.float32, 1e-36), (mx.float64, 1e300), (mx.float64, 1e-300)]


@pytest.mark.parametrize("n", [8, 130])
@pytest.mark.parametrize(("dtype", "size"), ENDS)
def test_singular_values_near_the_ends_of_the_range(n, dtype, size):
    a = symmetric("general", n, dtype)
    with mx.stream(mx.cpu):
        u, values, v = (np.array(r) for r in mx.linalg.svd(array(a * size, dtype)))
    values = values.astype(np.float64) / size
    assert close(values, np.linalg.svd(a, compute_uv=False), dtype, n, np.abs(a).max())
    assert close((u * values) @ v, a, dtype, n, np.abs(a).max())


@pytest.mark.parametrize("n", [8, 100])
@pytest.mark.parametrize(("dtype", "size"), ENDS)
def test_eigenvalues_near_the_ends_of_the_range(n, dtype, size):
    a = symmetric("general", n, dtype)
    with mx.stream(mx.cpu):
        values, vectors = (np.array(r) for r in mx.linalg.eigh(array(a * size, dtype)))
    values = values.astype(np.float64) / size
    assert close(values, np.linalg.eigvalsh(a), dtype, n, np.abs(a).max())
    assert close(vectors.T @ vectors, np.eye(n), dtype, n, 1)


@pytest.mark.parametrize("n", [2, 16, 17, 200, 300])
def test_singular_and_indefinite_matrices_are_named(n):
    a = np.eye(n)
    a[n - 1, n - 1] = 0
    with mx.stream(mx.cpu):
        both = array(np.stack([np.eye(n), a]), mx.float32)
        for op in (
            mx.linalg.inv,
            lambda x: mx.linalg.solve(x, array(np.ones((2, n, 1)), mx.float32)),
        ):
            with pytest.raises(ValueError, match=rf"matrix 1 .*singular \(pivot {n - 1} is zero"):
                mx.eval(op(both))
        with pytest.raises(ValueError, match=rf"matrix 1 .*minor of order {n} "):
            mx.eval(mx.linalg.cholesky(both))


def test_zeros_and_numbers_that_are_none_have_factors():
    for n in (8, 200):
        with mx.stream(mx.cpu):
            q, r = (np.array(x) for x in mx.linalg.qr(mx.zeros((n, n))))
            assert close(q.T @ q, np.eye(n), mx.float32, n, 1) and not r.any()
            assert np.isnan(np.array(mx.linalg.inv(mx.full((n, n), float("nan"))))).any()


@pytest.mark.parametrize("n", [8, 70, 193, 260, 512])
def test_bits_depend_on_no_batch_and_no_threads(n):
    x = np.stack([matrix(n, mx.float32) for _ in range(3)])
    a = array(x @ np.swapaxes(x, 1, 2), mx.float32)
    ops = [
        mx.linalg.inv,
        mx.linalg.cholesky,
        lambda a, **k: mx.linalg.qr(a, **k)[0],
        lambda a, **k: mx.linalg.solve(a, mx.ones((*a.shape[:-1], 1)), **k),
        lambda a, **k: mx.linalg.solve(a, mx.swapaxes(a, -1, -2)[..., :40], **k),
        lambda a, **k: mx.linalg.eigh(a, **k)[1],
        lambda a, **k: mx.linalg.svd(a, **k)[0],
        lambda a, **k: mx.linalg.svd(a, **k)[2],
    ]
    before = mx.get_num_threads()
    try:
        for op in ops:
            results = []
            for threads in (1, 3):
                mx.set_num_threads(threads)
                results.append(np.array(op(a, stream=mx.cpu)).tobytes())
                each = [np.array(op(a[i], stream=mx.cpu)).tobytes() for i in range(3)]
                results.append(b"".join(each))
            assert len(set(results)) == 1
    finally:
        mx.set_num_threads(before)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float64], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 13, 16])
def test_matrices_of_a_batch_have_the_bits_of_one_alone(n, dtype):
    """Small ones are solved several at a time. Extreme ones and those with NaN are not."""
    a = np.array([matrix(n, dtype) for _ in range(37)]) * numbers((37, n, n), dtype, 2)
    a[5] *= 1e-38 if dtype == mx.float32 else 1e-305
    a[18] = np.nan
    a[21] = np.eye(n)[::-1]
    b = numbers((37, n, 3), dtype, 3)
    with mx.stream(mx.cpu):
        a, b = array(a, dtype), array(b, dtype)
        for all_of, one in (
            (mx.linalg.inv(a), lambda i: mx.linalg.inv(a[i])),
            (mx.linalg.solve(a, b), lambda i: mx.linalg.solve(a[i], b[i])),
            (mx.linalg.solve(a, b[:, :, 0:1]), lambda i: mx.linalg.solve(a[i], b[i, :, 0:1])),
        ):
            for i in range(37):
                np.testing.assert_array_equal(np.array(all_of[i]), np.array(one(i)), str(i))


@pytest.mark.parametrize("dtype", [mx.float32, mx.float64], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 13, 16])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_of_a_batch_have_the_bits_of_one_alone(upper, n, dtype):
    x = np.array([matrix(n, dtype) for _ in range(37)]) * numbers((37, n, n), dtype, 2)
    a = x @ np.swapaxes(x, 1, 2) + np.eye(n)
    a[5] *= 1e-30
    with mx.stream(mx.cpu):
        a = array(a, dtype)
        factors = mx.linalg.cholesky(a, upper=upper)
        for i in range(37):
            one = np.array(mx.linalg.cholesky(a[i], upper=upper))
            np.testing.assert_array_equal(np.array(factors[i]), one, str(i))


@pytest.mark.parametrize("bad", [0, 20, 36])
@pytest.mark.parametrize("value", [-1, 0, np.nan])
def test_a_matrix_of_a_batch_without_a_cholesky_factor_is_named(bad, value):
    a = np.array([np.eye(8) for _ in range(37)])
    a[bad, 3, 3] = value
    named = rf"matrix {bad} of the batch.*minor of order 4 "
    with mx.stream(mx.cpu), pytest.raises(ValueError, match=named):
        mx.eval(mx.linalg.cholesky(array(a, mx.float32)))


@pytest.mark.parametrize("singular", [0, 20, 36])
def test_a_singular_matrix_of_a_batch_is_named(singular):
    a = np.array([matrix(8, mx.float32) for _ in range(37)])
    a[singular, 3] = 0
    with mx.stream(mx.cpu), pytest.raises(ValueError, match=f"matrix {singular} of the batch"):
        mx.eval(mx.linalg.inv(array(a, mx.float32)))
