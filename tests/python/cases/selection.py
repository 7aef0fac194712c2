"""Choosing which part of all combinations a run takes."""

import datetime
import os
import zlib

EVERYTHING = False
SEED = 0  # which part; pytest sets it


def seed_of(option=None):
    """The seed: an option's, or else MLX_TEST_SEED, or else the date as a number of days."""
    given = option if option is not None else os.environ.get("MLX_TEST_SEED")
    return int(given) if given not in (None, "") else datetime.date.today().toordinal()


def chosen(identifier, share):
    """Whether a combination belongs to the run: all with --all, else a part of its hash's values.

    The parts of successive seeds lie side by side: 1 / share of them, rounded up, are everything.
    """
    width = round(1000 * share)
    return EVERYTHING or (zlib.crc32(identifier.encode()) - SEED * width) % 1000 < width
