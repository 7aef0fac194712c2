"""Products of operands in odd layouts: built as one graph, compiled, and of evaluated operands.

A product rounds by the memory order of its operands, which must be equal in all of these cases.
"""

import numpy as np
import pytest

import mlx.core as mx

DTYPES = ("float32", "float16", "bfloat16", "float64", "complex64", "int32")


def base(shape, salt):
    """Evaluated values."""
    rng = np.random.RandomState(salt)
    a = mx.array(rng.uniform(-2, 2, shape))
    mx.eval(a)
    return a


# How an operand of a shape is made of evaluated arrays: (the arrays, the views of them).
def dense(shape, salt):
    return (base(shape, salt),), lambda a: a


def sliced(shape, salt):
    return (base([2 * n for n in shape], salt),), lambda a: a[
        tuple(slice(None, None, 2) for _ in shape)
    ]


def rows_sliced(shape, salt):
    return (base((2 * shape[0], *shape[1:]), salt),), lambda a: a[1::2]


def reversed_(shape, salt):
    return (base(shape, salt),), lambda a: a[tuple(slice(None, None, -1) for _ in shape)]


def transposed(shape, salt):
    return (base(shape[::-1], salt),), lambda a: a.T


def broadcast_number(shape, salt):
    return (mx.array(1.37),), lambda a: mx.broadcast_to(a, shape)


def broadcast_one(shape, salt):
    return (base((1,) * len(shape), salt),), lambda a: mx.broadcast_to(a, shape)


def broadcast_rows(shape, salt):
    return (base(shape[-1:], salt),), lambda a: mx.broadcast_to(a, shape)


def broadcast_columns(shape, salt):
    return (base((*shape[:-1], 1), salt),), lambda a: mx.broadcast_to(a, shape)


def broadcast_transposed(shape, salt):
    return (mx.array(0.7),), lambda a: mx.broadcast_to(a, shape[::-1]).T


def constant(shape, salt):
    return (base((1,), salt),), lambda a: mx.full(shape, 0.3, a.dtype)


def computed(shape, salt):
    return (base(shape[::-1], salt),), lambda a: (a * 3 + 1).T


def inserted(shape, salt):
    """Axes of length 1, inserted and removed, with any strides."""
    return (base((1, *shape, 1), salt),), lambda a: a.transpose(-1, *range(1, len(shape) + 1), 0)[
        0, ..., 0
    ]


def identities(shape, salt):
    """Ops that change no bit, whose results lie in rows although their operands do not."""
    arrays, view = sliced(shape, salt)
    return arrays, lambda a: mx.negative(-((view(a) * 1 - 0) / 1))


def identities_of_transposed(shape, salt):
    """The same of operands that lie in columns, with gaps."""
    return (base((2 * shape[-1], *shape[-2::-1]), salt),), lambda a: (a[::2].T * 1).astype(a.dtype)


LAYOUTS = [
    identities, identities_of_transposed,
    dense, sliced, rows_sliced, reversed_, transposed, broadcast_number, broadcast_one,
    broadcast_rows, broadcast_columns, broadcast_transposed, constant, computed, inserted,
]  # fmt: skip

LEFT = [0, 2, 1, 1]
PRODUCTS = {
    "vector": (lambda a, b: a @ b, (33,), (33,)),
    "row": (lambda a, b: a @ b, (33,), (33, 20)),
    "column": (lambda a, b: a @ b, (20, 33), (33,)),
    "one column": (lambda a, b: a @ b, (20, 33), (33, 1)),
    "one row": (lambda a, b: a @ b, (1, 33), (33, 20)),
    "inner length 1": (lambda a, b: a @ b, (7, 1), (1, 20)),
    "few rows": (lambda a, b: a @ b, (5, 33), (33, 20)),
    "matrices": (lambda a, b: a @ b, (70, 65), (65, 80)),
    "batch": (lambda a, b: a @ b, (3, 7, 33), (3, 33, 5)),
    "shared": (lambda a, b: a @ b, (3, 7, 33), (33, 5)),
    "batch of rows": (lambda a, b: a @ b, (4, 1, 33), (33, 20)),
    "addmm": (lambda a, b: mx.addmm(a[:, :1] @ b[:1], a, b, 0.5, 2.0), (6, 33), (33, 20)),
    "inner": (mx.inner, (6, 33), (20, 33)),
    "outer": (mx.outer, (33,), (20,)),
    "tensordot": (lambda a, b: mx.tensordot(a, b, 2), (4, 5, 7), (5, 7, 6)),
    "tensordot axes": (lambda a, b: mx.tensordot(a, b, ((2, 0), (0, 2))), (4, 5, 7), (7, 3, 4)),
    "einsum": (lambda a, b: mx.einsum("ij,kj->ki", a, b), (6, 33), (20, 33)),
    "einsum batch": (lambda a, b: mx.einsum("bij,bjk->bik", a, b), (3, 6, 33), (3, 33, 4)),
    "einsum path": (lambda a, b: mx.einsum("ij,jk,kl->il", a, b, a[:, :9].T), (6, 33), (33, 9)),
    "vecdot": (lambda a, b: mx.linalg.vecdot(a, b), (6, 33), (6, 33)),
    "conv": (lambda a, b: mx.conv1d(a, b), (2, 20, 6), (8, 3, 6)),
    "conv general": (lambda a, b: mx.conv_general(a, b, 2, 1), (2, 9, 8, 3), (8, 3, 3, 3)),
    "conv transposed": (lambda a, b: mx.conv_transpose1d(a, b, 2), (2, 9, 6), (8, 3, 6)),
    "attention": (
        lambda a, b: mx.fast.scaled_dot_product_attention(a, b, b, scale=1.0, mask="causal"),
        (2, 6, 11, 16), (2, 2, 13, 16),
    ),
    "gather_mm": (
        lambda a, b: mx.gather_mm(a, b, mx.array(LEFT), mx.array([0, 0, 1, 1])),
        (3, 5, 33), (2, 33, 20),
    ),
    "gather_mm rows": (
        lambda a, b: mx.gather_mm(a, b, None, mx.array([0, 0, 1])), (3, 1, 33), (2, 33, 20),
    ),
    "segmented_mm": (
        lambda a, b: mx.segmented_mm(a, b, mx.array([[0, 9], [9, 33]], mx.uint32)),
        (5, 33), (33, 20),
    ),
    "gradient": (
        lambda a, b: mx.concatenate(
            [g.flatten() for g in mx.grad(lambda a, b: mx.real((a @ b) ** 2).sum(), (0, 1))(a, b)]
        ), (6, 33), (33, 20),
    ),
    "mapped": (lambda a, b: mx.vmap(mx.matmul, (0, None))(a, b), (3, 5, 33), (33, 20)),
}  # fmt: skip
INEXACT = {
    "addmm",
    "attention",
    "conv",
    "conv general",
    "conv transposed",
    "gradient",
    "vecdot",
    "segmented_mm",
}


def same(a, b):
    return mx.array_equal(a, b, equal_nan=True).item()


def disagreements(product, dtype):
    f, *shapes = PRODUCTS[product]
    t = getattr(mx, dtype)
    for left in LAYOUTS:
        for right in LAYOUTS:
            (a, make_a), (b, make_b) = left(shapes[0], 1), right(shapes[1], 2)
            a, b = [x.astype(t) for x in a], [x.astype(t) for x in b]
            mx.eval(a, b)

            def whole(a, b, make_a=make_a, make_b=make_b):
                return f(make_a(a), make_b(b))

            plain = whole(a[0], b[0])
            x, y = make_a(a[0]), make_b(b[0])
            mx.eval(x, y)
            results = {
                "compiled": mx.compile(whole)(a[0], b[0]),
                "of evaluated operands": f(x, y),
                "captured": mx.compile(lambda a, y=y, m=make_a: f(m(a), y))(a[0]),
                "compiled of evaluated operands": mx.compile(f)(x, y),
            }
            if product not in ("gather_mm", "gather_mm rows", "segmented_mm", "mapped"):
                results["shapeless"] = mx.compile(f, shapeless=True)(make_a(a[0]), make_b(b[0]))
            for name, result in results.items():
                if not same(plain, result):
                    yield f"{left.__name__}, {right.__name__}: {name}"


@pytest.mark.sampled(0.4, always=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("product", PRODUCTS)
def test_products_agree_however_they_are_run(product, dtype, backend):
    if dtype == "int32" and product in INEXACT:
        pytest.skip("the product takes inexact dtypes")
    if dtype == "complex64" and product == "attention":
        pytest.skip("attention takes floating dtypes")
    found = list(disagreements(product, dtype))
    if backend == "gpu" and product == "einsum path":
        # One factor is a slice of the left operand. The slice of a filled array is a copy, that of
        # an evaluated one is read with the distance of rows that it has, which the GPU's library
        # rounds by (docs/adr/0018).
        found = [f for f in found if not f.startswith("constant, ")]
    assert not found, f"{len(found)}:\n" + "\n".join(found[:30])


SIZES = [(20, 16, 5), (70, 33, 65), (65, 80, 400), (201, 50, 385), (144, 300, 24), (77, 129, 1024)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("m, n, k", SIZES)
def test_factors_in_place_and_packed_give_equal_bits(m, n, k, threads, backend):
    """Small factors are read where they are, unless no axis is dense: then they are packed."""
    if backend == "gpu":
        pytest.skip("the GPU's library rounds by the memory order of its operands")
    of_left = [dense, rows_sliced, transposed, reversed_]
    of_right = [dense, rows_sliced] + ([transposed] if m > 64 else [])  # a dot product up to there
    former = mx.get_num_threads()
    try:
        mx.set_num_threads(threads)
        for left in of_left:
            for right in of_right:
                a, b = (
                    view(arrays[0].astype(mx.float32))
                    for arrays, view in (left((m, k), 1), right((k, n), 2))
                )
                mx.eval(a, b)
                packed = [mx.zeros((2 * x.shape[0], 2 * x.shape[1])) for x in (a, b)]
                for x, around in zip((a, b), packed, strict=True):
                    around[::2, ::2] = x
                mx.eval(packed)
                expected = packed[0][::2, ::2] @ packed[1][::2, ::2]
                assert same(a @ b, expected), f"{left.__name__}, {right.__name__}"
                addend = mx.full((m, n), 0.5)
                fused = mx.addmm(addend, a, b, 2.0, -1.0)
                assert same(
                    fused, mx.addmm(addend, packed[0][::2, ::2], packed[1][::2, ::2], 2.0, -1.0)
                )
                exact = np.array(a).astype(np.float64) @ np.array(b).astype(np.float64)
                assert np.abs(np.array(expected) - exact).max() < 1e-6 * k
    finally:
        mx.set_num_threads(former)
