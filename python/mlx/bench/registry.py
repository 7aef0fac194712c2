"""Benchmark cases, and the list of them."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

MODES = ("op", "eager", "compiled", "own", "raw", "first")


class Missing(Exception):
    """A framework has no such function."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A function to time.

    Attributes:
        name: unique, `group/what size`.
        make: called with a framework; returns `(function, arguments)`. A call of the function
            with the arguments is what gets timed, result computed. For mode `first` the function
            takes nothing and returns another function each time.
        mode: `op` (one operation, the way a user of the framework calls it fastest), `eager`
            (op by op, not compiled), `compiled` (through the framework's compiler), `own` (the
            function compiles parts itself), `raw` (as `eager`, and the result need not be
            computed: the time of building it), or `first` (a function never seen before is
            compiled and called once).
        bytes: read and written at least, for GB/s; 0 where that says nothing.
        flops: arithmetic operations, for GFLOP/s; 0 where it says nothing.
        default: whether the case runs when no pattern is given.
        large: whether it does so on a GPU only: a case for whose work a processor takes seconds.
    """

    name: str
    make: Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]
    mode: str = "op"
    bytes: float = 0
    flops: float = 0
    default: bool = True
    large: bool = False

    @property
    def group(self) -> str:
        """The part of the name before the slash."""
        return self.name.split("/")[0]


CASES: dict[str, Case] = {}


def add(case: Case) -> None:
    """Put a case on the list; names are unique."""
    if case.name in CASES or case.mode not in MODES:
        raise ValueError(f"[bench] case {case.name!r} exists already or has a wrong mode")
    CASES[case.name] = case


def case(name: str, *args: Any, **options: Any) -> Callable[..., Any]:
    """Decorator that lists `function(framework, *args)` as a case; options are those of Case.

    Example:
        @case("elementwise/exp 4M", N, bytes=8 * N)
        def exp(f, n):
            return f.exp, (f.normal((n,)),)
    """

    def listed(function: Callable[..., Any]) -> Callable[..., Any]:
        add(Case(name, lambda framework: function(framework, *args), **options))
        # Decorators apply from the last line to the first; the list is in reading order.
        names = function.__dict__.setdefault("names", [])
        for later in names:
            CASES[later] = CASES.pop(later)
        names.insert(0, name)
        return function

    return listed


def load() -> dict[str, Case]:
    """All declared cases by name, in the order of their modules and lines."""
    from . import cases

    for module in sorted(m.name for m in pkgutil.iter_modules(cases.__path__)):
        importlib.import_module(f"{cases.__name__}.{module}")
    return CASES


def arrays(result: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dictionaries."""
    if isinstance(result, dict):
        result = list(result.values())
    if not isinstance(result, (list, tuple)):
        yield result
        return
    for item in result:
        yield from arrays(item)
