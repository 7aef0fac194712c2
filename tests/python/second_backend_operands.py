"""Operands of each dtype, and the list of elementwise ops, for comparisons with the CPU."""

import pathlib
import re

import numpy as np

import mlx.core as mx

INTEGERS = [f"{sign}int{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
DTYPES = [getattr(mx, name) for name in ["bool_", *INTEGERS, *FLOATS]]


def operand(rng, dtype, shape):
    """Numbers of all sizes, and special ones."""
    n = int(np.prod(shape))
    if dtype == mx.bool_:
        return mx.array(rng.random(n) < 0.5).reshape(shape)
    if mx.issubdtype(dtype, mx.integer):
        size, signed = dtype.size, mx.issubdtype(dtype, mx.signedinteger)
        info = np.iinfo(f"{'i' if signed else 'u'}{size}")
        x = rng.integers(info.min, info.max, n, f"{'i' if signed else 'u'}{size}", endpoint=True)
        x[::3] = x[::3] % 17
        x[:4] = [0, 1, info.min, info.max][:n]
        return mx.array(x).reshape(shape)

    def reals():
        x = rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7, n)
        x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5][:n]
        return rng.permutation(x)

    if mx.issubdtype(dtype, mx.complexfloating):
        with np.errstate(all="ignore"):
            return mx.array(reals() + 1j * reals()).astype(dtype, stream=mx.cpu).reshape(shape)
    with np.errstate(all="ignore"):
        return mx.array(reals()).astype(dtype, stream=mx.cpu).reshape(shape)


def rows():
    """Name and arity of every elementwise op."""
    table = pathlib.Path(__file__).parents[2] / "mlx" / "ops" / "elementwise.def"
    return re.findall(r"^E\((\w+), (\d),", table.read_text(), re.M)


def has_fma():
    return mx.device_info(mx.cpu)["architecture"] in ("avx2", "avx512", "neon")
