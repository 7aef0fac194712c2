"""Random numbers: keys, bits (through randint), distributions with explicit keys and with a seed."""
# ruff: noqa: E501

from calls._make import FLOATS, INTS, expand, lines

SHAPES = ["()", "(1,)", "(5,)", "(2, 3)", "(7, 1)", "(0,)", "(17,)"]

CALLS = [
    *expand(
        "mx.random.key({s})",
        s=[
            "0",
            "1",
            "42",
            "2**31",
            "2**32",
            "2**40 + 5",
            "-1",
            "1.5",
            "None",
            "True",
            "2**64 - 1",
            "2**64",
        ],
    ),
    *expand(
        "mx.random.split({k})",
        k=[
            "K(0)",
            "K(7), 3",
            "K(7), num=1",
            "K(7), 0",
            "K(7), -1",
            "key=K(3), num=5",
            "A([1, 2])",
            "A([1, 2, 3], u32)",
            "A([1, 2], u32)",
            "K(1), 2.0",
            "K(2), 16",
        ],
    ),
    *expand("mx.random.split(mx.random.split(K(5))[1], 4)"),
    # bits
    *expand(
        "mx.random.randint({r}, {s}, key=K(3))",
        r=["0, 10", "-5, 5", "0, 2**31 - 1", "-2**31, 2**31 - 1", "5, 5", "5, 3", "0.0, 4.5"],
        s=SHAPES,
    ),
    *expand("mx.random.randint(0, 100, (9,), {d}, key=K(4))", d=INTS),
    *expand(
        "mx.random.randint({a}, key=K(2))",
        a=[
            "0, 5, (3,), f32",
            "0, 5, (3,), b8",
            "A([0, 10]), A([5, 20])",
            "A([0, 10]), A([5, 20]), (2,)",
            "A([0, 10]), A([5, 20]), (3, 2)",
            "A([0, 10]), 20, (3,)",
            "0, 5",
            "0",
            "0, 300, (4,), u8",
            "-200, 200, (4,), i8",
            "low=0, high=3, shape=(4,)",
            "0, 2**40, (4,), i64",
            "-2**62, 2**62, (3,), i64",
            "0, 2**63, (3,), u64",
            "0, 5, 3",
            "0, 5, (-1,)",
        ],
    ),
    *expand(
        "mx.random.bernoulli({a}, key=K(5))",
        a=[
            "0.5, (20,)",
            "0.1, (20,)",
            "0, (3,)",
            "1, (3,)",
            "A([0.1, 0.9])",
            "A([0.1, 0.9]), (2,)",
            "A([0.1, 0.9]), (3, 2)",
            "A([0.1, 0.9]), (3,)",
            "shape=(8,)",
            "0.5",
            "2.0, (3,)",
            "-1.0, (3,)",
            "A(1), (2,)",
            "A([0.5, 0.5], f16), (4, 2)",
            "A([True, False])",
            "nan, (3,)",
        ],
    ),
    *expand("mx.random.uniform(shape={s}, key=K(6))", s=SHAPES),
    *expand(
        "mx.random.uniform({a}, key=K(7))",
        a=[
            "-1, 1, (6,)",
            "0, 1, (6,), f16",
            "0, 1, (6,), bf16",
            "0, 1, (6,), f64",
            "0, 1, (6,), i32",
            "A([0, 10]), A([1, 20])",
            "A([0, 10]), A([1, 20]), (2,)",
            "A([0, 10]), 20, (3, 2)",
            "A([0, 1]), 2, (3,)",
            "low=2, high=3, shape=(3,)",
            "1, 0, (3,)",
            "0, inf, (2,)",
            "-1, 1, (6,), f16",
            "0, 1, (2,), c64",
            "0, 1, 3",
            "0, 1, (2, -1)",
            "0, 1, [2, 2]",
            "0, 1, (3,), None",
            "dtype=f16",
        ],
    ),
    *expand("mx.random.normal(shape={s}, key=K(8))", s=SHAPES),
    *expand(
        "mx.random.normal({a}, key=K(9))",
        a=[
            "(6,), f16",
            "(6,), bf16",
            "(6,), f64",
            "(6,), i32",
            "(6,), c64",
            "(4,), f32, 2.0, 3.0",
            "(4,), loc=2.0",
            "(4,), scale=A([1.0, 2.0, 3.0, 4.0])",
            "(2, 3), loc=A([1.0, 2.0, 3.0])",
            "(2,), loc=A([1.0, 2.0, 3.0])",
            "(4,), f16, 1.0, 2.0",
            "(2,), None",
            "3",
            "(3,), scale=0.0",
            "(3,), scale=-1.0",
        ],
    ),
    *expand(
        "mx.random.{f}({a}, key=K(10))",
        f="gumbel laplace",
        a=["(5,)", "()", "(2, 3), f16", "(3,), bf16", "(3,), i32", "(0,)", "shape=(2,)"],
    ),
    *expand("mx.random.laplace((4,), f32, 2.0, 3.0, key=K(10))"),
    *expand("mx.random.laplace((4,), scale={s}, key=K(10))", s=["0.5", "0.0", "-1.0"]),
    *expand(
        "mx.random.truncated_normal({a}, key=K(11))",
        a=[
            "-1, 1, (6,)",
            "0.5, 2.0, (5,), f16",
            "A([0, 1]), A([1, 2])",
            "A([0, 1]), A([1, 2]), (3, 2)",
            "-2, 2",
            "1, 0, (3,)",
            "-1, 1, (3,), i32",
            "5.0, 6.0, (4,)",
        ],
    ),
    *expand(
        "mx.random.categorical({a}, key=K(12))",
        a=[
            "A([0.0, 1.0, 2.0])",
            "x(f32, 9), num_samples=6",
            "x(f32, 9), shape=(2, 3)",
            "x(f32, 1, 50)",
            "x(f16, 1, 50)",
            "x(f32, 1, 1, 50), num_samples=4",
            "x(f32, 1, 50), shape=(5, 1)",
            "x(f32, 50, 1), 0",
            "x(f32, 50, 1)",
            "x(f32, 4, 5)",
            "x(f32, 4, 5), axis=0",
            "x(f32, 4, 5), 1",
            "x(f32, 4, 5), num_samples=3",
            "x(f32, 4, 5), axis=0, num_samples=2",
            "x(f32, 4, 5), shape=(3, 4)",
            "x(f32, 4, 5), shape=(4,)",
            "x(f32, 4, 5), shape=(3,)",
            "x(f32, 4, 5), axis=2",
            "x(f16, 4, 5)",
            "x(i32, 4, 5)",
            "x(f32, 4, 5), shape=(3, 4), num_samples=2",
            "A([-inf, 0.0, -inf])",
            "A(1.0)",
            "x(f32, 4, 5), num_samples=0",
        ],
    ),
    *expand(
        "mx.random.permutation({a}, key=K(13))",
        a=[
            "10",
            "1",
            "0",
            "-1",
            "x(f32, 5)",
            "x(f32, 3, 4)",
            "x(f32, 3, 4), 1",
            "x(f32, 3, 4), axis=-1",
            "x(i8, 2, 3, 4), 1",
            "x(f32, 3), 1",
            "A(3)",
            "2.5",
            "100",
        ],
    ),
    *expand(
        "mx.random.multivariate_normal({a}, key=K(14))",
        a=[
            "A([0.0, 1.0]), A([[1.0, 0.5], [0.5, 2.0]])",
            "A([0.0, 1.0]), A([[1.0, 0.5], [0.5, 2.0]]), (3,)",
            "A([0.0]), A([[1.0, 0.5], [0.5, 2.0]])",
            "A([0.0, 1.0]), A([1.0, 2.0])",
            "A(0.0), A([[1.0]])",
            "A([0.0, 1.0]), A([[1.0, 0.0], [0.0, 1.0]]), (2,), f16",
        ],
    ),
    # the global state
    *expand(
        "mx.random.seed({s}); [mx.random.uniform(shape=(2,)), mx.random.normal((2,)), mx.random.randint(0, 9, (3,))]",
        s=["0", "3", "2**33", "-1", "1.5", "None"],
    ),
    *expand(
        "mx.random.seed(4); mx.random.{f}",
        f=[
            "permutation(6)",
            "bernoulli(0.5, (6,))",
            "gumbel((3,))",
            "laplace((3,))",
            "categorical(x(f32, 2, 3))",
            "truncated_normal(-1, 1, (3,))",
            "uniform(shape=(3,), dtype=f16)",
            "split(K(0))",
        ],
    ),
    *expand("mx.random.seed(4); [mx.random.uniform() for _ in range({n})]", n=[1, 5]),
    *lines("""
        mx.random.seed(9); a = mx.random.uniform(shape=(3,)); mx.random.seed(9); mx.random.uniform(shape=(3,)) - a
        mx.random.seed(5); mx.random.uniform(shape=(3,), key=K(1)); mx.random.uniform(shape=(2,))
        mx.random.seed(6); len(mx.random.state)
        mx.random.seed(6); mx.random.state[0]
        mx.random.seed(6); mx.random.uniform(); mx.random.state[0]
        mx.random.uniform(key=A([1, 2]))
        mx.random.uniform(key=A([1, 2, 3], u32))
        mx.random.uniform(key=1)
        mx.random.uniform(key=mx.random.split(K(1), 3))
        mx.random.uniform(key=A([5, 7], u32), shape=(3,))
        mx.random.normal((1000,), key=K(3)).mean()
        mx.random.uniform(shape=(1000,), key=K(3))[::97]
        mx.random.randint(0, 2**31 - 1, (1001,), key=K(3))[::97]
    """),
]
CALLS += expand("mx.random.{f}((5,), {d}, key=K(20))", f="gumbel laplace normal", d=FLOATS)
