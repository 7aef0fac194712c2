"""Shared parts of the frameworks: defaults, and how a missing function shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import Missing, arrays


class Base:
    """A framework that has nothing yet.

    Images are (n, height, width, channels) and kernels (out, height, width, in) in the arguments
    of `image` and `kernel`; the arrays have whichever layout the framework prefers.
    """

    name = ""
    version = ""
    compiles: tuple[Any, ...] = ()  # modes whose first call takes a compiler's time

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Missing(f"{self.name} has no {name} here")

    def use(self, device: str) -> None:
        """Compute on the device, `cpu` or `gpu`, from now on."""
        if device != "cpu":
            raise Missing(f"{self.name} has no {device} here")

    def op(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """How one operation is called fastest: as it is."""
        return function

    def forget(self) -> None:
        """Drop what was compiled so far, where it would make the next compilation another one."""

    def ready(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, computed."""
        return args

    def sync(self, result: Any) -> Any:
        """Wait until a result is computed."""
        return result

    def size(self, leaf: Any) -> int:
        """Number of elements of one result."""
        return int(getattr(leaf, "size", 1))

    def sampler(self, shape: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A function that draws normal numbers, and its arguments."""
        return lambda: self.normal(shape), ()

    def image(self, n: int, height: int, width: int, channels: int) -> Any:
        """Normal numbers as a batch of images."""
        return self.normal((n, height, width, channels))

    def kernel(self, out: int, height: int, width: int, channels: int) -> Any:
        """Normal numbers as a convolution kernel."""
        return self.normal((out, height, width, channels)) * (channels * height * width) ** -0.5

    def turned(self, x: Any, start: int, frequencies: Any, join: Callable[..., Any]) -> Any:
        """Rotary position embedding of x (.., tokens, size), as a formula."""
        half = x.shape[-1] // 2
        cos, sin = frequencies(start, x.shape[-2], half)
        a, b = x[..., :half], x[..., half:]
        return join([a * cos - b * sin, a * sin + b * cos], -1)

    def from_table(self, name: str, reference: str) -> Callable[..., Any]:
        """The elementwise function that the table calls `name`."""
        for module in self.elementwise:
            for public in (name, *self.aliases.get(name, ())):
                if function := getattr(module, public, None):
                    return function
        raise Missing(f"{self.name} has no {name}")

    leaves = staticmethod(lambda tree: list(arrays(tree)))
