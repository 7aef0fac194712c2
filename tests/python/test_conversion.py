"""Arrays from Python values and back: scalars, lists, buffers, DLPack, pickles, text."""

import copy
import gc
import hashlib
import pickle

import numpy as np
import pytest

import mlx.core as mx

DTYPES = [
    mx.bool_, mx.uint8, mx.uint16, mx.uint32, mx.uint64, mx.int8, mx.int16, mx.int32, mx.int64,
    mx.float16, mx.float32, mx.float64, mx.complex64,
]  # fmt: skip
NUMPY = {d: np.dtype(repr(d).rpartition(".")[2]) for d in DTYPES}


# --- scalars -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, dtype",
    [
        (True, mx.bool_), (1, mx.int32), (2**31 - 1, mx.int32), (2**31, mx.int64),
        (-(2**31) - 1, mx.int64), (2**63, mx.uint64), (1.5, mx.float32), (1j, mx.complex64),
        (np.float64(1.5), mx.float32), (np.float16(1.5), mx.float16), (np.int64(3), mx.int64),
        (np.bool_(True), mx.bool_), (np.uint8(7), mx.uint8),
    ],
)  # fmt: skip
def test_scalar_dtypes(value, dtype):
    a = mx.array(value)
    assert a.dtype == dtype and a.shape == ()
    assert a.item() == value


WEAK = {
    True: lambda d: d,
    2: lambda d: mx.int32 if d == mx.bool_ else d,
    1.5: lambda d: d if mx.issubdtype(d, mx.inexact) else mx.float32,
    1j: lambda d: mx.complex128 if d == mx.float64 else mx.complex64,
}


@pytest.mark.parametrize("dtype", [*DTYPES, mx.bfloat16])
@pytest.mark.parametrize("scalar", WEAK)
def test_python_scalars_are_weak(dtype, scalar):
    a = mx.ones((2,), dtype)
    wanted = WEAK[scalar](dtype)
    assert (a + scalar).dtype == wanted
    assert (scalar + a).dtype == wanted
    assert mx.add(a, scalar).dtype == wanted
    total = 1 if dtype == mx.bool_ and scalar is True else 1 + scalar
    assert (a + scalar).astype(mx.complex64).tolist() == [total, total]


@pytest.mark.parametrize("dtype, number", [(mx.int8, 200), (mx.uint8, -1), (mx.int32, 2**31),
                                           (mx.int64, 2**63), (mx.int32, -(2**40))])  # fmt: skip
def test_integer_out_of_range_is_an_error_that_names_it(dtype, number):
    for call in (lambda a: a + number, lambda a: number * a, lambda a: mx.maximum(a, number)):
        with pytest.raises(OverflowError, match=str(number)) as e:
            call(mx.array([1], dtype))
        assert isinstance(e.value, ValueError)
    with pytest.raises(OverflowError):
        mx.array([1, 2], dtype)[0] = number


def test_large_integers_and_floating_arrays():
    assert (mx.array(3.0) + 2**40).item() == np.float32(2**40 + 3)
    assert (mx.array(3, mx.uint64) + 2**63).item() == 2**63 + 3
    with pytest.raises(OverflowError):
        mx.array(2**64)
    with pytest.raises(OverflowError):
        mx.array([2**40], mx.int32)


@pytest.mark.parametrize("other", [[1, 2], (1,), "x", {}, b"x"])
def test_containers_are_no_operands(other):
    a = mx.array([1, 2])
    for call in (lambda: a + other, lambda: other * a, lambda: a < other):
        with pytest.raises(TypeError) as e:
            call()
        assert isinstance(e.value, (TypeError, ValueError))
    assert (a == other) is False and (a != other) is True


def test_unknown_operands_get_their_turn():
    class Other:
        def __radd__(self, a):
            return "radd"

        def __eq__(self, a):
            return "eq"

    assert mx.array(1) + Other() == "radd"
    assert (mx.array(1) == Other()) == "eq"
    assert (mx.array(1) == None) is False  # noqa: E711
    with pytest.raises(TypeError):
        mx.array(1) + None


def test_objects_that_give_arrays():
    class Like:
        def __mlx_array__(self):
            return mx.array(2.5)

    assert (mx.array(1) + Like()).item() == 3.5
    assert mx.array(Like()).item() == 2.5
    assert mx.exp(mx.ArrayLike(Like())).item() == mx.exp(mx.array(2.5)).item()


# --- lists ---------------------------------------------------------------------------------------


def test_list_dtypes():
    assert mx.array([True, False]).dtype == mx.bool_
    assert mx.array([True, 2]).dtype == mx.int32
    assert mx.array([1, 2**40]).dtype == mx.int64
    assert mx.array([1, 2.5]).tolist() == [1.0, 2.5]
    assert mx.array([1, 2.5, 1j]).dtype == mx.complex64
    assert mx.array([]).dtype == mx.float32
    assert mx.array([[], []]).shape == (2, 0)
    assert mx.array([[1, 2], (3, 4)]).tolist() == [[1, 2], [3, 4]]
    assert mx.array([np.int64(3), np.float32(2.5)]).tolist() == [3.0, 2.5]


def test_lists_of_arrays_stack():
    assert mx.array([mx.array([1, 2]), [2.5, 3]]).tolist() == [[1, 2], [2.5, 3]]
    assert mx.array([np.array([1, 2]), np.array([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert mx.array([[mx.array(1), 2], [3, mx.array(4)]]).shape == (2, 2)


@pytest.mark.parametrize("bad", [[[1, 2], [3]], [[1, 2], 3], [1, [2, 3]], ["a"], [None], [{}]])
def test_ragged_and_foreign_lists(bad):
    with pytest.raises(ValueError):
        mx.array(bad)


def test_a_list_that_contains_itself():
    a = []
    a.append(a)
    with pytest.raises(ValueError):
        mx.array(a)
    with pytest.raises(ValueError):
        mx.eval(a)


@pytest.mark.parametrize("bad", ["abc", None, {1: 2}, object(), {1}])
def test_objects_without_elements(bad):
    with pytest.raises((TypeError, ValueError)):
        mx.array(bad)


# --- buffers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_round_trip(dtype):
    x = (np.arange(24).reshape(2, 3, 4) % 5).astype(NUMPY[dtype])
    for view in (
        x,
        x.T,
        x[:, ::2],
        x[::-1, :, ::-2],
        x[:0],
        x[0, 0, 0],
        np.broadcast_to(x[:1], x.shape),
    ):
        a = mx.array(view, dtype=dtype)
        assert a.dtype == dtype
        assert np.array_equal(np.array(a), view)
        assert a.tolist() == view.tolist()


def test_float64_narrows_unless_asked_for():
    assert mx.array(np.array([0.1])).dtype == mx.float32
    assert mx.array(np.array([1j])).dtype == mx.complex64
    assert mx.array(np.array([0.1]), mx.float64).item() == 0.1
    assert mx.array(np.array([0.1]), mx.float16).item() == np.float16(0.1)
    assert mx.array(np.arange(3000) * 0.1).tolist() == (np.arange(3000) * 0.1).astype("f4").tolist()


def test_read_only_misaligned_and_foreign_buffers():
    x = np.arange(4, dtype=np.float32)
    x.flags.writeable = False
    assert mx.array(x).tolist() == [0, 1, 2, 3]
    raw = np.zeros(17, np.uint8)
    odd = raw[1:].view(np.float32)
    odd[:] = [1, 2, 3, 4]
    assert mx.array(odd).tolist() == [1, 2, 3, 4]
    assert mx.array(odd, mx.float64).tolist() == [1, 2, 3, 4]
    assert mx.array(memoryview(b"abc")).tolist() == [97, 98, 99]
    for bad in (
        np.array([1], "M8[s]"),
        np.array(["a"]),
        np.array([1], object),
        np.ones(1, np.longdouble),
    ):
        with pytest.raises(TypeError):
            mx.array(bad)


def test_bfloat16_from_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.5, -2.0, 3.25], dtype=ml_dtypes.bfloat16)
    a = mx.array(x)
    assert a.dtype == mx.bfloat16 and a.tolist() == [1.5, -2.0, 3.25]
    assert mx.array(x, mx.float32).dtype == mx.float32
    assert mx.array(ml_dtypes.bfloat16(1.5)).item() == 1.5


def test_views_share_memory_and_outlive_their_array():
    a = mx.arange(6).reshape(2, 3)
    mx.eval(a)
    view = np.asarray(a)
    assert not view.flags.owndata and view.flags.writeable
    view[0, 0] = 7
    assert a[0, 0].item() == 7
    a[0, 1] = 9
    assert view[0, 1] == 1 and a[0, 1].item() == 9
    b = a + 1
    mx.eval(b)
    view_b = np.asarray(b)
    del b
    gc.collect()
    junk = [mx.zeros((2, 3), mx.int32) for _ in range(20)]
    mx.eval(junk)
    assert view_b.tolist() == [[8, 10, 3], [4, 5, 6]]


def test_a_view_pins_its_memory():
    a = mx.ones((1000,))
    mx.eval(a)
    view = np.asarray(a)
    a = a + 1
    mx.eval(a)
    assert (view == 1).all() and (np.asarray(a) == 2).all()


def test_views_of_strided_arrays_and_scalars():
    a = mx.arange(12).reshape(3, 4)
    assert np.array_equal(np.asarray(a.T), np.arange(12).reshape(3, 4).T)
    assert np.array_equal(np.asarray(a[::2, ::-1]), np.arange(12).reshape(3, 4)[::2, ::-1])
    s = mx.array(3)
    np.asarray(s)[()] = 5
    assert s.item() == 5 and (s + 1).item() == 6
    assert memoryview(mx.array([1j])).format == "Zf"
    with pytest.raises(BufferError):  # hashes ask for contiguous memory
        hashlib.md5(a.T)


def test_bfloat16_whose_bits_have_no_buffer():
    """Like arrays of JAX in the memory of a device."""
    import ml_dtypes

    class Elsewhere(np.ndarray):
        def view(self, dtype):
            return object() if refuses else super().view(dtype)

        def __dlpack__(self, **options):
            return mx.array([1.5, -2.0], mx.bfloat16).__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    refuses = False
    x = np.array([1.5, -2.0], dtype=ml_dtypes.bfloat16).view(Elsewhere)
    refuses = True
    for read in (mx.array, mx.asarray):
        assert read(x).dtype == mx.bfloat16 and read(x).tolist() == [1.5, -2.0]


def test_bfloat16_to_numpy():
    a = mx.array([1, 2], mx.bfloat16)
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(a)
    for got in (np.array(a), a.__array__()):
        assert str(got.dtype) == "bfloat16" and got.tolist() == [1, 2]


def test_array_method_converts():
    a = mx.array([1, 2])
    assert a.__array__(np.float64).dtype == np.float64
    assert np.array(a, dtype=np.int8).dtype == np.int8
    copied = a.__array__(copy=True)
    copied[0] = 5
    assert a.tolist() == [1, 2]


# --- DLPack --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_round_trip(dtype):
    x = (np.arange(12).reshape(3, 4) % 3).astype(NUMPY[dtype])
    a = mx.array(x, dtype=dtype)
    on_cuda = "compute_capability_major" in mx.device_info()
    assert a.__dlpack_device__() == ((2, 0) if on_cuda else (1, 0))
    there = {"device": "cpu"} if on_cuda else {}
    y = np.from_dlpack(a, **there)
    assert y.dtype == x.dtype and np.array_equal(x, y)
    assert np.array_equal(np.from_dlpack(a.T, **there), x.T)
    narrowed = {mx.float64: mx.float32}.get(dtype, dtype)
    b = mx.from_dlpack(x)
    assert b.dtype == narrowed and np.array_equal(np.array(b), x)


def test_dlpack_capsules_are_freed():
    a = mx.arange(3)
    for version in (None, (1, 0)):
        capsule = a.__dlpack__(max_version=version)
        del capsule
    b = mx.from_dlpack(a.__dlpack__())
    assert b.tolist() == [0, 1, 2]


def test_dlpack_sharing():
    x = np.ones(4, np.float32)
    a = mx.from_dlpack(x, copy=False)
    x[0] = 5
    assert a.tolist() == [5, 1, 1, 1]
    b = mx.from_dlpack(x)
    x[1] = 6
    assert b.tolist() == [5, 1, 1, 1]
    del x
    gc.collect()
    assert (a + 1).tolist() == [6, 7, 2, 2]
    with pytest.raises(ValueError):
        mx.from_dlpack(np.ones(2), copy=False)  # float64 would have to narrow
    with pytest.raises(TypeError):
        mx.from_dlpack([1])


def test_asarray():
    a = mx.array([1, 2])
    assert mx.asarray(a, copy=False) is not None
    assert mx.asarray([1, 2], mx.float16).dtype == mx.float16
    with pytest.raises(ValueError):
        mx.asarray([1, 2], copy=False)
    with pytest.raises(ValueError):
        mx.asarray(a, mx.float32, copy=False)


# --- the object ----------------------------------------------------------------------------------


def test_in_place_operators_and_assignment_rebind():
    a = mx.array([1, 2, 3])
    b, c = a, a[:2]
    before = hash(a)
    a += 1
    a[0] = 10
    assert b is a and b.tolist() == [10, 3, 4] and c.tolist() == [1, 2]
    assert hash(a) == before
    for op in ("-=", "*=", "//=", "%=", "**=", "<<=", ">>=", "&=", "|=", "^="):
        x, y = mx.array([6, 7]), np.array([6, 7])
        alias = x
        exec(f"x {op} 2\ny {op} 2")
        assert alias is x and x.tolist() == y.tolist(), op


def test_assignment_of_values():
    a = mx.zeros((2, 3))
    a[0] = [1, 2, 3]
    a[1, 1:] = np.array([5, 6])
    a[:, 0] = mx.array([7, 8])
    assert a.tolist() == [[7, 2, 3], [8, 5, 6]]
    with pytest.raises(TypeError):
        del a[0]


def test_never_initialised_array():
    a = mx.array.__new__(mx.array)
    for use in (lambda: a + 1, lambda: a.shape, lambda: repr(a), lambda: mx.exp(a), lambda: a[0],
                lambda: len(a), lambda: np.asarray(a), lambda: a == 1):  # fmt: skip
        with pytest.raises((ValueError, BufferError)):
            use()
    a.__init__([1, 2])
    assert a.tolist() == [1, 2]


def test_subclasses():
    class Sub(mx.array):
        def twice(self):
            return self * 2

    s = Sub([1, 2])
    s.extra = 3
    assert s.twice().tolist() == [2, 4] and (1 + s).tolist() == [2, 3]
    assert mx.exp(s).shape == (2,)


def test_copies_and_pickles():
    for dtype in [*DTYPES, mx.bfloat16]:
        a = mx.array([[1, 0], [1, 1]], dtype)
        for b in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a)), mx.array(a)):
            assert b.dtype == dtype and b.tolist() == a.tolist()
            b[0] = 1
            assert a[0, 1].item() == 0
    empty = pickle.loads(pickle.dumps(mx.zeros((0, 3), mx.int8)))
    assert empty.shape == (0, 3) and empty.dtype == mx.int8
    assert pickle.loads(pickle.dumps(mx.array(2.5))).shape == ()
    a = mx.array.__new__(mx.array)
    a.__setstate__((np.array([16256], np.uint16), 12))  # as other builds pickle bfloat16
    assert a.tolist() == [1.0] and a.dtype == mx.bfloat16
    for thing in (mx.float32, mx.bool_, mx.exp, mx.random.uniform):
        assert pickle.loads(pickle.dumps(thing)) is thing
    with pytest.raises(ValueError):
        a.__setstate__((b"123", 7, (2,)))


def test_numbers_and_formats():
    assert [1, 2, 3][mx.array(1)] == 2
    for bad in (mx.array([1]), mx.array(1.0), mx.array(True)):
        with pytest.raises(TypeError):
            [1, 2, 3][bad]
    assert int(mx.array(2.7)) == 2 and float(mx.array([3])) == 3.0 and complex(mx.array(2)) == 2
    assert bool(mx.array([1])) and not bool(mx.array(0.0))
    for f in (bool, int, float, complex, lambda a: a.item()):
        with pytest.raises(ValueError):
            f(mx.array([1, 2]))
    assert f"{mx.array(3.14159):.2f}" == "3.14" and f"{mx.array([1])}" == "array([1], dtype=int32)"
    with pytest.raises(TypeError):
        f"{mx.array([1, 2]):.2f}"
    with pytest.raises(TypeError):
        len(mx.array(1))
    with pytest.raises(TypeError):
        iter(mx.array(1))
    assert [x.item() for x in mx.array([1, 2])] == [1, 2] and 2 in mx.array([1, 2])


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: mx.array([1, 2]), "array([1, 2], dtype=int32)"),
        (lambda: mx.array(1.0), "array(1, dtype=float32)"),
        (lambda: mx.array([0.1, 1 / 3], mx.bfloat16),
         "array([0.100098, 0.333984], dtype=bfloat16)"),
        (lambda: mx.array([True, False]), "array([True, False], dtype=bool)"),
        (lambda: mx.array([1 + 2j, 1 - 0.25j]), "array([1+2j, 1-0.25j], dtype=complex64)"),
        (lambda: mx.zeros((2, 0, 3)), "array([], shape=(2, 0, 3), dtype=float32)"),
        (lambda: mx.arange(9), "array([0, 1, 2, ..., 6, 7, 8], dtype=int32)"),
        (lambda: mx.zeros((2, 1, 2), mx.int8),
         "array([[[0, 0]],\n       [[0, 0]]], dtype=int8)"),
        (lambda: mx.arange(8).reshape(8, 1)[::-1],
         "array([[7],\n       [6],\n       [5],\n       ...,\n       [2],\n       [1],\n       "
         "[0]], dtype=int32)"),
        (lambda: mx.array([float("nan"), float("-inf"), 1e10]),
         "array([nan, -inf, 1e+10], dtype=float32)"),
    ],
)  # fmt: skip
def test_text(make, text):
    assert repr(make()) == text and str(make()) == text


def test_print_options():
    a = mx.array([1.23456, 1e-7])
    with mx.printoptions(precision=2):
        assert repr(a) == "array([1.23, 0.00], dtype=float32)"
        assert mx.get_printoptions().precision == 2
    assert mx.get_printoptions().precision == -1
    assert repr(a) == "array([1.23456, 1e-07], dtype=float32)"


# --- arguments -----------------------------------------------------------------------------------


def test_wrong_arguments_are_type_errors_that_show_the_signature():
    for call in (lambda: mx.exp([1.0]), lambda: mx.exp(a=mx.array(1.0)), lambda: mx.exp(),
                 lambda: mx.sum(mx.array([1]), axis=1.5), lambda: mx.zeros((2,), "float32"),
                 lambda: mx.add(1, 2, 3), lambda: mx.sum(mx.array([1]), foo=1)):  # fmt: skip
        with pytest.raises(TypeError, match="accepted: "):
            call()


def test_axis_errors_are_both_index_and_value_errors():
    for error in (IndexError, ValueError):
        with pytest.raises(error):
            mx.sum(mx.array([1]), axis=3)
        with pytest.raises(error):
            mx.array([1])[5]


def test_sizes_beyond_64_bits():
    with pytest.raises(OverflowError, match=str(2**70)):
        mx.zeros((2**70,))
    with pytest.raises((OverflowError, MemoryError)):
        mx.eval(mx.zeros((2**40, 2**40)))


def test_keywords_and_defaults():
    a = mx.arange(6).reshape(2, 3)
    assert mx.sum(a, axis=1, keepdims=True).shape == (2, 1)
    assert mx.sum(a, 1, True).shape == (2, 1)
    assert a.sum(keepdims=True, axis=[0, 1]).shape == (1, 1)
    assert mx.arange(stop=5).tolist() == [0, 1, 2, 3, 4]
    assert mx.arange(1, 7, step=2).tolist() == [1, 3, 5]
    assert a.reshape(3, -1).shape == a.reshape([3, 2]).shape == (3, 2)
    assert a.transpose(1, 0).shape == a.transpose((1, 0)).shape == a.T.shape


def test_introspection():
    import inspect

    assert list(inspect.signature(mx.sum).parameters) == [
        *("a", "axis", "keepdims", "stream", "dtype"),
    ]
    assert next(iter(inspect.signature(mx.array.sum).parameters)) == "self"
    assert mx.sum.__name__ == "sum" and mx.sum.__module__ == "mlx.core"
    assert "keepdims" in mx.sum.__doc__


def test_limits_and_ends_that_are_arrays_promote():
    """Arrays keep their values, also where the other array's dtype does not hold them."""
    u = mx.array([250, 3], mx.uint8)
    for got, want in (
        (mx.clip(u, None, mx.array([300])), [250, 3]),
        (mx.clip(u, mx.array(-5), mx.array(260)), [250, 3]),
        (mx.clip(u, min=mx.array(-5)), [250, 3]),
        (mx.diff(u, prepend=mx.array([300]), append=mx.array([-1])), [-50, -247, -4]),
    ):
        assert (got.dtype, got.tolist()) == (mx.int32, want)
    assert mx.clip(u, 1, 200).dtype == mx.uint8


def test_iterators_walk_the_elements_at_their_start():
    a = mx.array([[1, 2], [3, 4]])
    rows = iter(a)
    next(rows)
    a[1] = 0
    assert next(rows).tolist() == [3, 4]
