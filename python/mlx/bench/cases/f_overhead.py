"""What a call costs when there is next to nothing to compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import case


@case("overhead/1,000 scalar adds, eager", mode="eager")
def scalar_adds(f: Any) -> tuple[Callable, tuple]:
    def added(x: Any, y: Any) -> Any:
        for _ in range(1000):
            x = x + y
        return x

    return added, (f.scalar(1.0), f.scalar(2.0))


@case("overhead/a + b on scalars, not computed", mode="raw")
@case("overhead/a + b on scalars, computed", mode="eager")
def add(f: Any) -> tuple[Callable, tuple]:
    return lambda a, b: a + b, (f.scalar(1.0), f.scalar(2.0))


@case("overhead/10,000 kept a + b, not computed", mode="raw")
def kept(f: Any) -> tuple[Callable, tuple]:
    return lambda a, b: [a + b for _ in range(10000)], (f.scalar(1.0), f.scalar(2.0))
