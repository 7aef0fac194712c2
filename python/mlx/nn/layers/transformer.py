"""Attention and the transformer of Vaswani et al., "Attention Is All You Need" (2017)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.activations import relu
from mlx.nn.layers.base import Module
from mlx.nn.layers.dropout import Dropout
from mlx.nn.layers.linear import Linear
from mlx.nn.layers.normalization import LayerNorm
from mlx.nn.utils import checkpoint as checkpoint, checkpoint as recomputed


class MultiHeadAttention(Module):
    """Compute scaled dot-product attention in subspaces, between linear projections.

    The call takes ``queries (B, L, ·)``, ``keys`` and ``values (B, S, ·)`` and an additive or
    boolean ``mask`` that broadcasts to ``(B, heads, L, S)``, and returns ``(B, L, ·)``.

    Args:
        dims: the size of all projected queries together; the heads divide it.
        num_heads: the number of heads.
        query_input_dims: the size of ``queries``, ``dims`` by default.
        key_input_dims: the size of ``keys``, ``dims`` by default.
        value_input_dims: the size of ``values``, that of ``keys`` by default.
        value_dims: the size of all projected values together, ``dims`` by default.
        value_output_dims: the size of the output, ``dims`` by default.
        bias: whether the projections have a bias.

    >>> x = mx.ones((2, 10, 16))
    >>> nn.MultiHeadAttention(16, num_heads=4)(x, x, x).shape
    (2, 10, 16)
    """

    def __init__(
        self,
        dims: int,
        num_heads: int,
        query_input_dims: int | None = None,
        key_input_dims: int | None = None,
        value_input_dims: int | None = None,
        value_dims: int | None = None,
        value_output_dims: int | None = None,
        bias: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(self, dims=dims, num_heads=num_heads)
        if dims % num_heads:
            raise ValueError(
                "The input feature dimensions should be divisible by the number of heads"
                f" ({dims} % {num_heads}) != 0"
            )
        key_input_dims = key_input_dims or dims
        value_dims = value_dims or dims
        self.num_heads = num_heads
        self.query_proj = Linear(query_input_dims or dims, dims, bias=bias)
        self.key_proj = Linear(key_input_dims, dims, bias=bias)
        self.value_proj = Linear(value_input_dims or key_input_dims, value_dims, bias=bias)
        self.out_proj = Linear(value_dims, value_output_dims or dims, bias=bias)

    def __call__(
        self,
        queries: mx.array,
        keys: mx.array,
        values: mx.array,
        mask: mx.array | None = None,
    ) -> mx.array:
        def heads(x: mx.array) -> mx.array:
            return mx.unflatten(x, -1, (self.num_heads, -1)).transpose(0, 2, 1, 3)

        queries = heads(self.query_proj(queries))
        y = mx.fast.scaled_dot_product_attention(
            queries,
            heads(self.key_proj(keys)),
            heads(self.value_proj(values)),
            scale=math.sqrt(1 / queries.shape[-1]),
            mask=mask,
        )
        return self.out_proj(y.transpose(0, 2, 1, 3).flatten(-2, -1))

    @staticmethod
    def create_additive_causal_mask(N: int, dtype: mx.Dtype = mx.float32) -> mx.array:
        """Return a mask that lets each position attend to itself and those before.

        Args:
            N: the number of positions.
            dtype: the dtype of the mask.

        Returns:
            An array of shape ``(N, N)``: 0 up to the diagonal, the least finite number above it.

        >>> nn.MultiHeadAttention.create_additive_causal_mask(2)[0, 1] < -1e38
        array(True, dtype=bool)
        """
        positions = mx.arange(N)
        future = positions[:, None] < positions
        return mx.where(future, mx.finfo(dtype).min, 0).astype(dtype)


class _Block(Module):
    """Attentions and a two-layer network, each with dropout and a residual connection."""

    _attentions: tuple[str, ...]

    def __init__(
        self,
        dims: int,
        num_heads: int,
        mlp_dims: int | None = None,
        dropout: float = 0.0,
        activation: Callable[[Any], Any] = relu,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        check_sizes(self, dims=dims, num_heads=num_heads)
        mlp_dims = mlp_dims or dims * 4
        branches = range(1, len(self._attentions) + 2)
        for name in self._attentions:
            setattr(self, name, MultiHeadAttention(dims, num_heads))
        for i in branches:
            setattr(self, f"ln{i}", LayerNorm(dims))
        self.linear1 = Linear(dims, mlp_dims)
        self.linear2 = Linear(mlp_dims, dims)
        for i in branches:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = activation
        self.norm_first = norm_first

    def _add(
        self, x: mx.array, norm: Callable[..., Any], branch: Callable[[mx.array], mx.array]
    ) -> mx.array:
        return x + branch(norm(x)) if self.norm_first else norm(x + branch(x))

    def _network(self, dropout: Callable[..., Any]) -> Callable[[mx.array], mx.array]:
        return lambda y: self.linear2(dropout(self.activation(self.linear1(y))))


class TransformerEncoderLayer(_Block):
    """Apply self-attention and a two-layer network, each with dropout and a residual connection.

    The call takes ``x (B, L, dims)`` and the attention mask.

    Args:
        dims: the size of the input and output.
        num_heads: the number of attention heads.
        mlp_dims: the size between the two linear layers, ``4 * dims`` by default.
        dropout: the probability of dropout.
        activation: the function between the two linear layers.
        norm_first: whether to normalize before each branch rather than after each sum.

    >>> nn.TransformerEncoderLayer(16, 4)(mx.ones((2, 10, 16)), None).shape
    (2, 10, 16)
    """

    _attentions = ("attention",)

    def __call__(self, x: mx.array, mask: mx.array | None) -> mx.array:
        x = self._add(x, self.ln1, lambda y: self.dropout1(self.attention(y, y, y, mask)))
        return self._add(x, self.ln2, self._network(self.dropout2))


class TransformerDecoderLayer(_Block):
    """Apply self-attention, attention to ``memory`` and a two-layer network.

    The call takes ``x (B, L, dims)``, ``memory (B, S, dims)`` and the mask of each attention.

    Args:
        dims: the size of the input and output.
        num_heads: the number of attention heads.
        mlp_dims: the size between the two linear layers, ``4 * dims`` by default.
        dropout: the probability of dropout.
        activation: the function between the two linear layers.
        norm_first: whether to normalize before each branch rather than after each sum.

    >>> x = mx.ones((2, 10, 16))
    >>> nn.TransformerDecoderLayer(16, 4)(x, x, None, None).shape
    (2, 10, 16)
    """

    _attentions = ("self_attention", "cross_attention")

    def __call__(
        self,
        x: mx.array,
        memory: mx.array,
        x_mask: mx.array | None,
        memory_mask: mx.array | None,
    ) -> mx.array:
        def cross(y: mx.array) -> mx.array:
            return self.dropout2(self.cross_attention(y, memory, memory, memory_mask))

        x = self._add(x, self.ln1, lambda y: self.dropout1(self.self_attention(y, y, y, x_mask)))
        x = self._add(x, self.ln2, cross)
        return self._add(x, self.ln3, self._network(self.dropout3))


class _Stack(Module):
    """Layers one after the other, then a normalisation."""

    _layer: Callable[..., Module]

    def __init__(
        self,
        num_layers: int,
        dims: int,
        num_heads: int,
        mlp_dims: int | None = None,
        dropout: float = 0.0,
        activation: Callable[[Any], Any] = relu,
        norm_first: bool = True,
        checkpoint: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(self, 0, num_layers=num_layers)
        check_sizes(self, dims=dims, num_heads=num_heads)
        self.layers = [
            self._layer(dims, num_heads, mlp_dims, dropout, activation, norm_first)
            for _ in range(num_layers)
        ]
        self.ln = LayerNorm(dims)
        self.checkpoint = checkpoint

    def _run(self, x: mx.array, *args: mx.array | None) -> mx.array:
        for layer in self.layers:
            x = (recomputed(layer) if self.checkpoint else layer)(x, *args)
        return self.ln(x)


class TransformerEncoder(_Stack):
    """Apply a stack of :class:`TransformerEncoderLayer`, then :class:`LayerNorm`.

    Args:
        num_layers: the number of layers.
        dims: the size of the input and output.
        num_heads: the number of attention heads.
        mlp_dims: the size between the two linear layers, ``4 * dims`` by default.
        dropout: the probability of dropout.
        activation: the function between the two linear layers.
        norm_first: whether to normalize before each branch rather than after each sum.
        checkpoint: whether to compute the layers again in the backward pass instead of keeping
            their intermediate results.

    >>> nn.TransformerEncoder(2, 16, 4)(mx.ones((2, 10, 16)), None).shape
    (2, 10, 16)
    """

    _layer = TransformerEncoderLayer

    def __call__(self, x: mx.array, mask: mx.array | None) -> mx.array:
        return self._run(x, mask)


class TransformerDecoder(_Stack):
    """Apply a stack of :class:`TransformerDecoderLayer`, then :class:`LayerNorm`.

    Args:
        num_layers: the number of layers.
        dims: the size of the input and output.
        num_heads: the number of attention heads.
        mlp_dims: the size between the two linear layers, ``4 * dims`` by default.
        dropout: the probability of dropout.
        activation: the function between the two linear layers.
        norm_first: whether to normalize before each branch rather than after each sum.
        checkpoint: whether to compute the layers again in the backward pass instead of keeping
            their intermediate results.

    >>> x = mx.ones((2, 10, 16))
    >>> nn.TransformerDecoder(2, 16, 4)(x, x, None, None).shape
    (2, 10, 16)
    """

    _layer = TransformerDecoderLayer

    def __call__(
        self,
        x: mx.array,
        memory: mx.array,
        x_mask: mx.array | None,
        memory_mask: mx.array | None,
    ) -> mx.array:
        return self._run(x, memory, x_mask, memory_mask)


class Transformer(Module):
    """Apply an encoder, and a decoder that attends to its output.

    The call takes ``src (B, S, dims)``, ``tgt (B, L, dims)`` and three attention masks (of the
    encoder, of the decoder, between both), and returns ``(B, L, dims)``.

    Args:
        dims: the size of the inputs and the output.
        num_heads: the number of attention heads.
        num_encoder_layers: the number of layers of the encoder.
        num_decoder_layers: the number of layers of the decoder.
        mlp_dims: the size between the two linear layers, ``4 * dims`` by default.
        dropout: the probability of dropout.
        activation: the function between the two linear layers.
        custom_encoder: is used in place of a :class:`TransformerEncoder`.
        custom_decoder: is used in place of a :class:`TransformerDecoder`.
        norm_first: whether to normalize before each branch rather than after each sum.
        checkpoint: whether to compute the layers again in the backward pass.

    >>> model = nn.Transformer(16, 4, num_encoder_layers=1, num_decoder_layers=1)
    >>> model(mx.ones((2, 7, 16)), mx.ones((2, 5, 16)), None, None, None).shape
    (2, 5, 16)
    """

    def __init__(
        self,
        dims: int = 512,
        num_heads: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        mlp_dims: int | None = None,
        dropout: float = 0.0,
        activation: Callable[[Any], Any] = relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        norm_first: bool = True,
        checkpoint: bool = False,
    ) -> None:
        super().__init__()
        options = (dims, num_heads, mlp_dims, dropout, activation, norm_first, checkpoint)
        if custom_encoder is None:
            custom_encoder = TransformerEncoder(num_encoder_layers, *options)
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(num_decoder_layers, *options)
        self.encoder = custom_encoder
        self.decoder = custom_decoder

    def __call__(
        self,
        src: mx.array,
        tgt: mx.array,
        src_mask: mx.array | None,
        tgt_mask: mx.array | None,
        memory_mask: mx.array | None,
    ) -> mx.array:
        memory = self.encoder(src, src_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask)
