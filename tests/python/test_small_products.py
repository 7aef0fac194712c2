"""Batches of small products: the bits of single ones, for every layout and dtype."""

import itertools

import numpy as np
import pytest

import mlx.core as mx

pytestmark = pytest.mark.cpu_only(
    reason="compares bits of the CPU's kernels for batches and for one"
)

TYPES = {
    mx.float32: 1e-5,
    mx.float16: 1e-2,
    mx.bfloat16: 6e-2,
    mx.float64: 1e-12,
    mx.complex64: 1e-5,
}
SIZES = [
    (1, 1, 1),
    (1, 1, 3),
    (1, 1, 40),
    (1, 1, 100),
    (1, 1, 1500),
    (4, 4, 4),
    (3, 3, 3),
    (8, 8, 8),
]
SIZES += [
    (1, 16, 2),
    (16, 1, 2),
    (2, 9, 5),
    (9, 2, 17),
    (5, 1, 33),
    (7, 8, 1),
    (2, 31, 3),
    (17, 3, 4),
]
COUNTS = [3, 4, 16, 37]


def numbers(rng, dtype, *shape):
    """Normal numbers of a dtype."""
    x = rng.standard_normal(shape)
    if dtype == mx.complex64:
        x = x + 1j * rng.standard_normal(shape)
        return mx.array(x.astype(np.complex64))
    return mx.array(x).astype(dtype)


LAYOUTS = {
    "rows": lambda make, c, r, k: make(c, r, k),
    "transposed": lambda make, c, r, k: make(c, k, r).transpose(0, 2, 1),
    "batch last": lambda make, c, r, k: make(r, k, c).transpose(2, 0, 1),
    "batch in the middle": lambda make, c, r, k: make(r, c, k).transpose(1, 0, 2),
    "apart": lambda make, c, r, k: make(2 * c, r + 1, 3 * k)[::2, 1:, ::3],
    "backwards": lambda make, c, r, k: make(c, r, k)[::-1, ::-1, ::-1],
    "one": lambda make, c, r, k: mx.broadcast_to(make(r, k), (c, r, k)),
}


def wide(x):
    """As NumPy's numbers of double precision."""
    return np.array(x.astype(mx.complex128 if x.dtype == mx.complex64 else mx.float64))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_bits(size, dtype):
    """Each product of a batch is what the product alone is, and near NumPy's."""
    m, n, k = size
    rng = np.random.default_rng(m + 100 * n + 10000 * k)

    def make(*shape):
        return numbers(rng, dtype, *shape)

    for number, (left, right) in enumerate(itertools.product(LAYOUTS, LAYOUTS)):
        count = COUNTS[number % len(COUNTS)]
        a, b = LAYOUTS[left](make, count, m, k), LAYOUTS[right](make, count, k, n)
        together = wide(a @ b)
        alone = wide(mx.stack([a[i] @ b[i] for i in range(count)]))
        np.testing.assert_array_equal(together, alone, f"{left}, {right}, {count}")
        bound = TYPES[dtype] * 8 * (np.abs(wide(a)) @ np.abs(wide(b)) + 1)
        assert np.all(np.abs(together - wide(a) @ wide(b)) <= bound), (left, right, count)


def test_several_batch_axes():
    """Axes of a batch that are not one, and factors that some of them share."""
    rng = np.random.default_rng(0)
    a = numbers(rng, mx.float32, 3, 5, 4, 2, 3).transpose(1, 0, 2, 3, 4)
    b = numbers(rng, mx.float32, 3, 1, 3, 4)
    together = wide(a @ b)
    np.testing.assert_allclose(together, wide(a) @ wide(b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k", [2, 20])
def test_special_numbers(k):
    """Infinities, NaN, zeros of both signs and subnormal numbers."""
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, 1.0, -1.0]
    rng = np.random.default_rng(k)
    a, b = (mx.array(rng.choice(special, s).astype(np.float32)) for s in ((64, 2, k), (64, k, 2)))
    for right in (b, mx.contiguous(b.transpose(0, 2, 1)).transpose(0, 2, 1)):
        together = np.array(a @ right)
        for i in range(64):
            alone = np.array(a[i] @ right[i])
            np.testing.assert_array_equal(together[i], alone)
            signs = np.signbit(np.nan_to_num(together[i])), np.signbit(np.nan_to_num(alone))
            np.testing.assert_array_equal(*signs)


def test_addend():
    """Products of a batch with an addend and factors."""
    rng = np.random.default_rng(1)
    a, b, c = (numbers(rng, mx.float32, *s) for s in ((20, 3, 4), (20, 4, 2), (20, 3, 2)))
    together = mx.addmm(c, a, b, alpha=0.5, beta=2.0)
    for i in range(20):
        alone = mx.addmm(c[i], a[i], b[i], alpha=0.5, beta=2.0)
        np.testing.assert_array_equal(np.array(together[i]), np.array(alone))
    np.testing.assert_allclose(
        together, 0.5 * (np.array(a) @ np.array(b)) + 2 * np.array(c), 1e-5, 1e-5
    )
