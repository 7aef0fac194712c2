"""The list of commands, and the choice of the one that was asked for."""

import importlib
import os
import sys
from types import ModuleType

# The first ones are for users of the package, the rest for its developers.
COMMANDS = (
    *("demo", "example", "test", "wheel", "docs"),
    *("build", "python", "lint", "bench", "fuzz", "cuda", "pack", "support"),
)

HEAD = """\
usage: ./dev COMMAND [ARGS]
Each command sets up what it needs: an environment in .venv, and a build in build/.
"""


def command(name: str) -> ModuleType:
    """The module of a command."""
    return importlib.import_module(f"dev.commands.{name}")


def usage() -> str:
    """The text that lists the commands."""
    return HEAD + "".join(command(name).USAGE for name in COMMANDS)


def main(arguments: list[str]) -> int:
    """Runs a command; the result is the exit status."""
    name, rest = (arguments or ["help"])[0], arguments[1:]
    if name in ("help", "-h", "--help"):
        print(usage(), end="")
        return 0
    if name not in COMMANDS:
        print(f"[dev] no command {name}; there are: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    os.environ.setdefault("CXX", "c++")  # one compiler: the cache of ccache serves every build
    try:
        return int(command(name).run(rest))
    except KeyboardInterrupt:
        print(f"[dev] {name} was interrupted; the same command continues it", file=sys.stderr)
        return 130
