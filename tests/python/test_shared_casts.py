"""Casts that several steps read are computed by each of them, with the bits of a stored cast."""

import numpy as np
import pytest
import second_backend

import mlx.core as mx

SOURCES = [mx.bfloat16, mx.float16, mx.int8, mx.bool_]
SHAPES = [(5, 3), (40, 130), (700, 65), (6, 40, 33)]
FORMULAS = {
    "sum and maximum": lambda c, row: [mx.sum(c, axis=0), mx.max(c, axis=-1)],
    "variance": lambda c, row: [mx.mean(mx.square(c - mx.mean(c, axis=0)), axis=0)],
    "standardised": lambda c, row: [(c - mx.mean(c, axis=-1, keepdims=True)) * mx.sum(c, axis=0)],
    "two elementwise": lambda c, row: [mx.exp(c).sum(axis=0) + row, (c * row).T],
    "broadcast": lambda c, row: [mx.sum(c[..., None] * row, axis=-1), mx.max(c)],
    "with a product": lambda c, row: [c @ c.swapaxes(-1, -2), mx.sum(c, axis=0)],
    "with a view": lambda c, row: [c.reshape(-1) + 1, mx.sum(c, axis=0)],
    "with an index": lambda c, row: [mx.take(c, mx.array([1, 0]), axis=0), c + row],
    "one after another": lambda c, row: [mx.cumsum(c, axis=0), mx.sum(c + 1), mx.argmax(c)],
}
VIEWS = {
    "itself": lambda x: x,
    "transposed": lambda x: x.swapaxes(0, 1),
    "strided": lambda x: x[1::2, ::-1],
    "of a kernel": lambda x: mx.concatenate([x, x]),
    "broadcast": lambda x: mx.broadcast_to(x[:1], x.shape),
    "computed": lambda x: mx.abs(x) if x.dtype != mx.bool_ else mx.logical_not(x),
}


def source(shape, dtype):
    """An evaluated array of small numbers."""
    a = np.random.RandomState(3).randint(-9, 9, shape)
    a = mx.array(a.astype(np.float32)).astype(dtype)
    mx.eval(a)
    return a


def bits(arrays):
    """The bytes of all arrays."""
    return [bytes(memoryview(mx.contiguous(a).reshape(-1).view(mx.uint8))) for a in arrays]


def evaluated(x, view, formula, stored):
    """The results; `stored`: the cast is evaluated before it is used."""
    cast = VIEWS[view](x).astype(mx.float32)
    row = mx.arange(1, cast.shape[-1] + 1).astype(mx.float32) / 8
    if stored:
        mx.eval(cast, row)
    results = FORMULAS[formula](cast, row)
    del cast, row
    mx.eval(results)
    return results


@pytest.mark.parametrize("dtype", SOURCES, ids=str)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("formula", FORMULAS)
def test_bits_are_those_of_a_stored_cast(formula, view, dtype):
    for shape in SHAPES:
        x = source(shape, dtype)
        at_once = evaluated(x, view, formula, stored=False)
        assert bits(at_once) == bits(evaluated(x, view, formula, stored=True)), shape


@pytest.mark.parametrize("formula", FORMULAS)
def test_compiled_functions_give_the_same_bits(formula):
    x = source((40, 130), mx.bfloat16)

    def run(x):
        cast = x.astype(mx.float32)
        return FORMULAS[formula](cast, mx.ones(x.shape[-1]))

    expected = run(x)
    assert bits(mx.compile(run)(x)) == bits(expected)


VIEWS_OF_COMPUTED = {
    "rows": lambda v: v[:, None],
    "columns": lambda v: v[None],
    "reversed": lambda v: v[::-1, None],
    "repeated": lambda v: mx.broadcast_to(v[:, None], (40, 40)),
    "reshaped": lambda v: v.reshape(1, 40),
    "two views": lambda v: v[:, None].swapaxes(0, 1),
}
READERS = {
    "divides and multiplies": lambda v, c, b: [b / c, b * c],
    "one after another": lambda v, c, b: [(b / c) * c + v.astype(c.dtype), b - c],
    "with the value": lambda v, c, b: [b * c + mx.square(v).astype(c.dtype), mx.sum(b * c, axis=0)],
    "derivative": lambda v, c, b: mx.vjp(lambda b, c: [b / c], [b, c], [b])[1],
}


@pytest.mark.parametrize("dtypes", [(mx.float16, mx.float32), (mx.float32, mx.complex64)], ids=str)
@pytest.mark.parametrize("view", VIEWS_OF_COMPUTED)
@pytest.mark.parametrize("readers", READERS)
def test_casts_of_views_of_computed_values(readers, view, dtypes):
    """The value that the view is of may be a part of any of the groups."""
    x, wide = source((40,), dtypes[0]), source((40, 40), dtypes[1])

    def run(x, wide, stored=False):
        seen = VIEWS_OF_COMPUTED[view](mx.exp(x))
        cast = seen.astype(dtypes[1])
        if stored:
            mx.eval(seen, cast)
        return READERS[readers](seen, cast, wide)

    expected = bits(run(x, wide, stored=True))
    results = run(x, wide)
    mx.eval(results)
    assert bits(results) == expected
    assert bits(mx.compile(run)(x, wide)) == expected


@pytest.mark.parametrize("transform", [mx.vjp, mx.jvp])
def test_derivatives_of_correlations(transform):
    """Of complex numbers: roots of a diagonal are cast for two quotients."""
    a = source((3, 5), mx.float32) + 1j * source((3, 5), mx.float32)[::-1]
    given = mx.corrcoef(a) if transform is mx.vjp else mx.ones_like(a)
    mx.eval(transform(mx.corrcoef, [a], [given]))


def test_groups_without_room_read_a_stored_cast():
    """A program of many reads and instructions takes no part of it."""
    x = source((64, 33), mx.bfloat16)
    others = [source((64, 33), mx.float32) + i for i in range(40)]
    mx.eval(others)

    def run(cast):
        total = mx.sum(cast, axis=0)
        for i, other in enumerate(others):
            total = total + cast * other * (i + 1)
        return [total, mx.max(cast, axis=0)]

    stored = x.astype(mx.float32)
    mx.eval(stored)
    assert bits(run(x.astype(mx.float32))) == bits(run(stored))


def test_derivatives_and_batches_are_the_same():
    x = source((20, 30), mx.float16)

    def loss(x):
        cast = x.astype(mx.float32)
        return mx.mean(mx.square(cast - mx.mean(cast, axis=0)))

    def loss_of_stored(x):
        cast = x.astype(mx.float32) + 0
        return mx.mean(mx.square(cast - mx.mean(cast, axis=0)))

    assert bits([mx.grad(loss)(x)]) == bits([mx.grad(loss_of_stored)(x)])
    rows = [loss(x[i : i + 4]) for i in range(0, 20, 4)]
    assert np.allclose(mx.vmap(loss)(x.reshape(5, 4, 30)), mx.stack(rows))


@pytest.mark.skipif(bool(second_backend.in_use()), reason="the steps are those of CPUs")
def test_no_step_stores_the_cast():
    """An expression in an assert would be kept alive, and its parts stored."""
    x = source((512, 64), mx.bfloat16)

    def steps(run):
        cast = x.astype(mx.float32)
        results = run(cast)
        del cast
        return mx._plan_steps(*results)

    variance = steps(lambda c: [mx.mean(mx.square(c - mx.mean(c, axis=0)), axis=0)])
    assert variance == ["fused(cast,reduce)", "fused(cast,subtract,square,reduce)"]
    two = steps(lambda c: [mx.sum(c, axis=0), mx.max(c, axis=0)])
    assert two == ["fused(cast,reduce)", "fused(cast,reduce)"]
    product = steps(lambda c: [c.T @ c, mx.sum(c, axis=0)])
    assert product.count("fused(cast)") == 1 and "reduce" in product
