"""Products: matmul, addmm, inner, outer, tensordot, vecdot, einsum and their shapes."""
# ruff: noqa: E501

from calls._make import ALL, FLOATS, expand, lines

SHAPES = [
    "3",
    "3, 4",
    "4, 3",
    "4",
    "2, 3, 4",
    "2, 4, 3",
    "5, 1, 4, 3",
    "1, 4, 2",
    "0, 4",
    "4, 0",
    "3, 3",
    "1, 1",
]

CALLS = [
    *expand("mx.matmul(x(f32, {a}), x(f32, {b}, s=1))", a=SHAPES, b=SHAPES),
    *expand("mx.matmul({a}, {b})", a=["A(1.0)", "x(f32, 2)"], b=["A(1.0)", "x(f32, 2, 2)", "2"]),
    *expand("x(f32, {a}) @ x(f32, {b}, s=1)", a=["3, 4", "4"], b=["4", "4, 2"]),
    *expand("mx.matmul(x({d}, 2, 3), x({e}, 3, 2))", d=ALL, e="b8 i32 f16 bf16 f32 c64"),
    *expand(
        "mx.matmul({a}, {b})",
        a=["x(f32, 4, 3).T", "x(f32, 6, 8)[::2, ::-2]", "mx.broadcast_to(x(f32, 4), (3, 4))"],
        b=["x(f32, 5, 4).T", "x(f32, 4, 6)[:, ::-2]", "mx.broadcast_to(x(f32, 4, 1), (4, 5))"],
    ),
    *expand(
        "mx.addmm({c}, x({d}, 2, 3), x({d}, 3, 4){k})",
        c=["x(f32, 2, 4)", "x(f32, 4)", "A(1.0)", "x(f32, 2, 1)", "x(i32, 4)"],
        d=FLOATS,
        k=["", ", 2.0", ", alpha=0.5, beta=2.0", ", beta=0.0"],
    ),
    *expand(
        "mx.addmm(x(f32, {c}), x(f32, {a}), x(f32, {b}))",
        c=["3", "2, 2", "5, 2, 2", "2, 3"],
        a=["2, 3", "5, 2, 3", "3"],
        b=["3, 2", "3", "5, 3, 2"],
    ),
    *expand("mx.addmm(x(c64, 2, 2), x(c64, 2, 3), x(c64, 3, 2), 2.0, 3.0)"),
    *expand(
        "mx.{f}(x({d}, {a}), x({d}, {b}, s=1))",
        f="inner outer",
        d="f32 i32 f16 c64 b8",
        a=["3", "2, 3", "2, 2, 3", "1"],
        b=["3", "4, 3", "2"],
    ),
    *expand("mx.{f}(A(2.0), {b})", f="inner outer", b=["A(3.0)", "x(f32, 3)"]),
    *expand(
        "mx.tensordot(x(f32, 2, 3, 4), x(f32, {b}), {k})",
        b=["3, 4, 2", "4, 3", "2, 3, 4", "5"],
        k=[
            "0",
            "1",
            "2",
            "axes=2",
            "axes=[[1], [0]]",
            "[[1, 2], [0, 1]]",
            "[[2, 1], [0, 1]]",
            "3",
            "4",
            "-1",
            "[[0], [0, 1]]",
            "[[5], [0]]",
            "[[0, 0], [0, 1]]",
        ],
    ),
    *expand("mx.tensordot(x({d}, 2, 3), x({d}, 3, 2), 1)", d="i32 f16 c64"),
    *expand(
        "mx.vecdot(x({d}, 3, 4), x({d}, {b}, s=2){k})",
        d="f32 c64 i32",
        b=["3, 4", "4", "3"],
        k=["", ", axis=0", ", axis=-2", ", axis=2"],
    ),
    *expand(
        "mx.einsum('{e}', x(f32, 2, 3), x(f32, 3, 4))",
        e=[
            "ij,jk->ik",
            "ij,jk",
            "ij,jk->ki",
            "ij,jk->",
            "ij,kl->il",
            "ab,bc->abc",
            "ij,jk->iz",
            "ij,ij->i",
            "ij,jk,kl->il",
            "i j , j k -> i k",
            "...j,jk->...k",
            "ij",
            "",
            "iJ,Jk->ik",
            "ij->ji,",
        ],
    ),
    *expand(
        "mx.einsum('{e}', x(f32, 3, 3))",
        e=["ii->i", "ii", "ii->", "ij->ji", "ij->j", "ij->", "ji", "...->...", "i...->..."],
    ),
    *expand(
        "mx.einsum('{e}', x({d}, 2, 3, 4), x({d}, 2, 4, 5))",
        d="f32 f16 i32 c64",
        e=["bij,bjk->bik", "bij,bjk->bk", "bij,bjk->ijk"],
    ),
    *expand("mx.einsum('a,ab,abc->c', x(f32, 2), x(f32, 2, 3), x(f32, 2, 3, 4))"),
    *expand(
        "mx.einsum_path('{e}', x(f32, 2, 3), x(f32, 3, 4), x(f32, 4, 5))[0]",
        e=["ij,jk,kl->il", "ij,jk,kl->"],
    ),
    *lines("""
        mx.matmul(x(f32, 2, 3), x(f32, 3))
        mx.matmul(x(f32, 2, 3), 2.0)
        mx.matmul(x(f32, 2, 3), np.ones((3, 2)))
        x(f32, 2, 3) @ 2
        2 @ x(f32, 2, 3)
        x(f32, 2, 3) @ np.ones((3, 2), np.float32)
        mx.matmul(x(i32, 2, 2), x(i32, 2, 2))
        mx.matmul(x(f32, 2, 1000), x(f32, 1000, 2))
        mx.matmul(x(f16, 2, 300), x(f16, 300, 2))
        mx.matmul(x(bf16, 2, 300), x(bf16, 300, 2))
        mx.matmul(A([[inf, 0.0]]), A([[0.0], [1.0]]))
        a = x(f32, 2, 2); a @= x(f32, 2, 2, s=3); a
        mx.block_masked_mm(x(f32, 32, 32), x(f32, 32, 32), 32)
        mx.block_masked_mm(x(f32, 64, 64), x(f32, 64, 64), 32, mask_out=A([[True, False], [False, True]]))[::9, ::9]
        mx.gather_mm(x(f32, 3, 2, 4), x(f32, 5, 4, 3), A([0, 2]), A([4, 1]))
        mx.gather_mm(x(f32, 3, 2, 4), x(f32, 5, 4, 3), rhs_indices=A([4, 1, 0]))
        mx.segmented_mm(x(f32, 3, 8), x(f32, 8, 2), A([[0, 3], [3, 8]], u32))
    """),
]
