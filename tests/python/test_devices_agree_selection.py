"""Selection by masks and counting on the GPU: equal to the CPU, bit for bit."""

import numpy as np
import pytest
from test_devices_agree import DTYPES, INTEGERS, check, on, values

import mlx.core as mx

pytestmark = [pytest.mark.gpu_only, pytest.mark.sampled(0.5)]

COMPLEX = [mx.complex64, mx.complex128]
MASKED = [mx.bool_, mx.int8, mx.float16, mx.float32, mx.int64, mx.complex64, mx.complex128]


def masks(shape, seed=0):
    """Masks that hold here and there, nearly nowhere, everywhere, nowhere; and views of masks."""
    rng = np.random.default_rng(seed)
    x = mx.array(rng.random(shape) < 0.5)
    rare = mx.array(rng.random(shape) < 0.01)
    return [x, rare, mx.ones(shape, mx.bool_), mx.zeros(shape, mx.bool_), x[::-1], x[..., ::-1]]


@pytest.mark.parametrize("shape", [(1,), (5001,), (37, 70), (3, 5, 7, 11), (4, 0), (1,) * 9])
def test_positions_of_selected_elements(shape):
    for m in masks(shape):
        check(mx.argwhere, m)
        check(mx.flatnonzero, m)
        for axis in range(m.ndim):
            check(lambda m, stream, axis=axis: mx.nonzero(m, stream=stream)[axis], m)
    x = values(mx.float32, shape)
    check(mx.argwhere, mx.where(x > 1, x, 0, stream=mx.cpu))


def test_positions_in_a_long_mask():
    """Blocks share it, and each has several parts of it."""
    rng = np.random.default_rng(1)
    for n in (2047, 2049, 100_003, (4096 * 2048) + 77):
        m = mx.array(rng.random(n) < 0.3)
        found = mx.flatnonzero(m, stream=mx.gpu)
        assert np.array_equal(np.array(found), np.flatnonzero(np.array(m)))


def written(x, mask, values):
    """x with other slices where a mask holds."""
    y = x + mx.zeros((), x.dtype)
    y[mask] = values
    return y


@pytest.mark.parametrize("dtype", MASKED, ids=str)
def test_slices_that_a_mask_selects(dtype):
    x = values(dtype, (6, 70, 5))
    for a in (x, x[::-1, :, ::-2], mx.broadcast_to(x[:1], x.shape), x[:, :, :0]):
        for lead in range(1, 4):
            for m in masks(a.shape[:lead], lead):
                check(lambda a, m, stream: on(stream, lambda: a[m]), a, m)
                n = np.count_nonzero(np.array(m))
                u = values(dtype, (n + 3, *a.shape[lead:]), 3)
                for src in (u[::-1], u[: max(n, 1)]):
                    if src.size and n:
                        check(lambda *x, stream: on(stream, written, *x), a, m, src)
    m = masks((6,))[0]
    check(lambda a, m, stream: mx.compress(m, a, axis=0, stream=stream), x, m)
    check(lambda a, stream: on(stream, mx.vmap(lambda a: a[m]), a), x.transpose(1, 0, 2))


def test_derivatives_of_selections():
    x, m = values(mx.float32, (40, 30)), masks((40, 30))[0]
    u = values(mx.float32, (np.count_nonzero(np.array(m)) + 1,), 2)
    check(lambda x, stream: on(stream, mx.grad(lambda x: mx.square(x[m]).sum()), x), x)
    for i in range(2):
        f = mx.grad(lambda x, u: mx.square(written(x, m, u)).sum(), i)
        check(lambda x, u, stream, f=f: on(stream, f, x, u), x, u)


def test_a_masked_write_in_place():
    m = masks((3000,))[0]
    with mx.stream(mx.gpu):
        x = mx.arange(3000.0) + 0
        mx.eval(x)
        x[m] = mx.arange(3001.0) + 0.5
        mx.eval(x)
        y = written(x, m, x)  # its own values
        mx.eval(x, y)
    held = np.array(m)
    wanted = np.arange(3000.0)
    wanted[held] = np.arange(held.sum()) + 0.5
    assert np.array_equal(np.array(x), wanted)
    again = wanted.copy()
    again[held] = wanted[: held.sum()]
    assert np.array_equal(np.array(y), again)


@pytest.mark.parametrize("stream", [mx.gpu, mx.cpu], ids=str)
def test_too_few_values_for_a_mask(stream):
    x, m = mx.arange(3000.0), mx.arange(3000) % 2 == 0
    bad = on(stream, written, x, m, mx.ones((1499,)))
    with pytest.raises(IndexError, match="1499 values for a mask that holds 1500 times"):
        mx.eval(bad)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_counts_by_value(dtype):
    rng = np.random.default_rng(9)
    for n, top in ((0, 3), (1, 1), (777, 5), (70_001, 100), (9000, 127)):
        x = mx.array(rng.integers(0, top, n)).astype(dtype, stream=mx.cpu)
        for a in (x, x[::-2]):
            check(mx.bincount, a)
            check(lambda a, stream: mx.bincount(a, minlength=200, stream=stream), a)
    check(lambda a, stream: mx.bincount(a, length=5000, stream=stream), x)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != mx.bool_], ids=str)
def test_sums_of_weights(dtype):
    """In the CPU's order, with several sums a bin and several parts of the elements."""
    rng = np.random.default_rng(10)
    for n, top in ((0, 2), (1, 1), (1030, 3), (200_001, 30), (70_003, 600), (70_003, 3000)):
        x, w = mx.array(rng.integers(0, top, n)), values(dtype, (n,), 4)
        check(lambda x, w, stream, n=top: mx.bincount(x, w, length=n, stream=stream), x, w)
        check(lambda x, w, stream, n=top: mx.bincount(x[::-1], w[::-1], length=n, stream=stream),
              x, w)  # fmt: skip


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in COMPLEX], ids=str)
def test_histograms(dtype):
    x = values(dtype, (70, 31))
    if dtype not in INTEGERS and dtype != mx.bool_:
        special = mx.array([np.nan, 0.0, -0.0, 1.0, 2.0, 3.0]).astype(dtype)
        with_nan = mx.concatenate([x.flatten(), special], stream=mx.cpu)
        x = mx.where(abs(x) < 100, x, 1.0).astype(dtype)
    else:
        with_nan = x
    w = values(mx.float32, x.shape, 2)
    for bins in (1, 10, 16, 17, 3000):
        for a in (x, x.T[::-1], x[:0]):
            for i in range(2):
                check(lambda a, stream, i=i, n=bins: mx.histogram(a, n, stream=stream)[i], a)
        check(lambda a, stream, n=bins: mx.histogram(a, n, (-1, 2), stream=stream)[0], with_nan)
        check(lambda a, w, stream, n=bins: mx.histogram(a, n, weights=w, stream=stream)[0], x, w)
    edges = mx.sort(values(dtype, (40,), 7), stream=mx.cpu)
    for e in (edges, edges[:5], edges[:1], edges[3:5]):
        check(lambda a, e, stream: mx.histogram(a, e, stream=stream)[0], with_nan, e)
        check(lambda a, e, w, stream: mx.histogram(a, e, weights=w, stream=stream)[0], x, e, w)


@pytest.mark.parametrize("stream", [mx.gpu, mx.cpu], ids=str)
def test_uncountable_arguments_are_refused(stream):
    kept = mx.ones((3,), stream=stream)
    bad = mx.bincount(mx.array([1, 2, 7, 3]), length=5, stream=stream)
    with pytest.raises(IndexError, match="the element 7; numbers from 0 to 4 are accepted"):
        mx.eval(bad, kept)
    bad = mx.bincount(mx.array([1, -2]), mx.array([1.0, 2.0]), length=5, stream=stream)
    with pytest.raises(IndexError, match="the element -2; numbers from 0 to 4"):
        mx.eval(bad)
    bad = mx.histogram(mx.array([1.0, np.inf]), 3, stream=stream)[0]
    with pytest.raises(ValueError, match="some are not finite, and no range"):
        mx.eval(bad)
    assert kept.tolist() == [1, 1, 1]


def test_sets():
    x = values(mx.int32, (3000,)) % 50
    for f in (mx.unique, lambda x, stream: mx.isin(x, mx.arange(0, 50, 3), stream=stream)):
        check(f, x)
