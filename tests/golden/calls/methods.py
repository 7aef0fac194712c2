"""Array methods, operators with every kind of operand, conversions to Python, iteration, copies."""
# ruff: noqa: SIM905

from calls._make import ALL, FEW, FLOATS, INTS, expand, lines

UNARY_METHODS = "abs cos sin exp log log1p log2 log10 sqrt rsqrt square reciprocal round conj"
OPS = "+ - * / // % ** < <= > >= == != & | ^ << >> @".split()
OPERANDS = [
    "2",
    "2.5",
    "True",
    "1j",
    "None",
    "'a'",
    "[1, 2, 3]",
    "(1, 2, 3)",
    "np.float32(2)",
    "np.int64(2)",
    "np.ones(3)",
    "np.ones(3, np.int8)",
    "x(f16, 3)",
    "object()",
    "np.float64(2.5)",
    "2**40",
    "1e300",
]

CALLS = [
    *expand("x({d}, 5, lo=1).{f}()", d=FEW, f=UNARY_METHODS),
    *expand("x({d}, 3, lo=1) {o} {v}", d="b8 i32 f32 u8 bf16 c64", o=OPS, v=OPERANDS),
    *expand(
        "{v} {o} x({d}, 3, lo=1)",
        d="b8 i32 f32 u8 bf16 c64",
        o=OPS,
        v=["2", "2.5", "True", "1j", "None", "'a'", "[1, 2, 3]", "np.float32(2)"],
    ),
    *expand("{o}x({d}, 3)", o="- + ~".split(), d=ALL),
    *expand("abs(x({d}, 3))", d=ALL),
    *expand("round(x({d}, 3){k})", d="i32 f32", k=["", ", 1"]),
    *expand("divmod(x({d}, 3, lo=1), {v})", d="i32 f32", v=["2", "x(f32, 3, lo=1)"]),
    *expand("pow(x(f32, 3, lo=1), {v})", v=["2", "x(f32, 3)", "2, 3"]),
    # to Python
    *expand("x({d}{s}).tolist()", d=ALL, s=["", ", 3", ", 2, 2", ", 0", ", 2, 0"]),
    *expand("x({d}{s}).item()", d=ALL, s=["", ", 1", ", 1, 1", ", 2", ", 0"]),
    *expand(
        "{f}(x({d}{s}, lo=1))",
        f="bool int float complex".split(),
        d="b8 u8 i32 i64 f16 bf16 f32 f64 c64",
        s=["", ", 1", ", 2", ", 0"],
    ),
    *expand(
        "{f}(A({v}))",
        f="bool int float complex".split(),
        v=["0", "-1.7", "nan", "inf", "2**40", "0.0", "1j", "2.5 + 1j"],
    ),
    *expand("[10, 20, 30][A({v})]", v=["1", "-1", "1.0", "True", "[1]"]),
    *expand("range(A({v}))[-1]", v=["3", "3.0"]),
    *expand("np.array(x({d}, 2, 3))", d=[d for d in ALL if d != "bf16"]),
    *expand("np.array(x({d}, 4, 6){i})", d="f32 i8", i=[".T", "[::2, ::-1]", "[1]", "[:, 2]"]),
    *expand(
        "np.array(x({d}, 3), dtype=np.{t})",
        d="f32 i32 f16",
        t="float64 float32 int32 complex64".split(),
    ),
    *expand("np.array(x(bf16, 3), copy={c})", c=["True", "None"]),
    *expand("x({d}, 3).__array__().dtype.name", d=ALL),
    *expand("np.{f}(x(f32, 3))", f="sum exp mean".split()),
    *expand("np.from_dlpack(x({d}, 2, 3))", d=[d for d in ALL if d != "bf16"]),
    *expand(
        "memoryview(x({d}, 2, 3)).{p}",
        d=[*INTS, *FLOATS, "b8", "c64"],
        p="format shape strides itemsize readonly nbytes".split(),
    ),
    *expand("memoryview(x(f32, 4, 6){i}).{p}", i=[".T", "[::2, ::-1]"], p="shape strides".split()),
    *expand("x({d}, 2).__bytes__().hex()", d="f32 i8 b8 f16 bf16 c64"),
    # copies and state
    *lines("""
        __import__('copy').copy(x(f32, 3))
        __import__('copy').deepcopy(x(f32, 3))
        a = x(f32, 3); b = __import__('copy').copy(a); b[0] = 9; (a, b)
        a = x(f32, 3); b = __import__('copy').deepcopy([a, a]); (b, b[0] is b[1])
        a = x(f32, 3); b = mx.array(a); b[0] = 9; (a, b)
        __import__('pickle').loads(__import__('pickle').dumps(x(f32, 2, 3)))
        __import__('pickle').loads(__import__('pickle').dumps(x(bf16, 2, 3)))
        __import__('pickle').loads(__import__('pickle').dumps(x(i8, 3, 4)[::2, ::-1]))
        __import__('pickle').loads(__import__('pickle').dumps(A(1.5)))
        isinstance(hash(A(1)), int)
        a = A(1); {a: 1}[a]
        A([1]) in [A([2])]
        A([1, 2]) in [A([2, 3])]
        A([1, 2]) == 'a'
        A([1, 2]) != 'a'
        A([1, 2]) == None
        A([1, 2]) != None
        A([1, 2]) == [1, 2]
        3 in A([1, 2, 3])
        bool(A([]))
        not A(0)
        A(1) and A(2)
        A([1, 2]) and A(2)
        iter(A(1))
        next(iter(A([1, 2])))
        iter(A([1, 2])) is iter(A([1, 2]))
        [*x(f32, 3, 2)]
        a, b = x(f32, 2, 3); (a, b)
        max(A([1, 3, 2]))
        sum(x(f32, 3))
        sorted(A([3, 1, 2]))
        a = x(f32, 3); a.shape = (3, 1); a
        a = x(f32, 3); a.foo = 1; a
        x(f32, 3).foo
        x(f32, 2, 3).shape[0]
        x(f32, 2, 3).real
        x(c64, 2).imag
        x(f32, 2).imag
        x(f32, 2, 3).T.shape
        type(A(1).item()).__name__
        type(A(1.0).item()).__name__
        type(A(True).item()).__name__
        A([1, 2]).__div__(2)
        A([1.0]).__rdiv__(2)
        A([1, 2]).__rpow__(2)
        x(f32, 3).astype(i32, mx.cpu)
        x(f32, 3, 3).diag()
        x(f32, 3).diag(1)
        x(f32, 3, 3).diagonal(1)
        x(f32, 2, 3).moveaxis(0, 1)
        x(f32, 2, 3).swapaxes(0, 1)
        x(f32, 1, 3).squeeze(0)
        x(f32, 2, 3).flatten(1)
        x(f32, 4).view(i32)
        x(f32, 4).split(2)
        x(f32, 3).round(1)
        x(f32, 3).round(decimals=-1)
        x(f32, 3) < x(f32, 3)[::-1] < x(f32, 3)
        -x(u8, 3)
        x(f32, 3).__array_priority__
        x(f32, 3).__array_namespace__().__name__
        x(f32, 3).__dlpack_device__()
        mx.array.__name__, mx.array.__module__
        mx.array.__doc__ is not None
        np.float32(2) * A([1, 2])
        np.ones(2) + A([1, 2])
        np.ones(2, np.float32) * x(f32, 2)
        np.add(A([1, 2]), 1)
    """),
]
