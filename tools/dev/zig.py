"""Compilers of the Python package ziglang, for this system and for macOS."""

import platform
from pathlib import Path

from .environment import environment
from .shell import PYTHON, ROOT, output

FOLDER = Path("build/zig")


def programs(zig: Path, machine: str) -> dict[str, str]:
    """The words that each program passes to zig.

    c++, ar and ranlib compile and link for other systems; clang++ for this one, with its C++
    library and linker.
    """
    clang = f"clang --driver-mode=g++ --target={machine}-linux-gnu -resource-dir '{zig.parent}/lib'"
    return {"c++": "c++", "ar": "ar", "ranlib": "ranlib", "clang++": clang}


def write(file: Path, text: str) -> None:
    """Writes a program; one that is the same already keeps its time, by which builds go."""
    if not file.is_file() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)


def ziglang() -> Path:
    """The compiler of the package, which is installed if needed."""
    environment("macos")
    ask = 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")'
    return Path(output(PYTHON, "-c", ask))


def zig() -> Path:
    """The folder of the programs."""
    binary = ziglang()
    for name, words in programs(binary, platform.machine()).items():
        write(FOLDER / name, f'#!/bin/sh\nexec "{binary}" {words} "$@"\n')
    return ROOT / FOLDER
