"""The base classes of optimizers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import mlx.core as mx
from mlx._names import OPTIMIZER, hint
from mlx.nn import Module
from mlx.utils import tree_flatten, tree_map, tree_merge, tree_unflatten

LearningRate = float | Callable[[mx.array], mx.array]
_Tree = dict[str, Any]  # parameters, gradients or state, nested by name


def _name_of(schedule: Callable[..., Any]) -> str:
    """The name of a schedule's function, for a repr."""
    function = getattr(schedule, "func", schedule)  # of a partial application
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"<schedule {name.split('.')[0].lstrip('_')}>"


def _number(x: mx.array) -> str:
    """The value of a setting; inside of a compiled function it is not known."""
    try:
        return f"{x.item():.7g}"
    except ValueError:
        return "<traced>"


class Optimizer:
    """Hold the state of an optimizer: the base class.

    A subclass defines :meth:`init_single` and :meth:`apply_single`. Settings that may follow a
    schedule, as the learning rate, are entries of the state.

    Args:
        schedulers: schedules by the name of their setting.

    >>> model = nn.Linear(2, 1)
    >>> step = nn.value_and_grad(model, lambda x: model(x).sum())
    >>> loss, gradients = step(mx.ones((4, 2)))
    >>> optimizer = optim.SGD(learning_rate=0.1)
    >>> optimizer.update(model, gradients)
    >>> mx.eval(model.parameters(), optimizer.state)
    >>> optimizer.step
    array(1, dtype=uint64)
    """

    def __init__(self, schedulers: dict[str, Callable[..., Any]] | None = None) -> None:
        self._initialized = False
        self._state: _Tree = {"step": mx.array(0, mx.uint64)}
        self._schedulers = dict(schedulers or {})

    def __new__(cls, *_: Any, **settings: Any) -> Any:
        if "lr" in settings and "lr" not in inspect.signature(cls.__init__).parameters:
            raise TypeError(
                f"[{cls.__name__}] lr={settings['lr']!r}; for lr= write learning_rate=, and"
                " update(model, gradients) for a module's parameters()"
            )
        return super().__new__(cls)

    def __repr__(self) -> str:
        settings = []
        for name in list(inspect.signature(type(self).__init__).parameters)[1:]:
            if name in self._schedulers:
                settings.append(f"{name}={_name_of(self._schedulers[name])}")
            elif isinstance(value := self._state.get(name, getattr(self, name, None)), mx.array):
                settings.append(f"{name}={_number(value)}")
            else:
                settings.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(settings)})"

    def __getattr__(self, name: str) -> NoReturn:
        text = hint(name, "an optimizer", {"PyTorch": OPTIMIZER})
        text = text or f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=self)

    def _maybe_schedule(self, name: str, value: float | Callable[[mx.array], mx.array]) -> None:
        """Put a setting into the state, and keep the schedule if it has one."""
        if isinstance(value, (dict, list)):
            raise TypeError(
                f"[{type(self).__name__}] {name} is a {type(value).__name__}; a number or a"
                " schedule is accepted, and parameters belong to update(model, gradients)"
            )
        if callable(value):
            self._schedulers[name] = value
            self._state[name] = mx.array(value(self.step))
        else:
            self._state[name] = mx.array(value)

    @property
    def state(self) -> _Tree:
        """Return the step, the settings, and a tree like the parameters with a dict for each."""
        return self._state

    @state.setter
    def state(self, state: _Tree) -> None:
        self._initialized = False
        self._state = state

    @property
    def step(self) -> mx.array:
        """Return the number of updates made."""
        return self.state["step"]

    @property
    def learning_rate(self) -> mx.array:
        """Return the learning rate of the last update, or before any, of the first."""
        return self.state["learning_rate"]

    @learning_rate.setter
    def learning_rate(self, learning_rate: float | mx.array) -> None:
        self.state["learning_rate"] = mx.array(learning_rate)

    def init(self, parameters: _Tree) -> None:
        """Make the state of all parameters that have none.

        The first update does so by itself; call it before to give the state to ``mx.compile``.

        Args:
            parameters: a tree of parameters.
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
        """Make the state of one parameter.

        Args:
            parameter: the parameter.
            state: a dict to fill.
        """
        raise NotImplementedError

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: _Tree) -> mx.array:
        """Return the new value of one parameter and change its state.

        Args:
            gradient: its gradient.
            parameter: the parameter.
            state: the dict that :meth:`init_single` filled.
        """
        raise NotImplementedError

    def apply_gradients(self, gradients: _Tree, parameters: _Tree) -> _Tree:
        """Make one step.

        Args:
            gradients: a tree of gradients.
            parameters: a tree that holds at least the same places.

        Returns:
            New values for the parameters in the tree of gradients.

        >>> sgd = optim.SGD(0.1)
        >>> sgd.apply_gradients({"w": mx.array(1.0)}, {"w": mx.array(2.0)})
        {'w': array(1.9, dtype=float32)}
        """
        if not self._initialized:
            self.init(gradients)
        for name, schedule in self._schedulers.items():
            self.state[name] = schedule(self.step)
        self.state["step"] = self.step + 1
        return tree_map(self.apply_single, gradients, parameters, self.state)

    def update(self, model: Module, gradients: _Tree) -> None:
        """Make one step and put the new values into a model.

        Args:
            model: the model.
            gradients: a tree of gradients, as from :func:`mlx.nn.value_and_grad`.
        """
        model.update(self.apply_gradients(gradients, model))

    def _rate(self, gradient: mx.array) -> mx.array:
        """The learning rate in the gradient's dtype."""
        return self.learning_rate.astype(gradient.dtype)


def _any_parameter(path: str, x: mx.array) -> bool:
    """The filter of the last optimizer; a function with a name, so that it pickles."""
    return True


class MultiOptimizer(Optimizer):
    """Divide the parameters among several optimizers.

    Args:
        optimizers: the optimizers.
        filters: ``filter(path, gradient)`` of all optimizers but the last: a parameter belongs to
            the first whose filter is true, or else to the last.

    Raises:
        ValueError: the numbers of optimizers and filters do not fit.

    >>> both = optim.MultiOptimizer(
    ...     [optim.Muon(0.02), optim.AdamW(1e-3)], [lambda path, x: x.ndim >= 2]
    ... )
    >>> len(both.optimizers)
    2
    """

    def __init__(
        self, optimizers: list[Optimizer], filters: Sequence[Callable[..., Any]] = ()
    ) -> None:
        super().__init__({})
        self._state = {}
        if len(filters) != len(optimizers) - 1:
            raise ValueError(f"Given {len(filters)} filters but {len(optimizers) - 1} needed.")
        self.optimizers = optimizers
        self.filters: list[Callable[..., Any]] = [*filters, _any_parameter]

    def _divide(self, tree: _Tree) -> list[_Tree]:
        """The part of ``tree`` that belongs to each optimizer."""
        parts: list[list[Any]] = [[] for _ in self.optimizers]
        for path, x in tree_flatten(tree):
            chosen = next(i for i, accepts in enumerate(self.filters) if accepts(path, x))
            parts[chosen].append((path, x))
        return [tree_unflatten(part) if part else {} for part in parts]

    def init(self, parameters: _Tree) -> None:
        """Make the state of all parameters that have none.

        Args:
            parameters: a tree of parameters.
        """
        for optimizer, part in zip(self.optimizers, self._divide(parameters), strict=True):
            optimizer.init(part)
        self._initialized = True

    def apply_gradients(self, gradients: _Tree, parameters: _Tree) -> _Tree:
        """Make one step of every optimizer.

        Args:
            gradients: a tree of gradients.
            parameters: a tree that holds at least the same places.

        Returns:
            New values for the parameters in the tree of gradients.
        """
        tree: _Tree = {}
        for optimizer, part in zip(self.optimizers, self._divide(gradients), strict=True):
            tree = tree_merge(tree, optimizer.apply_gradients(part, parameters))
        return tree

    @property
    def state(self) -> _Tree:
        """Return the states of the optimizers, as the list ``"states"``."""
        return {"states": [optimizer.state for optimizer in self.optimizers]}

    @state.setter
    def state(self, state: _Tree) -> None:
        states = state.get("states") if isinstance(state, dict) else None
        if states is None or len(states) != len(self.optimizers):
            raise ValueError("Invalid state provided")
        for optimizer, one in zip(self.optimizers, states, strict=True):
            optimizer.state = one

    @property
    def step(self) -> mx.array:
        """Return the number of updates of the first optimizer."""
        return self.optimizers[0].step

    @property
    def learning_rate(self) -> mx.array:
        """Return the learning rate of the first optimizer; setting it sets those of all."""
        return self.optimizers[0].learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: float | mx.array) -> None:
        for optimizer in self.optimizers:
            optimizer.learning_rate = learning_rate
