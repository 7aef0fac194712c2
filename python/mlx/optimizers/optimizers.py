"""Optimizers, which turn gradients into new parameters and keep the state this takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
from mlx.nn import Module
from mlx.nn.utils import _clip_by_norm
from mlx.optimizers._checks import check, check_betas
from mlx.utils import tree_flatten, tree_map, tree_merge, tree_reduce as tree_reduce, tree_unflatten

LearningRate = float | Callable[[mx.array], mx.array]
_Tree = dict[str, Any]  # parameters, gradients or state, nested by name


class Optimizer:
    """The base class of optimizers.

    A subclass defines :meth:`init_single` and :meth:`apply_single`.  Settings that may follow a
    schedule, as the learning rate, are entries of the state.

    >>> optimizer = optim.SGD(learning_rate=0.1)
    >>> optimizer.update(model, gradients)
    >>> mx.eval(model.parameters(), optimizer.state)
    """

    def __init__(self, schedulers: dict[str, Callable[..., Any]] | None = None) -> None:
        self._initialized = False
        self._state: _Tree = {"step": mx.array(0, mx.uint64)}
        self._schedulers = dict(schedulers or {})

    def _maybe_schedule(self, name: str, value: float | Callable[[mx.array], mx.array]) -> None:
        """Put a setting into the state, and keep the schedule if it has one."""
        if callable(value):
            self._schedulers[name] = value
            self._state[name] = mx.array(value(self.step))
        else:
            self._state[name] = mx.array(value)

    @property
    def state(self) -> _Tree:
        """The step, the settings, and a tree like the parameters with a dict for each."""
        return self._state

    @state.setter
    def state(self, state: _Tree) -> None:
        self._initialized = False
        self._state = state

    @property
    def step(self) -> mx.array:
        """The number of updates made."""
        return self.state["step"]

    @property
    def learning_rate(self) -> mx.array:
        """The learning rate of the last update, or before any, of the first."""
        return self.state["learning_rate"]

    @learning_rate.setter
    def learning_rate(self, learning_rate: float | mx.array) -> None:
        self.state["learning_rate"] = mx.array(learning_rate)

    def init(self, parameters: _Tree) -> None:
        """Make the state of all ``parameters`` that have none.

        The first update does so by itself; call it before to give the state to ``mx.compile``.
        """

        self._fill(parameters, self._state)
        self._initialized = True

    def _fill(self, parameter: Any, state: Any) -> Any:
        """Make the state of what ``parameter`` holds, keeping what ``state`` has of it."""
        if isinstance(parameter, dict):
            state = {} if state is None else state
            for key, child in parameter.items():
                state[key] = self._fill(child, state.get(key))
        elif isinstance(parameter, (list, tuple)):
            known = list(state or []) + [None] * len(parameter)
            state = [self._fill(child, old) for child, old in zip(parameter, known, strict=False)]
        elif not state:
            state = {}
            self.init_single(parameter, state)
        return state

    def init_single(self, parameter: mx.array, state: _Tree) -> None:
        """Fill in the ``state`` of one parameter."""
        raise NotImplementedError

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """Return the new value of one parameter and change its ``state``."""
        raise NotImplementedError

    def apply_gradients(self, gradients: _Tree, parameters: _Tree) -> _Tree:
        """Make one step: new values for the parameters in the tree ``gradients``.

        ``parameters`` may hold more than ``gradients``.
        """
        if not self._initialized:
            self.init(gradients)
        for name, schedule in self._schedulers.items():
            self.state[name] = schedule(self.step)
        self.state["step"] = self.step + 1
        return tree_map(self.apply_single, gradients, parameters, self.state)

    def update(self, model: Module, gradients: _Tree) -> None:
        """Make one step and put the new values into ``model``."""
        model.update(self.apply_gradients(gradients, model))

    def _rate(self, gradient: mx.array) -> mx.array:
        """The learning rate in the gradient's dtype."""
        return self.learning_rate.astype(gradient.dtype)


class MultiOptimizer(Optimizer):
    """Several optimizers, each for a part of the parameters.

    Args:
        optimizers: the optimizers.
        filters: ``filter(path, gradient)`` of all optimizers but the last: a parameter belongs
            to the first whose filter is true, or else to the last.

    >>> optim.MultiOptimizer(
    ...     [optim.Muon(0.02), optim.AdamW(1e-3)], [lambda path, x: x.ndim >= 2]
    ... )
    """

    def __init__(
        self, optimizers: list[Optimizer], filters: Sequence[Callable[..., Any]] = ()
    ) -> None:
        super().__init__({})
        self._state = {}
        if len(filters) != len(optimizers) - 1:
            raise ValueError(f"Given {len(filters)} filters but {len(optimizers) - 1} needed.")
        self.optimizers = optimizers
        self.filters: list[Callable[..., Any]] = [*filters, lambda path, x: True]

    def _divide(self, tree: _Tree) -> list[_Tree]:
        """The part of ``tree`` that belongs to each optimizer."""
        parts: list[list[Any]] = [[] for _ in self.optimizers]
        for path, x in tree_flatten(tree):
            chosen = next(i for i, accepts in enumerate(self.filters) if accepts(path, x))
            parts[chosen].append((path, x))
        return [tree_unflatten(part) if part else {} for part in parts]

    def init(self, parameters: _Tree) -> None:
        """Make the state of all ``parameters`` that have none."""
        for optimizer, part in zip(self.optimizers, self._divide(parameters), strict=True):
            optimizer.init(part)
        self._initialized = True

    def apply_gradients(self, gradients: _Tree, parameters: _Tree) -> _Tree:
        """Make one step of every optimizer."""
        tree: _Tree = {}
        for optimizer, part in zip(self.optimizers, self._divide(gradients), strict=True):
            tree = tree_merge(tree, optimizer.apply_gradients(part, parameters))
        return tree

    @property
    def state(self) -> _Tree:
        """The states of the optimizers, as the list ``"states"``."""
        return {"states": [optimizer.state for optimizer in self.optimizers]}

    @state.setter
    def state(self, state: _Tree) -> None:
        states = state.get("states") if isinstance(state, dict) else None
        if states is None or len(states) != len(self.optimizers):
            raise ValueError("Invalid state provided")
        for optimizer, one in zip(self.optimizers, states, strict=True):
            optimizer.state = one

    @property
    def learning_rate(self) -> mx.array:
        """The learning rate of the first optimizer; setting it sets those of all."""
        return self.optimizers[0].learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: float | mx.array) -> None:
        for optimizer in self.optimizers:
            optimizer.learning_rate = learning_rate


class SGD(Optimizer):
    """Stochastic gradient descent.

        g = g + weight_decay * w
        v = momentum * v + (1 - dampening) * g
        w = w - learning_rate * (g + momentum * v if nesterov else v)

    Without momentum ``w = w - learning_rate * g``.
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
    """Division by a running root mean square of the gradients (Tieleman and Hinton, 2012).

    v = alpha * v + (1 - alpha) * g²
    w = w - learning_rate * g / (sqrt(v) + eps)
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
    """Division by the root of the sum of all squared gradients (Duchi et al., 2011).

    v = v + g²
    w = w - learning_rate * g / (sqrt(v) + eps)
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
    """Steps in the units of the parameters (Zeiler, 2012).

    v = rho * v + (1 - rho) * g²
    d = g * sqrt(u + eps) / sqrt(v + eps)
    u = rho * u + (1 - rho) * d²
    w = w - learning_rate * d
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
    """Running means of the gradients and of their squares (Kingma and Ba, 2015).

        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g²
        w = w - learning_rate * m / (sqrt(v) + eps)

    with ``b1, b2 = betas``; ``bias_correction`` first divides ``m`` by ``1 - b1 ** step`` and
    ``v`` by ``1 - b2 ** step``.
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        bias_correction: bool = False,
    ) -> None:
        check_betas("Adam", betas)
        check(eps >= 0, "Adam epsilon", ">=0", eps)
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
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
    """:class:`Adam` after ``w = w * (1 - learning_rate * weight_decay)``.

    Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019).
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
    """:class:`Adam` with a decaying maximum in place of the root (Kingma and Ba, 2015).

    m = b1 * m + (1 - b1) * g
    v = max(b2 * v, |g|)
    w = w - learning_rate * m / (v + eps)
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
    """The sign of a running mean (Chen et al., 2023).

        c = b1 * m + (1 - b1) * g
        m = b2 * m + (1 - b2) * g
        w = w * (1 - learning_rate * weight_decay) - learning_rate * sign(c)

    It takes a smaller learning rate and a larger weight decay than :class:`AdamW`.
    """

    def __init__(
        self,
        learning_rate: LearningRate,
        betas: Sequence[float] = (0.9, 0.99),
        weight_decay: float = 0.0,
    ) -> None:
        check_betas("Lion", betas)
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
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
    """Second moments of matrices kept as sums of rows and columns (Shazeer and Stern, 2018).

    Args:
        learning_rate: the learning rate, unless ``relative_step``.
        eps: added to the squared gradients, and the least scale of a parameter.
        clip_threshold: the greatest root mean square of an update.
        decay_rate: the decay at step ``t`` is ``1 - t ** decay_rate``.
        beta_1: the decay of a running mean of the updates, if there is to be one.
        weight_decay: the share of ``learning_rate * w`` to subtract.
        scale_parameter: multiply the learning rate by the parameter's root mean square.
        relative_step: use ``min(0.01, 1 / sqrt(t))`` as the learning rate.
        warmup_init: with ``relative_step``, ``min(1e-6 t, 1 / sqrt(t))``.
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
    """Momentum, orthogonalised where the parameter is a matrix (Jordan et al., 2024).

        g = g + weight_decay * w
        v = momentum * v + (1 - momentum) * g
        u = momentum * v + (1 - momentum) * g if nesterov else v
        w = w - learning_rate * orthogonal(u)

    ``orthogonal`` brings the singular values of a matrix close to one, by ``ns_steps`` steps of a
    Newton–Schulz iteration, and multiplies by ``sqrt(max(1, rows / columns))``.  What has more
    axes counts as a matrix with a row for each first index, what has fewer is left as it is: use
    another optimizer for embeddings, outputs and biases.
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

    Returns the gradients and the norm that they had.
    """
    return _clip_by_norm(grads, max_norm)
