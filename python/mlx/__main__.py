"""Where C++ applications find this package.

python -m mlx --cmake-dir
"""

import argparse
import pathlib


def main() -> None:
    """Print what the options ask for."""
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(prog="python -m mlx", description="Where this package is.")
    parser.add_argument(
        "--cmake-dir",
        action="store_const",
        dest="path",
        const=here / "share" / "cmake" / "mlx",
        help="the directory that CMake's find_package(mlx) needs, as -Dmlx_DIR=",
    )
    parser.add_argument(
        "--include-dir",
        action="store_const",
        dest="path",
        const=here / "include",
        help="the directory of the C++ headers",
    )
    path = parser.parse_args().path
    if path is None:
        parser.error("one of --cmake-dir and --include-dir is needed")
    if not path.is_dir():
        parser.exit(1, f"there is no {path}: this copy of the package is not an installed one\n")
    print(path)


if __name__ == "__main__":
    main()
