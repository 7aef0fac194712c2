"""Control flow: loops and branches whose functions run without Python."""

from cases.table import FLOATS, INTS, In, Row

XS = In((5, 3), -0.9, 0.9)
C = In((3,), -0.9, 0.9)
FLAG = In((), 0, 1, "int32")
SUMS = "np.cumsum(b, 0) + a"
BACK = "np.cumsum(b[::-1], 0)[::-1] + a"
ANY = (*FLOATS, "complex64")


def row(expr, ins, ref, dtypes=FLOATS, **more):
    """Errors add up over the iterations."""
    return Row(expr, ins, ref, dtypes, **{"ulps": 16, **more})


ROWS = [
    row(
        "mx.scan(lambda c, x: (c + x, c + x), a, b)",
        (C, XS),
        f"(({SUMS})[-1], {SUMS})",
        (*ANY, *INTS),
    ),
    row(
        "mx.scan(lambda c, x: (c + x, c + x), a, b, reverse=True)",
        (C, XS),
        f"(({BACK})[0], {BACK})",
        ANY,
    ),
    row(
        "mx.scan(lambda c, x: (c + x, c + x), a, b, checkpoint=True)",
        (C, XS),
        f"(({SUMS})[-1], {SUMS})",
    ),
    row(
        "mx.scan(lambda c, x: (c * 0.5 + mx.sin(c * x), (c, x)), a, b)[0]",
        (C, XS),
        "[c := a, [c := c * 0.5 + np.sin(c * x) for x in b]][1][-1]",
        ulps=32,
    ),
    row(
        "mx.scan(lambda c, x: (c * mx.cos(c * x), c), a, b, checkpoint=True)[1]",
        (C, XS),
        "[c := a, np.stack([[c, c := c * np.cos(c * x)][0] for x in b])][1]",
        ulps=32,
    ),
    row(
        "mx.scan(lambda c, _: (mx.tanh(c @ b), None), a, length=4)[0]",
        (In((2, 3), -0.5, 0.5), In((3, 3), -0.5, 0.5)),
        "[c := a, [c := np.tanh(c @ b) for _ in range(4)]][1][-1]",
        ulps=32,
        exact=False,
    ),
    row("mx.scan(lambda _, x: (None, x * a), None, b)[1]", (C, XS), "b * a"),
    row(
        "mx.scan(lambda c, x: (c + mx.sum(x), c), a, b[:0])",
        (In(()), XS),
        "(a, np.zeros(0))",
        kind="kinked",
    ),
    row(
        "mx.scan(lambda c, x: (c + mx.sum(x), c), a, b[:1])",
        (In(()), XS),
        "(a + b[0].sum(), a.reshape(1))",
    ),
    row(
        "mx.scan(lambda c, x: ((c[1], c[0] + x), x), (a, a * 2), b)[0]",
        (C, XS),
        "(a * 2 + b[1] + b[3], a + b[0] + b[2] + b[4])",
    ),
    row(
        "mx.scan(lambda c, x: (c, mx.sum(mx.scan(lambda d, y: (d + y * x, d), c, b)[1], 0)), a, b)"
        "[1]",
        (C, XS),
        "np.stack([5 * a + x * (b * np.arange(4, -1, -1)[:, None]).sum(0) for x in b])",
        ulps=32,
    ),
    row("mx.map(lambda x: x @ x * a[0], b)", (C, XS), "(b * b).sum(1) * a[0]"),
    row("mx.map(lambda x: mx.sort(x)[::-1], a)", (XS,), "np.sort(a, 1)[:, ::-1]", kind="kinked"),
    row("mx.associative_scan(mx.multiply, a)", (XS,), "np.cumprod(a, 0)"),
    row(
        "mx.associative_scan(mx.add, a, axis=-1)",
        (In((3, 6)),),
        "np.cumsum(a, 1)",
        (*FLOATS, *INTS),
    ),
    row(
        "mx.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), True)[1]",
        (XS, XS),
        "[c := 0 * b[0], np.stack([c := x * c + y for x, y in zip(a[::-1], b[::-1])])[::-1]][1]",
    ),
    row(
        "mx.fori_loop(1, 4, lambda i, x: x * b + i, a)",
        (C, C),
        "((a * b + 1) * b + 2) * b + 3",
        (*FLOATS,),
        ulps=32,
    ),
    row(
        "mx.cond(c, lambda x, y: x * y, lambda x, y: x - y, a, b)",
        (XS, XS, FLAG),
        "a * b if c else a - b",
    ),
    row(
        "mx.cond(c, lambda: mx.exp(a), lambda: b * a)", (XS, XS, FLAG), "np.exp(a) if c else b * a"
    ),
    row(
        "mx.switch(b, [mx.sin, mx.cos, lambda x: x], a)",
        (XS, In((), -1, 3, "int32")),
        "[np.sin, np.cos, lambda x: x][min(max(int(b), 0), 2)](a)",
    ),
    row(
        "mx.while_loop(lambda v: v[0] < b, lambda v: (v[0] + 1, v[1] + v[1]), (mx.array(0), a))[1]",
        (XS, In((), 0, 4, "int32")),
        "a * 2.0 ** int(b)",
        kind="flat",
    ),
    row(
        "mx.while_loop(lambda x: mx.sum(mx.abs(x)) < 100, lambda x: x * 2 + 1, a)",
        (In((3,), 1, 3, "int32"),),
        "[x := a, [x := x * 2 + 1 for _ in range(9) if np.abs(x).sum() < 100], x][2]",
        ("int32",),
        kind="flat",
    ),
    row(
        "mx.fori_loop(0, b, lambda i, x: x * 2 + i, a)",
        (In((3,), 0, 3, "int32"), In((), 0, 4, "int32")),
        "[x := a, [x := x * 2 + i for i in range(int(b))], x][2]",
        ("int32",),
        kind="flat",
    ),
]
