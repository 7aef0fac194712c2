"""Special functions: compositions and their derivatives; ops of the table are in elementwise.py."""

from cases.table import FLOATS, In, Row

WIDE = ("float32", "float64")
ANY = In((3, 5))
PLUS = In((3, 5), 0.2, 5)
PLUS2 = In((3, 5), 0.2, 5)
PART = In((3, 5), 0.05, 0.95)
LOW = In((3, 5), -60, 4)
S = "scipy.special."


def row(call, *ins, ref="", dtypes=WIDE, ulps=16, **more):
    """The reference is SciPy's function of the same name."""
    return Row("mx.special." + call, ins, S + (ref or call), dtypes, ulps=ulps, **more)


ROWS = [
    row("gammaln(a)", In((3, 5), -4.9, 9), special=False, ulps=64),
    row("digamma(a)", In((3, 5), -4.9, 9), special=False, ulps=64),
    row("psi(a)", PLUS, special=False),
    row("gamma(a)", In((3, 5), -4.9, 9), dtypes=FLOATS, special=False, ulps=256),
    row("beta(a, b)", PLUS, PLUS2, special=False, ulps=64),
    row("betaln(a, b)", PLUS, PLUS2, special=False, ulps=64),
    row("zeta(a, b)", In((3, 5), 1.2, 6), PLUS, ulps=64, kind="flat"),
    Row("mx.special.zeta(3.5, a)", (PLUS,), "scipy.special.zeta(3.5, a)", WIDE, ulps=64,
        special=False),
    *[row(f"polygamma({n}, a)", PLUS, dtypes=WIDE, ulps=64, special=False) for n in (0, 1, 2, 5)],
    row("multigammaln(a, 3)", In((3, 5), 1.5, 9), special=False, ulps=64),
    row("erf(a)", ANY, dtypes=FLOATS),
    row("erfc(a)", ANY, dtypes=FLOATS),
    row("erfinv(a)", PART),
    row("ndtr(a)", ANY, dtypes=FLOATS),
    row("log_ndtr(a)", LOW, dtypes=FLOATS),
    row("log_ndtr(a)", In((3, 5), -2, 2)),
    row("entr(a)", In((3, 5), -0.5, 4), kind="kinked", dtypes=FLOATS),
    row("entr(a)", PLUS),
    row("kl_div(a, b)", PLUS, PLUS2, ulps=64),
    row("rel_entr(a, b)", PLUS, PLUS2, ulps=64),
    row("xlogy(a, b)", ANY, PLUS),
    row("xlog1py(a, b)", ANY, PLUS),
    row("gammainc(a, b)", PLUS, PLUS2, dtypes=FLOATS, kind="kinked", special=False, ulps=64),
    row("gammaincc(a, b)", PLUS, PLUS2, kind="kinked", special=False, ulps=64),
    row("gammainc(a, b)", In((7,), 5, 900, "float64"), In((7,), 5, 900), special=False, ulps=1024),
    row("gammaincc(a, b)", In((7,), 5, 90, "float64"), In((7,), 5, 90), special=False, ulps=1024),
    row("betainc(a, b, c)", In((7,), 0.2, 40, "float64"), In((7,), 0.2, 40, "float64"),
        In((7,), 0.02, 0.98), special=False, ulps=256, kind="flat"),
    row("betainc(2.5, 3.5, a)", In((7,), 0.02, 0.98), special=False, ulps=256),
    Row("mx.random_gamma_grad(a, b)", (In((7,), 0.2, 9), In((7,), 0.2, 9)),
        "-(scipy.special.gammainc(a + 1e-6, b) - scipy.special.gammainc(a - 1e-6, b)) / 2e-6"
        " / scipy.stats.gamma(a).pdf(b)", ("float32",), special=False, kind="flat", ulps=256),
    row("erfcx(a)", In((3, 5), -3, 9), dtypes=FLOATS, ulps=64),
    # SciPy rounds the square of a before its exponential.
    Row("mx.special.erfcx(a)", (In((3, 5), -25, -3),),
        "scipy.special.erfc(a) * np.exp(np.square(np.longdouble(a)))", WIDE, ulps=32,
        special=False),
    row("ndtri(a)", PART, dtypes=FLOATS, ulps=32),
    row("ndtri(a)", In((3, 5), 1e-9, 0.1), special=False, ulps=32),
    row("exprel(a)", ANY, dtypes=FLOATS),
    *[row(f"{name}(a)", In((3, 5), lo, hi), dtypes=FLOATS, special=False, ulps=32)
      for name in ("i0", "i0e", "i1", "i1e") for lo, hi in ((-3, 3), (-9, 60))],
    row("factorial(a)", In((3, 5), 0.1, 9), ulps=64, special=False),
    row("comb(a, b)", In((3, 5), 5, 9), In((3, 5), 0.5, 4.5), ulps=256, special=False),
    row("expit(a)", ANY, dtypes=FLOATS),
    row("log_expit(a)", LOW, dtypes=FLOATS),
    row("logit(a)", PART, ulps=64),
    row("cbrt(a)", PLUS, dtypes=FLOATS),
    Row("mx.special.sinc(a)", (ANY,), "np.sinc(a)", FLOATS, ulps=16),
    row("log_softmax(a, axis=1)", ANY, dtypes=FLOATS),
    row("softmax(a, axis=0)", ANY, dtypes=FLOATS),
    row("logsumexp(a, axis=1, keepdims=True)", ANY, dtypes=WIDE),
]  # fmt: skip
