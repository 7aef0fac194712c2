"""The backend for Metal on its emulated device: `pytest --backend metal metal_checks.py`.

test_metal.py runs it, and the files that compare devices. Results have the CPU's bits, in every
layout, fused or not. Ops that have kernels run by these (conftest.py).
"""

import numpy as np
import pytest
import second_backend
from cases.elementwise import parse
from processes import SANITIZED, run_program
from test_devices_agree import INTEGERS, bits, values

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

pytestmark = [pytest.mark.gpu_only, pytest.mark.sampled(0.1)]  # --all runs all
FLOATS = [mx.float16, mx.bfloat16, mx.float32]
DTYPES = [mx.bool_, *INTEGERS, *FLOATS, mx.complex64]

# Ops by the dtypes that they take; arguments that are finite in each.
ANY = ["abs", "square", "sign", "isnan", "isinf", "logical_not", "real", "imag", "conjugate"]
REAL = ["floor", "ceil", "trunc"]
INEXACT = [
    *("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sqrt", "rsqrt", "sigmoid"),
    *("reciprocal", "negative"),
]
FLOATING = ["erf", "erfc", "erfinv", "lgamma", "digamma", "cbrt"]
BINARY_ANY = ["add", "subtract", "multiply", "maximum", "minimum", "equal", "less", "greater_equal"]
BINARY_REAL = ["floor_divide", "remainder"]
BINARY_INTEGRAL = [
    *(row["name"] for row in parse() if (row["domain"], row["arity"]) == ("integral", "2"))
]
BINARY_INEXACT = ["divide", "power", "logaddexp"]


def unary(dtype):
    """Names of unary ops that take a dtype as it is."""
    names = list(ANY)
    if dtype != mx.complex64:
        names += REAL
    if dtype in FLOATS or dtype == mx.complex64:
        names += INEXACT
    if dtype in FLOATS:
        names += FLOATING
    return names


def binary(dtype):
    """Names of binary ops that take a dtype as it is."""
    names = list(BINARY_ANY)
    if dtype == mx.bool_:
        names = [n for n in names if n != "subtract"]
    if dtype != mx.complex64:
        names += BINARY_REAL
    if dtype in INTEGERS:
        names += BINARY_INTEGRAL
    if dtype in FLOATS or dtype == mx.complex64:
        names += BINARY_INEXACT
    return names


def special(dtype, shape):
    """Elements of every size, with infinities, NaN, zeros and large angles among floats.

    Complex ones are finite: the sign of a zero beside a NaN is not fixed.
    """
    x = values(dtype, shape)
    if dtype not in FLOATS:
        return x
    numbers = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1e-30, 3e38, -1e5, 12345678.0]
    return mx.concatenate([mx.array(numbers).astype(dtype), x.reshape(-1)])[: x.size].reshape(shape)


def agree(f, *arrays):
    """Calls f on Metal and on the CPU, and compares the bits of all its results."""
    results = []
    for device in (mx.gpu, mx.cpu):
        mx.set_default_device(device)
        try:
            results.append(f(*arrays))
            mx.eval(results[-1])
        finally:
            mx.set_default_device(mx.gpu)
    for n, (x, y) in enumerate(zip(*results, strict=True)):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert bits(x) == bits(y), n


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_unary_ops(dtype):
    """Each op's bits."""
    names = unary(dtype)
    x = special(dtype, (13, 7))
    for part in (names[k : k + 8] for k in range(0, len(names), 8)):
        agree(lambda a, part=part: [getattr(mx, n)(a) for n in part], x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_binary_ops(dtype):
    """Each op's bits, the second operand broadcast and the first across."""
    names = binary(dtype)
    x, y = special(dtype, (13, 7)), values(dtype, (1, 13), seed=1)
    for part in (names[k : k + 6] for k in range(0, len(names), 6)):
        agree(lambda a, b, part=part: [getattr(mx, n)(a.T, b) for n in part], x, y)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_casts(dtype):
    """To every dtype; through the CPU to and from float64 and complex128."""
    x = special(dtype, (5, 9))
    agree(lambda a: [a.astype(t) for t in (*DTYPES, mx.float64, mx.complex128)], x)


LAYOUTS = {
    "rows": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "steps": lambda a: a[::2, 1::3],
    "row": lambda a: mx.broadcast_to(a[:1], a.shape),
    "column": lambda a: mx.broadcast_to(a[:, :1], a.shape),
    "scalar": lambda a: a.reshape(-1)[3],
    "empty": lambda a: a[:0],
    "one": lambda a: a[2:3, 2:3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(6, 5), (70, 130), (3, 4, 5)])
def test_chains_in_layouts(layout, shape):
    """A chain of two operands, one in each layout, and scalars."""
    x, y = values(mx.float32, shape), values(mx.float16, shape, seed=1)

    def chain(a, b):
        p, q = LAYOUTS[layout](a), b if layout == "row" else LAYOUTS[layout](b)
        s = mx.exp(-mx.abs(p)) * 3 + q
        return [s, mx.where(s > 1, p, q * 0.5).astype(mx.bfloat16), (s * s).T]

    agree(chain, x, y)


@pytest.mark.parametrize("dtype", [*DTYPES, mx.float64, mx.complex128], ids=str)
def test_copies(dtype):
    """Copies of bits in every layout, concatenation, and writes to slices."""
    x = values(dtype, (6, 8))
    y = values(dtype, (6, 8), seed=1)

    def copies(a, b):
        out = [mx.contiguous(f(a)) for f in LAYOUTS.values()]
        out += [mx.concatenate([a, b[:, ::-1]], axis=1), mx.concatenate([a.T, b.T[:0]])]
        return [*out, mx.slice_update(a, b[::2, :3], mx.array([1, 2]), (0, 1))]

    agree(copies, x, y)


def test_creation():
    """Ranges, constants and random bits."""

    def create():
        made = [mx.arange(3, 90, 7, dtype=t) for t in (*INTEGERS, *FLOATS)]
        made += [mx.full((3, 5), 2.5, t) for t in FLOATS] + [mx.eye(7), mx.tri(4), mx.zeros((0, 3))]
        mx.random.seed(5)
        made += [mx.random.uniform(shape=(n,)) for n in (1, 7, 1000)]
        return [
            *made,
            mx.random.normal((33, 5)),
            mx.random.bernoulli(0.3, (50,)),
            mx.linspace(0, 1, 9),
        ]

    agree(create)


def test_long_and_wide_arrays():
    """More elements than a launch has threads, and tiles with ragged edges."""
    x = values(mx.float32, (1, 300000))
    agree(lambda a: [a * 2 + 1], x)
    wide = values(mx.int64, (140, 150))
    agree(lambda a, b: [a.T + b], wide, values(mx.int64, (150, 140), seed=1))
    y = values(mx.float32, (131, 197))
    agree(lambda a, b: [a.T + b, (a * 3).T.reshape(-1)], y, values(mx.float32, (197, 131)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions(dtype):
    """Along rows, columns and all, short and long, also of what is not in rows."""
    x = values(dtype, (37, 5, 41))
    names = ["sum", "max", "min", "any", "all", "mean", "argmax", "argmin"]

    def reduce(a):
        out = [getattr(mx, n)(a, axis=d) for n in names for d in (0, 2)]
        out += [mx.sum(a), mx.sum(a.T, axis=1), mx.max(a[::-2, :, ::3], axis=2)]
        return [*out, mx.sum(a.reshape(-1, 1), axis=1), mx.sum(a[:, :0], axis=1)]

    agree(reduce, x)


@pytest.mark.parametrize("length", [31, 513, 70001])
def test_long_reductions(length):
    """Sums in chunks, of one row and of a few columns."""
    x = values(mx.float32, (length,))
    three = mx.array([1.0, 3.0, 0.1])
    agree(lambda a: [mx.sum(a), mx.sum(a[:, None] * three, axis=0), mx.argmax(a)], x)


PRODUCTS = [mx.float32, mx.float16, mx.bfloat16, mx.int32, mx.complex64]


@pytest.mark.parametrize("dtype", PRODUCTS, ids=str)
def test_products(dtype):
    """Ragged tiles, transposed and broadcast operands, an addend; near the CPU's, which add up
    in another order."""
    rng = np.random.default_rng(3)
    a, b, c = (
        mx.array(rng.integers(-9, 9, shape) / (1 if dtype == mx.int32 else 8)).astype(dtype)
        for shape in ((2, 70, 33), (65, 33), (65,))
    )

    def products(stream):
        out = [mx.matmul(a, b.T, stream=stream), mx.matmul(a[:, :1], b.T, stream=stream)]
        out += [mx.matmul(b[:, :0], mx.zeros((0, 3), dtype), stream=stream)]
        if dtype != mx.int32:
            out.append(mx.addmm(c, a, b.T, 0.5, 2.0, stream=stream))
        return out

    for x, y in zip(products(mx.gpu), products(mx.cpu), strict=True):
        scale = 1e-2 if dtype in (mx.float16, mx.bfloat16) else 1e-6
        p, q = (np.array(v.astype(mx.complex64, stream=mx.cpu)) for v in (x, y))
        assert x.dtype == y.dtype
        assert (np.abs(p - q) <= scale * np.abs(q).max(initial=1)).all()


ORDERED = """
import second_backend
second_backend.use("metal")
from test_devices_agree import bits, values
import mlx.core as mx
x, line = values(mx.float32, (40, 70)), values(mx.int32, (9001,))
keys = values(mx.uint8, (3000,))
many = values(mx.float32, (70, 1500))
def attend(q, k, v):
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=0.5)
results = [
    mx.softmax(x, axis=0), mx.logsumexp(x, axis=1), mx.fast.layer_norm(x, x[0], x[1], 1e-5),
    mx.sum(x, axis=0), mx.argmax(x, axis=1), mx.cumsum(x, axis=1), mx.cumsum(line), mx.sort(line),
    mx.argsort(line), mx.partition(line, 4000), mx.sort(x, axis=0),
    mx.zeros((256,)).at[keys].add(1.5),
    mx.bincount(keys), mx.nonzero(keys > 9), x[x[:, 0] > 0], mx.matmul(x, x.T),
    mx.fft.fft(x), mx.fft.rfft(x, 97, axis=0), mx.fft.fft(line[:5000]), mx.fft.ifft(x, 1100, 0),
    mx.conv1d(x[None], values(mx.float32, (3, 5, 70))), mx.hadamard_transform(x[:, :64]),
    mx.quantized_matmul(x[:, :64], *mx.quantize(values(mx.float32, (9, 64)))),
    mx.fast.rope(x[None], 70, traditional=False, base=1e4, scale=1.0, offset=3),
    mx.fast.scaled_dot_product_attention(*(x[None, None] for _ in range(3)), scale=0.5),
    *mx.vjp(attend, [x[None, None]] * 3, [x[None, None]])[1],
    mx.sum(x * x, axis=0), mx.max(mx.abs(x) - x[0], axis=1), mx.mean(mx.square(many), axis=1),
    many * mx.rsqrt(mx.mean(many * many, axis=1, keepdims=True) + 1e-5),
]
print([b.hex() for a in results for b in bits(a[0] if isinstance(a, tuple) else a)])
"""


@pytest.mark.sampled(1)
def test_bits_do_not_depend_on_the_order_of_threads():
    """A kernel without a barrier that it needs gives others."""
    seen = set()
    for order in ("7",) if SANITIZED else ("forward", "backward", "7"):
        code, out, error = run_program(ORDERED, MLX_DEVICE="", MLX_EMULATION_ORDER=order)
        assert (code, error) == (0, ""), error
        seen.add(out)
    assert len(seen) == 1 and len(seen.pop()) > 10000


FORKED = """
import os, second_backend, mlx.core as mx
second_backend.use("metal")
a = mx.ones((2048, 512))
pending = mx.sum(mx.exp(a) * mx.sin(a))
mx.async_eval(pending)
child = os.fork()
if child == 0:
    code = 1
    try:
        assert mx.default_device() == mx.Device(mx.cpu), mx.default_device()
        assert (mx.ones((2,)) + 1).tolist() == [2, 2]
        for act in (lambda: mx.eval(mx.add(mx.ones((2,)), 1, stream=mx.gpu)), pending.item):
            try:
                act()
            except RuntimeError as e:
                assert "before this process was forked" in str(e), e
            else:
                raise AssertionError
        code = 0
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert abs(pending.item() / (2048 * 512) - 2.2873552871788423) < 1e-4
"""


def test_a_forked_child_has_the_cpu_alone():
    """Work that was under way, and new work, are errors there."""
    assert run_program(FORKED, MLX_DEVICE="") == (0, "", "")


FUSION = """
from test_devices_agree import bits, values
import mlx.core as mx
x, y = values(mx.float32, (37, 41)), values(mx.float16, (41, 37), seed=1)
s = mx.tanh(x) * mx.sin(y.T) + x
r = [s, mx.where(s > 0, mx.sqrt(mx.abs(s)), y.T), mx.power(mx.abs(x), s.astype(mx.bfloat16))]
print([b.hex() for a in r for b in bits(a)])
"""


def test_fusion_changes_no_bits():
    """Each op alone gives the bits of one kernel."""
    seen = set()
    for disabled in ("0", "1"):
        code, out, error = run_program(FUSION, MLX_DISABLE_FUSION=disabled)
        assert code == 0, error
        seen.add(out)
    assert len(seen) == 1 and len(seen.pop()) > 1000


@pytest.mark.parametrize("dtype", [mx.int32, *FLOATS, mx.complex64], ids=str)
@pytest.mark.parametrize("shape", [(311, 120), (70, 1500), (2000, 33)], ids=str)
def test_reductions_with_programs(shape, dtype):
    """Bits of reductions with a program in front, and of steps that share rows."""
    x = values(dtype, shape)
    last = {"axis": -1, "keepdims": True}
    reduced = [
        lambda a, w: mx.sum(a * w, axis=0),
        lambda a, w: mx.sum(mx.square(a - w), axis=1),
        lambda a, w: mx.max(a * w, axis=1),
        lambda a, w: mx.argmax(a - w, axis=1),
        lambda a, w: mx.mean(a * a),
        lambda a, w: mx.any(a == w, axis=0),
    ]
    rows = [
        lambda a, w: (a - mx.mean(a, **last)) * w,
        lambda a, w: (a - w) / mx.sum(mx.abs(a), **last),
        lambda a, w: a - mx.max(a, **last),
    ]
    for formulas in (reduced, rows):
        agree(lambda a, w, some=formulas: [f(a, w) for f in some], x, mx.contiguous(x[0]))


def ran(body, inputs, outputs, grid, *, group=(32, 1, 1), shapes, dtypes, **options):
    """The results of a kernel with a source."""
    making = {
        k: options.pop(k)
        for k in ("header", "ensure_row_contiguous", "atomic_outputs")
        if k in options
    }
    names = [f"out{k}" if k else "out" for k in range(outputs)]
    kernel = mx.fast.metal_kernel("tested", list(inputs), names, body, **making)
    return kernel(
        inputs=list(inputs.values()),
        output_shapes=shapes,
        output_dtypes=dtypes,
        grid=grid,
        threadgroup=group,
        **options,
    )


EACH = """
uint i = thread_position_in_grid.x;
T x = a[i];
out[i] = T(Twice ? 2 : 1) * metal::exp(x) + T(N) * scale;
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_source_of_each_element(dtype):
    """Template arguments, and an input without axes as a reference."""
    a = values(mx.float32, (5, 21)).astype(dtype)
    inputs = {"a": a, "scale": mx.array(0.5, mx.float32)}
    template = [("T", dtype), ("Twice", True), ("N", 3)]
    (got,) = ran(EACH, inputs, 1, (105, 1, 1), shapes=[a.shape], dtypes=[dtype], template=template)
    a = np.array(a.astype(mx.float32))
    wanted = 2 * np.exp(a) + 1.5
    near = {mx.float32: 1e-6, mx.float16: 2e-3, mx.bfloat16: 2e-2}[dtype]
    got = np.array(got.astype(mx.float32))
    finite = np.isfinite(wanted) & (wanted < 6e4)
    assert (np.abs(got - wanted) <= near * np.abs(wanted))[finite].all()


CONSTANTS = """
uint i = thread_position_in_grid.x;
float x = i < 3 ? a[i] : 0.7;
out[i] = x * 0.1 == x * 0.1f ? x : -1.0;
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_constants_of_a_source_are_floats(dtype):
    """Also beside a shorter float; the language has no double."""
    a = mx.array([0.5, 1.5, 2.5], dtype)
    (got,) = ran(CONSTANTS, {"a": a}, 1, (5, 1, 1), shapes=[(5,)], dtypes=[mx.float32])
    assert got.tolist() == [0.5, 1.5, 2.5, *[np.float32(0.7).item()] * 2]


STRIDED = """
uint i = thread_position_in_grid.x;
out[i] = a[elem_to_loc(i, a_shape, a_strides, a_ndim)] + b[0] * threads_per_grid.x;
"""


@pytest.mark.sampled(1)
def test_a_source_with_shapes_and_strides():
    """An input that is not in rows keeps its layout, where the kernel asks for that."""
    x = values(mx.int32, (6, 7, 5))
    b = mx.array([3], mx.int32)
    for a in (x.T, x[::2, :, ::3], mx.broadcast_to(x[:1], x.shape), x[1]):
        for rows in (False, True):
            (got,) = ran(
                STRIDED,
                {"a": a, "b": b},
                1,
                (a.size, 1, 1),
                shapes=[(a.size,)],
                dtypes=[mx.int32],
                ensure_row_contiguous=rows,
            )
            assert got.tolist() == (a.reshape(-1) + 3 * a.size).tolist()


SUMS = """
threadgroup float parts[64];
uint t = thread_position_in_threadgroup.x;
parts[t] = a[thread_position_in_grid.x];
threadgroup_barrier(mem_flags::mem_threadgroup);
for (uint h = 32; h > 0; h /= 2) {
  if (t < h) parts[t] += parts[t + h];
  threadgroup_barrier(mem_flags::mem_threadgroup);
}
if (t == 0) atomic_fetch_add_explicit(&out[0], own(parts[0]), memory_order_relaxed);
"""


@pytest.mark.sampled(1)
def test_a_source_with_shared_memory_and_atomic_outputs():
    """Functions of the header; outputs that have a value before the kernel runs."""
    a = mx.arange(256, dtype=mx.float32)
    (got,) = ran(
        SUMS,
        {"a": a},
        1,
        (256, 1, 1),
        group=(64, 1, 1),
        shapes=[(3,)],
        dtypes=[mx.float32],
        header="inline float own(float x) { return x + 1; }",
        atomic_outputs=True,
        init_value=2.0,
    )
    assert got.tolist() == [2 + 255 * 128 + 4, 2, 2]


@pytest.mark.sampled(1)
def test_wrong_sources_and_calls():
    """Each has an error that says what is wrong, and the next launch works."""
    a = mx.ones((8,))
    call = {"shapes": [(8,)], "dtypes": [mx.float32]}
    with pytest.raises(RuntimeError, match="nothing_of_this_name"):
        mx.eval(ran("out[0] = nothing_of_this_name;", {"a": a}, 1, (8, 1, 1), **call))
    good = "out[thread_position_in_grid.x] = a[0];"
    with pytest.raises(ValueError, match="threadgroup"):
        mx.eval(ran(good, {"a": a}, 1, (4096, 1, 1), group=(2048, 1, 1), **call))
    with pytest.raises(ValueError, match="positive numbers"):
        ran(good, {"a": a}, 1, (0, 1, 1), **call)
    with pytest.raises(ValueError, match="0 outputs"):
        ran(good, {"a": a}, 1, (8, 1, 1), shapes=[(8,)], dtypes=[])
    with pytest.raises(ValueError, match="float64"):
        ran(good, {"a": a.astype(mx.float64, stream=mx.cpu)}, 1, (8, 1, 1), **call)
    with pytest.raises(ValueError, match="no derivative"):
        mx.grad(lambda x: ran(good, {"a": x}, 1, (8, 1, 1), **call)[0].sum())(a)
    assert ran(good, {"a": a}, 1, (8, 1, 1), **call)[0].tolist() == [1.0] * 8


@pytest.mark.sampled(1)
def test_the_device_is_named():
    """mx.metal and mx.device_info tell of it."""
    assert mx.metal.is_available() and not mx.cuda.is_available()
    for info in (mx.metal.device_info(), mx.device_info(mx.gpu)):
        assert info["device_name"] and info["max_buffer_length"] > 0


CAPTURED = """
import os, pathlib, second_backend, mlx.core as mx
second_backend.use("metal")
path = pathlib.Path(FOLDER) / "one.gputrace"
def refused(act, *words):
    try:
        act()
    except RuntimeError as e:
        assert all(w in str(e) for w in words), e
    else:
        raise AssertionError
refused(mx.metal.stop_capture, "no capture has begun")
refused(lambda: mx.metal.start_capture(str(path)), "MTL_CAPTURE_ENABLED=1")
os.environ["MTL_CAPTURE_ENABLED"] = "1"
refused(lambda: mx.metal.start_capture("/nothing/there/two.gputrace"), "/nothing/there")
mx.eval(mx.sort(mx.arange(99)))
mx.metal.start_capture(str(path))
refused(lambda: mx.metal.start_capture(str(path) + "2"), "under way")
mx.eval(mx.sum(mx.arange(7.0) * 2))
mx.metal.stop_capture()
mx.eval(mx.softmax(mx.arange(7.0)))
text = path.read_text()
assert "reduce" in text and "sort" not in text and "rows" not in text, text
refused(lambda: mx.metal.start_capture(str(path)), "exists")
mx.metal.start_capture(str(path) + "2")
mx.metal.stop_capture()
assert pathlib.Path(str(path) + "2").read_text() == ""
"""


@pytest.mark.sampled(1)
def test_steps_of_the_cpu_are_named():
    """Ops that ran through the CPU, for docs/support.md."""
    x = mx.eye(3) * mx.array([1.0, 2.0, 4.0])
    mx.eval(x)
    second_backend.through_the_host()
    for value, names in (
        (mx.sin(x) * 0.28125, set()),
        (mx.linalg.inv(x + 0.4375), {"inv"}),
        (mx.sin(x.astype(mx.float64)).astype(mx.float32), {"fused/double"}),
    ):
        mx.eval(value)
        assert second_backend.through_the_host() == names
    assert second_backend.without_kernel() == set()


def test_captures(tmp_path):
    """A document names what ran meanwhile; the device refuses until its variable allows it."""
    program = CAPTURED.replace("FOLDER", repr(str(tmp_path)))
    assert run_program(program, MLX_DEVICE="", MTL_CAPTURE_ENABLED="") == (0, "", "")


@pytest.mark.sampled(1)
def test_a_network_trains():
    """Convolution, norm, pooling, attention, an embedding: losses near the CPU's, by kernels."""
    rng = np.random.default_rng(0)
    x = mx.array(rng.standard_normal((24, 8, 8, 1)).astype(np.float32))
    y = mx.array(rng.integers(0, 5, 24))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 6, 3, padding=1)
            self.norm = nn.LayerNorm(6)
            self.pool = nn.MaxPool2d(2)
            self.attention = nn.MultiHeadAttention(6, 2)
            self.table = nn.Embedding(16, 6)
            self.out = nn.Linear(6, 5)

        def __call__(self, x):
            x = self.pool(nn.gelu(self.norm(self.conv(x)))).reshape(len(x), 16, 6)
            x = x + self.table(mx.arange(16))
            return self.out(mx.mean(self.attention(x, x, x), axis=1))

    def train():
        mx.random.seed(3)
        network, optimizer = Network(), optim.Adam(0.01)
        mx.eval(network.parameters())
        step = nn.value_and_grad(network, lambda m: mx.mean(nn.losses.cross_entropy(m(x), y)))
        losses = []
        for _ in range(6):
            loss, grads = step(network)
            optimizer.update(network, grads)
            mx.eval(network.parameters(), optimizer.state)
            losses.append(loss.item())
        return np.array(losses)

    losses = []
    for device in (mx.gpu, mx.cpu):
        mx.set_default_device(device)
        try:
            losses.append(train())
        finally:
            mx.set_default_device(mx.gpu)
    assert np.abs(losses[0] - losses[1]).max() < 1e-4 and losses[0][-1] < losses[0][0]
