"""`./dev demo`: the package, installed, and a network that learns to read digits."""

from pathlib import Path

from ..builds import build
from ..environment import environment, install
from ..shell import PYTHON, refuse, replace

USAGE = """\
  demo              install the package, then train a network on handwritten digits
       --wheel FILE with the package of a wheel, without a compiler
"""

ANNOUNCEMENT = """\
This compiles about 300 files (five to ten minutes on two cores), installs the package into .venv,
and trains a network on handwritten digits for about ten seconds. It writes a picture of its guesses
to examples/digits/output/digits.png."""


def from_wheel(wheel: str) -> None:
    """Installs the package from a wheel, with the packages that the program needs."""
    if not Path(wheel).is_file():
        refuse(f"[demo] --wheel {wheel} given; accepted: a file that ./dev wheel has made")
    environment("demo")
    install("--force-reinstall", "--no-deps", wheel)


def from_source() -> None:
    """Compiles the package and installs it."""
    if not Path("build/python/mlx/lib/libmlx.so").exists():
        print(ANNOUNCEMENT)
    build("stubs")
    print("Installing into .venv ...")
    settings = ("--no-build-isolation", "--config-settings=build-dir=build")
    install(*settings, ".[demo]")


def run(arguments: list[str]) -> int:
    """Installs the package and starts the program, which gets the arguments."""
    if arguments[:1] == ["--wheel"]:
        from_wheel(arguments[1] if len(arguments) > 1 else "")
        arguments = arguments[2:]
    else:
        from_source()
    replace(PYTHON, "examples/digits/train.py", *arguments)
