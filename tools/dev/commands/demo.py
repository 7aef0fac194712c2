"""`./dev demo`: the package, installed, and a network that learns to read digits."""

from pathlib import Path

from ..builds import build
from ..shell import PYTHON, replace, run as run_program

USAGE = """\
  demo              install the package, then train a network on handwritten digits
"""

ANNOUNCEMENT = """\
This compiles about 300 files (five to ten minutes on two cores), installs the package into .venv,
and trains a network on handwritten digits for about a minute. It writes a picture of its guesses to
examples/digits/output/digits.png."""


def run(arguments: list[str]) -> int:
    """Installs from the build and starts the program, which gets the arguments."""
    if not Path("build/python/mlx/lib/libmlx.so").exists():
        print(ANNOUNCEMENT)
    build("stubs")
    print("Installing into .venv ...")
    quiet = ("-q", "--disable-pip-version-check")
    settings = ("--no-build-isolation", "--config-settings=build-dir=build")
    run_program(PYTHON, "-m", "pip", "install", *quiet, *settings, ".[demo]")
    replace(PYTHON, "examples/digits/train.py", *arguments)
