"""Casts, views of bits, promotion tables, attributes of dtypes."""

from calls._make import ALL, FLOATS, INTS, expand, lines

CALLS = [
    *expand("x({d}, 6).astype({e})", d=ALL, e=ALL),
    *expand("special({d}).astype({e})", d=["b8", *INTS], e=ALL),
    *expand("special({d}).astype({e})", d=FLOATS, e=["b8", *FLOATS, "c64"]),
    *expand("A([0.4, 1.6, -1.6, 2.5, 127.9], {d}).astype({e})", d=FLOATS, e="i8 i16 i32 i64 b8"),
    *expand(
        "A([1e-8, 6e-8, 65504., 65519., 65520., 1e6, 3.4e38, 1e-40], f32).astype({e})",
        e="f16 bf16 f64",
    ),
    *expand("A([1 + 2**-8, 1 + 2**-9, 1 + 2**-9 + 2**-16, 1 + 3 * 2**-9], f32).astype(bf16)"),
    *expand("A([1 + 2**-11, 1 + 2**-11 + 2**-20, 1 + 3 * 2**-11], f32).astype(f16)"),
    *expand("mx.astype(x({d}, 3), {e})", d="i32 f32", e="f16 c64"),
    *expand("x({d}, 4, 8).view({e})", d=ALL, e=ALL),
    *expand("mx.view(x(f32, *{s}), {e})", s=["()", "(1,)", "(0,)", "(2, 3)"], e="i32 u8 i64 c64"),
    *expand("mx.view(x(f32, 4, 6)[:, ::2], {e})", e="i32 u8"),
    *expand("mx.view(x(f32, 4, 6).T, {e})", e="i32 u16"),
    *expand("mx.result_type({d}, {e})", d=ALL, e=ALL),
    *expand("mx.result_type(x({d}, 2), {e})", d="b8 i32 f16 f32", e="i64 bf16 c64"),
    *expand("mx.result_type(x({d}, 2), {e}, u8)", d="b8 i8 f16", e="i64 bf16 c64"),
    *expand("mx.can_cast({d}, {e})", d=ALL, e=ALL),
    *expand("{d}.size", d=ALL),
    *expand("repr({d})", d=ALL),
    *expand("str({d})", d=ALL),
    *expand(
        "mx.issubdtype({d}, mx.{c})",
        d=ALL,
        c="complexfloating floating inexact signedinteger unsignedinteger integer number generic",
    ),
    *expand(
        "mx.issubdtype(mx.{b}, mx.{c})",
        b="floating integer number generic",
        c="floating inexact integer number generic",
    ),
    *expand(
        "mx.isdtype({d}, {k!r})".replace("{k!r}", "'{k}'"),
        d=ALL,
        k=[
            "bool",
            "signed integer",
            "unsigned integer",
            "integral",
            "real floating",
            "complex floating",
            "numeric",
        ],
    ),
    *expand(
        "mx.isdtype({d}, {k})", d="i32 f32", k=["i32", "(f32, i64)", "('bool', f32)", "'nonsense'"]
    ),
    *expand(
        "[mx.finfo({d}).{n} for _ in '1'] + [str(mx.finfo({d}).dtype)]",
        d=[*FLOATS, "c64"],
        n="min max eps bits smallest_normal",
    ),
    *expand("(mx.iinfo({d}).min, mx.iinfo({d}).max, str(mx.iinfo({d}).dtype))", d=INTS),
    *expand("repr(mx.finfo({d}))", d=FLOATS),
    *expand("repr(mx.iinfo({d}))", d=INTS),
    *lines("""
        mx.finfo(i32)
        mx.iinfo(f32)
        mx.iinfo(b8)
        f32 == f32
        f32 == f16
        f32 == 3
        f32 in (f16, f32)
        hash(f32) == hash(mx.float32)
        {f32: 1}[mx.float32]
        mx.result_type()
        mx.result_type(f32)
        mx.result_type(3, f32)
        x(f32, 2).astype(None)
        x(f32, 2).astype('float32')
        x(f32, 2).astype(np.float32)
        x(f32, 2).astype(float)
        x(f32, 3, 3).view(f64)
        x(f32, 3).view(i64)
        x(u8, 6).view(f32)
        A(1.5).view(u8)
        A([-1.0, 300.0, 3e9]).astype(f16)
        A([2**63 - 1, -2**63], i64).astype(f32)
        A([2**24 + 1, 2**25 + 1], i32).astype(f32)
        A([2049, 4099], i32).astype(f16)
        A([257, 259], i32).astype(bf16)
        A([1 + 2j, 3 - 1j]).astype(f32)
        A([0.0, 2j, 0.5]).astype(b8)
        repr(mx.floating)
        str(mx.floating)
        mx.array([1, 2]).dtype is mx.int32
        mx.e, mx.pi, mx.inf, mx.euler_gamma, mx.nan, mx.newaxis
        mx.to_fp8(A([0.0, 1.0, 1.5, 447.0, 449.0, 1e-3, -2.7]))
        mx.to_fp8(x(bf16, 8))
        mx.from_fp8(A([0, 1, 56, 127, 126, 128, 255], u8))
        mx.from_fp8(A([0, 1, 56, 127, 126, 128, 255], u8), f32)
    """),
]
