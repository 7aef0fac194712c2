"""Makes the standard library's reprlib, which pytest uses, print arrays of this package.

reprlib selects a method by class name and treats every class named ``array`` as ``array.array``.
"""

from __future__ import annotations

import reprlib

TYPE_CHECKING = False  # typing takes long to import
if TYPE_CHECKING:
    from typing import Any


def install(array_class: type) -> None:
    """Make ``reprlib`` print instances of ``array_class`` by their own repr."""
    standard = reprlib.Repr.repr_array

    def repr_array(self: reprlib.Repr, x: Any, level: int) -> str:
        if isinstance(x, array_class):
            return self.repr_instance(x, level)
        return standard(self, x, level)

    reprlib.Repr.repr_array = repr_array  # type: ignore[method-assign]
