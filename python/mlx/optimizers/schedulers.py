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


def _between(start: float, end: float, share: mx.array, cosine: bool) -> mx.array:
    """From ``start`` to ``end`` along half a cosine or a straight line."""
    if cosine:
        return end + (start - end) / 2 * (1 + mx.cos(math.pi * share))
    return start + (end - start) * share


def _one_cycle(
    peak: float, ends: tuple[float, float], steps: int, top: float, cosine: bool, step: mx.array
) -> mx.array:
    last = steps - 1
    at = mx.minimum(step.astype(mx.float32), last)
    rise = _between(ends[0], peak, at / top if top > 0 else mx.ones_like(at), cosine)
    fall = _between(peak, ends[1], (at - top) / (last - top), cosine)
    return mx.where(at <= top, rise, fall) if top > 0 else fall


def one_cycle(
    peak: float,
    total_steps: int,
    pct_start: float = 0.3,
    anneal_strategy: str = "cos",
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Callable[..., Any]:
    """Return a schedule that rises to ``peak`` and falls again.

    Smith and Topin, "Super-Convergence" (2018). It starts at ``peak / div_factor`` and ends at that
    divided by ``final_div_factor``.

    Args:
        peak: the greatest value.
        total_steps: the number of steps of the cycle; the last value stays.
        pct_start: the share of the steps in which the value rises, in ``[0, 1)``.
        anneal_strategy: ``"cos"`` for half a cosine, ``"linear"`` for a straight line.
        div_factor: ``peak`` over the first value.
        final_div_factor: the first value over the last one.

    Returns:
        A function of the step.

    Raises:
        ValueError: ``total_steps`` is not above 1, ``pct_start`` is no such share, or the strategy
            is unknown.

    >>> rate = optim.one_cycle(0.1, total_steps=101, pct_start=0.5)
    >>> rate(mx.array(0)).item() < rate(mx.array(20)).item() < rate(mx.array(49)).item()
    True
    """
    if total_steps < 2:
        raise ValueError(f"total_steps must be greater than 1, but got {total_steps}.")
    if not 0 <= pct_start < 1:
        raise ValueError(f"pct_start must be in [0, 1), but got {pct_start}.")
    if anneal_strategy not in ("cos", "linear"):
        raise ValueError(f"anneal_strategy must be 'cos' or 'linear', but got {anneal_strategy!r}.")
    start = peak / div_factor
    ends = (start, start / final_div_factor)
    top = pct_start * total_steps - 1
    return partial(_one_cycle, peak, ends, total_steps, top, anneal_strategy == "cos")


def _warm_restarts(init: float, period: int, mult: int, end: float, step: mx.array) -> mx.array:
    t = step.astype(mx.float32)
    if mult == 1:
        length, since = mx.array(float(period)), t % period
    else:

        def start(cycle: mx.array) -> mx.array:
            return period * (mult**cycle - 1) / (mult - 1)

        cycle = mx.floor(mx.log(t / period * (mult - 1) + 1) / math.log(mult))
        # The logarithm may round to a neighbour where a cycle begins.
        cycle = mx.where(t >= mx.round(start(cycle + 1)), cycle + 1, cycle)
        cycle = mx.where(t < mx.round(start(cycle)), cycle - 1, cycle)
        length, since = period * mult**cycle, t - mx.round(start(cycle))
    return end + (init - end) / 2 * (1 + mx.cos(math.pi * since / length))


def cosine_warm_restarts(
    init: float, period: int, mult: int = 1, end: float = 0.0
) -> Callable[..., Any]:
    """Return a schedule from ``init`` to ``end`` along half a cosine, again and again.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2016).

    Args:
        init: the value at the start of each cycle.
        period: the number of steps of the first cycle.
        mult: the length of each cycle over that of the one before.
        end: the value that a cycle approaches.

    Returns:
        A function of the step.

    Raises:
        ValueError: ``period`` or ``mult`` is not positive.

    >>> rate = optim.cosine_warm_restarts(0.1, period=10)
    >>> rate(mx.array(5)), rate(mx.array(10))
    (array(0.05, dtype=float32), array(0.1, dtype=float32))
    """
    _check_positive("period", period)
    _check_positive("mult", mult)
    return partial(_warm_restarts, init, period, mult, end)


class ReduceOnPlateau:
    """Scale the learning rate of an optimizer when a metric no longer improves.

    The metric is a number of the program, so :meth:`step` is called outside of compiled functions.

    Args:
        optimizer: an optimizer whose learning rate is a number, not a schedule.
        factor: the factor of the learning rate, in ``(0, 1)``.
        patience: the number of calls without an improvement that are accepted.
        threshold: the least relative improvement that is one.
        mode: ``"min"`` where a smaller metric is better, ``"max"`` where a greater one is.
        cooldown: the number of calls after a reduction in which none follows.
        min_lr: the least learning rate.

    Raises:
        ValueError: a setting is not accepted, or the learning rate follows a schedule.

    >>> sgd = optim.SGD(0.1)
    >>> plateau = optim.ReduceOnPlateau(sgd, factor=0.5, patience=1)
    >>> for loss in [1.0, 1.0, 1.0]:
    ...     plateau.step(loss)
    >>> sgd.learning_rate
    array(0.05, dtype=float32)
    """

    def __init__(
        self,
        optimizer: Any,
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        mode: str = "min",
        cooldown: int = 0,
        min_lr: float = 0.0,
    ) -> None:
        if not 0 < factor < 1:
            raise ValueError(f"factor must be in (0, 1), but got {factor}.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', but got {mode!r}.")
        if "learning_rate" in optimizer._schedulers:
            raise ValueError("The learning rate follows a schedule; a number is accepted.")
        self.optimizer, self.factor, self.patience = optimizer, factor, patience
        self.threshold, self.mode, self.cooldown = threshold, mode, cooldown
        self.min_lr = min_lr
        self.best: float | None = None
        self._waited, self._cooling = 0, 0

    def _improves(self, metric: float) -> bool:
        if self.best is None:
            return True
        if self.mode == "min":
            return metric < self.best * (1 - self.threshold)
        return metric > self.best * (1 + self.threshold)

    def step(self, metric: float | mx.array) -> None:
        """Note the metric, and reduce the learning rate if it has not improved for long.

        Args:
            metric: a number, or an array that holds one.
        """
        value = float(metric.item() if isinstance(metric, mx.array) else metric)
        if self._improves(value):
            self.best, self._waited = value, 0
        else:
            self._waited += 1
        if self._cooling > 0:
            self._cooling, self._waited = self._cooling - 1, 0
        if self._waited > self.patience:
            rate = self.optimizer.learning_rate
            self.optimizer.learning_rate = mx.maximum(rate * self.factor, self.min_lr)
            self._cooling, self._waited = self.cooldown, 0
