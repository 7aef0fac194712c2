"""Ranges and random bits inside fused programs: one step, with the bits of the kernels."""

import os
import subprocess

import numpy as np
import pytest
from processes import PYTHON, instruction_sets

import mlx.core as mx
import mlx.nn as nn

KEY = mx.random.key(5)
INTEGERS = [
    mx.uint8,
    mx.uint16,
    mx.uint32,
    mx.uint64,
    mx.int8,
    mx.int16,
    mx.int32,
    mx.int64,
]
INEXACT = [mx.float16, mx.bfloat16, mx.float32, mx.float64, mx.complex64]


def values(*shape):
    a = mx.array(np.random.RandomState(0).uniform(-1, 1, shape).astype(np.float32))
    mx.eval(a)
    return a


def steps(*outputs):
    return mx._plan_steps(*outputs)


def bits(a):
    """The bytes of an array, whatever its dtype."""
    return np.array(mx.flatten(a).view(mx.uint8)) if a.size else a.shape


def one_by_one(make):
    """The result of `make` where each op is a step."""
    mx._set_fusion(False)
    try:
        out = make()
        mx.eval(out)
    finally:
        mx._set_fusion(True)
    return out


def same_bits(make, count=None):
    """`make` gives the same bits as one program, of `count` steps if given, and op by op."""
    out = make()
    if count is not None:
        assert len(steps(out)) == count, steps(out)
    want = one_by_one(make)
    assert out.dtype == want.dtype and out.shape == want.shape
    np.testing.assert_array_equal(bits(out), bits(want))


def positions(out):
    """How many of the instructions of the only step are positions."""
    (step,) = steps(out)
    return step.count("position")


# --- what becomes one step


def test_a_condition_on_positions_is_one_step():
    x = values(100)
    out = mx.where(mx.arange(100) < 5, x, 0)
    assert positions(out) == 1
    np.testing.assert_array_equal(np.array(out), np.where(np.arange(100) < 5, np.array(x), 0))


def causal(n):
    """One range, read along both axes."""
    rows = mx.arange(n)
    return rows[:, None] >= rows


def test_a_causal_mask_is_one_step():
    x, n = values(70, 70), 70
    want = np.where(np.tri(n) > 0, np.array(x), -np.inf)
    for make in (
        lambda: mx.arange(n)[:, None] >= mx.arange(n),
        lambda: causal(n),
    ):
        out = mx.where(make(), x, -mx.inf)
        assert positions(out) == 2
        np.testing.assert_array_equal(np.array(out), want)
    out = x + mx.where(causal(n), 0.0, -mx.inf)
    assert positions(out) == 2
    np.testing.assert_array_equal(np.array(out), np.array(x) + np.where(np.tri(n) > 0, 0, -np.inf))
    for triangle in (mx.tril(x), mx.triu(x, 1), mx.where(mx.tri(n) > 0, x, -mx.inf)):
        if mx.default_device() == mx.cpu:  # a line, and the operation that reads it as shifted rows
            assert len(steps(triangle)) == 2
        else:
            assert positions(triangle) == 2


def test_equal_positions_are_computed_once():
    def twice(rows):
        return (rows + values(9)) * rows

    out = twice(mx.arange(9))  # an assertion would hold its range
    assert positions(out) == 1
    out = mx.arange(9) * mx.arange(9) + values(9)
    assert positions(out) == 1


def test_dropout_is_one_step_beside_its_key():
    x = values(40, 30)
    mx.random.seed(1)  # keys of other tests may still have to be computed
    layer = nn.Dropout(0.3)
    out = layer(x)
    names = steps(out)
    assert len(names) == 2 and names[0] == "random_bits", names
    assert "random_bits" in names[1] and "where" in names[1]
    kept = np.array(out) != 0
    np.testing.assert_array_equal(np.array(out)[kept], np.array(x * (1 / 0.7))[kept])


@pytest.mark.parametrize(
    "draw, count",
    [
        (lambda: mx.random.uniform(shape=(50, 3), key=KEY), 1),
        (lambda: mx.random.bernoulli(0.3, (50, 3), key=KEY), 1),
        (lambda: mx.random.gumbel((50, 3), key=KEY), 1),
        # The width of the interval is a step of one element.
        (lambda: mx.random.uniform(-2, 3, (50, 3), mx.float16, key=KEY), 2),
        (lambda: mx.random.normal((50, 3), key=KEY), 2),
        (lambda: mx.random.randint(-3, 7, (50, 3), key=KEY), None),
    ],
)
def test_draws_are_computed_from_their_bits(draw, count):
    assert "random_bits" not in steps(draw())
    same_bits(draw, count)


def test_ranges_that_are_stored_or_read_elsewhere_keep_their_step():
    x = values(20)
    held = mx.arange(20)
    out = mx.where(held < 5, x, 0)
    assert len(steps(out, held)) == 2
    np.testing.assert_array_equal(np.array(out), np.where(np.arange(20) < 5, np.array(x), 0))
    np.testing.assert_array_equal(np.array(held), np.arange(20))
    index = mx.arange(20)
    both = mx.take(x, index) + index
    assert "arange" in steps(both)
    want = np.array(x) + np.arange(20, dtype=np.float32)
    np.testing.assert_array_equal(np.array(both), want)


def test_a_range_of_several_programs_has_no_step():
    x = values(30, 20)
    i = mx.arange(20)
    total = mx.sum(mx.where(i < 5, x, 0) @ x.T + 1)
    out = mx.where(i > 7, x, 1) * total
    del i, total
    assert "arange" not in steps(out), steps(out)
    masked = np.where(np.arange(20) < 5, np.array(x), 0)
    want = np.where(np.arange(20) > 7, np.array(x), 1) * np.sum(masked @ np.array(x).T + 1)
    np.testing.assert_allclose(np.array(out), want, rtol=1e-4)


def test_random_bits_are_made_once():
    draw = mx._random_bits((64,), key=KEY)
    first = mx.sum(draw.astype(mx.float32))
    out = draw.astype(mx.float32) / first
    assert steps(out).count("random_bits") == 1
    del draw, first
    mask = mx._random_bits((8, 1, 4), key=KEY)
    x = mx.zeros((8, 100, 4), mx.uint32) + 1
    assert steps(mx.where(mask > 7, x, 0)).count("random_bits") == 1


def test_bits_of_fewer_bytes_are_no_words():
    x = mx.zeros((10,), mx.uint8) + 1
    for width in (1, 2):
        assert "random_bits" in steps(mx._random_bits((10,), width, key=KEY) + x)


def test_fusion_off_leaves_the_kernels():
    names = []
    one_by_one(lambda: names.extend(steps(mx.where(mx.arange(9) < 5, values(9), 0))) or mx.array(0))
    assert "arange" in names


# --- the bits of ranges


def chosen(a, shape=None):
    """The elements of `a` as a program computes them."""
    condition = mx.ones(shape or a.shape, mx.bool_) & mx.array(np.ones(shape or a.shape, bool))
    return mx.where(condition, a, mx.zeros((), a.dtype))


RANGES = [
    (0, 300, 1),
    (7, -500, -3),
    (-100, 30000, 97),
    (2**31 - 5, 2**31 + 200, 1),
    (-(2**62), 2**62, 2**56 + 12345),
    (5, 6, 1),
    (0, 0, 1),
]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("limits", RANGES)
def test_integer_ranges(dtype, limits):
    a = mx.arange(*limits, dtype=dtype)
    np.testing.assert_array_equal(bits(chosen(mx.arange(*limits, dtype=dtype))), bits(a))


FRACTIONS = [
    (0.0, 40.0, 0.1),
    (-0.0, 3.0, 1.0),
    (3.0, -3.0, -1.0),
    (-7.25, 1000.0, 3.3),
    (0.0, 2.0**24 + 600, 2.0**16 + 1),
    (8388600.0, 8388900.0, 1.0),
    (1e-3, 1e300, 1e298),
    (1.5, 9.0, float("inf")),
    (60000.0, 70000.0, 33.0),
    (0.0, 300.0, 1.0),
    (-300.0, 3.0, 2.0),
]


@pytest.mark.parametrize("dtype", INEXACT, ids=str)
@pytest.mark.parametrize("limits", FRACTIONS, ids=str)
def test_ranges_of_other_numbers(dtype, limits):
    a = mx.arange(*limits, dtype=dtype)
    out = chosen(mx.arange(*limits, dtype=dtype))
    assert a.size == 1 or positions(out) == 1
    np.testing.assert_array_equal(bits(out), bits(a))


LAYOUTS = {
    "rows": lambda t: chosen(mx.arange(37, dtype=t)[:, None], (37, 53)),
    "columns": lambda t: chosen(mx.arange(53, dtype=t), (37, 53)),
    "both": lambda t: chosen(mx.arange(37, dtype=t)[:, None] * mx.arange(53, dtype=t), (37, 53)),
    "middle": lambda t: chosen(mx.arange(3, 8, dtype=t)[:, None], (4, 5, 6)),
    "grid": lambda t: chosen(mx.arange(600, dtype=t)[:, None] - mx.arange(700, dtype=t)),
    "transposed": lambda t: (
        mx.arange(70, dtype=t)[:, None] + mx.array(np.ones((90, 70), np.uint8)).astype(t).T
    ),
    "inside a transpose": lambda t: (
        (mx.arange(9, dtype=t)[:, None] + mx.arange(5, dtype=t)).T + mx.ones((5, 9), t)
    ),
    "one element": lambda t: chosen(mx.arange(1, dtype=t)[0:1].reshape(())),
    "ones": lambda t: chosen(mx.arange(4, 5, dtype=t).reshape(1, 1, 1)),
    "empty": lambda t: chosen(mx.arange(0, dtype=t)[:, None], (0, 4)),
    "shared": lambda t: (lambda i: chosen(i[:, None] - i))(mx.arange(40, dtype=t)),
    "reduced": lambda t: mx.sum(
        mx.where(mx.arange(64) < 9, mx.array(np.ones((5, 64), np.int8)).astype(t), 0), -1
    ),
    "held": lambda t: mx.concatenate(
        [
            mx.flatten(chosen(mx.arange(6, dtype=t)[:, None] + mx.arange(7, dtype=t))),
            mx.arange(2, dtype=t),
        ]
    ),
}


@pytest.mark.parametrize("dtype", [mx.int8, mx.uint32, mx.int64, *INEXACT], ids=str)
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_ranges_of_every_layout(dtype, layout):
    same_bits(lambda: LAYOUTS[layout](dtype))


# --- the bits of random words


SHAPES = [
    (),
    (1,),
    (0,),
    (2,),
    (3,),
    (7,),
    (64,),
    (511,),
    (512,),
    (513,),
    (1023,),
    (1025,),
    (9001,),
]
SHAPES += [
    (3, 5),
    (6, 5),
    (5, 600),
    (4, 700),
    (2, 3, 4),
    (1, 9),
    (9, 1),
    (70001,),
    (301, 333),
    (3, 0),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_words(shape):
    want = mx._random_bits(shape, key=KEY)
    out = chosen(mx._random_bits(shape, key=KEY))
    if want.size > 1:
        assert "random_bits" not in steps(out) and len(steps(out)) <= 2
    np.testing.assert_array_equal(bits(out), bits(want))


WORDS = {
    "a broadcast operand": lambda s, w: w + mx.array(np.arange(s[-1], dtype=np.uint32)),
    "an operand of rows": lambda s, w: w + mx.array(np.arange(s[0], dtype=np.uint32)[:, None]),
    "a transposed operand": lambda s, w: w + mx.array(np.ones(s[::-1], np.uint32)).T,
    "a transposed result": lambda s, w: (w + 1).T + mx.array(np.ones(s[::-1], np.uint32)),
    "a transposed word": lambda s, w: w.T + mx.array(np.ones(s[::-1], np.uint32)),
    "a reduction": lambda s, w: mx.sum(w & mx.array(np.full(s, 255, np.uint32)), -1),
    "two draws": lambda s, w: w ^ mx._random_bits(s, key=mx.random.key(9)),
    "two shapes": lambda s, w: (
        w
        ^ mx._random_bits((s[0] * s[1],), key=KEY).reshape(s)
        ^ mx._random_bits((1, *s), key=KEY)[0]
    ),
    "positions": lambda s, w: mx.where(mx.arange(s[1]) < mx.arange(s[0])[:, None], w, 0),
    "a strided operand": lambda s, w: w + mx.array(np.ones((s[0], 2 * s[1]), np.uint32))[:, ::-2],
    "two results": lambda s, w: mx.stack([w + 1, w * 3]),
}


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 5), (5, 1), (6, 3), (7, 3), (64, 128), (65, 130), (300, 401)]
)
@pytest.mark.parametrize("name", list(WORDS))
def test_random_words_beside_operands(name, shape):
    same_bits(lambda: WORDS[name](shape, mx._random_bits(shape, key=KEY)))


@pytest.mark.parametrize("shape", [(3,), (4,), (257,), (5, 6), ()])
def test_random_words_of_several_keys(shape):
    keys = mx.random.split(KEY, 6)
    mx.eval(keys)
    draw = mx.vmap(lambda k: mx._random_bits(shape, key=k) + 1)
    out = draw(keys)
    assert len(steps(out)) == 1
    want = mx.stack([mx._random_bits(shape, key=k) + 1 for k in keys])
    np.testing.assert_array_equal(bits(out), bits(want))
    strided = mx.array(np.array(mx.random.split(KEY, 12)))[::-2]
    same_bits(lambda: draw(strided))
    same_bits(lambda: mx.swapaxes(draw(keys), 0, -1) * 2)


def test_keys_of_every_kind():
    wide = mx.array(np.arange(6, dtype=np.uint32))
    for key in (
        mx.zeros((2,), mx.uint32),
        mx.broadcast_to(mx.array(np.uint32([7])), (2,)),
        wide[1:3],
        wide[4::-3],
        mx.random.split(KEY)[1],
        wide[2:4] + 1,
    ):
        same_bits(lambda key=key: mx._random_bits((70,), key=key) + 1)
        same_bits(lambda key=key: mx.random.uniform(shape=(), key=key))


def test_compiled_derived_and_batched():
    x = values(12, 30)

    def noisy(x, key):
        kept = mx.random.bernoulli(0.4, x.shape, key=key)
        return mx.sum(mx.where(kept & (mx.arange(30) > 3), x * x, 0.5 * x))

    same_bits(lambda: mx.grad(noisy)(x, KEY))
    same_bits(lambda: mx.compile(mx.grad(noisy))(x, KEY))
    np.testing.assert_array_equal(
        np.array(mx.grad(noisy)(x, KEY)), np.array(mx.compile(mx.grad(noisy))(x, KEY))
    )
    same_bits(lambda: mx.vmap(noisy, (0, None))(mx.stack([x, x + 1]), KEY))
    # The plan of an earlier call serves other keys, not other ranges.
    for shift in (1, 1, 1, 2, 3):
        for seed in (1, 2, 3):
            key = mx.random.key(seed)
            same_bits(lambda key=key, s=shift: mx._random_bits((9,), key=key) + mx.arange(s, 9 + s))


@pytest.mark.parametrize("seed", range(10))
def test_random_programs(seed):
    """Elementwise programs over arrays, ranges and random bits, some of them transposed."""
    for size in ((7,), (5, 9), (64, 33), (3, 4, 50), (1100, 9)):

        def make(size=size):
            random = np.random.default_rng(seed)
            pool = [mx.array(random.normal(size=size).astype(np.float32)) for _ in range(2)]
            for k in range(12):
                axis = int(random.integers(len(size)))
                along = [1] * len(size)
                along[axis] = size[axis]
                kind = random.integers(7)
                if kind == 0:
                    new = mx.arange(size[axis], dtype=[mx.int32, mx.float32][random.integers(2)])
                    new = new.reshape(along)
                elif kind == 1:
                    new = mx.random.uniform(shape=size, key=mx.random.key(k))
                elif kind == 2:
                    new = mx.random.uniform(shape=size[::-1], key=mx.random.key(k)).T
                elif kind == 3:
                    new = mx.arange(0.5, 0.1 * size[axis] + 0.5, 0.1)[: size[axis]].reshape(along)
                else:
                    new = pool[random.integers(len(pool))]
                other = pool[random.integers(len(pool))]
                op = [mx.add, mx.multiply, mx.maximum, lambda a, b: mx.where(a < b, a, b)]
                pool.append(op[random.integers(4)](new, other))
            return mx.broadcast_to(pool[-1] + pool[-2] * pool[-3], size)

        same_bits(make)


@pytest.mark.cpu_only("instruction sets of the CPU, in processes that compute on it")
@pytest.mark.sampled(0.4, always=True)
@pytest.mark.parametrize(
    "settings",
    [
        *({"MLX_CPU_ISA": isa} for isa in instruction_sets()),
        {"MLX_NUM_THREADS": "1"},
        {"MLX_NUM_THREADS": "3"},
    ],
    ids=str,
)
def test_every_instruction_set_and_number_of_threads(settings):
    isa = settings.get("MLX_CPU_ISA")
    if isa and not instruction_sets()[isa]:
        pytest.skip(f"this machine has no {isa}")
    if "MLX_INSIDE" in os.environ:
        return
    done = subprocess.run(
        [*PYTHON, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__],
        env={**os.environ, **settings, "MLX_INSIDE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
