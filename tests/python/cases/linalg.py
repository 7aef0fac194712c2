"""Linear algebra: values, and where factors are not unique, what they must multiply to."""
# ruff: noqa: E501

from cases.table import In, Row

U = (-1, 1)
REAL = ("float32", "float64")
# The complex matrix with the real matrices a and b as parts, in their precision.
Z = "(a + b * mx.array(1j, mx.complex128 if a.dtype == mx.float64 else mx.complex64))"
NZ = "(a + 1j * b)"
ADJOINT = "mx.conj(mx.swapaxes({}, -1, -2))"
EYE = "mx.eye({n}, dtype={m}.dtype)"


def numpy_form(expr):
    """An expression in mx as the same one in NumPy."""
    for mine, theirs in [(".dtype)", ".dtype)"), ("mx.conj", "np.conj"), ("mx.", "np.")]:
        expr = expr.replace(mine, theirs)
    return expr


def row(expr, *shapes, ref="", **more):
    """A row whose error is measured against the largest result.

    M and N in `expr` and `ref` are a well-conditioned and a positive definite matrix made of the
    first input, Z and H a general and a Hermitian one with the first two as real and imaginary
    parts.
    """
    ins = tuple(In(s, *U) if isinstance(s, tuple) else s for s in shapes)
    ref = ref or numpy_form(expr)
    n = shapes[0][-1] if isinstance(shapes[0], tuple) and shapes[0] else 0
    eye = EYE.format(n=n, m="a")
    regular = f"(a + {n} * {eye})"
    definite = f"(a @ mx.swapaxes(a, -1, -2) + {n} * {eye})"
    hermitian = f"(lambda z: z + {ADJOINT.format('z')} + {4 * n} * {eye})"
    for name, mine, theirs in [
        ("MM", regular, numpy_form(regular)),
        ("NN", definite, numpy_form(definite)),
        ("HH", f"{hermitian}({Z})", f"{numpy_form(hermitian)}({NZ})"),
        ("ZZ", Z, NZ),
    ]:
        expr, ref = expr.replace(name, mine), ref.replace(name, theirs)
    return Row(expr, ins, ref, **{"ulps": 400, "exact": False, "dtypes": REAL, **more})


def parts(expr):
    """Real and imaginary part of a complex result: derivatives are tested of real ones."""
    return f"(lambda r: [mx.real(r), mx.imag(r)])({expr})"


FACTORS = [
    *[row("mx.linalg.cholesky(NN)", s) for s in [(4, 4), (1, 1), (2, 3, 3), (0, 3, 3), (0, 0)]],
    row(
        "mx.linalg.cholesky(NN, upper=True)",
        (2, 4, 4),
        ref="np.swapaxes(np.linalg.cholesky(NN), -1, -2)",
    ),
    row(parts("mx.linalg.cholesky(HH)"), (3, 3), (3, 3)),
    row(
        parts("mx.linalg.cholesky(HH, upper=True)"),
        (3, 3),
        (3, 3),
        ref="(lambda r: [r.T.real, -r.T.imag])(np.linalg.cholesky(HH))",
    ),
    row("mx.linalg.cholesky_inv(mx.linalg.cholesky(NN))", (2, 4, 4), ref="np.linalg.inv(NN)"),
    row(
        "mx.linalg.cholesky_inv(mx.linalg.cholesky(NN, True), True)",
        (3, 3),
        ref="np.linalg.inv(NN)",
    ),
    # The signs of the factors are LAPACK's here and there.
    *[row("mx.linalg.qr(a)", s) for s in [(4, 4), (6, 3), (2, 3, 5), (1, 1), (4, 1), (0, 3, 2)]],
    row("mx.linalg.qr(mx.swapaxes(a, 0, 1))", (3, 6)),
    row("(lambda q, r: q @ r)(*mx.linalg.qr(a))", (2, 5, 4), ref="a"),
    row("(lambda q, r: q.T @ q)(*mx.linalg.qr(a))", (5, 4), ref="np.eye(4)"),
    *[
        row(f"(lambda q, r: {parts('q')} + {parts('r')})(*mx.linalg.qr(ZZ))", s, s)
        for s in [(4, 3), (3, 3), (3, 5)]
    ],
    *[
        row(
            "mx.linalg.lu(a)[1:]",
            s,
            ref="scipy.linalg.lu(a, p_indices=True)[1:]",
            ulps=2000,
        )
        for s in [(4, 4), (5, 3), (3, 5), (2, 3, 3), (1, 1)]
    ],
    row(
        "mx.linalg.lu(a)[0]",
        (5, 5),
        ref="scipy.linalg.lu(a, p_indices=True)[0]",
        kind="flat",
    ),
    row("mx.linalg.lu_factor(a)", (4, 4), ref="scipy.linalg.lu_factor(a)"),
    row(
        "(lambda p, l, u: mx.real(l @ u))(*mx.linalg.lu(ZZ))",
        (3, 3),
        (3, 3),
        ref="(lambda p, l, u: (l @ u).real)(*scipy.linalg.lu(NZ, p_indices=True))".replace(
            "NZ", NZ
        ),
    ),
]

SOLUTIONS = [
    *[
        row("mx.linalg.inv(MM)", s)
        for s in [(4, 4), (1, 1), (2, 3, 3), (0, 3, 3), (0, 0), (33, 33)]
    ],
    row(parts("mx.linalg.inv(ZZ)"), (3, 3), (3, 3), ulps=4000),
    *[
        row("mx.linalg.solve(MM, b)", *s)
        for s in [
            ((4, 4), (4, 2)),
            ((2, 3, 3), (2, 3, 2)),
            ((2, 3, 3), (3, 1)),
            ((3, 3), (2, 2, 3, 1)),
            ((1, 1), (1, 1)),
            ((3, 3), (3, 0)),
            ((0, 3, 3), (3, 2)),
        ]
    ],
    row("mx.linalg.solve(MM, b)", (4, 4), (4,)),
    row("mx.linalg.solve(MM.T, b.T)", (4, 4), (2, 4)),
    row(parts("mx.linalg.solve(ZZ, a)"), (3, 3), (3, 3), ulps=4000),
    *[
        row(
            f"mx.linalg.solve_triangular(MM, b{', upper=True' if t == 'u' else ''})",
            *s,
            ref=f"np.linalg.solve(np.tri{t}(MM), b)",
        )
        for t in "lu"
        for s in [((4, 4), (4, 2)), ((2, 3, 3), (3, 2)), ((4, 4), (4,))]
    ],
    row("mx.linalg.tri_inv(MM)", (2, 4, 4), ref="np.linalg.inv(np.tril(MM))"),
    row("mx.linalg.tri_inv(MM, True)", (3, 3), ref="np.linalg.inv(np.triu(MM))"),
    row(
        parts("mx.linalg.tri_inv(ZZ, True)"),
        (3, 3),
        (3, 3),
        ref="(lambda r: [r.real, r.imag])(np.linalg.inv(np.triu(ZZ)))",
        ulps=4000,
    ),
    *[row("mx.linalg.pinv(a)", s, ulps=4000) for s in [(5, 3), (3, 5), (4, 4), (2, 3, 2)]],
    row(
        "mx.linalg.pinv(a @ b)",
        (5, 2),
        (2, 4),
        ref="np.linalg.pinv(a @ b, rcond=1e-5)",
        ulps=4000,
        kind="flat",
    ),
    row("mx.linalg.pinv(mx.eye(3, dtype=a.dtype) + 0 * a)", (3, 3)),
    row(parts("mx.linalg.pinv(ZZ)"), (4, 2), (4, 2), ulps=4000),
    *[
        row(
            "mx.linalg.lstsq(a, b)",
            *s,
            ref="(lambda x, r, n, v: [x, np.sum((b - a @ x) ** 2, 0), n, v])(*np.linalg.lstsq(a, b))",
            ulps=20000,
        )
        for s in [((5, 3), (5, 2)), ((4, 3), (4,))]
    ],
    row("mx.linalg.lstsq(a, b)[0]", (3, 5), (3, 2), ref="np.linalg.lstsq(a, b)[0]", ulps=20000),
]

SPECTRA = [
    *[
        row("mx.linalg.svd(a, False)", s, ref="np.linalg.svd(a, compute_uv=False)")
        for s in [(4, 5), (5, 3), (2, 3, 3), (0, 2), (2, 0), (1, 1)]
    ],
    row("mx.linalg.svd(ZZ, False)", (3, 4), (3, 4), ref="np.linalg.svd(ZZ, compute_uv=False)"),
    *[
        row(
            f"(lambda u, s, v: [s, (u[..., :{k}] * s[..., None, :]) @ v[..., :{k}, :]])(*mx.linalg.svd(a))",
            s,
            ref="[np.linalg.svd(a, compute_uv=False), a]",
        )
        for s, k in [((4, 4), 4), ((5, 3), 3), ((2, 3, 5), 3)]
    ],
    # Results that do not depend on signs: projections, and parts of columns beside one another.
    *[
        row(
            "(lambda u, s, v: [u[:, :2] @ u[:, :2].T, v[:2].T @ v[:2], u[:, :1] @ v[:1], u[:, 3:] @ u[:, 3:].T, v[3:].T @ v[3:]])(*mx.linalg.svd(a))",
            s,
            ulps=4000,
        )
        for s in [(4, 4), (5, 4), (4, 6)]
    ],
    row("(lambda u, s, v: [abs(u.T @ u), abs(v @ v.T)])(*mx.linalg.svd(a))", (5, 3), kind="kinked"),
    *[
        row(f"(lambda u, s, v: {parts('u[:, :1] @ v[:1]')})(*mx.linalg.svd(ZZ))", s, s, ulps=4000)
        for s in [(3, 3), (4, 3), (3, 5)]
    ],
    *[row(f"mx.linalg.eigvalsh(a @ a.T{u})", (4, 4)) for u in ("", ", 'U'")],
    row("mx.linalg.eigvalsh(HH)", (2, 3, 3), (2, 3, 3)),
    row("mx.linalg.eigvalsh(a)", (3, 4, 4), ref="np.linalg.eigvalsh(a)", kind="flat"),
    row("mx.linalg.eigvalsh(a, 'U')", (4, 4), kind="flat"),
    *[
        row(
            f"(lambda w, v: [w, v[:, :1] @ v[:, :1].T, (v * w) @ v.T])(*mx.linalg.eigh(a + a.T{u}))",
            (4, 4),
            ulps=4000,
        )
        for u in ("", ", 'U'")
    ],
    row(
        f"(lambda w, v: [w] + {parts('v[:, 1:2] @ mx.conj(v[:, 1:2].T)')})(*mx.linalg.eigh(HH))",
        (3, 3),
        (3, 3),
        ulps=4000,
    ),
    row("(lambda w, v: v.T @ v)(*mx.linalg.eigh(a + a.T))", (4, 4), ref="np.eye(4)"),
    row(
        "(lambda w, v: [mx.real(w), mx.real(v), mx.imag(v)])(mx.linalg.eigvals(MM), mx.linalg.eig(MM)[1])",
        (1, 1),
    ),
    row("[mx.sum(mx.real(w * w * w)) for w in [mx.linalg.eigvals(a)]]", (4, 4), ulps=4000),
    row(
        "[mx.sum(mx.real(w * w)) for w, v in [mx.linalg.eig(a)]] + [mx.abs(v @ (w[:, None] * mx.linalg.inv(v)) - a) + 1 for w, v in [mx.linalg.eig(a)]]",
        (4, 4),
        ref="[np.trace(a @ a), np.ones((4, 4))]",
        ulps=4000,
        kind="flat",
    ),
    # Vectors are of length 1 with a real largest component here and there; distinct real values.
    row(
        "[mx.real(v * mx.conj(v)) for w, v in [mx.linalg.eig(a @ a.T + mx.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]], dtype=a.dtype))]]",
        (3, 3),
        ref="[np.real(v * np.conj(v)) for w, v in [np.linalg.eig(a @ a.T + np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]]))]]",
        ulps=4000,
    ),
    row(
        "[mx.real(v * mx.conj(v)) for w, v in [mx.linalg.eig(ZZ)]]",
        (3, 3),
        (3, 3),
        ulps=4000,
    ),
]

FUNCTIONS = [
    *[row("mx.linalg.det(a)", s) for s in [(4, 4), (1, 1), (2, 3, 3), (0, 0), (0, 2, 2)]],
    row(
        "mx.linalg.det(a)",
        (3, 3),
        dtypes=("int32", "int8", "uint8"),
        ref="np.linalg.det(a)",
        kind="flat",
    ),
    row(parts("mx.linalg.det(ZZ)"), (3, 3), (3, 3)),
    # The derivative of the determinant exists at singular matrices too.
    row("1 + mx.linalg.det(a @ b)", (3, 2), (2, 3), kind="kinked"),
    row("1 + mx.linalg.det(0 * a)", (3, 3), kind="kinked"),
    row("mx.linalg.slogdet(MM)", (4, 4)),
    row("mx.linalg.slogdet(a)", (2, 3, 3)),
    row(f"(lambda s, l: {parts('s')} + [l])(*mx.linalg.slogdet(ZZ))", (3, 3), (3, 3)),
    *[
        row("mx.linalg.expm(a)", s, ref="scipy.linalg.expm(a)", ulps=2000)
        for s in [(4, 4), (2, 3, 3), (1, 1)]
    ],
    *[
        row(f"mx.linalg.expm({f} * a)", (3, 3), ref=f"scipy.linalg.expm({f} * a)", ulps=4000)
        for f in (0.01, 0.3, 1.5, 8)
    ],
    row(
        parts("mx.linalg.expm(ZZ)"),
        (3, 3),
        (3, 3),
        ref="(lambda r: [r.real, r.imag])(scipy.linalg.expm(ZZ))",
        ulps=2000,
    ),
    *[row(f"mx.linalg.matrix_power(MM, {n})", (2, 3, 3)) for n in (0, 1, 3, 6, -2)],
    row(
        "mx.linalg.matrix_rank(a @ b)",
        (5, 2),
        (2, 4),
        ref="np.linalg.matrix_rank(a @ b, tol=1e-4)",
        kind="flat",
    ),
    row(
        "mx.linalg.matrix_rank(a, 1.0)", (3, 4, 4), ref="np.linalg.matrix_rank(a, 1.0)", kind="flat"
    ),
    *[
        row(f"mx.linalg.norm(a{k})", (4, 5), ulps=16)
        for k in (
            "",
            ", axis=1",
            ", ord=1, axis=0",
            ", ord=3, axis=1",
            ", ord=-2, axis=0",
            ", axis=(0, 1), keepdims=True",
            ", ord='fro'",
        )
    ],
    *[
        row(f"mx.linalg.norm(a{k})", (4, 5), ulps=64, kind="kinked")
        for k in (
            ", ord=float('inf'), axis=1",
            ", ord=-float('inf'), axis=0",
            ", ord=0, axis=0",
            ", ord=1, axis=(0, 1)",
            ", ord=-1",
            ", ord=float('inf')",
            ", ord=-float('inf'), axis=(1, 0)",
            ", ord=2",
            ", ord=-2, axis=(1, 0)",
            ", ord='nuc', keepdims=True",
        )
    ],
    *[
        row(f"mx.linalg.norm(a{k})", (2, 4, 3), ulps=64, kind="kinked")
        for k in (
            ", 2, axis=(0, 2)",
            ", 'nuc', axis=(2, 0), keepdims=True",
            ", 1, axis=(2, 0)",
            ", -1, axis=(-1, 1), keepdims=True",
            ", float('inf'), axis=(0, 1)",
        )
    ],
    row(
        "mx.linalg.norm(a)",
        (2, 3, 4),
        dtypes=(*REAL, "float16", "bfloat16", "int32"),
        ulps=16,
        ref="np.sqrt(np.sum(a * a))",
    ),
    row("mx.matrix_norm(a, 'nuc')", (3, 4), ref="np.linalg.norm(a, 'nuc')", ulps=64),
    *[
        row(f"mx.linalg.norm(ZZ, {o})", (3, 4), (3, 4), ulps=64, kind="kinked")
        for o in ("1", "2", "'fro'", "None")
    ],
    *[
        row("mx.linalg.cross(a, b)", *s, ulps=8, ref="np.cross(a, b)")
        for s in [((4, 3), (4, 3)), ((3,), (3,)), ((4, 3), (3,))]
    ],
    row(
        "mx.linalg.cross(a, b)",
        (2, 2),
        (2, 3),
        ulps=8,
        ref="np.cross(np.pad(a, [(0, 0), (0, 1)]), b)",
    ),
    row("mx.linalg.cross(a, b, axis=0)", (3, 4), (3, 4), ulps=8, ref="np.cross(a, b, axis=0)"),
]

ROWS = [*FACTORS, *SOLUTIONS, *SPECTRA, *FUNCTIONS]
