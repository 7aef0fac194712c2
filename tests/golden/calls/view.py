"""Functions that rearrange axes: reshape, transpose, squeeze, broadcast, strides, flips."""

from calls._make import ALL, expand, lines

S = ["x(f32, 2, 3, 4)", "x(i8, 6)", "A(1.5)", "x(f32, 0, 3)", "x(f32, 1, 3, 1)"]

CALLS = [
    *expand(
        "mx.reshape({a}, {s})",
        a=S,
        s=[
            "(-1,)",
            "(2, -1)",
            "(4, 6)",
            "(1,)",
            "()",
            "(0,)",
            "(6,)",
            "(3, -1, 2)",
            "(-1, -1)",
            "(2, 0)",
            "(-2, 3)",
            "6",
            "[3, 1]",
            "(24.0,)",
            "(-1, 0)",
            "None",
            "(0, -1)",
        ],
    ),
    *expand(
        "mx.reshape(x(f32, 4, 6)[{i}], {s})",
        i=["::-1", ":, ::2", "1:3, 1:5"],
        s=["(-1,)", "(2, -1)"],
    ),
    *expand("mx.reshape(x(f32, 4, 6).T, {s})", s=["(-1,)", "(6, 2, 2)", "(2, 12)"]),
    *expand(
        "{a}.reshape({s})", a=S[:2], s=["6, -1", "-1", "(3, 2)", "[-1]", "2, 3", "1, (2, 3)", ""]
    ),
    *expand(
        "mx.flatten({a}{k})",
        a=S,
        k=[
            "",
            ", 1",
            ", 0, 1",
            ", -2",
            ", start_axis=1, end_axis=-1",
            ", 2, 1",
            ", 5",
            ", 0, 7",
            ", -9",
            ", 1, 1",
        ],
    ),
    *expand(
        "mx.unflatten(x(f32, 4, 6), {k})",
        k=[
            "0, (2, 2)",
            "1, (2, -1)",
            "-1, (3, 2)",
            "axis=1, shape=(6,)",
            "1, (4, 2)",
            "2, (1,)",
            "1, (-1, -1)",
            "1, ()",
            "-3, (4,)",
            "0, (-1,)",
            "0, (4, 1)",
        ],
    ),
    *expand(
        "mx.{f}({a}{k})",
        f="transpose permute_dims",
        a=S,
        k=[
            "",
            ", (0, 2, 1)",
            ", [2, 0, 1]",
            ", axes=(-1, 0, 1)",
            ", (0, 0, 1)",
            ", (0, 1)",
            ", (0, 1, 3)",
            ", ()",
            ", (0,)",
        ],
    ),
    *expand(
        "{a}.transpose({k})",
        a=S[:2],
        k=["", "0, 2, 1", "(1, 2, 0)", "[0, 1, 2]", "-1, 0, 1", "0", "(0,)", "0, 0, 0"],
    ),
    *expand("{a}.{p}", a=S, p="T mT shape ndim size nbytes itemsize dtype"),
    *expand("mx.matrix_transpose({a})", a=S),
    *expand("mx.swapaxes({a}, {k})", a=S, k=["0, 1", "0, -1", "-2, 2", "0, 0", "3, 0", "0, -4"]),
    *expand(
        "mx.moveaxis({a}, {k})",
        a=S,
        k=["0, 1", "0, -1", "2, 0", "-1, 0", "1, 1", "3, 0", "0, -4", "source=0, destination=1"],
    ),
    *expand(
        "mx.squeeze({a}{k})",
        a=[*S, "x(f32, 1, 1)"],
        k=[
            "",
            ", 0",
            ", -1",
            ", (0, 2)",
            ", [0, -1]",
            ", (0, 0)",
            ", 1",
            ", 3",
            ", axis=0",
            ", ()",
            ", (0, 1)",
        ],
    ),
    *expand(
        "mx.expand_dims({a}, {k})",
        a=S,
        k=[
            "0",
            "-1",
            "1",
            "(0, 1)",
            "(0, -1)",
            "[1, 3]",
            "5",
            "-5",
            "(0, 0)",
            "()",
            "axis=0",
            "(1, -2)",
        ],
    ),
    *expand(
        "mx.broadcast_to({a}, {s})",
        a=[*S, "3", "True", "2.5"],
        s=[
            "(2, 3, 4)",
            "(5, 6)",
            "(3, 1, 3, 1)",
            "(4,)",
            "()",
            "(0, 3)",
            "(2, 0, 3)",
            "(-1, 3)",
            "6",
            "(2, 2, 3, 4)",
        ],
    ),
    *expand(
        "mx.broadcast_arrays({a})",
        a=[
            "x(f32, 2, 1), x(i8, 3)",
            "x(f32, 2), x(f32, 3)",
            "x(f32, 2)",
            "",
            "A(1), x(f32, 2), x(f32, 3, 1)",
            "x(f32, 0), x(f32, 1)",
            "[x(f32, 2), x(f32, 1)]",
        ],
    ),
    *expand(
        "mx.broadcast_shapes({a})",
        a=[
            "(2, 1), (3,)",
            "(2,), (3,)",
            "(2,)",
            "",
            "(), (3,)",
            "(0,), (1,)",
            "(2, 1), (1, 3), (4, 1, 1)",
            "3, (2,)",
            "[2], [1]",
        ],
    ),
    *expand(
        "mx.as_strided(x(f32, 24), {k})",
        k=[
            "(3, 4), (4, 1)",
            "(4, 3), (1, 4)",
            "(2, 3), (1, 1), 5",
            "(3,), (0,)",
            "(3,), (-1,), 2",
            "(2, 2)",
            "shape=(2, 12)",
            "strides=(2,)",
            "(2,), (1, 1)",
            "",
            "(0, 3), (3, 1)",
            "(), (), 3",
            "(5,), (2,), offset=1",
        ],
    ),
    *expand("mx.as_strided(x(f32, 4, 6).T, (3, 4), (4, 1))"),
    *expand(
        "mx.flip({a}{k})",
        a=S,
        k=["", ", 0", ", -1", ", (0, 2)", ", axis=[1]", ", 3", ", (0, 0)", ", ()"],
    ),
    *expand(
        "mx.contiguous({a}{k})",
        a=[
            "x(f32, 3, 4).T",
            "x(f32, 3, 4)[::2, ::-1]",
            "mx.broadcast_to(x(f32, 1, 3), (2, 3))",
            "A(2)",
        ],
        k=["", ", True", ", allow_col_major=True"],
    ),
    *expand(
        "mx.atleast_{n}d({a})",
        n=[1, 2, 3],
        a=[
            "A(1)",
            "x(f32, 3)",
            "x(f32, 2, 3)",
            "x(f32, 2, 1, 2, 1)",
            "A(1), x(f32, 2)",
            "",
            "3",
            "[A(1)]",
        ],
    ),
    *expand(
        "mx.{f}({d_x})".replace("{d_x}", "x({d}, 2, 3)"), f="transpose flip squeeze flatten", d=ALL
    ),
    *expand("mx.real(x(c64, 2, 3)).T + mx.imag(x(c64, 3, 2))"),
    *lines("""
        mx.reshape([1, 2], (2, 1))
        mx.transpose(3)
        mx.squeeze(x(f32, 1, 2), 1)
        mx.reshape(x(f32, 2, 3), (3, 2)).reshape(6)[::2].reshape(3, 1).T
        mx.transpose(x(f32, 2, 3, 4), (2, 0, 1)).reshape(8, 3)
        mx.broadcast_to(x(f32, 3), (2, 3)).reshape(6)
        mx.depends(x(f32, 2), x(f32, 3))
        mx.depends([x(f32, 2), x(i8, 1)], [x(f32, 3)])
        mx.stop_gradient(x(f32, 2))
    """),
]
