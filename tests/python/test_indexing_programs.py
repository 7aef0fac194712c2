"""Random index expressions, read and written, against NumPy: values, errors and derivatives."""

import hypothesis.strategies as st
import numpy as np
import pytest
from cases import selection
from hypothesis import HealthCheck, given, settings

import mlx.core as mx

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
UPDATES = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}

some = settings(
    max_examples=4000 if selection.EVERYTHING else 150,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


@st.composite
def integers_within(draw, n, rare=60):
    """A position of an axis of length n, rarely (1 in `rare`) one outside of it."""
    if n == 0 or draw(st.integers(0, rare)) == rare:
        return draw(st.sampled_from([n, -n - 1, n + 3, 2**31, -(2**40)]))
    return draw(st.integers(-n, n - 1))


@st.composite
def slices(draw, n):
    bound = st.one_of(st.none(), st.integers(-n - 2, n + 2), st.sampled_from([2**40, -(2**63)]))
    step = st.one_of(st.none(), st.sampled_from([1, 2, 3, -1, -2, -3, 2**40, -(2**63)]))
    return slice(draw(bound), draw(bound), draw(step))


@st.composite
def index_arrays(draw, n, shape):
    """Positions of a shape that broadcasts to `shape`: as a list, or an array of either kind."""
    own = [draw(st.sampled_from([k, k, 1])) for k in shape]
    own = own[draw(st.integers(0, len(own))) if draw(st.booleans()) else 0 :]
    flat = [draw(integers_within(n, 150)) for _ in range(int(np.prod(own)))]
    array = np.array(flat, np.int64).reshape(own)
    if draw(st.booleans()) and array.ndim and array.size:
        return array.tolist()
    dtypes = [d for d in INTEGERS if (array.astype(d) == array).all()]
    array = array.astype(draw(st.sampled_from(dtypes)))
    return array if draw(st.booleans()) else mx.array(array)


@st.composite
def masks(draw, shape):
    if draw(st.integers(0, 40)) == 40:
        shape = [k + 1 for k in shape]
    flat = [draw(st.booleans()) for _ in range(int(np.prod(shape)))]
    mask = np.array(flat, bool).reshape(shape)
    if not shape:
        return bool(mask) if draw(st.booleans()) else mx.array(mask)
    return draw(st.sampled_from([mx.array(mask), mask, mask.tolist()])) if mask.size else mask


@st.composite
def expressions(draw):
    """A shape, and an index expression for it, which may be wrong."""
    shape = [draw(st.sampled_from([1, 2, 3, 4, 0])) for _ in range(draw(st.integers(0, 4)))]
    common = [draw(st.integers(0 if draw(st.booleans()) else 1, 3))
              for _ in range(draw(st.integers(0, 2)))]  # fmt: skip
    kinds = ["integer", "slice", "slice", "none", "ellipsis", "array", "array", "mask", "scalar"]
    items, axis, ellipsis = [], 0, False
    for _ in range(draw(st.integers(0, len(shape) + 2))):
        kind = draw(st.sampled_from(kinds))
        n = shape[axis] if axis < len(shape) else 1
        if kind == "none":
            items.append(None)
        elif kind == "ellipsis":
            if ellipsis and draw(st.integers(0, 20)):
                continue
            items.append(...)
            ellipsis = True
            axis = draw(st.integers(axis, max(axis, len(shape))))
        elif kind == "mask":
            covered = draw(st.integers(0, 2))
            items.append(draw(masks(shape[axis : axis + covered])))
            axis += covered
        elif axis < len(shape) or draw(st.integers(0, 30)) == 30:
            if kind == "integer":
                items.append(draw(integers_within(n)))
            elif kind == "slice":
                items.append(draw(slices(n)))
            elif kind == "scalar":
                kind = draw(st.sampled_from([mx.array, np.int64, np.array]))
                items.append(kind(draw(integers_within(n))))
            else:
                items.append(draw(index_arrays(n, common)))
            axis += 1
    if len(items) == 1 and draw(st.booleans()) and not isinstance(items[0], list):
        return shape, items[0]
    return shape, tuple(items)


def numpy_index(index):
    """The same expression with NumPy arrays only."""
    items = index if isinstance(index, tuple) else (index,)
    items = tuple(np.array(i) if isinstance(i, mx.array | list) and i != [] else i for i in items)
    if len(items) == 1 and has_mask(items):
        return (*items, ...)  # a mask alone takes another way in NumPy, where values are 1-D
    return items


def has_mask(key):
    """Values for a leading mask may be more than it needs, as in MLX."""
    return any(isinstance(i, bool | np.ndarray) and np.asarray(i).dtype == bool for i in key)


@st.composite
def sources(draw, shape):
    """An array of float64 with distinct elements, in some layout, and the same for NumPy."""
    order = draw(st.permutations(range(len(shape))))
    step = draw(st.sampled_from([1, -1, 2]))
    wide = [shape[i] for i in order]
    if wide and step == 2:
        wide[0] *= 2
    a = np.sin(1.0 + np.arange(int(np.prod(wide)))).reshape(wide)
    m = mx.array(a, mx.float64)
    if wide:
        a, m = a[::step], m[::step]
    back = [order.index(i) for i in range(len(shape))]
    return a.transpose(back), mx.transpose(m, back) if shape else m


def outcomes(key, numpy_call, call):
    """Both results, or None where NumPy raises, which must then raise here."""
    try:
        want = numpy_call()
    except (IndexError, ValueError, OverflowError) as e:
        try:
            got = call()
            mx.eval(got)
        except ValueError as mine:  # the IndexErrors are among them
            assert str(mine).startswith("["), mine
        else:
            # A mask may get more values than it needs, and a scalar array is not looked at where
            # the others are empty.
            scalars = any(isinstance(i, np.ndarray) and i.ndim == 0 for i in key)
            lenient = "broadcast" in str(e) and has_mask(key)
            assert lenient or ("out of bounds" in str(e) and scalars), e
        return None
    return want, call()


def equal(got, want):
    assert got.shape == want.shape, (got.shape, want.shape)
    np.testing.assert_array_equal(np.array(got), want)


def near(got, want):
    assert got.shape == want.shape, (got.shape, want.shape)
    np.testing.assert_allclose(np.array(got), want, 1e-10, 1e-12)


def weights(shape):
    return np.cos(2.0 + 3 * np.arange(int(np.prod(shape)))).reshape(shape)


@some
@given(st.data())
def test_reads(data):
    shape, index = data.draw(expressions())
    a, m = data.draw(sources(shape))
    key = numpy_index(index)
    both = outcomes(key, lambda: a[key], lambda: m[index])
    if both is None:
        return
    want, got = np.asarray(both[0]), both[1]
    equal(got, want)
    c = weights(want.shape)
    grad = np.zeros_like(a)
    np.add.at(grad, key, c)
    near(mx.grad(lambda x: (x[index] * mx.array(c, mx.float64)).sum())(m), grad)
    equal(mx.jvp(lambda x: x[index], [m], [m])[1][0], want)
    equal(mx.compile(lambda x: x[index])(m), want)
    equal(mx.vmap(lambda x: x[index])(mx.stack([m, -m])), np.stack([want, -want]))


@st.composite
def values(draw, shape, index):
    """Values for a selection of `shape`: distinct elements, or a scalar."""
    own = [draw(st.sampled_from([k, k, k, 1])) for k in shape]
    if draw(st.integers(0, 5)) == 5:
        own = own[draw(st.integers(0, len(own))) :]
    if draw(st.integers(0, 20)) == 20:
        own = [*own, 2]
    if own and not has_mask(index) and draw(st.integers(0, 20)) == 20:
        own[0] += 1
    if draw(st.integers(0, 8)) == 8:
        own = [1, *own]
    return 0.5 + np.abs(np.sin(100.0 + np.arange(int(np.prod(own))))).reshape(own)


def summed_to(shape, a):
    while a.ndim > len(shape):
        a = a.sum(0)
    axes = tuple(i for i, k in enumerate(shape) if k == 1)
    return a.sum(axes, keepdims=True).reshape(shape) if axes else a.reshape(shape)


def assigned(x, index, v):
    x = x[...]
    x[index] = v
    return x


@some
@given(st.data())
def test_writes(data):
    shape, index = data.draw(expressions())
    a, m = data.draw(sources(shape))
    key = numpy_index(index)
    try:
        selected = np.asarray(a[key]).shape
    except (IndexError, ValueError, OverflowError):
        selected = (1,)
    v = data.draw(values(selected, key))
    if not selected and v.size == 1:
        v = v.reshape(())  # NumPy drops no axes for one element
    mv = mx.array(v, mx.float64)
    want = a.copy()

    def write():
        want[key] = v
        return want

    both = outcomes(key, write, lambda: assigned(m, index, mv))
    if both is None:
        return
    equal(both[1], want)
    # Which element of the value stays where positions repeat.
    winner = np.full(shape, -1)
    winner[key] = np.arange(v.size).reshape(v.shape)
    c = weights(shape)
    grads = mx.grad(
        lambda x, y: (assigned(x, index, y) * mx.array(c, mx.float64)).sum(), argnums=[0, 1]
    )(m, mv)
    near(grads[0], np.where(winner < 0, c, 0))
    near(grads[1], np.array([c[winner == k].sum() for k in range(v.size)]).reshape(v.shape))
    equal(mx.compile(lambda x, y: assigned(x, index, y))(m, mv), want)
    many = mx.vmap(lambda x, y: assigned(x, index, y))(mx.stack([m, m]), mx.stack([mv, mv]))
    equal(many, np.stack([want, want]))


@some
@given(st.data(), st.sampled_from(list(UPDATES)))
def test_updates(data, name):
    shape, index = data.draw(expressions())
    a, m = data.draw(sources(shape))
    key = numpy_index(index)
    try:
        selected = np.asarray(a[key]).shape
    except (IndexError, ValueError, OverflowError):
        selected = (1,)
    v = data.draw(values(selected, key))
    while v.ndim > len(selected) and v.shape[0] == 1:
        v = v[0]  # ufunc.at takes no more axes than there are
    mv = mx.array(v, mx.float64)
    want = a.copy()

    def update():
        UPDATES[name].at(want, key, v)
        return want

    def run(x, y):
        return getattr(x.at[index], name)(y)

    both = outcomes(key, update, lambda: run(m, mv))
    if both is None:
        return
    near(both[1], want)
    c = weights(shape)
    grads = mx.grad(lambda x, y: (run(x, y) * mx.array(c, mx.float64)).sum(), argnums=[0, 1])(m, mv)
    at, spread = c[key], np.broadcast_to(v, selected)
    if name in ("add", "subtract"):
        expected = c, at if name == "add" else -at
    elif name == "multiply":
        expected = c * want / a, at * want[key] / spread
    elif name == "divide":
        expected = c * want / a, -at * want[key] / spread
    else:
        if np.unique(spread).size < spread.size:
            return  # equal elements share the derivative in some way
        expected = np.where(want == a, c, 0), np.where(want[key] == spread, at, 0)
    near(grads[0], expected[0])
    near(grads[1], summed_to(v.shape, np.asarray(expected[1])))


OUT_OF_RANGE = """
    a[3] | index | 0 | 3 | 3
    a[0, -5] | index | 1 | -5 | 4
    a[..., 4] | index | 1 | 4 | 4
    a[[0, 3]] | \\w+ | 0 | 3 | 3
    a[:, mx.array([1, -5])] | \\w+ | 1 | -5 | 4
    a[[0, 1], [0, 9]] | \\w+ | 1 | 9 | 4
    a.at[7].add(1.0) | index | 0 | 7 | 3
    a.at[[1, 7]].add(1.0) | \\w+ | 0 | 7 | 3
    a.at[:, [-5, 2]].maximum(1.0) | \\w+ | 1 | -5 | 4
    assigned(a, (0, [4]), 1.0) | \\w+ | 1 | 4 | 4
    assigned(a, [-4], 1.0) | \\w+ | 0 | -4 | 3
    mx.take(a, mx.array([3]), 0) | take | 0 | 3 | 3
    mx.take_along_axis(a, mx.array([[4]]), 1) | take_along_axis | 1 | 4 | 4
    mx.put_along_axis(a, mx.array([[4]]), mx.array(1.0), 1) | put_along_axis | 1 | 4 | 4
"""


@pytest.mark.parametrize("row", [r.strip() for r in OUT_OF_RANGE.strip().splitlines()])
def test_out_of_range_names_all(row):
    call, op, axis, index, size = (part.strip() for part in row.split("|"))
    a = mx.arange(12.0).reshape(3, 4)
    message = rf"^\[{op}\] index {index} is out of range for axis {axis} with size {size}"
    with pytest.raises(IndexError, match=message):
        mx.eval(eval(call, {"a": a, "mx": mx, "assigned": assigned}))
