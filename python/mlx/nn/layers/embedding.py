"""Tables of vectors that are looked up by index."""

from __future__ import annotations

import math

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.base import Module
from mlx.nn.layers.quantized import QuantizedEmbedding


class Embedding(Module):
    """Look up rows of ``weight`` by index.

    Indices of any shape become vectors of shape ``(..., dims)``. ``weight`` of shape
    ``(num_embeddings, dims)`` starts normal with variance ``1/dims``.

    Args:
        num_embeddings: the number of vectors.
        dims: the size of a vector.

    >>> nn.Embedding(10, 4)(mx.array([1, 5, 1])).shape
    (3, 4)
    """

    def __init__(self, num_embeddings: int, dims: int) -> None:
        super().__init__()
        check_sizes(self, 0, num_embeddings=num_embeddings)
        check_sizes(self, dims=dims)
        self.weight = mx.random.normal((num_embeddings, dims), scale=math.sqrt(1 / dims))

    def _extra_repr(self) -> str:
        num_embeddings, dims = self.weight.shape
        return f"{num_embeddings}, {dims}"

    def __call__(self, x: mx.array) -> mx.array:
        return self["weight"][x]

    def as_linear(self, x: mx.array) -> mx.array:
        """Return ``x @ weight.T``: scores of all rows, for output layers that share the table.

        Args:
            x: vectors of shape ``(..., dims)``.

        >>> nn.Embedding(10, 4).as_linear(mx.ones((2, 4))).shape
        (2, 10)
        """
        return x @ self["weight"].T

    def to_quantized(
        self,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "affine",
        quantize_input: bool = False,
    ) -> Module:
        """Return this table with packed vectors, a :class:`QuantizedEmbedding`.

        Args:
            group_size: the number of elements that share a scale; by default the mode's.
            bits: the bits of an element; by default the mode's.
            mode: ``"affine"``, ``"mxfp4"``, ``"mxfp8"`` or ``"nvfp4"``; see
                :mod:`mlx.nn.layers.quantized`.
            quantize_input: is not supported.
        """
        if quantize_input:
            raise ValueError("Quantized input is not supported.")
        return QuantizedEmbedding.from_embedding(self, group_size, bits, mode)
