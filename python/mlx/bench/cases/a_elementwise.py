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
def unary(f: Any, name: str, n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return getattr(f, name), (f.normal((n,)),)


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


@case("formula/RMS norm 4096×1024 eager", mode="eager", bytes=32 * M)
@case("formula/RMS norm 4096×1024 compiled", mode="compiled", bytes=32 * M)
def rms_norm(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def norm(x: Any, w: Any) -> Any:
        return x * f.rsqrt(f.mean(x * x, -1, True) + 1e-5) * w

    return norm, (f.normal((4096, 1024)), f.normal((1024,)))
