"""Methods of arrays that repeat functions, against NumPy, for several dtypes and layouts."""

import pytest

import mlx.core as mx

np = pytest.importorskip("numpy")

BASE = [[3, -1, 2, 7], [5, 0, -4, 1], [9, 8, 6, -2]]
LAYOUTS = {
    "rows": lambda a: a,
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, ::-1],
    "broadcast": lambda a: mx.broadcast_to(a[:1], (5, 4)),
    "scalar": lambda a: a[0, 0],
    "empty": lambda a: a[:0],
}
CALLS = {
    "clip": (lambda x: x.clip(0, 5), lambda n: np.clip(n, 0, 5)),
    "clip below": (lambda x: x.clip(min=1), lambda n: np.clip(n, 1, None)),
    "clip above": (lambda x: x.clip(max=1), lambda n: np.clip(n, None, 1)),
    "clip by nothing": (lambda x: x.clip(), lambda n: n),
    "copy": (lambda x: x.copy(), lambda n: n.copy()),
    "round": (lambda x: x.round(2), lambda n: np.round(n, 2)),
    "dot scalar": (lambda x: x.dot(2), lambda n: np.dot(n, n.dtype.type(2))),
    "dot": (lambda x: x.dot(x.T), lambda n: np.dot(n, n.T)),
    "ravel": (lambda x: x.ravel(), lambda n: n.ravel()),
    "conjugate": (lambda x: x.conjugate(), lambda n: n.conjugate()),
    "repeat": (lambda x: x.repeat(2), lambda n: n.repeat(2)),
    "repeat none": (lambda x: x.repeat(0), lambda n: n.repeat(0)),
    "choose": (
        lambda x: (x > 1).astype(mx.int32).choose([x, -x]),
        lambda n: np.where(n > 1, -n, n),
    ),
}
ALONG = {
    "sort": (lambda x: x.sort(), lambda n: np.sort(n)),
    "sort first": (lambda x: x.sort(axis=0), lambda n: np.sort(n, axis=0)),
    "sort all": (lambda x: x.sort(axis=None), lambda n: np.sort(n, axis=None)),
    "argsort": (lambda x: x.argsort(), lambda n: np.argsort(n, kind="stable")),
    "partition": (lambda x: x.partition(1)[..., :1], lambda n: np.sort(n)[..., :1]),
    "partition first": (lambda x: x.partition(0, axis=0)[:1], lambda n: np.sort(n, axis=0)[:1]),
    "argpartition": (
        lambda x: mx.take_along_axis(x, x.argpartition(-1), axis=-1)[..., -1],
        lambda n: n.max(-1),
    ),
    "repeat along": (lambda x: x.repeat(3, axis=1), lambda n: n.repeat(3, axis=1)),
    "repeat each": (
        lambda x: x.repeat(mx.arange(x.shape[1]), axis=1),
        lambda n: n.repeat(np.arange(n.shape[1]), axis=1),
    ),
    "compress": (
        lambda x: x.compress(mx.array([True, False, True]), axis=1),
        lambda n: n.compress([True, False, True], axis=1),
    ),
    "take": (lambda x: x.take(mx.array([1, 0]), axis=1), lambda n: np.take(n, [1, 0], axis=1)),
    "take one": (lambda x: x.take(1, axis=1), lambda n: np.take(n, 1, axis=1)),
    "take none": (lambda x: x.take(mx.array([], mx.int32)), lambda n: np.take(n, np.zeros(0, int))),
}  # fmt: skip
#: Calls that take an element from an axis.
FILLED = {"take", "take one", "take none", "partition first"}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("call", [*CALLS, *ALONG])
def test_values(call, layout, dtype):
    """The values and the dtype of NumPy's method."""
    if call in ALONG and (layout == "scalar" or (call in FILLED and layout == "empty")):
        layout = "rows"
    x = LAYOUTS[layout](mx.array(BASE, dtype=getattr(mx, dtype)))
    ours, reference = (CALLS | ALONG)[call]
    y, expected = ours(x), reference(np.array(x))
    assert y.shape == expected.shape
    assert np.array_equal(np.array(y), expected)
    assert "argsort" in call or y.dtype == x.dtype


@pytest.mark.parametrize("layout", ["rows", "transposed", "strided", "broadcast"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "complex64", "bool_"])
def test_values_of_other_types(dtype, layout):
    """Methods whose results have other dtypes or counts than the array."""
    x = LAYOUTS[layout](mx.array(BASE).astype(getattr(mx, dtype)))
    n = np.array(x)
    assert [i.tolist() for i in x.nonzero()] == [i.tolist() for i in n.nonzero()]
    assert x.tobytes() == n.tobytes()
    assert np.array(x.trace(offset=1)) == n.trace(offset=1)
    assert x.trace(dtype=mx.complex64).dtype == mx.complex64
    if dtype not in ("bool_", "complex64"):
        assert x.ptp().item() == np.ptp(n)
        assert x.ptp(axis=1, keepdims=True).tolist() == np.ptp(n, axis=1, keepdims=True).tolist()
        sequence, order = x[0].sort(), x[0].argsort()
        for side in ("left", "right"):
            expected = np.sort(n[0]).searchsorted(n[1], side)
            assert sequence.searchsorted(x[1], side).tolist() == expected.tolist()
            assert x[0].searchsorted(x[1], side, order).tolist() == expected.tolist()


METHODS_OF_NUMPY = {
    "partition": lambda x: x.partition(1, axis=0),
    "ravel": lambda x: x.ravel(),
    "conjugate": lambda x: x.conjugate(),
    "repeat": lambda x: x.repeat(2, axis=1),
    "ptp": lambda x: x.ptp(axis=1),
    "trace": lambda x: x.trace(),
    "choose": lambda x: mx.array([0, 1, 1]).choose([x, 2 * x]),
}


@pytest.mark.parametrize("name", METHODS_OF_NUMPY)
def test_methods_of_numpy_are_transformed(name):
    """Derivatives by differences; vmap and compile against calls one by one."""
    f, x = METHODS_OF_NUMPY[name], mx.array([[3.0, 1.0, 2.0], [5.0, 9.0, 4.0], [8.0, 6.0, 7.0]])
    t = mx.array([[1.0, -2.0, 0.5], [0.0, 1.0, 2.0], [-1.0, 3.0, 1.0]])
    (slope,) = mx.jvp(f, [x], [t])[1]
    assert mx.allclose(slope, (f(x + 0.125 * t) - f(x - 0.125 * t)) / 0.25, atol=1e-4).item()
    weights = mx.arange(1.0, slope.size + 1).reshape(slope.shape)
    gradient = mx.grad(lambda x: (f(x) * weights).sum())(x)
    assert mx.allclose((gradient * t).sum(), (weights * slope).sum(), rtol=1e-4).item()
    assert mx.array_equal(mx.vmap(f)(mx.stack([x, t])), mx.stack([f(x), f(t)])).item()
    assert mx.array_equal(mx.compile(f)(x), f(x)).item()


def test_methods_of_numpy_refuse():
    """Errors name the method's op."""
    x = mx.array([[3, 1], [2, 4]])
    for call, text in [
        (lambda: x.partition(2), r"\[partition\]"),
        (lambda: x.repeat(-1), r"\[repeat\]"),
        (lambda: x.searchsorted(1), r"\[searchsorted\]"),
        (lambda: x[0].searchsorted(1, side="middle"), r"\[searchsorted\]"),
        (lambda: x.choose([x], mode="raise"), r"\[choose\] mode 'raise'"),
        (lambda: mx.compile(lambda x: x.nonzero())(x), r"\[nonzero\]"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3, 5)), ((2, 3), (4, 3, 5)),
     ((2, 2, 3), (4, 3, 5)), ((), (2, 3)), ((0, 3), (3, 2))],
)  # fmt: skip
def test_dot(a, b):
    """NumPy's dot for all numbers of axes, and its derivative."""
    m = np.arange(np.prod(a), dtype=np.float32).reshape(a)
    n = np.arange(np.prod(b), dtype=np.float32).reshape(b) - 3
    expected = np.dot(m, n)
    x, y = mx.array(m), mx.array(n)
    assert np.allclose(np.array(x.dot(y)), expected) and x.dot(y).shape == expected.shape
    assert mx.grad(lambda x: x.dot(y).sum())(x).shape == a
    batched = mx.vmap(lambda x: x.dot(y))(mx.stack([x, x]))
    assert np.allclose(np.array(batched[1]), expected)


def test_dot_refuses():
    """Lengths that do not agree."""
    with pytest.raises(ValueError, match=r"\[dot\] operands of shapes \(3,\) and \(4,\)"):
        mx.zeros(3).dot(mx.zeros(4))


def test_a_copy_is_another_array():
    """Neither assignments nor writes through NumPy reach it."""
    a = mx.array([1.0, 2.0])
    b, same = a.copy(), a
    a[0] = 9
    assert b.tolist() == [1, 2] and same.tolist() == [9, 2]
    c = a.copy()
    mx.eval(c)
    np.asarray(a)[1] = 7
    assert c.tolist() == [9, 2] and a.tolist() == [9, 7]


def test_sorting_leaves_the_array():
    """Unlike NumPy's method, the result is a new array."""
    a = mx.array([3, 1, 2])
    assert a.sort().tolist() == [1, 2, 3] and a.tolist() == [3, 1, 2]


def test_functions_of_numpy_still_take_arrays():
    """NumPy's functions try the method of the same name first."""
    a = mx.array([3.0, 1.0, 2.0])
    assert list(np.sort(a)) == [1, 2, 3] and list(np.argsort(a)) == [1, 2, 0]
    assert list(np.clip(a, 1.5, 2.5)) == [2.5, 1.5, 2] and list(np.take(a, [2, 0])) == [2, 3]
    assert np.dot(a, a) == 14
