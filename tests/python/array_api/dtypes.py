"""Dtypes that each function takes and gives by the standard, and promotion."""

import itertools

import numpy as np

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGER = SIGNED + UNSIGNED
REAL_FLOATING = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
FLOATING = REAL_FLOATING + COMPLEX
REAL = INTEGER + REAL_FLOATING
NUMERIC = REAL + COMPLEX
ALL = BOOL + NUMERIC

# Accepted dtypes: functions whose result has the (promoted) dtype.
UNARY = [
    (NUMERIC, "abs negative positive sign square"),
    (REAL, "ceil floor trunc"),
    (NUMERIC, "round conj real imag"),
    (FLOATING, "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 "
               "reciprocal sin sinh sqrt tan tanh"),
    (BOOL + INTEGER, "bitwise_invert"),
]  # fmt: skip
TO_BOOL = [
    (NUMERIC, "isfinite isinf isnan"),
    (REAL_FLOATING, "signbit"),
    (ALL, "logical_not"),
]
BINARY = [
    (NUMERIC, "add multiply pow subtract"),
    (FLOATING, "divide"),
    (REAL_FLOATING, "atan2 copysign hypot logaddexp nextafter"),
    (REAL, "floor_divide maximum minimum remainder"),
    (BOOL + INTEGER, "bitwise_and bitwise_or bitwise_xor"),
    (INTEGER, "bitwise_left_shift bitwise_right_shift"),
]
COMPARISONS = [
    (ALL, "equal not_equal"),
    (REAL, "greater greater_equal less less_equal"),
    (ALL, "logical_and logical_or logical_xor"),
]
REDUCTIONS = [  # (accepted, functions, result: of the same dtype, wide, real or another)
    (NUMERIC, "sum prod cumulative_sum cumulative_prod", "wide"),
    (REAL, "max min", "same"),
    (FLOATING, "mean", "same"),
    (REAL_FLOATING, "var std", "same"),
    (ALL, "all any", "bool"),
    (REAL, "argmax argmin", "index"),
    (ALL, "count_nonzero", "index"),
    (REAL, "sort", "same"),
    (REAL, "argsort", "index"),
    (ALL, "flip unique_values", "same"),
    (NUMERIC, "diff", "same"),
]
LINEAR = [  # of one matrix
    (FLOATING, "cholesky det inv pinv", "same"),
    (FLOATING, "svdvals eigvalsh matrix_norm vector_norm", "real"),
    (FLOATING, "eigvals", "complex"),
    (FLOATING, "matrix_rank", "index"),
    (NUMERIC, "trace", "wide"),
    (ALL, "matrix_transpose diagonal", "same"),
    (FLOATING, "matrix_power", "same"),
    (NUMERIC, "matmul outer tensordot vecdot cross", "promoted"),
    (FLOATING, "solve", "promoted"),
]
OPERATORS = [
    (NUMERIC, "+ - * **"),
    (FLOATING, "/"),
    (REAL, "// %"),
    (BOOL + INTEGER, "& | ^"),
    (INTEGER, "<< >>"),
]
COMPARISON_OPERATORS = [(ALL, "== !="), (REAL, "< <= > >=")]


def sample(xp, dtype, shape=(3,), start=1):
    a = np.arange(start, start + int(np.prod(shape))).reshape(shape)
    return xp.asarray(a.astype(dtype), dtype=getattr(xp, dtype))


def promoted(a, b):
    """The dtype by the standard, or None where it leaves it open."""
    kinds = [next(k for k, group in enumerate((BOOL, INTEGER, FLOATING)) if t in group)
             for t in (a, b)]  # fmt: skip
    if kinds[0] != kinds[1] or {a, b} in ({"uint64", s} for s in SIGNED):
        return None
    return np.promote_types(a, b).name


def expect(got, xp, dtype):
    assert got.dtype == getattr(xp, dtype), f"{got.dtype}; the standard: {dtype}"


def accuracy(dtype):
    return 1e-5 if dtype in ("float32", "complex64") else 1e-12


def numpy_name(name):
    return {"cumulative_sum": "cumsum", "cumulative_prod": "cumprod"}.get(name, name)


def near(got, want, dtype):
    tolerance = accuracy(dtype)
    np.testing.assert_allclose(np.asarray(got), want, tolerance, tolerance)


def elementwise(xp, name, dtypes, result):
    """One or two operands of these dtypes; values agree with NumPy's."""
    arrays = [sample(xp, t) for t in dtypes]
    got = getattr(xp, name)(*arrays)
    if len(dtypes) == 2 and promoted(*dtypes) is None:
        return
    common = promoted(*dtypes) if len(dtypes) == 2 else dtypes[0]
    real = common.replace("complex64", "float32").replace("complex128", "float64")
    if result == "bool":
        expect(got, xp, "bool")
    else:
        expect(got, xp, real if name in ("abs", "real", "imag") else common)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(*[np.asarray(a) for a in arrays])
    near(got, want, common)


def reduction(xp, name, t, result):
    a = sample(xp, t)
    got = getattr(xp, name)(a)
    if result == "wide":
        kind = SIGNED if t in SIGNED else UNSIGNED if t in UNSIGNED else None
        if kind is None:
            expect(got, xp, t)
        else:  # at least as wide as the default integer
            allowed = [getattr(xp, k) for k in kind if np.dtype(k).itemsize >= 4]
            assert got.dtype in allowed, got.dtype
            assert np.dtype(str(got.dtype).split(".")[-1]).itemsize >= np.dtype(t).itemsize
    elif result == "index":
        assert xp.isdtype(got.dtype, "integral"), got.dtype
    else:
        expect(got, xp, t if result == "same" else result)
    if hasattr(np, numpy_name(name)):
        order = np.sort if name == "unique_values" else np.asarray
        near(order(got), order(getattr(np, numpy_name(name))(np.asarray(a))), t)


def linear(xp, name, dtypes, result):
    """Functions of linalg, of a well-conditioned matrix or pairs."""
    f = getattr(xp.linalg, name)
    if name in ("outer", "vecdot", "cross", "vector_norm"):
        arrays = [sample(xp, t) for t in dtypes]
    else:
        base = np.array([[3, 1], [1, 2]])
        arrays = [xp.asarray(base.astype(t), dtype=getattr(xp, t)) for t in dtypes]
    got = f(*arrays, *([2] if name == "matrix_power" else []))
    common = promoted(*dtypes) if len(dtypes) == 2 else dtypes[0]
    if common is None:
        return
    if result == "real":
        expect(got, xp, common.replace("complex64", "float32").replace("complex128", "float64"))
    elif result == "complex":
        wide = common in ("float64", "complex128")
        expect(got, xp, "complex128" if wide else "complex64")
    elif result == "index":
        assert xp.isdtype(got.dtype, "integral"), got.dtype
    elif result != "wide" or common in FLOATING:
        expect(got, xp, common)
    if name != "eigvals":
        args = [np.asarray(a) for a in arrays] + ([2] if name == "matrix_power" else [])
        near(got, getattr(np.linalg, name)(*args), common)


def scalars_of(dtype):
    yield True if dtype in BOOL else 2
    if dtype in FLOATING:
        yield 2.0
    if dtype in COMPLEX:
        yield 2j


def operator(xp, op, a, b, result):
    """An operator of arrays, and in place."""
    env = {"a": sample(xp, a), "b": sample(xp, b)}
    got = eval(f"a {op} b", env)
    common = promoted(a, b)
    if common is None:
        return
    expect(got, xp, "bool" if result == "bool" else common)
    if result != "bool" and common == a:
        exec(f"a {op}= b", env)
        expect(env["a"], xp, a)
        assert np.array_equal(np.asarray(env["a"]), np.asarray(got))


def operator_with_scalar(xp, op, a, result):
    for scalar in scalars_of(a):
        if op in ("<", "<=", ">", ">=") and isinstance(scalar, complex):
            continue
        for text in (f"a {op} s", f"s {op} a"):
            got = eval(text, {"a": sample(xp, a), "s": scalar})
            expect(got, xp, "bool" if result == "bool" else a)
        if result != "bool":
            env = {"a": sample(xp, a), "s": scalar}
            exec(f"a {op}= s", env)
            expect(env["a"], xp, a)


def function_with_scalar(xp, name, a, result):
    for scalar in scalars_of(a):
        for args in ((sample(xp, a), scalar), (scalar, sample(xp, a))):
            expect(getattr(xp, name)(*args), xp, "bool" if result == "bool" else a)


def checks():
    def row(title, f, *args):
        return title, lambda xp: f(xp, *args)

    for groups, result in ((UNARY, "same"), (TO_BOOL, "bool")):
        for dtypes, functions in groups:
            for name, t in itertools.product(functions.split(), dtypes):
                yield row(f"dtype {name}({t})", elementwise, name, [t], result)
    for groups, result in ((BINARY, "same"), (COMPARISONS, "bool")):
        for dtypes, functions in groups:
            for name, a in itertools.product(functions.split(), dtypes):
                for b in dtypes:
                    if promoted(a, b):
                        title = f"dtype {name}({a}, {b})"
                        yield row(title, elementwise, name, [a, b], result)
                title = f"dtype {name}({a}, scalar)"
                yield row(title, function_with_scalar, name, a, result)
    for dtypes, functions, result in REDUCTIONS:
        for name, t in itertools.product(functions.split(), dtypes):
            yield row(f"dtype {name}({t})", reduction, name, t, result)
    for dtypes, functions, result in LINEAR:
        for name, t in itertools.product(functions.split(), dtypes):
            others = [[t, b] for b in dtypes] if result == "promoted" else [[t]]
            for pair in others:
                title = f"dtype linalg.{name}({', '.join(pair)})"
                yield row(title, linear, name, pair, result)
    for groups, result in ((OPERATORS, "same"), (COMPARISON_OPERATORS, "bool")):
        for dtypes, operators in groups:
            for op, a in itertools.product(operators.split(), dtypes):
                for b in dtypes:
                    if promoted(a, b):
                        yield row(f"dtype {a} {op} {b}", operator, op, a, b, result)
                yield row(f"dtype {a} {op} scalar", operator_with_scalar, op, a, result)
    for a, b in itertools.product(ALL, ALL):
        if promoted(a, b):
            yield row(f"result_type({a}, {b})", check_result_type, a, b)


def check_result_type(xp, a, b):
    ta, tb, want = (getattr(xp, t) for t in (a, b, promoted(a, b)))
    assert xp.result_type(ta, tb) == want
    assert xp.result_type(sample(xp, a), tb) == want
    assert xp.can_cast(ta, tb) == (want == tb)
    for scalar in scalars_of(a):
        assert xp.result_type(ta, scalar) == ta
