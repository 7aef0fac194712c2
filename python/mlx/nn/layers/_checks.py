"""Checks of what layers are made with."""

from __future__ import annotations

import operator
from typing import Any


def check_sizes(layer: object, least: int = 1, **sizes: Any) -> None:
    """``ValueError`` unless all ``sizes``, integers or tuples of them, are at least ``least``."""
    for name, given in sizes.items():
        for size in given if isinstance(given, (list, tuple)) else [given]:
            try:
                value = operator.index(size)
            except TypeError:
                message = f"[{type(layer).__name__}] {name}={given!r}; an integer is accepted"
                raise TypeError(message) from None
            if value < least:
                raise ValueError(
                    f"[{type(layer).__name__}] {name}={given!r}; at least {least} is accepted"
                )


def check_positive(layer: object, **numbers: float) -> None:
    """``ValueError`` unless all ``numbers`` are greater than zero."""
    for name, number in numbers.items():
        if not number > 0:
            raise ValueError(
                f"[{type(layer).__name__}] {name!r} must be positive but got {number}."
            )
