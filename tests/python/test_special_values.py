"""Rows of the case lists on inputs that contain NaN, infinities, signed zeros and subnormals."""

import zlib

import cases
import numpy as np
import pytest
import scipy
from cases.table import (
    FLOATS,
    device_array,
    dtype_name,
    error_of,
    host,
    leaves,
    numpy_dtype,
    smallest,
    wide,
)

import mlx.core as mx

FAMILIES = ["elementwise", "order", "reduce", "standard", "view"]


def strewn(values, dtype, salt, specials):
    """A copy of `values` in which about every third number is one of `specials`."""
    rng = np.random.RandomState(zlib.crc32(salt.encode()))
    chosen = rng.choice(np.array(specials), values.shape).astype(numpy_dtype(dtype))
    return np.where(rng.uniform(size=values.shape) < 0.3, chosen, values)


def variants(dtype):
    """Sets of special values, separate because NaN hides the effect of the others."""
    tiny = smallest(dtype)
    yield "nan", [np.nan]
    yield "infinities", [np.inf, -np.inf]
    yield "one infinity", [np.inf]
    yield "zeros", [0.0, -0.0, tiny, -tiny]
    yield "all", [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]


def check(row):
    for dtype in [d for d in row.dtypes if d in FLOATS]:
        for name, specials in variants(dtype):
            if not cases.chosen(f"special {row.name} {dtype} {name}", 0.15):
                continue
            inputs = [
                strewn(i, dtype, f"{row.name}{n}{name}", specials)
                if n in row.differentiable()
                else i
                for n, i in enumerate(row.host_inputs(dtype))
            ]
            with np.errstate(all="ignore"):
                wants = leaves(row.reference(*map(wide, inputs)))
            for got, want in zip(leaves(row.call(*map(device_array, inputs))), wants, strict=True):
                message = error_of(row, host(got)[0], want, dtype_name(got))
                if message:
                    yield f"{dtype} {name}: {message}"


@pytest.mark.parametrize("family", FAMILIES)
def test_special_values(family):
    cases.run_rows(family, check, lambda row: row.special)


SCALED = {
    "inv": (lambda a, b: mx.linalg.inv(a), lambda a, b: np.linalg.inv(a)),
    "solve": (mx.linalg.solve, np.linalg.solve),
    "solve of rows": (lambda a, b: mx.linalg.solve(a.T, b), lambda a, b: np.linalg.solve(a.T, b)),
    "solve_triangular": (
        lambda a, b: mx.linalg.solve_triangular(a, b, upper=True),
        lambda a, b: np.linalg.solve(np.triu(a), b),
    ),
    "tri_inv": (lambda a, b: mx.linalg.tri_inv(a), lambda a, b: np.linalg.inv(np.tril(a))),
    "lu": (
        lambda a, b: list(mx.linalg.lu(a)[1:]),
        lambda a, b: list(scipy.linalg.lu(a, p_indices=True)[1:]),
    ),
    "slogdet": (lambda a, b: list(mx.linalg.slogdet(a)), lambda a, b: list(np.linalg.slogdet(a))),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", SCALED)
def test_linear_algebra_near_the_ends_of_the_range(name, dtype):
    """Matrices, rows and columns of any magnitude have the digits of ordinary ones."""
    compute, reference = SCALED[name]
    rng = np.random.default_rng(3)
    step, ends = (1, (-126, 120)) if dtype != "float64" else (8, (-1020, 1000))
    for n in (1, 2, 3, 4, 8, 33):
        a = rng.uniform(0.5, 1, (n, n)) * rng.choice([-1, 1], (n, n)) + n * np.eye(n)
        b = rng.uniform(-1, 1, (n, 2))
        if dtype == "complex64":
            a = a + 1j * rng.uniform(-1, 1, (n, n))
        half = np.arange(n) % 2 == 0
        for end in ends:
            e = end - 7 if end > 0 else end  # sums of a row stay below the largest number
            powers = [
                np.full((n, n), e),
                np.broadcast_to(np.where(half, e, 0)[:, None], (n, n)),
                np.broadcast_to(np.where(half, e, 0), (n, n)),
            ]
            if name == "lu":
                powers = powers[:1]  # rows of other magnitudes are other pivots
            for power in powers:
                scaled = a * 2.0**power
                given = mx.array(scaled, getattr(mx, dtype))
                right = b * 2.0 ** power[:, :1] if name.startswith("solve") else b
                if name == "solve of rows":
                    right = b * 2.0 ** power[:1].T
                right = mx.array(right, mx.float64 if step == 8 else mx.float32)
                got = compute(given, right)
                exact = np.array(given).astype(np.complex128 if dtype[0] == "c" else np.float64)
                want = reference(exact, np.array(right).astype(np.float64))
                many = isinstance(want, list)
                for g, w in zip(got if many else [got], want if many else [want], strict=True):
                    g, w = np.array(g), np.asarray(w)
                    tiny = np.finfo(g.dtype).tiny
                    far = np.abs(w) >= np.finfo(g.dtype).max
                    bound = 1e-4 if step == 1 else 1e-11
                    # Each column by its own magnitude; results below the normal range round.
                    top = np.abs(w).max(axis=0 if w.ndim else None, keepdims=w.ndim > 0)
                    error = np.abs(g - w)[~far] if w.ndim else np.abs(g - w)
                    limit = np.broadcast_to(bound * top + tiny, w.shape)
                    limit = limit[~far] if w.ndim else limit
                    assert np.all(error <= limit), (n, end, power[0])
