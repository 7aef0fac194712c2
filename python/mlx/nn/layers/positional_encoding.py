"""Encodings of positions: rotary, sinusoidal and linear biases."""

from __future__ import annotations

import math

import mlx.core as mx
from mlx.nn.layers._checks import check_positive, check_sizes
from mlx.nn.layers.base import Module


class RoPE(Module):
    """Rotate pairs of features by angles proportional to the position.

    Su et al., "RoFormer" (2021). The input has shape ``(B, ..., L, D)``; its positions start at
    ``offset``, an argument of the call.

    Args:
        dims: how many of the last axis' features to rotate; the others pass through.
        traditional: whether to pair neighbouring features, not those ``dims / 2`` apart.
        base: pair ``i`` turns by ``base ** (-2 i / dims)`` a position.
        scale: multiplies the positions.

    >>> nn.RoPE(4)(mx.ones((1, 2, 10, 4)), offset=3).shape
    (1, 2, 10, 4)
    """

    def __init__(
        self, dims: int, traditional: bool = False, base: float = 10000, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.dims = dims
        self.traditional = traditional
        self.base = base
        self.scale = scale

    def _extra_repr(self) -> str:
        return f"{self.dims}, traditional={self.traditional}"

    def __call__(self, x: mx.array, offset: int | mx.array = 0) -> mx.array:
        return mx.fast.rope(
            x,
            self.dims,
            traditional=self.traditional,
            base=self.base,
            scale=self.scale,
            offset=offset,
        )


class SinusoidalPositionalEncoding(Module):
    """Encode positions as sines and cosines at ``dims / 2`` frequencies.

    Vaswani et al., "Attention Is All You Need" (2017). Positions of any shape become vectors of
    shape ``(..., dims)``: all sines, then all cosines.

    Args:
        dims: an even number of features.
        min_freq: the least of a geometric series of frequencies.
        max_freq: the greatest of them.
        scale: multiplies the result, ``sqrt(2 / dims)`` by default.
        cos_first: whether the cosines come first.
        full_turns: whether frequencies count turns, not radians.

    >>> nn.SinusoidalPositionalEncoding(8)(mx.arange(10)).shape
    (10, 8)
    """

    def __init__(
        self,
        dims: int,
        min_freq: float = 0.0001,
        max_freq: float = 1,
        scale: float | None = None,
        cos_first: bool = False,
        full_turns: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(self, dims=dims)
        if dims % 2:
            raise ValueError(
                f"[SinusoidalPositionalEncoding] dims must be positive and even but got {dims}."
            )
        check_positive(self, min_freq=min_freq, max_freq=max_freq)
        n = dims // 2
        falling = 1 - mx.arange(n) / max(n - 1, 1)
        low, high = math.log(min_freq), math.log(max_freq)
        sigmas = mx.exp(falling * (high - low) + low)
        self._sigmas = sigmas * (2 * math.pi) if full_turns else sigmas
        self.scale = math.sqrt(2 / dims) if scale is None else scale
        self.cos_first = cos_first

    def __call__(self, x: mx.array) -> mx.array:
        angles = mx.expand_dims(x, -1) * self._sigmas
        parts = [mx.sin(angles), mx.cos(angles)]
        y = mx.concatenate(parts[::-1] if self.cos_first else parts, axis=-1)
        return y if self.scale == 1 else y * self.scale


class ALiBi(Module):
    """Add to attention scores a bias that falls linearly with the distance.

    Press et al., "Train Short, Test Long" (2022). The scores have shape ``(B, heads, L, S)``;
    queries start at position ``offset``, and an additive ``mask`` is added as well: both are
    arguments of the call.

    >>> nn.ALiBi()(mx.zeros((1, 1, 1, 3)))
    array([[[[0, -0.00390625, -0.0078125]]]], dtype=float32)
    """

    @staticmethod
    def create_alibi_slope(num_heads: int, dtype: mx.Dtype = mx.float32) -> mx.array:
        """Return the slope of each head: ``2 ** (-8 k / heads)`` for k from 1.

        If the number of heads is no power of two, the greatest one below has these slopes and the
        remaining heads take every other slope of twice that number.

        Args:
            num_heads: the number of heads.
            dtype: the dtype of the result.

        Returns:
            An array of shape ``(heads, 1, 1)``.
        """

        def series(n: int) -> list[float]:
            return [2.0 ** (-8 * k / n) for k in range(1, n + 1)]

        power = 2 ** int(math.log2(num_heads))
        slopes = series(power) + series(2 * power)[::2][: num_heads - power]
        return mx.array(slopes, dtype=dtype).reshape(-1, 1, 1)

    @staticmethod
    def create_alibi_matrix(
        q_sequence_length: int,
        k_sequence_length: int,
        num_heads: int,
        offset: int = 0,
        dtype: mx.Dtype = mx.float32,
    ) -> mx.array:
        """Return the biases ``-slope |q - k|``.

        Args:
            q_sequence_length: one more than the position of the last query.
            k_sequence_length: the number of keys.
            num_heads: the number of heads.
            offset: the position of the first query.
            dtype: the dtype of the result.

        Returns:
            An array of shape ``(1, heads, q_sequence_length - offset, k_sequence_length)``.
        """
        queries = mx.arange(offset, q_sequence_length)[:, None]
        distance = mx.abs(queries - mx.arange(k_sequence_length)).astype(dtype)
        return mx.expand_dims(-distance * ALiBi.create_alibi_slope(num_heads, dtype), 0)

    def __call__(
        self, attention_scores: mx.array, offset: int = 0, mask: mx.array | None = None
    ) -> mx.array:
        *_, heads, queries, keys = attention_scores.shape
        bias = self.create_alibi_matrix(
            queries + offset, keys, heads, offset, attention_scores.dtype
        )
        return attention_scores + (bias if mask is None else bias + mask)
