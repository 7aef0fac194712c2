"""The wheel and the source archive, installed with neither compiler nor NumPy.

`python tests/wheel.py FOLDER` takes the wheel in the folder, and makes a source archive of the
working tree beside it. `./dev test --wheel` builds and runs all of this.
"""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LARGEST = 12_000_000
# The newest versions that systems with manylinux_2_28 have.
NEWEST = {"GLIBC": "2.28", "GLIBCXX": "3.4.24", "CXXABI": "1.3.11"}
LIBRARIES = ("mlx/core.", "mlx/lib/libmlx.so")


def need(holds, what):
    """End with the message unless the first argument is true."""
    if not holds:
        sys.exit(f"FAILED: {what}")


def output(*command, **options):
    """The output of a command, which must succeed."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    need(done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def number(version):
    """A version as a tuple, which has an order."""
    return tuple(map(int, version.split(".")))


def check_library(file):
    """Symbols of older systems alone; no debugging information."""
    sections = output("readelf", "-SW", file)
    need(".symtab" not in sections and ".debug_info" not in sections, f"{file} is not stripped")
    wanted = output("readelf", "-VW", file).partition(".gnu.version_r")[2]
    for family, version in set(re.findall(r"Name: ([A-Z]+)_([\d.]+)", wanted)):
        newest = NEWEST.get(family, "99")
        need(number(version) <= number(newest), f"{file} needs {family}_{version}, over {newest}")


def check_wheel(wheel, folder):
    """The tag, the size and the libraries."""
    need(wheel.stat().st_size < LARGEST, f"{wheel.stat().st_size} bytes, over {LARGEST}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for name in ("mlx/py.typed", "mlx/core/__init__.pyi", "mlx/include/mlx/mlx.h"):
            need(name in names, f"no {name} in the wheel")
        need(not [n for n in names if ".libs/" in n], "the wheel contains libraries of the system")
        # The plugin for NVIDIA GPUs asks for newer libraries than the rest.
        if "mlx/lib/libmlx_cuda.so" not in names:
            need("manylinux_2_28_x86_64" in wheel.name, f"{wheel.name} is for newer systems")
        libraries = [n for n in names if n.startswith(LIBRARIES)]
        need(len(libraries) == len(LIBRARIES), f"libraries: {libraries}")
        for name in libraries:
            check_library(archive.extract(name, folder / "unpacked"))


def check_source(folder):
    """Every file of the working tree is in the source archive, with its content."""
    code = f"from scikit_build_core.build import build_sdist; print(build_sdist({str(folder)!r}))"
    name = output(sys.executable, "-c", code, cwd=ROOT).split()[-1]
    every = ("--cached", "--others", "--exclude-standard")
    tracked = output("git", "ls-files", *every, cwd=ROOT).splitlines()
    with tarfile.open(folder / name) as archive:
        top = name.removesuffix(".tar.gz")
        inside = {m.name.removeprefix(top + "/"): m for m in archive.getmembers() if m.isfile()}
        for path in tracked:
            file = ROOT / path
            if not file.is_file() or file.is_symlink():
                continue
            need(path in inside, f"{path} is not in the source archive")
            same = archive.extractfile(inside[path]).read() == file.read_bytes()
            need(same, f"{path} differs in the source archive")
    extra = sorted(set(inside) - set(tracked) - {"PKG-INFO"})
    need(not extra, f"the source archive also has {extra[:5]}")
    return folder / name, len(tracked)


def check_installed(wheel, folder):
    """README's program, and functions on this processor, with nothing else on the machine."""
    python = folder / "empty" / "bin" / "python"
    output(sys.executable, "-m", "venv", "--without-pip", folder / "empty")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "-q")
    output(*pip, "--disable-pip-version-check", wheel)
    nothing = folder / "nothing"
    nothing.mkdir(exist_ok=True)

    def run(*arguments):
        # `env -i`, with no directory of programs.
        return output(python, *arguments, cwd=nothing, env={"PATH": str(nothing)})

    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    printed = run("-c", program)
    loss = float(printed.split()[0])
    need(loss < 1e-3, f"README's program ends with the loss {loss}")
    without = "import importlib.util as u, sys; sys.exit(u.find_spec('numpy') is not None)"
    run("-c", without)
    run(ROOT / "tests" / "processors" / "smoke.py")
    facts = run("-m", "mlx")
    need(str(folder / "empty") in facts, f"another package was imported:\n{facts}")
    return printed.split()[0]


def main():
    """Every check, with a line for each."""
    folder = pathlib.Path(sys.argv[1]).resolve()
    os.environ.pop("PYTHONPATH", None)
    (wheel,) = folder.glob("*.whl")
    check_wheel(wheel, folder)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    loss = check_installed(wheel, folder)
    print(f"installed without compiler and NumPy: README's program runs, loss {loss}")
    source, files = check_source(folder)
    print(f"{source.name}: {source.stat().st_size / 1e6:.1f} MB, all of {files} files")


main()
