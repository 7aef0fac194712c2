"""Sizes for GPUs, whose times are those of kernels and memory rather than of launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import case
from . import a_elementwise, c_products, d_networks, e_language

Made = tuple[Callable[..., Any], tuple[Any, ...]]

M = 1 << 20
ROWS = (65536, 1024)
N = ROWS[0] * ROWS[1]
GPT = d_networks.Size(layers=12, wide=768, heads=12, words=8192, rows=8, tokens=1024)
LLAMA = e_language.Size(wide=2560, hidden=6912, layers=21, heads=20, words=32000)


def again(function: Callable[..., Made], name: str, *args: Any, **options: Any) -> None:
    """Lists a function of the other modules with arguments of this one."""
    case(f"large/{name}", *args, large=True, **options)(lambda f, *args: function(f, *args))


again(a_elementwise.add, "add 64M", N, bytes=12 * N)
again(a_elementwise.unary, "exp 64M float32", "exp", N, bytes=8 * N)
again(a_elementwise.unary, "sin 64M float32", "sin", N, bytes=8 * N)
again(a_elementwise.unary, "tanh 64M float16", "tanh", N, "float16", bytes=4 * N)


@case("large/x·x 64M bfloat16", bytes=4 * N, large=True)
def square(f: Any) -> Made:
    return lambda x: x * x, (f.normal((N,), "bfloat16"),)


@case("large/matrix + row, 65536×1024", (1, 1024), bytes=8 * N, large=True)
def broadcast(f: Any, shape: tuple[int, int]) -> Made:
    return lambda x, row: x + row, (f.normal(ROWS), f.normal(shape))


@case("large/row + column, 65536×1024", bytes=4 * N, large=True)
def outer_sum(f: Any) -> Made:
    return lambda row, column: row + column, (f.normal((1024,)), f.normal((65536, 1)))


@case("large/transpose and copy 8192²", bytes=8 * N, large=True)
def transpose(f: Any) -> Made:
    return f.transposed_copy, (f.normal((8192, 8192)),)


@case("large/compare and choose 64M", bytes=12 * N, large=True)
def choose(f: Any) -> Made:
    return lambda a, b: f.where(a > b, a, b), (f.normal((N,)), f.normal((N,)))


again(a_elementwise.gelu, "gelu 64M eager", N, mode="eager", bytes=8 * N)
again(a_elementwise.chain, "10 multiply-adds 64M compiled", N, mode="compiled", bytes=8 * N)
for _name in a_elementwise.FORMULAS:
    for _dtype in ("float32", "bfloat16"):
        a_elementwise.of_rows(_name, ROWS, _dtype, "compiled", group="large", large=True)


@case("large/sum of all 64M", None, bytes=4 * N, large=True)
@case("large/sum of rows, 65536×1024", 1, bytes=4 * N, large=True)
@case("large/sum of columns, 65536×1024", 0, bytes=4 * N, large=True)
def total(f: Any, axis: int | None) -> Made:
    return lambda x: f.sum(x, axis), (f.normal(ROWS),)


@case("large/argmax of rows, 65536×1024", "argmax", bytes=4 * N, large=True)
@case("large/softmax of rows, 65536×1024", "softmax", bytes=8 * N, large=True)
@case("large/logsumexp of rows, 65536×1024", "logsumexp", bytes=4 * N, large=True)
@case("large/cumsum of rows, 65536×1024", "cumsum", bytes=8 * N, large=True)
def of_rows(f: Any, name: str) -> Made:
    return getattr(f, name), (f.normal(ROWS),)


@case("large/layer norm, 65536×1024", bytes=8 * N, large=True)
def layer_norm(f: Any) -> Made:
    return f.layer_norm, (f.normal(ROWS), f.normal((1024,)), f.normal((1024,)))


@case("large/sort of 16384 rows of 1024", (16384, 1024), large=True)
@case("large/sort of 16M", (16 * M,), large=True)
def sort(f: Any, shape: tuple[Any, ...]) -> Made:
    return f.sort, (f.normal(shape),)


@case("large/normal 64M", bytes=4 * N, large=True)
def normal(f: Any) -> Made:
    return f.sampler((N,))


for _dtype in ("float32", "bfloat16", "float16"):
    c_products.product(f"8192³ {_dtype}", (), 8192, 8192, 8192, _dtype, group="large", large=True)


@case("large/conv2d 64×56×56×64, 3×3, 64", flops=c_products.size(64, 56, 56, 64, 9, 64), large=True)
def conv2d(f: Any) -> Made:
    return lambda x, w: f.conv2d(x, w, 1), (f.image(64, 56, 56, 64), f.kernel(64, 3, 3, 64))


@case("large/attention 8×16×2048×64 float32", "float32", False, large=True)
@case("large/attention 8×16×2048×64 bfloat16", "bfloat16", False, large=True)
@case("large/attention 8×16×2048×64 bfloat16, causal", "bfloat16", True, large=True)
def attention(f: Any, dtype: str, causal: bool) -> Made:
    inputs = tuple(f.normal((8, 16, 2048, 64), dtype) for _ in range(3))
    return lambda q, k, v: f.attention(q, k, v, causal), inputs


for _mode, _compiled in (("eager", False), ("own", True)):
    again(
        d_networks.transformer,
        f"transformer step, 98M weights, bfloat16, {'compiled' if _compiled else 'eager'}",
        _compiled,
        "bfloat16",
        GPT,
        mode=_mode,
    )
for _bits, _kind, _bytes in ((16, "bfloat16", 2.0), (4, "4-bit", 0.5625)):
    again(
        e_language.decode,
        f"decode, 1.75G weights, {_kind}, compiled",
        _bits,
        LLAMA,
        mode="compiled",
        bytes=_bytes * LLAMA.weights,
    )
again(
    e_language.read,
    "read 256 tokens, 1.75G weights, bfloat16, compiled",
    16,
    LLAMA,
    mode="compiled",
    flops=512 * LLAMA.in_layers,
)
