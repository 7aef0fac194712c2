"""Requirements of the standard on arrays, dtypes, devices and the namespace itself."""

import array
import math
import operator

import numpy as np

ROWS = """
    xp.e == math.e and xp.pi == math.pi and xp.inf == math.inf and math.isnan(xp.nan) and xp.newaxis is None
    xp.__array_api_version__ == '2025.12'
    x.__array_namespace__() is xp and x.__array_namespace__(api_version='2025.12') is xp
    raises(lambda: x.__array_namespace__(api_version='1999.01'), ValueError)
    x.ndim == 2 and x.size == 6 and x.shape == (2, 3) and x.T.shape == (3, 2) and x.mT.shape == (3, 2)
    xp.zeros((2, 3, 4)).mT.shape == (2, 4, 3)
    raises(lambda: xp.zeros(3).mT, Exception)
    x.to_device(x.device).device == x.device
    x.to_device(x.device, stream=None) is not None
    x.device == xp.asarray(1.0).device and x.device in info.devices()
    len(x.__dlpack_device__()) == 2 and all(isinstance(k, int) for k in x.__dlpack_device__())
    np.array_equal(np.from_dlpack(x), np.asarray(x))
    np.array_equal(np.asarray(xp.from_dlpack(np.ones((2, 3), np.int16))), np.ones((2, 3)))
    xp.from_dlpack(x, copy=True).dtype == x.dtype and xp.from_dlpack(x, device=x.device).shape == x.shape
    xp.from_dlpack(x, copy=False).shape == x.shape
    x.__dlpack__(stream=None, max_version=(1, 0), dl_device=None, copy=None) is not None
    x.__dlpack__(copy=True) is not None and x.__dlpack__(copy=False) is not None
    x.__dlpack__(dl_device=x.__dlpack_device__()) is not None
    float(xp.asarray(1.5)) == 1.5 and int(xp.asarray(3)) == 3 and bool(xp.asarray(True)) is True
    complex(xp.asarray(1 + 2j)) == 1 + 2j and complex(xp.asarray(2.0)) == 2 and float(xp.asarray(3)) == 3.0
    int(xp.asarray(2.7)) == 2 and bool(xp.asarray(0.0)) is False and bool(xp.asarray(math.nan))
    operator.index(xp.asarray(3)) == 3 and [1, 2, 3][xp.asarray(1)] == 2
    raises(lambda: operator.index(xp.asarray(1.5)), TypeError)
    raises(lambda: float(x), (TypeError, ValueError)) and raises(lambda: bool(x), (TypeError, ValueError))
    raises(lambda: float(xp.asarray(1 + 2j)), (TypeError, ValueError))
    raises(lambda: int(xp.asarray(math.inf)), OverflowError) and raises(lambda: int(xp.asarray(math.nan)), ValueError)
    same(abs(-x), x) and same(+x, x) and same(-(-x), x) and same(~(~i), i)
    same(i.__matmul__(i.T), i @ i.T) and same(x @ x.T, xp.matmul(x, x.T))
    same(divmod_(7, i), 7 // i) and same(2 ** i, i * 0 + 2 ** i)
    same(2 - x, -(x - 2)) and same(6 / x, xp.divide(6, x)) and same(7 % i, xp.remainder(7, i))
    same(1 << i, xp.bitwise_left_shift(1, i)) and same(64 >> i, xp.bitwise_right_shift(64, i))
    same(3 & i, i & 3) and same(3 | i, i | 3) and same(3 ^ i, i ^ 3) and same(True & b, b)
    inplace('+=', 1) and inplace('-=', 1) and inplace('*=', 2) and inplace('/=', 2) and inplace('//=', 2)
    inplace('%=', 2) and inplace('**=', 2) and inplace('+=', x) and inplace('*=', x)
    inplace_int('<<=', 2) and inplace_int('>>=', 1) and inplace_int('&=', 3) and inplace_int('|=', 1) and inplace_int('^=', 1)
    inplace_matmul()
    x.__eq__(x).dtype == xp.bool and (x == 1.0).shape == x.shape and (x != x).dtype == xp.bool
    x.__add__(object()) is NotImplemented
    raises(lambda: x + object(), TypeError) and raises(lambda: i << 1.5, Exception)
    xp.float32 == xp.float32 and not (xp.float32 == xp.float64) and xp.float32 != xp.int32
    not (xp.float32 == None) and not (xp.float32 == 3) and xp.float32 != object() and not (xp.int8 == 'no dtype')
    not (xp.float32 == [1]) and not (xp.float32 == {}) and xp.float32 != (1, 2)
    hash(xp.float32) == hash(xp.float32) and {xp.int8: 1}[xp.int8] == 1 and len({xp.int8, xp.int8, xp.int16}) == 2
    {x.dtype: 1}[xp.float32] == 1
    xp.finfo(xp.float32).bits == 32 and xp.finfo(xp.float64).bits == 64 and xp.finfo(xp.complex64).bits == 32
    xp.finfo(xp.float32).eps == 2 ** -23 and xp.finfo(xp.float64).eps == 2 ** -52
    float(xp.finfo(xp.float64).max) == 1.7976931348623157e308 and xp.finfo(xp.float32).min < 0
    float(xp.finfo(xp.float32).smallest_normal) == 2 ** -126 and float(xp.finfo(xp.float64).smallest_normal) == 2 ** -1022
    all(isinstance(getattr(xp.finfo(xp.float32), n), float) for n in ('eps', 'max', 'min', 'smallest_normal'))
    xp.finfo(xp.float32).dtype == xp.float32 and xp.finfo(xp.complex128).dtype == xp.float64 and xp.finfo(x).bits == 32
    xp.iinfo(xp.int8).max == 127 and xp.iinfo(xp.int64).min == -2 ** 63 and xp.iinfo(xp.uint64).max == 2 ** 64 - 1
    all(isinstance(getattr(xp.iinfo(xp.int8), n), int) for n in ('bits', 'max', 'min')) and xp.iinfo(xp.uint16).dtype == xp.uint16
    xp.iinfo(i).bits == 32 and raises(lambda: xp.finfo(xp.int8), Exception) and raises(lambda: xp.iinfo(xp.float32), Exception)
    all(xp.isdtype(xp.int8, k) for k in ('signed integer', 'integral', 'numeric', xp.int8, ('bool', 'integral')))
    all(xp.isdtype(xp.uint8, k) for k in ('unsigned integer', 'integral', 'numeric'))
    all(xp.isdtype(xp.float64, k) for k in ('real floating', 'numeric', (xp.int8, xp.float64)))
    all(xp.isdtype(xp.complex64, k) for k in ('complex floating', 'numeric'))
    xp.isdtype(xp.bool, 'bool') and not any(xp.isdtype(xp.bool, k) for k in ('integral', 'numeric', 'real floating'))
    not xp.isdtype(xp.float32, 'complex floating') and not xp.isdtype(xp.int8, 'unsigned integer') and not xp.isdtype(xp.int8, ())
    raises(lambda: xp.isdtype(xp.int8, 'no kind'), ValueError)
    xp.can_cast(xp.int8, xp.int64) and not xp.can_cast(xp.float64, xp.float32) and xp.can_cast(i, xp.int64)
    xp.can_cast(xp.uint8, xp.int16) and not xp.can_cast(xp.int8, xp.uint8) and not xp.can_cast(xp.float32, xp.int32)
    xp.result_type(xp.int8, xp.uint8) == xp.int16 and xp.result_type(xp.uint32, xp.int8) == xp.int64
    xp.result_type(xp.float32, xp.complex64) == xp.complex64 and xp.result_type(xp.float64, xp.complex64) == xp.complex128
    xp.result_type(xp.int8, 1) == xp.int8 and xp.result_type(xp.float32, 1.0, 1) == xp.float32
    xp.result_type(xp.complex64, 1.0, 2j) == xp.complex64 and xp.result_type(x, xp.float64) == xp.float64
    xp.result_type(xp.float64, 1j) == xp.complex128 and xp.result_type(xp.float32, 1j) == xp.complex64
    set(info.capabilities()) >= {'boolean indexing', 'data-dependent shapes', 'max dimensions'}
    set(info.default_dtypes()) == {'real floating', 'complex floating', 'integral', 'indexing'}
    info.default_dtypes()['real floating'] == xp.asarray(1.0).dtype and info.default_dtypes()['integral'] == xp.asarray(1).dtype
    info.default_dtypes()['complex floating'] == xp.asarray(1j).dtype and info.default_dtypes()['indexing'] == xp.argmax(x).dtype
    set(info.dtypes()) >= {'bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64', 'complex64', 'complex128'}
    set(info.dtypes(kind='bool')) == {'bool'} and set(info.dtypes(kind='signed integer')) == {'int8', 'int16', 'int32', 'int64'}
    set(info.dtypes(kind=('bool', 'unsigned integer'))) == {'bool', 'uint8', 'uint16', 'uint32', 'uint64'}
    set(info.dtypes(device=x.device, kind='complex floating')) == {'complex64', 'complex128'}
    info.default_device() is None or info.default_device() in info.devices()
    all(xp.zeros(1, dtype=t).dtype == t for t in info.dtypes().values())
    xp.asarray(x, copy=False) is not None and same(xp.asarray(x, copy=True), x) and xp.asarray(x).dtype == x.dtype
    copied() and xp.asarray(x, dtype=xp.float64).dtype == xp.float64 and xp.asarray(x, device=x.device).shape == x.shape
    raises(lambda: xp.asarray([1, 2], copy=False), ValueError) and raises(lambda: xp.asarray(x, dtype=xp.float64, copy=False), ValueError)
    xp.asarray(True).dtype == xp.bool and xp.asarray([[1, 2], [3, 4]]).shape == (2, 2) and xp.asarray([]).shape == (0,)
    xp.asarray([1, 2.0]).dtype == xp.asarray(1.0).dtype and xp.asarray([1.0, 2j]).dtype == xp.asarray(1j).dtype
    xp.asarray([xp.asarray(1.0), xp.asarray(2.0)]).shape == (2,)
    xp.asarray(array.array('i', [1, 2])).shape == (2,) and xp.asarray(range(3)).shape == (3,)
    raises(lambda: xp.asarray(2 ** 70, dtype=xp.int64), OverflowError)
    xp.arange(5).dtype == xp.asarray(1).dtype and xp.arange(5.0).dtype == xp.asarray(1.0).dtype and xp.arange(3, 0, -1).shape == (3,)
    xp.arange(0).shape == (0,) and xp.arange(5, 3).shape == (0,) and xp.arange(1, 10, step=4).shape == (3,)
    xp.linspace(0, 1, 0).shape == (0,) and xp.linspace(0, 1, 1)[0] == 0 and xp.linspace(0, 1, 3)[2] == 1
    xp.linspace(0, 1, 4, endpoint=False)[1] == 0.25 and xp.linspace(0j, 1j, 3).dtype == xp.asarray(1j).dtype
    xp.full((2,), True).dtype == xp.bool and xp.full(2, 1).dtype == xp.asarray(1).dtype and xp.full((2,), 1j).dtype == xp.asarray(1j).dtype
    xp.eye(2, 3, k=-1)[1, 0] == 1 and xp.eye(2, 3, k=5).shape == (2, 3) and xp.eye(0).shape == (0, 0)
    xp.empty(()).shape == () and xp.zeros(()).ndim == 0 and xp.ones((0, 3)).size == 0
    xp.var(x, correction=0.5) > xp.var(x) and xp.std(x, correction=1) > xp.std(x, correction=0.25)
    near(xp.var(v, correction=1.5), np.var(np.asarray(v)) * 3 / 1.5) and near(xp.std(v, correction=1), np.std(np.asarray(v), ddof=1))
    xp.searchsorted(v, xp.asarray([0.0, 1.0, 2.0, 9.0])).shape == (4,) and same_list(xp.searchsorted(v, v, side='right'), [1, 2, 3])
    same_list(xp.searchsorted(v, xp.asarray([[0.0, 1.0], [2.5, 9.0]])), [[0, 0], [2, 3]])
    same_list(xp.searchsorted(xp.asarray([3.0, 1.0, 2.0]), v, sorter=xp.asarray([1, 2, 0])), [0, 1, 2])
    same_list(xp.searchsorted(v, 2.0), 1) and same_list(xp.searchsorted(v, 2.0, side='right'), 2)
    tuple(type(xp.unique_all(i))._fields) == ('values', 'indices', 'inverse_indices', 'counts')
    tuple(type(xp.unique_counts(i))._fields) == ('values', 'counts') and tuple(type(xp.unique_inverse(i))._fields) == ('values', 'inverse_indices')
    xp.unique_inverse(i).inverse_indices.shape == i.shape and xp.unique_all(i).inverse_indices.shape == i.shape
    same(xp.take(xp.unique_all(i).values, xp.unique_all(i).inverse_indices), i)
    tuple(type(xp.linalg.qr(s))._fields) == ('Q', 'R') and tuple(type(xp.linalg.svd(s))._fields) == ('U', 'S', 'Vh')
    tuple(type(xp.linalg.eigh(s))._fields) == ('eigenvalues', 'eigenvectors') == tuple(type(xp.linalg.eig(s))._fields)
    tuple(type(xp.linalg.slogdet(s))._fields) == ('sign', 'logabsdet')
    near(xp.linalg.cholesky(s, upper=True).mT @ xp.linalg.cholesky(s, upper=True), s)
    near(xp.linalg.vector_norm(x, axis=(0, 1), ord=1, keepdims=True), [[18.0]]) and xp.linalg.vector_norm(x, ord=math.inf) == 6
    near(xp.linalg.vector_norm(x, ord=-math.inf), 1) and near(xp.linalg.vector_norm(x, ord=0), 6) and near(xp.linalg.vector_norm(v, ord=3.5), np.linalg.norm(np.asarray(v), 3.5))
    all(near(xp.linalg.matrix_norm(s, ord=o), np.linalg.matrix_norm(np.asarray(s), ord=o)) for o in ('fro', 'nuc', 1, -1, 2, -2, math.inf, -math.inf))
    xp.linalg.matrix_rank(xp.ones((3, 3))) == 1 and xp.linalg.matrix_rank(xp.zeros((2, 3, 3))).shape == (2,)
    xp.linalg.pinv(xp.ones((2, 3, 4))).shape == (2, 4, 3) and xp.linalg.matrix_power(s, 0).shape == s.shape and near(xp.linalg.matrix_power(s, -1), xp.linalg.inv(s))
    xp.linalg.solve(s, xp.ones((2, 3))).shape == (2, 3) and xp.linalg.solve(s, xp.ones(2)).shape == (2,)
    xp.linalg.svd(xp.ones((2, 3, 4)), full_matrices=False).Vh.shape == (2, 3, 4) and xp.linalg.svd(xp.ones((3, 4))).Vh.shape == (4, 4)
    xp.linalg.qr(xp.ones((4, 2)), mode='complete').Q.shape == (4, 4) and xp.linalg.qr(xp.ones((4, 2))).R.shape == (2, 2)
    xp.linalg.diagonal(xp.ones((2, 3, 4)), offset=1).shape == (2, 3) and xp.linalg.trace(xp.ones((2, 3, 3))).shape == (2,)
    xp.linalg.cross(v, xp.ones((4, 3))).shape == (4, 3) and xp.linalg.outer(v, v).shape == (3, 3)
    near(xp.vecdot(xp.asarray([1j, 2]), xp.asarray([1j, 1])), 3 + 0j) and xp.vecdot(x, v).shape == (2,)
    xp.tensordot(v, v, axes=0).shape == (3, 3) and xp.tensordot(x, x, axes=((0, -1), (0, -1))).shape == ()
    xp.matmul(v, v).shape == () and xp.matmul(xp.ones((2, 1, 3, 4)), xp.ones((5, 4, 2))).shape == (2, 5, 3, 2)
    raises(lambda: xp.matmul(x, x), Exception) and raises(lambda: xp.matmul(xp.asarray(1.0), v), Exception)
    xp.cumulative_sum(v, include_initial=True).shape == (4,) and xp.cumulative_prod(v, include_initial=True)[0] == 1
    raises(lambda: xp.cumulative_sum(x), ValueError) and raises(lambda: xp.cumulative_prod(x), ValueError)
    xp.sum(x, axis=()).shape == x.shape and xp.max(x, axis=(0, 1)).shape == () and xp.any(b, axis=(0, -1), keepdims=True).shape == (1, 1)
    xp.sum(xp.ones(3, dtype=xp.int8), dtype=xp.int8).dtype == xp.int8 and xp.sum(xp.ones(3, dtype=xp.uint8)).dtype == xp.result_type(xp.uint8, xp.sum(xp.ones(3, dtype=xp.uint8)).dtype)
    near(xp.diff(v), [1, 1]) and near(xp.diff(v, n=2), [0]) and xp.diff(v, n=0).shape == (3,) and xp.diff(v, prepend=xp.asarray([0.0])).shape == (3,)
    same_list(xp.sort(v, descending=True), [3, 2, 1]) and same_list(xp.argsort(xp.asarray([1, 0, 1, 0]), descending=True, stable=True), [0, 2, 1, 3])
    same_list(xp.clip(i, 2, 3), np.clip(np.asarray(i), 2, 3)) and same_list(xp.clip(i, max=2), np.clip(np.asarray(i), None, 2)) and xp.clip(x, min=xp.ones(3)).shape == (2, 3)
    xp.clip(i, 1, 2).dtype == i.dtype and xp.clip(xp.asarray([1], dtype=xp.int8), 0, 5).dtype == xp.int8 and xp.clip(x).shape == x.shape
    same_list(xp.repeat(v, xp.asarray([1, 0, 2])), [1, 3, 3]) and xp.repeat(x, 2).shape == (12,) and xp.tile(v, (2, 2)).shape == (2, 6) and xp.tile(x, ()).shape == x.shape
    same_list(xp.roll(v, 1), [3, 1, 2]) and xp.roll(x, (1, -1), axis=(0, 1)).shape == x.shape and xp.roll(x, 2, axis=(0, 1)).shape == x.shape
    xp.squeeze(xp.ones((1, 2, 1)), axis=(0, -1)).shape == (2,) and raises(lambda: xp.squeeze(x, axis=0), ValueError)
    xp.expand_dims(x, axis=-1).shape == (2, 3, 1) and raises(lambda: xp.expand_dims(x, axis=5), IndexError) and xp.expand_dims(x, axis=(0, -1)).shape == (1, 2, 3, 1)
    len(xp.unstack(x, axis=-1)) == 3 and isinstance(xp.unstack(x), tuple) and xp.stack(xp.unstack(x)).shape == x.shape
    xp.concat([x, v], axis=None).shape == (9,) and xp.concat((i, i), axis=-1).shape == (2, 6) and xp.concat([xp.ones(1, dtype=xp.int8), xp.ones(1, dtype=xp.int16)]).dtype == xp.int16
    xp.reshape(x, (-1,)).shape == (6,) and xp.reshape(x, (3, 2), copy=False).shape == (3, 2) and xp.permute_dims(xp.ones((2, 3, 4)), (2, 0, 1)).shape == (4, 2, 3)
    xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape == (3, 4, 2) and xp.flip(x, axis=-1)[0, 0] == x[0, 2]
    xp.broadcast_shapes((2, 1), (3,)) == (2, 3) and xp.broadcast_shapes() == () and raises(lambda: xp.broadcast_shapes((2,), (3,)), Exception)
    len(xp.broadcast_arrays(x, v)) == 2 and xp.broadcast_arrays(x, v)[1].shape == (2, 3) and raises(lambda: xp.broadcast_to(x, (3, 2)), Exception)
    len(xp.meshgrid(v, v)) == 2 and xp.meshgrid(v, xp.ones(2))[0].shape == (2, 3) and xp.meshgrid(v, xp.ones(2), indexing='ij')[0].shape == (3, 2) and len(xp.meshgrid()) == 0
    isinstance(xp.nonzero(i), tuple) and len(xp.nonzero(i)) == 2 and raises(lambda: xp.nonzero(xp.asarray(1)), ValueError)
    xp.where(b, x, 0.0).dtype == x.dtype and xp.where(b, 1, i).dtype == i.dtype and xp.where(b, i, xp.ones((2, 3), dtype=xp.int64)).dtype == xp.int64
    same_list(xp.isin(i, 1), np.isin(np.asarray(i), 1)) and xp.isin(1, i).shape == () and same_list(xp.isin(i, xp.asarray([1, 6]), invert=True), np.isin(np.asarray(i), [1, 6], invert=True))
    xp.take(v, xp.asarray([0, -1])).shape == (2,) and xp.take(x, xp.asarray([[0, 1]]), axis=1).shape == (2, 1, 2)
    xp.take_along_axis(x, xp.asarray([[0], [1]]), axis=1).shape == (2, 1) and xp.take_along_axis(x, xp.argsort(x)).shape == x.shape
    same_list(x[xp.asarray([1]), ...], np.asarray(x)[[1], ...]) and x[xp.asarray([0, 1]), xp.asarray([2, 0])].shape == (2,) and x[b].ndim == 1
    raises(lambda: x[5, 0], IndexError) and raises(lambda: x[0, 0, 0], IndexError) and x[...].shape == x.shape and x[None, 0].shape == (1, 3)
    setitem(xp.asarray([True, False]), 0.0) and setitem((0, slice(None)), 1) and setitem(b, 2.0) and setitem(..., v)
    xp.astype(x, xp.int32).dtype == xp.int32 and same(xp.astype(x, x.dtype, copy=False), x) and xp.astype(xp.asarray(1 + 2j), xp.bool).dtype == xp.bool
    near(xp.fft.ifft(xp.fft.fft(c)), c) and near(xp.fft.irfft(xp.fft.rfft(x), n=3), x) and near(xp.fft.hfft(xp.fft.ihfft(x), n=3), x)
    near(xp.fft.irfftn(xp.fft.rfftn(x), s=(2, 3), axes=(0, 1)), x) and near(xp.fft.ifftn(xp.fft.fftn(c)), c)
    xp.fft.fft(xp.astype(c, xp.complex128)).dtype == xp.complex128 and xp.fft.rfft(xp.astype(x, xp.float64)).dtype == xp.complex128 and xp.fft.rfft(x).dtype == xp.complex64
    xp.fft.irfft(c).dtype == xp.float32 and xp.fft.hfft(c).dtype == xp.float32 and xp.fft.ihfft(x).dtype == xp.complex64 and xp.fft.irfft(xp.astype(c, xp.complex128)).dtype == xp.float64
    xp.fft.fftfreq(4).dtype == xp.asarray(1.0).dtype and xp.fft.rfftfreq(5, d=0.5).shape == (3,) and same(xp.fft.ifftshift(xp.fft.fftshift(x)), x)
"""  # noqa: E501


def names(xp):
    """Names that rows can use."""
    make = {
        "x": np.array([[1, 2, 3], [4, 2, 6]], np.float32),
        "v": np.array([1, 2, 3], np.float32),
        "i": np.array([[1, 2, 3], [4, 1, 6]], np.int32),
        "b": np.array([[True, False, True], [False, False, True]]),
        "c": np.array([[1j, 2, 3], [4, 1j, 6 - 1j]], np.complex64),
        "s": np.array([[2, 1], [1, 3]], np.float32),
    }
    arrays = {k: xp.asarray(a) for k, a in make.items()}

    def raises(f, classes):
        try:
            f()
        except classes:
            return True
        return False

    def same(a, b):
        return a.dtype == b.dtype and np.array_equal(np.asarray(a), np.asarray(b))

    def inplace(op, other, name="x"):
        env = {"a": xp.asarray(make[name], copy=True), "o": other}
        want = eval(f"a {op[:-1]} o", env)
        exec(f"a {op} o", env)
        return same(env["a"], want)

    def inplace_matmul():
        env = {"a": xp.asarray(make["s"], copy=True), "o": arrays["s"]}
        want = env["a"] @ env["o"]
        exec("a @= o", env)
        return same(env["a"], want)

    def copied():
        source = xp.asarray(make["v"], copy=True)
        copy = xp.asarray(source, copy=True)
        source[0] = 9
        return float(copy[0]) == 1

    def setitem(key, value):
        a, want = xp.asarray(make["x"], copy=True), make["x"].copy()
        parts = key if isinstance(key, tuple) else (key,)
        given = tuple(np.asarray(k) if hasattr(k, "shape") else k for k in parts)
        a[key] = value
        want[given] = np.asarray(value)
        return np.array_equal(np.asarray(a), want)

    return {
        "xp": xp,
        "np": np,
        "math": math,
        "array": array,
        "operator": operator,
        "info": xp.__array_namespace_info__(),
        "raises": raises,
        "same": same,
        "same_list": lambda a, b: np.array_equal(np.asarray(a), np.asarray(b)),
        "near": lambda a, b: np.allclose(np.asarray(a), np.asarray(b), 1e-5, 1e-5),
        "divmod_": lambda a, b: a // b,
        "inplace": inplace,
        "inplace_int": lambda op, other: inplace(op, other, "i"),
        "inplace_matmul": inplace_matmul,
        "copied": copied,
        "setitem": setitem,
        **arrays,
    }


def check(xp, row):
    assert bool(eval(row, names(xp))), row


def checks():
    for row in map(str.strip, ROWS.strip().splitlines()):
        yield f"behaviour {row}", lambda xp, row=row: check(xp, row)
