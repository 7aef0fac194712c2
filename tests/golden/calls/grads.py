"""vjp, jvp, grad and value_and_grad of every differentiable function, and of odd calls of the transforms."""
# ruff: noqa: E501, SIM905

from calls._make import expand, lines

UNARY = (
    "abs arccos arcsin arcsinh arctan arctanh ceil conjugate cos cosh degrees erf erfinv exp expm1 floor log log10 log1p log2 "
    "negative radians real reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc imag isnan nan_to_num positive stop_gradient"
)
BINARY = "add arctan2 divide floor_divide logaddexp maximum minimum multiply power remainder subtract less equal"
P = "A([0.25, 0.5, 0.75])"
OTHERS = [
    ("lambda a: mx.arccosh(a)", "A([1.5, 2.0])"),
    *[
        (f"lambda a: mx.{f}(a{k})", "x(f32, 3, 4, lo=1)")
        for f in "sum prod mean max min var std logsumexp softmax cumsum cumprod cummax cummin logcumsumexp".split()
        for k in ["", ", axis=0", ", axis=1"]
    ],
    *[
        (f"lambda a: mx.{f}(a, axis=1, keepdims=True)", "x(f32, 3, 4, lo=1)")
        for f in "sum prod mean max min var std logsumexp".split()
    ],
    *[
        (f"lambda a: mx.{f}(a, axis=1, reverse=True, inclusive=False)", "x(f32, 3, 4, lo=1)")
        for f in "cumsum cumprod cummax cummin logcumsumexp".split()
    ],
    *[
        (f"lambda a: {e}", "x(f32, 3, 4)")
        for e in [
            "mx.reshape(a, (2, 6))",
            "a.T",
            "mx.transpose(a)[::2]",
            "mx.flatten(a)",
            "mx.expand_dims(a, 1)",
            "mx.squeeze(a[None])",
            "mx.broadcast_to(a, (2, 3, 4))",
            "mx.as_strided(a, (2, 3), (1, 2))",
            "mx.flip(a, 0)",
            "mx.contiguous(a.T)",
            "mx.moveaxis(a, 0, 1)",
            "mx.swapaxes(a, 0, 1)",
            "mx.unflatten(a, 1, (2, 2))",
            "a[1]",
            "a[::-2, 1:3]",
            "a[A([0, 0, 2])]",
            "a[A([0, 1]), A([3, 3])]",
            "a[:, A([0, 0])]",
            "mx.take(a, A([1, 1]), 0)",
            "mx.take(a, A([1, 11]))",
            "mx.take_along_axis(a, A([[0], [2], [2]]), 1)",
            "mx.put_along_axis(a, A([[0], [2], [2]]), A(5.0), 1)",
            "mx.put_along_axis(mx.ones((3, 4)), A([[0, 1, 2, 3]] * 3), a, 1)",
            "a.at[0].add(a[1])",
            "a.at[A([0, 0])].add(2 * a[1:])",
            "a.at[1].multiply(a[0])",
            "a.at[1].maximum(a[0])",
            "a.at[A([0, 2])].divide(A(3.0))",
            "mx.concatenate([a, 2 * a], 1)",
            "mx.stack([a, a * a])",
            "mx.split(a, 2, 1)[0]",
            "mx.split(a, 2, 1)",
            "mx.repeat(a, 2, 0)",
            "mx.tile(a, (2, 1))",
            "mx.pad(a, 1)",
            "mx.pad(a, 1, 'edge')",
            "mx.pad(a, 1, 'reflect')",
            "mx.roll(a, 1, 1)",
            "mx.tril(a)",
            "mx.triu(a, 1)",
            "mx.diag(a)",
            "mx.diag(a[0], 1)",
            "mx.diagonal(a, 1)",
            "mx.trace(a)",
            "mx.sort(a, 0)",
            "mx.sort(a)",
            "mx.topk(a, 2)",
            "mx.median(a, axis=1)",
            "mx.clip(a, -1.0, 1.0)",
            "mx.where(a > 0, a, 2 * a)",
            "mx.diff(a)",
            "a @ a.T",
            "mx.matmul(a, a[0])",
            "mx.inner(a, a)",
            "mx.outer(a[0], a[1])",
            "mx.tensordot(a, a, [[0], [0]])",
            "mx.addmm(a[:, :3], a, a.T, 2.0, 3.0)",
            "mx.einsum('ij,kj->ik', a, a)",
            "mx.vecdot(a, a[::-1])",
            "mx.kron(a[:2, :2], a)",
            "a.astype(f16)",
            "a.astype(f16).astype(f32)",
            "a.astype(i32).astype(f32)",
            "a.astype(c64)",
            "mx.slice(a, A([1, 1]), (0, 1), (2, 2))",
            "mx.slice_update(a, a[:2, :2] * 2, A([1, 1]), (0, 1))",
            "mx.minmax(a)",
            "mx.argmax(a, 1)",
            "mx.argsort(a)",
            "mx.stop_gradient(a) * a",
            "mx.linalg.norm(a)",
            "mx.linalg.norm(a, axis=1)",
            "mx.fft.fft(a)",
            "mx.fft.rfft(a)",
            "mx.abs(mx.fft.rfft(a))",
            "mx.fast.rms_norm(a, None, 1e-5)",
            "mx.fast.layer_norm(a, None, None, 1e-5)",
            "mx.softmax(a, 1, precise=True)",
            "mx.round(a, 1)",
            "mx.meshgrid(a[0], a[1])",
            "mx.broadcast_arrays(a[:1], a)",
            "mx.atleast_3d(a)",
            "mx.unstack(a)",
            "mx.isclose(a, a)",
            "mx.divmod(a, 1.5)",
            "mx.nan_to_num(a / 0.0)",
            "a.view(i32)",
            "mx.depends(a, a)",
            "mx.real(a)",
            "mx.square(a.astype(c64))",
        ]
    ],
]
CT = "[mx.ones_like(o) * (1 + mx.arange(o.size).reshape(o.shape)) for o in outs]"

CALLS = [
    *expand("mx.vjp(mx.{f}, [{p}], [A([1.0, -2.0, 0.5])])", f=UNARY, p=[P]),
    *expand("mx.jvp(mx.{f}, [{p}], [A([1.0, -2.0, 0.5])])", f=UNARY, p=[P]),
    *expand(
        "mx.grad(lambda a: mx.{f}(a).sum())(A([-2.0, 0.0, 1.0, 3.5]))",
        f="abs ceil cos sqrt log sign square tanh rsqrt reciprocal exp erf round sigmoid",
    ),
    *expand(
        "mx.vjp(mx.{f}, [A([0.5, 1.5, 2.0]), A([1.5, 1.0, 2.0])], [A([1.0, -2.0, 0.5])])", f=BINARY
    ),
    *expand(
        "mx.jvp(mx.{f}, [A([0.5, 1.5, 2.0]), A([1.5, 1.0, 2.0])], [A([1.0, -2.0, 0.5]), A([3.0, 1.0, -1.0])])",
        f=BINARY,
    ),
    *expand(
        "mx.vjp(mx.{f}, [x(f32, 2, 1, lo=1), x(f32, 3, lo=1)], [mx.ones((2, 3))])",
        f="add divide logaddexp maximum power",
    ),
    *expand("mx.grad(lambda a: mx.{f}(a, 2.0).sum())(A([0.5, 1.5, 2.0]))", f=BINARY.split()[:-2]),
    *[
        f"f = {f}; outs = f({a}); outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]; mx.vjp(f, [{a}], {CT})[1]"
        for f, a in OTHERS
    ],
    *[f"mx.jvp({f}, [{a}], [x(f32, *({a}).shape, s=7)])[1]" for f, a in OTHERS],
    *expand(
        "mx.{t}(lambda a, b: (a * b).sum(), argnums={n})(A([1.0, 2.0]), A([3.0, 4.0]))",
        t="grad value_and_grad",
        n=["0", "1", "(0, 1)", "[1, 0]", "(0,)", "2", "-1", "()", "(0, 0)", "1.0", "None", "'a'"],
    ),
    *expand(
        "mx.{t}(lambda a, b=A(2.0): (a * b).sum(), {n})(A([1.0, 2.0]), b=A(3.0))",
        t="grad value_and_grad",
        n=[
            "argnames='b'",
            "argnames=['b']",
            "argnums=0, argnames=['b']",
            "argnames=['a']",
            "argnames='c'",
            "argnums=None",
            "argnums=[], argnames=[]",
        ],
    ),
    *expand(
        "mx.grad({f})({a})",
        f=[
            "lambda a: a",
            "lambda a: a.sum()",
            "lambda a: (a.sum(), 1)",
            "lambda a: 3.0",
            "lambda a: None",
            "lambda a: a.sum().item()",
            "lambda a: [a.sum()]",
            "lambda a: mx.sum(mx.ones(2))",
            "lambda a: a.astype(i32).sum()",
            "3",
        ],
        a=[
            "A([1.0, 2.0])",
            "A(1.0)",
            "A([1, 2])",
            "1.0",
            "[A(1.0), A(2.0)]",
            "np.ones(2)",
            "",
            "A([1j])",
        ],
    ),
    *expand(
        "mx.value_and_grad({f})({a})",
        f=[
            "lambda t: sum(v.sum() for v in t)",
            "lambda t: (t[0].sum(), {'aux': t[1] * 2, 's': 'text'})",
            "lambda t: (t[0].sum(), 3, None)",
        ],
        a=["[A([1.0, 2.0]), A(3.0)]", "(A([1.0, 2.0]), A(3.0))"],
    ),
    *expand(
        "mx.grad(lambda t: t['a'].sum() * t['b'][0]['c'])({a})",
        a=[
            "{'a': A([1.0, 2.0]), 'b': [{'c': A(3.0)}], 'd': A(1.0)}",
            "{'a': A([1.0, 2.0]), 'b': ({'c': A(3.0)},), 'n': 3}",
        ],
    ),
    *expand(
        "mx.{t}(lambda a: a * 2, {a})",
        t="vjp jvp",
        a=[
            "[A([1.0, 2.0])], [A([1.0, 1.0])]",
            "[A([1.0, 2.0])], [A([1.0])]",
            "[A([1.0, 2.0])], []",
            "[], []",
            "A(1.0), A(1.0)",
            "[A(1.0)], [A(1)]",
            "[A(1)], [A(1.0)]",
            "[1.0], [1.0]",
            "[A([1.0])], [A([1.0], f16)]",
            "[A([1.0]), A([2.0])], [A([1.0]), A([1.0])]",
            "(A(1.0),), (A(1.0),)",
        ],
    ),
    *expand(
        "mx.vjp(lambda a: [a * 2, a.sum()], [A([1.0, 2.0])], [{c}])",
        c=["A([1.0, 2.0]), A(3.0)", "A([1.0, 2.0])", "A([1.0, 2.0]), A([3.0])"],
    ),
    *expand(
        "mx.grad(mx.grad(lambda a: {e}))(A(0.7))",
        e=[
            "a ** 3",
            "mx.sin(a)",
            "mx.exp(a * a)",
            "mx.tanh(a)",
            "mx.log(a)",
            "mx.sqrt(a)",
            "mx.erf(a)",
            "mx.sigmoid(a)",
            "mx.arctan(a)",
            "1 / a",
            "mx.logaddexp(a, a * a)",
            "mx.power(a, a)",
            "mx.abs(a)",
            "mx.cosh(a)",
            "mx.rsqrt(a)",
            "mx.log1p(a)",
        ],
    ),
    *expand(
        "mx.grad(mx.grad(mx.grad(lambda a: {e})))(A(0.7))",
        e=["a ** 4", "mx.sin(a)", "mx.exp(2 * a)", "mx.tanh(a)"],
    ),
    *expand("mx.vmap(mx.grad(lambda a: mx.{f}(a)))(A([0.25, 0.5]))", f="sin exp tanh sqrt"),
    *expand(
        "mx.vmap({f}, in_axes={i}, out_axes={o})(x(f32, 2, 3), x(f32, 2, 3, s=1))",
        f=["lambda a, b: a + b", "lambda a, b: a * b.sum()", "mx.maximum"],
        i=["0", "1", "(0, 0)", "(1, None)", "(None, 0)", "-1", "2", "(0, 1)", "None", "(0,)"],
        o=["0", "-1", "1"],
    ),
    *expand(
        "mx.vmap({f})(x(f32, 2, 3, 4))",
        f=[
            "mx.sum",
            "mx.softmax",
            "lambda a: mx.sort(a, 0)",
            "lambda a: a @ a.T",
            "lambda a: a[1]",
            "lambda a: a[A([0, 2])]",
            "lambda a: mx.concatenate([a, a])",
            "mx.transpose",
            "lambda a: mx.cumsum(a, 1)",
            "lambda a: mx.argmax(a, 0)",
            "lambda a: (a, 3 * a)",
            "lambda a: {'r': a.sum()}",
            "lambda a: mx.reshape(a, (12,))",
            "lambda a: mx.linalg.norm(a)",
            "lambda a: mx.take(a, A([0]), 1)",
            "lambda a: mx.where(a > 0, a, 0.0)",
            "lambda a: mx.ones(3)",
            "lambda a: 3",
            "lambda a: mx.random.uniform(key=K(1)) * a",
            "lambda a: mx.squeeze(a[:, :1])",
            "lambda a: mx.repeat(a, 2, 1)",
            "lambda a: mx.pad(a, 1)",
            "lambda a: mx.topk(a, 2)",
        ],
    ),
    *expand(
        "mx.vmap(lambda t: t['a'] + t['b'], in_axes={i})({{'a': x(f32, 2, 3), 'b': x(f32, 2, 3)}})".replace(
            "{{", "{"
        ).replace("}}", "}"),
        i=["0", "({'a': 0, 'b': 1},)", "({'a': 0},)"],
    ),
    *expand("mx.vmap(lambda a, i: a[i])(x(f32, 3, 4), A([0, 3, 1]))"),
    *expand(
        "mx.vmap(mx.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))(A([1.0, 2.0]), A([3.0, 4.0, 5.0]))"
    ),
    *lines("""
        mx.grad(lambda a: mx.checkpoint(lambda b: mx.sin(b) * b)(a).sum())(A([1.0, 2.0]))
        f = mx.custom_function(lambda a: a * a); f(A([1.0, 2.0]))
        f = mx.custom_function(lambda a: a * a); f.vjp(lambda p, c, o: c * 10); mx.grad(lambda a: f(a).sum())(A([1.0, 2.0]))
        f = mx.custom_function(lambda a, b: a * b); f.vjp(lambda p, c, o: (c * 10, c * o)); mx.grad(lambda a, b: f(a, b).sum(), (0, 1))(A([1.0, 2.0]), A([3.0, 4.0]))
        f = mx.custom_function(lambda a: a * a); f.jvp(lambda p, t: t * 7 if not isinstance(t, (list, tuple)) else t[0] * 7); mx.jvp(f, [A([1.0, 2.0])], [A([1.0, 1.0])])
        f = mx.custom_function(lambda a: a * a); mx.grad(lambda a: f(a).sum())(A([1.0, 2.0]))
        f = mx.custom_function(lambda a: a * a); mx.vmap(f)(A([1.0, 2.0]))
        a = A([1.0, 2.0]); g = mx.grad(lambda b: (b * b).sum())(a); (a, g)
        def_ = lambda a: a.at[0].add(a[1]).sum(); mx.grad(def_)(A([1.0, 2.0]))
        mx.compile(lambda a: mx.sin(a) * 2)(A([1.0, 2.0]))
        mx.grad(mx.compile(lambda a: (mx.sin(a) * 2).sum()))(A([1.0, 2.0]))
        mx.compile(mx.grad(lambda a: (mx.sin(a) * 2).sum()))(A([1.0, 2.0]))
        mx.compile(lambda a, n: a * n)(A([1.0, 2.0]), 3)
        mx.compile(lambda a: {'r': a, 'l': [a, (a + 1,)]})(A([1.0]))
        mx.compile(lambda a: a.item())(A(1.0))
        mx.compile(lambda a: 3)(A(1.0))
        mx.compile(3)
        mx.grad(3)
        mx.vmap(3)
        mx.compile(lambda a: a.reshape(-1), shapeless=True)(x(f32, 2, 3))
        mx.vjp(lambda a: mx.matmul(a, a), [x(f32, 2, 2)], [mx.ones((2, 2))])
        mx.grad(lambda a: mx.abs(a).sum())(A([3 + 4j, 1j]))
        mx.grad(lambda a: mx.real(a * a).sum())(A([3 + 4j, 1j]))
        mx.grad(lambda a: mx.square(mx.abs(a)).sum())(A([3 + 4j, 1j]))
        mx.vjp(mx.exp, [A([1j, 1 + 1j])], [A([1 + 0j, 1j])])
        mx.vjp(mx.multiply, [A([1j, 1 + 1j]), A([2 + 1j, 3 + 0j])], [A([1 + 0j, 1j])])
        mx.vjp(mx.conjugate, [A([1j, 1 + 1j])], [A([1 + 0j, 1j])])
        mx.grad(lambda a: a.sum())(x(f16, 3))
        mx.grad(lambda a: (a * a).mean())(x(bf16, 3))
        mx.grad(lambda a: mx.exp(a).sum())(x(f64, 3))
    """),
]
