"""Functions of NumPy beside MLX's: numbers, statistics, arrangements, curves."""

from cases.table import FLOATS, INTS, REAL, In, Row, grid

WIDE = ("float32", "float64")
A = In((3, 5))
B = In((3, 5))
P = In((3, 5), 0.5, 4)
CUBE = In((2, 3, 4))
V = In((6,))
# A fifth of the elements are NaN.
HOLES = "mx.where(mx.abs(a) < 0.6, mx.nan, a)"
SAFE = In((7, 9), -3, 3)
X = "mx.array([0.0, 0.5, 1.5, 1.75, 4.0, 7.0], a.dtype)"
XN = "np.array([0.0, 0.5, 1.5, 1.75, 4.0, 7.0])"


def nan_rows(name, tail="", dtypes=WIDE, **more):
    """A function of NumPy that leaves out NaN, over axes and all elements."""
    for axis in (0, 1, None):
        inner = HOLES.replace("mx.", "np.")
        yield Row(
            f"mx.{name}({HOLES}, axis={axis}{tail})",
            (SAFE,),
            f"np.{name}({inner}, axis={axis}{tail})",
            dtypes,
            special=False,
            **more,
        )


def quantile_rows():
    """Methods, axes, probabilities of several shapes, NaN."""
    for method in ("linear", "lower", "higher", "nearest", "midpoint"):
        yield Row(
            f"mx.quantile(a, [0.0, 0.3, 0.77, 1.0], axis=1, method='{method}')",
            (CUBE,), dtypes=WIDE, kind="kinked", special=False,
        )  # fmt: skip
    for q, axis, keep in ((0.5, None, False), (0.25, (0, 2), True), ([[0.1], [0.9]], -1, True)):
        call = f"quantile(a, {q}, axis={axis}, keepdims={keep})"
        yield Row(f"mx.{call}", (CUBE,), dtypes=(*WIDE, "int32"), kind="kinked", special=False)
    yield Row("mx.percentile(a, [10, 60], axis=0)", (CUBE,), dtypes=WIDE, kind="kinked",
              special=False)  # fmt: skip
    yield Row("mx.quantile(a, 0.5)", (In((1,)),), dtypes=WIDE, special=False)
    holes = HOLES.replace("mx.", "np.")
    yield Row(
        f"mx.isnan(mx.quantile({HOLES}, 0.3, axis=0))",
        (SAFE,),
        f"np.isnan(np.quantile({holes}, 0.3, axis=0))",
        WIDE,
        kind="flat",
        special=False,
    )


ROWS = [
    Row("mx.exp2(a)", (A,), dtypes=FLOATS),
    Row("mx.fmax(a, b)", (A, B), dtypes=REAL[:-1], kind="kinked"),
    Row("mx.fmin(a, b)", (A, B), dtypes=REAL[:-1], kind="kinked"),
    Row(f"mx.fmax({HOLES}, b)", (A, B), f"np.fmax({HOLES.replace('mx.', 'np.')}, b)", WIDE,
        kind="kinked"),
    Row("mx.fmod(a, b)", (In((3, 5), -9, 9), P), dtypes=FLOATS, kind="kinked"),
    Row("mx.fmod(a, b)", (In((3, 5), -90, 90), In((3, 5), 1, 9)), dtypes=INTS, kind="flat"),
    Row("mx.fmod(a, -b)", (In((3, 5), -90, 90), In((3, 5), 1, 9)), dtypes=("int32", "int64"),
        kind="flat"),
    Row("mx.heaviside(a, b)", (In((3, 5), -2, 2, "int32"), B), dtypes=WIDE, kind="kinked"),
    Row("mx.lcm(a, b)", (In((3, 5), -9, 9), In((3, 5), 1, 9)), dtypes=INTS, kind="flat"),
    Row("mx.logaddexp2(a, b)", (A, B), dtypes=FLOATS),
    Row("mx.angle(a)", (A,), dtypes=(*WIDE, "complex64"), kind="flat"),
    Row("mx.sinc(a)", (A,), dtypes=FLOATS, ulps=8),
    *nan_rows("nansum", ulps=64),
    *nan_rows("nanprod", ulps=16),
    *nan_rows("nanmean", ulps=64),
    *nan_rows("nanmax", kind="kinked"),
    *nan_rows("nanmin", kind="kinked"),
    *nan_rows("nanmedian", kind="kinked"),
    *nan_rows("nanvar", ulps=16),
    *nan_rows("nanstd", ", ddof=1", ulps=16),
    *nan_rows("nanargmax", kind="flat"),
    *nan_rows("nanargmin", kind="flat"),
    *nan_rows("nancumsum", ulps=16),
    *nan_rows("nancumprod", ulps=32),
    Row("mx.nanmean(a, axis=0, keepdims=True)", (A,), dtypes=("float16", "int32", "complex64")),
    *quantile_rows(),
    Row(f"mx.nanquantile({HOLES}, [0.2, 0.5], axis=1)", (SAFE,),
        f"np.nanquantile({HOLES.replace('mx.', 'np.')}, [0.2, 0.5], axis=1)", WIDE,
        kind="kinked", special=False),
    Row("mx.ptp(a, axis=1)", (A,), kind="kinked"),
    Row("mx.average(a, axis=0)", (A,), dtypes=(*FLOATS, "int32")),
    Row("mx.average(a, axis=1, weights=b)", (A, In((5,), 0.5, 2)), dtypes=WIDE),
    Row("mx.average(a, weights=b, returned=True)", (A, P), dtypes=WIDE),
    *[Row(f"mx.cov(a{tail})", (A,), dtypes=(*WIDE, "complex64"), ulps=16, exact=False)
      for tail in ("", ", rowvar=False", ", bias=True", ", ddof=0")],
    Row("mx.cov(a, b)", (V, In((6,))), dtypes=WIDE, ulps=16, exact=False),
    Row("mx.corrcoef(a)", (A,), dtypes=WIDE, ulps=32, exact=False),
    *[Row(f"mx.{name}([a, b])", (shape, shape), dtypes=("float32", "int8", "complex64"))
      for name in ("vstack", "hstack", "dstack", "column_stack")
      for shape in (V, A, CUBE)],
    Row("mx.append(a, b, axis=0)", (A, B)),
    Row("mx.append(a, b)", (A, V)),
    Row("mx.vsplit(a, [1])", (A,)),
    Row("mx.hsplit(a, [1, 3])", (A,)),
    Row("mx.hsplit(a, 2)", (V,)),
    Row("mx.dsplit(a, 2)", (CUBE,)),
    *[Row(f"mx.array_split(a, {n}, axis={x})", (A,)) for n, x in ((2, 0), (3, 1), (7, -1))],
    Row("mx.flipud(a)", (V,)),
    Row("mx.fliplr(a)", (CUBE,)),
    *[Row(f"mx.rot90(a, {k}, axes={x})", (CUBE,))
      for k in (-1, 0, 1, 2, 3) for x in ((0, 1), (2, 0))],
    Row("mx.ravel(a)", (CUBE,)),
    Row("mx.diagflat(a, 1)", (V,)),
    Row("mx.copy(a)", (A,)),
    *[Row(f"mx.insert(a, {at}, b, axis=1)", (A, In((3, n))), f"np.insert(a, {at}, b, axis=1)")
      for at, n in (([0, 2], 2), ([5, 1, 1], 3), ([-1], 1))],
    Row("mx.insert(a, 2, b)", (V, In((3,)))),
    *[Row(f"mx.delete(a, {at}, axis={x})", (A,)) for at, x in ((1, 0), ([0, -1], 1), (7, None))],
    *[Row(f"a[mx.{n}_indices(3, {k}, 5)]", (A,), f"a[np.{n}_indices(3, {k}, 5)]")
      for n in ("tril", "triu") for k in (-1, 0, 2)],
    Row("a[mx.triu_indices_from(a, 1)]", (A,), "a[np.triu_indices_from(a, 1)]"),
    Row("a[mx.diag_indices(3)]", (A,), "a[np.diag_indices(3)]"),
    Row("mx.indices((2, 3, 4)) * a", (In((4,)),), "np.indices((2, 3, 4)) * a"),
    Row("mx.unravel_index(a, (3, 4, 5))", (In((7,), 0, 59),), dtypes=("int32", "uint8", "int64"),
        kind="flat"),
    Row("mx.ravel_multi_index([a, b], (5, 6))", (In((7,), 0, 4), In((7,), 0, 5)),
        dtypes=("int32", "uint8", "int64"), kind="flat"),
    Row("mx.lexsort([a, b])", (In((9,), 0, 2), In((9,), 0, 2)), dtypes=("int32",), kind="flat"),
    Row("mx.lexsort([a, b], axis=0)", (In((5, 4)), In((5, 4), 0, 2, "int32")), dtypes=WIDE,
        kind="flat"),
    Row("mx.select([a < -1, a < 1], [a * 2, b], 0)", (A, B), dtypes=WIDE, kind="kinked"),
    Row("mx.logspace(-1, 2, 7) * a", (In((7,)),), "np.logspace(-1, 2, 7) * a", ("float32",)),
    Row("mx.geomspace(-2, -64, 6, dtype=mx.float64) * a", (V,), "np.geomspace(-2, -64, 6) * a",
        ("float64",)),
    Row("mx.geomspace(1, 8, 6, endpoint=False) * a", (V,),
        "np.geomspace(1, 8, 6, endpoint=False) * a", ("float32",)),
    Row(f"mx.interp(a, {X}, b)", (In((3, 4), -2, 9), V), f"np.interp(a, {XN}, b)", WIDE,
        kind="kinked", ulps=16),
    Row(f"mx.interp(a, {X}, b, left=-7, right=c)", (In((9,), -2, 9), V, In(())),
        f"np.interp(a, {XN}, b, left=-7, right=c)", WIDE, kind="kinked", ulps=16),
    Row("mx.interp(a, b, c)", (V, In((1,)), In((1,))), dtypes=WIDE, kind="kinked"),
    Row("mx.gradient(a)", (A,), dtypes=(*WIDE, "complex64"), ulps=8),
    Row("mx.gradient(a, 0.5, axis=1)", (CUBE,), dtypes=WIDE, ulps=8),
    Row(f"mx.gradient(a, {X}, axis=1)", (In((2, 6)),), f"np.gradient(a, {XN}, axis=1)", WIDE,
        ulps=16),
    Row("mx.gradient(a, 2.0, 0.5, axis=(0, 2))", (CUBE,), dtypes=WIDE, ulps=8),
    Row("mx.trapezoid(a, dx=0.5, axis=0)", (A,), dtypes=(*FLOATS, "int32")),
    Row("mx.trapezoid(a, b)", (A, In((5,))), dtypes=WIDE, ulps=16),
    Row("mx.trapezoid(a, b, axis=0)", (A, B), dtypes=WIDE, ulps=16),
    Row("mx.unwrap(a * 3, axis=0)", (In((8, 3)),), dtypes=WIDE, kind="kinked", ulps=16,
        special=False),
    Row("mx.unwrap(a * 90, period=360, discont=200)", (In((3, 8)),), dtypes=WIDE, kind="kinked",
        ulps=16, special=False),
    *[Row(f"mx.digitize(a, mx.array({bins}), right={r})", (In((3, 5), -1, 5),),
          f"np.digitize(a, np.array({bins}), right={r})", (*WIDE, "int32"), kind="flat")
      for bins in ([0, 1, 2, 4], [4, 2, 1, 0], [2]) for r in (False, True)],
    Row("mx.polyval(a, b)", (In((4,)), A), dtypes=(*WIDE, "int32", "complex64"), ulps=16),
    Row("mx.polyfit(a, b, 2)", (V, In((6,))), dtypes=WIDE, ulps=4096, exact=False, batched=False,
        kind="flat", special=False),
    Row("mx.polyfit(a, b, 1, w=c)", (V, In((6, 2)), In((6,), 0.5, 2)), dtypes=WIDE, ulps=4096,
        exact=False, batched=False, kind="flat", special=False),
    *[Row(f"mx.vander(a{tail})", (V,), dtypes=("float32", "int32", "complex64"), ulps=8)
      for tail in ("", ", 3", ", 4, increasing=True")],
    *[Row(f"mx.dot(a, {b})", (A,), dtypes=WIDE, exact=False) for b in ("a.T", "2.0")],
    Row("mx.vdot(a, b)", (A, B), dtypes=(*WIDE, "complex64"), ulps=16),
    Row("mx.cross(a, b)", (In((4, 3)), In((4, 3))), dtypes=WIDE, ulps=8),
    *[Row(e, (A,), kind="flat", dtypes=WIDE) for e in grid("mx.{n}(a)", n="fix absolute fabs")],
    Row("mx.amax(a, axis=0)", (A,), kind="kinked"),
    Row("mx.deg2rad(a)", (A,), dtypes=WIDE),
]  # fmt: skip
