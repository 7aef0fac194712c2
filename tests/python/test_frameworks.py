"""Arrays in other packages. Stand-ins test the protocols, here and in test_dlpack.py; tests named
after a package run where that is installed.
"""

import array
import ctypes
import io
import zlib

import ml_dtypes
import numpy as np
import pytest
from processes import run_program

import mlx.core as mx

SHARED_DTYPES = ["float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8"]


def values(dtype):
    return mx.arange(6).reshape(2, 3).astype(getattr(mx, dtype))


# Protocols


class WithArray:
    """An object that refuses DLPack and converts itself for NumPy: columns with missing values."""

    def __init__(self, x, refusal=TypeError):
        self.x, self.refusal = x, refusal

    def __dlpack__(self, **keywords):
        raise self.refusal("no DLPack for such elements")

    def __dlpack_device__(self):
        return (1, 0)

    def __array__(self, dtype=None, copy=None):
        if isinstance(self.x, Exception):
            raise self.x
        return self.x


def test_objects_that_refuse_dlpack_are_asked_for_an_array():
    for refusal in (TypeError, BufferError, ValueError, RuntimeError):
        assert mx.array(WithArray(np.array([True, False]), refusal)).tolist() == [True, False]
        got = mx.array(WithArray(np.array([1.0, np.nan]), refusal))
        assert got.dtype == mx.float32 and mx.isnan(got[1]).item()
    for x in (RuntimeError("no array either"), np.array(["text"]), np.array([{}])):
        with pytest.raises((TypeError, BufferError)):
            mx.array(WithArray(x))
    with pytest.raises(BufferError, match="no DLPack"):
        mx.array(WithArray(RuntimeError("no array either"), BufferError))
    with pytest.raises(KeyboardInterrupt):
        mx.array(WithArray(np.zeros(1), KeyboardInterrupt))


def test_bfloat16_of_objects_without_a_buffer():
    class Tensor(np.lib.mixins.NDArrayOperatorsMixin):
        """Has the buffer protocol in class, but none for bfloat16, and no `view`."""

        dtype = np.dtype(ml_dtypes.bfloat16)

        def __array__(self, dtype=None, copy=None):
            return np.array([[1.5, 2], [3, 4]], ml_dtypes.bfloat16)

    got = mx.array(Tensor())
    assert got.dtype == mx.bfloat16 and got.tolist() == [[1.5, 2], [3, 4]]


def test_objects_that_refuse_a_buffer_are_asked_for_dlpack():
    """As arrays of JAX do whose memory is not in the order of rows."""

    class Column(np.ndarray):
        """Elements for which NumPy has no buffers."""

        def __dlpack__(self, **keywords):
            return np.arange(6, dtype=np.int32).reshape(2, 3).T.__dlpack__(**keywords)

    times = np.zeros(3, "M8[s]")
    for read in (mx.array, mx.asarray):
        assert read(times.view(Column)).tolist() == [[0, 3], [1, 4], [2, 5]]
        assert read(times.view(Column), mx.float32).dtype == mx.float32
        with pytest.raises(TypeError, match="ndarray have no dtype here"):
            read(times)


def test_consumers_of_bytes():
    a = mx.arange(4.0)
    assert zlib.crc32(a) == zlib.crc32(np.arange(4, dtype=np.float32))
    assert np.frombuffer(a, np.float32).tolist() == [0, 1, 2, 3]
    assert (ctypes.c_float * 4).from_buffer_copy(a)[:] == [0, 1, 2, 3]
    with io.BytesIO() as file:
        file.write(a)
        assert file.getvalue() == np.arange(4, dtype=np.float32).tobytes()
    with pytest.raises(BufferError, match="strided"):
        zlib.crc32(a.reshape(2, 2).T)


ORDERS = ["@", "=", "<", ">", "!"]


@pytest.mark.parametrize("code", "?bBhHiIlLqQefd")
def test_memoryviews_of_any_byte_order(code):
    """As the exporters of structs write them, over 0, 1 and 2 axes."""
    import struct

    for order in ORDERS:
        numbers = [True, False, True] if code == "?" else [1, 0, 3]
        data = struct.pack(f"{order}3{code}", *numbers)
        itemsize = struct.calcsize(order + code)
        kind = np.dtype(
            {"@": "=", "!": ">"}.get(order, order)
            + {"l": f"i{itemsize}"}.get(code, f"u{itemsize}" if code == "L" else code)
        )
        x = np.frombuffer(data, kind)
        for y in (x, x.reshape(3, 1), x[::-1], x[:1].reshape(())):
            got = mx.array(memoryview(y))
            assert got.tolist() == y.tolist() and got.shape == y.shape


def test_other_exporters():
    for code in "bBhHiIlLqQfd":
        assert mx.array(array.array(code, [1, 2])).tolist() == [1, 2]
    assert mx.array((ctypes.c_double.__ctype_be__ * 2)(1, 2)).tolist() == [1, 2]
    assert mx.array(((ctypes.c_int16 * 2) * 2)((1, 2), (3, 4))).tolist() == [[1, 2], [3, 4]]
    assert mx.array(memoryview(bytearray(range(8)))[::-2]).tolist() == [7, 5, 3, 1]
    for x in (np.zeros(2, np.longdouble), np.array(["a"]), np.zeros(2, "M8[s]"), np.zeros(2, "V4")):
        with pytest.raises(TypeError, match="array"):
            mx.array(x)
    for name in ("float8_e4m3fn", "float8_e5m2", "int4", "float4_e2m1fn"):
        with pytest.raises(TypeError, match="array"):
            mx.array(np.ones(2, getattr(ml_dtypes, name)))


def test_dtypes_are_dtypes_of_numpy():
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4):
        assert np.zeros(2, mx.float16).dtype == np.float16
        assert np.dtype(mx.bool_) == np.bool_
        assert np.result_type(mx.ones(2, mx.float16), np.float32(1)) == np.float32
        assert np.result_type(mx.array([True])) == np.bool_
        assert np.promote_types(mx.int8, mx.int32) == np.int32
    for dtype in (mx.int8, mx.uint64, mx.float32, mx.float64, mx.complex64, mx.bool_):
        a = mx.zeros(1, dtype)
        assert dtype.__numpy_dtype__ == a.__numpy_dtype__ == np.asarray(a).dtype
    assert mx.bfloat16.__numpy_dtype__ == np.dtype(ml_dtypes.bfloat16)


def test_arrow_array(monkeypatch):
    """PyArrow asks for this method; a stand-in has its one function."""
    import sys
    import types

    stand_in = types.ModuleType("pyarrow")
    stand_in.array = lambda x, type=None: (x.tolist(), type)
    monkeypatch.setitem(sys.modules, "pyarrow", stand_in)
    assert mx.arange(3).__arrow_array__() == ([0, 1, 2], None)
    assert mx.arange(3).__arrow_array__(type="float") == ([0, 1, 2], "float")


# Packages


@pytest.mark.parametrize("dtype", [*SHARED_DTYPES, "complex64", "bool_", "uint16", "uint32"])
def test_torch(dtype):
    torch = pytest.importorskip("torch")
    a = values(dtype)
    for b in (a, a.T, a[::-1], a[:, ::2], a[0, 1], a[:0], mx.broadcast_to(a[0], (4, 3))):
        t = torch.from_dlpack(b)
        assert str(t.dtype) == "torch." + dtype.strip("_") and t.tolist() == b.tolist()
        for read in (mx.array, mx.asarray, mx.from_dlpack):
            again = read(t)
            assert again.dtype == b.dtype and again.tolist() == b.tolist()
    t = torch.from_dlpack(a)
    t[0, 0] = 1
    assert a[0, 0].item() == 1
    shared = mx.asarray(t, copy=False)
    t[0, 1] = 0
    assert shared[0, 1].item() == 0


def test_torch_operations():
    torch = pytest.importorskip("torch")
    one, two = torch.ones(3), mx.full((3,), 2.0)
    for got in (one + two, two + one, two * torch.tensor(3.0)):
        assert isinstance(got, mx.array)
    for t in (
        torch.ones(2, requires_grad=True),
        torch.tensor([1j]).conj(),
        torch.eye(2).to_sparse(),
    ):
        with pytest.raises((BufferError, TypeError, RuntimeError), match=r"export|conj|grad"):
            mx.array(t)
    shared = torch.from_dlpack(two)
    weights = torch.ones(3, requires_grad=True, device=shared.device)
    (weights * shared).sum().backward()
    assert mx.array(weights.grad).tolist() == [2, 2, 2]


@pytest.mark.parametrize("dtype", [*SHARED_DTYPES[:6], "uint8", "complex64", "bool_"])
def test_jax(dtype):
    jnp = pytest.importorskip("jax.numpy")
    a = values(dtype)
    for b in (a, a.T, a[0, 1], a[:0]):
        for j in (jnp.asarray(b), jnp.from_dlpack(b)):
            assert str(j.dtype) == dtype.strip("_") and j.tolist() == b.tolist()
        for read in (mx.array, mx.asarray, mx.from_dlpack):
            again = read(j)
            assert again.dtype == b.dtype and again.tolist() == b.tolist()
    assert isinstance(jnp.ones(2) + mx.ones(2), mx.array)


@pytest.mark.parametrize("dtype", [*SHARED_DTYPES, "complex64"])
def test_tensorflow(dtype):
    tf = pytest.importorskip("tensorflow")
    a = values(dtype)
    t = tf.convert_to_tensor(a)
    assert t.dtype.name == dtype and np.array_equal(t.numpy(), np.asarray(a))
    again = mx.array(t)
    assert again.dtype == a.dtype and again.tolist() == a.tolist()
    assert mx.from_dlpack(tf.experimental.dlpack.to_dlpack(t)).tolist() == a.tolist()
    assert np.array_equal(tf.experimental.dlpack.from_dlpack(a.__dlpack__()).numpy(), np.asarray(a))


def test_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [4, 5, 6]})
    assert mx.array(frame).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert mx.array(frame.b).tolist() == mx.asarray(frame.b).tolist() == [4, 5, 6]
    assert mx.array(frame.iloc[::-1].a).tolist() == [3, 2, 1]
    assert mx.array(pd.RangeIndex(3)).tolist() == [0, 1, 2]
    missing = mx.array(pd.array([1, None, 3], dtype="Int64"))
    assert mx.isnan(missing).tolist() == [False, True, False]
    assert pd.Series(mx.arange(3)).tolist() == [0, 1, 2]
    assert pd.DataFrame({"x": mx.arange(2)}).x.tolist() == [0, 1]
    for got in (frame.a + mx.ones(3), mx.ones(3) + frame.a):
        assert list(map(float, got)) == [2, 3, 4]
    with pytest.raises(TypeError):
        mx.array(pd.Series(["a"]))


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    for kind in (pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_()):
        column = pa.array([0, 1, 1]).cast(kind)
        for x in (column, pa.chunked_array([column])):
            assert mx.array(x).tolist() == mx.asarray(x).tolist() == [0, 1, 1]
    assert mx.isnan(mx.array(pa.array([1.0, None]))).tolist() == [False, True]
    assert mx.isnan(mx.array(pa.array([1, None]))).tolist() == [False, True]
    assert mx.array(pa.table({"x": [1, 2]})["x"]).tolist() == [1, 2]
    assert mx.array(pa.Tensor.from_numpy(np.ones((2, 2)))).shape == (2, 2)
    assert pa.array(mx.arange(3)).to_pylist() == [0, 1, 2]
    assert pa.array(mx.arange(3), type=pa.float64()).type == pa.float64()
    with pytest.raises(TypeError):
        mx.array(pa.array(["a"]))


def test_matplotlib(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    x, image = mx.arange(5), mx.random.uniform(shape=(4, 4))
    figure, axes = pyplot.subplots()
    (line,) = axes.plot(x, x**2)
    assert line.get_ydata().tolist() == [0, 1, 4, 9, 16]
    axes.scatter(x, x, c=x)
    axes.imshow(image)
    axes.contour(image)
    axes.hist(image.flatten())
    axes.bar(x, x.astype(mx.float16))
    axes.fill_between(x, x.astype(mx.bfloat16))
    axes.set_xlim(mx.array(0.0), mx.array(4.0))
    figure.savefig(tmp_path / "figure.png")
    pyplot.close(figure)
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_einops():
    einops = pytest.importorskip("einops")
    x = mx.arange(24.0).reshape(2, 3, 4)
    assert einops.rearrange(x, "a b c -> b (a c)").tolist() == x.swapaxes(0, 1).flatten(1).tolist()
    assert einops.reduce(x, "a b c -> a", "mean").tolist() == [5.5, 17.5]
    assert einops.einsum(x, x, "a b c, a b c -> a").tolist() == [506, 3818]
    assert einops.pack([x, x], "* b c")[0].shape == (4, 3, 4)
    assert einops.rearrange([x, x], "n a b c -> a n b c").shape == (2, 2, 3, 4)
    import einops.array_api

    assert einops.array_api.repeat(x, "a b c -> a b c d", d=2).shape == (2, 3, 4, 2)


def test_array_api_compat():
    compat = pytest.importorskip("array_api_compat")
    x = mx.ones((2, 3))
    assert compat.array_namespace(x) is mx and compat.is_array_api_obj(x)
    assert compat.size(x) == 6
    assert compat.to_device(x, compat.device(x)).tolist() == x.tolist()


SCIPY = """
import warnings
warnings.simplefilter("ignore")
import numpy as np, scipy.fft, scipy.integrate, scipy.ndimage, scipy.signal
import scipy.special, scipy.stats
import mlx.core as mx
n = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
calls = {
    "erf": lambda xp, x: scipy.special.erf(x),
    "logsumexp": lambda xp, x: scipy.special.logsumexp(x, axis=1),
    "softmax": lambda xp, x: scipy.special.softmax(x, axis=1),
    "gammaln": lambda xp, x: scipy.special.gammaln(xp.abs(x) + 0.5),
    "xlogy": lambda xp, x: scipy.special.xlogy(xp.abs(x), xp.abs(x)),
    "fft": lambda xp, x: scipy.fft.fft(x, axis=0),
    "irfft": lambda xp, x: scipy.fft.irfft(scipy.fft.rfft(x, axis=0), axis=0),
    "zscore": lambda xp, x: scipy.stats.zscore(x),
    "skew": lambda xp, x: scipy.stats.skew(x),
    "kurtosis": lambda xp, x: scipy.stats.kurtosis(x),
    "gmean": lambda xp, x: scipy.stats.gmean(xp.abs(x)),
    "entropy": lambda xp, x: scipy.stats.entropy(xp.abs(x)),
    "ttest": lambda xp, x: scipy.stats.ttest_ind(x[:, 0], x[:, 1]).statistic,
    "pearsonr": lambda xp, x: scipy.stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    "convolve": lambda xp, x: scipy.signal.convolve(x[:, 0], x[:, 1]),
    "detrend": lambda xp, x: scipy.signal.detrend(x, axis=0),
    "hilbert": lambda xp, x: scipy.signal.hilbert(x, axis=0),
    "gaussian": lambda xp, x: scipy.ndimage.gaussian_filter(x, 1.0),
    "trapezoid": lambda xp, x: scipy.integrate.trapezoid(x[:, 0]),
}
for name, call in calls.items():
    got, want = call(mx, mx.array(n)), call(np, n)
    assert isinstance(got, mx.array), (name, type(got))
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-4, atol=1e-4, err_msg=name)
import sklearn
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
estimators = {
    "pca": lambda x: PCA(2, svd_solver="full").fit_transform(x),
    "standard": lambda x: StandardScaler().fit_transform(x),
    "range": lambda x: MinMaxScaler().fit_transform(x),
    "norm": lambda x: Normalizer().fit_transform(x),
    "ridge": lambda x: Ridge(solver="svd").fit(x, x[:, 0]).predict(x),
}
for name, call in estimators.items():
    want = call(n)
    np.testing.assert_allclose(call(mx.array(n)), want, rtol=1e-3, atol=1e-3, err_msg=name)
    with sklearn.config_context(array_api_dispatch=True):
        got = call(mx.array(n))
    assert isinstance(got, mx.array), (name, type(got))
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-3, atol=1e-3, err_msg=name)
x = mx.array(n)
assert LogisticRegression().fit(x, x[:, 0] > 0).score(x, x[:, 0] > 0) > 0.9
print("done")
"""


@pytest.mark.sampled(0.3, always=True)
def test_scipy_and_scikit_learn():
    """In the mode in which they compute with the arrays themselves."""
    pytest.importorskip("sklearn")
    assert run_program(SCIPY, SCIPY_ARRAY_API="1") == (0, "done\n", "")
