"""Matrix products, convolution, attention and linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import case


def size(*shape: int) -> float:
    """Arithmetic operations of a product (…, m, k, n)."""
    product = 2.0
    for extent in shape:
        product *= extent
    return product


@case("matmul/2048³ float32", (), 2048, 2048, 2048, flops=size(2048, 2048, 2048))
@case("matmul/2048³ bfloat16", (), 2048, 2048, 2048, "bfloat16", flops=size(2048, 2048, 2048))
@case("matmul/2048³ float16", (), 2048, 2048, 2048, "float16", flops=size(2048, 2048, 2048))
@case("matmul/256³ float32", (), 256, 256, 256, flops=size(256, 256, 256))
@case("matmul/batched 64×(128×64×128)", (64,), 128, 64, 128, flops=size(64, 128, 64, 128))
@case("matmul/1×4096·4096²", (), 1, 4096, 4096, bytes=4.0 * 4096 * 4096, flops=size(4096, 4096))
def matmul(
    f: Any, batch: tuple[Any, ...], m: int, k: int, n: int, dtype: str = "float32"
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.matmul, (f.normal((*batch, m, k), dtype), f.normal((*batch, k, n), dtype))


@case("matmul/4-bit 1×4096·4096²", 1, bytes=0.5625 * 4096 * 4096, flops=size(4096, 4096))
@case("matmul/4-bit 256×4096·4096²", 256, flops=size(256, 4096, 4096))
def quantized(f: Any, rows: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.quantized_matmul, (f.normal((rows, 4096)), *f.quantized(f.normal((4096, 4096))))


@case("conv/conv2d 8×56×56×64, 3×3, 64", flops=size(8, 56, 56, 64, 9, 64))
def conv2d(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda x, w: f.conv2d(x, w, 1), (f.image(8, 56, 56, 64), f.kernel(64, 3, 3, 64))


@case("attention/8×1024×64 float32", "float32", flops=2 * size(8, 1024, 1024, 64))
@case("attention/8×1024×64 bfloat16", "bfloat16", flops=2 * size(8, 1024, 1024, 64))
def attention(f: Any, dtype: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    inputs = tuple(f.normal((1, 8, 1024, 64), dtype) for _ in range(3))
    return lambda q, k, v: f.attention(q, k, v, False), inputs


@case("linalg/cholesky 512", "cholesky", 512)
@case("linalg/svd 256", "svd", 256)
@case("linalg/qr 512", "qr", 512)
@case("linalg/inv 512", "inv", 512)
@case("linalg/eigh 256", "eigh", 256)
@case("linalg/solve 512", "solve", 512)
def linalg(f: Any, name: str, n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    x = f.normal((n, 2 * n))
    x = f.matmul(x, x.T) * (0.5 / n)  # symmetric and well conditioned
    others = (f.normal((n, 1)),) if name == "solve" else ()
    return lambda *args: f.linalg(name, *args), (x, *others)
