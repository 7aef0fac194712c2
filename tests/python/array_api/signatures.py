"""Signatures of the standard. A row is the signature, then arguments that it is called with:
required ones, and others by keyword."""

import inspect

import numpy as np

ROWS = """
    abs(x, /) : f
    acos(x, /) : u
    acosh(x, /) : f
    add(x1, x2, /) : f, f
    all(x, /, *, axis=None, keepdims=False) : b, axis=1, keepdims=True
    any(x, /, *, axis=None, keepdims=False) : b, axis=(0, 1), keepdims=True
    arange(start, /, stop=None, step=1, *, dtype=None, device=None) : 3, stop=9, step=2, dtype=xp.int64, device=f.device
    argmax(x, /, *, axis=None, keepdims=False) : f, axis=1, keepdims=True
    argmin(x, /, *, axis=None, keepdims=False) : f, axis=0, keepdims=True
    argsort(x, /, *, axis=-1, descending=False, stable=True) : f, axis=0, descending=True, stable=False
    asarray(obj, /, *, dtype=None, device=None, copy=None) : [1.0, 2.0], dtype=xp.float64, device=f.device, copy=True
    asin(x, /) : u
    asinh(x, /) : f
    astype(x, dtype, /, *, copy=True, device=None) : f, xp.int32, copy=False, device=f.device
    atan(x, /) : f
    atan2(x1, x2, /) : f, f
    atanh(x, /) : u
    bitwise_and(x1, x2, /) : i, i
    bitwise_invert(x, /) : i
    bitwise_left_shift(x1, x2, /) : i, i
    bitwise_or(x1, x2, /) : i, i
    bitwise_right_shift(x1, x2, /) : i, i
    bitwise_xor(x1, x2, /) : i, i
    broadcast_arrays(*arrays) : f, v
    broadcast_shapes(*shapes) : (2, 1), (3,)
    broadcast_to(x, /, shape) : v, shape=(2, 3)
    can_cast(from_, to, /) : xp.int8, xp.int16
    ceil(x, /) : f
    clip(x, /, min=None, max=None) : f, min=0, max=2.5
    concat(arrays, /, *, axis=0) : [f, f], axis=1
    conj(x, /) : c
    copysign(x1, x2, /) : f, f
    cos(x, /) : f
    cosh(x, /) : f
    count_nonzero(x, /, *, axis=None, keepdims=False) : i, axis=1, keepdims=True
    cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False) : v, axis=0, dtype=xp.float64, include_initial=True
    cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False) : v, axis=0, dtype=xp.float64, include_initial=True
    diff(x, /, *, axis=-1, n=1, prepend=None, append=None) : f, axis=1, n=2, prepend=f, append=f
    divide(x1, x2, /) : f, f
    empty(shape, *, dtype=None, device=None) : (2, 3), dtype=xp.int8, device=f.device
    empty_like(x, /, *, dtype=None, device=None) : f, dtype=xp.int8, device=f.device
    equal(x1, x2, /) : f, f
    exp(x, /) : f
    expand_dims(x, /, axis) : f, axis=1
    expm1(x, /) : f
    eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None) : 3, k=1, dtype=xp.int8, device=f.device
    finfo(type, /) : xp.float32
    flip(x, /, *, axis=None) : f, axis=(0, 1)
    floor(x, /) : f
    floor_divide(x1, x2, /) : f, f
    from_dlpack(x, /, *, device=None, copy=None) : f, device=f.device, copy=True
    full(shape, fill_value, *, dtype=None, device=None) : (2, 3), 2, dtype=xp.float32, device=f.device
    full_like(x, /, fill_value, *, dtype=None, device=None) : f, fill_value=2, dtype=xp.int8, device=f.device
    greater(x1, x2, /) : f, f
    greater_equal(x1, x2, /) : f, f
    hypot(x1, x2, /) : f, f
    iinfo(type, /) : xp.int8
    imag(x, /) : c
    isdtype(dtype, kind) : xp.int8, kind='integral'
    isfinite(x, /) : f
    isin(x1, x2, /, *, invert=False) : i, i, invert=True
    isinf(x, /) : f
    isnan(x, /) : f
    less(x1, x2, /) : f, f
    less_equal(x1, x2, /) : f, f
    linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True) : 0, 1, num=5, dtype=xp.float64, device=f.device, endpoint=False
    log(x, /) : f
    log10(x, /) : f
    log1p(x, /) : f
    log2(x, /) : f
    logaddexp(x1, x2, /) : f, f
    logical_and(x1, x2, /) : b, b
    logical_not(x, /) : b
    logical_or(x1, x2, /) : b, b
    logical_xor(x1, x2, /) : b, b
    matmul(x1, x2, /) : s, s
    matrix_transpose(x, /) : f
    max(x, /, *, axis=None, keepdims=False) : f, axis=1, keepdims=True
    maximum(x1, x2, /) : f, f
    mean(x, /, *, axis=None, keepdims=False) : f, axis=(0, 1), keepdims=True
    meshgrid(*arrays, indexing='xy') : v, v, indexing='ij'
    min(x, /, *, axis=None, keepdims=False) : f, axis=1, keepdims=True
    minimum(x1, x2, /) : f, f
    moveaxis(x, source, destination, /) : f, 0, 1
    multiply(x1, x2, /) : f, f
    negative(x, /) : f
    nextafter(x1, x2, /) : f, f
    nonzero(x, /) : i
    not_equal(x1, x2, /) : f, f
    ones(shape, *, dtype=None, device=None) : (2, 3), dtype=xp.int8, device=f.device
    ones_like(x, /, *, dtype=None, device=None) : f, dtype=xp.int8, device=f.device
    permute_dims(x, /, axes) : f, axes=(1, 0)
    positive(x, /) : f
    pow(x1, x2, /) : f, f
    prod(x, /, *, axis=None, dtype=None, keepdims=False) : f, axis=1, dtype=xp.float64, keepdims=True
    real(x, /) : c
    reciprocal(x, /) : f
    remainder(x1, x2, /) : f, f
    repeat(x, repeats, /, *, axis=None) : f, 2, axis=1
    reshape(x, /, shape, *, copy=None) : f, shape=(3, 2), copy=True
    result_type(*arrays_and_dtypes) : f, xp.int8, 1
    roll(x, /, shift, *, axis=None) : f, shift=(1, 1), axis=(0, 1)
    round(x, /) : f
    searchsorted(x1, x2, /, *, side='left', sorter=None) : o, f, side='right', sorter=w
    sign(x, /) : f
    signbit(x, /) : f
    sin(x, /) : f
    sinh(x, /) : f
    sort(x, /, *, axis=-1, descending=False, stable=True) : f, axis=0, descending=True, stable=False
    sqrt(x, /) : f
    square(x, /) : f
    squeeze(x, /, axis) : f[:1, ...], axis=0
    stack(arrays, /, *, axis=0) : [f, f], axis=-1
    std(x, /, *, axis=None, correction=0.0, keepdims=False) : f, axis=1, correction=0.5, keepdims=True
    subtract(x1, x2, /) : f, f
    sum(x, /, *, axis=None, dtype=None, keepdims=False) : f, axis=1, dtype=xp.float64, keepdims=True
    take(x, indices, /, *, axis=None) : v, w, axis=0
    take_along_axis(x, indices, /, *, axis=-1) : f, xp.argsort(f), axis=1
    tan(x, /) : f
    tanh(x, /) : f
    tensordot(x1, x2, /, *, axes=2) : f, f, axes=((0, 1), (0, 1))
    tile(x, repetitions, /) : f, (2, 1)
    tril(x, /, *, k=0) : f, k=1
    triu(x, /, *, k=0) : f, k=-1
    trunc(x, /) : f
    unique_all(x, /) : i
    unique_counts(x, /) : i
    unique_inverse(x, /) : i
    unique_values(x, /) : i
    unstack(x, /, *, axis=0) : f, axis=1
    var(x, /, *, axis=None, correction=0.0, keepdims=False) : f, axis=(0, 1), correction=1, keepdims=True
    vecdot(x1, x2, /, *, axis=-1) : f, f, axis=-2
    where(condition, x1, x2, /) : b, f, f
    zeros(shape, *, dtype=None, device=None) : 3, dtype=xp.int8, device=f.device
    zeros_like(x, /, *, dtype=None, device=None) : f, dtype=xp.int8, device=f.device
    linalg.cholesky(x, /, *, upper=False) : s, upper=True
    linalg.cross(x1, x2, /, *, axis=-1) : f, f, axis=1
    linalg.det(x, /) : s
    linalg.diagonal(x, /, *, offset=0) : s, offset=1
    linalg.eig(x, /) : s
    linalg.eigh(x, /) : s
    linalg.eigvals(x, /) : s
    linalg.eigvalsh(x, /) : s
    linalg.inv(x, /) : s
    linalg.matmul(x1, x2, /) : s, s
    linalg.matrix_norm(x, /, *, keepdims=False, ord='fro') : s, keepdims=True, ord=-2
    linalg.matrix_power(x, n, /) : s, 3
    linalg.matrix_rank(x, /, *, rtol=None) : s, rtol=0.1
    linalg.matrix_transpose(x, /) : s
    linalg.outer(x1, x2, /) : v, v
    linalg.pinv(x, /, *, rtol=None) : s, rtol=0.1
    linalg.qr(x, /, *, mode='reduced') : s, mode='complete'
    linalg.slogdet(x, /) : s
    linalg.solve(x1, x2, /) : s, s
    linalg.svd(x, /, *, full_matrices=True) : s, full_matrices=False
    linalg.svdvals(x, /) : s
    linalg.tensordot(x1, x2, /, *, axes=2) : f, f, axes=((0, 1), (0, 1))
    linalg.trace(x, /, *, offset=0, dtype=None) : s, offset=1, dtype=xp.float64
    linalg.vecdot(x1, x2, /, *, axis=-1) : f, f, axis=-2
    linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2) : f, axis=(0, 1), keepdims=True, ord=1
    fft.fft(x, /, *, n=None, axis=-1, norm='backward') : c, n=4, axis=0, norm='ortho'
    fft.ifft(x, /, *, n=None, axis=-1, norm='backward') : c, n=4, axis=0, norm='forward'
    fft.fftn(x, /, *, s=None, axes=None, norm='backward') : c, s=(4, 4), axes=(0, 1), norm='ortho'
    fft.ifftn(x, /, *, s=None, axes=None, norm='backward') : c, s=(4, 4), axes=(0, 1), norm='ortho'
    fft.rfft(x, /, *, n=None, axis=-1, norm='backward') : f, n=4, axis=0, norm='ortho'
    fft.irfft(x, /, *, n=None, axis=-1, norm='backward') : c, n=4, axis=0, norm='ortho'
    fft.rfftn(x, /, *, s=None, axes=None, norm='backward') : f, s=(4, 4), axes=(0, 1), norm='ortho'
    fft.irfftn(x, /, *, s=None, axes=None, norm='backward') : c, s=(4, 4), axes=(0, 1), norm='ortho'
    fft.hfft(x, /, *, n=None, axis=-1, norm='backward') : c, n=4, axis=0, norm='ortho'
    fft.ihfft(x, /, *, n=None, axis=-1, norm='backward') : f, n=4, axis=0, norm='ortho'
    fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None) : 5, d=0.5, dtype=xp.float64, device=f.device
    fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None) : 5, d=0.5, dtype=xp.float64, device=f.device
    fft.fftshift(x, /, *, axes=None) : f, axes=1
    fft.ifftshift(x, /, *, axes=None) : f, axes=(0, 1)
"""  # noqa: E501


def names(xp):
    """Names in the arguments of rows."""
    x = np.array([[1.0, 2.5, 3.0], [4.0, 1.5, 6.0]], np.float32)
    make = {
        "f": x,  # floats
        "u": x / 8,  # in [0, 1]
        "v": x[0],
        "o": np.array([1.0, 2.0, 3.0], np.float32),
        "w": np.array([0, 1, 2]),
        "i": np.array([[1, 2, 3], [4, 1, 6]], np.int32),
        "b": x > 2,
        "c": (x + 1j * x[::-1]).astype(np.complex64),
        "s": np.array([[[2, 1], [1, 3]], [[4, 0], [0, 1]]], np.float32),
    }
    return {"xp": xp, **{k: xp.asarray(a) for k, a in make.items()}}


def function(xp, name):
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp


def same(a, b):
    """Equal results: arrays, tuples of them, dtypes."""
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if hasattr(a, "shape"):
        return a.dtype == b.dtype and np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)
    return type(a) is type(b)


def call(xp, row):
    """Call a function in every way that its signature promises."""
    signature, arguments = (part.strip() for part in row.split(" : "))
    name, parameters = signature.split("(", 1)
    env, f = names(xp), function(xp, name)
    parameters = inspect.signature(eval(f"lambda {parameters[:-1]}: 0")).parameters
    args, given = eval(f"(lambda *a, **k: (a, k))({arguments})", env)
    required = {
        n: given.pop(n) for n, p in parameters.items() if p.default is p.empty and n in given
    }
    defaults = {
        n: p.default
        for n, p in parameters.items()
        if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY
    }
    if "axis" in given and name in ("cumulative_sum", "cumulative_prod"):
        assert same(f(*args), f(*args, axis=0))
    plain = f(*args, **required)
    random = name.startswith("empty")
    if not name.endswith(("astype", "from_dlpack")):  # whose default device has no name
        assert random or same(f(*args, **required, **defaults), plain)
    assert same(f(*args, *required.values()), plain) or random
    for n, value in given.items():
        if n != "sorter" and not (n == "shift" or (name == "roll" and n == "axis")):
            f(*args, **required, **{n: value})
    f(*args, **required, **given)
    if any(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values()):
        both = {**required, **given}
        by_place = [
            n
            for n, p in parameters.items()
            if p.kind is p.POSITIONAL_OR_KEYWORD and n in both and n not in ("indexing",)
        ]
        rest = {n: v for n, v in both.items() if n not in by_place}
        f(*args, *[both[n] for n in by_place], **rest)


def checks():
    for row in ROWS.strip().splitlines():
        row = row.strip()
        yield f"signature {row.split(' : ')[0]}", lambda xp, row=row: call(xp, row)
