"""Tables of vectors that are looked up by index."""

from __future__ import annotations

import math
from typing import Literal

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


class EmbeddingBag(Module):
    """Look up bags of rows of ``weight`` and add them up, without a table of the rows.

    Bags are the rows of indices ``(B, L)``, or with ``offsets`` the parts of indices ``(n,)`` that
    start there. ``weight`` of shape ``(num_embeddings, dims)`` starts normal with variance 1.

    Args:
        num_embeddings: the number of vectors.
        dims: the size of a vector.
        mode: ``"sum"``, ``"mean"`` or ``"max"``; bags without a row give zeros.
        padding_idx: an index that is left out of the bags.

    >>> nn.EmbeddingBag(10, 4)(mx.array([[1, 5, 1], [2, 2, 3]])).shape
    (2, 4)
    >>> nn.EmbeddingBag(10, 4)(mx.array([1, 5, 1, 2]), offsets=mx.array([0, 3])).shape
    (2, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        dims: int,
        mode: Literal["sum", "mean", "max"] = "mean",
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        check_sizes(self, 0, num_embeddings=num_embeddings)
        check_sizes(self, dims=dims)
        if mode not in ("sum", "mean", "max"):
            raise ValueError(f"[EmbeddingBag] mode={mode!r}; 'sum', 'mean' and 'max' are accepted")
        self.weight = mx.random.normal((num_embeddings, dims))
        self.mode, self.padding_idx = mode, padding_idx

    def _extra_repr(self) -> str:
        num_embeddings, dims = self.weight.shape
        text = f"{num_embeddings}, {dims}, mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

    def _bags(self, x: mx.array, offsets: mx.array | None) -> tuple[mx.array, int]:
        """The number of the bag of each index, and the number of bags."""
        if (offsets is None) != (x.ndim == 2) or x.ndim not in (1, 2):
            raise ValueError(
                f"[EmbeddingBag] indices of shape {x.shape}; (B, L), or (n,) with offsets, are"
                " accepted"
            )
        if offsets is None:
            return mx.repeat(mx.arange(x.shape[0]), x.shape[1]), x.shape[0]
        places = mx.searchsorted(offsets, mx.arange(x.size).astype(offsets.dtype), side="right")
        return places.astype(mx.int32) - 1, offsets.size

    def __call__(
        self,
        x: mx.array,
        offsets: mx.array | None = None,
        per_sample_weights: mx.array | None = None,
    ) -> mx.array:
        if per_sample_weights is not None and self.mode != "sum":
            raise ValueError(
                f"[EmbeddingBag] per_sample_weights in mode {self.mode!r}; mode 'sum' is accepted"
            )
        bags, count = self._bags(x, offsets)
        indices = x.flatten()
        rows = self["weight"][indices]
        kept = mx.ones(indices.shape, mx.bool_)
        if self.padding_idx is not None:
            kept = indices != self.padding_idx % self.weight.shape[0]
        number = mx.zeros((count, 1), rows.dtype).at[bags].add(kept[:, None].astype(rows.dtype))
        if self.mode == "max":
            least = mx.array(-float("inf"), rows.dtype)
            rows = mx.where(kept[:, None], rows, least)
            most = mx.full((count, rows.shape[1]), least).at[bags].maximum(rows)
            return mx.where(number > 0, most, mx.zeros((), rows.dtype))
        weights = kept.astype(rows.dtype)
        if per_sample_weights is not None:
            weights = weights * per_sample_weights.flatten()
        total = mx.zeros((count, rows.shape[1]), rows.dtype).at[bags].add(rows * weights[:, None])
        return total if self.mode == "sum" else total / mx.maximum(number, 1)
