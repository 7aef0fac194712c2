"""Calls with ambiguous arguments."""

import numpy as np
import pytest

import mlx.core as mx


def test_arange_by_name():
    """The only number is where a range stops; `start` alone is refused."""
    assert mx.arange(5).tolist() == mx.arange(stop=5).tolist() == [0, 1, 2, 3, 4]
    for r in (
        mx.arange(1, 5, 2),
        mx.arange(1, stop=5, step=2),
        mx.arange(start=1, stop=5, step=2),
        mx.arange(1, 5, step=2),
    ):
        assert r.tolist() == [1, 3]
    assert mx.arange(5, step=2).tolist() == mx.arange(5, None, 2).tolist() == [0, 2, 4]
    assert mx.arange(3, dtype=mx.int8).dtype == mx.int8
    assert mx.arange(start=1, stop=3, dtype=mx.float16).dtype == mx.float16
    for wrong in ({"start": 5}, {"start": 5, "step": 2}, {"step": 2}, {}):
        with pytest.raises(TypeError, match="arange"):
            mx.arange(**wrong)


def test_out_axes_of_one_result():
    """A sequence of one axis fits a function that returns one array."""
    x = mx.arange(6).reshape(3, 2)
    for axes in ((1,), [1], 1, -1):
        assert mx.array_equal(mx.vmap(lambda a: a + 1, out_axes=axes)(x), x.T + 1)
    pair = mx.vmap(lambda a: (a, a + 1), out_axes=(1, 0))(x)
    assert mx.array_equal(pair[0], x.T) and mx.array_equal(pair[1], x + 1)
    with pytest.raises(ValueError, match="out_axes"):
        mx.vmap(lambda a: a, out_axes=(0, 1))(x)


@pytest.mark.parametrize("f", ["max", "min", "argmax", "argmin", "median"])
@pytest.mark.parametrize("shape, axis", [((0, 0), -1), ((0, 0), 0), ((3, 0), 1), ((0,), None)])
def test_extremes_of_nothing(f, shape, axis):
    """An empty axis has no extremum, also if the result would be empty."""
    with pytest.raises(ValueError, match=f):
        getattr(mx, f)(mx.zeros(shape), axis=axis)


def test_extremes_beside_an_empty_axis():
    """The reduced axis is not empty, but the result is."""
    for f in (mx.max, mx.min):
        assert f(mx.zeros((0, 3)), axis=1).shape == (0,)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32], ids=str)
def test_derivatives_of_logaddexp(dtype):
    """1 by an infinite operand, 0 by the other; the shares of finite ones, however large."""
    inf = float("inf")
    for a, b, expected in (
        (inf, 0.0, (1, 0)),
        (0.0, inf, (0, 1)),
        (inf, -inf, (1, 0)),
        (-inf, 0.0, (0, 1)),
        (3e4, 1.0, (1, 0)),
        (0.0, 0.0, (0.5, 0.5)),
        (-3e4, -3e4, (0.5, 0.5)),
    ):
        x, y = mx.array(a, dtype=dtype), mx.array(b, dtype=dtype)
        one, zero = mx.array(1, dtype=dtype), mx.array(0, dtype=dtype)
        _, vjps = mx.vjp(mx.logaddexp, [x, y], [one])
        jvps = [mx.jvp(mx.logaddexp, [x, y], t)[1][0] for t in ([one, zero], [zero, one])]
        assert tuple(g.item() for g in vjps) == tuple(t.item() for t in jvps) == expected


def test_conv1d_of_more_axes():
    """One number for stride and padding serves every number of spatial axes."""
    r = np.random.RandomState(0)
    for n in (1, 2, 3):
        x = mx.array(r.randn(2, *[6] * n, 3).astype(np.float32))
        w = mx.array(r.randn(4, *[2] * n, 3).astype(np.float32))
        y = mx.conv1d(x, w, stride=2, padding=1)
        assert mx.array_equal(y, mx.conv_general(x, w, stride=2, padding=1))
        assert y.shape == (2, *[4] * n, 4)
    with pytest.raises(ValueError, match="conv"):
        mx.conv1d(mx.zeros((1, 5, 5, 2)), mx.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="conv"):
        mx.conv1d(mx.zeros((5, 2)), mx.zeros((3, 2)))
