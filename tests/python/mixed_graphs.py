"""Random graphs of every dtype: each op is drawn from a table and reads recent values, through
views, so that values have several readers near each other."""

import contextlib

import numpy as np

import mlx.core as mx

INTEGERS = [mx.uint8, mx.int8, mx.uint16, mx.int16, mx.uint32, mx.int32, mx.uint64, mx.int64]
FLOATS = [mx.float16, mx.bfloat16, mx.float32, mx.float64]
REALS = [*FLOATS, *INTEGERS, mx.bool_]
SHAPES = [(20, 21), (21,), (20, 1), (1, 21), (20, 20), (3, 5, 8), (), (2, 3, 1, 17)]
MOST = 40_000  # elements of a value


def is_complex(a):
    return a.dtype in (mx.complex64, mx.complex128)


def is_inexact(a):
    return mx.issubdtype(a.dtype, mx.inexact)


def is_float(a):
    return a.dtype in FLOATS


def is_integer(a):
    return a.dtype in INTEGERS


def pick(rng, items):
    return items[rng.integers(len(items))]


def small(a):
    """Values whose functions are finite."""
    return (
        a
        if is_complex(a) or a.dtype == mx.bool_
        else mx.clip(a, 0 if "u" in str(a.dtype) else -2, 2)
    )


def axis_of(rng, a):
    return int(rng.integers(a.ndim))


def positions(a, n):
    """Integers in [0, n) computed from the elements of an array."""
    if is_complex(a):
        a = mx.real(a)
    whole = mx.nan_to_num(small(a).astype(mx.float32)) * 3
    return mx.remainder(whole.astype(mx.int32), n)


# ---- ops of a program ---------------------------------------------------------------------------


def cast(rng, a, b):
    """To a dtype that is not smaller: complex numbers keep their real parts."""
    if is_complex(a):
        return mx.real(a)
    if is_inexact(a) and rng.integers(4) == 0:
        return mx.nan_to_num(mx.clip(a, 0, 100)).astype(pick(rng, INTEGERS))
    wider = [t for t in (*REALS, mx.complex64) if t.size >= a.dtype.size]
    if is_inexact(a):
        wider = [t for t in wider if t not in INTEGERS]
    return a.astype(pick(rng, wider))


def unary(rng, a, b):
    a = small(a)
    if is_complex(a):
        return getattr(mx, pick(rng, ["abs", "square", "negative", "exp", "conjugate", "imag"]))(a)
    if is_float(a):
        names = ["exp", "tanh", "square", "abs", "sigmoid", "erf", "floor", "sin", "log1p", "sqrt"]
        return getattr(mx, pick(rng, [*names, "sign", "isnan", "logical_not", "rsqrt", "round"]))(a)
    if a.dtype == mx.bool_:
        return mx.logical_not(a)
    return getattr(mx, pick(rng, ["abs", "square", "sign", "bitwise_invert", "logical_not"]))(a)


def fits(a, b):
    try:
        return mx.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return None


def binary(rng, a, b):
    shape = fits(a, b)
    if shape is None or np.prod(shape) > MOST:
        return a
    names = ["add", "multiply", "equal", "not_equal", "logical_and"]
    if not is_complex(a) and not is_complex(b):
        names += ["maximum", "minimum", "less", "greater_equal"]
        if mx.bool_ not in (a.dtype, b.dtype):
            names += ["subtract"]
        if is_integer(a) and is_integer(b):
            names += ["floor_divide", "remainder"]
            if mx.result_type(a, b) in INTEGERS:  # not of uint64 and a signed one
                names += ["bitwise_and", "bitwise_xor"]
        if is_float(a) and is_float(b):
            names += ["divide", "arctan2", "logaddexp", "power"]
            a = mx.abs(small(a))
    name = pick(rng, names)
    if name in ("floor_divide", "remainder"):
        a, b = mx.maximum(a, 0), mx.maximum(b, 1)
    return getattr(mx, name)(a, b)


def where(rng, a, b):
    shape = fits(a, b)
    if shape is None or np.prod(shape) > MOST:
        return a
    return mx.where(a == b, a, b) if rng.integers(2) else mx.where(a != 0, b, a)


def scalar(rng, a, b):
    """With a number of Python."""
    if is_complex(a) or a.dtype == mx.bool_:
        return a + 1
    return pick(
        rng, [lambda: a * 2, lambda: a + 1, lambda: 3 - small(a), lambda: mx.clip(a, 0, 5)]
    )()


# ---- other orders, shapes and parts of the same elements ----------------------------------------


def view(rng, a, b):
    kind = rng.integers(11)
    if kind == 0:
        return a.T
    if kind == 1:
        return a[None] if a.ndim < 3 else a.reshape(-1)
    if kind == 2:
        return a.reshape(-1)
    if kind == 3 and a.ndim:
        return a[::-1]
    if kind == 4 and a.ndim and a.shape[-1] > 2:
        return a[..., 1:]
    if kind == 5 and a.ndim < 3 and a.size * 20 <= MOST:
        return mx.broadcast_to(a, (20, *a.shape))
    if kind == 6:
        return mx.stop_gradient(a)
    if kind == 7 and a.ndim and a.shape[0] > 3:
        return a[::2]
    if kind == 8 and a.ndim > 1:
        return mx.unflatten(a.flatten(0, 1), 0, a.shape[:2])
    if kind == 9 and a.ndim and a.size and a.dtype.size > 1 and a.shape[-1] % 2 == 0:
        return a[..., ::-2]
    return a[..., None] if a.ndim < 3 else a.swapaxes(0, -1)


# ---- kernels of their own -----------------------------------------------------------------------


def reduction(rng, a, b):
    if a.ndim == 0 or a.size == 0:
        return a
    name = pick(
        rng, ["sum", "mean", "max", "min", "any", "all", "prod", "var", "logsumexp", "argmax"]
    )
    if is_complex(a):
        name = pick(rng, ["sum", "any"])
    elif name in ("logsumexp", "var", "mean") and not is_float(a):
        name = "sum"
    if name == "prod":
        a = small(a)
    keepdims = bool(rng.integers(2))
    axis = None if rng.integers(5) == 0 else axis_of(rng, a)
    return getattr(mx, name)(a, axis=axis, keepdims=keepdims)


def row_step(rng, a, b):
    """Steps over rows: softmax, normalisation, sorts, scans."""
    if a.ndim == 0 or a.size == 0:
        return a
    axis = pick(rng, [-1, 0])
    if is_float(a) and rng.integers(2):
        kind = rng.integers(4)
        if kind == 0:
            return mx.softmax(a, axis=axis)
        if kind == 1 and a.dtype != mx.float64:
            return mx.fast.rms_norm(a, None, 1e-5)
        if kind == 2:
            return (a - mx.mean(a, -1, keepdims=True)) * mx.rsqrt(mx.var(a, -1, keepdims=True) + 1)
        return a - mx.logsumexp(a, axis=axis, keepdims=True)
    if is_complex(a):
        return mx.cumsum(a, axis=axis)
    name = pick(rng, ["sort", "argsort", "cumsum", "cummax", "cumsum", "topk", "partition"])
    if name == "topk":
        return mx.topk(a, min(2, a.shape[axis]), axis=axis)
    if name == "partition":
        return mx.sort(mx.partition(a, a.shape[axis] // 2, axis=axis), axis=axis)
    if name == "argsort":
        return mx.argsort(a, axis=axis)
    more = (
        {}
        if name == "sort"
        else {"reverse": bool(rng.integers(2)), "inclusive": bool(rng.integers(2))}
    )
    return getattr(mx, name)(a, axis=axis, **more)


def product(rng, a, b):
    """A product of matrices with what is often added to it."""
    if a.ndim < 2 or not is_inexact(a) or is_complex(a) or a.size == 0:
        return a
    a = small(a)
    k = a.shape[-1]
    other = (
        a.swapaxes(-1, -2)
        if rng.integers(2)
        else mx.broadcast_to(small(a[..., :1, :1]), (*a.shape[:-2], k, 7))
    )
    if np.prod(a.shape[:-1]) * other.shape[-1] > MOST:
        return a
    out = a @ other
    kind = rng.integers(4)
    if kind == 1:
        return out + 1
    if kind == 2:
        return mx.tanh(out * 0.5)
    return mx.addmm(mx.sum(a), a, other) if kind == 3 and a.dtype != mx.float64 else out


def moved(rng, a, b):
    """Copies of elements to other places."""
    if a.ndim == 0 or a.size == 0:
        return a
    kind = rng.integers(7)
    if kind == 0:
        return mx.concatenate([a, a[::-1]], axis=0)[: a.shape[0] + 1]
    if kind == 1:
        return mx.split(a, [a.shape[0] // 2])[int(rng.integers(2))]
    if kind == 2:
        return mx.take(a, positions(b, a.shape[0]).reshape(-1)[:25], axis=0)
    if kind == 3 and a.size < MOST // 2:
        return mx.pad(a, 1, constant_values=1)
    if kind == 4:
        return mx.roll(a, 3, axis=-1)
    if kind == 5 and a.size < MOST // 2:
        return mx.repeat(a, 2, axis=-1)
    return mx.take_along_axis(a, positions(a, a.shape[-1]), axis=-1)


def updated(rng, a, b):
    """An array with elements that others replace, or that they are added to."""
    if a.ndim == 0 or a.size == 0 or a.dtype == mx.bool_:
        return a
    kind = rng.integers(4)
    if kind == 0:
        other = mx.array(a)
        other[..., 0] = 1
        return other
    if kind == 1:
        return a.at[1:].add(a[:-1])
    at = positions(b, a.shape[0]).reshape(-1)[:9]
    if at.size == 0:
        return a
    if kind == 2:
        return a.at[at].maximum(mx.array(1, a.dtype)) if not is_complex(a) else a
    return a.at[at].add(mx.array(1, a.dtype))


def loop(rng, a, b):
    """A loop with a body of several ops, or one of two branches."""
    if a.ndim == 0 or a.size == 0 or not is_float(a) or a.shape[0] > 32:
        return a
    kind = rng.integers(3)
    if kind == 0:

        def step(carry, x):
            carry = carry * 0.5 + mx.tanh(x)
            return carry, carry * x

        return mx.scan(step, mx.zeros(a.shape[1:], a.dtype), a)[1]
    if kind == 1:
        return mx.fori_loop(0, 3, lambda k, x: mx.tanh(x) + x * 0.25, a)
    return mx.cond(mx.sum(a) > 0, lambda x: mx.tanh(x) * 2, lambda x: x - 1, a)


def drawn(rng, a, b):
    """Random numbers, and numbers by position, with the values."""
    if a.size == 0 or is_complex(a) or a.size > MOST:
        return a
    key = mx.random.key(int(rng.integers(100)))
    if rng.integers(2) and a.ndim:
        return a + mx.arange(a.shape[-1]).astype(a.dtype)
    return mx.random.uniform(shape=a.shape, key=key) + a.astype(mx.float32)


OPS = [cast] * 3 + [unary] * 3 + [binary] * 5 + [where] * 2 + [scalar] + [view] * 3
KINDS = 3  # in one of three graphs a kernel is one of the ops
KERNELS = [reduction, row_step, product, moved, updated, loop, drawn]


def run(seed, inputs, alone=False, streams=()):
    """Some values of a random graph; `alone`: each value is evaluated before it is read. Ops run on
    the default stream, or each on one of the streams given."""
    rng, of_streams = np.random.default_rng(seed), np.random.default_rng(seed)
    ops = OPS + [kernel for kernel in KERNELS if rng.integers(KINDS) == 0]
    values = list(inputs)
    for _ in range(int(rng.integers(6, 24))):
        recent = [int(rng.integers(max(0, len(values) - n), len(values))) for n in (3, 6)]
        with mx.stream(pick(of_streams, streams)) if streams else contextlib.nullcontext():
            made = pick(rng, ops)(rng, *(values[k] for k in recent))
        if alone:
            mx.eval(made)
        values.append(made)
    wanted = rng.integers(len(inputs), len(values), 2)
    return [values[-1], *(values[k] for k in wanted)]


def inputs_of(seed):
    rng = np.random.default_rng(seed)
    palette = REALS if rng.integers(2) else [*FLOATS, mx.bool_]
    found = []
    for _ in range(3):
        a = mx.array(rng.integers(-4, 5, pick(rng, SHAPES)).astype(np.float32) / 2)
        dtype = pick(rng, palette)
        found.append((mx.abs(a) if dtype in INTEGERS else a).astype(dtype))
    mx.eval(found)
    return found


def bits(arrays):
    """Dtypes, shapes and bytes; any NaN is the same one."""

    def bytes_of(a):
        x = np.array(a.astype(mx.float32) if a.dtype == mx.bfloat16 else a)
        if is_inexact(a):
            x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x)
        return x.tobytes()

    return [(a.dtype, a.shape, bytes_of(a)) for a in arrays]
