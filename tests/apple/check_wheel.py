"""Checks of a wheel for macOS that was made elsewhere: `check_wheel.py WHEEL`.

It never ran, so all that its files say is read: processor, system, signatures, the libraries and
names that they ask for. `./dev wheel --macos` runs this.
"""

import pathlib
import re
import sys
import zipfile

import lief
from names import ENGINE, INTERFACE, LISTS, ROOT, check_names, listed

PLATFORM = "macosx_14_0_arm64"
# The libraries of the package: the name that each has for others, if they link it, and where it
# looks for them.
PROGRAMS = {
    "core": (None, ["@loader_path/lib"]),
    "libmlx": (ENGINE, []),
    "libmlxc": (INTERFACE, ["@loader_path"]),
    "libmlx_metal": (None, ["@loader_path"]),
}
C_NAMES = ROOT / "tests/c/prototypes.txt"
REQUIREMENT = re.compile(r"^Requires-Dist: scipy-openblas32.*sys_platform != .darwin.", re.M)


def libraries_and_names(binary):
    """Pairs of a library, None for any, and a name that is asked of it."""
    for binding in binary.bindings:
        # Another definition, which gives way to that of a library that was loaded before.
        if binding.binding_class == lief.MachO.DyldBindingInfo.CLASS.WEAK:
            continue
        yield binding.library.name if binding.has_library else None, binding.symbol.name


def check_binary(name, binary, own_name, rpaths):
    """Complaints about one library."""
    header = binary.header
    if header.cpu_type != lief.MachO.Header.CPU_TYPE.ARM64:
        yield f"{name} is for {header.cpu_type}"
    build = binary.build_version
    if build is None or list(build.minos)[:2] != [14, 0]:
        yield f"{name} is for macOS {build and list(build.minos)}, not 14.0"
    if not binary.has_code_signature:
        yield f"{name} has no signature"
    found = [command.path for command in binary.rpaths]
    if found != rpaths:
        yield f"{name} looks for libraries in {found}, not in {rpaths}"
    own = None
    for library in binary.libraries:
        if library.command == lief.MachO.LoadCommand.TYPE.ID_DYLIB:
            own = library.name
        elif library.name not in {*LISTS, ENGINE}:
            yield f"{name} asks for the library {library.name}"
    if own_name and own != own_name:
        yield f"{name} calls itself {own}, not {own_name}"


def check(wheel):
    """All complaints about a wheel."""
    if not wheel.name.endswith(f"-{PLATFORM}.whl"):
        yield f"{wheel.name} is not for {PLATFORM}"
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for name in (
        "mlx/py.typed",
        "mlx/core/__init__.pyi",
        "mlx/include/mlx/mlx.h",
        "mlx/nn/__init__.py",
    ):
        if name not in files:
            yield f"{name} is missing"
    (metadata,) = [text for name, text in files.items() if name.endswith(".dist-info/METADATA")]
    if not REQUIREMENT.search(metadata.decode()):
        yield "the metadata ask for a BLAS beside Accelerate"
    for name, content in files.items():
        if str(ROOT).encode() in content:
            yield f"{name} contains the folder of the build"
    suffixes = (".dylib", ".so")
    programs = {pathlib.PurePath(n).name.split(".")[0]: n for n in files if n.endswith(suffixes)}
    if set(programs) != set(PROGRAMS):
        yield f"libraries: {sorted(programs.values())}"
        return
    binaries = {name: lief.MachO.parse(list(files[n])).at(0) for name, n in programs.items()}
    asked = set()
    for name, binary in binaries.items():
        yield from check_binary(programs[name], binary, *PROGRAMS[name])
        asked |= set(libraries_and_names(binary))
    exported = {name: {s.name for s in b.exported_symbols} for name, b in binaries.items()}
    functions = set(re.findall(r"\b(_?mlx_\w+)\(", C_NAMES.read_text()))
    for name in sorted(functions - {name[1:] for name in exported["libmlxc"]}):
        yield f"{programs['libmlxc']} lacks the function {name}"
    yield from check_names(
        asked, {library: listed(file) for library, file in LISTS.items()}, exported["libmlx"]
    )


def main():
    """Print complaints; the exit status says whether there are any."""
    lief.logging.disable()
    wheel = pathlib.Path(sys.argv[1])
    complaints = list(check(wheel))
    for complaint in complaints:
        print(f"FAILED: {complaint}")
    if not complaints:
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, its files are as they must be")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
