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


SET = In((12,), 0, 6)
GRID = "([0.0, 1.0, 2.5, 4.0], [0.0, 2.0, 4.0])"


def set_rows():
    """Sets of integers and floats, whose lengths depend on values."""
    more = {"kind": "flat", "batched": False, "traced": False, "special": False}
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        for other in (In((5,), 2, 9), In((0,)), In((2, 3), 0, 3)):
            yield Row(f"mx.{name}(a, b)", (SET, other), dtypes=(*INTS, "float32"), **more)
    yield Row("mx.intersect1d(a, b, return_indices=True)", (SET, In((5,), 2, 9)), dtypes=INTS,
              **more)  # fmt: skip
    for trim in ("fb", "f", "b"):
        yield Row(f"mx.trim_zeros(mx.where(a > 1, 0, a), '{trim}')", (SET,),
                  f"np.trim_zeros(np.where(a > 1, 0, a), '{trim}')", ("int32", "float32"),
                  **more)  # fmt: skip


def polynomial_rows():
    """Arithmetic of coefficients."""
    types = (*WIDE, "int32", "complex64")
    for name in ("polyadd", "polysub", "polymul"):
        for n, m in ((4, 2), (1, 3), (3, 3)):
            yield Row(f"mx.{name}(a, b)", (In((n,), 1, 4), In((m,), 1, 4)), dtypes=types, ulps=16)
    yield Row("mx.polydiv(a, b)", (In((5,), 1, 4), In((3,), 1, 4)), dtypes=WIDE, ulps=256)
    yield Row("mx.polydiv(a, b)[0]", (In((2,), 1, 4), In((3,), 1, 4)), dtypes=WIDE)
    for m in (0, 1, 2):
        yield Row(f"mx.polyder(a, {m})", (In((4,)),), dtypes=types)
        yield Row(f"mx.polyint(a, {m}, mx.arange(1, {m + 1}))", (In((4,)),),
                  f"np.polyint(a, {m}, np.arange(1, {m + 1}) if {m} else None)",
                  (*WIDE, "complex64"))  # fmt: skip
    yield Row("mx.poly(a)", (In((4,)),), dtypes=(*WIDE, "complex64"), ulps=16)
    yield Row("mx.poly(a)", (In((3, 3)),), dtypes=WIDE, ulps=512, kind="flat", exact=False,
              special=False)  # fmt: skip
    yield Row("mx.sort(mx.abs(mx.roots(a)))", (In((4,), 1, 4),), "np.sort(np.abs(np.roots(a)))",
              WIDE, ulps=512, kind="flat", exact=False, special=False)  # fmt: skip


def part_rows():
    """Bits of integers, exponents and fractions of floats, bytes of bits."""
    yield Row("mx.bitwise_count(a)", (In((3, 5), -90, 90),), dtypes=INTS, kind="flat")
    yield Row("mx.frexp(a)", (In((3, 5), -900, 900),), dtypes=FLOATS, kind="flat")
    yield Row("mx.frexp(a)[0]", (In((3, 5), 0.3, 900),), "np.frexp(a)[0]", ("float64",))
    yield Row("mx.modf(a)", (In((3, 5), -9, 9),), dtypes=FLOATS, kind="kinked")
    yield Row("mx.ldexp(a, b)", (A, In((3, 5), -8, 8, "int32")), dtypes=FLOATS, special=False)
    yield Row("mx.ldexp(a, b)", (A, In((3, 5), -140, 120, "int32")), dtypes=WIDE, special=False,
              kind="flat")  # fmt: skip
    yield Row("mx.spacing(a)", (A,), dtypes=("float64",), kind="flat", special=False)
    yield Row("mx.float_power(a, b)", (P, B), dtypes=(*WIDE, "complex64"), ulps=16)
    yield Row("mx.packbits(a > 0, axis=1)", (In((3, 11)),), "np.packbits(a > 0, axis=1)",
              ("float32", "int8"), kind="flat")  # fmt: skip
    yield Row("mx.packbits(a, bitorder='little')", (In((3, 4), 0, 1),), dtypes=("uint8", "int32"),
              ref="np.packbits(a != 0, bitorder='little')", kind="flat")  # fmt: skip
    for tail in ("", ", axis=0, bitorder='little'", ", axis=1, count=11", ", count=-3"):
        yield Row(f"mx.unpackbits(a{tail})", (In((2, 3), 0, 255),), dtypes=("uint8",), kind="flat",
                  ref=f"np.unpackbits(a.astype(np.uint8){tail})")  # fmt: skip


def arrangement_rows():
    """Shapes, grids, blocks, choices."""
    for axis, start in ((2, 0), (0, 3), (1, -1)):
        yield Row(f"mx.rollaxis(a, {axis}, {start})", (CUBE,))
    for shape in ((2, 4), (7, 5), 0):
        yield Row(f"mx.resize(a, {shape})", (A,))
    yield Row("a[mx.ix_(b, mx.array([4, 0]))]", (A, In((3,), 0, 2, "int32")),
              "a[np.ix_(b, np.array([4, 0]))]")  # fmt: skip
    yield Row("mx.block([[a, b], [c]])", (A, In((3, 2)), In((1, 7))), dtypes=("float32", "int8"))
    yield Row("mx.block([a, b])", (V, In((2,))))
    yield Row("mx.block([[[a]], [[b]]])", (A, B))
    yield Row("mx.ediff1d(a)", (A,))
    yield Row("mx.ediff1d(a, to_end=b, to_begin=1)", (V, In((2,))))
    for mode in ("clip", "wrap"):
        yield Row(f"mx.choose(a, [b, c], mode='{mode}')",
                  (In((3, 5), -2, 4, "int32"), A, In((5,))))  # fmt: skip
    for name, shapes in (("matvec", ((2, 3, 4), (4,))), ("vecmat", ((3,), (2, 3, 4)))):
        yield Row(f"mx.{name}(a, b)", tuple(In(s) for s in shapes),
                  dtypes=(*WIDE, "complex64"), ulps=16, exact=False)  # fmt: skip
    yield Row("mx.array_equiv(a, b)", (In((3, 1), 0, 0), In((3,), 0, 0)), kind="flat")
    # A constant, which vmap repeats on the default stream.
    yield Row("mx.array_equiv(a, b)", (In((3, 2)), In((4,))), kind="flat", batched=False)
    yield Row("[mx.iscomplex(a), mx.isreal(a)]", (A,), dtypes=("float32", "int32", "complex64"),
              kind="flat")  # fmt: skip
    yield Row("mx.sort_complex(a)", (In((6,)),), dtypes=(*WIDE, "complex64"), kind="flat")
    yield Row("a[mx.diag_indices_from(a)]", (In((3, 3)),), "a[np.diag_indices_from(a)]")
    yield Row("mx.apply_along_axis(lambda v: v[:2] * v.sum(), 1, a)", (CUBE,),
              "np.apply_along_axis(lambda v: v[:2] * v.sum(), 1, a)", WIDE, ulps=16)  # fmt: skip
    yield Row("mx.apply_along_axis(lambda v: v[:, None] * v, 0, a)", (A,),
              "np.apply_along_axis(lambda v: v[:, None] * v, 0, a)", WIDE)  # fmt: skip
    yield Row("mx.fromfunction(lambda i, j: i * 2 + j, (3, 5)) * a", (A,),
              "np.fromfunction(lambda i, j: i * 2 + j, (3, 5)) * a", WIDE)  # fmt: skip
    yield Row("mx.piecewise(a, [a < 0, a > 1], [lambda x: -x, 2.5, lambda x: x * x])", (A,),
              "np.piecewise(a, [a < 0, a > 1], [lambda x: -x, 2.5, lambda x: x * x])",
              WIDE, kind="kinked")  # fmt: skip


def histogram_rows():
    """Grids of counts, correlations, windows."""
    points = (In((40,), -1, 5), In((40,), -1, 5))
    grid_ = ", ".join(f"mx.array({e})" for e in ("[0.0, 1.0, 2.5, 4.0]", "[0.0, 2.0, 4.0]"))
    for tail in ("", ", density=True", ", weights=a"):
        yield Row(f"mx.histogram2d(a, b, [{grid_}]{tail})[0]", points,
                  f"np.histogram2d(a, b, {GRID}{tail})[0]", ("float32",), kind="flat",
                  batched=False, special=False, ulps=32)  # fmt: skip
    yield Row("mx.histogram2d(a, b, (3, 4), range=((0, 4), (0, 2)))[0]", points, "",
              ("float32", "float64"), kind="flat", batched=False, special=False)  # fmt: skip
    yield Row("mx.histogramdd([a, b, a], 3)[0]", points, dtypes=("float64",), kind="flat",
              batched=False, traced=False, special=False)  # fmt: skip
    yield Row("mx.histogramdd(a, 2)[0]", (In((30, 2)),), dtypes=("float64",), kind="flat",
              batched=False, traced=False, special=False)  # fmt: skip
    yield Row("mx.histogram_bin_edges(a, 7)", (A,), dtypes=WIDE, kind="flat", batched=False,
              special=False, traced=False)  # fmt: skip
    for mode in ("valid", "same", "full"):
        yield Row(f"mx.correlate(a, b, '{mode}')", (In((7,)), In((3,))), dtypes=WIDE, ulps=32,
                  exact=False, special=False)  # fmt: skip
    yield Row("mx.kaiser(7, 8.6) * a", (In((7,)),), "np.kaiser(7, 8.6) * a", ("float32",), ulps=16)


def lax_rows():
    """Functions of jax.lax, whose references are spelled with NumPy."""
    yield Row("mx.dynamic_slice(a, b, (2, 3))", (A, In((2,), 0, 1, "int32")),
              "a[b[0]:b[0] + 2, b[1]:b[1] + 3]", kind="smooth", batched=False)  # fmt: skip
    yield Row("mx.dynamic_slice(a, [9, -2], (2, 3))", (A,), "a[1:, 2:]")
    yield Row("mx.dynamic_update_slice(a, b, [-9, 4])", (A, In((2, 3))),
              "np.concatenate([np.hstack([a[:2, :2], b]), a[2:]])")  # fmt: skip
    yield Row("mx.dynamic_index_in_dim(a, -1, axis=1)", (A,), "a[:, -1:]")
    yield Row("mx.dynamic_index_in_dim(a, 1, keepdims=False)", (A,), "a[1]")
    yield Row("mx.dot_general(a, b, (((3,), (1,)), ((0,), (2,))))",
              (In((2, 3, 1, 4)), In((5, 4, 2))), "np.einsum('bijk,lkb->bijl', a, b)",
              (*WIDE, "int32"), ulps=16, exact=False)  # fmt: skip
    yield Row("mx.dot_general(a, b, (((), ()), ((), ())))", (V, In((2,))),
              "np.multiply.outer(a, b)", WIDE)  # fmt: skip
    yield Row("mx.top_k(a, 2)", (A,), "[-np.sort(-a)[:, :2], np.argsort(-a)[:, :2]]", WIDE,
              kind="flat", special=False)  # fmt: skip
    yield Row("mx.sort_key_val(a, b, 0)", (A, B),
              "[np.sort(a, 0), np.take_along_axis(b, np.argsort(a, 0, kind='stable'), 0)]",
              WIDE, kind="flat", special=False)  # fmt: skip
    yield Row("mx.iota(mx.float32, 6) + a", (V,), "np.arange(6) + a", ("float32",))
    yield Row("mx.bitcast_convert_type(a, mx.uint8)", (A,), "a.astype(np.int32).view(np.uint8)"
              ".reshape(3, 5, 4)", ("int32",), kind="flat", special=False)  # fmt: skip
    yield Row("mx.bitcast_convert_type(mx.bitcast_convert_type(a, mx.uint8), a.dtype)", (A,), "a",
              ("int64",), kind="flat")  # fmt: skip
    yield Row("mx.broadcast(a, (2, 3))", (V,), "np.broadcast_to(a, (2, 3, 6))")
    yield Row("mx.cumlogsumexp(a, reverse=True)", (A,),
              "np.log(np.cumsum(np.exp(a)[::-1], 0)[::-1])", WIDE, ulps=16)  # fmt: skip
    for name in ("population_count", "clz"):
        count = "bin(int(v)).count('1')" if name[0] == "p" else "32 - int(v).bit_length()"
        yield Row(f"mx.{name}(a)", (In((9,), 0, 99999),),
                  f"np.array([{count} for v in a])", ("int32", "uint32"), kind="flat",
                  batched=False)  # fmt: skip


def tensor_rows():
    """Condition numbers, products of several matrices, tensors as matrices."""
    square = "a + 5 * mx.eye(3, dtype=a.dtype)"
    more = {"ulps": 512, "exact": False, "special": False}
    for p in (None, 2, -2, 1, "'fro'"):
        yield Row(f"mx.linalg.cond({square}, {p})", (In((2, 3, 3)),),
                  f"np.linalg.cond(a + 5 * np.eye(3), {p})", WIDE,
                  kind="flat", **more)  # fmt: skip
    yield Row("mx.linalg.multi_dot([a, b, c])", (A, In((5, 2)), In((2, 4))), dtypes=WIDE, ulps=64,
              exact=False)  # fmt: skip
    yield Row("mx.linalg.multi_dot([a, b, c])", (In((3,)), A, In((5,))), dtypes=WIDE, ulps=64,
              exact=False)  # fmt: skip
    eye = "mx.eye(6, dtype=a.dtype).reshape(2, 3, 6)"
    shifted = f"a + 9 * {eye}"
    reference = shifted.replace("mx.eye(6, dtype=a.dtype)", "np.eye(6)")
    yield Row(f"mx.linalg.tensorinv({shifted})", (In((2, 3, 6)),),
              f"np.linalg.tensorinv({reference})", WIDE, kind="flat", **more)  # fmt: skip
    yield Row(f"mx.linalg.tensorsolve({shifted}, b)", (In((2, 3, 6)), In((2, 3))),
              f"np.linalg.tensorsolve({reference}, b)", WIDE, kind="flat", **more)  # fmt: skip


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
    Row("mx.average(a, weights=b, returned=True)", (A, P), dtypes=WIDE, double_ulps=16),
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
    *set_rows(),
    *polynomial_rows(),
    *part_rows(),
    *arrangement_rows(),
    *histogram_rows(),
    *lax_rows(),
    *tensor_rows(),
]  # fmt: skip
