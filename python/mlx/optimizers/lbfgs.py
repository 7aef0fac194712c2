"""A quasi-Newton method that remembers some of its last steps."""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx
from mlx.optimizers._checks import check
from mlx.optimizers.base import LearningRate, Optimizer, _Tree
from mlx.utils import tree_flatten, tree_unflatten


def _joined(tree: _Tree, dtype: mx.Dtype = mx.float32) -> mx.array:
    """The numbers of all arrays of a tree, one after another."""
    arrays = [x.flatten() for _, x in tree_flatten(tree)]
    return mx.concatenate(arrays) if arrays else mx.zeros((0,), dtype)


def _divided(vector: mx.array, like: _Tree) -> _Tree:
    """A tree like ``like`` with numbers of a vector."""
    leaves, first = [], 0
    for path, x in tree_flatten(like):
        part = vector[first : first + x.size]
        leaves.append((path, part.reshape(x.shape).astype(x.dtype)))
        first += x.size
    return tree_unflatten(leaves) if leaves else {}


class LBFGS(Optimizer):
    """Make quasi-Newton steps: the inverse Hessian is estimated from the last steps.

    Liu and Nocedal, "On the limited memory BFGS method for large scale optimization" (1989). Each
    update is a step of length ``learning_rate`` along the estimated Newton direction, and the first
    one of at most ``learning_rate / sum(|g|)``. Gradients have to be of the whole data, as noise
    spoils the estimate; :meth:`minimize` searches along the direction.

    Args:
        learning_rate: a number, or a schedule: a function of the step.
        history_size: the number of steps that are remembered.

    >>> optimizer = optim.LBFGS()
    >>> w = {"w": mx.array([3.0, -1.0])}
    >>> for _ in range(12):
    ...     w = optimizer.apply_gradients(mx.grad(lambda w: ((w["w"] - 2) ** 2).sum())(w), w)
    >>> w["w"]
    array([2, 2], dtype=float32)
    """

    def __init__(self, learning_rate: LearningRate = 1.0, history_size: int = 10) -> None:
        check(history_size >= 1, "LBFGS history_size", ">=1", history_size)
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.history_size = history_size

    def init(self, parameters: _Tree) -> None:
        """Make the state: no step is remembered.

        Args:
            parameters: a tree of parameters.
        """
        vector = _joined(parameters)
        rows = mx.zeros((self.history_size, vector.size), vector.dtype)
        if "gradient" not in self._state:
            self._state["gradient"] = mx.zeros_like(vector)
            self._state["move"] = mx.zeros_like(vector)
            self._state["moves"], self._state["changes"] = rows, rows
            self._state["curvatures"] = mx.zeros((self.history_size,), vector.dtype)
            self._state["scale"] = mx.ones((), vector.dtype)
        self._initialized = True

    def _remember(self, gradient: mx.array) -> None:
        """Add the last move and the change of the gradient to the history."""
        state = self._state
        move, change = state["move"], gradient - state["gradient"]
        curvature = mx.sum(move * change)
        # A step along which the gradient does not grow says nothing of a minimum.
        useful = curvature > 1e-10
        safe = mx.where(useful, curvature, 1)

        def added(rows: mx.array, row: mx.array) -> mx.array:
            return mx.where(useful, mx.concatenate([rows[1:], row[None]]), rows)

        state["moves"] = added(state["moves"], move)
        state["changes"] = added(state["changes"], change)
        state["curvatures"] = added(state["curvatures"], 1 / safe)
        square = mx.sum(change * change)
        scale = mx.where(useful, curvature / mx.where(useful, square, 1), state["scale"])
        state["scale"] = scale
        state["gradient"] = gradient

    def _direction(self, gradient: mx.array) -> mx.array:
        """The product of the estimated inverse Hessian and the gradient, downwards."""
        state = self._state
        moves, changes, inverse = state["moves"], state["changes"], state["curvatures"]
        q = -gradient
        # Rows that are not filled yet have curvature 0 and contribute nothing.
        shares = []
        for k in reversed(range(self.history_size)):
            shares.append(inverse[k] * mx.sum(moves[k] * q))
            q = q - shares[-1] * changes[k]
        q = q * state["scale"]
        for k in range(self.history_size):
            along = inverse[k] * mx.sum(changes[k] * q)
            q = q + (shares[self.history_size - 1 - k] - along) * moves[k]
        return q

    def apply_gradients(self, gradients: _Tree, parameters: _Tree) -> _Tree:
        """Make one step.

        Args:
            gradients: a tree of gradients.
            parameters: a tree that holds at least the same places.

        Returns:
            New values for the parameters in the tree of gradients.
        """
        if not self._initialized:
            self.init(gradients)
        for name, schedule in self._schedulers.items():
            self.state[name] = schedule(self.step)
        self.state["step"] = self.step + 1
        gradient = _joined(gradients)
        self._remember(gradient)
        rate = self.learning_rate.astype(gradient.dtype)
        cautious = mx.minimum(1, 1 / mx.maximum(mx.sum(mx.abs(gradient)), 1e-30))
        rate = mx.where(self.step == 1, rate * cautious, rate)
        self.state["move"] = rate * self._direction(gradient)
        known = dict(tree_flatten(parameters))
        own = tree_unflatten([(path, known[path]) for path, _ in tree_flatten(gradients)])
        return _divided(_joined(own) + self.state["move"], own)

    def minimize(
        self,
        value_and_grad: Callable[[_Tree], tuple[mx.array, _Tree]],
        parameters: _Tree,
        max_iter: int = 100,
        tolerance: float = 1e-6,
    ) -> tuple[_Tree, mx.array]:
        """Make steps until the gradient vanishes, halving each that does not reduce the value.

        Args:
            value_and_grad: a function of a tree of parameters that returns a scalar and its
                gradient, as ``mx.value_and_grad`` makes it.
            parameters: the tree to start from.
            max_iter: the greatest number of steps.
            tolerance: the greatest absolute value in the gradient that counts as zero.

        Returns:
            The parameters and the value there.

        >>> start = {"x": mx.array([-1.0, 2.0])}
        >>> bowl = mx.value_and_grad(lambda w: (w["x"][0] - 1) ** 2 + 10 * w["x"][1] ** 2)
        >>> best, value = optim.LBFGS().minimize(bowl, start)
        >>> bool(value < 1e-10)
        True
        """
        value, gradient = value_and_grad(parameters)
        for _ in range(max_iter):
            vector = _joined(gradient)
            if vector.size == 0 or mx.max(mx.abs(vector)).item() <= tolerance:
                break
            start = _joined(parameters)
            self.apply_gradients(gradient, parameters)
            move = self._state["move"]
            slope = mx.sum(move * vector).item()
            for _ in range(30):
                trial = _divided(start + move, parameters)
                new_value, new_gradient = value_and_grad(trial)
                if new_value.item() <= value.item() + 1e-4 * slope:
                    break
                move, slope = move / 2, slope / 2
            else:
                break  # no step along the direction reduces the value: it is exact to rounding
            self._state["move"] = move
            parameters, value, gradient = trial, new_value, new_gradient
            mx.eval(parameters, self._state)
        return parameters, value
