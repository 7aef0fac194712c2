"""Masked reads and writes against NumPy, at sizes that cross blocks and chunks."""

import numpy as np
import pytest
import second_backend

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


@pytest.mark.sampled(0.4)
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


@pytest.mark.skipif(bool(second_backend.in_use()), reason="the steps are those of CPUs")
def test_a_mask_is_counted_in_one_step():
    x = mx.random.normal((10000,), key=mx.random.key(0))
    mask = x > 0
    mx.eval(x, mask)
    with mx.profile() as steps:
        positive = x[mask]
    assert "fused(not_equal,reduce)" in str(steps), steps
    assert positive.size == np.count_nonzero(np.array(mask))


def test_elements_that_count():
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


@pytest.mark.parametrize("dtype", DTYPES)
def test_writes(dtype):
    for size in SIZES[1:]:
        a = array(np.random.default_rng(size).integers(0, 100, size), dtype)
        x = np.array(a.astype(mx.float32) if dtype == "bfloat16" else a)
        for m in masks(size):
            b, n = mx.array(m), m.sum()
            for spare in (0, 3):  # there may be more values
                if n + spare == 0:
                    continue
                v = array(np.arange(n + spare) % 99 + 1, dtype)
                y = np.array(v.astype(mx.float32) if dtype == "bfloat16" else v)
                expected = x.copy()
                expected[m] = y[:n] if n + spare > 1 else y[0]
                out = a[:]
                out[b] = v
                assert equal(out, expected, a.dtype)
                own = a + array(np.zeros(1), dtype)  # may be written in place
                own[b[::-1]] = v[::-1][: n + spare][::-1]
                expected = x.copy()
                expected[m[::-1]] = y[:n] if n + spare > 1 else y[0]
                assert equal(own, expected, a.dtype)
                assert equal(a, x, a.dtype)


@pytest.mark.parametrize("length", LENGTHS)
def test_writes_of_rows(length):
    for size in (9, 1025, 33_000):
        x = np.random.default_rng(size).random((size, length), np.float32)
        a = mx.array(x)
        for m in masks(size):
            b, n = mx.array(m), max(m.sum(), 2)
            y = np.random.default_rng(n).random((length, n), np.float32).T
            v = mx.array(y.T).T
            for name in ("__setitem__", "add"):
                out, expected = a[:], x.copy()
                if name == "add":
                    out[b] += v[: m.sum()] if m.any() else 0
                    expected[m] += y[: m.sum()]
                else:
                    out[b] = v
                    expected[m] = y[: m.sum()]
                assert equal(out, expected, mx.float32), name
            back = a[::-1]
            back[b] = v
            expected = x[::-1].copy()
            expected[m] = y[: m.sum()]
            assert equal(back, expected, mx.float32)


def test_writes_are_traced_batched_and_differentiable():
    rng = np.random.default_rng(0)
    x, m = rng.random((4, 5000), np.float32), rng.random((4, 5000)) < 0.5
    a, b = mx.array(x), mx.array(m)
    n = m.sum(1).max() + 2
    v = mx.array(rng.random((4, n), np.float32))

    def put(a, b, v):
        a[b] = v
        return a

    rows = [put(a[i], b[i], v[i]) for i in range(4)]
    assert mx.array_equal(mx.vmap(put)(a, b, v), mx.stack(rows))
    same = [put(a[i], b[0], v[i]) for i in range(4)]
    assert mx.array_equal(mx.vmap(put, (0, None, 0))(a, b[0], v), mx.stack(same))
    assert mx.array_equal(mx.compile(put)(a[1], b[1], v[1]), rows[1])
    weights = mx.arange(5000, dtype=mx.float32)

    def loss(a, v):
        return mx.sum(mx.square(put(a, b[0], v)) * weights)

    for f in (mx.grad(loss, (0, 1)), mx.compile(mx.grad(loss, (0, 1)))):
        by_a, by_v = f(a[0], v[0])
        assert mx.allclose(by_a, mx.where(b[0], 0, 2 * a[0] * weights))
        count = m[0].sum()
        assert mx.allclose(by_v[:count], 2 * v[0][:count] * weights[b[0]])
        assert by_v[count:].tolist() == [0] * (n - count)
    tangent = mx.jvp(loss, [a[0], v[0]], [a[0], v[0]])[1][0]
    assert mx.allclose(tangent, 2 * loss(a[0], v[0]))
    twice = mx.grad(lambda v: mx.sum(mx.grad(loss, 1)(a[0], v) ** 2))(v[0])
    assert mx.allclose(twice[:count], 8 * v[0][:count] * weights[b[0]] ** 2, 1e-4)


@pytest.mark.parametrize("size", (9, 70_000))
def test_too_few_values(size):
    a, mask = mx.zeros(size), mx.arange(size) > 2
    for n in (0, 2, size - 4):  # one value would broadcast
        with pytest.raises(IndexError, match=r"values for a mask that holds"):
            b = a[:]
            b[mask] = mx.ones(n)
            mx.eval(b)
    assert not mx.any(a).item()


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


def test_positions_do_not_move():
    x = mx.array([1.0, 0.0, 2.0])
    for positions in (mx.argwhere, lambda x: mx.nonzero(x)[0][:, None]):
        found, slopes = mx.vjp(positions, [x], [mx.ones((2, 1), mx.int32)])
        assert found[0].tolist() == [[0], [2]] and slopes[0].tolist() == [0, 0, 0]
