"""Sorting, selecting, searching."""

from cases.table import FLOATS, REAL, In, Row, grid

A = In((3, 7, 5), -90, 90)
B = In((8, 10), -3, 3)

ROWS = [
    *[Row(e, (A,), dtypes=REAL, kind="kinked") for e in grid("mx.sort(a, axis={x})", x=[0, 1, -1])],
    *[
        Row(
            f"mx.argsort(a, axis={x})",
            (A,),
            f"np.argsort(a, axis={x}, kind='stable')",
            dtypes=REAL,
            kind="flat",
        )
        for x in (0, 1, -1)
    ],
    *[
        Row(f"mx.sort(a, axis={x})", (In((2, n), -90, 90),), kind="kinked")
        for n in (1, 2, 16, 17, 100, 1000)
        for x in (0, 1)
    ],
    *[
        Row(
            "mx.argsort(a, axis=-1)",
            (In((2, n), -90, 90),),
            "np.argsort(a, axis=-1, kind='stable')",
            dtypes=("float32", "int32", "int8"),
            kind="flat",
        )
        for n in (1, 2, 16, 100, 1000)
    ],
    Row("mx.sort(a, axis=None)", (A,), kind="kinked"),
    *[
        Row(
            f"mx.sort(mx.partition(a, {k}, axis={x})[:2], axis={x})",
            (A,),
            f"np.sort(a[:2], axis={x})",
            kind="kinked",
        )
        for k in (1, 3)
        for x in (1,)
    ],
    *[
        Row(
            f"mx.partition(a, {k}, axis=1)[:, {k}]",
            (A,),
            f"np.sort(a, axis=1)[:, {k}]",
            dtypes=REAL,
            kind="kinked",
        )
        for k in (0, 3, 6)
    ],
    *[
        Row(
            f"mx.take_along_axis(a, mx.argpartition(a, {k}, axis=1), 1)[:, {k}]",
            (A,),
            f"np.sort(a, axis=1)[:, {k}]",
            dtypes=REAL,
            kind="kinked",
        )
        for k in (0, 3, 6)
    ],
    *[
        Row(
            f"mx.sort(mx.topk(a, {k}, axis=1), axis=1)",
            (A,),
            f"np.sort(a, axis=1)[:, -{k}:]",
            dtypes=REAL,
            kind="kinked",
        )
        for k in (1, 3, 7)
    ],
    *[
        Row(
            f"mx.searchsorted(mx.sort(a), b, side='{s}')",
            (In((9,), -9, 9), In((4, 5), -9, 9)),
            f"np.searchsorted(np.sort(a), b, side='{s}')",
            dtypes=("float32", "int32"),
            kind="flat",
            batched=False,
        )
        for s in ("left", "right")
    ],
    Row("mx.unique(a, 5)", (B,), "np.unique(a)[:5]", dtypes=(*FLOATS, "int32"), kind="kinked"),
    *[
        Row(
            f"mx.unique(a, {size}, return_{part}=True)[1]",
            (B,),
            f"np.unique(a, return_{part}=True)[1]{cut}",
            dtypes=("float32", "int32", "int8"),
            kind="flat",
            special=False,
        )
        for part, size, cut in (("index", 5, "[:5]"), ("inverse", 80, ""), ("counts", 5, "[:5]"))
    ],
]
