"""The array API standard 2025.12 as tables, checked on any namespace: signatures, dtypes, special
values and the rest. `python tests/python/array_api numpy` counts what another library fails."""

from array_api import behaviour, dtypes, signatures, special


def checks():
    """(name, check) for every row of every table; a check takes a namespace and raises."""
    for table in (signatures, dtypes, special, behaviour):
        yield from table.checks()
