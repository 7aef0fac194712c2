"""Rows of a case list, and the inputs, layouts and references made from it.

A row is an expression over arrays ``a, b, c`` in which ``mx`` is mlx.core; its reference is the
same expression with NumPy, unless another is given.  Adding a row to ROWS is all it takes to
have an op tested: values, derivatives, batching, layouts and compilation.
"""

import dataclasses
import functools
import re
import zlib

import ml_dtypes
import numpy as np
import outcome
import scipy

import mlx.core as mx

EPS = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "complex64": 2.0**-23,
    "complex128": 2.0**-52,
}
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL = (*FLOATS, *INTS, "bool_")
NUMERIC = (*REAL, "complex64", "complex128")


@dataclasses.dataclass(frozen=True)
class In:
    """One input: pseudo-random values in [lo, hi] in the dtype under test or its own."""

    shape: tuple
    lo: float = -3.0
    hi: float = 3.0
    dtype: str | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One op with its parameters; see the module's docstring."""

    expr: str
    ins: tuple
    ref: str = ""
    dtypes: tuple = FLOATS
    ulps: float = 4.0  # bound of the error; 0.5 means correctly rounded
    double_ulps: float | None = None  # the bound in float64, where it is another one
    norm: bool = True  # the bound is relative to the largest output, not to each
    kind: str = "smooth"  # smooth: twice differentiable; kinked: once; flat: not at all
    grad_dtype: str = "float64"
    exact: bool = True  # other layouts give the same bits
    batched: bool = True  # vmap makes sense
    traced: bool = True  # compile can: shapes of results do not depend on values
    special: bool = True  # NaN, infinities and subnormals have one right result

    @property
    def name(self):
        """A readable name that is unique in its family."""
        shapes = ",".join(str(getattr(i, "shape", "given")) for i in self.ins)
        return f"{self.expr} on {shapes}".replace(" ", "")

    @functools.cached_property
    def call(self):
        """The function of the arrays a, b, c that the row describes."""
        names = {
            "mx": mx,
            "np": np,
            **{short: getattr(mx, n) for short, n in outcome.DTYPES.items()},
        }
        return eval(f"lambda {', '.join('abcdef'[: len(self.ins)])}: {self.expr}", names)

    def results(self, *given):
        """The results of `call`, as the tuple that an exported function returns."""
        out = self.call(*given)
        return tuple(out) if isinstance(out, (list, tuple)) else (out,)

    @functools.cached_property
    def reference(self):
        """The NumPy function of the same arrays."""
        source = self.ref or self.expr.replace("mx.", "np.")
        names = {"np": np, "scipy": scipy, "logsumexp": scipy.special.logsumexp}
        return eval(f"lambda {', '.join('abcdef'[: len(self.ins)])}: {source}", names)

    def host_inputs(self, dtype, seed=0):
        """NumPy inputs that are exact in `dtype` (a name in mlx.core)."""
        return [host_input(i, dtype, f"{self.name}{n}{seed}") for n, i in enumerate(self.ins)]

    def differentiable(self):
        """Positions of the inputs with a derivative."""
        return [n for n, i in enumerate(self.ins) if isinstance(i, In) and i.dtype is None]


def numpy_dtype(name):
    """The NumPy dtype of a dtype's name in mlx.core."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name.rstrip("_"))


def host_input(spec, dtype, salt):
    """Values for one input, rounded to its dtype; fixed arrays are taken as they are."""
    if isinstance(spec, np.ndarray):
        return spec
    dtype = spec.dtype or dtype
    rng = np.random.RandomState(zlib.crc32(salt.encode()))
    if dtype == "bool_":
        return rng.randint(0, 2, spec.shape).astype(bool)
    if dtype in INTS:
        low = int(np.ceil(max(spec.lo, 0) if dtype[0] == "u" else spec.lo))
        return np.asarray(rng.randint(low, max(int(spec.hi), low) + 1, spec.shape)).astype(dtype)
    values = rng.uniform(spec.lo, spec.hi, spec.shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(spec.lo, spec.hi, spec.shape)
    return np.asarray(values).astype(numpy_dtype(dtype))


def device_array(values):
    """An mlx array with the values and dtype of a NumPy array."""
    if values.dtype == np.dtype(ml_dtypes.bfloat16):
        return mx.array(values.astype(np.float32), mx.bfloat16)
    return mx.array(
        values, getattr(mx, {"bool": "bool_"}.get(values.dtype.name, values.dtype.name))
    )


def wide(values):
    """NumPy values in the widest dtype of their kind, in which references are computed."""
    kind = values.dtype.kind if values.dtype != np.dtype(ml_dtypes.bfloat16) else "f"
    return values.astype(
        {"f": np.float64, "c": np.complex128, "i": np.int64, "u": np.int64, "b": bool}[kind]
    )


def host(result):
    """Results as a flat list of NumPy arrays, bfloat16 widened to float32."""
    if isinstance(result, mx.array):
        return [np.array(result.astype(mx.float32) if result.dtype == mx.bfloat16 else result)]
    return [array for item in result for array in host(item)]


def dtype_name(array):
    """The name of an array's dtype in mlx.core."""
    return str(array.dtype).rsplit(".", 1)[-1]


def leaves(result):
    """The arrays of a result as a flat list."""
    return [a for r in result for a in leaves(r)] if isinstance(result, (list, tuple)) else [result]


def layouts(values):
    """(name, NumPy values, builder of an mlx array with these values in an odd layout)."""
    yield "offset", values, lambda: _offset(values)
    if values.ndim == 0:
        return
    yield "step", values, lambda: device_array(np.repeat(values, 2, -1))[..., ::2]
    yield "reversed", values, lambda: device_array(values[::-1, ...].copy())[::-1]
    yield (
        "reversed-step",
        values,
        lambda: device_array(np.repeat(values[..., ::-1], 3, -1))[..., ::-3],
    )
    first = np.broadcast_to(values[:1], values.shape).copy()
    yield "broadcast", first, lambda: mx.broadcast_to(device_array(first[:1]), first.shape)
    if values.ndim > 1:
        yield "transposed", values, lambda: device_array(values.T.copy()).T
        last = np.broadcast_to(values[..., :1], values.shape).copy()
        yield (
            "broadcast-last",
            last,
            lambda: mx.broadcast_to(device_array(last[..., :1]), last.shape),
        )


def _offset(values):
    flat = np.concatenate([np.zeros(3, values.dtype), values.reshape(-1)])
    return mx.reshape(device_array(flat)[3:], values.shape)


def error_of(row, got, want, dtype):
    """None where a result is as near to the reference as the row promises, else a description."""
    if got.shape != np.shape(want):
        return f"shape {got.shape}, reference {np.shape(want)}"
    want = np.asarray(want)
    if got.dtype.kind in "biu":
        with np.errstate(invalid="ignore"):
            cast = (
                want.astype(np.int64).astype(got.dtype)
                if got.dtype.kind != "b"
                else want.astype(bool)
            )
        return (
            None
            if np.array_equal(got, cast)
            else f"{got.ravel()[:6]}, reference {cast.ravel()[:6]}"
        )
    finite = np.isfinite(want)
    unequal = (got != want) & ~(np.isnan(got) & np.isnan(want)) & ~finite
    if got.dtype.kind == "f" and (overflow := finite & (np.abs(want) > 0.99 * limit(dtype))).any():
        finite &= ~overflow
    if unequal.any():
        return f"{got[unequal][:4]}, reference {want[unequal][:4]}"
    if not finite.any():
        return None
    got, want = got[finite].astype(want.dtype), want[finite]
    eps = EPS.get(dtype if dtype in EPS else "float32")
    if row.ulps == 0.5:
        rounded = want.astype(numpy_dtype(dtype if dtype in EPS else "float32")).astype(want.dtype)
        bound = np.zeros(want.shape) if not dtype.startswith("complex") else 4 * eps * np.abs(want)
        distance = np.abs(got - rounded)
    else:
        scale = np.max(np.abs(want)) if row.norm else np.abs(want)
        ulps = row.ulps if dtype not in ("float16", "bfloat16") else max(1.0, row.ulps / 4)
        if dtype == "float64" and row.double_ulps is not None:
            ulps = row.double_ulps
        bound = ulps * eps * scale + smallest(dtype)
        distance = np.abs(got - want)
    worst = np.argmax(distance - bound)
    if distance.ravel()[worst] <= np.broadcast_to(bound, distance.shape).ravel()[worst]:
        return None
    units = distance.ravel()[worst] / (eps * max(np.abs(want.ravel()[worst]), 1e-300))
    return f"{got.ravel()[worst]!r}, reference {want.ravel()[worst]!r}: {units:.1f} units off"


def limit(dtype):
    """The largest finite number of a floating dtype."""
    return {"float16": 65504.0, "float64": 1.7e308, "complex128": 1.7e308}.get(dtype, 3.38e38)


def smallest(dtype):
    """Absolute error granted to results near zero: a unit or a few of the subnormal range."""
    return {"float16": 6e-8, "float64": 2e-323, "complex128": 2e-323}.get(dtype, 1.2e-38)


def grid(template, **choices):
    """Every filling of the {names} in a template string."""
    lines = [template]
    for name, values in choices.items():
        values = values.split() if isinstance(values, str) else values
        lines = [re.sub(r"\{" + name + r"\}", str(v), line) for line in lines for v in values]
    return lines
