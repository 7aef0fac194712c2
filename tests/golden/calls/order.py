"""Sorting, selecting and searching."""

from calls._make import ALL, FLOATS, expand, lines

CALLS = [
    *expand(
        "mx.{f}(x({d}, 3, 7){k})",
        f="sort argsort",
        d=ALL,
        k=["", ", 0", ", axis=None", ", axis=-1"],
    ),
    *expand(
        "mx.{f}(x(f32, 2, 3, 4){k})",
        f="sort argsort",
        k=[", 1", ", 2", ", -3", ", 3", ", -4", ", (0,)", ", 1.0"],
    ),
    *expand(
        "mx.{f}({a})",
        f="sort argsort",
        a=[
            "A(1.0)",
            "x(f32, 0)",
            "x(f32, 0, 3)",
            "x(f32, 3, 0)",
            "x(f32, 5, 3).T",
            "x(f32, 6, 4)[::-2, ::2]",
            "A([True, False, True])",
            "[3, 1]",
            "3",
        ],
    ),
    *expand("mx.{f}(A([3.0, nan, -inf, 1.0, inf, -0.0, 0.0, nan], {d}))", f="sort", d=FLOATS),
    *expand("mx.argsort(A([2, 1, 2, 1, 2, 1, 0]))"),
    *expand("mx.argsort(A([3.0, nan, -inf, 1.0, inf]))"),
    *expand("mx.sort(mx.partition(x({d}, 3, 7), {k}){s})", d=ALL, k=["3"], s=[""]),
    *expand("mx.sort(mx.partition(x(f32, 3, 7), {k})[..., :{n}])", k=["3"], n=[4]),
    *expand("mx.partition(x(f32, 3, 7), {k})[:, 3]", k=["3", "-4", "3, 1", "3, axis=-1"]),
    *expand(
        "mx.{f}(x(f32, 3, 7), {k}).shape",
        f="partition argpartition",
        k=[
            "0",
            "6",
            "7",
            "-8",
            "-1",
            "1, 0",
            "3, 0",
            "1, None",
            "20, None",
            "21, None",
            "1, 2",
            "1, -3",
            "1.0",
            "kth=2",
        ],
    ),
    *expand(
        "mx.take_along_axis(x({d}, 3, 7), mx.argpartition(x({d}, 3, 7), 3), -1)[:, 3]",
        d="i8 f32 bf16",
    ),
    *expand("mx.sort(mx.topk(x({d}, 3, 7), 3))", d=ALL),
    *expand(
        "mx.sort(mx.topk(x(f32, 3, 7), {k}))",
        k=["1", "7", "8", "0", "-1", "2, 0", "3, axis=None", "2, axis=-1", "2, 2", "2.0"],
    ),
    *expand("mx.{f}(A(1.0), {k})", f="partition topk", k=["0", "1"]),
    *expand(
        "mx.searchsorted(A([1, 3, 3, 5], {d}), A([0, 1, 3, 4, 9], {e}){k})",
        d="i32 f32 u8",
        e="i32 f32 f16",
        k=["", ", side='right'", ", 'left'"],
    ),
    *expand(
        "mx.searchsorted({a})",
        a=[
            "A([1, 2]), A(1)",
            "A([1, 2]), A([[0, 1], [2, 3]])",
            "A([], f32), A([1.0])",
            "x(f32, 2, 2), A([1.0])",
            "A([1, 2]), A([], i32)",
            "A([1, 2]), A([1]), 'middle'",
            "A([1.0, nan]), A([nan, 2.0])",
        ],
    ),
    *expand(
        "mx.unique(x({d}, 9), {k})",
        d="i32 f32 u8 b8",
        k=[
            "4",
            "12",
            "size=3, return_counts=True",
            "12, fill_value=7",
            "12, return_index=True, return_inverse=True, return_counts=True",
        ],
    ),
    *expand(
        "mx.unique({a})",
        a=[
            "x(i32, 3, 3), 9",
            "x(i32, 3), 0",
            "x(i32, 0), 2",
            "A(3), 1",
            "x(i32, 3)",
            "x(i32, 3), -1",
        ],
    ),
    *lines("""
        mx.sort()
        mx.argsort(x(f32, 3), axis=5)
        mx.sort(mx.arange(100)[::-1])
        mx.argsort(mx.arange(100)[::-1])
        mx.sort(x(f32, 300, lo=-90, hi=90))
        mx.argsort(mx.random.permutation(300, key=K(1)))
    """),
]
