"""Rotary embeddings, attention, the delta rule, cross entropy and Hadamard transforms in depth."""
# ruff: noqa: E501

from calls._make import expand, lines

U = "lo=-1, hi=1"
DELTA = "x({d}, 2, 5, 2, 24, {u}) / 4, x({d}, 2, 5, 2, 24, s=1, {u}) / 4, x({d}, 2, 5, 4, 6), mx.sigmoid(x(f32, {g})), mx.sigmoid(x(f32, 2, 5, 4, s=2))".replace(
    "{u}", U
)
SDPA = f"mx.fast.scaled_dot_product_attention(x({{d}}, 2, 4, {{t}}, 8, {U}), x({{d}}, 2, 2, {{l}}, 8, {U}), x({{d}}, 2, 2, {{l}}, 12), scale=0.3{{k}})[:, ::3, ::9]"

MASKS = [
    "",
    ", mask='causal'",
    ", mask=x(b8, {t}, {l})",
    ", mask=x({d}, 2, 1, 1, {l})",
    ", mask=x({d}, 4, {t}, 1)",
    ", sinks=x({d}, 4)",
    ", mask='causal', sinks=x({d}, 4)",
]

CALLS = [
    *expand(
        "mx.fast.rope(x({d}, {s}), 8, traditional={t}, base=None, scale=0.5, offset={o}, freqs=mx.arange(1.0, 5.0))",
        d="f32 f16 bf16",
        s=["2, 3, 5, 8", "2, 5, 12", "2, 2, 3, 1, 10"],
        t="True False",
        o=["0", "-3", "A(7)", "A([1, 9])"],
    ),
    *lines("""
        mx.fast.rope(x(f32, 2, 3, 5, 8), 8, traditional=False, base=10000.0, scale=1.0, offset=A([1, 2, 3]))
        mx.fast.rope(x(f32, 2, 3, 5, 8), 8, traditional=False, base=10000.0, scale=1.0, offset=A([[1, 2]]))
        mx.fast.rope(x(f32, 2, 3, 5, 8), 8, traditional=False, base=10000.0, scale=1.0, offset=A(1.0))
        mx.fast.rope(x(f32, 2, 3, 5, 8), 8, traditional=False, base=10000.0, scale=1.0, offset=0, freqs=mx.ones(4))
        mx.fast.rope(x(f32, 2, 3, 5, 8), 8, traditional=False, base=None, scale=1.0, offset=0)
        mx.fast.rope(x(f32, 2, 3, 5, 8), 8, traditional=False, base=None, scale=1.0, offset=0, freqs=mx.ones(3))
        mx.fast.rope(x(f32, 5, 8), 8, traditional=False, base=10000.0, scale=1.0, offset=0)
        mx.fast.rope(x(f32, 0, 5, 8), 8, traditional=False, base=10000.0, scale=1.0, offset=0)
        mx.vmap(lambda a, o: mx.fast.rope(a, 8, traditional=False, base=10000.0, scale=1.0, offset=o))(x(f32, 2, 3, 2, 5, 8), A([3, 9]))
        mx.vjp(lambda a, f: mx.fast.rope(a, 8, traditional=True, base=None, scale=1.0, offset=3, freqs=f), [x(f32, 2, 5, 8), mx.arange(1.0, 5.0)], [x(f32, 2, 5, 8, s=1)])
        mx.jvp(lambda a: mx.fast.rope(a, 4, traditional=False, base=100.0, scale=1.0, offset=3), [x(f32, 2, 5, 8)], [x(f32, 2, 5, 8, s=1)])
    """),
    *[
        call
        for template in expand(SDPA, k=MASKS)
        for call in expand(template, d="f32 f16 bf16", t="1 5 70", l="6 300")
    ],
    *expand(
        SDPA,
        d="f32",
        t="3",
        l="2",
        k=[
            ", mask='causal'",
            ", mask=A(-inf)",
            ", mask=A(False)",
            ", mask=A(False), sinks=x(f32, 4)",
            ", mask=x(f16, 3, 2)",
            ", mask=x(i32, 3, 2)",
            ", mask=x(c64, 3, 2)",
            ", mask=x(f32, 4, 2)",
            ", mask=x(f32, 1, 1, 1, 1, 1)",
            ", mask='other'",
            ", sinks=x(f32, 2)",
            ", sinks=x(c64, 4)",
            ", force_fused=True",
        ],
    ),
    *expand(
        "mx.fast.scaled_dot_product_attention(x({d}, {q}), x({e}, {k}), x(f32, {v}), scale=1.0)",
        d="f32 f16 i32",
        e="f32 f16",
        q=["1, 2, 3, 4"],
        k=["1, 2, 5, 4"],
        v=["1, 2, 5, 4"],
    ),
    *expand(
        "mx.fast.scaled_dot_product_attention(x(f32, {q}), x(f32, {k}), x(f32, {v}), scale=1.0)",
        q=["1, 2, 3, 4", "1, 3, 3, 4", "2, 3, 4", "1, 2, 0, 4"],
        k=["1, 2, 5, 4", "2, 2, 5, 4", "1, 2, 5, 3", "1, 2, 0, 4"],
        v=["1, 2, 5, 4", "1, 1, 5, 4", "1, 2, 0, 4"],
    ),
    *lines("""
        mx.vjp(lambda q, k, v, m, s: mx.fast.scaled_dot_product_attention(q, k, v, scale=0.3, mask=m, sinks=s), [x(f32, 1, 4, 3, 8, lo=-1, hi=1), x(f32, 1, 2, 5, 8, lo=-1, hi=1), x(f32, 1, 2, 5, 6), x(f32, 3, 5), x(f32, 4)], [x(f32, 1, 4, 3, 6, s=3)])
        mx.jvp(lambda q: mx.fast.scaled_dot_product_attention(q, q, q, scale=0.3, mask='causal'), [x(f32, 1, 2, 5, 8, lo=-1, hi=1)], [x(f32, 1, 2, 5, 8, s=2)])
        mx.vmap(lambda q, m: mx.fast.scaled_dot_product_attention(q, q, q, scale=0.3, mask=m))(x(f32, 3, 1, 2, 5, 8, lo=-1, hi=1), x(f32, 3, 5, 5))
        mx.fast.cross_entropy(x(bf16, 2, 3, 5), A([[0, 4, 2], [1, 1, 3]]))
        mx.fast.cross_entropy(x(f32, 3, 5), A([0, 4, -1]))
        mx.fast.cross_entropy(x(f32, 3, 5), A([0, 4]))
        mx.fast.cross_entropy(x(f32, 3, 5), x(f32, 3))
        mx.fast.cross_entropy(x(i32, 3, 5), A([0, 4, 2]))
        mx.fast.cross_entropy(A(1.0), A(1))
        mx.fast.cross_entropy(x(f32, 5), A(1))
        mx.grad(lambda a: mx.fast.cross_entropy(a, A([0, 4, 2])).sum())(x(f32, 3, 5))
        mx.jvp(lambda a: mx.fast.cross_entropy(a, A([0, 4, 2])), [x(f32, 3, 5)], [x(f32, 3, 5, s=1)])
        mx.fast.cuda_kernel(name='a', input_names=['x'], output_names=['y'], source='')
        mx.fast.metal_kernel(name='a', input_names=['x'], output_names=['y'], source='')(inputs=[x(f32, 3)], output_shapes=[(3,)], output_dtypes=[f32], grid=(1, 1, 1), threadgroup=(1, 1, 1))
    """),
    *expand(
        f"mx.fast.gated_delta_update({DELTA}{{k}})",
        d="f32 f16",
        g=["2, 5, 4", "2, 5, 4, 24"],
        k=[
            "",
            ", x(f32, 2, 4, 6, 24)",
            ", x(f32, 2, 4, 6, 24), x(b8, 2, 5)",
            ", None, x(b8, 2, 5)",
            ", x(f32, 2, 4, 24, 6)",
        ],
    ),
    *expand(f"mx.fast.gated_delta_update({DELTA})", d="i32 bf16", g=["2, 5, 4", "2, 5, 3"]),
    *expand(
        "mx.hadamard_transform(x({d}, 2, {n}){k})",
        d="f32 f16 i32 b8",
        n="1 2 3 4 7 12 16 20 24 28 36 40 44 56 64",
        k=["", ", 0.5"],
    ),
    *lines("""
        mx.hadamard_transform(x(bf16, 2, 128))
        mx.hadamard_transform(x(c64, 2, 4))
        mx.hadamard_transform(x(f32, 0, 4))
        mx.hadamard_transform(A(3.0))
        mx.hadamard_transform(x(f32, 8, 3).T)
        mx.jvp(mx.hadamard_transform, [x(f32, 2, 20)], [x(f32, 2, 20, s=1)])
        mx.vjp(mx.hadamard_transform, [x(f32, 2, 12)], [x(f32, 2, 12, s=1)])
        mx.vjp(mx.hadamard_transform, [x(f32, 2, 20)], [x(f32, 2, 20, s=1)])
        mx.vmap(mx.hadamard_transform, in_axes=1, out_axes=1)(x(f32, 4, 3, 12))
    """),
]
