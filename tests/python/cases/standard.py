"""Rows that the array API standard adds to other families."""

import numpy as np

from cases.table import In, Row

FLOATS = ("float32", "float64")
A = In((3, 5))
B = In((3, 5))
M = In((2, 4, 3), -1, 1)
ODD = np.array(
    [
        complex(1, np.inf),
        complex(-2, -np.inf),
        complex(0, np.nan),
        complex(4, np.inf),
        complex(5, -np.inf),
        complex(-6, 3),
    ],
    np.complex64,
)
# The complex array with the real parts a and imaginary parts b, in their precision.
T = "(mx.complex128 if a.dtype == mx.float64 else mx.complex64)"
Z = f"(a + b * mx.array(1j, {T}))"
NZ = "(a + 1j * b)"

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
    Row("mx.var(a, axis=0, correction=0.5)", (A,), "np.var(a, axis=0) * 3 / 2.5", FLOATS),
    Row("mx.std(a, correction=1.5)", (A,), "np.std(a) * np.sqrt(15 / 13.5)", FLOATS),
    Row(f"mx.abs({Z})", (A, B), f"np.abs({NZ})", FLOATS, special=False),
    Row(f"(lambda r: [mx.real(r), mx.imag(r)])(mx.sign({Z}))", (A, B),
        f"(lambda r: [np.real(r), np.imag(r)])({NZ} / np.abs({NZ}))", FLOATS, special=False),
    Row("mx.nan_to_num(a, nan=1.5, posinf=1e30)", (A,), "a", (*FLOATS, "complex64", "complex128"),
        special=False),
    Row("(lambda z: [mx.real(z), mx.imag(z)])(mx.nan_to_num(a, nan=2, posinf=np.inf, neginf=-1))",
        (ODD,), "[np.real(a), np.array([np.inf, -1, 2, np.inf, -1, 3])]", ("complex64",),
        kind="flat", special=False),
    Row(f"mx.view(mx.view(a * 2, {T}) * (2 + 1j), a.dtype)", (In((3, 4)),),
        "((a[:, ::2] + 1j * a[:, 1::2]) * (4 + 2j)).astype(np.complex128).view(np.float64)",
        FLOATS, special=False),
    Row("mx.linalg.vector_norm(a, axis=(0, 2), ord=3)", (M,),
        "np.sum(np.abs(a) ** 3, axis=(0, 2)) ** (1 / 3)", FLOATS, ulps=8),
    Row("mx.linalg.vector_norm(a, keepdims=True)", (M,),
        "np.sqrt(np.sum(a * a, keepdims=True))", FLOATS),
    Row("mx.linalg.matrix_norm(a, ord='fro')", (M,), "np.linalg.matrix_norm(a)", FLOATS),
    Row("mx.linalg.trace(a, offset=1)", (M,), "np.trace(a, 1, -2, -1)", FLOATS),
    Row("mx.linalg.diagonal(a, offset=-1)", (M,), "np.diagonal(a, -1, -2, -1)", FLOATS),
    Row("mx.linalg.pinv(a, rtol=0.01)", (M,), "np.linalg.pinv(a)", FLOATS, ulps=400, exact=False,
        special=False),
    Row("mx.linalg.pinv(a, rtol=mx.array([0.9, 0.0], a.dtype))", (M,),
        "np.linalg.pinv(a, rcond=np.array([0.9, 0.0]))", FLOATS, ulps=400, exact=False,
        batched=False, special=False),
    Row("mx.linalg.svd(a, full_matrices=False)[1]", (M,),
        "np.linalg.svd(a, compute_uv=False)", FLOATS, ulps=64, exact=False,
        special=False),
    Row("(lambda q, r: [q @ r, mx.swapaxes(q, -1, -2) @ q])(*mx.linalg.qr(a, mode='complete'))",
        (M,), "[a, np.broadcast_to(np.eye(4), (2, 4, 4))]", FLOATS, ulps=64, exact=False,
        special=False),
    Row("mx.linspace(0, 1 + 2j, 5) * a", (A,), "np.linspace(0, 1 + 2j, 5) * a", ("complex64",)),
    Row("mx.moveaxis(a, (0, 2), (1, 0))", (In((2, 3, 4)),)),
    Row(
        "mx.repeat(a, b, axis=1)",
        (In((2, 3)), np.array([2, 0, 3], np.int32)),
        traced=False,
    ),
]  # fmt: skip
