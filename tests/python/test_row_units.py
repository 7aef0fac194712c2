"""Units of rows: steps that share rows give the bits of separate steps, for every form and layout.

The CPU and GPUs have units; the bits are checked wherever the tests run.
"""

import numpy as np
import pytest
import second_backend

import mlx.core as mx

HAS_UNITS = not second_backend.in_use()
GPU_HAS_UNITS = second_backend.in_use() in (None, "metal")
KEEP = {"keepdims": True}


def values(shape, salt=0, dtype=mx.float32):
    """An evaluated array."""
    a = mx.array(np.random.RandomState(salt).uniform(-2, 2, shape).astype(np.float32)).astype(dtype)
    mx.eval(a)
    return a


def bits(arrays):
    """The arrays' bytes."""
    arrays = arrays if isinstance(arrays, (list, tuple)) else [arrays]
    mx.eval(*arrays)
    return [bytes(memoryview(mx.contiguous(a).view(mx.uint8))) if a.size else b"" for a in arrays]


def unfused(f, *args):
    """The bits of f's results if each node is a step."""
    mx._set_fusion(False)
    try:
        return bits(f(*args))
    finally:
        mx._set_fusion(True)


def divides_rows(rows, n):
    """Whether a GPU gives each of these few long rows to several of its processors."""
    return rows < 1024 and n > 2048


def units(outputs):
    """Names of the plan's units of rows."""
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [s for s in mx._plan_steps(*outputs) if s.startswith("rows(")]


def rms_norm(x, w):
    return x * mx.rsqrt(mx.mean(x * x, -1, **KEEP) + 1e-5) * w


def layer_norm(x, w):
    d = x - mx.mean(x, -1, **KEEP)
    return d * mx.rsqrt(mx.mean(d * d, -1, **KEEP) + 1e-5) * w + w


def softmax(x, w):
    e = mx.exp(x - mx.max(x, -1, **KEEP))
    return e / mx.sum(e, -1, **KEEP)


def log_softmax(x, w):
    z = x - mx.max(x, -1, **KEEP)
    return z - mx.log(mx.sum(mx.exp(z), -1, **KEEP))


def standardized(x, w):
    return (x - mx.mean(x, -1, **KEEP)) / mx.sqrt(mx.var(x, -1, **KEEP) + 1e-5)


def cross_entropy(x, w):
    z = x - mx.max(x, -1, **KEEP)
    picked = mx.take_along_axis(z, mx.arange(x.shape[0])[:, None] % x.shape[1], axis=-1)
    return mx.log(mx.sum(mx.exp(z), -1)) - picked[:, 0]


FORMULAS = {
    "RMS norm": rms_norm,
    "layer norm": layer_norm,
    "softmax": softmax,
    "log-softmax": log_softmax,
    "standardized": standardized,
    "cross entropy": cross_entropy,
    "log of a sum": lambda x, w: x - mx.logsumexp(x, -1, **KEEP),
    "mean and variance": lambda x, w: [mx.mean(x, -1), mx.var(x, -1)],
    "maximum and its place": lambda x, w: [mx.max(x, -1), mx.argmax(x, -1)],
    "what is between is asked for": lambda x, w: [e := mx.exp(x - w), e / mx.sum(e, -1, **KEEP)],
    "the sum is asked for": lambda x, w: [s := mx.sum(x, -1, **KEEP), x / s],
    "softmax of a softmax": lambda x, w: mx.softmax(mx.softmax(x, -1) * w, -1),
    "booleans": lambda x, w: mx.where(mx.any(x > w, -1, **KEEP), x, w),
    "an integer factor": lambda x, w: x * mx.argmax(x, -1, **KEEP),
}
# Formulas with ops that are units on CPUs alone: GPUs have kernels of their own for these.
CPU_UNITS = {"log of a sum", "softmax of a softmax"}


def is_one_unit(name, rows, n):
    """Whether a plan of the formula is one unit on the default device."""
    if mx.default_device() == mx.Device(mx.gpu):
        return GPU_HAS_UNITS and name not in CPU_UNITS and not divides_rows(rows, n)
    return HAS_UNITS


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_one_unit_with_the_bits_of_their_steps(name, dtype):
    f = FORMULAS[name]
    for rows, n in ((311, 120), (64, 1025), (70, 5001)):
        x, w = values((rows, n), 1, dtype), values((n,), 2, dtype)
        if is_one_unit(name, rows, n):
            assert len(units(f(x, w))) == 1, f(x, w)
        assert bits(f(x, w)) == unfused(f, x, w)
        assert bits(mx.compile(f)(x, w)) == unfused(f, x, w)


LAYOUTS = {
    "three axes": lambda x: x.reshape(10, 40, 90),
    "one row in the middle": lambda x: x.reshape(400, 1, 90),
    "every second row": lambda x: x[::2],
    "part of each row": lambda x: x[:, 3:70],
    "rows from the last to the first": lambda x: x[::-1],
    "rows read backwards": lambda x: x[:, ::-1],
    "transposed": lambda x: x.T,
    "exchanged axes in front": lambda x: mx.swapaxes(x.reshape(20, 20, 90), 0, 1),
    "one row for all": lambda x: mx.broadcast_to(x[:1], (400, 90)),
    "one number for each row": lambda x: mx.broadcast_to(x[:, :1], (400, 90)),
    "few rows": lambda x: x.reshape(2, 18000),
    "one row": lambda x: x.reshape(1, 36000),
    "no rows": lambda x: x[:0],
    "short rows": lambda x: x.reshape(18000, 2),
    "rows of one number": lambda x: x.reshape(36000, 1),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_rows(name):
    base = values((400, 90), 3)
    x = LAYOUTS[name](base)
    w = values((x.shape[-1],), 4)
    for f in (rms_norm, layer_norm, softmax, log_softmax):
        got = f(x, w)
        assert bits(got) == unfused(f, x, w)


def test_several_axes_are_one_row():
    x = values((60, 24, 35), 5)

    def norm(x):
        d = x - mx.mean(x, (1, 2), **KEEP)
        return d / mx.sqrt(mx.mean(d * d, (1, 2), **KEEP))

    def nested(x):
        y = x - mx.mean(x, -1, **KEEP)
        return y * mx.max(mx.abs(y), (1, 2), **KEEP)

    for f in (norm, nested):
        assert bits(f(x)) == unfused(f, x)
    if HAS_UNITS:
        assert len(mx._plan_steps(norm(x))) == 1


def test_rows_that_others_need_stay_separate():
    """A reduction over the columns, a product and a shifted row need whole arrays."""
    x, w = values((300, 96), 6), values((96,), 7)
    forms = [
        lambda x: softmax(x, w) - mx.mean(softmax(x, w), 0),
        lambda x: softmax(x, w) @ values((96, 8), 8),
        lambda x: (s := mx.sum(x, -1, **KEEP)) + s[::-1] * x,
        lambda x: (y := softmax(x, w))[1:] + y[:-1],
        lambda x: (y := softmax(x, w)) + y[:1],
        lambda x: (y := softmax(x, w)).reshape(150, 192) / 2 + mx.mean(y),
        lambda x: mx.sum(y := softmax(x, w), 0) * mx.sum(y, -1, **KEEP),
    ]
    for f in forms:
        assert bits(f(x)) == unfused(f, x)


def test_memory_that_is_given_up_is_written_row_by_row():
    """A result may take the place of what a unit reads, unless another row needs that."""

    def own():
        return values((256, 256), 9) + 0

    def over(f):
        x = own()
        mx.eval(x)
        out = f(x)
        del x
        return out

    forms = [
        lambda x: softmax(x, None),
        lambda x: (x - mx.mean(x, -1, **KEEP)) * x[:1],
        lambda x: (x - mx.mean(x, -1, **KEEP)) * x.T,
        lambda x: (x - mx.max(x, -1, **KEEP)) * mx.mean(x + x[5], -1, **KEEP),
        lambda x: [y := x - mx.max(x, -1, **KEEP), y / mx.sum(x, -1, **KEEP)],
    ]
    for f in forms:
        assert bits(over(f)) == unfused(over, f)


def test_derivatives_and_vectorized_functions():
    x, w = values((40, 16, 48), 10), values((48,), 11)

    def loss(x, w):
        return mx.sum(mx.square(layer_norm(x, w)) + softmax(x, w))

    vectorized = [mx.vmap(softmax, (0, None)), mx.vmap(layer_norm, (1, None))]
    for f in (mx.grad(loss, argnums=(0, 1)), *vectorized):
        assert bits(f(x, w)) == unfused(f, x, w)
        assert bits(mx.compile(f)(x, w)) == unfused(f, x, w)


def random_program(random):
    """Ops of rows and elements on values of shape (rows, n), (rows, 1) and (n,)."""
    unary = [mx.exp, mx.tanh, mx.abs, mx.square, mx.negative, mx.sigmoid]
    binary = [mx.add, mx.subtract, mx.multiply, mx.maximum, mx.divide]
    reductions = [mx.sum, mx.mean, mx.max, mx.min, mx.var, mx.logsumexp, mx.argmin]
    steps = []
    for k in range(int(random.integers(3, 14))):
        kind, picks = random.integers(10), random.integers(0, 2 + k, 2).tolist()
        if kind < 4:
            op = reductions[random.integers(len(reductions))]
            steps.append((lambda a, op=op: op(a, -1, keepdims=True), picks[:1]))
        elif kind < 6:
            steps.append((unary[random.integers(len(unary))], picks[:1]))
        else:
            steps.append((binary[random.integers(len(binary))], [1 + k, picks[1]]))
    held = random.integers(2, 2 + len(steps), 2).tolist()

    def program(x, w):
        have = [w, x]
        for op, args in steps:
            have.append(op(*(have[a] for a in args)))
        return [have[-1], *(have[h] for h in held)]

    return program


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_give_the_bits_of_their_steps(seed):
    random = np.random.default_rng(seed)
    f = random_program(random)
    for _ in range(3):
        lead = [(97,), (13, 17), (5, 1, 60)][random.integers(3)]
        n = int(random.choice([1, 7, 64, 129, 513, 2049, 4099]))
        dtype = [mx.float32, mx.float32, mx.bfloat16, mx.float16, mx.int32][random.integers(5)]
        x, w = values((*lead, n), seed, dtype), values((n,), seed + 1, dtype)
        want = unfused(f, x, w)
        assert bits(f(x, w)) == want, (lead, n, dtype)
        assert bits(mx.compile(f)(x, w)) == want, (lead, n, dtype)


@pytest.mark.skipif(second_backend.in_use() not in ("cuda-host", "metal"), reason="units of GPUs")
@pytest.mark.parametrize("n", [64, 100, 512, 700, 1024, 1500, 2048, 4096, 6000, 8192, 16384])
def test_rows_of_every_length_stay_in_registers(n):
    """One warp to eight have a row, with all of their elements or some."""
    x, w = values((max(70, 20000 // n), n), 17), values((n,), 18)
    for f in (softmax, lambda x, w: mx.var(x, -1)):
        assert len(units(f(x, w))) == 1
        assert bits(f(x, w)) == unfused(f, x, w)
    narrow = x.astype(mx.bfloat16)
    assert bits(softmax(narrow, w)) == unfused(softmax, narrow, w)
    short = x[:, :63]
    assert not units(softmax(short, w))


@pytest.mark.skipif(second_backend.in_use() not in ("cuda-host", "metal"), reason="units of GPUs")
@pytest.mark.parametrize("n", [16385, 20000, 32768, 65536])
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16], ids=str)
def test_long_rows_are_read_for_each_reduction(n, dtype):
    """Arrays are computed again in each pass, and stored in the last one."""
    x, w = values((70, n), 19, dtype), values((n,), 20, dtype)

    def centred(x, w):
        d = x - mx.mean(x, -1, **KEEP)
        return d * w, mx.sum(d * d, -1)

    for f in (softmax, layer_norm, centred, lambda x, w: mx.argmax(x * w, -1)):
        assert len(units(f(x, w))) <= 1
        got, want = f(x, w), unfused(f, x, w)
        assert bits(got) == want
    assert len(units(softmax(x, w))) == 1
    # The memory of the input holds the result.
    y = mx.compile(lambda x, w: softmax(x + 1, w))
    assert bits(y(x, w)) == unfused(lambda x, w: softmax(x + 1, w), x, w)


@pytest.mark.skipif(not HAS_UNITS, reason="the plans of the CPU are looked at")
def test_which_steps_are_units():
    x, w = values((512, 128), 12), values((128,), 13)
    assert mx._plan_steps(rms_norm(x, w)) == [
        "rows(fused(multiply,reduce),fused(add,rsqrt),fused(multiply,multiply))"
    ]
    # Small arrays, which stay in the caches between steps; a chain without a reduction.
    assert not units(rms_norm(x[:32], w))
    assert not units(mx.exp(x) * w)
    # A step between those of a unit that is no part of it runs before it.
    y = values((64, 64), 14)
    out = [x - mx.max(x, -1, **KEEP), y @ y]
    assert len(units(out)) == 1 and len(mx._plan_steps(*out)) == 2


@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_threads_gives_the_same_bits(threads):
    x, w = values((333, 700), 15), values((700,), 16)
    want = [bits(f(x, w)) for f in (layer_norm, softmax)]
    before = mx.get_num_threads()
    mx.set_num_threads(threads)
    try:
        assert [bits(f(x, w)) for f in (layer_norm, softmax)] == want
    finally:
        mx.set_num_threads(before)
