"""`./dev pack`: an archive for a machine with a GPU."""

from ..environment import environment
from ..shell import PYTHON, no_more, replace

USAGE = """\
  pack              after `cuda`: write one archive with which the tests run on a machine with a GPU
"""


def run(arguments: list[str]) -> int:
    """Writes the archive from the build and the environment."""
    no_more("pack", arguments)
    environment("test")
    replace(PYTHON, "tests/cuda/pack.py")
