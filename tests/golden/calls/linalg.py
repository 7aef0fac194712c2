"""Linear algebra: values that do not depend on the signs of vectors, shapes, dtypes, errors."""

from calls._make import expand, lines

SPD = "(lambda m: m @ m.T + 3 * mx.eye({n}, dtype={d}))(x({d}, {n}, {n}))"
BATCH = "(lambda m: m @ mx.swapaxes(m, -1, -2) + 3 * mx.eye(3))(x(f32, 2, 2, 3, 3))"
REGULAR = "(x({d}, {n}, {n}) + 6 * mx.eye({n}, dtype={d}))"
ANY = ["x(f32, 4, 4)", "x(f32, 5, 3)", "x(f32, 3, 5)", "x(f32, 2, 4, 3)", "x(f64, 3, 3)"]
ODD = ["x(f32, 0, 3, 3)", "x(f32, 0, 0)", "x(f32, 3, 3, 3)[::-1]", "x(f32, 4, 4).T"]
BAD = ["A(1.0)", "x(f32, 3)", "x(f32, 2, 3)", "x(f16, 2, 2)", "x(bf16, 2, 2)", "x(i32, 2, 2)"]

CALLS = [
    *expand("mx.linalg.{f}({m})", f="inv cholesky det slogdet eigvalsh", m=[BATCH]),
    *expand(
        "mx.linalg.{f}(" + SPD + ")", f="inv cholesky slogdet eigvalsh", d="f32 f64", n=[1, 2, 5, 9]
    ),
    *expand("mx.linalg.{f}(" + REGULAR + ")", f="inv det pinv", d="f32 f64", n=[1, 3, 8]),
    *expand("mx.linalg.{f}({m})", f="inv det slogdet cholesky_inv tri_inv pinv", m=ODD[:2]),
    *expand("mx.linalg.{f}({m})", f="svd qr eigh eigvalsh lu lu_factor", m=ODD[1:2]),
    *expand("mx.linalg.{f}({m})", f="det pinv lu lu_factor", m=ODD[2:]),
    *expand("mx.linalg.{f}({m})", f="lu lu_factor", m=ANY),
    *expand("(lambda q, r: [q @ r, mx.abs(q), mx.abs(r)])(*mx.linalg.qr({m}))", m=[*ANY, *ODD[2:]]),
    *expand("mx.linalg.svd({m}, False)", m=[*ANY, *ODD[2:], "x(c64, 3, 2)"]),
    *expand(
        "(lambda u, s, v: [mx.abs(u[..., :, :2]), s, mx.abs(v[..., :2, :])])(*mx.linalg.svd({m}))",
        m=[*ANY, "x(c64, 2, 3)[:1]"],
    ),
    *expand("mx.linalg.svd({m})[1].dtype", m=["x(c64, 3, 3)", "x(f64, 2, 3)"]),
    *expand(
        "(lambda w, v: [w, (v * w[..., None, :]) @ mx.conj(mx.swapaxes(v, -1, -2))])"
        "(*mx.linalg.eigh({m}{k}))",
        m=["x(f32, 4, 4)", "x(f64, 3, 3)", "x(c64, 3, 3)", "x(f32, 2, 3, 3)"],
        k=["", ", 'U'", ", UPLO='L'"],
    ),
    *expand("mx.linalg.eigvalsh({m}, 'U')", m=["x(f32, 4, 4)", "x(c64, 2, 3, 3)"]),
    *expand("mx.linalg.eigvals({m}).sum()", m=["x(f32, 4, 4)", "x(c64, 3, 3)"]),
    *expand(
        "(lambda w, v: mx.real((v * w) @ mx.array(np.linalg.inv(np.array(v)))))"
        "(*mx.linalg.eig({m}))",
        m=["x(f32, 3, 3)", "x(f32, 4, 4)"],
    ),
    *expand("[o.dtype for o in mx.linalg.eig(x({d}, 2, 2))]", d="f32 c64"),
    *expand(
        "mx.linalg.solve({m}, {b})",
        m=[REGULAR.replace("{d}", "f32").replace("{n}", "3")],
        b=[
            "x(f32, 3)",
            "x(f32, 3, 2)",
            "x(f64, 3)",
            "x(i32, 3)",
            "x(f32, 2)",
            "A(1.0)",
            "x(f32, 3, 0)",
        ],
    ),
    *expand("mx.linalg.solve(x(f32, 2, 3, 3) + 6 * mx.eye(3), x(f32, 2, 3, {k}))", k=[1, 2]),
    *expand(
        "mx.linalg.{f}",
        f=[
            "solve_triangular(x(f32, 3, 3) + 9 * mx.eye(3), x(f32, 3){k})".replace("{k}", k)
            for k in ("", ", upper=True")
        ],
    ),
    *expand(
        "mx.linalg.tri_inv(x(f32, 2, 3, 3) + 9 * mx.eye(3){k})", k=["", ", True", ", upper=True"]
    ),
    *expand("mx.linalg.cholesky_inv(x(f32, 3, 3) + 9 * mx.eye(3){k})", k=["", ", True"]),
    *expand(
        "mx.linalg.{f}({a})",
        f="inv tri_inv cholesky cholesky_inv qr svd eigh eigvalsh eig eigvals lu lu_factor pinv",
        a=BAD,
    ),
    *expand("mx.linalg.{f}({a})", f="det slogdet", a=BAD),
    *expand("mx.linalg.solve({a}, mx.ones(2))", a=BAD),
    *lines("""
        mx.linalg.inv(mx.ones((2, 2)))
        mx.linalg.tri_inv(mx.zeros((2, 2)))
        mx.linalg.solve(mx.ones((2, 2)), mx.ones(2))
        mx.linalg.det(mx.ones((2, 2)))
        mx.linalg.slogdet(mx.ones((2, 2)))
        mx.linalg.pinv(mx.ones((2, 3)))
        mx.linalg.pinv(A([[1.0, 0.0], [0.0, 1e-6]]))
        mx.linalg.pinv(A([[1.0, 0.0], [0.0, 3e-6]]))
        mx.linalg.svd(A([[nan, 1.0], [1.0, 2.0]]))
        mx.linalg.svd(x(f32, 2, 0))
        mx.linalg.svd(x(f32, 0, 2, 3))
        mx.grad(lambda a: mx.linalg.det(a))(x(f32, 3, 3))
        mx.grad(lambda a: mx.linalg.slogdet(a)[1])(x(f32, 3, 3))
        mx.grad(lambda a: mx.linalg.norm(a))(x(f32, 3, 3))
        mx.grad(lambda a: mx.linalg.norm(a, 1))(x(f32, 3, 3))
        mx.grad(lambda a: mx.linalg.cross(a, A([1.0, 2.0, 3.0])).sum())(x(f32, 3))
        mx.grad(lambda a: mx.linalg.inv(a).sum())(x(f32, 3, 3) + 9 * mx.eye(3))
        mx.vmap(mx.linalg.inv)(x(f32, 2, 3, 3) + 9 * mx.eye(3))
        mx.vmap(mx.linalg.det)(x(f32, 2, 3, 3))
    """),
    *expand(
        "mx.linalg.norm({a}{k})",
        a=["x(f32, 2, 3, 4)"],
        k=[
            ", 1, axis={x}",
            ", -inf, axis={x}, keepdims=True",
            ", 'fro', {x}",
            ", 'nuc', {x}",
            ", 2, {x}",
        ],
        x=["(0, 1)", "[2, 0]", "(-1, 1)", "1", "(0, 1, 2)", "(1, 1)"],
    ),
    *expand("mx.linalg.norm(x({d}, 3){k})", d="f16 bf16 u8 b8 f64", k=["", ", 1", ", inf", ", 0"]),
    *expand("mx.matrix_norm(x(f32, 3, 4){k})", k=["", ", 1", ", 'nuc'"]),
    *expand("mx.linalg.cross(x({d}, 4, 3), x({e}, 3){k})", d="f32 i32 c64", e="f32 i32", k=[""]),
    *expand(
        "mx.linalg.cross(x(f32, {a}), x(f32, {b}, s=1), axis={k})",
        a=["3, 4", "2, 4"],
        b=["3, 4", "2, 3, 4"],
        k=[0, 1, 2],
    ),
]
