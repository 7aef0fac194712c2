"""A small transformer for bytes, with a cache of keys and values for generation."""

import mlx.core as mx
import mlx.nn as nn


class Cache:
    """Keys and values of the tokens seen so far, for `rows` texts of different lengths."""

    def __init__(self, model: "Transformer", rows: int) -> None:
        shape = (rows, model.heads, model.context, model.width // model.heads)
        self.keys = [mx.zeros(shape) for _ in model.blocks]
        self.values = [mx.zeros(shape) for _ in model.blocks]
        self.lengths = mx.zeros((rows,), mx.int32)

    def append(self, layer: int, keys: mx.array, values: mx.array) -> tuple[mx.array, ...]:
        """Store one more token of each row; all keys, all values, and which of them are seen."""
        rows = mx.arange(keys.shape[0])
        self.keys[layer][rows, :, self.lengths] = keys[:, :, 0]
        self.values[layer][rows, :, self.lengths] = values[:, :, 0]
        seen = mx.arange(self.keys[layer].shape[2]) <= self.lengths[:, None]
        return self.keys[layer], self.values[layer], seen[:, None, None]

    def fill(self, row: int, layer: int, keys: mx.array, values: mx.array) -> None:
        """Store the tokens of a prompt."""
        self.keys[layer][row, :, : keys.shape[2]] = keys[0]
        self.values[layer][row, :, : values.shape[2]] = values[0]


class Block(nn.Module):
    """Attention and a feed-forward network, each added to its input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = [nn.RMSNorm(width), nn.RMSNorm(width)]
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def __call__(self, x: mx.array, attend) -> mx.array:
        """`attend(q, k, v)` gets `(rows, heads, tokens, channels)` each."""
        rows, tokens, width = x.shape
        q, k, v = mx.split(self.qkv(self.norms[0](x)), 3, axis=-1)
        q, k, v = (
            t.reshape(rows, tokens, self.heads, width // self.heads).transpose(0, 2, 1, 3)
            for t in (q, k, v)
        )
        mixed = attend(q, k, v).transpose(0, 2, 1, 3).reshape(rows, tokens, width)
        x = x + self.out(mixed)
        return x + self.down(nn.gelu_approx(self.up(self.norms[1](x))))


def rotate(x: mx.array, offset: int | mx.array) -> mx.array:
    """Rotary positions, counted from `offset`."""
    return mx.fast.rope(x, x.shape[-1], traditional=False, base=10000.0, scale=1.0, offset=offset)


class Transformer(nn.Module):
    """Scores of the next byte, given the bytes before it."""

    def __init__(
        self, width: int = 128, heads: int = 4, layers: int = 2, context: int = 64
    ) -> None:
        super().__init__()
        self.width, self.heads, self.context = width, heads, context
        self.embedding = nn.Embedding(256, width)
        self.blocks = [Block(width, heads) for _ in range(layers)]
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, 256, bias=False)

    def __call__(self, tokens: mx.array, cache: Cache | None = None, row: int = 0) -> mx.array:
        """Scores `(rows, tokens, 256)` of whole texts.

        With a cache the text is a prompt: its keys and values go to one row of the cache.
        """
        x = self.embedding(tokens)
        scale = (self.width // self.heads) ** -0.5
        for layer, block in enumerate(self.blocks):

            def attend(q: mx.array, k: mx.array, v: mx.array, layer: int = layer) -> mx.array:
                q, k = rotate(q, 0), rotate(k, 0)
                if cache is not None:
                    cache.fill(row, layer, k, v)
                return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask="causal")

            x = block(x, attend)
        if cache is not None:
            cache.lengths[row] = tokens.shape[1]
        return self.head(self.norm(x))

    def next(self, tokens: mx.array, cache: Cache) -> mx.array:
        """Scores `(rows, 256)` after one more token `(rows,)` of each row of the cache."""
        x = self.embedding(tokens[:, None])
        scale = (self.width // self.heads) ** -0.5
        for layer, block in enumerate(self.blocks):

            def attend(q: mx.array, k: mx.array, v: mx.array, layer: int = layer) -> mx.array:
                q, k = rotate(q, cache.lengths), rotate(k, cache.lengths)
                keys, values, seen = cache.append(layer, k, v)
                return mx.fast.scaled_dot_product_attention(q, keys, values, scale=scale, mask=seen)

            x = block(x, attend)
        cache.lengths = cache.lengths + 1
        return self.head(self.norm(x))[:, 0]


def loss(model: Transformer, tokens: mx.array, targets: mx.array) -> mx.array:
    """The mean cross-entropy of the next byte, in nats."""
    return nn.losses.cross_entropy(model(tokens), targets, reduction="mean")


def perplexity(model: Transformer, tokens: mx.array, rows: int = 64) -> float:
    """exp of the mean loss over the first `rows` pieces of a text."""
    rows = min(rows, (tokens.size - 1) // model.context)
    pieces = tokens[: rows * model.context + 1]
    shape = (rows, model.context)
    return mx.exp(loss(model, pieces[:-1].reshape(shape), pieces[1:].reshape(shape))).item()


def generate(model: Transformer, prompt: bytes, count: int, temperature: float = 0.7) -> bytes:
    """A text that goes on from the prompt; when the context is full, its last half is kept."""
    text = bytearray(prompt)
    cache = Cache(model, 1)
    scores, used = model(mx.array(list(text[-model.context // 2 :]))[None], cache)[:, -1], 0
    used = min(len(text), model.context // 2)
    for _ in range(count):
        token = mx.random.categorical(scores / temperature)
        text.append(token.item())
        if used == model.context:
            used = model.context // 2
            scores = model(mx.array(list(text[-used:]))[None], cache)[:, -1]
        else:
            scores, used = model.next(token, cache), used + 1
    return bytes(text)
