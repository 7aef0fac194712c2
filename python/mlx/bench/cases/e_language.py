"""Reading and writing text with a model of the Llama kind: 135 million weights, random ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..registry import case


@dataclasses.dataclass(frozen=True)
class Size:
    """The shapes of a model, and the tokens that are known before the next one is written."""

    wide: int
    hidden: int
    layers: int
    heads: int
    words: int
    known: int = 256

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Of the matrices of a layer."""
        return {
            **dict.fromkeys(("q", "k", "v", "o"), (self.wide, self.wide)),
            **dict.fromkeys(("gate", "up"), (self.hidden, self.wide)),
            "down": (self.wide, self.hidden),
        }

    @property
    def in_layers(self) -> int:
        """Weights of all layers."""
        return self.layers * sum(a * b for a, b in self.shapes.values())

    @property
    def weights(self) -> int:
        """Weights that a token reads."""
        return self.in_layers + self.words * self.wide


SMALL = Size(wide=1024, hidden=2816, layers=8, heads=16, words=32000)


def weights(f: Any, size: Size, bits: int) -> dict[str, Any]:
    """The parameters: matrices of 16 bits, or quantized to 4."""

    def matrix(shape: tuple[Any, ...]) -> Any:
        w = f.normal(shape, "bfloat16") * shape[1] ** -0.5
        return f.quantized(w) if bits == 4 else w

    def norm() -> Any:
        return f.normal((size.wide,), "bfloat16") * 0.01 + 1

    layers = [
        {name: matrix(shape) for name, shape in size.shapes.items()}
        | {"first": norm(), "second": norm()}
        for _ in range(size.layers)
    ]
    words = f.normal((size.words, size.wide), "bfloat16")
    return {
        "words": words,
        "layers": layers,
        "last": norm(),
        "head": matrix((size.words, size.wide)),
    }


def product(f: Any, x: Any, w: Any) -> Any:
    """Apply a matrix of either kind."""
    return f.quantized_matmul(x, *w) if isinstance(w, (tuple, list)) else f.matmul(x, w.T)


def model(f: Any, size: Size, params: dict[str, Any], tokens: Any, cache: Any, start: int) -> Any:
    """The most likely next token, and the keys and values of every layer."""
    x, kept = f.embedding(params["words"], tokens), []
    for i, layer in enumerate(params["layers"]):
        y = f.rms_norm(x, layer["first"])
        q, k, v = (f.heads(product(f, y, layer[name]), size.heads) for name in "qkv")
        q, k = f.rope(q, start), f.rope(k, start)
        if cache:
            k, v = f.joined(cache[i][0], k, 2), f.joined(cache[i][1], v, 2)
        kept.append((k, v))
        y = f.join_heads(f.attention(q, k, v, not cache))
        x = x + product(f, y, layer["o"])
        y = f.rms_norm(x, layer["second"])
        y = f.silu(product(f, y, layer["gate"])) * product(f, y, layer["up"])
        x = x + product(f, y, layer["down"])
    y = f.rms_norm(x[:, -1], params["last"])
    return f.argmax(product(f, y, params["head"])), kept


@case("llama/decode a token, bfloat16, eager", 16, bytes=2 * SMALL.weights, mode="eager")
@case("llama/decode a token, bfloat16, compiled", 16, bytes=2 * SMALL.weights, mode="compiled")
@case("llama/decode a token, 4-bit, compiled", 4, bytes=0.5625 * SMALL.weights, mode="compiled")
def decode(f: Any, bits: int, size: Size = SMALL) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    shape = (1, size.heads, size.known, size.wide // size.heads)
    cache = [tuple(f.normal(shape, "bfloat16") for _ in "kv") for _ in range(size.layers)]
    args = (weights(f, size, bits), f.integers((1, 1), size.words), cache)
    return lambda params, tokens, cache: model(f, size, params, tokens, cache, size.known), args


@case("llama/read 256 tokens, bfloat16, eager", 16, flops=512 * SMALL.in_layers, mode="eager")
@case("llama/read 256 tokens, bfloat16, compiled", 16, flops=512 * SMALL.in_layers, mode="compiled")
@case("llama/read 256 tokens, 4-bit, compiled", 4, flops=512 * SMALL.in_layers, mode="compiled")
def read(f: Any, bits: int, size: Size = SMALL) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    args = (weights(f, size, bits), f.integers((1, size.known), size.words))
    return lambda params, tokens: model(f, size, params, tokens, None, 0), args
