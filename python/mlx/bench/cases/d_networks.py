"""Derivatives and training steps of small networks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..registry import case


@case("train/gradient of 50 tanh layers, 16 wide, eager", mode="eager")
@case("train/gradient of 50 tanh layers, 16 wide, compiled", mode="compiled")
def tanh_gradient(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    weights = [f.normal((16, 16)) for _ in range(50)]

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = f.tanh(f.matmul(x, w))
        return f.sum(x)

    return f.grad(loss), (weights, f.normal((16, 16)))


def layer(
    f: Any, params: dict[str, Any], name: str, wide: int, out: int, dtype: str = "float32"
) -> None:
    """Add the parameters of a linear layer."""
    params[name] = f.normal((out, wide), dtype) * wide**-0.5
    params[name + "_bias"] = f.normal((out,), dtype) * 0.01


def linear(f: Any, params: dict[str, Any], name: str, x: Any) -> Any:
    """Apply a linear layer."""
    return f.linear(x, params[name], params[name + "_bias"])


def step(
    f: Any, loss: Callable[..., Any], params: dict[str, Any], batch: tuple[Any, ...], compiled: bool
) -> tuple[Any, ...]:
    """The case of one training step."""
    f.ready(params)
    params = {name: detached(value) for name, value in params.items()}
    return f.trainer(loss, params, compiled), batch


def detached(value: Any) -> Any:
    """A leaf of the derivative's graph, where the framework keeps one."""
    return value.detach() if hasattr(value, "detach") else value


@case("train/MLP 784-1024-1024-10, batch 256, eager", False, mode="eager")
@case("train/MLP 784-1024-1024-10, batch 256, compiled", True, mode="own")
@case("train/MLP 784-1024-1024-10, batch 256, bfloat16, compiled", True, "bfloat16", mode="own")
def mlp(
    f: Any, compiled: bool, dtype: str = "float32"
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    params: dict[str, Any] = {}
    sizes = (784, 1024, 1024, 10)
    for i in range(3):
        layer(f, params, f"l{i}", sizes[i], sizes[i + 1], dtype)

    def loss(params: dict[str, Any], x: Any, labels: Any) -> Any:
        x = f.relu(linear(f, params, "l0", x))
        x = f.relu(linear(f, params, "l1", x))
        return f.cross_entropy(linear(f, params, "l2", x), labels)

    return step(f, loss, params, (f.normal((256, 784), dtype), f.integers((256,), 10)), compiled)


@case("train/CNN of 3 layers with batch norm, 32×32×32×3, eager", False, mode="eager")
@case("train/CNN of 3 layers with batch norm, 32×32×32×3, compiled", True, mode="own")
def cnn(f: Any, compiled: bool) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    params: dict[str, Any] = {}
    channels = (3, 32, 64, 128)
    for i in range(3):
        params[f"k{i}"] = f.kernel(channels[i + 1], 3, 3, channels[i])
        params[f"scale{i}"] = f.normal((channels[i + 1],)) * 0.1 + 1
        params[f"shift{i}"] = f.normal((channels[i + 1],)) * 0.1
    layer(f, params, "head", 128, 10)

    def loss(params: dict[str, Any], x: Any, labels: Any) -> Any:
        for i in range(3):
            x = f.conv2d(x, params[f"k{i}"], 1)
            x = f.relu(f.batch_norm(x, params[f"scale{i}"], params[f"shift{i}"]))
            x = f.max_pool(x)
        return f.cross_entropy(linear(f, params, "head", f.mean_pool(x)), labels)

    return step(f, loss, params, (f.image(32, 32, 32, 3), f.integers((32,), 10)), compiled)


@dataclasses.dataclass(frozen=True)
class Size:
    """The shapes of a transformer, and of a batch of texts."""

    layers: int
    wide: int
    heads: int
    words: int
    rows: int
    tokens: int


SMALL = Size(layers=4, wide=256, heads=8, words=2048, rows=8, tokens=128)


@case("train/transformer of 4 layers, 256 wide, 8×128 tokens, eager", False, mode="eager")
@case("train/transformer of 4 layers, 256 wide, 8×128 tokens, compiled", True, mode="own")
@case(
    "train/transformer of 4 layers, 256 wide, 8×128 tokens, bfloat16, compiled",
    True,
    "bfloat16",
    mode="own",
)
def transformer(
    f: Any, compiled: bool, dtype: str = "float32", size: Size = SMALL
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    params: dict[str, Any] = {
        "words": f.normal((size.words, size.wide), dtype) * 0.02,
        "places": f.normal((size.tokens, size.wide), dtype) * 0.02,
    }
    for i in range(size.layers):
        for name in "qkvo":
            layer(f, params, f"{name}{i}", size.wide, size.wide, dtype)
        layer(f, params, f"up{i}", size.wide, 4 * size.wide, dtype)
        layer(f, params, f"down{i}", 4 * size.wide, size.wide, dtype)
    norms = [f"{kind}{i}" for i in range(size.layers) for kind in ("first", "second")]
    for name in [*norms, "last"]:
        params[name] = f.normal((size.wide,), dtype) * 0.01 + 1
        params[name + "_bias"] = f.normal((size.wide,), dtype) * 0.01
    layer(f, params, "head", size.wide, size.words, dtype)

    def norm(params: dict[str, Any], name: str, x: Any) -> Any:
        return f.layer_norm(x, params[name], params[name + "_bias"])

    def loss(params: dict[str, Any], tokens: Any, labels: Any) -> Any:
        x = f.embedding(params["words"], tokens) + params["places"]
        for i in range(size.layers):
            y = norm(params, f"first{i}", x)
            q, k, v = (f.heads(linear(f, params, f"{n}{i}", y), size.heads) for n in "qkv")
            y = f.join_heads(f.attention(q, k, v, True))
            x = x + linear(f, params, f"o{i}", y)
            y = f.gelu(linear(f, params, f"up{i}", norm(params, f"second{i}", x)))
            x = x + linear(f, params, f"down{i}", y)
        return f.cross_entropy(linear(f, params, "head", norm(params, "last", x)), labels)

    batch = tuple(f.integers((size.rows, size.tokens), size.words) for _ in range(2))
    return step(f, loss, params, batch, compiled)
