"""Case lists, one module a family of ops: `families()` gives them all."""

import importlib
import pathlib

from cases.selection import chosen

__all__ = ["chosen", "families", "names", "run_rows"]

MODULES = sorted(
    p.stem
    for p in pathlib.Path(__file__).parent.glob("*.py")
    if p.stem not in ("__init__", "table", "selection")
)


def names():
    """Names of the families."""
    return MODULES


def families(name):
    """The rows of a family."""
    return importlib.import_module("cases." + name).ROWS


def run_rows(name, check, wanted=lambda row: True):
    """Run `check(row)` (an iterable of messages) over a family; fail with all messages at once."""
    failures = []
    for row in families(name):
        if not wanted(row):
            continue
        try:
            failures += [f"{row.name}: {message}" for message in check(row)]
        except Exception as error:
            failures.append(f"{row.name}: {type(error).__name__}: {error}")
    shown = "\n".join(failures[:40]) + (
        f"\n... and {len(failures) - 40} more" if len(failures) > 40 else ""
    )
    assert not failures, f"{len(failures)} failures\n{shown}"
