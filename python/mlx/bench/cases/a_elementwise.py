"""Elementwise operations, chains of them, and operations that only move memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import case

K, M = 1 << 10, 1 << 20


@case("elementwise/add 1K", K, bytes=12 * K)
@case("elementwise/add 4M", 4 * M, bytes=48 * M)
def add(f: Any, n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda a, b: a + b, (f.normal((n,)), f.normal((n,)))


@case("elementwise/exp 1K", "exp", K, bytes=8 * K)
@case("elementwise/exp 4M", "exp", 4 * M, bytes=32 * M)
@case("elementwise/sin 1K", "sin", K, bytes=8 * K)
@case("elementwise/sin 4M", "sin", 4 * M, bytes=32 * M)
def unary(
    f: Any, name: str, n: int, dtype: str = "float32"
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return getattr(f, name), (f.normal((n,), dtype),)


@case("memory/copy 4M", bytes=32 * M)
def copy(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.copy, (f.normal((4 * M,)),)


@case("memory/transpose and copy 2048²", bytes=32 * M)
def transpose(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.transposed_copy, (f.normal((2048, 2048)),)


@case("formula/gelu 4M eager", 4 * M, mode="eager", bytes=32 * M)
@case("formula/gelu 4M compiled", 4 * M, mode="compiled", bytes=32 * M)
@case("formula/gelu 64M compiled", 64 * M, mode="compiled", bytes=512 * M)
def gelu(f: Any, n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda x: 0.5 * x * (1 + f.erf(x * 0.7071067811865475)), (f.normal((n,)),)


@case("formula/10 multiply-adds 4M eager", 4 * M, mode="eager", bytes=32 * M, flops=80 * M)
@case("formula/10 multiply-adds 4M compiled", 4 * M, mode="compiled", bytes=32 * M, flops=80 * M)
@case(
    "formula/10 multiply-adds 16M compiled", 16 * M, mode="compiled", bytes=128 * M, flops=320 * M
)
def chain(f: Any, n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def chained(x: Any) -> Any:
        for i in range(10):
            x = x * (1 + 0.01 * i) + 0.5
        return x

    return chained, (f.normal((n,)),)


Made = tuple[Callable[..., Any], tuple[Any, ...]]


def _rms_norm(f: Any, shape: tuple[int, int], dtype: str) -> Made:
    def norm(x: Any, w: Any) -> Any:
        return x * f.rsqrt(f.mean(x * x, -1, True) + 1e-5) * w

    return norm, (f.normal(shape, dtype), f.normal(shape[1:], dtype))


def _layer_norm(f: Any, shape: tuple[int, int], dtype: str) -> Made:
    def norm(x: Any, w: Any, b: Any) -> Any:
        d = x - f.mean(x, -1, True)
        return d * f.rsqrt(f.mean(d * d, -1, True) + 1e-5) * w + b

    row = shape[1:]
    return norm, (f.normal(shape, dtype), f.normal(row, dtype), f.normal(row, dtype))


def _standardisation(f: Any, shape: tuple[int, int], dtype: str) -> Made:
    def standard(x: Any) -> Any:
        d = x - f.mean(x, -1, True)
        return d / (f.sqrt(f.mean(d * d, -1, True)) + 1e-5)

    return standard, (f.normal(shape, dtype),)


def _softmax(f: Any, shape: tuple[int, int], dtype: str) -> Made:
    def softmax(x: Any) -> Any:
        e = f.exp(x - f.maximum(x)[:, None])
        return e / f.sum(e, -1, True)

    return softmax, (f.normal(shape, dtype),)


def _log_softmax(f: Any, shape: tuple[int, int], dtype: str) -> Made:
    def log_softmax(x: Any) -> Any:
        z = x - f.maximum(x)[:, None]
        return z - f.log(f.sum(f.exp(z), -1, True))

    return log_softmax, (f.normal(shape, dtype),)


def _cross_entropy(f: Any, shape: tuple[int, int], dtype: str) -> Made:
    def loss(x: Any, targets: Any) -> Any:
        z = x - f.maximum(x)[:, None]
        return f.mean(f.log(f.sum(f.exp(z), -1)) - f.pick(z, targets))

    return loss, (f.normal(shape, dtype), f.integers(shape[:1], shape[1]))


FORMULAS = {
    "RMS norm": _rms_norm,
    "layer norm": _layer_norm,
    "standardisation": _standardisation,
    "softmax": _softmax,
    "log-softmax": _log_softmax,
    "cross entropy": _cross_entropy,
}


def of_rows(
    name: str,
    shape: tuple[int, int],
    dtype: str,
    mode: str,
    group: str = "formula",
    large: bool = False,
) -> None:
    """The case of a formula with a reduction over rows inside."""
    size, suffix = f"{shape[0]}×{shape[1]}", "" if dtype == "float32" else f" {dtype}"
    written = name != "cross entropy"
    moved = (1 + written) * (2 if suffix else 4) * shape[0] * shape[1]
    case(f"{group}/{name} {size}{suffix} {mode}", mode=mode, bytes=moved, large=large)(
        lambda f: FORMULAS[name](f, shape, dtype)
    )


for _mode in ("eager", "compiled"):
    of_rows("RMS norm", (4096, 1024), "float32", _mode)
for _name in FORMULAS:
    for _shape in ((512, 1024), (4096, 4096)):
        for _dtype in ("float32", "bfloat16"):
            of_rows(_name, _shape, _dtype, "compiled")


@case("formula/row + column 4096×1024", bytes=16 * M)
def outer_sum(f: Any) -> Made:
    return lambda row, column: row + column, (f.normal((1024,)), f.normal((4096, 1)))
