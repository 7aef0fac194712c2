"""Special values by the standard: for operands that satisfy conditions, the result.

A row is `conditions -> result`. Conditions of real operands: nan, +inf, -inf, inf (of either sign),
+0, -0, 0, pos and neg (finite, not 0), fin, fin!0, >0 and <0 (infinity too), !nan, !0, any, odd and
even (finite), and numbers. Results: x1, x2, the words for numbers, numbers, and alternatives.
"""

import itertools
import math

import numpy as np

UNARY = """
    abs: nan -> nan; -0 -> +0; +0 -> +0; inf -> +inf
    acos: nan -> nan; >1 -> nan; <-1 -> nan; 1 -> +0
    acosh: nan -> nan; <1 -> nan; 1 -> +0; +inf -> +inf
    asin: nan -> nan; >1 -> nan; <-1 -> nan; 0 -> x1
    asinh: nan -> nan; 0 -> x1; inf -> x1
    atan: nan -> nan; 0 -> x1; +inf -> pi/2; -inf -> -pi/2
    atanh: nan -> nan; >1 -> nan; <-1 -> nan; 1 -> +inf; -1 -> -inf; 0 -> x1
    ceil: nan -> nan; 0 -> x1; inf -> x1; even -> x1; odd -> x1; -0.5 -> -0
    cos: nan -> nan; 0 -> 1; inf -> nan
    cosh: nan -> nan; 0 -> 1; inf -> +inf
    exp: nan -> nan; 0 -> 1; +inf -> +inf; -inf -> +0
    expm1: nan -> nan; 0 -> x1; +inf -> +inf; -inf -> -1
    floor: nan -> nan; 0 -> x1; inf -> x1; even -> x1; odd -> x1
    isfinite: nan -> false; inf -> false; fin -> true
    isinf: nan -> false; inf -> true; fin -> false
    isnan: nan -> true; inf -> false; fin -> false
    log: nan -> nan; <0 -> nan; 0 -> -inf; 1 -> +0; +inf -> +inf
    log10: nan -> nan; <0 -> nan; 0 -> -inf; 1 -> +0; +inf -> +inf
    log1p: nan -> nan; <-1 -> nan; -1 -> -inf; 0 -> x1; +inf -> +inf
    log2: nan -> nan; <0 -> nan; 0 -> -inf; 1 -> +0; +inf -> +inf
    logical_not: nan -> false; inf -> false; 0 -> true
    negative: nan -> nan; +0 -> -0; -0 -> +0; +inf -> -inf; -inf -> +inf
    positive: nan -> nan; 0 -> x1; inf -> x1
    reciprocal: nan -> nan; +inf -> +0; -inf -> -0; +0 -> +inf; -0 -> -inf
    round: nan -> nan; 0 -> x1; inf -> x1; even -> x1; odd -> x1; 0.5 -> +0; 1.5 -> 2; 2.5 -> 2; -0.5 -> -0; -1.5 -> -2
    sign: nan -> nan; 0 -> 0; >0 -> 1; <0 -> -1
    signbit: +0 -> false; -0 -> true; >0 -> false; <0 -> true
    sin: nan -> nan; 0 -> x1; inf -> nan
    sinh: nan -> nan; 0 -> x1; inf -> x1
    sqrt: nan -> nan; <0 -> nan; 0 -> x1; +inf -> +inf
    square: nan -> nan; inf -> +inf; 0 -> +0
    tan: nan -> nan; 0 -> x1; inf -> nan
    tanh: nan -> nan; 0 -> x1; +inf -> 1; -inf -> -1
    trunc: nan -> nan; 0 -> x1; inf -> x1; even -> x1; odd -> x1; -0.5 -> -0; 0.5 -> +0
"""  # noqa: E501

BINARY = """
    add: nan, any -> nan; any, nan -> nan; +inf, -inf -> nan; -inf, +inf -> nan; +inf, +inf -> +inf; -inf, -inf -> -inf; inf, fin -> x1; fin, inf -> x2; -0, -0 -> -0; -0, +0 -> +0; +0, -0 -> +0; +0, +0 -> +0; 0, fin!0 -> x2; fin!0, 0 -> x1; 2, -2 -> +0
    atan2: nan, any -> nan; any, nan -> nan; pos, 0 -> pi/2; +0, >0 -> +0; +0, +0 -> +0; +0, -0 -> pi; +0, <0 -> pi; -0, >0 -> -0; -0, +0 -> -0; -0, -0 -> -pi; -0, <0 -> -pi; neg, 0 -> -pi/2; pos, +inf -> +0; pos, -inf -> pi; neg, +inf -> -0; neg, -inf -> -pi; +inf, fin -> pi/2; -inf, fin -> -pi/2; +inf, +inf -> pi/4; +inf, -inf -> 3*pi/4; -inf, +inf -> -pi/4; -inf, -inf -> -3*pi/4
    copysign: nan, any -> nan; inf, >0 -> +inf; inf, <0 -> -inf; inf, -0 -> -inf; 0, >0 -> +0; 0, <0 -> -0; 0, -0 -> -0; 0, +0 -> +0
    divide: nan, any -> nan; any, nan -> nan; inf, inf -> nan; 0, 0 -> nan; 0, >0 -> x1; +0, <0 -> -0; -0, <0 -> +0; >0, +0 -> +inf; >0, -0 -> -inf; <0, +0 -> -inf; <0, -0 -> +inf; inf, pos -> x1; +inf, neg -> -inf; -inf, neg -> +inf; pos, +inf -> +0; pos, -inf -> -0; neg, +inf -> -0; neg, -inf -> +0
    equal: nan, any -> false; any, nan -> false; +inf, +inf -> true; -inf, -inf -> true; +inf, -inf -> false; fin, inf -> false; 0, 0 -> true
    floor_divide: nan, any -> nan; any, nan -> nan; inf, inf -> nan; 0, 0 -> nan; 0, >0 -> x1; +0, <0 -> -0; -0, <0 -> +0; >0, +0 -> +inf; >0, -0 -> -inf; <0, +0 -> -inf; <0, -0 -> +inf; inf, pos -> x1 or nan; +inf, neg -> -inf or nan; -inf, neg -> +inf or nan; pos, +inf -> +0; pos, -inf -> -0 or -1; neg, +inf -> -0 or -1; neg, -inf -> +0
    greater: nan, any -> false; any, nan -> false; +inf, fin -> true; fin, -inf -> true; +0, -0 -> false
    greater_equal: nan, any -> false; any, nan -> false; inf, -inf -> true; -0, +0 -> true
    hypot: inf, any -> +inf; any, inf -> +inf; nan, fin -> nan; fin, nan -> nan; nan, nan -> nan; 0, 0 -> +0
    less: nan, any -> false; any, nan -> false; fin, +inf -> true; -inf, fin -> true; -0, +0 -> false
    less_equal: nan, any -> false; any, nan -> false; -inf, inf -> true; +0, -0 -> true
    logaddexp: nan, any -> nan; any, nan -> nan; +inf, !nan -> +inf; !nan, +inf -> +inf; -inf, -inf -> -inf; -inf, fin!0 -> x2; fin!0, -inf -> x1
    logical_and: nan, nan -> true; nan, 0 -> false; inf, inf -> true
    logical_or: nan, any -> true; 0, 0 -> false
    logical_xor: nan, 0 -> true; nan, nan -> false
    maximum: nan, any -> nan; any, nan -> nan; +inf, !nan -> +inf; -inf, !nan -> x2
    minimum: nan, any -> nan; any, nan -> nan; -inf, !nan -> -inf; +inf, !nan -> x2
    multiply: nan, any -> nan; any, nan -> nan; inf, 0 -> nan; 0, inf -> nan; +inf, >0 -> +inf; +inf, <0 -> -inf; -inf, >0 -> -inf; -inf, <0 -> +inf; >0, +inf -> +inf; <0, -inf -> +inf; 0, pos -> x1; -0, neg -> +0; +0, neg -> -0
    nextafter: nan, any -> nan; any, nan -> nan; 0, 0 -> x2; +inf, +inf -> x2; -inf, -inf -> x2; 1, 1 -> 1
    not_equal: nan, any -> true; any, nan -> true; 0, 0 -> false; +inf, +inf -> false
    pow: !1, nan -> nan; any, 0 -> 1; 1, any -> 1; nan, !0 -> nan; >1, +inf -> +inf; <-1, +inf -> +inf; >1, -inf -> +0; <-1, -inf -> +0; 1, inf -> 1; -1, inf -> 1; frac, +inf -> +0; frac, -inf -> +inf; +inf, >0 -> +inf; +inf, <0 -> +0; -inf, odd>0 -> -inf; -inf, noodd>0 -> +inf; -inf, odd<0 -> -0; -inf, noodd<0 -> +0; +0, >0 -> +0; +0, <0 -> +inf; -0, odd>0 -> -0; -0, noodd>0 -> +0; -0, odd<0 -> -inf; -0, noodd<0 -> +inf; neg, half -> nan
    remainder: nan, any -> nan; any, nan -> nan; inf, any -> nan; any, 0 -> nan; 0, >0 -> +0; 0, <0 -> -0; pos, +inf -> x1; pos, -inf -> x2; neg, +inf -> x2; neg, -inf -> x1; -3, 3 -> +0; 3, -3 -> -0
    subtract: nan, any -> nan; any, nan -> nan; +inf, +inf -> nan; -inf, -inf -> nan; +inf, -inf -> +inf; -inf, +inf -> -inf; inf, fin -> x1; +0, +0 -> +0; -0, -0 -> +0; -0, +0 -> -0; +0, -0 -> +0; 2, 2 -> +0
"""  # noqa: E501

# Rows for a real and a non-negative imaginary part; every function is checked at the conjugate too,
# and the odd and even ones at the negative. `?` stands before parts whose sign is open. cis is the
# real part or the imaginary part of exp(1j * b), as it stands left or right.
COMPLEX = """
    abs: inf, any -> +inf, +0; any, inf -> +inf, +0; nan, fin -> nan, +0; fin, nan -> nan, +0; nan, nan -> nan, +0; 0, 0 -> +0, +0
    acos: 0, +0 -> pi/2, -0; 0, nan -> pi/2, nan; fin, +inf -> pi/2, -inf; fin!0, nan -> nan, nan; -inf, pos -> pi, -inf; +inf, pos -> +0, -inf; -inf, +inf -> 3*pi/4, -inf; +inf, +inf -> pi/4, -inf; inf, nan -> nan, ?inf; nan, fin -> nan, nan; nan, +inf -> nan, -inf; nan, nan -> nan, nan
    acosh: 0, +0 -> +0, pi/2; fin, +inf -> +inf, pi/2; fin!0, nan -> nan, nan; 0, nan -> nan, ?pi/2; -inf, pos -> +inf, pi; +inf, pos -> +inf, +0; -inf, +inf -> +inf, 3*pi/4; +inf, +inf -> +inf, pi/4; inf, nan -> +inf, nan; nan, fin -> nan, nan; nan, +inf -> +inf, nan; nan, nan -> nan, nan
    asinh: odd; +0, +0 -> +0, +0; pos, +inf -> +inf, pi/2; fin, nan -> nan, nan; +inf, pos -> +inf, +0; +inf, +inf -> +inf, pi/4; +inf, nan -> +inf, nan; nan, +0 -> nan, +0; nan, pos -> nan, nan; nan, +inf -> ?inf, nan; nan, nan -> nan, nan
    atanh: odd; +0, +0 -> +0, +0; +0, nan -> +0, nan; 1, +0 -> +inf, +0; pos, +inf -> +0, pi/2; fin!0, nan -> nan, nan; +inf, pos -> +0, pi/2; +inf, +inf -> +0, pi/2; +inf, nan -> +0, nan; nan, fin -> nan, nan; nan, +inf -> ?0, pi/2; nan, nan -> nan, nan
    cosh: even; +0, +0 -> 1, +0; +0, +inf -> nan, ?0; +0, nan -> nan, ?0; fin!0, +inf -> nan, nan; fin!0, nan -> nan, nan; +inf, +0 -> +inf, +0; +inf, pos -> +inf cis, +inf cis; +inf, +inf -> ?inf, nan; +inf, nan -> ?inf, nan; nan, +0 -> nan, ?0; nan, +inf -> nan, nan; nan, pos -> nan, nan; nan, nan -> nan, nan
    exp: 0, +0 -> 1, +0; fin, +inf -> nan, nan; fin, nan -> nan, nan; +inf, +0 -> +inf, +0; -inf, fin -> +0 cis, +0 cis; +inf, pos -> +inf cis, +inf cis; -inf, +inf -> ?0, ?0; +inf, +inf -> ?inf, nan; -inf, nan -> ?0, ?0; +inf, nan -> ?inf, nan; nan, +0 -> nan, +0; nan, pos -> nan, nan; nan, +inf -> nan, nan; nan, nan -> nan, nan
    expm1: 0, +0 -> 0, +0; fin, +inf -> nan, nan; fin, nan -> nan, nan; +inf, +0 -> +inf, +0; +inf, pos -> +inf cis, +inf cis; -inf, fin -> -1, +0 cis; -inf, +inf -> -1, ?0; +inf, +inf -> ?inf, nan; -inf, nan -> -1, ?0; +inf, nan -> ?inf, nan; nan, +0 -> nan, +0; nan, pos -> nan, nan; nan, +inf -> nan, nan; nan, nan -> nan, nan
    isfinite: nan, any -> false; any, nan -> false; inf, any -> false; any, inf -> false; fin, fin -> true
    isinf: inf, any -> true; any, inf -> true; nan, fin -> false; fin, nan -> false; fin, fin -> false
    isnan: nan, any -> true; any, nan -> true; inf, inf -> false; fin, fin -> false
    log: -0, +0 -> -inf, pi; +0, +0 -> -inf, +0; fin, +inf -> +inf, pi/2; fin, nan -> nan, nan; -inf, pos -> +inf, pi; +inf, pos -> +inf, +0; -inf, +inf -> +inf, 3*pi/4; +inf, +inf -> +inf, pi/4; inf, nan -> +inf, nan; nan, fin -> nan, nan; nan, +inf -> +inf, nan; nan, nan -> nan, nan
    log10: -0, +0 -> -inf, pi/log(10); +0, +0 -> -inf, +0; fin, +inf -> +inf, pi/2/log(10); fin, nan -> nan, nan; -inf, pos -> +inf, pi/log(10); +inf, pos -> +inf, +0; -inf, +inf -> +inf, 3*pi/4/log(10); inf, nan -> +inf, nan; nan, fin -> nan, nan; nan, +inf -> +inf, nan; nan, nan -> nan, nan
    log2: -0, +0 -> -inf, pi/log(2); +0, +0 -> -inf, +0; fin, +inf -> +inf, pi/2/log(2); fin, nan -> nan, nan; -inf, pos -> +inf, pi/log(2); +inf, pos -> +inf, +0; -inf, +inf -> +inf, 3*pi/4/log(2); inf, nan -> +inf, nan; nan, fin -> nan, nan; nan, +inf -> +inf, nan; nan, nan -> nan, nan
    log1p: -1, +0 -> -inf, +0; fin, +inf -> +inf, pi/2; fin, nan -> nan, nan; -inf, pos -> +inf, pi; +inf, pos -> +inf, +0; -inf, +inf -> +inf, 3*pi/4; +inf, +inf -> +inf, pi/4; inf, nan -> +inf, nan; nan, fin -> nan, nan; nan, +inf -> +inf, nan; nan, nan -> nan, nan
    sign: 0, 0 -> 0, 0; nan, any -> nan, nan; any, nan -> nan, nan
    sinh: odd; +0, +0 -> +0, +0; +0, +inf -> ?0, nan; +0, nan -> ?0, nan; pos, +inf -> nan, nan; pos, nan -> nan, nan; +inf, +0 -> +inf, +0; +inf, pos -> +inf cis, +inf cis; +inf, +inf -> ?inf, nan; +inf, nan -> ?inf, nan; nan, +0 -> nan, +0; nan, pos -> nan, nan; nan, nan -> nan, nan
    sqrt: 0, +0 -> +0, +0; any, +inf -> +inf, +inf; fin, nan -> nan, nan; -inf, pos -> +0, +inf; +inf, pos -> +inf, +0; -inf, nan -> nan, ?inf; +inf, nan -> +inf, nan; nan, fin -> nan, nan; nan, nan -> nan, nan
    tanh: odd; +0, +0 -> +0, +0; fin!0, +inf -> nan, nan; +0, +inf -> +0, nan; fin!0, nan -> nan, nan; +0, nan -> +0, nan; +inf, pos -> 1, ?0; +inf, +inf -> 1, ?0; +inf, nan -> 1, ?0; nan, +0 -> nan, +0; nan, pos -> nan, nan; nan, nan -> nan, nan
"""  # noqa: E501

# f(z) = factor * g(1j * z), by which the standard defines what f does.
ROTATED = {"asin": ("asinh", -1j), "atan": ("atanh", -1j), "cos": ("cosh", 1), "sin": ("sinh", -1j),
           "tan": ("tanh", -1j)}  # fmt: skip

REDUCTIONS = """
    xp.isnan(xp.mean(z)) and xp.isnan(xp.mean(n)) and xp.isnan(xp.mean(i - i))
    xp.sum(z) == 0 and xp.prod(z) == 1
    xp.isnan(xp.sum(n)) and xp.isnan(xp.prod(n)) and xp.isnan(xp.sum(xp.concat([i, -i])))
    xp.isnan(xp.max(n)) and xp.isnan(xp.min(n))
    xp.max(i) == math.inf and xp.min(-i) == -math.inf
    xp.isnan(xp.var(n)) and xp.isnan(xp.std(n)) and xp.isnan(xp.var(i))
    xp.isnan(xp.var(z)) and xp.isnan(xp.std(z))
    xp.isnan(xp.var(x, correction=3)) and xp.isnan(xp.std(x, correction=5.5))
    xp.all(z) and not xp.any(z)
    xp.all(n) and xp.any(n) and xp.any(i)
    xp.count_nonzero(n) == 3
    xp.isnan(xp.cumulative_sum(n)[2]) and xp.isnan(xp.cumulative_prod(n)[2])
    xp.unique_values(xp.asarray([math.nan, math.nan, 1.0])).shape == (3,)
    xp.unique_counts(xp.asarray([math.nan, math.nan, 1.0])).values.shape == (3,)
    xp.unique_inverse(xp.asarray([math.nan, math.nan, 1.0])).values.shape == (3,)
    xp.unique_all(xp.asarray([math.nan, math.nan, 1.0])).values.shape == (3,)
    xp.unique_values(xp.asarray([0.0, -0.0])).shape in ((1,), (2,))
    not bool(xp.isin(n, n)[1]) and xp.isin(n, n)[0]
    xp.isnan(xp.clip(n, 0.0, 1.0)[1])
    xp.linalg.vector_norm(z) == 0
    xp.linalg.det(xp.zeros((0, 0))) == 1
    xp.where(xp.asarray([True, False, True]), n, 0.0)[1] == 0
"""


def conditions():
    """Name of a condition -> predicate of a real number."""
    finite = math.isfinite

    def zero(sign):
        return lambda x: x == 0 and math.copysign(1, x) == sign

    def odd(x):
        return finite(x) and x % 2 == 1

    return {
        "any": lambda x: True,
        "nan": math.isnan,
        "!nan": lambda x: not math.isnan(x),
        "inf": math.isinf,
        "+inf": lambda x: x == math.inf,
        "-inf": lambda x: x == -math.inf,
        "0": lambda x: x == 0,
        "+0": zero(1),
        "-0": zero(-1),
        "!0": lambda x: x != 0,
        "!1": lambda x: x not in (1, 0) and not math.isnan(x),
        "fin": finite,
        "fin!0": lambda x: finite(x) and x != 0,
        "pos": lambda x: finite(x) and x > 0,
        "neg": lambda x: finite(x) and x < 0,
        ">0": lambda x: x > 0,
        "<0": lambda x: x < 0,
        ">1": lambda x: x > 1,
        "<1": lambda x: x < 1,
        "<-1": lambda x: x < -1,
        "frac": lambda x: abs(x) < 1,
        "half": lambda x: finite(x) and x != int(x),
        "even": lambda x: finite(x) and x % 2 == 0,
        "odd": odd,
        "odd>0": lambda x: x > 0 and odd(x),
        "odd<0": lambda x: x < 0 and odd(x),
        "noodd>0": lambda x: x > 0 and not odd(x),
        "noodd<0": lambda x: x < 0 and not odd(x),
    }


CONDITIONS = conditions()
POOL = [math.nan, math.inf, -math.inf, 0.0, -0.0, *(s * x for s in (1, -1) for x in
        (1e-30, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 7.0, 1e6, 1e30))]  # fmt: skip
WORDS = {"+inf": math.inf, "-inf": -math.inf, "inf": math.inf, "nan": math.nan, "+0": 0.0,
         "-0": -0.0, "true": 1.0, "false": 0.0}  # fmt: skip


def holds(condition, x):
    test = CONDITIONS.get(condition)
    return test(x) if test else x == float(condition)


def value(text):
    known = WORDS.get(text)
    if known is not None:
        return known
    return float(eval(text, {"pi": math.pi, "log": math.log}))


def agrees(got, want, sign=True):
    """Equal numbers: zeros of the same sign if that matters, others within a few roundings."""
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if math.isinf(want) or math.isinf(got):
        return got == want
    if want == 0:
        return got == 0 and (not sign or math.copysign(1, got) == math.copysign(1, want))
    return abs(got - want) <= 1e-6 * abs(want)


def fits(result, operands, got):
    if " or " in result:
        return any(fits(r, operands, got) for r in result.split(" or "))
    if result in ("x1", "x2"):
        return agrees(got, operands[int(result[1]) - 1])
    return agrees(got, value(result), sign=result != "0")


def real_check(xp, name, row):
    given, result = (part.strip() for part in row.split("->"))
    given = [c.strip() for c in given.split(",")]
    operands = [
        x
        for x in itertools.product(POOL, repeat=len(given))
        if all(holds(c, v) for c, v in zip(given, x, strict=True))
    ]
    assert operands, f"no operands for {row}"
    for dtype in ("float32", "float64"):
        args = [
            xp.asarray(np.array(column, dtype), dtype=getattr(xp, dtype))
            for column in zip(*operands, strict=True)
        ]
        got = np.asarray(getattr(xp, name)(*args)).astype(np.float64)
        for x, y in zip(operands, got.tolist(), strict=True):
            rounded = [float(np.dtype(dtype).type(v)) for v in x]
            assert fits(result, rounded, y), f"{dtype}: {name}{x} is {y}; the standard: {result}"


def part_fits(text, got, cis):
    """A part of a complex result."""
    if text.startswith("?"):
        return agrees(abs(got), value(text[1:]), sign=False)
    if text.endswith("cis"):
        want = value(text[:-3].strip()) * cis if cis != 0 else cis
        return agrees(got, want)
    return agrees(got, value(text), sign=text != "0")


def complex_result(xp, name, z, dtype):
    a = np.empty(len(z), dtype)
    a.real, a.imag = [x for x, _ in z], [y for _, y in z]
    got = np.asarray(getattr(xp, name)(xp.asarray(a, dtype=getattr(xp, dtype))))
    return [(float(v.real), float(v.imag)) for v in got]


def complex_check(xp, name, row, symmetry):
    given, result = (part.strip() for part in row.split("->"))
    first, second = (c.strip() for c in given.split(","))
    want = [r.strip() for r in result.split(",")]
    operands = [
        (a, b)
        for a, b in itertools.product(POOL, POOL)
        if holds(first, a) and holds(second, b) and abs(a) != 1e30 and abs(b) not in (1e30, 1e6)
    ]
    assert operands, f"no operands for {row}"
    variants = [(1, 1)] + [(1, -1)] * (len(want) == 2 and name not in ("abs", "sign"))
    if symmetry:
        variants += [(-1, 1), (-1, -1)]
    for dtype, (sx, sy) in itertools.product(("complex64", "complex128"), variants):
        z = [(sx * a, sy * b) for a, b in operands]
        # f(conj z) = conj f(z); f(-z) = -f(z) or f(z)
        rx = sx if symmetry == "odd" else 1
        ry = sy if symmetry != "even" else sx * sy
        for (a, b), (x, y) in zip(operands, complex_result(xp, name, z, dtype), strict=True):
            cis = (math.cos(b), math.sin(b)) if math.isfinite(b) else (1.0, 1.0)
            good = part_fits(want[0], rx * x, cis[0])
            if len(want) == 2:
                good = good and part_fits(want[1], ry * y, cis[1])
            shown = f"{dtype}: {name}({sx * a}, {sy * b}) is ({x}, {y}); the standard: "
            assert good, f"{shown}{result}, times ({rx}, {ry})"


def rotated_check(xp, name, other, factor):
    """Where g(1j z) is no special case of open sign, f(z) agrees with it."""
    parts = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -2.5]
    z = list(itertools.product(parts, parts))
    turned = [(-b, a) for a, b in z]
    for dtype in ("complex64", "complex128"):
        got = complex_result(xp, name, z, dtype)
        for point, g, (x, y) in zip(z, got, complex_result(xp, other, turned, dtype), strict=True):
            want = (y, -x) if factor == -1j else (x, y)
            for mine, theirs in zip(g, want, strict=True):
                assert agrees(mine, theirs, sign=False) or (math.isinf(mine) and mine == -theirs), (
                    f"{dtype}: {name}{point} is {g}; {factor} * {other}(1j z) is {want}"
                )


def reduction_check(xp, call):
    arrays = {
        "z": xp.zeros(0),
        "n": xp.asarray([1.0, math.nan, 2.0]),
        "i": xp.asarray([math.inf, 1.0, math.inf]),
        "x": xp.asarray([1.0, 2.0, 3.0]),
    }
    assert bool(eval(call, {"xp": xp, "math": math, **arrays}))


def quiet(f, *args):
    def run(xp):
        with np.errstate(all="ignore"):
            f(xp, *args)

    return run


def checks():
    for table in (UNARY, BINARY):
        for line in table.strip().splitlines():
            name, rows = (part.strip() for part in line.split(":", 1))
            for row in rows.split(";"):
                yield f"special {name}: {row.strip()}", quiet(real_check, name, row)
    for line in COMPLEX.strip().splitlines():
        name, rows = (part.strip() for part in line.split(":", 1))
        rows = [row.strip() for row in rows.split(";")]
        symmetry = rows.pop(0) if rows[0] in ("odd", "even") else None
        for row in rows:
            yield f"complex {name}: {row}", quiet(complex_check, name, row, symmetry)
    for name, (other, factor) in ROTATED.items():
        yield f"complex {name} by {other}", quiet(rotated_check, name, other, factor)
    for call in REDUCTIONS.strip().splitlines():
        yield f"special {call.strip()}", quiet(reduction_check, call.strip())
