"""`./dev support`: the page docs/support.md."""

from ..builds import PACKAGE, build
from ..environment import environment
from ..shell import PYTHON, no_more, replace

USAGE = """\
  support           write docs/support.md: which op takes which dtype, has which derivatives
"""


def run(arguments: list[str]) -> int:
    """Writes the page from the case lists of the tests."""
    no_more("support", arguments)
    environment("test")
    build(quiet=True)
    replace(PYTHON, "tests/support.py", variables=PACKAGE)
