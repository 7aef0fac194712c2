"""Recurrent layers, which read a sequence step by step.

Inputs have shape ``(..., L, input_size)``, states ``(..., hidden_size)``; all parameters start
uniform in ``±1/sqrt(hidden_size)``. The steps are one node of the graph, a scan; for activations
from outside this package, each step adds several nodes to the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.activations import tanh
from mlx.nn.layers.base import Module

_Step = Callable[[tuple[mx.array, ...], mx.array], tuple[mx.array, ...]]
"""The states after a step from the states before it and the projected input."""


def _project(x: mx.array, weight: mx.array, bias: mx.array | None) -> mx.array:
    return x @ weight.T if bias is None else mx.addmm(bias, x, weight.T)


def _is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function is known to draw no random numbers and to keep no state."""
    return getattr(function, "__module__", "") in ("mlx.core", "mlx.nn.layers.activations")


def _along_steps(
    step: _Step, rows: mx.array, states: Sequence[mx.array], as_scan: bool
) -> tuple[mx.array, ...]:
    """The states after all steps, each with the steps as its axis before the last one."""
    dtype = mx.result_type(rows, *states)
    batch = mx.broadcast_shapes(rows.shape[:-2], *(s.shape[:-1] for s in states))
    now = tuple(mx.broadcast_to(s, (*batch, s.shape[-1])).astype(dtype) for s in states)
    by_step = mx.moveaxis(rows.astype(dtype), -2, 0)
    if by_step.shape[0] == 0:
        return tuple(mx.zeros((*batch, 0, s.shape[-1]), dtype) for s in states)
    if as_scan:

        def body(carry: tuple[mx.array, ...], row: mx.array) -> Any:
            after = step(carry, row)
            return after, after

        _, stacked = mx.scan(body, now, by_step)
        return tuple(mx.moveaxis(s, 0, -2) for s in stacked)
    after = []
    for k in range(by_step.shape[0]):
        now = step(now, by_step[k])
        after.append(now)
    return tuple(mx.stack(list(each), axis=-2) for each in zip(*after, strict=True))


class _Cell(Module):
    """The parameters of one layer in one direction, and its step."""

    _as_scan = True
    """Whether the steps are one node: the function of a step is traced once for all."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        check_sizes(self, 0, input_size=input_size)
        check_sizes(self, hidden_size=hidden_size)
        self.hidden_size = hidden_size

    def _uniform(self, *shape: int) -> mx.array:
        bound = 1 / math.sqrt(self.hidden_size)
        return mx.random.uniform(-bound, bound, shape)

    def _project(self, x: mx.array) -> mx.array:
        """The terms of a step that depend on the input alone."""
        raise NotImplementedError

    def _step(self, states: tuple[mx.array, ...], row: mx.array) -> tuple[mx.array, ...]:
        raise NotImplementedError

    def _start(self, x: mx.array, states: Sequence[mx.array | None], axes: int) -> list[mx.array]:
        """The states to start from; zeros for a state that is not given."""
        zeros = mx.zeros((*x.shape[: x.ndim - axes], self.hidden_size), x.dtype)
        return [zeros if s is None else s for s in states]

    def _run(self, x: mx.array, states: Sequence[mx.array | None]) -> tuple[mx.array, ...]:
        """The states after each step of ``x (..., L, input_size)``."""
        rows = self._project(x)
        return _along_steps(self._step, rows, self._start(rows, states, 2), self._as_scan)


class _Recurrent(_Cell):
    """Layers over each other, and one in each direction."""

    def _stack(self, make: Callable[[int], Any], num_layers: int, bidirectional: bool) -> None:
        """Add the backward direction and further layers, which ``make`` makes of an input size."""
        check_sizes(self, num_layers=num_layers)
        width = self.hidden_size * (2 if bidirectional else 1)
        if bidirectional:
            self.backward = make(self._input_size())
        if num_layers > 1:
            self.deeper = [make(width) for _ in range(num_layers - 1)]
            if bidirectional:
                for layer in self.deeper:
                    layer.backward = make(width)

    def _input_size(self) -> int:
        raise NotImplementedError

    def _stack_repr(self) -> str:
        text = f", num_layers={1 + len(self.deeper)}" if "deeper" in self else ""
        return text + (", bidirectional=True" if "backward" in self else "")

    def _forward(self, x: mx.array, *states: mx.array | None) -> tuple[mx.array, ...]:
        """The states of the last layer after each step, those of both directions side by side."""
        if "deeper" not in self and "backward" not in self:
            return self._run(x, states)
        layers = [self, *self.get("deeper", [])]
        ways = 2 if "backward" in self else 1
        for state in states:
            if state is not None and (state.ndim != x.ndim or len(state) != len(layers) * ways):
                raise ValueError(
                    f"[{type(self).__name__}] a state of shape {state.shape}; one state for each"
                    f" layer and direction, {len(layers) * ways} along the first axis, is accepted"
                )
        for k, layer in enumerate(layers):

            def of(way: int, k: int = k) -> list[mx.array | None]:
                return [None if s is None else s[k * ways + way] for s in states]

            outputs = layer._run(x, of(0))
            if ways == 2:
                back = layer.backward._run(x[..., ::-1, :], of(1))
                outputs = tuple(
                    mx.concatenate([a, b[..., ::-1, :]], axis=-1)
                    for a, b in zip(outputs, back, strict=True)
                )
            x = outputs[0]
        return outputs


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
        num_layers: the number of layers, each of which reads the states of the one before. States
            to start from then have a first axis of layers and directions, as in PyTorch.
        bidirectional: whether each layer also reads from the end of the sequence, with other
            parameters; both states are joined on the last axis.

    >>> nn.RNN(3, 5)(mx.ones((2, 10, 3))).shape
    (2, 10, 5)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: Callable[..., Any] | None = None,
        num_layers: int = 1,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.nonlinearity = tanh if nonlinearity is None else nonlinearity
        if not callable(self.nonlinearity):
            raise ValueError(f"Nonlinearity must be callable. Current value: {nonlinearity}.")
        self.Wxh = self._uniform(hidden_size, input_size)
        self.Whh = self._uniform(hidden_size, hidden_size)
        self.bias = self._uniform(hidden_size) if bias else None
        self._as_scan = _is_ours(self.nonlinearity)
        self._stack(
            lambda size: RNN(size, hidden_size, bias, nonlinearity), num_layers, bidirectional
        )

    def _input_size(self) -> int:
        return self.Wxh.shape[1]

    def _extra_repr(self) -> str:
        return (
            f"input_dims={self.Wxh.shape[1]}, hidden_size={self.hidden_size},"
            f" nonlinearity={self.nonlinearity}, bias={self.bias is not None}" + self._stack_repr()
        )

    def _project(self, x: mx.array) -> mx.array:
        return _project(x, self.Wxh, self.bias)

    def _step(self, states: tuple[mx.array, ...], row: mx.array) -> tuple[mx.array, ...]:
        return (self.nonlinearity(row + states[0] @ self.Whh.T),)

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        return self._forward(x, hidden)[0]


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
        num_layers: the number of layers, each of which reads the states of the one before. States
            to start from then have a first axis of layers and directions, as in PyTorch.
        bidirectional: whether each layer also reads from the end of the sequence, with other
            parameters; both states are joined on the last axis.

    >>> nn.GRU(3, 5)(mx.ones((2, 10, 3))).shape
    (2, 10, 5)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        num_layers: int = 1,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.Wx = self._uniform(3 * hidden_size, input_size)
        self.Wh = self._uniform(3 * hidden_size, hidden_size)
        self.b = self._uniform(3 * hidden_size) if bias else None
        self.bhn = self._uniform(hidden_size) if bias else None
        self._stack(lambda size: GRU(size, hidden_size, bias), num_layers, bidirectional)

    def _input_size(self) -> int:
        return self.Wx.shape[1]

    def _extra_repr(self) -> str:
        return (
            f"input_dims={self.Wx.shape[1]}, hidden_size={self.hidden_size},"
            f" bias={self.b is not None}" + self._stack_repr()
        )

    def _project(self, x: mx.array) -> mx.array:
        return _project(x, self.Wx, self.b)

    def _step(self, states: tuple[mx.array, ...], row: mx.array) -> tuple[mx.array, ...]:
        (hidden,), split = states, [2 * self.hidden_size]
        gates, new = mx.split(row, split, axis=-1)
        gates_of_h, recalled = mx.split(hidden @ self.Wh.T, split, axis=-1)
        if self.bhn is not None:
            recalled = recalled + self.bhn
        reset, keep = mx.split(mx.sigmoid(gates + gates_of_h), 2, axis=-1)
        new = mx.tanh(new + reset * recalled)
        return ((1 - keep) * new + keep * hidden,)

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        return self._forward(x, hidden)[0]


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
        num_layers: the number of layers, each of which reads the states of the one before. States
            to start from then have a first axis of layers and directions, as in PyTorch.
        bidirectional: whether each layer also reads from the end of the sequence, with other
            parameters; both states are joined on the last axis.

    >>> states, cells = nn.LSTM(3, 5)(mx.ones((2, 10, 3)))
    >>> states.shape, cells.shape
    ((2, 10, 5), (2, 10, 5))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        num_layers: int = 1,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.Wx = self._uniform(4 * hidden_size, input_size)
        self.Wh = self._uniform(4 * hidden_size, hidden_size)
        self.bias = self._uniform(4 * hidden_size) if bias else None
        self._stack(lambda size: LSTM(size, hidden_size, bias), num_layers, bidirectional)

    def _input_size(self) -> int:
        return self.Wx.shape[1]

    def _extra_repr(self) -> str:
        return (
            f"input_dims={self.Wx.shape[1]}, hidden_size={self.hidden_size},"
            f" bias={self.bias is not None}" + self._stack_repr()
        )

    def _project(self, x: mx.array) -> mx.array:
        return _project(x, self.Wx, self.bias)

    def _step(self, states: tuple[mx.array, ...], row: mx.array) -> tuple[mx.array, ...]:
        hidden, cell = states
        i, f, g, o = mx.split(row + hidden @ self.Wh.T, 4, axis=-1)
        cell = mx.sigmoid(f) * cell + mx.sigmoid(i) * mx.tanh(g)
        return mx.sigmoid(o) * mx.tanh(cell), cell

    def __call__(
        self, x: mx.array, hidden: mx.array | None = None, cell: mx.array | None = None
    ) -> tuple[mx.array, mx.array]:
        states, cells = self._forward(x, hidden, cell)
        return states, cells


class RNNCell(RNN):
    """Compute one step of an :class:`RNN`: ``nonlinearity(Wxh x + Whh h + bias)``.

    The call takes ``x (..., input_size)`` and the state before, zeros by default, and returns the
    state after the step.

    Args:
        input_size: the size of the input's last axis.
        hidden_size: the size of a state.
        bias: whether there is a bias.
        nonlinearity: the function of the step, :func:`tanh` by default.

    >>> nn.RNNCell(3, 5)(mx.ones((2, 3))).shape
    (2, 5)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, nonlinearity)

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        row = self._project(x)
        return self._step(tuple(self._start(row, [hidden], 1)), row)[0]


class GRUCell(GRU):
    """Compute one step of a :class:`GRU`.

    The call takes ``x (..., input_size)`` and the state before, zeros by default, and returns the
    state after the step.

    Args:
        input_size: the size of the input's last axis.
        hidden_size: the size of a state.
        bias: whether there are biases.

    >>> nn.GRUCell(3, 5)(mx.ones((2, 3))).shape
    (2, 5)
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size, bias)

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        row = self._project(x)
        return self._step(tuple(self._start(row, [hidden], 1)), row)[0]


class LSTMCell(LSTM):
    """Compute one step of an :class:`LSTM`.

    The call takes ``x (..., input_size)``, the hidden state and the cell before, zeros by default,
    and returns both after the step.

    Args:
        input_size: the size of the input's last axis.
        hidden_size: the size of a state.
        bias: whether there is a bias.

    >>> hidden, cell = nn.LSTMCell(3, 5)(mx.ones((2, 3)))
    >>> hidden.shape, cell.shape
    ((2, 5), (2, 5))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size, bias)

    def __call__(
        self, x: mx.array, hidden: mx.array | None = None, cell: mx.array | None = None
    ) -> tuple[mx.array, mx.array]:
        row = self._project(x)
        hidden, cell = self._step(tuple(self._start(row, [hidden, cell], 1)), row)
        return hidden, cell
