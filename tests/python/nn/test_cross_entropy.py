"""Cross entropy of indices of classes: values, derivatives and transformations, against float64."""

import numpy as np
import pytest

import mlx.core as mx
from mlx.nn.losses import cross_entropy

RANDOM = np.random.default_rng(0)
TOLERANCE = {mx.float32: 2e-6, mx.float16: 2e-3, mx.bfloat16: 1.6e-2}


def expected(logits, targets, axis):
    """The losses, and the derivative of their sum, in float64."""
    x = np.moveaxis(np.array(logits.astype(mx.float32)).astype(np.float64), axis, -1)
    x = x - x.max(-1, keepdims=True)
    total = np.exp(x).sum(-1, keepdims=True)
    t = np.array(targets).astype(np.int64) % x.shape[-1]
    loss = np.log(total)[..., 0] - np.take_along_axis(x, t[..., None], -1)[..., 0]
    slope = np.exp(x) / total - (np.arange(x.shape[-1]) == t[..., None])
    return loss, np.moveaxis(slope, -1, axis)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(
    "shape,axis",
    [((7, 5), -1), ((7, 5), 0), ((3, 4, 6), 1), ((9,), 0), ((2, 70000), -1), ((0, 4), 1)],
)
@pytest.mark.parametrize("index_dtype", [mx.int32, mx.uint8, mx.int64], ids=str)
def test_values_and_derivatives(shape, axis, dtype, index_dtype):
    logits = mx.array(RANDOM.standard_normal(shape).astype(np.float32) * 4).astype(dtype)
    rest = [n for k, n in enumerate(shape) if k != axis % len(shape)]
    targets = mx.array(RANDOM.integers(0, min(shape[axis], 200), rest)).astype(index_dtype)
    loss, slope = expected(logits, targets, axis)
    tolerance = TOLERANCE[dtype]
    ours = cross_entropy(logits, targets, axis=axis)
    assert ours.dtype == dtype
    np.testing.assert_allclose(np.array(ours.astype(mx.float32)), loss, tolerance, tolerance)

    def total(x):
        return cross_entropy(x, targets, axis=axis).astype(mx.float32).sum()

    for gradient in (mx.grad(total), mx.compile(mx.grad(total))):
        found = gradient(logits)
        assert found.dtype == dtype
        np.testing.assert_allclose(np.array(found.astype(mx.float32)), slope, tolerance, 2e-6)


def test_indices_from_the_end():
    logits = mx.array(RANDOM.standard_normal((4, 5)).astype(np.float32))
    behind, before = mx.array([-1, 0, -5, 2]), mx.array([4, 0, 0, 2])
    for f in (cross_entropy, mx.grad(lambda x, t: cross_entropy(x, t).sum())):
        np.testing.assert_array_equal(f(logits, behind), f(logits, before))


TRANSFORMED = {
    "vmap": lambda f, x, t: mx.vmap(f)(x[:, None], t[:, None]),
    "vmap of a gradient": lambda f, x, t: mx.vmap(mx.grad(lambda x, t: f(x, t).sum()))(
        x[:, None], t[:, None]
    ),
    "gradient of a vmap": lambda f, x, t: mx.grad(
        lambda x: mx.vmap(f)(x[:, None], t[:, None]).sum()
    )(x),
    "jvp": lambda f, x, t: mx.jvp(lambda x: f(x, t), [x], [mx.cos(x)])[1][0],
    "jvp of a gradient": lambda f, x, t: mx.jvp(mx.grad(lambda x: f(x, t).sum()), [x], [mx.cos(x)])[
        1
    ][0],
    "gradient of a gradient": lambda f, x, t: mx.grad(
        lambda x: mx.sum(mx.grad(lambda x: f(x, t).sum())(x) ** 2)
    )(x),
    "Hessian": lambda f, x, t: mx.hessian(lambda x: f(x, t).sum())(x),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations(name):
    """Equal to the formula, whose derivative the engine finds."""
    x = mx.array(RANDOM.standard_normal((3, 5)).astype(np.float32))
    t = mx.array([1, 4, 0])

    def formula(x, t):
        picked = mx.take_along_axis(x, t[..., None], -1)[..., 0]
        return mx.logsumexp(x, -1) - picked

    transform = TRANSFORMED[name]
    found, wanted = transform(cross_entropy, x, t), transform(formula, x, t)
    np.testing.assert_allclose(np.array(found), np.array(wanted), 1e-5, 1e-6)


def test_a_gradient_is_exported(tmp_path):
    x = mx.array(RANDOM.standard_normal((3, 5)).astype(np.float32))
    gradient = mx.grad(lambda x: cross_entropy(x, mx.array([1, 4, 0])).sum())
    mx.export_function(str(tmp_path / "f.mlxfn"), gradient, x)
    np.testing.assert_array_equal(mx.import_function(str(tmp_path / "f.mlxfn"))(x)[0], gradient(x))
