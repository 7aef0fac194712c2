"""Reductions, argmax/argmin, softmax and cumulative functions."""

from calls._make import ALL, FLOATS, expand, lines

REDUCE = "sum prod mean max min any all var std logsumexp median count_nonzero minmax"
ARG = "argmax argmin"
SCAN = "cumsum cumprod cummax cummin logcumsumexp"
AXES = [
    "",
    ", axis=None",
    ", axis=0",
    ", axis=1",
    ", axis=-1",
    ", axis=(0, 2)",
    ", axis=[1]",
    ", axis=(-1, 0)",
    ", axis=()",
    ", axis=(0, 1, 2)",
    ", axis=3",
    ", axis=-4",
    ", axis=(0, 0)",
    ", axis=(0, -3)",
    ", axis=0.0",
    ", axis=(0, 5)",
]

CALLS = [
    *expand(
        "mx.{f}(x({d}, 3, 5){k})", f=REDUCE, d=ALL, k=["", ", axis=0", ", axis=1, keepdims=True"]
    ),
    *expand("mx.{f}(x(f32, 2, 3, 4){a}{k})", f=REDUCE, a=AXES, k=["", ", keepdims=True"]),
    *expand(
        "mx.{f}({a})",
        f=f"{REDUCE} {ARG} softmax",
        a=[
            "A(2.5)",
            "x(f32, 0)",
            "x(f32, 1, 1)",
            "x(f32, 4, 6).T",
            "x(f32, 4, 6)[::-2, 1::2]",
            "mx.broadcast_to(x(f32, 1, 3), (4, 3))",
            "A([nan, 1.0])",
            "A([inf, -inf])",
            "A([-inf, -inf])",
            "3",
            "[1.0, 2.0]",
            "np.ones(3)",
            "x(f32, 0, 3)",
            "x(i32, 0)",
        ],
    ),
    *expand(
        "mx.{f}(x(f32, 0, 3), {k})",
        f=f"{REDUCE} {ARG} softmax",
        k=["0", "1", "axis=0, keepdims=True"],
    ),
    *expand(
        "mx.{f}(x(f32, 2, 3), {k})",
        f="sum argmax var",
        k=["0, True", "None, True", "1, keepdims=1", "keepdims=True", "True"],
    ),
    *expand("mx.{f}(x({d}, 300))", f="sum mean prod", d="u8 i8 f16 bf16 b8 i32"),
    *expand("mx.{f}(x({d}, 300, lo=90, hi=120))", f="sum mean max", d="u8 i8 i16 f16 bf16"),
    *expand(
        "mx.{f}(A([nan, 1.0, 3.0, inf], {d}))",
        f="max min sum any all argmax argmin median var softmax logsumexp",
        d=FLOATS,
    ),
    *expand(
        "mx.{f}(x({d}, 3, 4){k})",
        f="var std",
        d="i32 f16 f32 b8",
        k=[
            ", ddof=1",
            ", axis=0, ddof=1",
            ", axis=1, ddof=4",
            ", axis=1, ddof=5",
            ", 1, True, 2",
            ", ddof=-1",
            ", ddof=1.0",
        ],
    ),
    *expand(
        "x(f32, 3, 4).{f}({k})",
        f="var std",
        k=["", "0", "correction=1", "ddof=1", "ddof=1, correction=1", "axis=1, correction=2"],
    ),
    *expand(
        "x(f32, 3, 4).{f}({k})",
        f="sum prod mean max min any all logsumexp argmax argmin",
        k=["", "0", "1, True", "axis=-1, keepdims=True", "axis=2"],
    ),
    *expand(
        "mx.{f}(x({d}, 3, 5){k})",
        f=ARG,
        d=ALL,
        k=["", ", axis=0", ", axis=-1, keepdims=True", ", keepdims=True"],
    ),
    *expand(
        "mx.{f}(x(f32, 2, 3, 4){k})",
        f=ARG,
        k=[", 1", ", axis=2", ", axis=3", ", axis=-4", ", axis=None", ", axis=(0, 1)", ", 0, True"],
    ),
    *expand("mx.{f}(A([1, 3, 3, 1]))", f=ARG),
    *expand("mx.{f}(A([1.0, nan, 3.0, nan]))", f=ARG),
    # softmax
    *expand(
        "mx.softmax(x({d}, 3, 5){k})",
        d=ALL,
        k=["", ", axis=0", ", axis=-1", ", axis=1, precise=True"],
    ),
    *expand("mx.softmax(x(f32, 2, 3, 4){a})", a=AXES),
    *expand(
        "mx.softmax(A([{v}]))",
        v=["1000.0, 1000.0", "-inf, 0.0", "-inf, -inf", "inf, 0.0", "3.4e38, 1.0"],
    ),
    *expand("mx.softmax(x(f16, 300, hi=8), precise={p})", p="True False"),
    *expand("mx.logsumexp(A([{v}]))", v=["1000.0, 1000.0", "-inf, 0.0", "-inf, -inf", "inf, 0.0"]),
    # cumulative
    *expand(
        "mx.{f}(x({d}, 3, 5){k})",
        f=SCAN,
        d=ALL,
        k=[
            "",
            ", axis=0",
            ", axis=1, reverse=True",
            ", 1, inclusive=False",
            ", axis=0, reverse=True, inclusive=False",
        ],
    ),
    *expand(
        "mx.{f}(x(f32, 2, 3, 4){k})",
        f=SCAN,
        k=[
            ", 2",
            ", -1",
            ", 3",
            ", -4",
            ", axis=None",
            ", (0, 1)",
            ", axis=1, reverse=True",
            ", 0, True",
        ],
    ),
    *expand(
        "mx.{f}({a}{k})",
        f=SCAN,
        a=[
            "A(2.0)",
            "x(f32, 0)",
            "x(f32, 0, 3)",
            "x(f32, 4, 6).T",
            "x(f32, 4, 6)[::-2, 1::2]",
            "A([1.0, nan, 2.0])",
            "A([-inf, inf, 0.0])",
        ],
        k=["", ", axis=0"],
    ),
    *expand(
        "mx.{f}(x({d}, 6){k})",
        f="cumsum cumprod cumulative_sum cumulative_prod",
        d="u8 i8 b8 f16 i32",
        k=[", dtype=f32", ", dtype=i64", ", axis=0, dtype=f16"],
    ),
    *expand(
        "x(f32, 3, 4).{f}({k})", f=SCAN, k=["", "1", "axis=0, reverse=True", "inclusive=False"]
    ),
    *expand("mx.diff(x({d}, 3, 5){k})", d=ALL, k=["", ", axis=0"]),
    *expand(
        "mx.diff(x(f32, 3, 5), {k})",
        k=["n=2", "n=0", "n=5", "n=9", "n=-1", "axis=2", "n=2, axis=0"],
    ),
    *expand("mx.diff({a})", a=["A(1.0)", "x(f32, 0)", "x(f32, 1)"]),
    *expand(
        "mx.median(x({d}, {s}){k})",
        d="f32 i32 f16 b8",
        s=["4", "5", "3, 4"],
        k=["", ", axis=0", ", keepdims=True"],
    ),
    *lines("""
        mx.sum()
        mx.sum(x(f32, 2), 0, False, 3)
        mx.sum(x(f32, 2), axis='a')
        mx.sum(a=x(f32, 2))
        mx.mean(x(c64, 3))
        mx.max(x(c64, 3, 3))
        mx.var(x(c64, 3))
        mx.all(A([], b8))
        mx.any(A([], b8))
        mx.any(A([0.0, nan]))
        mx.prod(A([2**31, 2], i64))
        mx.sum(A([2**31 - 1, 1], i32))
        mx.sum(A([255, 255], u8))
        mx.sum(A([127, 127], i8))
        mx.sum(A([True, True]))
        mx.prod(A([True, False]))
        mx.prod(A([100, 100], i8))
        mx.mean(A([255, 255], u8))
        mx.sum(mx.ones((1000, 7)), 0)
        mx.sum(mx.full((5000,), 0.1))
        mx.sum(mx.full((5000,), 0.1, f16))
        mx.mean(mx.full((5000,), 100.0, f16))
        mx.cumsum(mx.full((50,), 0.1, f16))
    """),
]

# The wheel walks past the end of empty inputs.
UNDEFINED = [
    *expand("mx.{f}(x({d}, 0))", f="sum prod mean any all var std", d="f32 i32"),
    *expand(
        "mx.{f}(x(f32, 0, 3){k})",
        f="sum prod mean any all var std",
        k=["", ", 0", ", axis=0, keepdims=True"],
    ),
]
CALLS = [call for call in CALLS if call not in UNDEFINED]
