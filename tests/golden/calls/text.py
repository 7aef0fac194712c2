"""repr, str and format of arrays and of the small classes."""
# ruff: noqa: E501

from calls._make import ALL, FLOATS, expand, lines

CALLS = [
    *expand("repr(x({d}{s}))", d=ALL, s=["", ", 3", ", 2, 3", ", 0", ", 2, 0", ", 2, 2, 2"]),
    *expand("str(x({d}{s}))", d=ALL, s=["", ", 3", ", 2, 3", ", 0"]),
    *expand("repr(special({d}))", d=ALL),
    *expand(
        "repr(A([{v}], {d}))",
        d=FLOATS,
        v=[
            "0.1, 1e-3, 1e-5, 123456.0",
            "1e10, 1.0",
            "1.0, 2.0",
            "1/3, 100/3",
            "1e-7",
            "60000.0, 0.5",
            "-1.5, 2",
            "1e5, 1e6",
            "0.0001, 0.00001",
        ],
    ),
    *expand(
        "repr(A({v}))",
        v=[
            "3.14159265",
            "1e20",
            "123456789.0",
            "1234567",
            "-0.0",
            "1e-45",
            "3.4e38",
            "0.1",
            "1/3",
            "100000.0",
            "1000000.0",
            "99999.9",
            "123.456789",
            "1e16",
            "1.0000001",
        ],
    ),
    *expand("repr(A([{v}]))", v=["1+2j", "1.5-2.25j", "1e10j", "0j", "1/3 + 1j/3"]),
    *expand("repr(mx.arange({n}))", n=[6, 7, 20, 100, 1000, 1001]),
    *expand(
        "repr(mx.zeros({s}))",
        s=[
            "(6, 6)",
            "(7, 7)",
            "(8, 2)",
            "(2, 8)",
            "(10, 10, 10)",
            "(1, 1, 1, 1)",
            "(0,)",
            "(2, 0, 3)",
            "(7, 3, 7)",
            "(100, 2)",
            "(3, 1)",
            "(1, 20)",
        ],
    ),
    *expand("str(mx.arange({n}).reshape(2, -1))", n=[6, 20, 2000]),
    *expand("repr(x(f32, 4, 6){i})", i=[".T", "[::2, ::-1]", "[1]"]),
    *expand(
        "format({a}, '{f}')",
        a=["A(1.23456)", "A(3)", "x(f32, 2)", "A(True)"],
        f=["", ".2f", "d", "5", "e", "g"],
    ),
    *expand("f'{{{a}}}'".replace("{{", "{").replace("}}", "}"), a=["A(1.5)", "x(i32, 3)"]),
    *expand("'%s' % {a}", a=["A(1.5)", "x(i32, 3)"]),
    *expand("'{:.3f}'.format({a})", a=["A(1.5)", "x(i32, 3)"]),
    *lines("""
        repr(mx.cpu)
        str(mx.cpu)
        repr(mx.gpu)
        repr(mx.Device(mx.cpu))
        repr(mx.Device(mx.cpu, 0))
        str(mx.Device(mx.cpu, 0))
        mx.Device(mx.cpu) == mx.cpu
        mx.Device(mx.cpu) == mx.Device(mx.cpu, 0)
        mx.Device(mx.cpu).type == mx.cpu
        mx.Device('cpu')
        mx.Device(mx.cpu, -1)
        repr(mx.default_device())
        repr(mx.default_stream(mx.cpu))
        mx.default_stream(mx.cpu) == mx.default_stream(mx.cpu)
        repr(mx.default_stream(mx.cpu).device)
        mx.default_stream(mx.gpu)
        mx.new_stream(mx.gpu)
        mx.set_default_device(mx.gpu)
        mx.exp(x(f32, 2), stream=mx.gpu)
        mx.is_available(mx.cpu), mx.is_available(mx.gpu)
        mx.device_count(mx.cpu), mx.device_count(mx.gpu)
        mx.is_available(3)
        mx.metal.is_available(), mx.cuda.is_available()
        mx.get_printoptions().precision
        mx.set_printoptions(3); r = repr(A([1 / 3, 2.0, 1e-5])); mx.set_printoptions(); r
        mx.set_printoptions(precision=8); r = repr(A([1 / 3, 2.0, 1e-5])); mx.set_printoptions(-1); r
        mx.set_printoptions(0); r = repr(A([1 / 3, 2.5, 1e-5])); mx.set_printoptions(-1); r
        mx.set_printoptions(-5); r = repr(A([1 / 3])); mx.set_printoptions(-1); r
        c = mx.printoptions(2); c.__enter__(); r = repr(A([1 / 3, 200.123])); c.__exit__(None, None, None); (r, repr(A(1 / 3)))
        mx.printoptions(precision=4).__class__.__name__
        repr(x(f32, 2).at)[:16] != ''
        mx.__version__ >= '0.32.4'
        repr([A(1), A([1.5])])
        repr({'a': A([1, 2])})
        str((A(1), 2))
        print(A([1, 2]))
    """),
]
