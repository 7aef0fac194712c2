"""Matrix products, convolution, attention and linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import case

Made = tuple[Callable[..., Any], tuple[Any, ...]]


def size(*shape: int) -> float:
    """Arithmetic operations of a product (…, m, k, n)."""
    product = 2.0
    for extent in shape:
        product *= extent
    return product


def product(
    name: str,
    batch: tuple[int, ...],
    m: int,
    k: int,
    n: int,
    dtype: str,
    group: str = "matmul",
    large: bool = False,
) -> None:
    """The case of a product with a row-major second factor."""
    moved = (2.0 if dtype != "float32" else 4.0) * k * n if m == 1 else 0
    case(f"{group}/{name}", bytes=moved, flops=size(*batch, m, k, n), large=large)(
        lambda f: (f.matmul, (f.normal((*batch, m, k), dtype), f.normal((*batch, k, n), dtype)))
    )


for _dtype, _sizes in {
    "float32": (64, 128, 256, 512, 1000, 1024, 2048),
    "bfloat16": (256, 512, 1000, 1024, 2048),
    "float16": (2048,),
}.items():
    for _n in _sizes:
        product(f"{_n}³ {_dtype}", (), _n, _n, _n, _dtype)
product("2047×2049·2049×2051 bfloat16", (), 2047, 2049, 2051, "bfloat16")
product("batched 64×(128×64×128)", (64,), 128, 64, 128, "float32")
product("batched 64×(128×64×128) bfloat16", (64,), 128, 64, 128, "bfloat16")
product("1×4096·4096²", (), 1, 4096, 4096, "float32")
product("1×4096·4096² bfloat16", (), 1, 4096, 4096, "bfloat16")
for _rows in (16, 256):
    product(f"{_rows}×4096·4096² bfloat16", (), _rows, 4096, 4096, "bfloat16")


@case("matmul/1×4096·4096² transposed", "float32", bytes=4.0 * 4096 * 4096, flops=size(4096, 4096))
@case(
    "matmul/1×4096·4096² transposed bfloat16",
    "bfloat16",
    bytes=2.0 * 4096 * 4096,
    flops=size(4096, 4096),
)
def transposed(f: Any, dtype: str) -> Made:
    args = (f.normal((1, 4096), dtype), f.normal((4096, 4096), dtype))
    return lambda x, w: f.matmul(x, w.T), args


@case("matmul/4-bit 1×4096·4096²", 1, bytes=0.5625 * 4096 * 4096, flops=size(4096, 4096))
@case("matmul/4-bit 256×4096·4096²", 256, flops=size(256, 4096, 4096))
@case(
    "matmul/4-bit 1×4096·4096² bfloat16",
    1,
    "bfloat16",
    bytes=0.5625 * 4096 * 4096,
    flops=size(4096, 4096),
)
@case("matmul/4-bit 256×4096·4096² bfloat16", 256, "bfloat16", flops=size(256, 4096, 4096))
def quantized(f: Any, rows: int, dtype: str = "float32") -> Made:
    weights = f.quantized(f.normal((4096, 4096), dtype))
    return f.quantized_matmul, (f.normal((rows, 4096), dtype), *weights)


@case("conv/conv2d 8×56×56×64, 3×3, 64", flops=size(8, 56, 56, 64, 9, 64))
def conv2d(f: Any) -> Made:
    return lambda x, w: f.conv2d(x, w, 1), (f.image(8, 56, 56, 64), f.kernel(64, 3, 3, 64))


@case("attention/8×1024×64 float32", "float32", flops=2 * size(8, 1024, 1024, 64))
@case("attention/8×1024×64 bfloat16", "bfloat16", flops=2 * size(8, 1024, 1024, 64))
def attention(f: Any, dtype: str) -> Made:
    inputs = tuple(f.normal((1, 8, 1024, 64), dtype) for _ in range(3))
    return lambda q, k, v: f.attention(q, k, v, False), inputs


def _linalg(name: str, n: int, batch: tuple[int, ...] = ()) -> None:
    """The case of a factorisation of matrices that are symmetric and well conditioned."""

    def make(f: Any) -> Made:
        x = f.normal((*batch, n, 2 * n))
        x = f.matmul(x, f.swapped(x)) * (0.5 / n)
        others = (f.normal((*batch, n, 1)),) if name == "solve" else ()
        return lambda *args: f.linalg(name, *args), (x, *others)

    case(f"linalg/{name} {f'{batch[0]} of ' if batch else ''}{n}")(make)


for _name in ("cholesky", "svd", "qr", "inv", "eigh", "solve"):
    for _n in (64, 256, 512, 1024):
        if _n < 1024 or _name in ("cholesky", "inv", "solve"):
            _linalg(_name, _n)
    _linalg(_name, 8, (1000,))
