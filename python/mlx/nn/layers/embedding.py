"""Tables of vectors that are looked up by index."""

from __future__ import annotations

import math

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.base import Module
from mlx.nn.layers.quantized import QuantizedEmbedding


class Embedding(Module):
    """Look up rows of ``weight``: indices of any shape to vectors of shape ``(..., dims)``.

    ``weight`` of shape ``(num_embeddings, dims)`` starts normal with variance ``1/dims``.
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
        """``x @ weight.T``: scores of all rows, for output layers that share the table."""
        return x @ self["weight"].T

    def to_quantized(
        self,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "affine",
        quantize_input: bool = False,
    ) -> Module:
        """This table quantised, a :class:`QuantizedEmbedding`."""
        if quantize_input:
            raise ValueError("Quantized input is not supported.")
        return QuantizedEmbedding.from_embedding(self, group_size, bits, mode)
