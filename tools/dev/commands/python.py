"""`./dev python`: the environment's Python, which finds the package of the build."""

from pathlib import Path

from ..builds import PACKAGE, build
from ..shell import PYTHON, replace

USAGE = """\
  python [ARGS]     the environment's Python, with the build importable
"""


def run(arguments: list[str]) -> int:
    """Starts Python on what was built last; only the first time builds."""
    if not Path("build/python/mlx/lib/libmlx.so").exists():
        build()
    replace(PYTHON, *arguments, variables=PACKAGE)
