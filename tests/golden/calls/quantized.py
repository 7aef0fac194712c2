"""Packed matrices of every mode: words, scales, products, derivatives and errors."""
# ruff: noqa: E501

from calls._make import expand, lines

MODES = ["mode='mxfp4'", "mode='mxfp8'", "mode='nvfp4'"]
KEYS = [f"group_size={g}, bits={b}" for g in (32, 64, 128) for b in (1, 2, 3, 4, 5, 6, 8)]

CALLS = [
    *expand("mx.quantize(x({d}, 3, 128), {k})", d="f32 f16 bf16", k=[*KEYS, *MODES]),
    *expand(
        "mx.quantize(x({d}, 2, 64) * {c}, {k})", d="f32 bf16", c="0 1e-3 1e4", k=["bits=4", *MODES]
    ),
    *expand(
        "mx.quantize(mx.full((2, 64), {c}), {k})",
        c="0.0 1.0 -3.0 1e-9",
        k=["bits=4", "bits=1", *MODES],
    ),
    *expand(
        "mx.quantize(x(f32, {s}), {k})",
        s=["64", "2, 40", "0, 64", "2, 0", "2, 3, 64"],
        k=["bits=4", *MODES],
    ),
    *expand("mx.quantize(x({d}, 2, 64), {k})", d="i32 c64 b8", k=["bits=4", *MODES]),
    *expand(
        "mx.quantize(x(f32, 2, 64), {g}, {b}, '{m}')",
        g="None 16 32 64",
        b="None 4 7 8",
        m="affine mxfp4 mxfp8 nvfp4 other",
    ),
    *expand(
        "mx.quantize(x(f32, 2, 64), mode='{m}', global_scale={g})",
        m="affine mxfp4 nvfp4",
        g=["A(2.0)", "A([3000.0])", "A([1.0, 2.0])"],
    ),
    *expand(
        "mx.dequantize(*mx.quantize(x({d}, 3, 128), {k}), {k})", d="f32 f16 bf16", k=[*KEYS, *MODES]
    ),
    *expand(
        "mx.dequantize(*mx.quantize(x(f32, 3, 128), {k}), {k}, dtype={d})",
        d="f32 f16 i32",
        k=["bits=4", *MODES],
    ),
    *expand(
        "mx.dequantize(*mx.quantize(x(f32, 2, 64), mode='nvfp4', global_scale=A({g})), mode='nvfp4', global_scale=A({g}))",
        g="1.0 700.0 3000.0",
    ),
    *expand(
        "mx.quantized_matmul(x({d}, {m}, 128), *mx.quantize(x({d}, 16, 128, s=1), {k}), {k})",
        d="f32",
        m="1 3 20",
        k=[*KEYS, *MODES],
    ),
    *expand(
        "mx.quantized_matmul(x({d}, 3, 16), *mx.quantize(x({d}, 16, 128, s=1), {k}), transpose=False, {k})",
        d="f32",
        k=[*KEYS, *MODES],
    ),
    *expand(
        "mx.quantized_matmul(x({d}, {s}), *mx.quantize(x(f32, 16, 64)))",
        d="f32 i32 f16 c64",
        s=["64", "2, 64", "2, 3, 64", "2, 32"],
    ),
    *expand(
        "mx.quantized_matmul(x(f32, {s}), *mx.quantize(x(f32, 5, 16, 64)))",
        s=["5, 2, 64", "2, 1, 3, 64", "4, 2, 64"],
    ),
    *expand(
        "w, s, b = mx.quantize(x(f32, 16, 128)); mx.{t}(lambda x, s, b: mx.quantized_matmul(x, w, s, b), [x(f32, 2, 3, 128), s, b], [{g}])[1]",
        t="vjp",
        g=["x(f32, 2, 3, 16)"],
    ),
    *expand(
        "w, s, b = mx.quantize(x(f32, 5, 16, 128)); mx.gather_qmm(x(f32, {x}), w, s, b{k})",
        x=["3, 1, 128", "3, 128", "128", "5, 2, 128"],
        k=[
            "",
            ", rhs_indices=A([0, 2, 4])",
            ", lhs_indices=A([0, 0]), rhs_indices=A([1, 3])",
            ", rhs_indices=A([0.0, 1.0, 2.0])",
            ", rhs_indices=A([[0, 1, 4], [2, 3, 4]]), sorted_indices=True",
        ],
    ),
    *expand(
        "mx.gather_qmm(x(f32, 3, 1, 64), *mx.quantize(x(f32, 5, 16, 64), {k}), rhs_indices=A([4, 0, 1]), {k})",
        k=MODES,
    ),
    *expand("mx.qqmm(x(f32, 64), *mx.quantize(x(f32, 16, 64), {k}), {k})", k=MODES),
    *lines("""
        w, s, b = mx.quantize(x(f32, 5, 16, 128)); mx.vjp(lambda x, s, b: mx.gather_qmm(x, w, s, b, rhs_indices=A([0, 4, 4])), [x(f32, 3, 1, 128), s, b], [x(f32, 3, 1, 16)])[1]
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.vjp(lambda s, b: mx.dequantize(w, s, b), [s, b], [x(f32, 16, 128)])[1]
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.jvp(lambda s, b: mx.dequantize(w, s, b), [s, b], [s, b])[1]
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.jvp(lambda x: mx.quantized_matmul(x, w, s, b), [x(f32, 3, 128)], [x(f32, 3, 128, s=1)])[1]
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.dequantize(w, s)
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.dequantize(w, s, b, 32)
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.dequantize(w, s, b, bits=8)
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.dequantize(w, s.astype(f16), b)
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.dequantize(w.astype(i32), s, b)
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.dequantize(w, s[:3], b[:3])
        w, s, b = mx.quantize(x(f32, 16, 128)); mx.quantized_matmul(x(f16, 3, 128), w, s.astype(bf16), b.astype(bf16))
        mx.vmap(mx.quantize)(x(f32, 4, 3, 64))
        mx.vmap(mx.dequantize)(*mx.quantize(x(f32, 4, 3, 64)))
        mx.vjp(lambda w: mx.quantize(w)[1:], [x(f32, 3, 64)], [x(f32, 3, 1), x(f32, 3, 1, s=1)])[1]
    """),
]
