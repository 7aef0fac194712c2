"""`./dev build`: the engine and the bindings."""

from ..builds import build

USAGE = """\
  build [TARGETS]   compile the engine and the bindings into build/
"""


def run(arguments: list[str]) -> int:
    """Builds everything, or the targets that are named."""
    build(*arguments)
    return 0
