"""Counts the rows of the tables that a namespace fails: mlx.core, or the one that is named."""

import importlib
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))


def main(name="mlx.core"):
    """Print each failure, and how many rows there are."""
    from array_api import checks

    xp = importlib.import_module(name)
    warnings.simplefilter("ignore")
    count = failures = 0
    for row, check in checks():
        count += 1
        try:
            check(xp)
        except Exception as e:
            failures += 1
            print(f"{row}: {type(e).__name__}: {str(e).strip().splitlines()[:1]}")
    print(f"{name}: {failures} of {count} rows fail")


main(*sys.argv[1:])
