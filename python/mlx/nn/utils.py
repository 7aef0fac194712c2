"""Functions over whole models: gradients, rematerialisation and averages over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from itertools import accumulate
from typing import Any, ParamSpec, TypeVar, overload

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx.utils import (
    tree_flatten,
    tree_map,
    tree_map_with_path,
    tree_reduce,
    tree_unflatten as tree_unflatten,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")


def value_and_grad(model: Module, fn: Callable[_P, _R]) -> Callable[_P, tuple[_R, dict[str, Any]]]:
    """Turn ``fn`` into a function of the same arguments that also returns gradients.

    Args:
        model: the module whose trainable parameters are differentiated with respect to.
        fn: a function that calls the model and returns a scalar array, or a tuple that starts
            with one.

    Returns:
        A function that returns ``(fn(...), gradients)``; the gradients are a tree like
        ``model.trainable_parameters()``.

    >>> model = nn.Linear(2, 1)
    >>> step = nn.value_and_grad(model, lambda x, y: nn.losses.mse_loss(model(x), y))
    >>> loss, gradients = step(mx.ones((4, 2)), mx.zeros((4, 1)))
    >>> gradients["weight"].shape
    (1, 2)
    """

    if isinstance(fn, Module) and callable(model) and not isinstance(model, Module):
        raise TypeError("[value_and_grad] a function, then a module; the module comes first")
    return update_wrapper(partial(_value_and_gradients, model, fn), fn)


# Partial applications of functions of this module pickle where their arguments do.
def _value_and_gradients(
    model: Module, fn: Callable[..., _R], /, *args: Any, **kwargs: Any
) -> tuple[_R, dict[str, Any]]:
    def call(parameters: dict[str, Any], model: Module, /, *args: Any, **kwargs: Any) -> _R:
        model.update(parameters)
        return fn(*args, **kwargs)

    # The model is an argument so that it has its own arrays again after the call, where the
    # function did not replace them.
    return mx.value_and_grad(call)(model.trainable_parameters(), model, *args, **kwargs)


@overload
def checkpoint(module: Module, fn: None = None) -> Callable[..., Any]: ...
@overload
def checkpoint(module: Module, fn: Callable[_P, _R]) -> Callable[_P, _R]: ...
def checkpoint(module: Module, fn: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Turn a function of a module into one that is computed again for gradients.

    Its intermediate results are not kept in memory between the forward and the backward pass.

    Args:
        module: the module.
        fn: the function; the module's call by default.

    Returns:
        A function with the same arguments and results.

    >>> block = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    >>> mx.grad(lambda x: nn.utils.checkpoint(block)(x).sum())(mx.ones((1, 2))).shape
    (1, 2)
    """
    fn = fn or module.__call__
    return update_wrapper(partial(_recomputed, module, fn), fn)


def _recomputed(module: Module, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    def with_parameters(parameters: dict[str, Any], /, *args: Any, **kwargs: Any) -> Any:
        before = module.trainable_parameters()
        module.update(parameters)
        try:
            return fn(*args, **kwargs)
        finally:
            given = {id(x): old for (_, x), (_, old) in _pairs(parameters, before)}
            module.apply(lambda x: given.get(id(x), x))

    return mx.checkpoint(with_parameters)(module.trainable_parameters(), *args, **kwargs)


def _pairs(first: dict[str, Any], second: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The leaves of two trees of one form side by side, with their paths."""
    return zip(tree_flatten(first), tree_flatten(second), strict=True)


def average_gradients(
    gradients: Any,
    group: mx.distributed.Group | None = None,
    all_reduce_size: int = 32 * 1024**2,
    communication_stream: mx.Stream | None = None,
) -> Any:
    """Average a tree of gradients over processes.

    Args:
        gradients: the tree.
        group: the processes; all by default.
        all_reduce_size: arrays of one dtype are sent together, this many bytes or more at a time;
            one by one if it is not positive.
        communication_stream: the stream to send on.

    Returns:
        The averages, a tree of the same form.

    >>> nn.average_gradients({"w": mx.array(1.0)})
    {'w': array(1, dtype=float32)}
    """
    group = mx.distributed.init() if group is None else group
    size = group.size()
    if size == 1:
        return gradients

    def mean(x: mx.array) -> mx.array:
        total = mx.distributed.all_sum(x, group=group, stream=communication_stream)
        return (total / size).astype(x.dtype)

    if all_reduce_size <= 0:
        return tree_map(mean, gradients)
    averaged = {}
    # Backward computes the gradients of the last layers first: their sums travel meanwhile.
    for batch in reversed(list(_batches(tree_flatten(gradients), all_reduce_size))):
        packed = mean(mx.concatenate([x.flatten() for _, x in batch]))
        ends = list(accumulate(x.size for _, x in batch))
        for (path, x), part in zip(batch, mx.split(packed, ends[:-1]), strict=True):
            averaged[path] = part.reshape(x.shape)
    return tree_map_with_path(lambda path, _: averaged[path or ""], gradients)


def _batches(leaves: list[tuple[str, mx.array]], nbytes: int) -> Iterator[list[Any]]:
    """Runs of leaves of one dtype that have ``nbytes`` or more together, and the remainders."""
    open_batches: dict[Any, list[Any]] = {}
    for path, x in leaves:
        batch = open_batches.setdefault(x.dtype, [])
        batch.append((path, x))
        if sum(y.nbytes for _, y in batch) >= nbytes:
            yield open_batches.pop(x.dtype)
    yield from open_batches.values()


def _clip_by_norm(
    gradients: Any, max_norm: float, total: Callable[[mx.array], mx.array] = lambda x: x
) -> tuple[Any, mx.array]:
    """Scale ``gradients`` down to the norm ``max_norm``; ``total`` completes the sum of squares."""

    if max_norm < 0:
        raise ValueError(f"max_norm should be >=0, {max_norm} was provided instead")

    def add_squares(so_far: mx.array, x: mx.array) -> mx.array:
        # At least float32: squares of half precision overflow early.
        wide = mx.abs(x) if x.dtype == mx.complex64 else x
        wide = wide if x.dtype == mx.float64 else wide.astype(mx.float32)
        return so_far + mx.sum(mx.square(wide))

    norm = mx.sqrt(total(tree_reduce(add_squares, gradients, mx.array(0.0))))
    scale = mx.minimum(max_norm / (norm + 1e-6), 1.0)

    def scaled(x: mx.array) -> mx.array:
        # Integers would lose all but multiples of the whole scale.
        return (x * scale).astype(x.dtype) if mx.issubdtype(x.dtype, mx.inexact) else x * scale

    return tree_map(scaled, gradients), norm


def clip_grad_norm_sharded(
    gradients: Any, max_norm: float, group: mx.distributed.Group | None = None
) -> tuple[Any, mx.array]:
    """Scale gradients divided among processes as :func:`mlx.optimizers.clip_grad_norm` does.

    The norm is that of all parts together, as for a model of :class:`FullyShardedModule`.

    Args:
        gradients: the part of the gradients that this process has.
        max_norm: the greatest norm.
        group: the processes; all by default.

    Returns:
        The gradients, and the norm that they had.

    >>> nn.utils.clip_grad_norm_sharded({"w": mx.array([3.0, 4.0])}, max_norm=1.0)
    ({'w': array([0.6, 0.8], dtype=float32)}, array(5, dtype=float32))
    """
    return _clip_by_norm(
        gradients, max_norm, lambda squares: mx.distributed.all_sum(squares, group=group)
    )
