"""Optimizers, which turn gradients into new parameters and keep the state this takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx.nn import Module as Module
from mlx.nn.utils import _clip_by_norm
from mlx.optimizers._checks import check, check_betas
from mlx.optimizers.base import (
    LearningRate,
    MultiOptimizer as MultiOptimizer,
    Optimizer as Optimizer,
    _Tree,
)
from mlx.utils import (
    tree_flatten as tree_flatten,
    tree_map as tree_map,
    tree_merge as tree_merge,
    tree_reduce as tree_reduce,
    tree_unflatten as tree_unflatten,
)


class SGD(Optimizer):
    """Make steps of stochastic gradient descent.

        g = g + weight_decay * w
        v = momentum * v + (1 - dampening) * g
        w = w - learning_rate * (g + momentum * v if nesterov else v)

    Without momentum ``w = w - learning_rate * g``.

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        momentum: the decay of the velocity ``v``.
        weight_decay: the share of the parameter that is added to its gradient.
        dampening: how much less of the gradient enters the velocity.
        nesterov: whether to look ahead; needs momentum and no dampening.

    Raises:
        ValueError: the settings do not fit.

    >>> optim.SGD(0.1).apply_gradients({"w": mx.array(1.0)}, {"w": mx.array(0.0)})
    {'w': array(-0.1, dtype=float32)}
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        dampening: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening.")
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.dampening = dampening
        self.nesterov = nesterov

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start with no velocity ``v``."""
        state["v"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        if self.weight_decay != 0:
            gradient = gradient + self.weight_decay * parameter
        step = gradient
        if self.momentum > 0:
            state["v"] = self.momentum * state["v"] + (1 - self.dampening) * gradient
            step = gradient + self.momentum * state["v"] if self.nesterov else state["v"]
        return parameter - self._rate(gradient) * step


class RMSprop(Optimizer):
    """Divide gradients by their running root mean square.

        v = alpha * v + (1 - alpha) * g²
        w = w - learning_rate * g / (sqrt(v) + eps)

    Tieleman and Hinton, "Lecture 6.5" (2012).

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        alpha: the decay of the mean.
        eps: keeps the divisor positive.

    >>> optim.RMSprop(0.1).apply_gradients({"w": mx.array(1.0)}, {"w": mx.array(0.0)})
    {'w': array(-1, dtype=float32)}
    """

    def __init__(self, learning_rate: LearningRate, alpha: float = 0.99, eps: float = 1e-8) -> None:
        check(alpha >= 0, "RMSprop alpha", ">=0", alpha)
        check(eps > 0, "RMSprop epsilon", ">0", eps)
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.alpha = alpha
        self.eps = eps

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start with ``v = 0``."""
        state["v"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        v = state["v"] = self.alpha * state["v"] + (1 - self.alpha) * mx.square(gradient)
        return parameter - self._rate(gradient) * gradient / (mx.sqrt(v) + self.eps)


class Adagrad(Optimizer):
    """Divide gradients by the root of the sum of all their squares.

        v = v + g²
        w = w - learning_rate * g / (sqrt(v) + eps)

    Duchi et al., "Adaptive Subgradient Methods" (2011).

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        eps: keeps the divisor positive.

    >>> optim.Adagrad(0.1).apply_gradients({"w": mx.array(1.0)}, {"w": mx.array(0.0)})
    {'w': array(-0.1, dtype=float32)}
    """

    def __init__(self, learning_rate: LearningRate, eps: float = 1e-8) -> None:
        check(eps > 0, "Adagrad epsilon", ">0", eps)
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.eps = eps

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start with ``v = 0``."""
        state["v"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        v = state["v"] = state["v"] + mx.square(gradient)
        return parameter - self._rate(gradient) * gradient / (mx.sqrt(v) + self.eps)


class AdaDelta(Optimizer):
    """Make steps in the units of the parameters.

        v = rho * v + (1 - rho) * g²
        d = g * sqrt(u + eps) / sqrt(v + eps)
        u = rho * u + (1 - rho) * d²
        w = w - learning_rate * d

    Zeiler, "ADADELTA" (2012).

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        rho: the decay of both means.
        eps: keeps the divisor positive.

    >>> new = optim.AdaDelta(1.0).apply_gradients({"w": mx.array(1.0)}, {"w": mx.array(0.0)})
    >>> new["w"].item() < 0
    True
    """

    def __init__(self, learning_rate: LearningRate, rho: float = 0.9, eps: float = 1e-6) -> None:
        check(rho >= 0, "AdaDelta rho", ">=0", rho)
        check(eps > 0, "AdaDelta epsilon", ">0", eps)
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.rho = rho
        self.eps = eps

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start with ``v = u = 0``."""
        state["v"] = mx.zeros_like(parameter)
        state["u"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        rho, eps = self.rho, self.eps
        v = state["v"] = rho * state["v"] + (1 - rho) * mx.square(gradient)
        d = mx.sqrt(state["u"] + eps) / mx.sqrt(v + eps) * gradient
        state["u"] = rho * state["u"] + (1 - rho) * mx.square(d)
        return parameter - self._rate(gradient) * d


class Adam(Optimizer):
    """Divide running means of gradients by the roots of running means of their squares.

        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g²
        w = w - learning_rate * m / (sqrt(v) + eps)

    Kingma and Ba, "Adam" (2015).

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        betas: the decays ``b1`` and ``b2``.
        eps: keeps the divisor positive.
        bias_correction: whether to divide ``m`` by ``1 - b1 ** step`` and ``v`` by ``1 - b2 **
            step`` first. Other libraries do so by default.

    Raises:
        ValueError: a setting is not accepted.

    >>> adam = optim.Adam(0.1, bias_correction=True)
    >>> adam.apply_gradients({"w": mx.array(1.0)}, {"w": mx.array(0.0)})
    {'w': array(-0.0999993, dtype=float32)}
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        bias_correction: bool = False,
    ) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        check_betas("Adam", betas)
        check(eps >= 0, "Adam epsilon", ">=0", eps)
        self.betas = list(betas)
        self.eps = eps
        self.bias_correction = bias_correction

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start with ``m = v = 0``."""
        state["m"] = mx.zeros_like(parameter)
        state["v"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        b1, b2 = self.betas
        rate = self._rate(gradient)
        m = state["m"] = b1 * state["m"] + (1 - b1) * gradient
        v = state["v"] = b2 * state["v"] + (1 - b2) * mx.square(gradient)
        root = mx.sqrt(v)
        if self.bias_correction:
            # The corrections are scalars: computed in float32, then rounded.
            rate = (self.learning_rate / (1 - b1**self.step)).astype(gradient.dtype)
            root = root * mx.rsqrt(1 - b2**self.step).astype(gradient.dtype)
        return parameter - rate * m / (root + self.eps)


class AdamW(Adam):
    """Make steps of :class:`Adam` after ``w = w * (1 - learning_rate * weight_decay)``.

    Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019).

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        betas: the decays of the means.
        eps: keeps the divisor positive.
        weight_decay: the share of the parameter that is taken away, times the learning rate.
        bias_correction: as in :class:`Adam`.

    >>> adam = optim.AdamW(0.1, weight_decay=0.5)
    >>> adam.apply_gradients({"w": mx.array(0.0)}, {"w": mx.array(2.0)})
    {'w': array(1.9, dtype=float32)}
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        bias_correction: bool = False,
    ) -> None:
        super().__init__(learning_rate, betas, eps, bias_correction)
        self.weight_decay = weight_decay

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        decayed = parameter * (1 - self._rate(gradient) * self.weight_decay)
        return super().apply_single(gradient, decayed, state)


class Adamax(Adam):
    """Make steps of :class:`Adam` with a decaying maximum in place of the root.

        m = b1 * m + (1 - b1) * g
        v = max(b2 * v, |g|)
        w = w - learning_rate * m / (v + eps)

    Kingma and Ba, "Adam" (2015).

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        betas: the decays ``b1`` and ``b2``.
        eps: keeps the divisor positive.

    >>> optim.Adamax(0.1).apply_gradients({"w": mx.array(1.0)}, {"w": mx.array(0.0)})
    {'w': array(-0.01, dtype=float32)}
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(learning_rate, betas, eps)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        b1, b2 = self.betas
        m = state["m"] = b1 * state["m"] + (1 - b1) * gradient
        v = state["v"] = mx.maximum(b2 * state["v"], mx.abs(gradient))
        return parameter - self._rate(gradient) * m / (v + self.eps)


class Lion(Optimizer):
    """Make steps by the sign of a running mean.

        c = b1 * m + (1 - b1) * g
        m = b2 * m + (1 - b2) * g
        w = w * (1 - learning_rate * weight_decay) - learning_rate * sign(c)

    Chen et al., "Symbolic Discovery of Optimization Algorithms" (2023). It takes a smaller learning
    rate and a larger weight decay than :class:`AdamW`.

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        betas: the decays ``b1`` and ``b2``.
        weight_decay: the share of the parameter that is taken away, times the learning rate.

    >>> optim.Lion(0.1).apply_gradients({"w": mx.array(3.0)}, {"w": mx.array(0.0)})
    {'w': array(-0.1, dtype=float32)}
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        betas: Sequence[float] = (0.9, 0.99),
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        check_betas("Lion", betas)
        self.betas = list(betas)
        self.weight_decay = weight_decay

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start with ``m = 0``."""
        state["m"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        b1, b2 = self.betas
        rate, m = self._rate(gradient), state["m"]
        if self.weight_decay > 0:
            parameter = parameter * (1 - rate * self.weight_decay)
        state["m"] = b2 * m + (1 - b2) * gradient
        return parameter - rate * mx.sign(b1 * m + (1 - b1) * gradient)


class Adafactor(Optimizer):
    """Make steps like Adam's, with second moments of matrices kept as sums of rows and columns.

    Shazeer and Stern, "Adafactor" (2018).

    Args:
        learning_rate: the learning rate, unless ``relative_step``.
        eps: added to the squared gradients, and the least scale of a parameter.
        clip_threshold: the greatest root mean square of an update.
        decay_rate: the decay at step ``t`` is ``1 - t ** decay_rate``.
        beta_1: the decay of a running mean of the updates, if there is to be one.
        weight_decay: the share of ``learning_rate * w`` to subtract.
        scale_parameter: whether to multiply the learning rate by the parameter's root mean square.
        relative_step: whether to use ``min(0.01, 1 / sqrt(t))`` as the learning rate.
        warmup_init: whether it is ``min(1e-6 t, 1 / sqrt(t))``, with ``relative_step``.

    >>> new = optim.Adafactor().apply_gradients({"w": mx.ones((2, 2))}, {"w": mx.ones((2, 2))})
    >>> new["w"].shape
    (2, 2)
    """

    def __init__(
        self,
        learning_rate: LearningRate | None = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = -0.8,
        beta_1: float | None = None,
        weight_decay: float = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
    ) -> None:
        check(len(eps) == 2, "Adafactor eps", "two numbers", eps)
        super().__init__()
        if learning_rate is not None:
            self._maybe_schedule("learning_rate", learning_rate)
        self.eps = eps
        self.clip_threshold = clip_threshold
        self.decay_rate = decay_rate
        self.beta_1 = beta_1
        self.weight_decay = weight_decay
        self.scale_parameter = scale_parameter
        self.relative_step = relative_step
        self.warmup_init = warmup_init

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start all means at zero."""
        shape, dtype = parameter.shape, parameter.dtype
        if parameter.ndim >= 2:
            state["exp_avg_sq_row"] = mx.zeros(shape[:-1], dtype)
            state["exp_avg_sq_col"] = mx.zeros(shape[:-2] + shape[-1:], dtype)
        else:
            state["exp_avg_sq"] = mx.zeros_like(parameter)
        if self.beta_1 is not None:
            state["exp_avg"] = mx.zeros_like(parameter)

    def _learning_rate(self, parameter: mx.array) -> mx.array:
        if self.relative_step:
            longest = 1e-6 * self.step if self.warmup_init else 1e-2
            rate = mx.minimum(longest, mx.rsqrt(self.step))
        else:
            rate = self.learning_rate
        rate = rate.astype(parameter.dtype)
        if not self.scale_parameter:
            return rate
        return rate * mx.maximum(self.eps[1], _rms(parameter))

    def _second_moment_step(self, gradient: mx.array, state: _Tree) -> mx.array:
        """The gradient over the root of its second moment, which is updated."""
        decay = (1 - self.step.astype(mx.float32) ** self.decay_rate).astype(gradient.dtype)
        square = mx.square(gradient) + self.eps[0]

        def average(name: str, new: mx.array) -> mx.array:
            state[name] = decay * state[name] + (1 - decay) * new
            return state[name]

        if gradient.ndim < 2:
            return gradient * mx.rsqrt(average("exp_avg_sq", square))
        rows = average("exp_avg_sq_row", mx.mean(square, axis=-1))
        columns = average("exp_avg_sq_col", mx.mean(square, axis=-2))
        row_factor = mx.rsqrt(rows / mx.mean(rows, axis=-1, keepdims=True))
        outer = mx.expand_dims(row_factor, -1) * mx.expand_dims(mx.rsqrt(columns), -2)
        return gradient * outer

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        rate = self._learning_rate(parameter)
        step = self._second_moment_step(gradient, state)
        step = rate * step / mx.maximum(1.0, _rms(step) / self.clip_threshold)
        if self.beta_1 is not None:
            step = self.beta_1 * state["exp_avg"] + (1 - self.beta_1) * step
            state["exp_avg"] = step
        if self.weight_decay != 0:
            parameter = parameter * (1 - self.weight_decay * rate)
        return parameter - step


def _rms(x: mx.array) -> mx.array:
    return mx.sqrt(mx.mean(mx.square(x)))


class Muon(Optimizer):
    """Make steps of momentum, orthogonalized if the parameter is a matrix.

        g = g + weight_decay * w
        v = momentum * v + (1 - momentum) * g
        u = momentum * v + (1 - momentum) * g if nesterov else v
        w = w - learning_rate * orthogonal(u)

    Jordan et al., "Muon" (2024). ``orthogonal`` brings the singular values of a matrix close to
    one, by steps of a Newton–Schulz iteration, and multiplies by ``sqrt(max(1, rows / columns))``.
    A parameter of more axes counts as a matrix with a row for each first index; one of fewer is
    left as it is: use another optimizer for embeddings, outputs and biases.

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        momentum: the decay of the velocity ``v``.
        weight_decay: the share of the parameter that is added to its gradient.
        nesterov: whether to look ahead.
        ns_steps: the number of steps of the iteration.

    >>> new = optim.Muon(0.1).apply_gradients({"w": mx.eye(2)}, {"w": mx.zeros((2, 2))})
    >>> new["w"].shape
    (2, 2)
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        momentum: float = 0.95,
        weight_decay: float = 0.01,
        nesterov: bool = True,
        ns_steps: int = 5,
    ) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.ns_steps = ns_steps

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Start with ``v = 0``."""
        state["v"] = mx.zeros_like(parameter)

    def _orthogonal(self, x: mx.array) -> mx.array:
        a, b, c = 3.4445, -4.7750, 2.0315
        tall = x.shape[0] > x.shape[1]
        x = x.T if tall else x
        x = x / (mx.linalg.norm(x, keepdims=True) + 1e-7)
        for _ in range(self.ns_steps):
            square = x @ x.T
            x = a * x + mx.addmm(b * square, square, square, alpha=c) @ x
        return x.T if tall else x

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """See the class."""
        if self.weight_decay != 0:
            gradient = gradient + self.weight_decay * parameter
        keep, new = self.momentum, 1 - self.momentum
        v = state["v"] = keep * state["v"] + new * gradient
        step = keep * v + new * gradient if self.nesterov else v
        rate = self._rate(gradient)
        if step.ndim >= 2:
            rows, columns = step.shape[-2:]
            matrix = step.reshape(step.shape[0], -1)
            step = self._orthogonal(matrix).reshape(step.shape)
            rate = rate * math.sqrt(max(1, rows / columns))
        return parameter - rate * step


def clip_grad_norm(grads: Any, max_norm: float) -> tuple[Any, mx.array]:
    """Scale a tree of gradients down so that their norm together is at most ``max_norm``.

    Args:
        grads: the gradients.
        max_norm: the greatest norm.

    Returns:
        The gradients, and the norm that they had.

    Raises:
        ValueError: ``max_norm`` is negative.

    >>> optim.clip_grad_norm({"w": mx.array([3.0, 4.0])}, max_norm=1.0)
    ({'w': array([0.6, 0.8], dtype=float32)}, array(5, dtype=float32))
    """
    return _clip_by_norm(grads, max_norm)
