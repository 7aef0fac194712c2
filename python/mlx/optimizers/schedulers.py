"""Schedules: functions of the step that give a learning rate or another setting.

An optimizer given one in place of a number evaluates it before every step; steps count from 0.
They are partial applications of functions of this module, so that optimizers pickle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import mlx.core as mx

Schedule = Callable[[mx.array], mx.array]


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} must be greater than 0, but got {value}.")


def _exponential_decay(init: float, decay_rate: float, step: mx.array) -> mx.array:
    return init * decay_rate**step


def exponential_decay(init: float, decay_rate: float) -> Callable[..., Any]:
    """Return the schedule ``init * decay_rate ** step``.

    Args:
        init: the value at step 0.
        decay_rate: the factor of each step.

    Returns:
        A function of the step.

    >>> optim.exponential_decay(0.1, 0.5)(mx.array(2))
    array(0.025, dtype=float32)
    """
    return partial(_exponential_decay, init, decay_rate)


def _step_decay(init: float, decay_rate: float, step_size: int, step: mx.array) -> mx.array:
    return init * decay_rate ** (step // step_size)


def step_decay(init: float, decay_rate: float, step_size: int) -> Callable[..., Any]:
    """Return a schedule that multiplies ``init`` by ``decay_rate`` after every ``step_size`` steps.

    Args:
        init: the value at step 0.
        decay_rate: the factor.
        step_size: the number of steps between two factors.

    Returns:
        A function of the step.

    Raises:
        ValueError: ``step_size`` is not positive.

    >>> optim.step_decay(0.1, 0.5, step_size=10)(mx.array(25))
    array(0.025, dtype=float32)
    """
    _check_positive("step_size", step_size)
    return partial(_step_decay, init, decay_rate, step_size)


def _cosine_decay(init: float, decay_steps: int, end: float, step: mx.array) -> mx.array:
    angle = mx.minimum(step, decay_steps) * (math.pi / decay_steps)
    return end + 0.5 * (init - end) * (1 + mx.cos(angle))


def cosine_decay(init: float, decay_steps: int, end: float = 0.0) -> Callable[..., Any]:
    """Return a schedule from ``init`` to ``end`` along half a cosine.

    Args:
        init: the value at step 0.
        decay_steps: the number of steps until ``end``.
        end: the value from there on.

    Returns:
        A function of the step.

    Raises:
        ValueError: ``decay_steps`` is not positive.

    >>> optim.cosine_decay(0.1, 1000)(mx.array(500))
    array(0.05, dtype=float32)
    """
    _check_positive("decay_steps", decay_steps)
    return partial(_cosine_decay, init, decay_steps, end)


def _linear_schedule(init: float, end: float, steps: int, step: mx.array) -> mx.array:
    return init + mx.minimum(step, steps) * ((end - init) / steps)


def linear_schedule(init: float, end: float, steps: int) -> Callable[..., Any]:
    """Return a schedule from ``init`` to ``end`` along a straight line.

    Args:
        init: the value at step 0.
        end: the value from step ``steps`` on.
        steps: the number of steps until ``end``.

    Returns:
        A function of the step.

    Raises:
        ValueError: ``steps`` is not positive.

    >>> optim.linear_schedule(0, 0.1, steps=100)(mx.array(50))
    array(0.05, dtype=float32)
    """
    _check_positive("steps", steps)
    return partial(_linear_schedule, init, end, steps)


def _joined(schedules: list[Callable[..., Any]], boundaries: list[int], step: mx.array) -> mx.array:
    value = schedules[0](step)
    for begin, following in zip(boundaries, schedules[1:], strict=True):
        value = mx.where(step < begin, value, following(step - begin))
    return value


def join_schedules(
    schedules: list[Callable[..., Any]], boundaries: list[int]
) -> Callable[..., Any]:
    """Return one schedule after the other, each with its own count of steps.

    Args:
        schedules: the schedules.
        boundaries: the steps at which all but the first begin.

    Returns:
        A function of the step.

    Raises:
        ValueError: the numbers of schedules and boundaries do not fit.

    >>> warmup = optim.linear_schedule(0, 1e-3, steps=100)
    >>> rate = optim.join_schedules([warmup, optim.cosine_decay(1e-3, 900)], [100])
    >>> rate(mx.array(100))
    array(0.001, dtype=float32)
    """
    if not schedules:
        raise ValueError("Must provide at least 1 schedule to join.")
    if len(boundaries) != len(schedules) - 1:
        raise ValueError(
            f"Received {len(boundaries)} boundaries but expected {len(schedules) - 1}."
        )

    return partial(_joined, list(schedules), list(boundaries))
