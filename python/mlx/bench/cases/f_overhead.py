"""The time of a call with next to nothing to compute."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from ..registry import case


@case("overhead/1,000 scalar adds, eager", mode="eager")
def scalar_adds(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def added(x: Any, y: Any) -> Any:
        for _ in range(1000):
            x = x + y
        return x

    return added, (f.scalar(1.0), f.scalar(2.0))


@case("overhead/a + b on scalars, not computed", mode="raw")
@case("overhead/a + b on scalars, computed", mode="eager")
def add(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda a, b: a + b, (f.scalar(1.0), f.scalar(2.0))


@case("overhead/10,000 kept a + b, not computed", mode="raw")
def kept(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda a, b: [a + b for _ in range(10000)], (f.scalar(1.0), f.scalar(2.0))


def chain(f: Any, x: Any, c: Any, n: int, picks: Sequence[int] = range(4)) -> Any:
    """`n` operations in a row, of the kinds that `picks` numbers."""
    steps = (f.sin, lambda x: x + c, f.tanh, lambda x: x * c)
    for i in range(n):
        x = steps[picks[i % len(picks)]](x)
    return x


@case("overhead/call of 1 op on 4 numbers, compiled", 1, mode="compiled")
@case("overhead/call of 2 ops on 4 numbers, compiled", 2, mode="compiled")
@case("overhead/call of 100 ops on 4 numbers, compiled", 100, mode="compiled")
@case("overhead/call of 200 ops on 4 numbers, compiled", 200, mode="compiled")
@case("overhead/call of 5,000 ops on 4 numbers, compiled", 5000, mode="compiled", default=False)
def call(f: Any, n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda x, c: chain(f, x, c, n), (f.normal((4,)), f.normal((4,)))


@case("overhead/gradient of 1,000 ops, not computed", mode="raw")
@case("overhead/gradient of 1,000 ops, computed", mode="eager")
def gradient(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    c = f.normal((4,))
    return f.grad(lambda x: f.sum(chain(f, x, c, 1000))), (f.normal((4,)),)


@case("compile/200 ops on 4 numbers and the first call", 200, mode="first")
@case("compile/1,000 ops on 4 numbers and the first call", 1000, mode="first")
def first_call(f: Any, n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def make() -> Callable[..., Any]:
        picks = random.choices(range(4), k=8)
        return lambda x, c: chain(f, x, c, n, picks)

    return make, (f.normal((4,)), f.normal((4,)))


@case("compile/gradient of 4 layers, 16 wide, and the first call", mode="first")
def first_gradient(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    weights = [f.normal((16, 16)) for _ in range(4)]

    def make() -> Callable[..., Any]:
        picks = random.choices((f.sin, f.tanh, f.relu, f.silu), k=4)

        def loss(weights: Any, x: Any) -> Any:
            for activation, w in zip(picks, weights, strict=True):
                x = activation(f.matmul(x, w))
            return f.sum(x)

        return f.grad(loss)

    return make, (weights, f.normal((16, 16)))
