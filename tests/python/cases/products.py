"""Matrix products, convolutions, transforms, normalisation and attention."""
# ruff: noqa: E501

import numpy as np

from cases.table import FLOATS, In, Row

U = (-1, 1)
SDPA = "(lambda s: (lambda w: w / w.sum(-1, keepdims=True))(np.exp(s - s.max(-1, keepdims=True))) @ c)(0.5 * a @ np.swapaxes(b, -1, -2){m})"
RMS = "a / np.sqrt(np.mean(a * a, -1, keepdims=True) + 1e-5)"
LAYER = "(a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)"
MASK = np.tril(np.ones((5, 6), bool), 1)


def product(expr, shapes, ref="", **more):
    """A row of products: relative to the largest output, in all floating dtypes."""
    ins = tuple(In(s, *U) if isinstance(s, tuple) else s for s in shapes)
    return Row(expr, ins, ref, **{"ulps": 32, "exact": False, "dtypes": FLOATS, **more})


COMPLEX = (*FLOATS, "complex64", "complex128")


def correlate(dims, strides, pads, dilation=1):
    """Reference of a channels-last convolution: shifted slices of the padded input."""
    names = "ijk"[:dims]
    loops = " ".join(f"for {n} in range(b.shape[{d + 1}])" for d, n in enumerate(names))
    cuts = ", ".join(
        f"{n} * {dilation}:{n} * {dilation} + ((p.shape[{d + 1}] - (b.shape[{d + 1}] - 1) * {dilation} - 1) // {strides} + 1) * {strides}:{strides}"
        for d, n in enumerate(names)
    )
    pad = f"np.pad(a, [(0, 0)] + [({pads}, {pads})] * {dims} + [(0, 0)])"
    return f"(lambda p: sum(np.pad(p, [(0, 0)] + [(0, {strides})] * {dims} + [(0, 0)])[:, {cuts}] @ np.moveaxis(b[:, {', '.join(names)}], 0, 1) {loops}))({pad})"


ROWS = [
    *[
        product("mx.matmul(a, b)", s, dtypes=(*FLOATS, "complex64"))
        for s in [
            ((3, 4), (4, 5)),
            ((4,), (4,)),
            ((4,), (4, 5)),
            ((3, 4), (4,)),
            ((2, 3, 4), (4, 5)),
            ((2, 1, 3, 4), (3, 4, 2)),
            ((1, 1), (1, 1)),
            ((0, 4), (4, 2)),
            ((3, 0), (0, 2)),
        ]
    ],
    *[
        product("mx.matmul(a, b)", s, ulps=200)
        for s in [
            ((17, 33), (33, 65)),
            ((1, 300), (300, 40)),
            ((40, 300), (300, 1)),
            ((2, 7, 64), (2, 64, 9)),
            ((130, 70), (70, 130)),
        ]
    ],
    product("mx.matmul(a, b.T)", ((3, 4), (5, 4)), "a @ b.T"),
    product("mx.matmul(a.T, b)", ((4, 3), (4, 5)), "a.T @ b"),
    product(
        "mx.addmm(c, a, b, alpha=0.5, beta=2.0)", ((3, 4), (4, 5), (5,)), "0.5 * (a @ b) + 2 * c"
    ),
    product("mx.inner(a, b)", ((3, 4), (5, 4))),
    product("mx.outer(a, b)", ((3,), (4,))),
    product("mx.tensordot(a, b, 2)", ((2, 3, 4), (3, 4, 5))),
    product("mx.tensordot(a, b, [[0, 2], [1, 0]])", ((2, 3, 4), (4, 2, 5))),
    product("mx.vecdot(a, b)", ((3, 4), (3, 4)), "np.sum(a * b, -1)"),
    *[
        product(f"mx.einsum('{e}', a, b)", ((2, 3, 4), (2, 4, 5)))
        for e in ("bij,bjk->bik", "bij,bjk->k", "bij,bjk->jbki", "bij,cjk->bcik")
    ],
    product("mx.einsum('ii->i', a)", ((4, 4),)),
    product("mx.einsum('ij,jk,kl->il', a, b, c)", ((2, 3), (3, 4), (4, 2))),
    product(
        "mx.gather_mm(a, b, rhs_indices=c)",
        ((3, 2, 4), (5, 4, 3), np.array([4, 1, 0], "uint32")),
        "np.matmul(a, b[c])",
        batched=False,
    ),
    # convolutions
    *[
        product(
            f"mx.conv1d(a, b, stride={s}, padding={p}, dilation={d})",
            ((2, 9, 3), (4, 3, 3)),
            correlate(1, s, p, d),
            dtypes=COMPLEX,
        )
        for s, p, d in [(1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 0, 1)]
    ],
    *[
        product(
            f"mx.conv2d(a, b, stride={s}, padding={p}, dilation={d})",
            ((2, 7, 8, 3), (4, 3, 2, 3)),
            correlate(2, s, p, d),
            dtypes=COMPLEX,
        )
        for s, p, d in [(1, 0, 1), (2, 1, 1), (1, 2, 2)]
    ],
    product(
        "mx.conv3d(a, b, stride=1, padding=1)",
        ((1, 4, 5, 3, 2), (3, 2, 3, 2, 2)),
        correlate(3, 1, 1),
        dtypes=COMPLEX,
    ),
    # with as many features as products by a library need
    *[
        product(
            f"mx.conv1d(a, b, stride={s}, padding={p}, dilation={d})",
            ((2, 40, c), (16, k, c)),
            correlate(1, s, p, d),
        )
        for c, k, s, p, d in [(16, 1, 1, 0, 1), (16, 3, 2, 1, 1), (6, 4, 1, 2, 2)]
    ],
    product(
        "mx.conv2d(a, b, stride=2, padding=1)",
        ((2, 9, 8, 3), (16, 3, 2, 3)),
        correlate(2, 2, 1),
    ),
    product(
        "mx.conv2d(a, b, groups=2)",
        ((2, 5, 6, 4), (6, 3, 3, 2)),
        f"np.concatenate([(lambda a, b: {correlate(2, 1, 0)})(a[..., 2 * g:2 * g + 2], b[3 * g:3 * g + 3]) for g in range(2)], -1)",
        dtypes=COMPLEX,
    ),
    *[
        product(f"mx.convolve(a, b, mode='{m}')", ((9,), (4,)), dtypes=COMPLEX)
        for m in ("full", "same", "valid")
    ],
    product(
        "[mx.real(mx.conv1d(a + b * 1j, c)), mx.imag(mx.conv1d(c, b - a * 1j))]",
        ((2, 4, 3), (2, 4, 3), (2, 4, 3)),
        "[np.sum(a[:, None] * c, (2, 3))[:, None], np.sum(c[:, None] * -a, (2, 3))[:, None]]",
        dtypes=("float32",),
    ),
    # normalisation, attention
    *[Row("mx.fast.rms_norm(a, None, 1e-5)", (In((3, n)),), RMS, ulps=16) for n in (8, 33)],
    Row("mx.fast.rms_norm(a, b, 1e-5)", (In((3, 16)), In((16,))), f"{RMS} * b", ulps=16),
    *[
        Row("mx.fast.layer_norm(a, None, None, 1e-5)", (In((3, n)),), LAYER, ulps=32)
        for n in (8, 33)
    ],
    Row(
        "mx.fast.layer_norm(a, b, c, 1e-5)",
        (In((3, 16)), In((16,)), In((16,))),
        f"{LAYER} * b + c",
        ulps=32,
    ),
    *[
        product(
            f"mx.fast.scaled_dot_product_attention(a, b, c, scale=0.5{k})",
            ((2, 2, 5, 8), (2, 2, 6, 8), (2, 2, 6, 8)),
            SDPA.replace("{m}", m),
            ulps=64,
            batched=False,
            grad_dtype="float64",
        )
        for k, m in [
            ("", ""),
            (", mask='causal'", " + np.where(np.tril(np.ones((5, 6)), 1), 0, -1e30)"),
        ]
    ],
]
