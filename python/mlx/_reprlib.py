"""Lets the standard library's reprlib, which pytest prints values with, print arrays of ours.

It goes by the name of a class, and takes whatever is called ``array`` for an ``array.array``.
"""

from __future__ import annotations

import reprlib
from typing import Any


def install(array_class: type) -> None:
    """Make ``reprlib`` print instances of ``array_class`` by their own repr."""
    standard = reprlib.Repr.repr_array

    def repr_array(self: reprlib.Repr, x: Any, level: int) -> str:
        if isinstance(x, array_class):
            return self.repr_instance(x, level)
        return standard(self, x, level)

    reprlib.Repr.repr_array = repr_array  # type: ignore[method-assign]
