"""Norms of vectors and matrices near the ends of the range of a dtype, and their derivatives."""

import numpy as np
import pytest

import mlx.core as mx

LIMITS = {"float16": 6e4, "bfloat16": 2e38, "float32": 2e38, "float64": 1e308}
SMALL = {"float16": 1e-7, "bfloat16": 1e-40, "float32": 1e-44, "float64": 1e-323}
TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-14}
COMPLEX = {"complex64": "float32", "complex128": "float64"}


def values(dtype, scale, shape):
    """Values whose norm is within the range: each is a small share of `scale`."""
    rng = np.random.RandomState(3)
    v = rng.uniform(0.3, 1, shape) * scale / 8
    if dtype in COMPLEX:
        v = v + 1j * rng.uniform(0.3, 1, shape) * scale / 8
    a = mx.array(v, getattr(mx, dtype))
    wide = mx.complex128 if dtype in COMPLEX else mx.float64
    return a, np.array(a.astype(wide))


def reference(v, ord, axis, keepdims):
    """The norm in long doubles, whose exponents have no limits here."""
    v = np.abs(v.astype(np.clongdouble if np.iscomplexobj(v) else np.longdouble))
    axes = tuple(range(v.ndim)) if axis is None else axis
    p = 2 if ord in (None, "fro") else ord
    return np.sum(v**p, axis=axes, keepdims=keepdims) ** (np.longdouble(1) / p)


CASES = [
    ((7,), None, None, False),
    ((7,), 2, None, False),
    ((7,), None, 0, True),
    ((7,), 3, None, False),
    ((3, 5), None, None, False),
    ((3, 5), None, None, True),
    ((3, 5), "fro", None, False),
    ((3, 5), None, 1, True),
    ((3, 5), 2, -1, False),
    ((3, 5), 2, 0, False),
    ((2, 3, 2), None, None, False),
    ((2, 3, 2), None, (0, 2), True),
    ((2, 3, 2), "fro", (-1, 0), False),
    ((), None, None, False),
]


@pytest.mark.parametrize("dtype", [*LIMITS, *COMPLEX])
@pytest.mark.parametrize("scale", ["large", "one", "small", "mixed"])
@pytest.mark.parametrize(("shape", "ord", "axis", "keepdims"), CASES)
def test_norms_at_the_ends_of_the_range(dtype, scale, shape, ord, axis, keepdims):
    real = COMPLEX.get(dtype, dtype)
    size = {"large": LIMITS[real], "one": 1.0, "small": SMALL[real] * 800, "mixed": 1.0}[scale]
    a, v = values(dtype, size, shape)
    if scale == "mixed" and v.ndim:
        v.flat[0] = LIMITS[real] / 2
        v.flat[-1] = SMALL[real]
        a = mx.array(v, getattr(mx, dtype))
    got = mx.linalg.norm(a, ord, axis, keepdims)
    want = reference(v, ord, axis, keepdims)
    assert got.dtype == getattr(mx, real)
    assert got.shape == want.shape
    got = np.array(got.astype(mx.float64)).astype(np.longdouble)
    assert np.all(np.abs(got - want) <= TOLERANCE[real] * want + SMALL[real])
    for other in (mx.compile(lambda x: mx.linalg.norm(x, ord, axis, keepdims))(a),):
        assert mx.array_equal(other, mx.linalg.norm(a, ord, axis, keepdims)).item()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "complex128"])
@pytest.mark.parametrize("scale", ["large", "one", "small"])
def test_derivatives_of_norms_at_the_ends_of_the_range(dtype, scale):
    real = COMPLEX.get(dtype, dtype)
    size = {"large": LIMITS[real], "one": 1.0, "small": SMALL[real] * 8000}[scale]
    a, v = values(dtype, size, (2, 5))
    got = mx.grad(lambda x: mx.linalg.norm(x, axis=1).sum())(a)
    wide = v.astype(np.clongdouble if np.iscomplexobj(v) else np.longdouble)
    want = wide / reference(v, None, (1,), True)
    got = np.array(got.astype(mx.complex128 if dtype in COMPLEX else mx.float64))
    assert np.allclose(got, want.astype(got.dtype), rtol=4 * TOLERANCE[real], atol=0)
    tangent = mx.jvp(lambda x: mx.linalg.norm(x, axis=1), [a], [a])[1][0]
    assert np.allclose(
        np.array(tangent.astype(mx.float64)), reference(v, None, (1,), False).astype(float),
        rtol=4 * TOLERANCE[real], atol=SMALL[real],
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("ord", [None, 2, 3])
def test_norms_of_zeros_nan_and_infinities(dtype, ord):
    t = getattr(mx, dtype)
    zeros = mx.zeros((3,), t)
    assert mx.linalg.norm(zeros, ord).item() == 0
    assert mx.grad(lambda x: mx.linalg.norm(x, ord))(zeros).tolist() == [0, 0, 0]
    part = mx.array([[0, 0], [3, 4]], t)
    grads = mx.grad(lambda x: mx.linalg.norm(x, ord, axis=1).sum())(part)
    assert grads[0].tolist() == [0, 0]
    assert not mx.isnan(grads).any().item()
    assert np.isnan(mx.linalg.norm(mx.array([1, float("nan")], t), ord).item())
    assert np.isposinf(mx.linalg.norm(mx.array([1, float("-inf")], t), ord).item())
    assert mx.linalg.norm(mx.zeros((0,), t), ord).item() == 0
    assert mx.linalg.norm(mx.zeros((2, 0), t), ord, axis=1).tolist() == [0, 0]
    assert mx.linalg.norm(mx.zeros((0, 2), t), ord, axis=1).shape == (0,)


def test_norms_of_integers():
    a = mx.array([2**62, 2**62, -(2**63)], mx.int64)
    assert np.isclose(mx.linalg.norm(a).item(), np.linalg.norm(np.array(a).astype(float)), 1e-6)
    assert mx.linalg.norm(mx.array([3, 4])).item() == 5
    assert mx.linalg.norm(mx.array([True, True, True, True])).item() == 2
