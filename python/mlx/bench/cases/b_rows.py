"""Reductions, scans, sorting, indexing and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import case

M = 1 << 20


@case("reduce/sum of all 4M", None, bytes=16 * M)
@case("reduce/sum of rows 4096×1024", 1, bytes=16 * M)
@case("reduce/sum of columns 4096×1024", 0, bytes=16 * M)
def total(f: Any, axis: int | None) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda x: f.sum(x, axis), (f.normal((4096, 1024)),)


@case("reduce/maximum of all 4M int32", bytes=16 * M)
def maximum_of_all(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.maximum, (f.integers((4 * M,), 1000),)


@case("reduce/argmax of rows 4096×1024", "argmax", bytes=16 * M)
@case("rows/softmax 4096×1024", "softmax", bytes=32 * M)
@case("rows/cumsum 4096×1024", "cumsum", bytes=32 * M)
def of_rows(f: Any, name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return getattr(f, name), (f.normal((4096, 1024)),)


@case("rows/cumsum of one row 16M", bytes=128 * M)
def long_cumsum(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.cumsum, (f.normal((16 * M,)),)


@case("reduce/maximum of rows 4M×3 int8", "maximum", bytes=16 * M)
@case("reduce/any of rows 4M×3 int8", "any", bytes=16 * M)
def short_rows(f: Any, name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return getattr(f, name), (f.uniform((4 * M, 3), -100, 100, "int8"),)


@case("rows/layer norm 4096×1024", bytes=32 * M)
def layer_norm(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.layer_norm, (f.normal((4096, 1024)), f.normal((1024,)), f.normal((1024,)))


@case("sort/1024 rows of 1024", (1024, 1024))
@case("sort/1M at once", (M,))
def sort(f: Any, shape: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.sort, (f.normal(shape),)


@case("sort/positions of 1024 rows of 1024", (1024, 1024))
@case("sort/positions of 1M", (M,))
def argsort(f: Any, shape: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.argsort, (f.normal(shape),)


@case("sort/1024 rows of 1024 int8", "int8")
@case("sort/1024 rows of 1024 float16", "float16")
def narrow_sort(f: Any, dtype: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.sort, (f.uniform((1024, 1024), -100, 100, dtype),)


@case("index/take 8192 rows of 512", bytes=2 * 4 * 8192 * 512)
def take(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.take, (f.normal((32768, 512)), f.integers((8192,), 32768))


@case("index/scatter-add 16384 rows of 128", bytes=3 * 4 * 16384 * 128)
def scatter_add(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    table, updates = f.normal((4096, 128)), f.normal((16384, 128))
    return f.scatter_add, (table, f.integers((16384,), 4096), updates)


@case("count/histogram 16M, 10 bins", 10, bytes=64 * M)
@case("count/histogram 16M, 256 bins", 256, bytes=64 * M)
def histogram(f: Any, bins: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda x: f.histogram(x, bins), (f.normal((16 * M,)),)


@case("count/bincount 4M below 1000", bytes=16 * M)
def bincount(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.bincount, (f.integers((4 * M,), 1000),)


@case("count/unique 4M below 1000", 1000, mode="eager")
@case("count/unique 4M below 2³⁰", 1 << 30, mode="eager")
def unique(f: Any, high: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    # As many results in all frameworks, whatever their random numbers.
    return lambda x: f.unique(x)[:1000], (f.integers((4 * M,), high),)


@case("count/nonzero 4M", "nonzero", mode="eager")
@case("count/read at a mask 4M", "masked", mode="eager")
def at_mask(f: Any, name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda x: getattr(f, name)(x, x > 0)[:1000], (f.normal((4 * M,)),)


@case("count/searchsorted 4M in 100")
def searchsorted(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.searchsorted, (f.sort(f.normal((100,))), f.normal((4 * M,)))


@case("random/normal 4M", bytes=16 * M)
def normal(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.sampler((4 * M,))


@case("fft/complex 64×16384", bytes=2 * 8 * M, flops=5 * 14 * M)
def fft(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f.fft, (f.complex((64, 16384)),)
