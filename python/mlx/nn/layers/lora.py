"""Low-rank adapters: small trainable matrices beside frozen ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.base import Module
from mlx.nn.layers.dropout import Dropout
from mlx.nn.layers.embedding import Embedding
from mlx.nn.layers.linear import Linear
from mlx.nn.layers.quantized import QuantizedEmbedding, QuantizedLinear
from mlx.utils import tree_map_with_path


def _unpacked(layer: Module) -> mx.array:
    """The weight of a layer, which may be packed."""
    if isinstance(layer, (QuantizedLinear, QuantizedEmbedding)):
        return mx.dequantize(layer["weight"], layer["scales"], layer.get("biases"), **layer._format)
    return layer["weight"]


def _packed_like(layer: Module, base: Module) -> Module:
    """A layer packed in the format of ``base``, if that is packed."""
    return layer.to_quantized(**base._format) if hasattr(base, "_format") else layer


class LoRALinear(Module):
    """Compute a linear layer plus a product of two small matrices.

        y = linear(x) + scale * (dropout(x) @ lora_a) @ lora_b

    Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (2021). ``lora_a`` of shape
    ``(input_dims, r)`` starts uniform in ``±1/sqrt(input_dims)`` and ``lora_b`` of shape ``(r,
    output_dims)`` at zero, so that the layer starts as ``linear``, which is frozen.

    Args:
        input_dims: the size of the input's last axis.
        output_dims: the size of the output's last axis.
        r: the size between both matrices.
        dropout: the share of inputs of the adapter that are dropped.
        scale: the factor of the adapter.
        bias: whether the linear layer has a bias.

    >>> layer = nn.LoRALinear.from_base(nn.Linear(64, 32), r=4)
    >>> layer(mx.ones((2, 64))).shape
    (2, 32)
    """

    def __init__(
        self,
        input_dims: int,
        output_dims: int,
        r: int = 8,
        dropout: float = 0.0,
        scale: float = 20.0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self._adapt(Linear(input_dims, output_dims, bias), input_dims, output_dims, r)
        self.dropout, self.scale = Dropout(dropout), scale

    def _adapt(self, base: Module, inputs: int, outputs: int, r: int) -> None:
        check_sizes(self, r=r)
        self.linear = base
        self.linear.freeze()
        bound = 1 / math.sqrt(inputs)
        self.lora_a = mx.random.uniform(-bound, bound, (inputs, r))
        self.lora_b = mx.zeros((r, outputs))

    @classmethod
    def from_base(
        cls, linear: Module, r: int = 8, dropout: float = 0.0, scale: float = 20.0
    ) -> LoRALinear:
        """Return an adapter around a layer, which is frozen.

        Args:
            linear: a :class:`Linear` or a :class:`QuantizedLinear`.
            r: the size between both matrices.
            dropout: the share of inputs of the adapter that are dropped.
            scale: the factor of the adapter.
        """
        packed = isinstance(linear, QuantizedLinear)
        outputs, inputs = linear.weight.shape
        layer = cls.__new__(cls)
        Module.__init__(layer)
        layer._adapt(linear, linear._input_dims if packed else inputs, outputs, r)
        layer.dropout, layer.scale = Dropout(dropout), scale
        return layer

    def _extra_repr(self) -> str:
        (inputs, r), outputs = self.lora_a.shape, self.lora_b.shape[1]
        return f"input_dims={inputs}, output_dims={outputs}, r={r}, scale={self.scale}"

    def fuse(self) -> Module:
        """Return the linear layer with the adapter added to its weight.

        A packed weight is unpacked, added to and packed again.

        >>> layer = nn.LoRALinear.from_base(nn.Linear(64, 32), r=4)
        >>> type(layer.fuse()).__name__
        'Linear'
        """
        weight = _unpacked(self.linear)
        change = self.scale * (self["lora_a"] @ self["lora_b"]).T
        outputs, inputs = weight.shape
        fused = Linear(inputs, outputs, bias="bias" in self.linear)
        fused.weight = weight + change.astype(weight.dtype)
        if "bias" in self.linear:
            fused.bias = self.linear.bias
        return _packed_like(fused, self.linear)

    def __call__(self, x: mx.array) -> mx.array:
        y = self.linear(x)
        low = (self.dropout(x) @ self["lora_a"]) @ self["lora_b"]
        return y + (self.scale * low).astype(y.dtype)


class LoRAEmbedding(Module):
    """Look up rows of a table plus a product of two small matrices.

        y = embedding(x) + scale * lora_a[x] @ lora_b

    ``lora_a`` of shape ``(num_embeddings, r)`` starts normal, ``lora_b`` of shape ``(r, dims)`` at
    zero; the table is frozen.

    Args:
        num_embeddings: the number of vectors.
        dims: the size of a vector.
        r: the size between both matrices.
        dropout: the share of the adapter's output that is dropped.
        scale: the factor of the adapter.

    >>> layer = nn.LoRAEmbedding.from_base(nn.Embedding(10, 4), r=2)
    >>> layer(mx.array([1, 2])).shape
    (2, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        dims: int,
        r: int = 8,
        dropout: float = 0.0,
        scale: float = 20.0,
    ) -> None:
        super().__init__()
        self._adapt(Embedding(num_embeddings, dims), num_embeddings, dims, r)
        self.dropout, self.scale = Dropout(dropout), scale

    def _adapt(self, base: Module, rows: int, dims: int, r: int) -> None:
        check_sizes(self, r=r)
        self.embedding = base
        self.embedding.freeze()
        self.lora_a = mx.random.normal((rows, r))
        self.lora_b = mx.zeros((r, dims))

    @classmethod
    def from_base(
        cls, embedding: Module, r: int = 8, dropout: float = 0.0, scale: float = 20.0
    ) -> LoRAEmbedding:
        """Return an adapter around a table, which is frozen.

        Args:
            embedding: an :class:`Embedding` or a :class:`QuantizedEmbedding`.
            r: the size between both matrices.
            dropout: the share of the adapter's output that is dropped.
            scale: the factor of the adapter.
        """
        packed = isinstance(embedding, QuantizedEmbedding)
        rows, dims = embedding.weight.shape
        layer = cls.__new__(cls)
        Module.__init__(layer)
        layer._adapt(embedding, rows, embedding.dims if packed else dims, r)
        layer.dropout, layer.scale = Dropout(dropout), scale
        return layer

    def _extra_repr(self) -> str:
        (rows, r), dims = self.lora_a.shape, self.lora_b.shape[1]
        return f"num_embeddings={rows}, dims={dims}, r={r}, scale={self.scale}"

    def fuse(self) -> Module:
        """Return the table with the adapter added; a packed one is packed again.

        >>> type(nn.LoRAEmbedding(10, 4, r=2).fuse()).__name__
        'Embedding'
        """
        weight = _unpacked(self.embedding)
        fused = Embedding(*weight.shape)
        change = self.scale * (self["lora_a"] @ self["lora_b"])
        fused.weight = weight + change.astype(weight.dtype)
        return _packed_like(fused, self.embedding)

    def as_linear(self, x: mx.array) -> mx.array:
        """Return the scores of all rows, as :meth:`Embedding.as_linear`.

        Args:
            x: vectors of shape ``(..., dims)``.

        >>> nn.LoRAEmbedding(10, 4, r=2).as_linear(mx.ones((2, 4))).shape
        (2, 10)
        """
        y = self.embedding.as_linear(x)
        low = (self.dropout(x) @ self["lora_b"].T) @ self["lora_a"].T
        return y + (self.scale * low).astype(y.dtype)

    def __call__(self, x: mx.array) -> mx.array:
        y = self.embedding(x)
        low = self.dropout(self["lora_a"][x] @ self["lora_b"])
        return y + (self.scale * low).astype(y.dtype)


def add_lora(
    model: Module,
    r: int = 8,
    scale: float = 20.0,
    dropout: float = 0.0,
    class_predicate: Callable[[str, Module], bool] | None = None,
) -> None:
    """Replace linear layers of a model by adapters around them, and freeze the rest, in place.

    Args:
        model: the module below which layers are replaced.
        r: the size between both matrices of an adapter.
        scale: the factor of the adapters.
        dropout: the share of inputs of an adapter that are dropped.
        class_predicate: ``class_predicate(path, layer)`` says whether a layer gets an adapter; by
            default all :class:`Linear` and :class:`QuantizedLinear` do.

    Raises:
        ValueError: a chosen layer is of a class that has no adapter.

    >>> model = nn.Sequential(nn.Embedding(10, 64), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    >>> nn.add_lora(model, r=4, class_predicate=lambda path, layer: path == "layers.1")
    >>> [path for path, _ in tree_flatten(model.trainable_parameters())]
    ['layers.1.lora_a', 'layers.1.lora_b']
    """
    adapters: dict[type, Any] = {
        Linear: LoRALinear,
        QuantizedLinear: LoRALinear,
        Embedding: LoRAEmbedding,
        QuantizedEmbedding: LoRAEmbedding,
    }
    predicate = class_predicate or (
        lambda path, layer: isinstance(layer, (Linear, QuantizedLinear))
    )

    def convert(path: str, layer: Module) -> Module:
        if not predicate(path, layer):
            return layer
        kind = next((a for base, a in adapters.items() if isinstance(layer, base)), None)
        if kind is None:
            raise ValueError(
                f"[add_lora] layer {path!r}, a {type(layer).__name__}; linear layers and embeddings"
                " are accepted"
            )
        return kind.from_base(layer, r, dropout, scale)

    model.freeze()
    layers = tree_map_with_path(convert, model.leaf_modules(), is_leaf=Module.is_module)
    model.update_modules(layers)
