"""What the array API standard adds to other families."""

import numpy as np

from cases.table import In, Row

FLOATS = ("float32", "float64")
A = In((3, 5))
B = In((3, 5))

ROWS = [
    Row("mx.copysign(a, b)", (A, B), dtypes=FLOATS, kind="flat"),
    Row("mx.hypot(a, b)", (A, B), dtypes=FLOATS),
    Row("mx.nextafter(a, b)", (A, B), dtypes=("float64",), kind="flat", ulps=0.5),
    Row(
        "mx.nextafter(a, b)",
        (A, B),
        "np.nextafter(a.astype(np.float32), b.astype(np.float32))",
        dtypes=("float32",),
        kind="flat",
        ulps=0.5,
    ),
    Row("mx.signbit(a)", (A,), dtypes=(*FLOATS, "float16", "int32", "uint8"), kind="flat"),
    *[
        Row(f"mx.sort(a, axis={x}, descending=True)", (A,), f"np.flip(np.sort(a, {x}), {x})",
            kind="kinked")
        for x in (0, -1)
    ],
    Row(
        "mx.argsort(a, descending=True)",
        (A,),
        "a.shape[-1] - 1 - np.flip(np.argsort(np.flip(a, -1), kind='stable'), -1)",
        kind="flat",
    ),
    Row("mx.cumulative_sum(a, axis=1, include_initial=True)", (A,)),
    Row("mx.cumulative_prod(a, axis=0, include_initial=True)", (A,)),
    Row("mx.sum(a, axis=0, dtype=mx.float32)", (A,), "np.sum(a, axis=0)", ("int32", "float32"),
        kind="flat"),
    Row("mx.var(a, axis=0, correction=1.0)", (A,), "np.var(a, axis=0, ddof=1)", FLOATS),
    Row("mx.clip(a, min=-1)", (A,), "np.clip(a, -1, None)", kind="kinked"),
    Row("mx.clip(a, max=1)", (A,), "np.clip(a, None, 1)", kind="kinked"),
    Row("mx.moveaxis(a, (0, 2), (1, 0))", (In((2, 3, 4)),)),
    Row(
        "mx.repeat(a, b, axis=1)",
        (In((2, 3)), np.array([2, 0, 3], np.int32)),
        traced=False,
    ),
]  # fmt: skip
