"""Reductions that compute their input as they read it give the bits of two steps.

The sizes lie on both sides of the blocks of 512 elements in which sums are divided, of the widths
that tiles of columns have, and of the lengths that are divided among threads.
"""

import numpy as np
import pytest
import second_backend

import mlx.core as mx

SHAPES = [(512, 3), (513, 16), (700, 17), (2049, 130), (1500, 600), (40, 5, 129), (3, 900, 2)]
FORMULAS = {
    "of products": lambda x, y, row: x * y,
    "of squares of differences": lambda x, y, row: mx.square(x - row),
    "of casts": lambda x, y, row: (x * row).astype(mx.float32),
    "of comparisons": lambda x, y, row: x > y,
}
REDUCTIONS = [mx.sum, mx.max, mx.mean, mx.any]


def values(shape, salt, dtype):
    """An evaluated array; some of its values are equal."""
    a = np.random.RandomState(salt).randint(-300, 300, shape) / 64
    a = mx.array(a.astype(np.float32)).astype(dtype)
    mx.eval(a)
    return a


def bits(a):
    """The array's bytes."""
    return bytes(memoryview(mx.contiguous(a).reshape(-1).view(mx.uint8)))


def axes_of(shape):
    """Leading axes, trailing ones, the one in the middle, and all."""
    rank = len(shape)
    return {0, rank - 1, rank // 2, tuple(range(rank - 1)), tuple(range(rank))}


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.int16], ids=str)
@pytest.mark.parametrize("formula", FORMULAS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_are_those_of_two_steps(shape, formula, dtype):
    """Compares one evaluation with one whose expression is stored before it is reduced."""
    operands = [values(shape, 1, dtype), values(shape, 2, dtype), values(shape[-1:], 3, dtype)]
    for axis in axes_of(shape):
        for reduction in REDUCTIONS:
            stored = FORMULAS[formula](*operands)
            mx.eval(stored)
            at_once = reduction(FORMULAS[formula](*operands), axis=axis)
            assert bits(at_once) == bits(reduction(stored, axis=axis)), (axis, reduction)


@pytest.mark.cpu_only("names the steps of the CPU")
@pytest.mark.parametrize("axis", [0, (0, 1), 2, (1, 2), None])
def test_rows_and_columns_take_one_step(axis):
    """Only a reduction of axes between kept ones reads a stored expression."""
    x, row = values((40, 5, 129), 1, mx.float32), values((129,), 2, mx.float32)

    def steps(axis):
        """The names of the steps; an assert would keep parts of the expression alive."""
        return mx._plan_steps(mx.sum(mx.square(x - row), axis=axis))

    assert steps(axis) == ["fused(subtract,square,reduce)"]
    assert steps(1) == ["fused(subtract,square)", "reduce"]


@pytest.mark.gpu_only
@pytest.mark.skipif(
    second_backend.in_use() in ("fake", "fake-unified"), reason="the steps are those of GPUs"
)
@pytest.mark.parametrize("axis", [0, 1, (0, 1), 2, (1, 2), None])
def test_reductions_take_one_step_on_gpus(axis):
    """Axes between kept ones too. Metal has no program that computes in float64."""
    x, row = values((40, 5, 129), 1, mx.float32), values((129,), 2, mx.float32)
    steps = mx._plan_steps(mx.sum(mx.square(x - row), axis=axis))  # an assert would keep a part
    assert steps == ["fused(subtract,square,reduce)"]
    double = values((40, 5, 129), 3, mx.float64)
    one = second_backend.is_cuda()
    for f in (mx.square, lambda d: d.astype(mx.float32) * 2, lambda d: mx.abs(d) > 1):
        stored = f(double)
        mx.eval(stored)
        steps = mx._plan_steps(mx.sum(f(double), axis=axis))
        assert len(steps) == (1 if one else 2)
        assert bits(mx.sum(f(double), axis=axis)) == bits(mx.sum(stored, axis=axis))
