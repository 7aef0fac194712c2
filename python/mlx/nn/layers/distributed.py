"""Layers whose parameters are divided among the processes of a group.

A *sharding* says how: ``"all-to-sharded"`` divides the outputs of a linear layer (every process
has all inputs), ``"sharded-to-all"`` divides its inputs (every process gets all outputs).
``segments`` describes fused layers, whose parts are divided one by one: the number of equal
parts, or where they begin, as indices or as fractions of the axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.base import Module
from mlx.nn.layers.linear import Linear as Linear
from mlx.nn.layers.quantized import _Quantized
from mlx.utils import tree_flatten, tree_map_with_path, tree_unflatten

Group = mx.distributed.Group
Sharding = Callable[[str, mx.array], Any]
"""Gives for a parameter the axis to divide, that axis and the segments, or ``None``."""


def _group(group: Group | None) -> Group:
    return mx.distributed.init() if group is None else group


@lru_cache
def sum_gradients(group: Group) -> Callable[..., Any]:
    """The identity, whose gradients are summed over the processes of ``group``."""
    if group.size() == 1:
        return lambda x: x

    @mx.custom_function
    def identity(x: mx.array) -> mx.array:
        return x

    @identity.vjp
    def summed(x: mx.array, cotangent: mx.array, _: mx.array) -> mx.array:
        return mx.distributed.all_sum(cotangent, group=group)

    return identity


def _split(x: mx.array, segments: int | list[Any], axis: int) -> Any:
    if isinstance(segments, list) and segments and isinstance(segments[0], float):
        segments = [round(s * x.shape[axis]) for s in segments]
    return mx.split(x, segments, axis=axis)


def _shard(parameters: Any, sharding: Sharding, group: Group) -> Any:
    """The part of the tree ``parameters`` that belongs to this process."""
    size, rank = group.size(), group.rank()

    def part(path: str, x: mx.array) -> mx.array:
        choice = sharding(path, x)
        if choice is None or not isinstance(x, mx.array):
            return x
        axis, segments = (choice, 1) if isinstance(choice, int) else choice
        pieces = [mx.split(s, size, axis=axis)[rank] for s in _split(x, segments, axis)]
        return mx.contiguous(mx.concatenate(pieces, axis=axis))

    return tree_map_with_path(part, parameters)


def _sharding(name: Any, segments: int | list[Any] = 1) -> Sharding:
    """The sharding of linear layers and convolutions that is called ``name``."""
    if name == "all-to-sharded":
        return lambda path, x: (max(x.ndim - 2, 0), segments)
    if name == "sharded-to-all":
        return lambda path, x: None if path.endswith("bias") else (-1, segments)
    raise ValueError(
        f"Sharding type sharding={name!r} not supported, choose one of 'all-to-sharded' or"
        " 'sharded-to-all'"
    )


def shard_inplace(
    module: Module,
    sharding: str | Sharding,
    *,
    segments: int | list[Any] = 1,
    group: Group | None = None,
) -> None:
    """Keep of all parameters of ``module`` the part of this process.

    Args:
        module: the module to change.
        sharding: a name, or a function of path and parameter that returns the axis to divide,
            a pair of axis and segments, or ``None`` for what every process keeps whole.
        segments: the parts of fused layers; not used with a function.
        group: the processes, all by default.
    """
    if not callable(sharding):
        sharding = _sharding(sharding, segments)
    module.update(_shard(module.parameters(), sharding, _group(group)))


def shard_linear(
    module: Module, sharding: str, *, segments: int | list[Any] = 1, group: Group | None = None
) -> Module:
    """The layer that divides the :class:`Linear` or :class:`QuantizedLinear` ``module``."""
    _sharding(sharding)
    column, quantized = sharding == "all-to-sharded", "scales" in module
    if quantized:
        kind = QuantizedAllToShardedLinear if column else QuantizedShardedToAllLinear
        return kind.from_quantized_linear(module, segments=segments, group=group)
    layer = AllToShardedLinear if column else ShardedToAllLinear
    return layer.from_linear(module, segments=segments, group=group)


class _ShardedLinear(Module):
    """A linear layer that keeps the part of this process, in one of the two ways."""

    _sharding_name: str

    def _check(self, input_dims: int, output_dims: int, group: Group | None) -> tuple[int, int]:
        """Set the group and return the sizes of this process's part."""
        self.group = _group(group)
        size = self.group.size()
        if self._sharding_name == "all-to-sharded":
            if output_dims % size:
                raise ValueError(
                    f"Cannot shard the output of size {output_dims} across {size} devices."
                )
            return input_dims, output_dims // size
        if input_dims % size:
            raise ValueError(
                f"The input of size {input_dims} cannot be sharded across {size} devices."
            )
        return input_dims // size, output_dims

    def _dims_repr(self, input_dims: int) -> str:
        output_dims, size = self.weight.shape[0], self.group.size()
        if self._sharding_name == "all-to-sharded":
            output_dims *= size
        else:
            input_dims *= size
        return f"input_dims={input_dims}, output_dims={output_dims}, bias={'bias' in self}"

    def _take_part(self, layer: Module, segments: int | list[Any]) -> None:
        sharding = _sharding(self._sharding_name, segments)
        self.update(_shard(layer.parameters(), sharding, self.group))

    def _product(self, x: mx.array) -> mx.array:
        return x @ self["weight"].T

    def __call__(self, x: mx.array) -> mx.array:
        if self._sharding_name == "all-to-sharded":
            y = self._product(sum_gradients(self.group)(x))
        else:
            y = mx.distributed.all_sum(self._product(x), group=self.group)
        return y + self["bias"] if "bias" in self else y


class _FloatLinear(_ShardedLinear):
    def __init__(
        self, input_dims: int, output_dims: int, bias: bool = True, group: Group | None = None
    ) -> None:
        super().__init__()
        check_sizes(self, input_dims=input_dims, output_dims=output_dims)
        bound = math.sqrt(1 / input_dims)
        inputs, outputs = self._check(input_dims, output_dims, group)
        self.weight = mx.random.uniform(-bound, bound, (outputs, inputs))
        if bias:
            self.bias = mx.random.uniform(-bound, bound, (outputs,))

    def _extra_repr(self) -> str:
        return self._dims_repr(self.weight.shape[1])

    @classmethod
    def from_linear(
        cls, linear_layer: Module, *, segments: int | list[Any] = 1, group: Group | None = None
    ) -> _FloatLinear:
        """Keep this process's part of a :class:`Linear`."""
        output_dims, input_dims = linear_layer.weight.shape
        layer = cls(input_dims, output_dims, "bias" in linear_layer, group)
        layer._take_part(linear_layer, segments)
        return layer


class AllToShardedLinear(_FloatLinear):
    """Apply a :class:`Linear` whose outputs are divided among the processes.

    Every process is given the whole input ``(..., input_dims)`` and returns its part ``(...,
    output_dims / N)`` of the output; ``N`` divides ``output_dims``.

    Args:
        input_dims: the size of the whole input.
        output_dims: the size of the whole output.
        bias: whether there is a bias.
        group: the processes; all by default.

    >>> nn.AllToShardedLinear(4, 6)(mx.ones((2, 4))).shape
    (2, 6)
    """

    _sharding_name = "all-to-sharded"


class ShardedToAllLinear(_FloatLinear):
    """Apply a :class:`Linear` whose inputs are divided among the processes.

    Every process is given its part ``(..., input_dims / N)`` of the input and returns the whole
    output ``(..., output_dims)``; ``N`` divides ``input_dims``.

    Args:
        input_dims: the size of the whole input.
        output_dims: the size of the whole output.
        bias: whether there is a bias.
        group: the processes; all by default.

    >>> nn.ShardedToAllLinear(4, 6)(mx.ones((2, 4))).shape
    (2, 6)
    """

    _sharding_name = "sharded-to-all"


class _QuantizedShardedLinear(_ShardedLinear, _Quantized):
    def __init__(
        self,
        input_dims: int,
        output_dims: int,
        bias: bool = True,
        group_size: int = 64,
        bits: int = 4,
        mode: str = "affine",
        group: Group | None = None,
    ) -> None:
        _Quantized.__init__(self, group_size, bits, mode)
        check_sizes(self, input_dims=input_dims, output_dims=output_dims)
        bound = math.sqrt(1 / input_dims)
        inputs, outputs = self._check(input_dims, output_dims, group)
        self._store(mx.random.uniform(-bound, bound, (outputs, inputs)))
        if bias:
            self.bias = mx.zeros((outputs,))
        self.freeze()

    def unfreeze(self, *args: Any, **kwargs: Any) -> Module:
        """Change nothing: the parameters stay frozen."""
        super().unfreeze(*args, **kwargs)
        return self.freeze(recurse=False)

    def _extra_repr(self) -> str:
        return f"{self._dims_repr(self._input_dims)}, {self._format_repr()}"

    def _product(self, x: mx.array) -> mx.array:
        return self._matmul(x)

    @classmethod
    def from_quantized_linear(
        cls,
        quantized_linear_layer: Module,
        *,
        segments: int | list[Any] = 1,
        group: Group | None = None,
    ) -> _QuantizedShardedLinear:
        """Keep this process's part of a :class:`QuantizedLinear`."""
        source = quantized_linear_layer
        layer = cls.__new__(cls)
        _Quantized.__init__(layer, source.group_size, source.bits, source.mode)
        layer._check(source._input_dims, source.weight.shape[0], group)
        layer.biases = None
        for name, value in source.parameters().items():
            setattr(layer, name, value)
        layer._take_part(source, segments)
        layer.freeze()
        return layer


class QuantizedAllToShardedLinear(_QuantizedShardedLinear):
    """Apply an :class:`AllToShardedLinear` with packed weights, all frozen.

    Args:
        input_dims: the size of the whole input.
        output_dims: the size of the whole output.
        bias: whether there is a bias.
        group_size: the number of elements that share a scale; by default the mode's.
        bits: the bits of an element; by default the mode's.
        mode: ``"affine"``, ``"mxfp4"``, ``"mxfp8"`` or ``"nvfp4"``; see
            :mod:`mlx.nn.layers.quantized`.
        group: the processes; all by default.

    >>> nn.QuantizedAllToShardedLinear(64, 6)(mx.ones((2, 64))).shape
    (2, 6)
    """

    _sharding_name = "all-to-sharded"


class QuantizedShardedToAllLinear(_QuantizedShardedLinear):
    """Apply a :class:`ShardedToAllLinear` with packed weights, all frozen.

    Args:
        input_dims: the size of the whole input.
        output_dims: the size of the whole output.
        bias: whether there is a bias.
        group_size: the number of elements that share a scale; by default the mode's.
        bits: the bits of an element; by default the mode's.
        mode: ``"affine"``, ``"mxfp4"``, ``"mxfp8"`` or ``"nvfp4"``; see
            :mod:`mlx.nn.layers.quantized`.
        group: the processes; all by default.

    >>> nn.QuantizedShardedToAllLinear(64, 6)(mx.ones((2, 64))).shape
    (2, 6)
    """

    _sharding_name = "sharded-to-all"


def _gather(group: Group, dtype: mx.Dtype | None) -> Callable[..., Any]:
    """Put parts together along the first axis; gradients are averaged and divided again."""

    @mx.custom_function
    def gather(part: mx.array) -> mx.array:
        if dtype is not None and mx.issubdtype(part.dtype, mx.floating):
            part = part.astype(dtype)
        return mx.distributed.all_gather(part, group=group)

    @gather.vjp
    def scatter(part: mx.array, cotangent: mx.array, _: mx.array) -> mx.array:
        mine = mx.distributed.sum_scatter(cotangent, group=group)
        return (mine / group.size()).astype(part.dtype)

    return gather


def _unsharded(module: Module, prefix: str = "") -> list[str]:
    """The paths of the parameters that no :class:`FullyShardedModule` within has divided."""
    if isinstance(module, FullyShardedModule):
        return []
    inner = [
        path + "."
        for path, child in module.named_modules()
        if path and isinstance(child, FullyShardedModule)
    ]
    return [
        path
        for path, value in tree_flatten(module.parameters())
        if value.ndim > 0 and not path.startswith(tuple(inner))
    ]


def _part(size: int, rank: int, x: mx.array) -> mx.array:
    """The part of ``x`` along the first axis of one process."""
    return mx.contiguous(mx.split(x, size, axis=0)[rank])


class FullyShardedModule(Module):
    """Divide the parameters of a module by their first axis among processes.

    The whole parameters exist during a call only; gradients are averaged and divided in the same
    way. The number of processes must divide the first axis of all parameters. The module itself is
    changed.

    Args:
        module: the module.
        group: the processes; all by default.
        compute_dtype: the dtype to which the parameters are cast for a call; their own by default.

    >>> nn.FullyShardedModule(nn.Linear(4, 6))(mx.ones((2, 4))).shape
    (2, 6)
    """

    def __init__(
        self,
        module: Module,
        group: Group | None = None,
        compute_dtype: mx.Dtype | None = None,
    ) -> None:
        super().__init__()
        group = _group(group)
        size, rank = group.size(), group.rank()
        paths = _unsharded(module)
        parameters = dict(tree_flatten(module.parameters()))
        for path in paths:
            if parameters[path].shape[0] % size:
                raise ValueError(
                    f"Cannot shard parameter '{path}' with shape {parameters[path].shape} across"
                    f" {size} devices: axis 0 must be divisible by {size}."
                )
        object.__setattr__(self, "_paths", paths)
        self._take_own: Callable[[mx.array], mx.array] = partial(_part, size, rank)
        self._gather_fn = _gather(group, compute_dtype) if size > 1 or compute_dtype else None
        if size > 1:
            parts = [(path, self._take_own(parameters[path])) for path in paths]
            module.update(tree_unflatten(parts), strict=False)
        self.module = module

    def _extra_repr(self) -> str:
        return f"num_sharded_params={len(self._paths)}"

    def _gathered_call(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if self._gather_fn is None:
            return fn(*args, **kwargs)
        module = self.module
        parameters = dict(tree_flatten(module.parameters()))
        parts = {path: parameters[path] for path in self._paths}
        whole = {path: self._gather_fn(part) for path, part in parts.items()}
        module.update(tree_unflatten(whole), strict=False)
        try:
            return fn(*args, **kwargs)
        finally:
            # Arrays that the call replaced, such as running statistics, are divided anew.
            after = dict(tree_flatten(module.parameters()))
            for path, part in parts.items():
                if after[path] is not whole[path]:
                    parts[path] = self._take_own(after[path]).astype(part.dtype)
            module.update(tree_unflatten(parts), strict=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._gathered_call(self.module, *args, **kwargs)

    def as_linear(self, *args: Any, **kwargs: Any) -> Any:
        """``module.as_linear`` with the whole parameters."""
        return self._gathered_call(self.module.as_linear, *args, **kwargs)


def fully_shard(
    module: Module, *, group: Group | None = None, compute_dtype: mx.Dtype | None = None
) -> Module:
    """Return a module as a :class:`FullyShardedModule`; the module itself in a group of one.

    Args:
        module: the module.
        group: the processes; all by default.
        compute_dtype: the dtype to which the parameters are cast for a call.

    >>> nn.fully_shard(nn.Linear(4, 6))
    Linear(input_dims=4, output_dims=6, bias=True)
    """
    group = _group(group)
    if group.size() == 1:
        return module
    return FullyShardedModule(module, group, compute_dtype)
