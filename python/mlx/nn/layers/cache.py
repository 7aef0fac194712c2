"""Keys and values of earlier tokens, kept while a model writes text.

A cache belongs to one attention layer. It is a Python object that changes with each call: use it
outside of compiled functions.
"""

from __future__ import annotations

from typing import Any, Literal

import mlx.core as mx

Mask = mx.array | Literal["causal"] | None


class KVCache:
    """Hold all keys and values of a layer, in buffers that grow.

    Args:
        step: the number of tokens by which the buffers grow.

    >>> cache = nn.KVCache()
    >>> keys = mx.ones((1, 2, 5, 8))  # batch, heads, tokens, size of a head
    >>> cache.update_and_fetch(keys, keys)[0].shape
    (1, 2, 5, 8)
    >>> cache.update_and_fetch(keys[:, :, :1], keys[:, :, :1])[0].shape, cache.offset
    ((1, 2, 6, 8), 6)
    """

    def __init__(self, step: int = 256) -> None:
        if step < 1:
            raise ValueError(f"[KVCache] step={step}; at least 1 is accepted")
        self.step, self.offset = step, 0
        self._keys: mx.array | None = None
        self._values: mx.array | None = None

    def _grown(self, buffer: mx.array | None, like: mx.array) -> mx.array:
        """A buffer with place for the tokens of ``like``."""
        needed = self.offset + like.shape[2]
        if buffer is not None and buffer.shape[2] >= needed:
            return buffer
        length = -(-needed // self.step) * self.step
        grown = mx.zeros((*like.shape[:2], length, like.shape[3]), like.dtype)
        if buffer is not None and self.offset > 0:
            grown[:, :, : self.offset] = buffer[:, :, : self.offset]
        return grown

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[Any, Any]:
        """Add the keys and values of new tokens, and return those of all.

        Args:
            keys: of shape ``(B, heads, tokens, size)``.
            values: of shape ``(B, heads, tokens, size)``; the sizes may differ.

        Returns:
            The keys and the values of all tokens so far.
        """
        before = self.offset
        self._keys, self._values = self._grown(self._keys, keys), self._grown(self._values, values)
        self.offset += keys.shape[2]
        self._keys[:, :, before : self.offset] = keys
        self._values[:, :, before : self.offset] = values
        return self._keys[:, :, : self.offset], self._values[:, :, : self.offset]

    def mask(self, tokens: int) -> Mask:
        """Return the mask of attention from ``tokens`` new tokens, before they are added.

        Args:
            tokens: their number.

        Returns:
            A value for the argument ``mask`` of ``mx.fast.scaled_dot_product_attention``.
        """
        return "causal" if tokens > 1 else None

    def attend(
        self,
        queries: mx.array,
        keys: mx.array,
        values: mx.array,
        scale: float,
        mask: Mask = None,
    ) -> mx.array:
        """Add keys and values, and return the attention of new tokens to all of them.

        Args:
            queries: of shape ``(B, query heads, tokens, size)``, where the number of query heads is
                a multiple of that of the keys' heads.
            keys: the keys of the new tokens.
            values: the values of the new tokens.
            scale: the factor of the scores.
            mask: a mask, by default the cache's own.

        >>> x = mx.ones((1, 2, 5, 8))
        >>> nn.KVCache().attend(x, x, x, scale=8**-0.5).shape
        (1, 2, 5, 8)
        """
        mask = self.mask(queries.shape[2]) if mask is None else mask
        keys, values = self.update_and_fetch(keys, values)
        return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask)

    @property
    def state(self) -> Any:
        """Return the keys and the values so far, for ``mx.eval`` and for files."""
        if self._keys is None or self._values is None:
            return []
        return [self._keys[:, :, : self.offset], self._values[:, :, : self.offset]]

    @state.setter
    def state(self, state: Any) -> None:
        self._keys, self._values = state if state else (None, None)
        self.offset = 0 if self._keys is None else self._keys.shape[2]

    def trim(self, tokens: int) -> int:
        """Forget the last tokens.

        Args:
            tokens: their number.

        Returns:
            The number of tokens that were forgotten: fewer if there were not as many.
        """
        tokens = min(tokens, self.offset)
        self.offset -= tokens
        return tokens


class RotatingKVCache(KVCache):
    """Hold the keys and values of a window of the last tokens, in buffers of a fixed size.

    Args:
        max_size: the number of tokens that are kept.
        keep: the number of first tokens among them that are always kept.

    >>> cache = nn.RotatingKVCache(max_size=4)
    >>> keys = mx.ones((1, 2, 1, 8))
    >>> [cache.update_and_fetch(keys, keys)[0].shape[2] for _ in range(6)]
    [1, 2, 3, 4, 4, 4]
    """

    def __init__(self, max_size: int, keep: int = 0) -> None:
        if not 0 <= keep < max_size:
            raise ValueError(
                f"[RotatingKVCache] max_size={max_size}, keep={keep}; 0 <= keep < max_size is"
                " accepted"
            )
        super().__init__()
        self.max_size, self.keep = max_size, keep
        self._positions: list[int] = []
        """The position in the text of each row of the buffers."""

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Add the keys and values of new tokens, and return those of the window.

        Several tokens at once see what the first of them sees, so that more than ``max_size`` are
        returned; :meth:`mask` says which of them belong to each token.

        Args:
            keys: of shape ``(B, heads, tokens, size)``.
            values: of shape ``(B, heads, tokens, size)``; the sizes may differ.
        """
        tokens = keys.shape[2]
        new = list(range(self.offset, self.offset + tokens))
        self.offset += tokens
        if self._keys is None or self._values is None:
            everything = [keys, values]
            self._positions = new
        elif tokens == 1 and len(self._positions) == self.max_size:
            rows = self._positions
            oldest = min(range(self.keep, self.max_size), key=rows.__getitem__)
            self._keys[:, :, oldest : oldest + 1] = keys
            self._values[:, :, oldest : oldest + 1] = values
            rows[oldest] = new[0]
            return self._keys, self._values
        else:
            order = sorted(range(len(self._positions)), key=self._positions.__getitem__)
            rows_of = mx.array(order)
            everything = [
                mx.concatenate([mx.take(old, rows_of, axis=2), fresh], axis=2)
                for old, fresh in ((self._keys, keys), (self._values, values))
            ]
            self._positions = [self._positions[k] for k in order] + new
        extra = len(self._positions) - self.max_size
        if extra <= 0:
            self._keys, self._values = everything
            return self._keys, self._values
        first, rest = self.keep, self.keep + extra
        self._positions = self._positions[:first] + self._positions[rest:]
        self._keys, self._values = (
            mx.concatenate([x[:, :, :first], x[:, :, rest:]], axis=2) for x in everything
        )
        return everything[0], everything[1]

    def mask(self, tokens: int) -> Mask:
        """Return which keys each of ``tokens`` new tokens sees, before they are added.

        Args:
            tokens: their number.

        Returns:
            None for one token, which sees all; an array of bool ``(tokens, keys)`` for several.
        """
        if tokens == 1:
            return None
        old = sorted(self._positions)
        new = mx.arange(self.offset, self.offset + tokens)
        at = mx.concatenate([mx.array(old, mx.int32), new]) if old else new
        near = at > new[:, None] - (self.max_size - self.keep)
        return (at <= new[:, None]) & (near | (at < self.keep))

    @property
    def state(self) -> Any:
        """Return the keys and the values of the window and their positions."""
        if self._keys is None or self._values is None:
            return []
        return [self._keys, self._values, mx.array(self._positions)]

    @state.setter
    def state(self, state: Any) -> None:
        self._keys, self._values, positions = state if state else (None, None, mx.array([]))
        self._positions = [int(p) for p in positions.tolist()]
        self.offset = max(self._positions, default=-1) + 1

    def trim(self, tokens: int) -> int:
        """Forget the last tokens, while none has been overwritten.

        Args:
            tokens: their number.

        Returns:
            The number of tokens that were forgotten: zero once the window is full.
        """
        if self.offset > self.max_size:
            return 0
        tokens = min(tokens, self.offset)
        self.offset -= tokens
        if self.offset == 0:
            self.state = []
        elif tokens > 0 and self._keys is not None and self._values is not None:
            self._keys, self._values = (x[:, :, : self.offset] for x in (self._keys, self._values))
            self._positions = self._positions[: self.offset]
        return tokens


class QuantizedKVCache(KVCache):
    """Hold all keys and values packed, in a fraction of the memory.

    Args:
        group_size: the number of elements that share a scale; the size of a head is a multiple.
        bits: the bits of an element.
        step: the number of tokens by which the buffers grow.

    >>> cache = nn.QuantizedKVCache(group_size=32, bits=8)
    >>> x = mx.random.normal((1, 2, 5, 64))
    >>> cache.attend(x, x, x, scale=0.125).shape
    (1, 2, 5, 64)
    """

    def __init__(self, group_size: int = 64, bits: int = 8, step: int = 256) -> None:
        super().__init__(step)
        self.group_size, self.bits = group_size, bits
        self._parts: list[KVCache] = []

    def _packed(self, x: mx.array) -> list[mx.array]:
        return list(mx.quantize(x, group_size=self.group_size, bits=self.bits))

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[Any, Any]:
        """Add the keys and values of new tokens, and return the packed ones of all.

        Args:
            keys: of shape ``(B, heads, tokens, size)``.
            values: of shape ``(B, heads, tokens, size)``; the sizes may differ.

        Returns:
            Two lists of packed numbers, scales and biases, as ``mx.quantize`` returns them.
        """
        if not self._parts:
            self._parts = [KVCache(self.step) for _ in range(3)]
        pairs = zip(self._packed(keys), self._packed(values), strict=True)
        found = [
            part.update_and_fetch(k, v) for part, (k, v) in zip(self._parts, pairs, strict=True)
        ]
        self.offset = self._parts[0].offset
        return [k for k, _ in found], [v for _, v in found]

    def attend(
        self,
        queries: mx.array,
        keys: mx.array,
        values: mx.array,
        scale: float,
        mask: Mask = None,
    ) -> mx.array:
        """Add keys and values, and return the attention of new tokens to all of them.

        Args:
            queries: of shape ``(B, query heads, tokens, size)``, where the number of query heads is
                a multiple of that of the keys' heads.
            keys: the keys of the new tokens.
            values: the values of the new tokens.
            scale: the factor of the scores.
            mask: an array of bool, or of numbers that are added; by default the cache's own.
        """
        batch, heads, tokens, _ = queries.shape
        mask = self.mask(tokens) if mask is None else mask
        shared = keys.shape[1]
        packed_keys, packed_values = self.update_and_fetch(keys, values)
        q = (queries * scale).reshape(batch, shared, heads // shared, tokens, -1)
        k, v = ([mx.expand_dims(x, 2) for x in p] for p in (packed_keys, packed_values))
        scores = mx.quantized_matmul(q, k[0], k[1], k[2], True, self.group_size, self.bits)
        if isinstance(mask, str):
            at = mx.arange(self.offset)
            mask = at <= mx.arange(self.offset - tokens, self.offset)[:, None]
        if mask is not None and mask.dtype == mx.bool_:
            scores = mx.where(mask, scores, mx.array(-float("inf"), scores.dtype))
        elif mask is not None:
            scores = scores + mask
        weights = mx.softmax(scores, axis=-1, precise=True)
        out = mx.quantized_matmul(weights, v[0], v[1], v[2], False, self.group_size, self.bits)
        return out.reshape(batch, heads, tokens, -1)

    @property
    def state(self) -> Any:
        """Return the packed keys and values so far."""
        return [part.state for part in self._parts]

    @state.setter
    def state(self, state: Any) -> None:
        self._parts = [KVCache(self.step) for _ in state]
        for part, one in zip(self._parts, state, strict=True):
            part.state = one
        self.offset = self._parts[0].offset if self._parts else 0

    def trim(self, tokens: int) -> int:
        """Forget the last tokens.

        Args:
            tokens: their number.

        Returns:
            The number of tokens that were forgotten: fewer if there were not as many.
        """
        forgotten = [part.trim(tokens) for part in self._parts]
        self.offset -= forgotten[0] if forgotten else 0
        return forgotten[0] if forgotten else 0
