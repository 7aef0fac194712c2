"""The CTC loss beyond its rows: no alignments, lengths, errors, derivatives of derivatives."""

import math

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn

RNG = np.random.RandomState(3)
SCORES = mx.array(RNG.randn(3, 6, 4).astype(np.float32))
TARGETS = mx.array([[1, 2, 3], [2, 2, 2], [3, 1, 0]])


def losses(x, **options):
    return nn.losses.ctc_loss(nn.log_softmax(x), TARGETS, reduction="none", **options)


def test_targets_that_are_too_long_for_their_input():
    steps = mx.array([6, 4, 1])  # three equal labels need five steps
    loss = losses(SCORES, input_lengths=steps)
    assert math.isfinite(loss[0].item()) and loss.tolist()[1:] == [math.inf, math.inf]
    assert losses(SCORES, input_lengths=steps, zero_infinity=True).tolist()[1:] == [0, 0]
    slope = mx.grad(lambda x: losses(x, input_lengths=steps, zero_infinity=True).sum())(SCORES)
    assert mx.all(slope[1:] == 0).item() and mx.any(slope[0] != 0).item()


def test_steps_behind_the_end_take_no_part():
    steps, lengths = mx.array([3, 6, 4]), mx.array([2, 3, 0])

    def total(x):
        return losses(x, input_lengths=steps, target_lengths=lengths).sum()

    loss, slope = mx.value_and_grad(total)(SCORES)
    behind = (mx.arange(6) >= steps[:, None])[..., None]
    assert mx.all(mx.where(behind, slope, 0) == 0).item()
    assert total(mx.where(behind, math.nan, SCORES)).item() == loss.item()


def test_no_labels_and_no_steps():
    empty = mx.zeros((3, 0), mx.int32)
    logs = nn.log_softmax(SCORES)
    want = -mx.sum(logs[..., 0], axis=1)
    assert mx.allclose(mx.fast.ctc_loss(logs, empty), want, rtol=1e-6).item()
    none = mx.fast.ctc_loss(logs, TARGETS, mx.zeros(3, mx.int32), mx.array([0, 1, 0]))
    assert none.tolist() == [0, math.inf, 0]


def test_classes_of_probability_zero():
    logs = mx.where(mx.arange(4) == 3, -math.inf, nn.log_softmax(SCORES))
    loss, slope = mx.value_and_grad(lambda x: mx.fast.ctc_loss(x, TARGETS)[1])(logs)
    assert math.isfinite(loss.item()) and mx.all(mx.isfinite(slope)).item()
    assert mx.fast.ctc_loss(logs, TARGETS).tolist()[::2] == [math.inf, math.inf]


def test_nan_of_a_sequence_stays_there():
    logs = nn.log_softmax(SCORES)
    logs[1, 2, 2] = math.nan
    assert mx.isnan(mx.fast.ctc_loss(logs, TARGETS)).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32, mx.float64])
def test_dtypes(dtype):
    logs = nn.log_softmax(SCORES.astype(dtype))
    wide = mx.float64 if dtype == mx.float64 else mx.float32
    assert mx.fast.ctc_loss(logs, TARGETS).dtype == wide
    assert nn.losses.ctc_loss(logs, TARGETS).dtype == dtype
    assert mx.grad(lambda x: mx.fast.ctc_loss(x, TARGETS).sum())(logs).dtype == dtype


def test_second_derivatives_are_differences_of_first_ones():
    x = SCORES.astype(mx.float64)
    v = mx.array(RNG.randn(*x.shape)).astype(mx.float64)
    slope = mx.grad(lambda y: losses(y).sum())
    h = 1e-5
    want = (slope(x + h * v) - slope(x - h * v)) / (2 * h)
    for got in (mx.jvp(slope, [x], [v])[1][0], mx.grad(lambda y: (slope(y) * v).sum())(x)):
        assert mx.allclose(got, want, rtol=1e-6, atol=1e-8).item()


def test_transformed():
    def total(x):
        return losses(x).sum()

    many = mx.stack([SCORES, 2 * SCORES])
    want = mx.stack([mx.grad(total)(x) for x in many])
    assert mx.array_equal(mx.vmap(mx.grad(total))(many), want).item()
    assert mx.array_equal(mx.compile(mx.grad(total))(SCORES), want[0]).item()


LOGS = nn.log_softmax(SCORES)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mx.fast.ctc_loss(LOGS[0], TARGETS), ValueError, r"shapes \(6,4\) and \(3,3\)"),
        (lambda: mx.fast.ctc_loss(LOGS, TARGETS[:2]), ValueError, r"\(N, T, C\) and \(N, S\)"),
        (lambda: mx.fast.ctc_loss(LOGS[:, :0], TARGETS), ValueError, "of no step"),
        (lambda: mx.fast.ctc_loss(LOGS, TARGETS, mx.array([6])), ValueError, r"lengths of shape"),
        (lambda: mx.fast.ctc_loss(LOGS, TARGETS, blank=4), ValueError, "blank 4 of 4 classes"),
        (lambda: mx.fast.ctc_loss(LOGS, TARGETS * 1.0), ValueError, "integers are accepted"),
        (lambda: mx.fast.ctc_loss(LOGS.astype(mx.int32), TARGETS), ValueError, "floating dtypes"),
        (lambda: mx.fast.ctc_loss(LOGS, TARGETS, mx.array([6, 7, 6])), ValueError, "0 to 6 are"),
        (lambda: mx.fast.ctc_loss(LOGS, TARGETS + 2), IndexError, "label 4 of 4 classes"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        mx.eval(call())
