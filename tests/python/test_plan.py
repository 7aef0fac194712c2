"""Which ops become one step; results do not depend on fusion, threads or the instruction set."""

import hashlib
import os
import subprocess

import numpy as np
import pytest
from processes import PYTHON, instruction_sets, run_program

import mlx.core as mx

HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.fixture
def arrays():
    """Evaluated inputs: a matrix, a row, a matrix of 16-bit floats."""
    a = mx.array(np.random.RandomState(0).uniform(0.5, 1.5, (64, 48)).astype(np.float32))
    row, half = a[0] + 0, a.astype(mx.bfloat16)
    mx.eval(a, row, half)
    return a, row, half


CHAINS = {
    "chain": lambda a, row, half: mx.exp(a) * 2 + mx.tanh(a) / (a + 1),
    "broadcast": lambda a, row, half: (a + row) * row[:1] - a[:, :1],
    "cast": lambda a, row, half: (a.astype(mx.float16) + 1).astype(mx.float32) * a,
    "16-bit": lambda a, row, half: mx.sqrt(half * half + 1),
    "mixed": lambda a, row, half: half + a,
    "transposed": lambda a, row, half: a.T * 2 + mx.reshape(a, (48, 64)),
    "sliced": lambda a, row, half: mx.exp(a[::2, ::-1]) + a[1::2],
    "integer": lambda a, row, half: (a.astype(mx.int32) * 3 + 1) % 7,
    "where": lambda a, row, half: mx.where(a > row, mx.sin(a), mx.clip(a, 0.6, 0.7)),
    "compare": lambda a, row, half: (a > 1) & (a < row),
    "constants": lambda a, row, half: a * mx.array(2.0) + mx.ones_like(a),
}


@pytest.mark.parametrize("name", CHAINS)
def test_an_elementwise_chain_is_one_step(arrays, name):
    out = CHAINS[name](*arrays)
    assert len(mx._plan_steps(out)) == 1, mx._plan_steps(out)
    before = mx._launch_count()
    mx.eval(out)
    assert mx._launch_count() == before + 1


def test_printing_a_plan_runs_nothing(arrays):
    out = mx.exp(arrays[0])
    before = mx._launch_count()
    assert len(mx._plan_steps(out)) == 1
    assert mx._launch_count() == before
    assert mx._plan_steps(arrays[0]) == []


def test_a_held_intermediate_is_another_output_of_the_step(arrays):
    a = arrays[0]
    held = mx.exp(a) + 1
    out = mx.sqrt(held) * 2
    assert len(mx._plan_steps(out)) == 1, mx._plan_steps(out)
    mx.eval(out)
    assert mx._plan_steps(held) == []
    before = mx._launch_count()
    np.testing.assert_array_equal(np.array(out), np.array(mx.sqrt(held) * 2))
    assert mx._launch_count() == before + 1


@pytest.mark.parametrize("of", ["the value", "its identity", "a custom function"])
def test_a_value_that_a_later_step_reads_is_another_output_of_the_step(arrays, of):
    """Also where that reads an identity of the value, such as a result of a custom function."""

    @mx.custom_function
    def custom(x):
        return mx.exp(x) * 2

    @custom.vjp
    def cotangent(x, g, y):
        return g * y

    def both(x):
        twice = mx.exp(x) * 2
        y = {"the value": twice, "its identity": mx.stop_gradient(twice)}.get(of, custom(x))
        sums = mx.cumsum(y + 1)
        return sums, sums * y

    x = arrays[0].reshape(-1)
    steps = []

    def results(x):
        out = both(x)
        steps.append(mx._plan_steps(*out))
        return out

    # Custom functions have results of their own where a derivative is wanted.
    out, _ = mx.vjp(lambda x: list(results(x)), [x], [mx.ones_like(x)] * 2)
    assert len(steps[0]) == 3, steps[0]
    y = np.exp(np.array(x, np.float64)) * 2
    np.testing.assert_allclose(np.array(out[0]), np.cumsum(y + 1), rtol=1e-5)
    np.testing.assert_allclose(np.array(out[1]), np.cumsum(y + 1) * y, rtol=1e-5)


@pytest.mark.parametrize(
    "make, most",
    [
        (lambda a, row, half: mx.sum(mx.exp(a) * 2 + a), 2),
        (lambda a, row, half: mx.sum(mx.square(a), axis=-1), 2),
        (lambda a, row, half: mx.max(mx.abs(a - row), axis=0), 2),
        (lambda a, row, half: mx.mean(a, axis=-1, keepdims=True) * 2 + 1, 2),
        (lambda a, row, half: mx.tanh(a @ a.T + 1), 2),
        (
            lambda a, row, half: a / mx.sqrt(mx.mean(mx.square(a), -1, keepdims=True) + 1e-5) * row,
            3,
        ),
        (lambda a, row, half: mx.sum(mx.exp(a) * row + 1), 1),
        (lambda a, row, half: mx.max(mx.abs(a - row), axis=(0, 1)), 1),
        (lambda a, row, half: mx.any(a > row, axis=-1), 1),
        (lambda a, row, half: mx.sum(mx.exp(a.T), axis=1), 2),
        (lambda a, row, half: mx.softmax(a, -1), 1),
        (lambda a, row, half: a.T.reshape(48, 8, 8)[1:], 1),
    ],
)
def test_steps_around_reductions_and_products(arrays, make, most):
    out = make(*arrays)
    assert len(mx._plan_steps(out)) <= most, mx._plan_steps(out)


def test_a_reduction_reads_stored_values(arrays):
    a, row, _ = arrays
    square = mx.square(a)
    total = mx.sum(square, -1)
    assert len(mx._plan_steps(total)) == 2
    both = mx.exp(row - a)
    assert len(mx._plan_steps(mx.sum(both, -1), mx.max(both, -1))) == 3
    del both
    np.testing.assert_allclose(np.array(total), np.sum(np.square(np.array(a)), -1), rtol=1e-5)
    np.testing.assert_array_equal(np.array(square), np.square(np.array(a)))


REDUCED = {
    "square": lambda a, row: mx.square(a),
    "broadcast": lambda a, row: (a - row) * (a[..., :1] + 2),
    "strided": lambda a, row: mx.exp(a[..., ::-1]) * row,
    "cast": lambda a, row: (a * 3).astype(mx.float16),
    "predicate": lambda a, row: a > row,
    "integers": lambda a, row: (a * 100).astype(mx.int8) * 3,
    "transposed": lambda a, row: mx.tanh(mx.swapaxes(a, 0, -2)) * 2,
    "two types": lambda a, row: mx.where(a > row, a.astype(mx.bfloat16), row.astype(mx.bfloat16)),
}


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("inner", list(REDUCED))
@pytest.mark.parametrize("shape", [(3, 5), (7, 64), (2, 3, 1000), (5, 1030), (9, 4099), (70001,)])
def test_reductions_of_formulas_give_the_bits_of_two_steps(inner, shape):
    random = np.random.default_rng(len(inner))
    a = mx.array(random.normal(size=shape).astype(np.float32))
    row = mx.array(random.normal(size=shape[-1:]).astype(np.float32))
    axes = [-1, tuple(range(len(shape))), tuple(range(len(shape)))[-2:], 0]

    def results():
        formula = REDUCED[inner]
        return [
            np.array(reduction(formula(a, row), axis=axis).astype(mx.float32))
            for reduction in (mx.sum, mx.mean, mx.max, mx.prod, mx.all)
            for axis in axes
        ]

    if inner == "transposed" and len(shape) == 1:
        a = a.reshape(1, -1)
    fused = results()
    mx._set_fusion(False)
    try:
        one_by_one = results()
    finally:
        mx._set_fusion(True)
    for x, y in zip(fused, one_by_one, strict=True):
        np.testing.assert_array_equal(x, y)


def test_views_of_evaluated_arrays_need_no_step(arrays):
    a = arrays[0]
    views = [
        a[1:],
        a.T,
        a[::-2],
        mx.expand_dims(a, 0),
        a.reshape(-1),
    ]
    assert mx._plan_steps(*views) == []


def test_a_compiled_call_costs_one_launch(arrays):
    a, row, _ = arrays
    compiled = mx.compile(lambda a, row: mx.exp(a + row) * mx.tanh(a))
    mx.eval(compiled(a, row))
    before = mx._launch_count()
    mx.eval(compiled(a * 1, row))
    assert mx._launch_count() - before <= 2


def test_fusion_can_be_turned_off(arrays):
    a = arrays[0]
    mx._set_fusion(False)
    try:
        out = mx.exp(a) * 2 + 1
        assert len(mx._plan_steps(out)) >= 3, mx._plan_steps(out)
        unfused = np.array(out)
    finally:
        mx._set_fusion(True)
    np.testing.assert_array_equal(unfused, np.array(mx.exp(a) * 2 + 1))


# The same program in processes with other settings

PROGRAM = """
import hashlib, sys
sys.path[:0] = [{golden!r}, {here!r}]
import cases, numpy as np
import mlx.core as mx
from cases.table import device_array, host
digest = {{}}
for family in cases.names():
    for row in cases.families(family)[::{step}]:
        if "float32" not in row.dtypes:
            continue
        inputs = [device_array(i) for i in row.host_inputs("float32")]
        for dtype in set(row.dtypes) & set(("float16", "float64")):
            inputs_16 = [device_array(i) for i in row.host_inputs(dtype)]
            out = row.call(*inputs_16)
            digest[row.name + dtype] = b"".join(h.tobytes() for h in host(out))
        if any(not hasattr(i, "dtype") for i in inputs):
            continue
        moving = row.differentiable()
        wrapped = [mx.exp(mx.tanh(a) * 0.5) * a if n in moving else a for n, a in enumerate(inputs)]
        out = row.call(*wrapped)
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        out = [o * 3 - 1 if mx.issubdtype(o.dtype, mx.inexact) else o for o in out]
        digest[row.name] = b"".join(h.tobytes() for h in host(out))
rng = np.random.RandomState(0)
shapes = [(300, 1000), (1000, 170), (1000,)]
big = [mx.array(rng.uniform(-2, 2, s).astype(np.float32)) for s in shapes]
for name, call in {{
    "big chain": lambda a, b, c: mx.exp(a) * c + mx.sin(a) / (2 + c),
    "big sum": lambda a, b, c: mx.sum(a * c),
    "rows": lambda a, b, c: mx.sum(mx.square(a), -1),
    "rows of a formula": lambda a, b, c: mx.mean(mx.exp(a) * c + mx.sin(a), -1),
    "loss": lambda a, b, c: mx.mean(mx.square(mx.tanh(a) - c)),
    "columns": lambda a, b, c: mx.mean(a, 0),
    "softmax": lambda a, b, c: mx.softmax(a, -1),
    "product": lambda a, b, c: mx.tanh(a @ b),
    "vector": lambda a, b, c: a @ c,
    "cumsum": lambda a, b, c: mx.cumsum(a, 1),
    "long cumsum": lambda a, b, c: mx.cumsum(a),
    "long exclusive cumsum": lambda a, b, c: mx.cumsum(a, reverse=True, inclusive=False),
    "long cumsum of columns": lambda a, b, c: mx.cumsum(a.reshape(-1, 3), 0),
    "long logcumsumexp": lambda a, b, c: mx.logcumsumexp(a),
    "histogram": lambda a, b, c: mx.histogram(a, 50, weights=mx.exp(a))[0],
    "sums by number": lambda a, b, c: mx.bincount(
        (mx.flatten(a) * 100 + 200).astype(mx.int32), mx.flatten(a), length=401
    ),
    "positions": lambda a, b, c: mx.nonzero(a > 0.5),
    "selected": lambda a, b, c: [a[a > 0.5], a[mx.sum(a, 1) > 0], a.T[a.T > 0.5]],
    "sort": lambda a, b, c: mx.sort(a, -1),
    "var": lambda a, b, c: mx.var(a, 1) + mx.var(a),
    "random": lambda a, b, c: mx.random.normal((100000,), key=mx.random.key(3)),
    "half": lambda a, b, c: mx.sum(a.astype(mx.bfloat16) * 2, 0),
}}.items():
    digest[name] = b"".join(h.tobytes() for h in host(call(*big)))
for name, data in digest.items():
    print(hashlib.sha1(data).hexdigest(), name)
"""


def step():
    """Each of so many rows of the tables is computed: on a GPU most of them compile kernels."""
    return 1 if mx.default_device() == mx.cpu else 6


def digests(**settings):
    """Digest of every result of the program in a process with these environment variables."""
    program = PROGRAM.format(golden=os.path.join(HERE, "../golden"), here=HERE, step=step())
    code, out, err = run_program(program, timeout=300, **settings)
    assert code == 0, err[-2000:]
    return dict(reversed(line.split(" ", 1)) for line in out.splitlines())


@pytest.fixture(scope="module")
def ordinary():
    """Digests with the ordinary settings, and two threads."""
    return digests(MLX_NUM_THREADS="2")


def differing(one, other):
    """Names of results whose bits differ."""
    assert one.keys() == other.keys() and len(one) > 300 // step()
    return [name for name in one if one[name] != other[name]]


def test_unfused_gives_the_same_bits(ordinary):
    assert not differing(ordinary, digests(MLX_NUM_THREADS="2", MLX_DISABLE_FUSION="1"))


@pytest.mark.cpu_only("threads of the CPU, in processes that compute on it")
@pytest.mark.parametrize("threads", ["1", "3"])
def test_any_number_of_threads_gives_the_same_bits(ordinary, threads):
    assert not differing(ordinary, digests(MLX_NUM_THREADS=threads))


@pytest.mark.cpu_only("instruction sets of the CPU, in processes that compute on it")
@pytest.mark.sampled(0.34, always=True)
@pytest.mark.parametrize("isa, runs", instruction_sets().items())
def test_values_on_every_instruction_set(isa, runs):
    if not runs:
        pytest.skip(f"this machine has no {isa}")
    done = subprocess.run(
        [
            *PYTHON,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            os.path.join(HERE, "test_values.py"),
            os.path.join(HERE, "test_compact.py"),
        ],
        env={**os.environ, "MLX_CPU_ISA": isa},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_digests_tell_results_apart():
    assert (
        hashlib.sha1(np.float32(1).tobytes()).hexdigest()
        != hashlib.sha1(np.float32(2).tobytes()).hexdigest()
    )


UNARY = [mx.exp, mx.erf, mx.tanh, mx.sin, mx.abs, mx.sigmoid, mx.square, mx.negative, mx.sqrt]
BINARY = [mx.add, mx.subtract, mx.multiply, mx.divide, mx.maximum, mx.minimum, mx.arctan2]
CASTS = [lambda x, t=t: x.astype(t) for t in (mx.bfloat16, mx.float16, mx.float32)]


def any_numbers(random, n, dtype):
    """Numbers of usual size, and every eighth of any bits: subnormal, infinite, NaN."""
    usual = mx.array(random.normal(size=n).astype(np.float32)).astype(dtype)
    if dtype == mx.float32:
        return usual
    bits = mx.array(random.integers(0, 1 << 16, n).astype(np.uint16)).view(dtype)
    return mx.where(mx.arange(n) % 1024 < 128, bits, usual)


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16", "mixed"])
@pytest.mark.parametrize("seed", range(12))
def test_runs_of_ops_give_the_bits_of_single_ops(seed, kind):
    """Random straight-line programs, at once and op by op, with remainders of every kind."""
    random = np.random.default_rng(seed)
    dtype = mx.bfloat16 if kind == "mixed" else getattr(mx, kind)
    unary = UNARY[:4] + CASTS if kind == "mixed" else UNARY
    steps = []
    for k in range(int(random.integers(2, 30))):
        op = [unary, BINARY, BINARY][random.integers(3)][random.integers(7)]
        # Mostly what came last; constants on either side; the same operand twice.
        picks = [2 + k, int(random.integers(3 + k)), float(random.normal())]
        steps.append((op, [picks[random.integers(3)] for _ in range(1 + (op in BINARY))]))
    held = set(random.integers(3, 3 + len(steps), 2).tolist())
    for n in (1, 7, 128, 129, 515, 9000, 70001):
        start = [any_numbers(random, n, dtype) for _ in range(3)]
        mx.eval(start)
        results = []
        for one_by_one in (False, True):
            values = list(start)
            for op, args in steps:
                given = [values[a] if isinstance(a, int) else mx.array(a, dtype) for a in args]
                values.append(op(*given))
                if one_by_one:
                    mx.eval(values[-1])
            results.append([values[-1]] + [values[h] for h in sorted(held)])
            del values
            mx.eval(results[-1])
        for a, b in zip(*results, strict=True):
            a, b = (np.array(x.astype(mx.float32)) for x in (a, b))
            np.testing.assert_array_equal(a, b, err_msg=str(n))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: x * 0.5 * (1 + mx.erf(x / 1.4142135)),
        lambda x, y: (1 + mx.erf(x / 3)) * (0.5 * x),
        lambda x, y: x * 3 + y * 0.3,
        lambda x, y: mx.tanh(x) - y * 0.3,
        lambda x, y: (x * 3) * (y * 0.3) + x * 3,
        lambda x, y: x / 0.7 + (y * 2) / 6,
    ],
)
@pytest.mark.parametrize("n", [5, 777, 70001])
def test_products_with_constants_are_rounded_where_another_op_takes_them(formula, n):
    random = np.random.default_rng(n)
    x, y = (mx.array(random.normal(size=n).astype(np.float32)) for _ in range(2))
    x[:4] = mx.array([0.0, -0.0, np.inf, np.nan])
    fused = np.array(formula(x, y))
    mx._set_fusion(False)
    try:
        one_by_one = np.array(formula(x, y))
    finally:
        mx._set_fusion(True)
    np.testing.assert_array_equal(fused, one_by_one)
