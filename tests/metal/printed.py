"""Programs, and the texts of kernels that Metal gets for them: `printed.py [--record]`.

Prints what differs from the texts in the folder printed, or writes them there. The planner makes
each program of a formula; the device is the emulated one. check.py compiles the texts by clang.
"""

import difflib
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import numpy as np  # noqa: E402
import second_backend  # noqa: E402
from test_devices_agree import DTYPES, values  # noqa: E402

import mlx.core as mx  # noqa: E402

FOLDER = HERE / "printed"
BEFORE = "using namespace mlx::core::mlx_device;\n"  # a kernel in its source
OF_METAL = [t for t in DTYPES if t not in (mx.float64, mx.complex128)]
X, Y = values(mx.float32, (96, 80)), values(mx.float32, (80, 96), seed=1)
ROW, COLUMN = X[:1], X[:, :1]
SMALL = mx.array(np.float32([[1.5]]))
BYTES = values(mx.int8, (2**16,))
LONG = values(mx.float32, (300, 1000))
KEY = mx.random.key(5)


def pairs(dtypes):
    """A path through the dtypes with a cast from each one to each other one."""
    left = {t: [u for u in dtypes if u != t] for t in dtypes}
    path, done = [dtypes[0]], []
    while path:
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            done.append(path.pop())
    return done[::-1]


def casts():
    """Casts between all pairs of dtypes, one after the other."""
    path = pairs(OF_METAL)
    a = values(path[0], (40,))
    for dtype in path[1:]:
        a = a.astype(dtype)
    return a


def chosen():
    """Comparisons, logical ops and choices."""
    a, b = X.astype(mx.int32), Y.T.astype(mx.int32)
    both = mx.logical_and(X > Y.T, mx.logical_not(mx.isnan(X)))
    return mx.where(mx.logical_or(both, a == b), mx.maximum(a, b), a - b)


# The text that a kernel includes, and the formula.
PROGRAMS = {
    "chain": ("program", lambda: mx.tanh(X) * mx.sin(X) + mx.exp(-X)),
    "broadcast": ("program", lambda: mx.abs(X + ROW * COLUMN)),
    "layouts": ("program", lambda: X[::2, ::3] * Y.T[::2, 1::3] - X[::-2, ::3]),
    "across": ("program", lambda: X * Y.T + COLUMN),
    "scalars": ("program", lambda: mx.square(X.astype(mx.float16) * 3 + 0.5) / SMALL),
    "wide": ("program", lambda: mx.abs(BYTES[::2] - BYTES[:, None])),
    "casts": ("program", casts),
    "chosen": ("program", chosen),
    "random": ("program", lambda: mx.random.uniform(shape=(999,), key=KEY) * mx.arange(999.0)),
    "reduction": ("reduce_vectors", lambda: mx.sum(mx.square(LONG - LONG[0]) * 0.5, axis=0)),
    "rows": ("row_unit", lambda: LONG * mx.rsqrt(mx.mean(LONG * LONG, -1, True) + 1e-5) * LONG[0]),
}


def text_of(name, folder):
    """The kernels of a program, each behind a line with the text that it includes."""
    family, formula = PROGRAMS[name]
    for file in folder.iterdir():
        file.unlink()
    if name == "wide":  # whose result would take minutes
        os.environ["MLX_EMULATION_ORDER"] = "none"
    try:
        mx.eval(formula())
    except RuntimeError as e:
        assert "MLX_EMULATION_ORDER=none" in str(e), e
    finally:
        os.environ.pop("MLX_EMULATION_ORDER", None)
    sources = sorted(f.read_text() for f in folder.iterdir())  # threads may compile them at once
    assert sources, name
    return "".join(f"// {family}.cuh\n{source.rsplit(BEFORE, 1)[1]}" for source in sources)


def texts():
    """The text of each program by its name."""
    mx.eval(X, Y, ROW, COLUMN, SMALL, BYTES, LONG, KEY)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MLX_EMULATION_SOURCES"] = folder
        try:
            return {name: text_of(name, Path(folder)) for name in PROGRAMS}
        finally:
            del os.environ["MLX_EMULATION_SOURCES"]


def compare():
    """Prints how the texts differ from those of the folder."""
    for name, text in texts().items():
        file = FOLDER / f"{name}.metal"
        before = file.read_text().splitlines() if file.exists() else []
        for line in difflib.unified_diff(before, text.splitlines(), file.name, "now", lineterm=""):
            print(line)


def record():
    """Writes the texts to the folder."""
    for name, text in texts().items():
        (FOLDER / f"{name}.metal").write_text(text)


if __name__ == "__main__":
    second_backend.use("metal")
    record() if "--record" in sys.argv[1:] else compare()
