"""Rearranging, joining and indexing: results are elements of the inputs, so they are exact."""

import numpy as np

from cases.table import In, Row

A = In((3, 4, 5))
B = In((3, 4, 5))
M = In((4, 6))
EVERY = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "int32",
    "uint64",
    "bool_",
    "complex64",
)
I1, I2 = np.array([2, 0, -1], "int32"), np.array([[1, 3], [0, -2]], "int32")
ALONG = np.array([[[3, 0, 1, 2, 0]]] * 3, "int32")


def row(expr, ins=(A,), ref="", **more):
    """A row whose values are exact and whose derivative is linear."""
    return Row(expr, ins, ref, **{"dtypes": EVERY, "ulps": 0.5, "norm": False, **more})


ROWS = [
    *[
        row(f"mx.{e}")
        for e in [
            "reshape(a, (5, 12))",
            "reshape(a, (-1,))",
            "transpose(a)",
            "transpose(a, (1, 2, 0))",
            "swapaxes(a, 0, 2)",
            "moveaxis(a, 0, -1)",
            "expand_dims(a, 1)",
            "expand_dims(a, (0, -1))",
            "broadcast_to(a, (2, 3, 4, 5))",
            "flip(a, axis=1)",
            "flip(a, axis=(0, 2))",
            "squeeze(a[None], 0)",
            "repeat(a, 2, axis=1)",
            "tile(a, (2, 1, 3))",
            "roll(a, 2, 1)",
            "roll(a, -7)",
            "roll(a, (1, 2), (0, 2))",
            "tril(a)",
            "triu(a, 1)",
        ]
    ],
    row("mx.flatten(a)", ref="a.reshape(-1)"),
    row("mx.flatten(a, 1)", ref="a.reshape(3, 20)"),
    row("mx.unflatten(a, 1, (2, -1))", ref="a.reshape(3, 2, 2, 5)"),
    row("mx.contiguous(a.T)", ref="a.T"),
    row("mx.as_strided(a, (3, 4), (20, 5), 1)", ref="a[:, :, 1]", batched=False),
    row(
        "mx.as_strided(a, (4, 3), (1, 1))",
        ref="np.lib.stride_tricks.sliding_window_view(a.reshape(-1), 3)[:4]",
        batched=False,
    ),
    *[
        row(
            f"mx.as_strided(a, {shape}, {strides}, {offset})",
            ref=f"np.lib.stride_tricks.as_strided(a.reshape(-1)[{offset}:], {shape},"
            f" [n * a.itemsize for n in {strides}])",
            batched=False,
        )
        # windows on one axis, on two, along rows that they leave, repeated, none
        for shape, strides, offset in (
            ((2, 3, 2, 2), (20, 5, 5, 2), 6),
            ((3, 2, 2, 2, 2), (20, 10, 2, 5, 1), 0),
            ((4, 3, 3), (5, 2, 1), 3),
            ((3, 2, 4), (20, 0, 5), 2),
            ((2, 0, 3), (20, 5, 1), 0),
        )
    ],
    *[
        row(f"a[{i}]")
        for i in [
            "1",
            "-1",
            "1:",
            ":, ::2",
            "::-1",
            "..., ::-2",
            ":, 3:0:-2, 1:4",
            "None, 1",
            "..., None, 0",
            "0, 1, 2",
            "2:1",
            "::2, -1, ::-1",
        ]
    ],
    *[
        row(e, (A, I1), e.replace("b", "b.astype(int)"), batched=False)
        for e in [
            "a[b]",
            "a[:, b]",
            "a[..., b]",
            "a[b, b]",
            "a[b, :, b]",
            "a[1, b]",
            "a[b, 1:, None]",
        ]
    ],
    *[row(e, (A, I2), e, batched=False) for e in ["a[:, b]", "a[:, b, 1]", "a[0, b]"]],
    row("mx.take(a, b)", (A, I2), "np.take(a, b)", batched=False),
    *[row(f"mx.take(a, b, axis={x})", (A, I1), batched=False) for x in (0, 1, 2, -1)],
    row("mx.take_along_axis(a, b, axis=1)", (A, ALONG), batched=False),
    row(
        "mx.put_along_axis(a, b, c, axis=1)",
        (A, ALONG[:, :1], In((3, 1, 5))),
        "(lambda o: (np.put_along_axis(o, b, c, 1), o)[1])(a.copy())",
        batched=False,
    ),
    *[
        row(
            f"a.at[{i}].add(b)",
            (A, In(s)),
            f"(lambda o: (o.__setitem__(np.s_[{i}], o[{i}] + b), o)[1])(a.copy())",
            dtypes=("float32", "float64", "int32"),
            ulps=4,
            norm=True,
        )
        for i, s in [("0", (4, 5)), ("1:", (5,)), (":, ::-2", (2, 5)), ("1, 2", ())]
    ],
    row(
        "a.at[b].add(c)",
        (A, np.array([0, 0, 2], "int32"), In((3, 4, 5))),
        "(lambda o: (np.add.at(o, b, c), o)[1])(a.copy())",
        dtypes=("float32", "float64", "int32"),
        ulps=4,
        norm=True,
        batched=False,
    ),
    row(
        "a.at[b].multiply(c)",
        (A, np.array([0, 2], "int32"), In((2, 4, 5))),
        "(lambda o: (np.multiply.at(o, b, c), o)[1])(a.copy())",
        dtypes=("float32", "float64", "int32"),
        ulps=4,
        norm=True,
        batched=False,
    ),
    row(
        "a.at[b].maximum(c)",
        (A, np.array([0, 2], "int32"), In((2, 4, 5))),
        "(lambda o: (np.maximum.at(o, b, c), o)[1])(a.copy())",
        dtypes=("float32", "float64", "int32"),
        kind="kinked",
        batched=False,
    ),
    row(
        "mx.slice(a, b, (0, 2), (2, 4, 3))",
        (A, np.array([1, 2], "int32")),
        "a[1:3, :, 2:5]",
        batched=False,
    ),
    row(
        "mx.slice_update(a, c, b, (0, 2))",
        (A, np.array([1, 2], "int32"), In((2, 4, 3))),
        "(lambda o: (o.__setitem__(np.s_[1:3, :, 2:5], c), o)[1])(a.copy())",
        batched=False,
    ),
    # joining and splitting
    *[row(f"mx.concatenate([a, b], axis={x})", (A, B)) for x in (0, 1, -1)],
    row("mx.concatenate([a, b, a[:, 1:]], axis=1)", (A, B)),
    *[row(f"mx.stack([a, b], axis={x})", (A, B)) for x in (0, 1, -1)],
    *[
        row(e, (M,))
        for e in ["mx.split(a, 2)", "mx.split(a, 3, axis=1)", "mx.split(a, (1, 4), axis=1)"]
    ],
    row("mx.unstack(a, axis=1)", (M,), "np.unstack(a, axis=1)"),
    row("mx.pad(a, ((1, 2), (0, 1)))", (M,)),
    row("mx.pad(a, 1, constant_values=2)", (M,)),
    *[
        row(f"mx.pad(a, ((1, 2), (0, 1)), mode='{m}')", (M,))
        for m in ("edge", "reflect", "symmetric")
    ],
    *[row(f"mx.diag(a, {k})", (In((4,)),)) for k in (0, 1, -2)],
    *[row(f"mx.diag(a, {k})", (M,)) for k in (0, 1, -2)],
    *[row(f"mx.diagonal(a, {k})", (A,)) for k in ("0", "1", "-1, 2, 0")],
    row("mx.trace(a, 1, 0, 2)", dtypes=("float32", "float64", "int32"), ulps=8, norm=True),
    row("mx.trace(a, -(2**31))", ref="np.trace(a, -99)", dtypes=("float32", "int32"), kind="flat"),
    row("mx.meshgrid(a, b)", (In((3,)), In((4,)))),
    row("mx.meshgrid(a, b, indexing='ij')", (In((3,)), In((4,)))),
    row("mx.broadcast_arrays(a, b)", (In((3, 1)), In((4,)))),
    row("mx.where(a > 0, a, b)", (A, B), dtypes=("float32", "float64", "int32"), kind="kinked"),
    row("mx.clip(a, -1, 1)", dtypes=("float32", "float64", "float16", "int32"), kind="kinked"),
    *[
        row(
            f"a.astype({d})",
            ref=f"a.astype('{n}')",
            dtypes=("float32", "int32", "bool_", "float64"),
            kind="flat",
            special=False,
        )
        for d, n in [("f64", "float64"), ("i32", "int64"), ("b8", "bool")]
    ],
    row(
        "mx.kron(a, b)",
        (In((2, 3)), In((2, 2))),
        ulps=4,
        norm=True,
        dtypes=("float32", "float64", "int32"),
    ),
]
