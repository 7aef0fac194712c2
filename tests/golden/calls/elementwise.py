"""Elementwise functions over all dtypes, mixed dtypes, Python scalars, special values, broadcasting."""
# ruff: noqa: E501, SIM905

from calls._make import ALL, FLOATS, INTS, expand, lines

UNARY = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh acos acosh asin asinh atan atanh bitwise_invert "
    "ceil conj conjugate cos cosh degrees erf erfinv exp expm1 floor imag isfinite isinf isnan isneginf "
    "isposinf log log10 log1p log2 logical_not nan_to_num negative positive radians real reciprocal "
    "round rsqrt sigmoid sign sin sinh sqrt square stop_gradient tan tanh trunc"
)
BINARY = (
    "add arctan2 bitwise_and bitwise_or bitwise_xor divide equal floor_divide greater greater_equal "
    "left_shift less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply "
    "not_equal power remainder right_shift subtract"
)
ARITHMETIC = "add divide equal floor_divide greater maximum multiply power remainder subtract"
BITS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift"
SCALARS = ["True", "3", "-2", "0", "2.5", "1e30", "inf", "1+2j"]

CALLS = [
    # every unary function and dtype, on ordinary values and on the odd ones
    *expand("mx.{f}(x({d}, 7, lo=-3, hi=3))", f=UNARY, d=ALL),
    *expand("mx.{f}(special({d}))", f=UNARY, d=ALL),
    *expand("mx.{f}(x(f32, 2, 3, 2)[:, ::-2])", f=UNARY),
    *expand("mx.{f}(x(f32, 0, 3))", f="exp abs isnan round negative logical_not"),
    *expand("mx.{f}(A(2))", f="exp abs isnan round negative logical_not sqrt reciprocal"),
    # every binary function on equal and on mixed dtypes
    *expand("mx.{f}(x({d}, 6), x({d}, 6, s=1))", f=BINARY, d=ALL),
    *expand("mx.{f}(special({d})[:, None], special({d}))", f=BINARY, d="i8 u8 i32 f16 bf16 f32"),
    *expand("mx.{f}(x({d}, 3, lo=1), x({e}, 3, lo=1))", f="add divide power", d=ALL, e=ALL),
    *expand(
        "mx.{f}(x({d}, 3), x({e}, 3))", f="bitwise_and left_shift", d=INTS, e="b8 u8 i16 i64 f32"
    ),
    *expand(
        "mx.{f}(x({d}, 3), x({e}, 3))",
        f="less logaddexp floor_divide remainder",
        d=ALL,
        e="b8 i32 bf16 f32 c64",
    ),
    # Python scalars on either side
    *expand("mx.{f}(x({d}, 3, lo=1), {v})", f=ARITHMETIC, d=ALL, v=SCALARS),
    *expand("mx.{f}({v}, x({d}, 3, lo=1))", f=ARITHMETIC, d=ALL, v=SCALARS),
    *expand("mx.{f}(x({d}, 3, lo=1), {v})", f=BITS, d=["b8", *INTS, "f32"], v=["True", "3", "2.5"]),
    *expand("mx.{f}({v}, {w})", f="add divide power maximum", v=SCALARS[:5], w=SCALARS[:5]),
    *expand(
        "mx.{f}(x(f16, 2), np.{t}(2))", f="add multiply", t="float32 float64 int64 float16".split()
    ),
    *expand(
        "mx.{f}(x({d}, 2), np.ones(2, np.{t}))",
        f="add",
        d="i32 f16 f32 bf16",
        t="float32 float64 int64 bool_".split(),
    ),
    # broadcasting
    *expand(
        "mx.{f}(x(f32, *{a}), x(f32, *{b}, s=2))",
        f="add less logaddexp",
        a=["(3, 1)", "(1,)", "()", "(2, 1, 3)", "(0, 3)", "(2, 3)"],
        b=["(1, 3)", "(3,)", "()", "(4, 1)", "(1,)"],
    ),
    # division, powers and shifts at their edges
    *expand(
        "mx.{f}(A([7, -7, 7, -7, 0, 5], {d}), A([3, 3, -3, -3, 3, 0], {d}))",
        f="divide floor_divide remainder power",
        d="i8 i16 i32 i64 f16 bf16 f32 f64",
    ),
    *expand("mx.divmod(A([7, -7, 7, -7], {d}), A([3, 3, -3, -3], {d}))", d="i8 i32 i64 f16 f32"),
    *expand("mx.divmod(x({d}, 3, lo=1), 2)", d=ALL),
    *expand(
        "mx.power(A([0, 1, 2, -2, 3], {d}), A([0, 5, 7, 3, 2], {d}))",
        d=["i8", "i32", "i64", *FLOATS],
    ),
    *expand(
        "mx.power(A([0., -0., inf, -inf, nan, -8.]), {v})",
        v=["0", "1", "0.5", "-1", "3", "-0.5", "nan"],
    ),
    *expand("mx.{f}(A([1, 2, 200, 255], u8), A([0, 7, 1, 3], u8))", f=BITS),
    # rounding, clipping, choosing, closeness
    *expand("mx.round(A([0.5, 1.5, 2.5, -0.5, -1.5, 123.456, -0.05]), {n})", n=range(-2, 4)),
    *expand("mx.round(A([15, 25, -35, 149], {d}), {n})", d="i8 i32 u8 f32 f16", n=[-2, -1, 0, 1]),
    *expand(
        "mx.clip(x({d}, 8), {lo}, {hi})", d=ALL, lo=["None", "-1", "0.5"], hi=["None", "2", "1.5"]
    ),
    *expand("mx.clip(x({d}, 2, 3), x({d}, 3, s=5), x({d}, 2, 1, s=3))", d="i32 f16 f32"),
    *expand("mx.clip(A([nan, inf, -inf, 1.0]), {lo}, {hi})", lo=["-2.0", "nan"], hi=["2.0", "nan"]),
    *expand(
        "mx.where(x({c}, 5), x({d}, 5), x({e}, 5, s=4))",
        c="b8 i32 f32",
        d="b8 i32 f16 f32 c64",
        e="u8 i64 bf16 f32",
    ),
    *expand(
        "mx.where(x(b8, 5), {v}, x({d}, 5))",
        v=["True", "2", "2.5", "1j"],
        d="b8 u8 i32 f16 bf16 f32",
    ),
    *expand(
        "mx.where(x(b8, 5), x({d}, 5), {v})", v=["True", "2", "2.5"], d="b8 u8 i32 f16 bf16 f32"
    ),
    *expand("mx.where({c}, x(f32, 2), 0.0)", c=["True", "False", "1", "0.0"]),
    *expand("mx.where(x(b8, 2, 1), x(f32, 3), x(f32, 1, 1))"),
    *expand(
        "mx.nan_to_num(A([nan, inf, -inf, 1.5], {d}){k})",
        d=FLOATS,
        k=["", ", nan=7", ", posinf=9, neginf=-9"],
    ),
    *expand(
        "mx.{f}(A([1.0, inf, nan, 2.0]), A([1.000001, inf, nan, 2.5]){k})",
        f="isclose allclose array_equal",
        k=["", ", equal_nan=True"],
    ),
    *expand(
        "mx.isclose(A([1.0, 2.0]), A([1.1, 2.0]), rtol={r}, atol={t})",
        r=["0", "0.2"],
        t=["0", "0.5"],
    ),
    *expand("mx.isclose(x({d}, 3), x({e}, 3))", d="i32 f16 c64 b8", e="f32 i32"),
    *expand(
        "mx.array_equal(x({d}, *{s}), x({e}, 3))",
        d="i32 f32",
        e="f32 u8",
        s=["(3,)", "(1, 3)", "(2,)"],
    ),
    *expand(
        "mx.logical_{f}(x({d}, 4), x({e}, 4, s=2))", f="and or xor", d="b8 i32 f32 c64", e="f16 u8"
    ),
    *expand("mx.{f}(x(c64, 5))", f="real imag conj abs isnan isinf sign square"),
    *expand("mx.{f}(2 ** A([10, 20, 30]), A(3))", f="add power floor_divide"),
    *lines("""
        mx.exp(A([88.0, 89.0, -87.5, -103.0, -104.0]))
        mx.exp(A([11.0, 12.0, -17.0], f16))
        mx.log(A([0.0, -1.0, 1e-40, 3e38]))
        mx.expm1(A([1e-6, -1e-6, 1e-20, 90.0]))
        mx.log1p(A([1e-6, -1e-6, 1e-20, -1.0, -2.0]))
        mx.tanh(A([1e-6, 9.0, -9.5, 100.0, 1e-30]))
        mx.sin(A([1e3, 1e5, 1e7, -1e9]))
        mx.cos(A([1e3, 1e5, 1e7, -1e9]))
        mx.tan(A([1e3, 1.5707963, -1.5707963]))
        mx.sigmoid(A([-100.0, -20.0, 20.0, 100.0]))
        mx.sigmoid(A([-100.0, -20.0, 20.0, 100.0], f16))
        mx.erf(A([-4.0, -1e-8, 1e-8, 0.5, 4.0]))
        mx.erfinv(A([-1.0, 1.0, 0.999999, -0.5, 1.5, 1e-8]))
        mx.logaddexp(A([-inf, inf, 0.0, 1000.0]), A([-inf, -inf, -inf, 1000.0]))
        mx.arctan2(A([0.0, -0.0, 0.0, -0.0, 1.0]), A([1.0, 1.0, -1.0, -1.0, 0.0]))
        mx.maximum(A([nan, 1.0, -0.0]), A([1.0, nan, 0.0]))
        mx.minimum(A([nan, 1.0, -0.0]), A([1.0, nan, 0.0]))
        mx.abs(A([-128, 127, -1], i8))
        mx.negative(A([-128, 127, 0], i8))
        mx.negative(A([1, 0, 255], u8))
        mx.add(A([255, 1], u8), A([1, 255], u8))
        mx.multiply(A([2**31 - 1], i32), A([2], i32))
        mx.left_shift(A([1, 1, 1], i32), A([31, 32, -1], i32))
        mx.right_shift(A([-8, 8, -1], i32), A([1, 2, 31], i32))
        mx.square(A([200], u8))
        mx.square(A([300.0], f16))
        mx.exp()
        mx.exp(1)
        mx.exp(1.5)
        mx.exp([1.0, 2.0])
        mx.exp(np.ones(2))
        mx.exp("a")
        mx.exp(None)
        mx.add(x(f32, 2), x(f32, 3))
        mx.add(x(f32, 2, 3), x(f32, 2))
        mx.add(x(f32, 2))
        mx.add(x(f32, 2), None)
        mx.add(x(f32, 2), "a")
        mx.add(x(f32, 2), [1, 2])
        mx.add(a=x(f32, 2), b=x(f32, 2))
        mx.arctan2(a=x(f32, 2), b=x(f32, 2))
        mx.logical_and(x(f32, 2), 1)
        mx.where(x(b8, 2), x(f32, 3), x(f32, 2))
        mx.where(x(b8, 2), x(f32, 2))
        mx.clip(x(f32, 2), None, None)
        mx.clip(x(f32, 2), 3, 1)
        mx.clip(x(f32, 2))
        mx.nan_to_num(3)
        mx.nan_to_num(x(i32, 3))
        mx.sqrt(x(f32, 3), stream=mx.cpu)
        mx.sqrt(x(f32, 3), stream=mx.default_stream(mx.cpu))
        mx.sqrt(x(f32, 3), stream=3)
        mx.bitwise_invert(True)
        mx.bitwise_invert(5)
        mx.degrees(3)
        mx.radians(180.0)
    """),
]
