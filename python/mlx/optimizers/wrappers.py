"""Sums of gradients over several batches, and training in 16-bit floats."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx.optimizers._checks import check
from mlx.optimizers.base import Optimizer, _Tree
from mlx.utils import tree_flatten, tree_map


class GradientAccumulator:
    """Add up the gradients of several batches and give their mean.

    It counts in Python: call :meth:`add` outside of compiled functions.

    Args:
        steps: the number of batches.

    Raises:
        ValueError: ``steps`` is not positive.

    >>> accumulator = optim.GradientAccumulator(2)
    >>> accumulator.add({"w": mx.array(1.0)}) is None
    True
    >>> accumulator.add({"w": mx.array(3.0)})
    {'w': array(2, dtype=float32)}
    """

    def __init__(self, steps: int) -> None:
        check(steps >= 1, "GradientAccumulator steps", ">=1", steps)
        self.steps = steps
        self._count = 0
        self._total: Any = None

    def add(self, gradients: Any) -> Any | None:
        """Add a tree of gradients.

        Args:
            gradients: the tree, of the same structure for every batch.

        Returns:
            The mean of the last ``steps`` trees if this is the last one of them, otherwise None.
        """
        total = gradients
        if self._total is not None:
            total = tree_map(mx.add, self._total, gradients)
        self._count += 1
        if self._count < self.steps:
            # Sums are computed at once: a lazy one would hold the graphs of all batches.
            mx.async_eval(total)
            self._total = total
            return None
        self._count, self._total = 0, None
        return tree_map(lambda x: x * (1 / self.steps), total)


def _choose(condition: mx.array, new: Any, old: Any) -> Any:
    return tree_map(lambda a, b: mx.where(condition, a, b), new, old)


def _assign(tree: Any, values: Any) -> None:
    """Put the leaves of ``values`` into the containers of ``tree``, which others hold, too."""
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        if isinstance(value, (dict, list)):
            _assign(tree[key], value)
        else:
            tree[key] = value


class MixedPrecision(Optimizer):
    """Make steps on parameters of 16-bit floats with an optimizer that keeps them in float32.

    Micikevicius et al., "Mixed Precision Training" (2017). The state has a float32 copy of each
    parameter, the master weights, which the optimizer updates; parameters are these, rounded. With
    a loss scale the gradients of ``scale_loss(loss)`` are divided again; a step whose gradients
    are not finite changes nothing.

    Args:
        optimizer: the optimizer.
        loss_scale: None for no scale, as bfloat16 needs none; a number; or ``"dynamic"`` for one
            that starts at 2^15, is halved after gradients that are not finite, and doubled after
            ``growth_interval`` steps without.
        growth_interval: the number of steps after which a dynamic scale is doubled.

    Raises:
        ValueError: a setting is not accepted.

    >>> model = nn.Linear(2, 1)
    >>> _ = model.set_dtype(mx.float16)
    >>> optimizer = optim.MixedPrecision(optim.Adam(1e-3), loss_scale="dynamic")
    >>> def loss(x):
    ...     return optimizer.scale_loss(model(x).astype(mx.float32).mean())
    >>> value, gradients = nn.value_and_grad(model, loss)(mx.ones((4, 2), mx.float16))
    >>> optimizer.update(model, gradients)
    >>> model.weight.dtype == mx.float16, optimizer.state["master"]["weight"].dtype == mx.float32
    (True, True)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        loss_scale: float | str | None = None,
        growth_interval: int = 2000,
    ) -> None:
        super().__init__()
        if loss_scale is not None and loss_scale != "dynamic":
            valid = not isinstance(loss_scale, str) and loss_scale > 0
            check(valid, "MixedPrecision loss_scale", "None, 'dynamic' or >0", loss_scale)
        check(growth_interval >= 1, "MixedPrecision growth_interval", ">=1", growth_interval)
        self.optimizer = optimizer
        self.loss_scale, self.growth_interval = loss_scale, growth_interval
        start = 2.0**15 if loss_scale == "dynamic" else 1.0 if loss_scale is None else loss_scale
        self._state = {
            "scale": mx.array(start),
            "finite_steps": mx.array(0),
            "optimizer": optimizer.state,
        }

    @property
    def state(self) -> _Tree:
        """Return the optimizer's state, the master weights and the loss scale."""
        return self._state

    @state.setter
    def state(self, state: _Tree) -> None:
        self.optimizer.state = state["optimizer"]
        self._state = state

    @property
    def step(self) -> mx.array:
        """Return the number of updates of the optimizer."""
        return self.optimizer.step

    @property
    def learning_rate(self) -> mx.array:
        """Return the learning rate of the optimizer."""
        return self.optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: float | mx.array) -> None:
        self.optimizer.learning_rate = learning_rate

    def init(self, parameters: _Tree) -> None:
        """Make the master weights and the state of the optimizer.

        Args:
            parameters: a tree of parameters.
        """
        self._state["master"] = tree_map(self._wide, parameters)
        self.optimizer.init(self._state["master"])
        self._initialized = True

    @staticmethod
    def _wide(x: mx.array) -> mx.array:
        return x.astype(mx.float32) if x.dtype in (mx.float16, mx.bfloat16) else x

    def scale_loss(self, loss: mx.array) -> mx.array:
        """Return the loss times the scale, to be differentiated.

        Args:
            loss: a scalar.
        """
        return loss * self._state["scale"].astype(loss.dtype)

    def apply_gradients(self, gradients: _Tree, parameters: _Tree) -> _Tree:
        """Make one step, unless a gradient is not finite.

        Args:
            gradients: a tree of gradients of the scaled loss.
            parameters: a tree that holds at least the same places.

        Returns:
            New values for the parameters in the tree of gradients.
        """
        if "master" not in self._state:
            self.init(tree_map(lambda _, w: w, gradients, parameters))
        wide = tree_map(self._wide, gradients)
        if self.loss_scale is not None:
            wide = tree_map(lambda g: g / self._state["scale"].astype(g.dtype), wide)
        master = self._state["master"]
        if self.loss_scale is None:
            new = self.optimizer.apply_gradients(wide, master)
        else:
            new = self._guarded(wide, master)
        self._state["master"] = new
        return tree_map(lambda w, old: w.astype(old.dtype), new, parameters)

    def _guarded(self, gradients: _Tree, master: _Tree) -> _Tree:
        """New master weights where all gradients are finite, otherwise the old ones."""
        finite = mx.array(True)
        for _, g in tree_flatten(gradients):
            finite = finite & mx.all(mx.isfinite(g))
        if not self.optimizer._initialized:
            self.optimizer.init(master)
        before = tree_map(lambda x: x, self.optimizer.state)
        new = self.optimizer.apply_gradients(gradients, master)
        _assign(self.optimizer.state, _choose(finite, self.optimizer.state, before))
        if self.loss_scale == "dynamic":
            count = mx.where(finite, self._state["finite_steps"] + 1, 0)
            grows = count >= self.growth_interval
            scale = self._state["scale"]
            grown = mx.where(grows, scale * 2, scale)
            self._state["scale"] = mx.where(finite, grown, mx.maximum(scale / 2, 1))
            self._state["finite_steps"] = mx.where(grows, 0, count)
        return _choose(finite, new, master)
