"""Looks up every function that the plugin takes from NVIDIA's libraries: `symbols.py FOLDER`.

The folder holds NVIDIA's Python packages. The libraries load without a driver. A function that is
not there, or a name whose library is not known here, fails the check.
"""

import ctypes
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "mlx" / "backend" / "cuda"
LIBRARIES = {  # by the start of their functions' names: libraries to load before, the library
    "nvrtc": ["libnvrtc-builtins.so", "libnvrtc.so"],
    "cublas": ["libcublasLt.so", "libcublas.so"],
    "cudnn": ["libcudnn.so"],
    "cufft": ["libcufft.so"],
    "cusolver": ["libcublasLt.so", "libcublas.so", "libcusparse.so", "libcusolver.so"],
    "nccl": ["libnccl.so"],
}


def names():
    """Functions that sources look up: find(table.member, "name"), or X(member, name, …)."""
    for source in sorted(SOURCES.glob("*.cpp")):
        text = source.read_text()
        yield from re.findall(r'\bfind\([\w.]+,\s*"([a-z]+[A-Z]\w*)"\)', text)
        yield from re.findall(r"\bX\(\w+,\s*(nccl[A-Z]\w*),", text)


def load(folder, starts):
    """The last of the libraries, the others before it."""
    library = None
    for start in starts:
        path = min(folder.glob(f"*/lib/{start}*"))
        library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    return library


def main():
    """Says what was found; fails where something was not."""
    folder = pathlib.Path(sys.argv[1]) / "nvidia"
    found, missing, loaded = 0, [], {}
    for name in names():
        prefix = re.match("[a-z]+", name)[0]
        if prefix not in loaded:
            loaded[prefix] = load(folder, LIBRARIES[prefix])
        if hasattr(loaded[prefix], name):
            found += 1
        else:
            missing.append(name)
    print(f"{found} functions of {', '.join(sorted(loaded))} are there")
    if missing or not found:
        sys.exit(f"not in NVIDIA's libraries: {missing}")


if __name__ == "__main__":
    main()
