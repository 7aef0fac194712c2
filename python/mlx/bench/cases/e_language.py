"""Reading and writing text with a model of the Llama kind: 135 million weights, random ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import case

WIDE, HIDDEN, LAYERS, HEADS, WORDS, KNOWN = 1024, 2816, 8, 16, 32000, 256
SHAPES = {
    **dict.fromkeys(("q", "k", "v", "o"), (WIDE, WIDE)),
    **dict.fromkeys(("gate", "up"), (HIDDEN, WIDE)),
    "down": (WIDE, HIDDEN),
}
IN_LAYERS = LAYERS * sum(a * b for a, b in SHAPES.values())
WEIGHTS = IN_LAYERS + WORDS * WIDE


def weights(f: Any, bits: int) -> dict[str, Any]:
    """The parameters: matrices of 16 bits, or quantized to 4."""

    def matrix(shape: tuple[Any, ...]) -> Any:
        w = f.normal(shape, "bfloat16") * shape[1] ** -0.5
        return f.quantized(w) if bits == 4 else w

    def norm() -> Any:
        return f.normal((WIDE,), "bfloat16") * 0.01 + 1

    layers = [
        {name: matrix(shape) for name, shape in SHAPES.items()}
        | {"first": norm(), "second": norm()}
        for _ in range(LAYERS)
    ]
    words = f.normal((WORDS, WIDE), "bfloat16")
    return {"words": words, "layers": layers, "last": norm(), "head": matrix((WORDS, WIDE))}


def product(f: Any, x: Any, w: Any) -> Any:
    """Apply a matrix of either kind."""
    return f.quantized_matmul(x, *w) if isinstance(w, (tuple, list)) else f.matmul(x, w.T)


def model(f: Any, params: dict[str, Any], tokens: Any, cache: Any, start: int) -> Any:
    """The most likely next token, and the keys and values of every layer."""
    x, kept = f.embedding(params["words"], tokens), []
    for i, layer in enumerate(params["layers"]):
        y = f.rms_norm(x, layer["first"])
        q, k, v = (f.heads(product(f, y, layer[name]), HEADS) for name in "qkv")
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


@case("llama/decode a token, bfloat16, eager", 16, bytes=2 * WEIGHTS, mode="eager")
@case("llama/decode a token, bfloat16, compiled", 16, bytes=2 * WEIGHTS, mode="compiled")
@case("llama/decode a token, 4-bit, compiled", 4, bytes=0.5625 * WEIGHTS, mode="compiled")
def decode(f: Any, bits: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    shape = (1, HEADS, KNOWN, WIDE // HEADS)
    cache = [tuple(f.normal(shape, "bfloat16") for _ in "kv") for _ in range(LAYERS)]
    args = (weights(f, bits), f.integers((1, 1), WORDS), cache)
    return lambda params, tokens, cache: model(f, params, tokens, cache, KNOWN), args


@case("llama/read 256 tokens, bfloat16, eager", 16, flops=512 * IN_LAYERS, mode="eager")
@case("llama/read 256 tokens, bfloat16, compiled", 16, flops=512 * IN_LAYERS, mode="compiled")
@case("llama/read 256 tokens, 4-bit, compiled", 4, flops=512 * IN_LAYERS, mode="compiled")
def read(f: Any, bits: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    args = (weights(f, bits), f.integers((1, KNOWN), WORDS))
    return lambda params, tokens: model(f, params, tokens, None, 0), args
