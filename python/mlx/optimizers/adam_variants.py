"""Adam with Nesterov momentum, and with a rectified learning rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mlx.core as mx
from mlx.optimizers._checks import check, check_betas
from mlx.optimizers.base import LearningRate, Optimizer, _Tree


class _Moments(Optimizer):
    """The settings of both, and the running means ``m`` of gradients and ``v`` of squares."""

    def __init__(
        self,
        learning_rate: LearningRate,
        betas: Sequence[float],
        eps: float,
        weight_decay: float,
    ) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        check_betas(type(self).__name__, betas)
        check(eps > 0, f"{type(self).__name__} epsilon", ">0", eps)
        self.betas, self.eps, self.weight_decay = list(betas), eps, weight_decay

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start with ``m = v = 0``."""
        state["m"], state["v"] = mx.zeros_like(parameter), mx.zeros_like(parameter)

    def _moved(
        self, gradient: mx.array, parameter: mx.array, state: _Tree
    ) -> tuple[mx.array, mx.array, mx.array]:
        """The gradient with decay, and both means after it."""
        if self.weight_decay != 0:
            gradient = gradient + self.weight_decay * parameter
        b1, b2 = self.betas
        state["m"] = b1 * state["m"] + (1 - b1) * gradient
        state["v"] = b2 * state["v"] + (1 - b2) * mx.square(gradient)
        return gradient, state["m"], state["v"]

    def _steps(self) -> mx.array:
        """The number of this step, in a dtype in which its powers keep their digits."""
        return self.step.astype(mx.float64)


class NAdam(_Moments):
    """Make steps of Adam with Nesterov momentum.

        a = beta1 * (1 - 0.96^(t * momentum_decay) / 2), b of t + 1, A the product of all a
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g²
        u = (1 - a) / (1 - A) * g + b / (1 - A * b) * m
        w = w - learning_rate * u / (sqrt(v / (1 - beta2^t)) + eps)

    Dozat, "Incorporating Nesterov Momentum into Adam" (2016).

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        betas: the decays of both means.
        eps: keeps the divisor positive.
        weight_decay: the share of the parameter that is added to its gradient.
        momentum_decay: how fast the momentum approaches ``beta1``.

    >>> optim.NAdam(0.1).apply_gradients({"w": mx.array(1.0)}, {"w": mx.array(0.0)})
    {'w': array(-0.105645, dtype=float32)}
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
    ) -> None:
        super().__init__(learning_rate, betas, eps, weight_decay)
        self.momentum_decay = momentum_decay

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start with ``m = v = 0`` and ``A = 1``."""
        super().init_single(parameter, state)
        state["product"] = mx.array(1.0)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        gradient, m, v = self._moved(gradient, parameter, state)
        b1, b2 = self.betas
        t = self._steps()

        def momentum(t: mx.array) -> mx.array:
            return b1 * (1 - 0.5 * mx.exp((t * self.momentum_decay) * math.log(0.96)))

        now, later = momentum(t), momentum(t + 1)
        product = state["product"] * now
        state["product"] = product.astype(mx.float32)
        dtype = gradient.dtype
        of_gradient = ((1 - now) / (1 - product)).astype(dtype)
        of_mean = (later / (1 - product * later)).astype(dtype)
        spread = mx.sqrt(v / (1 - b2**t).astype(dtype)) + self.eps
        return parameter - self._rate(gradient) * (of_gradient * gradient + of_mean * m) / spread


class RAdam(_Moments):
    """Make steps of Adam whose learning rate is rectified while the variance is uncertain.

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g²
        c = 2 / (1 - beta2) - 1,  r = c - 2 t beta2^t / (1 - beta2^t)
        s = sqrt((r - 4) (r - 2) c / ((c - 4) (c - 2) r)) / (sqrt(v / (1 - beta2^t)) + eps)
        w = w - learning_rate * m / (1 - beta1^t) * (s if r > 5 else 1)

    Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond" (2019).

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        betas: the decays of both means.
        eps: keeps the divisor positive.
        weight_decay: the share of the parameter that is added to its gradient.

    >>> optim.RAdam(0.1).apply_gradients({"w": mx.array(1.0)}, {"w": mx.array(0.0)})
    {'w': array(-0.1, dtype=float32)}
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(learning_rate, betas, eps, weight_decay)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        gradient, m, v = self._moved(gradient, parameter, state)
        b1, b2 = self.betas
        t, dtype = self._steps(), gradient.dtype
        left = 1 - b2**t
        limit = 2 / (1 - b2) - 1
        length = limit - 2 * t * b2**t / left
        known = length > 5
        r = mx.where(known, length, 6.0)
        ratio = (r - 4) * (r - 2) * limit / ((limit - 4) * (limit - 2) * r)
        factor = mx.sqrt(ratio * left).astype(dtype)
        scale = mx.where(known, factor / (mx.sqrt(v) + self.eps), mx.ones((), dtype))
        return parameter - self._rate(gradient) * (m / (1 - b1**t).astype(dtype)) * scale
