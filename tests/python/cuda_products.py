"""Products of the plugin for NVIDIA GPUs: `pytest --backend cuda-host cuda_products.py`.

test_cuda_plugin.py runs it, on a driver and on functions of cuBLAS and cuBLASLt of the host.
"""

import numpy as np
import pytest
import second_backend
from cuda_checks import no_faults, outputs  # noqa: F401
from test_devices_agree import bits, values

import mlx.core as mx


def scores(q, k, stream):
    return mx.einsum("bqhd,bkhd->bhqk", q, k, stream=stream)


def weighted(p, v, stream):
    return mx.einsum("bhqk,bkhd->bqhd", p, v, stream=stream)


# Products whose batch axes do not merge: a view of the left side, or the function; the shapes; how
# many calls of the library each takes.
BATCHES = {
    "attention, scores": (scores, (2, 5, 3, 4), (2, 7, 3, 4), 2),
    "attention, values": (weighted, (2, 3, 5, 7), (2, 7, 3, 4), 2),
    "one axis": (None, (6, 3, 4), (6, 4, 5), 1),
    "repeated outer axis": (None, (2, 1, 3, 4), (2, 6, 4, 5), 2),
    "repeated inner axis": (None, (4, 3, 4), (2, 4, 4, 5), 2),
    "shared right side": (None, (2, 6, 3, 4), (4, 5), 1),
    "backwards": (lambda a: a[::-1], (3, 4, 5), (3, 5, 2), 3),
    "three axes": (lambda a: a.transpose(2, 1, 0, 3, 4), (2, 3, 4, 2, 5), (4, 3, 2, 5, 2), 6),
    "many positions": (lambda a: a.swapaxes(0, 1), (70, 80, 2, 3), (80, 70, 3, 2), 1),
    "no elements": (None, (2, 0, 3, 4), (2, 1, 4, 5), 0),
}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("adds", [False, True], ids=["product", "sum"])
def test_batches_of_products_go_to_the_library(name, adds):
    driver, library = second_backend.host_driver(), 3
    of, left, right, calls = BATCHES[name]
    a, b = (values(mx.float32, s, k) / 10 for k, s in ((1, left), (2, right)))
    c = mx.zeros(())
    if of in (scores, weighted):
        product = of
    elif adds:
        c = values(mx.float32, right[-1:], 3)
        product = lambda a, b, stream: mx.addmm(c, of(a) if of else a, b, stream=stream)  # noqa: E731
    else:
        product = lambda a, b, stream: mx.matmul(of(a) if of else a, b, stream=stream)  # noqa: E731
    want = product(a, b, mx.cpu)
    stream = mx.new_stream(mx.gpu)  # whose graphs have none of these products
    mx.eval(a, b, c, want, product(a, b, stream))  # the library is open
    driver.mlx_host_fail(library, 0, 0)
    got = product(a, b, stream)
    assert np.allclose(np.array(got), np.array(want), rtol=1e-5, atol=1e-6)
    assert driver.mlx_host_calls(library) == calls


ROWS = [  # shapes of the factors, and whether each is given as a transposed array
    ((5, 7), (7, 9), False, False),
    ((64, 48), (40, 48), False, True),
    ((100, 2), (100, 32), True, False),
    ((16, 33), (24, 16), True, True),
    ((4, 6, 32), (24, 32), False, True),
]


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
@pytest.mark.parametrize("case", range(len(ROWS)))
def test_rows_are_added_as_products_are_stored(dtype, case):
    """The library adds the row: no kernel spreads it over the result first."""
    left, right, first, second = ROWS[case]
    driver = second_backend.host_driver()
    a, b = (values(mx.float32, s, k).astype(dtype) / 10 for k, s in ((1, left), (2, right)))
    row = values(mx.float32, (24 + right[0] + right[1],), 3).astype(dtype)
    mx.eval(a, b, row)
    a, b = a.T if first else a, b.T if second else b
    n = b.shape[1]
    near = {mx.float32: 1e-5, mx.float16: 2e-3, mx.bfloat16: 2e-2}[dtype]
    for alpha, beta, c in (
        (1, 1, row[:n]),
        (0.5, 1, row[:n]),
        (1, 2, row[:n]),
        (1, 1, row[1 : n + 1]),  # begins where the library reads no row
        (1, 1, row[:n][::-1]),
        (1, 1, row[0]),
    ):
        mx.eval(c)
        got, want = outputs(lambda a, b, c: mx.addmm(c, a, b, alpha, beta), a, b, c)  # noqa: B023
        scale = mx.abs(want.astype(mx.float32)).max().item()
        assert mx.abs((got - want).astype(mx.float32)).max().item() <= near * scale
    kernels = driver.mlx_host_launches()
    mx.eval(mx.addmm(row[:n], a, b))
    assert driver.mlx_host_launches() == kernels


def rounded(a, kept):
    """The float32 values with so many significant bits, to even."""
    bits, gone = np.array(a).view(np.uint32).astype(np.uint64), 24 - kept
    bits += (1 << (gone - 1)) - 1 + (bits >> gone & 1)
    return mx.array((bits >> gone << gone).astype(np.uint32).view(np.float32))


@pytest.mark.parametrize(("name", "kept"), [("high", 11), ("medium", 8)])
def test_products_round_their_operands_where_that_is_allowed(name, kept):
    a, b = values(mx.float32, (9, 20), 1), values(mx.float32, (20, 6), 2)
    want = rounded(a, kept) @ rounded(b, kept)
    assert bits(want) != bits(a @ b)
    with mx.matmul_precision(name):
        assert bits(a @ b) == bits(want)
        assert bits(mx.addmm(b[:1], a, b)) == bits(want + b[:1])
        later = a @ b
        slope = mx.grad(lambda a: (a @ b).sum())
    assert bits(later) == bits(want)  # the state when it was built
    assert bits(slope(a)) == bits(mx.ones((9, 6)) @ b.T)  # it is built as it is called
    with mx.matmul_precision(name):
        assert bits(slope(a)) == bits(mx.ones((9, 6)) @ rounded(b, kept).T)

    def f(a):
        with mx.matmul_precision(name):
            return (a @ b).sum()

    assert bits(mx.grad(f)(a)) == bits(mx.ones((9, 6)) @ rounded(b, kept).T)
