"""Reductions, softmax, cumulative functions and their axes."""

from cases.table import FLOATS, NUMERIC, REAL, In, Row, grid

A = In((3, 4, 5))
POSITIVE = In((3, 4, 5), 0.5, 1.5)
AXES = [
    "",
    ", axis=0",
    ", axis=1",
    ", axis=-1",
    ", axis=(0, 2)",
    ", axis=(1, 2), keepdims=True",
    ", axis=0, keepdims=True",
]
ONE_AXIS = [", axis=0", ", axis=1", ", axis=-1"]
SOFTMAX = "scipy.special.softmax(a, axis={x})"


def scan(name, flags=""):
    """Reference of a cumulative function along axis {x}, from NumPy's."""
    core = {
        "cumsum": "np.cumsum",
        "cumprod": "np.cumprod",
        "cummax": "np.maximum.accumulate",
        "cummin": "np.minimum.accumulate",
        "logcumsumexp": "np.logaddexp.accumulate",
    }[name]
    return (
        f"np.flip({core}(np.flip(a, {{x}}), axis={{x}}), {{x}})"
        if flags
        else f"{core}(a, axis={{x}})"
    )


SHORT = ("bool_", "int8", "uint8", "int16", "uint16", "float16")
ROWS = [
    *[  # short rows, more than a register of them and some left over
        Row(f"mx.{f}(a, axis=-1)", (In((150, n), -2, 1),), dtypes=SHORT, kind="flat", batched=False)
        for f in ("max", "min", "any", "all")
        for n in (2, 3, 4, 5, 16, 40, 300)
    ],
    *[Row(e, (A,), dtypes=NUMERIC, ulps=8) for e in grid("mx.{f}(a{x})", f="sum mean", x=AXES)],
    *[Row(e, (A,), dtypes=REAL, kind="kinked") for e in grid("mx.{f}(a{x})", f="max min", x=AXES)],
    *[Row(e, (POSITIVE,), dtypes=NUMERIC, ulps=64) for e in grid("mx.prod(a{x})", x=AXES)],
    *[
        Row(e, (A,), ulps=16)
        for e in grid("mx.{f}(a{x}{k})", f="var std", x=AXES, k=["", ", ddof=1"])
    ],
    *[
        Row(e, (A,), e.replace("mx.logsumexp", "logsumexp"), ulps=8)
        for e in grid("mx.logsumexp(a{x})", x=AXES)
    ],
    *[Row(e, (A,), dtypes=NUMERIC, kind="flat") for e in grid("mx.{f}(a{x})", f="any all", x=AXES)],
    *[
        Row(e, (A,), dtypes=REAL, kind="flat")
        for e in grid(
            "mx.{f}(a{x})", f="argmax argmin", x=["", *ONE_AXIS, ", axis=1, keepdims=True"]
        )
    ],
    *[Row(e, (A,), dtypes=REAL, kind="flat") for e in grid("mx.count_nonzero(a{x})", x=AXES)],
    *[Row(e, (A,), kind="kinked") for e in grid("mx.median(a{x})", x=AXES[:4])],
    *[
        Row(
            f"mx.softmax(a, axis={x})",
            (In((3, 4, 5), -6, 6),),
            SOFTMAX.replace("{x}", str(x)),
            ulps=16,
        )
        for x in [0, 1, -1, (0, 2), (0, 1, 2)]
    ],
    *[
        Row(
            f"mx.softmax(a, axis={x}, precise=True)",
            (In((3, 70), -6, 6),),
            SOFTMAX.replace("{x}", str(x)),
            ulps=16,
        )
        for x in [0, -1]
    ],
    *[
        Row(
            f"mx.{f}(a, axis={x}{k})",
            (POSITIVE,),
            scan(f, k).replace("{x}", str(x)),
            ulps=32,
            dtypes={"cumsum": NUMERIC, "cumprod": NUMERIC, "logcumsumexp": FLOATS}.get(f, REAL),
            kind="smooth" if f not in ("cummax", "cummin") else "kinked",
        )
        for f in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")
        for x in (0, 1, -1)
        for k in ("", ", reverse=True")
    ],
    *[
        Row(f"mx.{f}(a)", (POSITIVE,), f"np.{f}(a.reshape(-1))", NUMERIC, ulps=128)
        for f in ("cumsum", "cumprod")
    ],
    *[
        Row(
            f"mx.cumsum(a, axis={x}, inclusive=False)",
            (POSITIVE,),
            f"np.cumsum(a, axis={x}) - a",
            ulps=64,
            special=False,
        )
        for x in (0, 1, 2)
    ],
    *[Row(e, (A,), ulps=4) for e in grid("mx.diff(a, n={n}, axis={x})", n=[1, 2], x=[0, 1, -1])],
    # sizes around the widths of vectors and blocks, and long ones
    *[
        Row("mx.sum(a, axis=-1)", (In((3, n)),), ulps=64)
        for n in (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1000, 5000)
    ],
    *[Row("mx.sum(a, axis=0)", (In((n, 17)),), ulps=64) for n in (1, 2, 9, 33, 300)],
    *[
        Row(f"mx.{f}(a, axis=-1)", (In((2, n)),), kind="kinked" if f == "max" else "flat")
        for f in ("max", "argmax")
        for n in (1, 15, 16, 17, 33, 100, 1000)
    ],
    *[
        Row("mx.softmax(a, axis=-1)", (In((2, n), -6, 6),), SOFTMAX.replace("{x}", "-1"), ulps=32)
        for n in (1, 2, 15, 16, 17, 33, 100, 1000)
    ],
    # scalars and empties
    *[Row(f"mx.{f}(a)", (In(()),), ulps=4) for f in ("sum", "prod", "mean", "max", "min", "var")],
    *[
        Row(f"mx.{f}(a{x})", (In((0, 3)),), dtypes=FLOATS, kind="flat")
        for f in ("sum", "prod", "any", "all")
        for x in ("", ", axis=0", ", axis=1")
    ],
    *[Row(f"mx.{f}(a, axis=1)", (In((0, 3)),), kind="flat") for f in ("max", "min", "mean", "var")],
    *[Row(f"mx.cumsum(a, axis={x})", (In((0, 3)),), kind="flat") for x in (0, 1)],
]
