"""Case lists, one module a family of ops: `families()` gives them all."""

import importlib
import pathlib

import outcome

from cases.selection import chosen
from cases.table import NOT_YET

__all__ = ["NOT_YET", "absent", "chosen", "families", "names", "run_rows"]

MODULES = sorted(
    p.stem
    for p in pathlib.Path(__file__).parent.glob("*.py")
    if p.stem not in ("__init__", "table", "selection")
)


def absent(*functions):
    """Whether a function does not exist yet; fails where not_yet.txt does not name it."""
    missing = [name for name in functions if outcome.is_missing(name)]
    unlisted = [name for name in missing if name not in NOT_YET]
    assert not unlisted, f"mlx.core has no {' '.join(unlisted)}"
    return bool(missing)


def names():
    """Names of the families."""
    return MODULES


def families(name):
    """The rows of a family."""
    return importlib.import_module("cases." + name).ROWS


def run_rows(name, check, wanted=lambda row: True):
    """Run `check(row)` (an iterable of messages) over a family; fail with all messages at once.

    A row whose function does not exist fails, unless tests/golden/not_yet.txt names the function.
    """
    failures = []
    for row in families(name):
        if not wanted(row):
            continue
        if row.missing:
            unlisted = [n for n in row.missing if n not in NOT_YET]
            failures += [f"{row.name}: mlx.core has no {n}" for n in unlisted]
            continue
        try:
            failures += [f"{row.name}: {message}" for message in check(row)]
        except Exception as error:
            failures.append(f"{row.name}: {type(error).__name__}: {error}")
    shown = "\n".join(failures[:40]) + (
        f"\n... and {len(failures) - 40} more" if len(failures) > 40 else ""
    )
    assert not failures, f"{len(failures)} failures\n{shown}"
