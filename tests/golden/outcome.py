"""Running one golden call, and what came of it: values, or an exception and the stage it came from.

A call is Python source: statements separated by ``;`` of which the last is an expression.  It
sees ``mx``, ``np``, ``math``, short dtype names (``f32``, ``bf16`` ...) and the input makers below.
The recorder and the tests share this file, so both sides see the very same inputs.
"""

import ast
import math
import os
import tempfile
import warnings

import numpy as np

import mlx.core as mx

DTYPES = {
    "b8": "bool_",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
}


def short_name(dtype):
    """The short name of a dtype: 'f32' for mx.float32."""
    return next((s for s, n in DTYPES.items() if getattr(mx, n) == dtype), str(dtype))


def host_values(kind, shape, lo, hi, seed):
    """Pseudo-random NumPy values that are exact in every dtype of the family (multiples of 1/8)."""
    rng = np.random.RandomState(seed + 7 * len(shape) + sum(shape))
    if kind == "b8":
        return rng.randint(0, 2, shape).astype(bool)
    if kind[0] in "iu":
        return rng.randint(max(lo, 0) if kind[0] == "u" else lo, hi + 1, shape).astype("int64")
    grid = rng.randint(int(lo * 8), int(hi * 8) + 1, shape) / 8.0
    if kind == "c64":
        return (grid + 1j * rng.randint(int(lo * 8), int(hi * 8) + 1, shape) / 8.0).astype(
            "complex64"
        )
    return grid


def x(dtype, *shape, lo=-4, hi=4, s=0):
    """An array of pseudo-random values in [lo, hi]; `s` chooses other values."""
    return mx.array(host_values(short_name(dtype), shape, lo, hi, s), dtype)


def special(dtype):
    """Zeros, infinities, NaN and neighbours: a vector of the values where functions misbehave."""
    kind = short_name(dtype)
    if kind == "b8":
        return mx.array([False, True])
    if kind[0] in "iu":
        info = np.iinfo(DTYPES[kind])
        return mx.array(np.array([0, 1, 2, info.max, info.min, info.max - 1], DTYPES[kind]), dtype)
    if kind == "c64":
        return mx.array(np.array([0, 1j, -1, 1 + 1j, -2.5 - 0.5j, 3 - 4j], "complex64"), dtype)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, math.inf, -math.inf, math.nan]
    return mx.array(values, dtype)


def tmp(name):
    """Path of a file in a directory that lasts as long as the process."""
    global _DIRECTORY
    _DIRECTORY = _DIRECTORY or tempfile.TemporaryDirectory()
    return os.path.join(_DIRECTORY.name, name)


_DIRECTORY = None


def namespace():
    """Names that a call may use."""
    names = {s: getattr(mx, n) for s, n in DTYPES.items()}
    names.update(mx=mx, np=np, math=math, x=x, special=special, K=mx.random.key)
    names.update(A=mx.array, inf=math.inf, nan=math.nan, tmp=tmp)
    return names


METHODS_OF_OTHERS = {"add", "divide", "maximum", "minimum", "multiply", "subtract"}


def functions_of(call):
    """Names of the public functions and array members that a call uses, in order of appearance."""
    names = []
    for node in ast.walk(ast.parse(call)):
        if not isinstance(node, ast.Attribute):
            continue
        path, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            path, root = [root.attr, *path], root.value
        if isinstance(root, ast.Name) and root.id in ("np", "math"):
            continue
        if isinstance(root, ast.Name) and root.id == "mx":
            names.append(".".join(path))
        elif node.attr not in METHODS_OF_OTHERS:
            names.append("array." + node.attr)
    # `mx.fft.fft` also walks its inner node `mx.fft`: keep the longest paths only
    return [n for n in dict.fromkeys(names) if not any(m.startswith(n + ".") for m in names)]


def is_missing(name):
    """Whether mlx.core lacks a function or array member."""
    target = mx
    for part in name.split("."):
        if not hasattr(target, part):
            return True
        target = getattr(target, part)
    return False


def run(call):
    """Execute a call: ("raise", exception, stage) or ("value", tree of results on the host)."""
    tree = ast.parse(call)
    names, stage = namespace(), "call"
    try:
        warnings.simplefilter("ignore")
        if len(tree.body) > 1:
            body = ast.Module(tree.body[:-1], type_ignores=[])
            exec(compile(body, "<call>", "exec"), names)
        result = eval(compile(ast.Expression(tree.body[-1].value), "<call>", "eval"), names)
        stage = "eval"
        mx.eval(list(_arrays(result)))
        return "value", to_host(result)
    except Exception as error:
        return "raise", error, stage


def _arrays(result):
    if isinstance(result, mx.array):
        yield result
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from _arrays(item)
    elif isinstance(result, dict):
        yield from _arrays(list(result.values()))


class HostArray:
    """An evaluated array on the host, with the name of the dtype it had."""

    def __init__(self, dtype, values):
        self.dtype, self.values = dtype, values

    def __repr__(self):
        text = " ".join(np.array2string(self.values, threshold=12, precision=7).split())
        return f"{self.dtype}{list(self.values.shape)} {text}"


def to_host(result):
    """A result with its arrays on the host; bfloat16 is widened to float32, which is exact."""
    if isinstance(result, mx.array):
        kind = short_name(result.dtype)
        values = np.array(result.astype(mx.float32) if kind == "bf16" else result)
        return HostArray(kind, values)
    if isinstance(result, (list, tuple)):
        return (list if isinstance(result, list) else tuple)(to_host(r) for r in result)
    if isinstance(result, dict):
        return {k: to_host(v) for k, v in result.items()}
    if isinstance(result, np.ndarray):
        return HostArray("np." + result.dtype.name, np.array(result))
    if result is None or isinstance(result, (bool, int, float, complex, str)):
        return result
    if isinstance(result, np.generic):
        return HostArray("np." + result.dtype.name, np.array(result))
    if isinstance(result, mx.Dtype):
        return "dtype " + short_name(result)
    return "object " + type(result).__name__


def pack(tree, blob):
    """The JSON form of a host tree; array bytes are appended to `blob`."""
    if isinstance(tree, HostArray):
        raw = np.ascontiguousarray(tree.values).tobytes()
        blob.append(raw)
        return {"a": tree.dtype, "s": list(tree.values.shape), "n": tree.values.dtype.str}
    if isinstance(tree, (list, tuple)):
        return {"l" if isinstance(tree, list) else "t": [pack(t, blob) for t in tree]}
    if isinstance(tree, dict):
        return {"d": {k: pack(v, blob) for k, v in tree.items()}}
    if isinstance(tree, float):
        return {"f": repr(tree)}
    if isinstance(tree, complex):
        return {"c": repr(tree)}
    return tree


def unpack(packed, reader):
    """The inverse of `pack`; `reader(nbytes)` gives the next bytes of the blob."""
    if not isinstance(packed, dict):
        return packed
    if "a" in packed:
        dtype = np.dtype(packed["n"])
        raw = reader(int(math.prod(packed["s"])) * dtype.itemsize)
        return HostArray(packed["a"], np.frombuffer(raw, dtype).reshape(packed["s"]))
    if "l" in packed:
        return [unpack(p, reader) for p in packed["l"]]
    if "t" in packed:
        return tuple(unpack(p, reader) for p in packed["t"])
    if "d" in packed:
        return {k: unpack(v, reader) for k, v in packed["d"].items()}
    return float(packed["f"]) if "f" in packed else complex(packed["c"])


# Relative and absolute tolerance of a recorded value, by dtype; other dtypes compare bit for bit.
TOLERANCE = {
    "f16": (2e-3, 1e-3),
    "bf16": (1.6e-2, 8e-3),
    "f32": (1e-5, 2e-6),
    "f64": (1e-9, 1e-12),
    "c64": (1e-5, 4e-6),
}


def difference(want, got):
    """None where `got` (a host tree) agrees with `want`, else (kind, message)."""
    if isinstance(want, HostArray):
        return _array_difference(want, got)
    if type(want) is not type(got):
        return "type", f"a {type(got).__name__}, recorded a {type(want).__name__}"
    if isinstance(want, (list, tuple)):
        if len(want) != len(got):
            return "shape", f"{len(got)} results, recorded {len(want)}"
        return next((d for d in map(difference, want, got) if d), None)
    if isinstance(want, dict):
        if list(want) != list(got):
            return "type", f"keys {list(got)}, recorded {list(want)}"
        return next((d for k in want if (d := difference(want[k], got[k]))), None)
    if isinstance(want, (float, complex)):
        same = want == got or np.allclose(got, want, 1e-5, 1e-7, equal_nan=True)
        return None if same else ("value", f"{got!r}, recorded {want!r}")
    return None if want == got else ("text", f"{got!r}, recorded {want!r}")


def distance(want, got):
    """How far `got` is from `want`, of which the numbers alone differ.

    The largest difference of two elements by the largest one recorded with it; infinite where one
    of the two is no finite number.
    """
    if isinstance(want, (list, tuple)):
        return max(map(distance, want, got), default=0.0)
    if isinstance(want, dict):
        return max((distance(want[k], got[k]) for k in want), default=0.0)
    if not isinstance(want, (HostArray, float, complex)):
        return 0.0
    a, b = (np.asarray(v.values if isinstance(v, HostArray) else v) for v in (want, got))
    a, b = (v.astype("complex128" if v.dtype.kind == "c" else "float64") for v in (a, b))
    far = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if not far.any():
        return 0.0
    if not (np.isfinite(a[far]).all() and np.isfinite(b[far]).all()):
        return math.inf
    scale = np.abs(a[np.isfinite(a)]).max()
    return float(np.abs(a - b)[far].max() / scale) if scale else math.inf


def _array_difference(want, got):
    if not isinstance(got, HostArray):
        return "type", f"{got!r} is no array"
    if want.dtype != got.dtype:
        return "dtype", f"{got.dtype}, recorded {want.dtype}"
    if want.values.shape != got.values.shape:
        return "shape", f"{got.values.shape}, recorded {want.values.shape}"
    rtol, atol = TOLERANCE.get(want.dtype.removeprefix("np."), (0, 0))
    if rtol:
        same = np.isclose(got.values, want.values, rtol, atol, equal_nan=True)
    else:
        same = np.equal(got.values, want.values)
    if same.all():
        return None
    places = np.argwhere(~same)
    shown = [f"{got.values[tuple(p)]!r} for {want.values[tuple(p)]!r} at {p}" for p in places[:3]]
    return "value", f"{len(places)} of {same.size} elements: {', '.join(shown)}"
