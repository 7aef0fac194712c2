"""Record what the published wheel reads from files that are written here, into data/files.json.

    <any interpreter with mlx and numpy> tests/golden/files.py <one with the published wheel>

Run by hand, when what is written changes. The SHA-256 of a file stands there only if the wheel read
the arrays from it that were saved; a test compares what is written now.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

DATA = pathlib.Path(__file__).resolve().parent / "data" / "files.json"

DTYPES = [
    *("bool_", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64", "bfloat16", "complex64"),
]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (1000, 8), (2, 3, 4), (2, 0, 3), (1, 2, 1, 3)]
GGUF_DTYPES = ["int8", "int16", "int32", "float16", "float32", "bfloat16"]


def numbers(shape):
    """Small integers, which every dtype holds."""
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) % 100


def arrays(mx, dtypes, shapes):
    """An array for each dtype and shape, by name."""
    return {
        f"{dtype}{'x'.join(map(str, shape))}": mx.array(numbers(shape)).astype(getattr(mx, dtype))
        for dtype in dtypes
        for shape in shapes
    }


def write(mx, folder):
    """Writes a file for each format, and for each array one of .npy."""
    some = arrays(mx, DTYPES, SHAPES)
    for name, a in some.items():
        mx.save(str(folder / f"{name}.npy"), a)
    mx.savez(str(folder / "all.npz"), **some)
    mx.save_safetensors(str(folder / "all.safetensors"), some, {"format": "mlx", "note": "ä"})
    mx.save_gguf(str(folder / "all.gguf"), arrays(mx, GGUF_DTYPES, [(7,), (3, 4), (2, 3, 4)]))


def digests(folder):
    """SHA-256 by file; an archive has the time in it, so its members count."""
    import zipfile

    out = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as z:
                content = b"".join(n.encode() + z.read(n) for n in sorted(z.namelist()))
        else:
            content = path.read_bytes()
        out[path.name] = hashlib.sha256(content).hexdigest()
    return out


def wrong_in(mx, folder):
    """Arrays that `mx` does not read as they were saved, by name."""

    def same(a, name, shape):
        dtype = next(d for d in sorted(DTYPES, key=len, reverse=True) if name.startswith(d))
        want = mx.array(numbers(shape)).astype(getattr(mx, dtype))
        return a.shape == tuple(shape) and a.dtype == want.dtype and mx.array_equal(a, want).item()

    shape_of = {f"{d}{'x'.join(map(str, s))}": s for d in DTYPES for s in SHAPES}
    out = []
    for path in sorted(folder.iterdir()):
        try:
            loaded = mx.load(str(path))
            if path.suffix == ".npy":
                loaded = {path.stem: loaded}
            out += [f"{path.name}: {n}" for n, a in loaded.items() if not same(a, n, shape_of[n])]
        except Exception as e:
            out.append(f"{path.name}: {type(e).__name__}: {e}")
    return out


def main():
    import mlx.core as mx

    if sys.argv[1] == "--read":
        print(json.dumps(wrong_in(mx, pathlib.Path(sys.argv[2]))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(mx, folder)
        answer = subprocess.run(
            [sys.argv[1], __file__, "--read", name], capture_output=True, text=True, check=True
        )
        wrong = json.loads(answer.stdout)
        print("\n".join(wrong) or "The wheel reads all of it.")
        misread = {w.split(":")[0] for w in wrong}
        found = {file: sha for file, sha in digests(folder).items() if file not in misread}
    DATA.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
