"""The facts of this installation: versions, folders, devices.

python -m mlx
"""

from __future__ import annotations

import argparse
import importlib.metadata
import pathlib
import platform

HERE = pathlib.Path(__file__).resolve().parent
CMAKE, INCLUDE = HERE / "share" / "cmake" / "mlx", HERE / "include"


def version() -> str:
    """The version of this package."""
    import mlx.core as mx

    return str(vars(mx)["__version__"])


def release(package: str) -> str:
    """The version of an installed package, or a word that says that there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def missing_gpu() -> dict[str, str]:
    """The reason why there is no GPU, where there is none."""
    import mlx.core as mx

    try:
        mx.default_stream(mx.Device(mx.gpu))
    except ValueError as e:
        return {"no GPU": str(e).split(": ", 1)[-1]}
    return {}


def facts() -> dict[str, str]:
    """The facts of this installation, by name."""
    import mlx.core as mx

    info = mx.device_info(mx.cpu)
    devices = [
        f"{kind.name} {i}" for kind in (mx.cpu, mx.gpu) for i in range(mx.device_count(kind))
    ]
    return {
        "version": version(),
        "python": f"{platform.python_version()} ({platform.machine()}, {platform.system()})",
        "devices": f"{', '.join(devices)} (default: {mx.default_device()})",
        **missing_gpu(),
        "instruction set": str(info["architecture"]),
        "unit for tiles": str(info["matrix_unit"]),
        "threads": str(info["threads"]),
        "memory": f"{mx.get_memory_ceiling() / 2**30:.1f} GiB at most",
        "BLAS": f"OpenBLAS (scipy-openblas32 {release('scipy-openblas32')})",
        "NumPy": release("numpy"),
        "package": str(pathlib.Path(mx.__file__).parent),
        "C++ headers": str(INCLUDE) if INCLUDE.is_dir() else "not installed",
        "for CMake": str(CMAKE) if CMAKE.is_dir() else "not installed",
    }


def main() -> None:
    """Print what the options ask for, or all facts."""
    parser = argparse.ArgumentParser(
        prog="python -m mlx",
        description="Print the version, the devices and the paths of this package.",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--version", action="store_true", help="print the version alone")
    group.add_argument(
        "--cmake-dir",
        action="store_const",
        dest="path",
        const=CMAKE,
        help="the directory that CMake's find_package(mlx) needs, as -Dmlx_DIR=",
    )
    group.add_argument(
        "--include-dir",
        action="store_const",
        dest="path",
        const=INCLUDE,
        help="the directory of the C++ headers",
    )
    options = parser.parse_args()
    if options.version:
        print(f"mlx {version()}")
    elif options.path is None:
        print("\n".join(f"{name + ':':17}{value}" for name, value in facts().items()))
    elif not options.path.is_dir():
        parser.exit(
            1, f"there is no {options.path}: this copy of the package is not an installed one\n"
        )
    else:
        print(options.path)


if __name__ == "__main__":
    main()
