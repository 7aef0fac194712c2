"""Inputs of any layout give the same results as contiguous ones."""

import cases
import numpy as np
import pytest
from cases.table import device_array, host, layouts

import mlx.core as mx


def same(row, got, want):
    """Whether two results agree: to the bit where the row promises it."""
    for g, w in zip(host(got), host(want), strict=True):
        if row.exact or g.dtype.kind in "biu":
            if not np.array_equal(g, w, equal_nan=g.dtype.kind in "fc"):
                return False
        elif g.shape != w.shape or not np.allclose(g, w, 1e-4, 1e-5, equal_nan=True):
            return False
    return True


def check(row):
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
    inputs = row.host_inputs(dtype)
    positions = row.differentiable()
    for first in positions:
        for name, values, build in layouts(inputs[first]):
            if values.size == 0 or not cases.chosen(f"layout {row.name} {first} {name}", 0.5):
                continue
            contiguous = [device_array(i) for i in inputs]
            odd = list(contiguous)
            contiguous[first], odd[first] = device_array(values), build()
            if not same(row, row.call(*odd), row.call(*contiguous)):
                yield f"input {first} {name}"
    if len(positions) > 1:
        for n in range(7):
            picked = [list(layouts(inputs[p])) for p in positions]
            odd, contiguous = [device_array(i) for i in inputs], [device_array(i) for i in inputs]
            for position, choices in zip(positions, picked, strict=True):
                _, values, build = choices[(n + 2 * position) % len(choices)]
                if values.size:
                    odd[position], contiguous[position] = build(), device_array(values)
            if cases.chosen(f"mixed {row.name} {n}", 0.3) and not same(
                row, row.call(*odd), row.call(*contiguous)
            ):
                yield f"mixed layouts {n}"


@pytest.mark.parametrize("family", cases.names())
def test_layouts(family):
    cases.run_rows(family, check)


BROADCASTS = [
    (lambda: mx.broadcast_to(mx.array(1.5), (1000, 1000)), (1000, 1000)),
    (lambda: mx.broadcast_to(mx.arange(1000.0) + 0, (1000, 1000)), (1000, 1000)),
    (lambda: mx.broadcast_to((mx.arange(1000.0) + 0)[:, None], (1000, 1000)).T, (1000, 1000)),
    (lambda: mx.expand_dims(mx.broadcast_to(mx.array(2), (1000, 500)), 0), (1, 1000, 500)),
]


@pytest.mark.parametrize("make, shape", BROADCASTS)
def test_an_evaluated_broadcast_takes_no_memory_for_what_it_repeats(make, shape):
    before = mx.get_active_memory()
    x = make()
    mx.eval(x)
    assert mx.get_active_memory() - before < 100_000
    n = np.asarray(x)
    assert n.shape == shape and 0 in n.strides and not n.flags.writeable
    assert np.array_equal(n, np.array(make().tolist()))
    with pytest.raises(ValueError, match="read-only"):
        n[0] = 3
    assert (x + 1).sum().item() == pytest.approx(float(n.sum()) + n.size)
    assert mx.array_equal(mx.contiguous(x), x).item()


def test_a_broadcast_larger_than_memory():
    x = mx.broadcast_to(mx.array(1.0), (2**20, 2**20))
    mx.eval(x)
    assert x[5, 7].item() == 1 and x[3].sum().item() == 2**20


def test_filled_arrays_have_memory_for_each_element():
    for make in (
        lambda: mx.zeros((3, 3)),
        lambda: mx.ones((3, 3)),
        lambda: mx.full((3, 3), 2.0),
        lambda: mx.full((3, 3), mx.array([1.0, 2.0, 3.0])),
        lambda: mx.zeros_like(mx.arange(9).reshape(3, 3)),
        lambda: mx.zeros(9).reshape(3, 3),
        lambda: mx.zeros((2, 3, 3))[0],
    ):
        n = np.asarray(make())
        assert 0 not in n.strides and n.flags.writeable
        n[1, 1] = 5
        assert n[0, 0] != 5
        assert not np.array_equal(n, np.asarray(make()))


def active_bytes_after(make, n=1 << 20):
    """Bytes that the result of `make` keeps, once the array of n floats it is made from is gone."""
    before = mx.get_active_memory()
    x = mx.arange(float(n))
    mx.eval(x)
    y = make(x)
    mx.eval(y)
    del x
    kept = mx.get_active_memory() - before
    assert y.size
    return kept


def test_contiguous_slices_let_go_of_what_they_were_taken_from():
    for make in (
        lambda x: mx.contiguous(x[-2:]),
        lambda x: mx.contiguous(x[-64:]).reshape(8, 8),
        lambda x: mx.contiguous((x + 1)[:3]),
        lambda x: mx.contiguous(x.reshape(1024, -1)[2]),
        mx.compile(lambda x: mx.contiguous(x[-2:])),
    ):
        assert active_bytes_after(make) < 100_000
    assert active_bytes_after(lambda x: x[-2:]) >= 4 << 20  # a plain slice is a view


def test_contiguous_arrays_are_not_copied():
    x = mx.arange(1e6)
    mx.eval(x)
    before = mx.get_active_memory()
    y = mx.contiguous(x)
    mx.eval(y)
    assert mx.get_active_memory() - before < 1000
