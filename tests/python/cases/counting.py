"""Counting, distinct values, and what a condition selects."""

import numpy as np

from cases.table import In, Row

INTS = ("int32", "int8", "uint8", "int64")
VALUES = (*INTS, "float32", "float16", "bool_")
SIZES = ("int8", "float16", "float32", "float64", "complex64", "complex128")  # of each width
A = In((7, 5), 0, 6)
N = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], np.int32)
FLAT = {"kind": "flat", "batched": False}
LATE = {**FLAT, "traced": False}

ROWS = [
    *[Row(f"mx.{e}", (A,), dtypes=VALUES, **LATE) for e in ("unique(a)", "flatnonzero(a)")],
    Row("mx.argwhere(a)", (A,), dtypes=VALUES, **LATE),
    *[
        Row(
            f"mx.unique_{f}(a)",
            (A,),
            f"(lambda v, i, r, c: ({parts}))"
            "(*np.unique(a, return_index=True, return_inverse=True, return_counts=True))",
            dtypes=VALUES,
            **LATE,
        )
        for f, parts in (
            ("all", "v, i, r.reshape(a.shape), c"),
            ("counts", "v, c"),
            ("inverse", "v, r.reshape(a.shape)"),
            ("values", "v,"),
        )
    ],
    *[
        Row(f"mx.isin(a, b{k})", (A, In((4,), 0, 6)), dtypes=VALUES, kind="flat", batched=False)
        for k in ("", ", invert=True")
    ],
    *[
        Row(f"mx.bincount(a{k})", (In((20,), 0, 9),), f"np.bincount(a{k})", INTS, **LATE)
        for k in ("", ", minlength=12")
    ],
    Row("mx.bincount(a, length=10)", (In((20,), 0, 9),), "np.bincount(a, None, 10)", INTS, **FLAT),
    Row(
        "mx.bincount(b, a)",
        (In((10,)), N),
        "np.bincount(b, a)",
        ("float32", "float64"),
        traced=False,
    ),
    *[
        Row(
            f"mx.bincount(a, length={n})",
            (In((5000,), 0, 99),),
            f"np.bincount(a, None, {n})",
            INTS,
            **FLAT,
        )
        for n in (100, 3000, 70000)
    ],
    Row(
        "mx.bincount(b, a, length=10)",
        (In((5000,)), np.arange(5000) % 7),
        "np.bincount(b, a, 10)",
        ("float32", "float64"),
    ),
    *[
        Row(
            f"mx.histogram(a, {k})[0]",
            (In((3, 1500)),),
            f"np.histogram(a, {k})[0]",
            ("float32", "float64"),
            **FLAT,
        )
        for k in (
            "10, range=(-3, 3)",
            "50, range=(-2, 1)",
            "[-2, -1, 0, 0.5, 3]",
            "np.linspace(-2, 2, 99)",
        )
    ],
    Row(
        "mx.histogram(b, mx.array([0.5, 2, 3, 3, 9]), weights=a)[0]",
        (In((10,)), N),
        "np.histogram(b, [0.5, 2, 3, 3, 9], weights=a)[0]",
        ("float32", "float64"),
    ),
    *[
        Row(f"mx.histogram(a, {k})[0]", (In((50,)),), f"np.histogram(a, {k})[0]", **FLAT)
        for k in ("[-2, -1, 0, 0.5, 3]", "4, range=(-2, 2)")
    ],
    Row("mx.histogram(a, 8)[1]", (In((50,)),), dtypes=("float32", "float64"), kind="flat"),
    Row("mx.histogram(b, 4, weights=a)[0]", (In((10,)), N), dtypes=("float32", "float64")),
    Row(
        "mx.histogram(b, 4, weights=a, density=True)[0]",
        (In((10,), 1, 3), N),
        dtypes=("float32", "float64"),
    ),
    *[
        Row(f"mx.compress(b, a{k})", (In((3, 4)), np.array([True, False, True])), traced=False)
        for k in ("", ", axis=0", ", axis=-1")
    ],
    Row(
        "mx.extract(b, a)",
        (In((2, 3)), np.array([[True, False, True], [False, True, True]])),
        traced=False,
    ),
    *[Row(f"mx.{e}(a)", (In((90, 500), 0, 2),), **LATE) for e in ("flatnonzero", "argwhere")],
    *[
        Row("a[b]", (In((n,)), np.arange(n) * 7919 % 16 < k), dtypes=SIZES, traced=False)
        for n in (9, 40_000)
        for k in (0, 7, 16)
    ],
    *[
        Row("a[b]", (In((2000, *rest)), np.arange(2000) % 5 < 2), dtypes=SIZES, traced=False)
        for rest in ((2,), (3,), (4, 2))
    ],
    *[
        Row(f"mx.diff(a, {k})", (In((3, 6)),))
        for k in ("1", "2, 0", "1, prepend=1", "2, append=0.5", "1, 0, prepend=2, append=3")
    ],
    Row(
        "mx.searchsorted(a, b, sorter=mx.argsort(a))",
        (In((9,), -9, 9), In((4, 5), -9, 9)),
        "np.searchsorted(np.sort(a), b)",
        ("float32", "int32"),
        **FLAT,
    ),
]
