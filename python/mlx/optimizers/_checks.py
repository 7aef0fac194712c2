"""Checks of the settings of optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check(condition: bool, name: str, bound: str, value: Any) -> None:
    """``ValueError`` naming the setting unless ``condition`` holds."""
    if not condition:
        raise ValueError(f"{name} should be {bound}, {value} was provided instead")


def check_betas(optimizer: str, betas: Sequence[float]) -> None:
    """``ValueError`` unless ``betas`` are two decays, ``TypeError`` for a single number."""
    if isinstance(betas, (int, float)):
        raise TypeError(f"[{optimizer}] betas={betas}; a list of two numbers is accepted")
    check(len(betas) == 2, f"{optimizer} betas", "two numbers", betas)
    for i, beta in enumerate(betas, start=1):
        check(0 <= beta < 1, f"{optimizer} beta{i}", "in [0, 1)", beta)
