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
    """``init * decay_rate ** step``."""
    return partial(_exponential_decay, init, decay_rate)


def _step_decay(init: float, decay_rate: float, step_size: int, step: mx.array) -> mx.array:
    return init * decay_rate ** (step // step_size)


def step_decay(init: float, decay_rate: float, step_size: int) -> Callable[..., Any]:
    """``init``, multiplied by ``decay_rate`` after every ``step_size`` steps."""
    _check_positive("step_size", step_size)
    return partial(_step_decay, init, decay_rate, step_size)


def _cosine_decay(init: float, decay_steps: int, end: float, step: mx.array) -> mx.array:
    angle = mx.minimum(step, decay_steps) * (math.pi / decay_steps)
    return end + 0.5 * (init - end) * (1 + mx.cos(angle))


def cosine_decay(init: float, decay_steps: int, end: float = 0.0) -> Callable[..., Any]:
    """From ``init`` to ``end`` along half a cosine in ``decay_steps`` steps, then ``end``."""
    _check_positive("decay_steps", decay_steps)
    return partial(_cosine_decay, init, decay_steps, end)


def _linear_schedule(init: float, end: float, steps: int, step: mx.array) -> mx.array:
    return init + mx.minimum(step, steps) * ((end - init) / steps)


def linear_schedule(init: float, end: float, steps: int) -> Callable[..., Any]:
    """From ``init`` to ``end`` along a straight line in ``steps`` steps, then ``end``."""
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
    """One schedule after the other, each with its own count of steps.

    ``boundaries`` are the steps at which all but the first begin.

    >>> warmup = optim.linear_schedule(0, 1e-3, steps=100)
    >>> rate = optim.join_schedules([warmup, optim.cosine_decay(1e-3, 900)], [100])
    """
    if not schedules:
        raise ValueError("Must provide at least 1 schedule to join.")
    if len(boundaries) != len(schedules) - 1:
        raise ValueError(
            f"Received {len(boundaries)} boundaries but expected {len(schedules) - 1}."
        )

    return partial(_joined, list(schedules), list(boundaries))
