"""Elementwise ops: the rows of mlx/ops/elementwise.def, each with its own reference and interval."""
# ruff: noqa: E501

import importlib.util
import pathlib

import numpy as np

from cases.table import FLOATS, INTS, In, Row

DEFINITIONS = pathlib.Path(__file__).resolve().parents[3] / "mlx/ops/elementwise.def"
# Correctly rounded operations; the bound of the others is 4 units in float32 unless listed.
ROUNDED = {
    "add",
    "subtract",
    "multiply",
    "divide",
    "sqrt",
    "square",
    "reciprocal",
    "negative",
    "abs",
}
ULPS = {"erfc": 8, "erfinv": 8, "arccosh": 8, "logaddexp": 8, "power": 16, "remainder": 8, "tan": 6}
# In float64 the error of digamma is up to 6 units of 1, and its values begin at 0.42.
DOUBLE_ULPS = {"digamma": 15}
# The C library's value at -inf, which SciPy's function does not give.
# SciPy's logarithm of gamma is infinite for subnormal numbers, and not infinite at minus infinity.
REFERENCES = {
    "lgamma": "np.where(np.isneginf(a), np.inf, np.where(np.abs(a) < 1e-290, -np.log(np.abs(a)), "
    "scipy.special.gammaln(a)))"
}
# NumPy has no complex reference for these, or another convention.
REAL_ONLY = {
    "ceil",
    "floor",
    "trunc",
    "rint",
    "logaddexp",
    "sign",
    "power",
    "abs",
    "maximum",
    "minimum",
    "isneginf",
    "isposinf",
}
SHAPES = [(2, 3, 4), (), (0,), (3, 0)]
# Public names of ops that the table calls otherwise, and of those with no Python function.
PUBLIC = {"rint": "round"}


def parse():
    """Every row of the table as a dictionary: the reader of the benchmarks, by its file, as this is
    also run where the package is another one."""
    path = DEFINITIONS.parents[2] / "python/mlx/bench/definitions.py"
    spec = importlib.util.spec_from_file_location("mlx_definitions", path)
    definitions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(definitions)
    return definitions.rows(DEFINITIONS)


def keeps_bool(entry):
    """Whether the reference takes bool and gives bool."""
    try:
        result = eval(entry["reference"], {"np": np}, dict.fromkeys("ab", np.ones(1, bool)))
    except TypeError:
        return False
    return result.dtype == bool


def dtypes_of(entry):
    """Dtypes that the op takes and its reference understands."""
    name, domain = entry["name"], entry["domain"]
    if domain == "integral":
        return (*INTS, "bool_") if keeps_bool(entry) else INTS
    chosen = (*FLOATS, *INTS)
    if domain == "boolean" or entry["result"] == "boolean":
        chosen += ("bool_",)
    if domain not in ("real", "floating") and name not in REAL_ONLY:
        chosen += ("complex64",)
    return chosen


def ulps_of(entry):
    """Bound of the error in units of the last place."""
    return 0.5 if entry["name"] in ROUNDED else ULPS.get(entry["name"], 4)


def rows_of(entry):
    """The cases of one op: ordinary shapes, scalars, empties, broadcasting operands."""
    arity, low, high = int(entry["arity"]), float(entry["low"]), float(entry["high"])
    expr = f"mx.{PUBLIC.get(entry['name'], entry['name'])}({', '.join('abc'[:arity])})"
    common = dict(
        ref=REFERENCES.get(entry["name"], entry["reference"]),
        dtypes=dtypes_of(entry),
        ulps=ulps_of(entry),
        double_ulps=DOUBLE_ULPS.get(entry["name"]),
        norm=False,
        kind=entry["kind"],
    )
    for shape in SHAPES:
        ins = [In(shape, low, high)] * arity
        if entry["name"] == "where":
            ins[0] = In(shape, low, high, "bool_")
        yield Row(expr, tuple(ins), **common)
    if arity > 1:
        shapes = [(2, 3, 1), (3, 4), (4,)][:arity]
        ins = [In(s, low, high) for s in shapes]
        if entry["name"] == "where":
            ins[0] = In(shapes[0], low, high, "bool_")
        yield Row(expr, tuple(ins), **common)


ENTRIES = parse()
ROWS = [row for entry in ENTRIES for row in rows_of(entry)]
