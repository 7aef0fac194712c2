"""The GPU's results equal the CPU's, bit for bit: run on a backend or a GPU."""

import itertools

import numpy as np
import pytest

import mlx.core as mx

REAL = [mx.float16, mx.bfloat16, mx.float32, mx.float64]
INTEGERS = [mx.int8, mx.int16, mx.int32, mx.int64, mx.uint8, mx.uint16, mx.uint32, mx.uint64]
DTYPES = [mx.bool_, *INTEGERS, *REAL, mx.complex64, mx.complex128]


def bits(a):
    """The bytes of an array's elements, every NaN the same."""
    if a.dtype == mx.bfloat16:
        a = a.astype(mx.float32, stream=mx.cpu)
    x = np.array(a)
    parts = [x.real, x.imag] if np.iscomplexobj(x) else [x]
    whole = []
    for p in parts:
        p = np.ascontiguousarray(p)
        whole.append(np.where(p != p, np.zeros_like(p), p).tobytes() + (p != p).tobytes())
    return whole


def values(dtype, shape, seed=0):
    """An array of the dtype with elements of every size."""
    rng = np.random.default_rng(seed)
    if dtype == mx.bool_:
        return mx.array(rng.random(shape) < 0.5)
    if dtype in INTEGERS:
        info = mx.iinfo(dtype)
        name = str(dtype).rsplit(".", 1)[-1]
        return mx.array(rng.integers(info.min, info.max, shape, name, endpoint=True))
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)
    if dtype in (mx.complex64, mx.complex128):
        x = x + 1j * rng.standard_normal(shape)
    return mx.array(x, dtype)


def check(f, *arrays, **options):
    """Calls f on the GPU and on the CPU and compares."""
    on_gpu, on_cpu = f(*arrays, stream=mx.gpu, **options), f(*arrays, stream=mx.cpu, **options)
    assert (on_gpu.shape, on_gpu.dtype) == (on_cpu.shape, on_cpu.dtype)
    assert bits(on_gpu) == bits(on_cpu)


# On a driver of the host each kernel takes a third of a second to compile.
pytestmark = [pytest.mark.gpu_only, pytest.mark.sampled(0.5)]

REDUCTIONS = ["sum", "prod", "max", "min", "mean", "any", "all"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [*REDUCTIONS, "argmax", "argmin"])
def test_reductions(name, dtype):
    f = getattr(mx, name)
    x = values(dtype, (37, 5, 41))
    axes = [0, 1, 2, None] if name.startswith("arg") else [0, 1, 2, None, (0, 2), (1, 2)]
    for axis in axes:
        check(f, x, axis=axis)
    check(f, x.transpose(2, 0, 1), axis=0)
    check(f, x[::-2, :, ::3], axis=2)
    check(f, mx.broadcast_to(x[:1], (4, 5, 41)), axis=0)


@pytest.mark.parametrize("length", [1, 31, 32, 33, 511, 512, 513, 4096, 70001, 300001])
def test_the_order_of_sums(length):
    x = values(mx.float32, (length,))
    check(mx.sum, x)
    check(mx.sum, mx.broadcast_to(x[:, None], (length, 3)) * mx.array([1.0, 3.0, 0.1]), axis=0)


def test_columns():
    x = values(mx.float32, (3000, 70))
    for f, axis in itertools.product((mx.sum, mx.max, mx.mean, mx.argmax), (0, 1)):
        check(f, x, axis=axis)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "any", "all"])
def test_reductions_of_nothing(name):
    check(getattr(mx, name), mx.zeros((3, 0)), axis=1)


@pytest.mark.parametrize("dtype", [mx.bool_, mx.int8, mx.uint16, mx.int32, mx.uint64], ids=str)
def test_products_of_integers(dtype):
    a, b = values(dtype, (3, 70, 130), 1), values(dtype, (130, 65), 2)
    check(mx.matmul, a, b)
    check(mx.matmul, a.transpose(0, 2, 1)[:, ::-1], values(dtype, (3, 70, 9), 3))


FLOATS = {mx.float16: 2e-3, mx.bfloat16: 2e-2, mx.float32: 1e-5, mx.float64: 1e-13}


@pytest.mark.parametrize("dtype", [*FLOATS, mx.complex64, mx.complex128], ids=str)
def test_products_of_floats(dtype):
    bound = FLOATS.get(dtype) or (1e-5 if dtype == mx.complex64 else 1e-13)
    wide = mx.complex128 if dtype in (mx.complex64, mx.complex128) else mx.float64
    for shape_a, shape_b in (((37, 1100), (1100, 66)), ((2, 1, 5, 7), (3, 7, 1)), ((4, 0), (0, 3))):
        rng = np.random.default_rng(4)
        a, b = (mx.array(rng.standard_normal(s)).astype(dtype) for s in (shape_a, shape_b))
        found = np.array(mx.matmul(a, b, stream=mx.gpu).astype(wide, stream=mx.cpu))
        a, b = (np.array(x.astype(wide, stream=mx.cpu)) for x in (a, b))
        size = np.abs(a) @ np.abs(b)
        assert (np.abs(found - a @ b) <= bound * size + 1e-30).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_concatenate(dtype):
    a, b, c = values(dtype, (4, 5, 3), 1), values(dtype, (4, 2, 3), 2), values(dtype, (4, 0, 3), 3)

    def joined(a, b, c, stream):
        return mx.concatenate([a, b[::-1], c, a.transpose(0, 1, 2)[:, ::-2]], axis=1, stream=stream)

    check(joined, a, b, c)


def near(f, *arrays, bound, **options):
    """Calls f on the GPU and on the CPU; elements differ by `bound` of the largest."""
    found, wanted = (
        np.array(f(*arrays, stream=s, **options).astype(mx.float64, stream=mx.cpu))
        for s in (mx.gpu, mx.cpu)
    )
    assert found.shape == wanted.shape and (np.isnan(found) == np.isnan(wanted)).all()
    found, wanted = np.nan_to_num(found), np.nan_to_num(wanted)
    assert (np.abs(found - wanted) <= bound * max(np.abs(wanted).max(initial=0), 1e-6)).all()


BOUNDS = {mx.float16: 1e-3, mx.bfloat16: 8e-3, mx.float32: 1e-6, mx.float64: 1e-14}


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("length", [1, 7, 33, 64, 100, 260, 1024, 1500, 9000])
def test_rows(dtype, length):
    x, bound = values(dtype, (5, length)), BOUNDS[dtype]
    weight, bias = values(dtype, (length,), 1), values(dtype, (length,), 2)
    infinite = mx.full((2, length), -float("inf"), dtype)
    ends = mx.full((3, length), -float("inf"), dtype)  # and numbers, infinity or NaN behind them
    ends[0, length // 2 :], ends[1, -1], ends[2, -1] = x[0, length // 2 :], float("inf"), mx.nan
    for a in (x, x[::-1], infinite, ends, mx.broadcast_to(x[:1], x.shape)):
        for axis in (0, 1):
            near(mx.softmax, a, axis=axis, bound=bound)
        near(mx.logsumexp, a, axis=1, bound=bound)
        if a is not infinite and a is not ends:
            for w, b in ((weight, bias), (None, None)):
                near(mx.fast.layer_norm, a, weight=w, bias=b, eps=1e-5, bound=8 * bound)
            near(mx.fast.rms_norm, a, weight=weight, eps=1e-5, bound=8 * bound)

    def in_place(a, stream):
        with mx.stream(stream):
            return mx.fast.rms_norm(a + a, weight, 1e-5)

    near(in_place, values(dtype, (203, length)), bound=8 * bound)


@pytest.mark.parametrize("dtype", [*FLOATS, mx.complex64, mx.complex128], ids=str)
def test_products_with_an_addend(dtype):
    rng = np.random.default_rng(6)
    a, b, *addends = (
        mx.array(rng.standard_normal(s)).astype(dtype, stream=mx.cpu)
        for s in ((3, 5, 40), (40, 6), (6,), (3, 5, 6), (3, 1, 1))
    )
    for c in addends:
        for alpha, beta in ((1, 1), (0.5, 2), (2, 0)):
            on_gpu, on_cpu = (
                np.array(
                    mx.addmm(c, a, b, alpha, beta, stream=s).astype(mx.complex128, stream=mx.cpu)
                )
                for s in (mx.gpu, mx.cpu)
            )
            size = np.abs(on_cpu).max()
            assert (np.abs(on_gpu - on_cpu) <= 4 * FLOATS.get(dtype, 1e-5) * size).all()


INDEX_TYPES = [mx.int8, mx.uint8, mx.int32, mx.uint32, mx.int64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reads_at_indices(dtype):
    x = values(dtype, (6, 7, 5))
    for t in INDEX_TYPES:
        signed = t in (mx.int8, mx.int32, mx.int64)
        at = mx.array([[1, -1 if signed else 3], [0, 4]], dtype=t)
        for axis in range(3):
            check(mx.take, x, at, axis=axis)
            check(mx.take, x.transpose(2, 0, 1)[:, ::-1], at, axis=axis)
        check(mx.take, x, mx.zeros((0,), t), axis=1)
        check(mx.take_along_axis, x, at[None, :, :1], axis=1)
    rows = [mx.array([0, 2, -1]), mx.array([[1], [3]], dtype=mx.uint8)]
    for stream_free in (lambda x: x[rows[0], :, rows[1]], lambda x: x[rows[0], rows[1]]):
        check(lambda x, stream, f=stream_free: on(stream, f, x), x)
    starts = mx.array([1, 2])
    check(lambda x, s, stream: mx.slice(x, s, (0, 2), (3, 7, 2), stream=stream), x, starts)


def on(stream, f, *arrays):
    """f with a default stream."""
    with mx.stream(stream):
        return f(*arrays)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_writes_at_indices(dtype):
    x, u = values(dtype, (6, 7, 5), 1), values(dtype, (4, 7, 5), 2)
    at = mx.array([1, 3, 1, -1])  # one of them twice

    def assigned(x, u):
        y = x + mx.zeros((), x.dtype)
        y[at] = u
        y[1:5:2, ::-3] = u[:2, :3]
        return y

    check(lambda x, u, stream: on(stream, assigned, x, u), x, u)
    for name in ("add", "multiply", "maximum", "minimum"):
        f = lambda x, u, name=name: getattr(x.at[at], name)(u)  # noqa: E731
        check(lambda x, u, stream, f=f: on(stream, f, x, u), x, u)
    along = mx.argmax(x.astype(mx.float32, stream=mx.cpu), axis=1, keepdims=True, stream=mx.cpu)
    check(mx.put_along_axis, x, along, u[:1, :1, :1], axis=1)
    starts = mx.array([1, 2])
    check(lambda x, u, s, stream: mx.slice_update(x, u, s, (0, 2), stream=stream), x, u[:, :, :2],
          starts)  # fmt: skip


def test_many_writes_to_few_places():
    rng = np.random.default_rng(5)
    at = mx.array(rng.integers(0, 50, 5000))
    for shape in ((), (3,), (40,)):
        x, u = values(mx.float32, (50, *shape), 1), values(mx.float32, (5000, *shape), 2)
        check(lambda x, u, stream: on(stream, lambda: x.at[at].add(u)), x, u)


@pytest.mark.parametrize("stream", [mx.gpu, mx.cpu], ids=str)
def test_indices_out_of_range(stream):
    x = mx.arange(30.0).reshape(5, 6)
    kept = mx.exp(x, stream=stream)
    cases = [
        (
            lambda: mx.take(x, mx.array([1, 5]), axis=0, stream=stream),
            "index 5 .* axis 0 with size 5",
        ),
        (
            lambda: mx.take(x, mx.array([-7]), axis=1, stream=stream),
            "index -7 .* axis 1 with size 6",
        ),
        (lambda: mx.take(x[:, :0], mx.array([9]), axis=0, stream=stream), "index 9 .* axis 0"),
        (lambda: on(stream, lambda: x.at[mx.array([8])].add(1)), "index 8 .* axis 0"),
        (lambda: mx.put_along_axis(x, mx.array([[6]]), mx.array(0.0), 1, stream=stream), "index 6"),
        (lambda: mx.slice(x, mx.array([4]), (0,), (2, 6), stream=stream), "index 4"),
    ]
    for make, message in cases:
        bad = make()
        with pytest.raises(IndexError, match=message):
            mx.eval(bad, kept)
    assert abs(kept[0, 1].item() - np.e) < 1e-6


def test_random_numbers():
    key = mx.random.key(7)
    for shape in ((), (1,), (7,), (1001,), (3, 64)):
        check(
            lambda stream, shape=shape: mx.random.randint(0, 1 << 30, shape, key=key, stream=stream)
        )
        check(lambda stream, shape=shape: mx.random.uniform(shape=shape, key=key, stream=stream))
    check(lambda stream: mx.random.split(key, 5, stream=stream))


@pytest.mark.parametrize("dtype", [mx.float16, mx.float32, mx.int32, mx.complex64], ids=str)
def test_reductions_of_computed_inputs(dtype):
    x, y = values(dtype, (40, 33), 1), values(dtype, (33,), 2)
    for axis in (0, 1, None, (0, 1)):
        for f in (mx.sum, mx.max):
            check(lambda x, y, stream, f=f, axis=axis: on(
                stream, lambda: f(mx.abs(x * 2 - y) + x, axis=axis)), x, y)  # fmt: skip
    long = values(dtype, (70001,), 3)
    check(lambda x, stream: on(stream, lambda: mx.sum(x * x - 3)), long)
    check(lambda x, stream: on(stream, lambda: mx.argmax(mx.square(x))), long)
