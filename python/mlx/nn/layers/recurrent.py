"""Recurrent layers, which read a sequence step by step.

Inputs have shape ``(..., L, input_size)``, states ``(..., hidden_size)``; all parameters start
uniform in ``±1/sqrt(hidden_size)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.activations import tanh
from mlx.nn.layers.base import Module


def _project(x: mx.array, weight: mx.array, bias: mx.array | None) -> mx.array:
    return x @ weight.T if bias is None else mx.addmm(bias, x, weight.T)


class _Recurrent(Module):
    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        check_sizes(self, 0, input_size=input_size)
        check_sizes(self, hidden_size=hidden_size)
        self.hidden_size = hidden_size

    def _uniform(self, *shape: int) -> mx.array:
        bound = 1 / math.sqrt(self.hidden_size)
        return mx.random.uniform(-bound, bound, shape)


def _along_steps(states: list[mx.array], like: mx.array) -> mx.array:
    """Stack the states of the steps; `like` is what there is of no step."""
    return mx.stack(states, axis=-2) if states else mx.zeros_like(like)


class RNN(_Recurrent):
    """Compute ``h = nonlinearity(Wxh x + Whh h + bias)`` step by step.

    Elman, "Finding Structure in Time" (1990). ``Wxh`` has shape ``(hidden_size, input_size)``,
    ``Whh`` ``(hidden_size, hidden_size)``. The call takes the state to start from (zeros by
    default) and returns the states after all steps, ``(..., L, hidden_size)``.

    Args:
        input_size: the size of the input's last axis.
        hidden_size: the size of a state.
        bias: whether there is a bias.
        nonlinearity: the function of each step, :func:`tanh` by default.

    >>> nn.RNN(3, 5)(mx.ones((2, 10, 3))).shape
    (2, 10, 5)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.nonlinearity = tanh if nonlinearity is None else nonlinearity
        if not callable(self.nonlinearity):
            raise ValueError(f"Nonlinearity must be callable. Current value: {nonlinearity}.")
        self.Wxh = self._uniform(hidden_size, input_size)
        self.Whh = self._uniform(hidden_size, hidden_size)
        self.bias = self._uniform(hidden_size) if bias else None

    def _extra_repr(self) -> str:
        return (
            f"input_dims={self.Wxh.shape[1]}, hidden_size={self.hidden_size},"
            f" nonlinearity={self.nonlinearity}, bias={self.bias is not None}"
        )

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        x = _project(x, self.Wxh, self.bias)
        states = []
        for i in range(x.shape[-2]):
            step = x[..., i, :]
            hidden = self.nonlinearity(
                step if hidden is None else mx.addmm(step, hidden, self.Whh.T)
            )
            states.append(hidden)
        return _along_steps(states, x)


class GRU(_Recurrent):
    """Compute the states of a gated recurrent unit.

        r = sigmoid(Wr x + Ur h + br)
        z = sigmoid(Wz x + Uz h + bz)
        n = tanh(Wn x + bn + r * (Un h + bhn))
        h = (1 - z) * n + z * h

    Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder" (2014). ``Wx`` of shape
    ``(3 hidden_size, input_size)`` stacks ``Wr``, ``Wz`` and ``Wn``; ``Wh`` stacks the ``U``, ``b``
    the biases; ``bhn`` has shape ``(hidden_size,)``. The call takes the state to start from (zeros
    by default) and returns the states after all steps, ``(..., L, hidden_size)``.

    Args:
        input_size: the size of the input's last axis.
        hidden_size: the size of a state.
        bias: whether there are biases.

    >>> nn.GRU(3, 5)(mx.ones((2, 10, 3))).shape
    (2, 10, 5)
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size)
        self.Wx = self._uniform(3 * hidden_size, input_size)
        self.Wh = self._uniform(3 * hidden_size, hidden_size)
        self.b = self._uniform(3 * hidden_size) if bias else None
        self.bhn = self._uniform(hidden_size) if bias else None

    def _extra_repr(self) -> str:
        return (
            f"input_dims={self.Wx.shape[1]}, hidden_size={self.hidden_size},"
            f" bias={self.b is not None}"
        )

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        gates_of_x, new_of_x = mx.split(
            _project(x, self.Wx, self.b), [2 * self.hidden_size], axis=-1
        )
        states = []
        for i in range(x.shape[-2]):
            gates, new = gates_of_x[..., i, :], new_of_x[..., i, :]
            recalled = self.bhn
            if hidden is not None:
                gates_of_h, recalled = mx.split(hidden @ self.Wh.T, [2 * self.hidden_size], axis=-1)
                gates = gates + gates_of_h
                if self.bhn is not None:
                    recalled = recalled + self.bhn
            reset, keep = mx.split(mx.sigmoid(gates), 2, axis=-1)
            new = mx.tanh(new if recalled is None else new + reset * recalled)
            hidden = (1 - keep) * new + (0 if hidden is None else keep * hidden)
            states.append(hidden)
        return _along_steps(states, new_of_x)


class LSTM(_Recurrent):
    """Compute the states and cells of a long short-term memory with forget gate.

        i, f, o = sigmoid of their rows of (Wx x + Wh h + bias)
        g = tanh of its rows
        c = f * c + i * g
        h = o * tanh(c)

    Hochreiter and Schmidhuber, "Long Short-Term Memory" (1997). ``Wx`` of shape ``(4 hidden_size,
    input_size)``, ``Wh`` and ``bias`` stack the rows of ``i``, ``f``, ``g`` and ``o``. The call
    takes the hidden state and the cell to start from (zeros by default) and returns both after all
    steps, ``(..., L, hidden_size)`` each.

    Args:
        input_size: the size of the input's last axis.
        hidden_size: the size of a state.
        bias: whether there is a bias.

    >>> states, cells = nn.LSTM(3, 5)(mx.ones((2, 10, 3)))
    >>> states.shape, cells.shape
    ((2, 10, 5), (2, 10, 5))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size)
        self.Wx = self._uniform(4 * hidden_size, input_size)
        self.Wh = self._uniform(4 * hidden_size, hidden_size)
        self.bias = self._uniform(4 * hidden_size) if bias else None

    def _extra_repr(self) -> str:
        return (
            f"input_dims={self.Wx.shape[1]}, hidden_size={self.hidden_size},"
            f" bias={self.bias is not None}"
        )

    def __call__(
        self, x: mx.array, hidden: mx.array | None = None, cell: mx.array | None = None
    ) -> tuple[mx.array, mx.array]:
        x = _project(x, self.Wx, self.bias)
        states, cells = [], []
        for step in range(x.shape[-2]):
            rows = x[..., step, :]
            if hidden is not None:
                rows = mx.addmm(rows, hidden, self.Wh.T)
            i, f, g, o = mx.split(rows, 4, axis=-1)
            new = mx.sigmoid(i) * mx.tanh(g)
            cell = new if cell is None else mx.sigmoid(f) * cell + new
            hidden = mx.sigmoid(o) * mx.tanh(cell)
            states.append(hidden)
            cells.append(cell)
        none = x[..., : self.hidden_size]
        return _along_steps(states, none), _along_steps(cells, none)
