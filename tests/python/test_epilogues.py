"""Ops that apply what follows to their result, and the memory order of results.

The CPU fuses no epilogues; the second backend does, for products. The values are checked on both.
"""

import os
import subprocess

import numpy as np
import pytest
import second_backend
from processes import PYTHON

import mlx.core as mx

HERE = os.path.dirname(os.path.abspath(__file__))
FUSES = second_backend.in_use() in ("fake", "fake-unified")
N = 24


def values(shape, salt, dtype=mx.float32):
    """An evaluated array."""
    a = mx.array(np.random.RandomState(salt).uniform(-1, 1, shape).astype(np.float32) * 3)
    a = a.astype(dtype)
    mx.eval(a)
    return a


def operands(dtype=mx.float32):
    """Two square matrices, a row and a third matrix."""
    shapes = [(N, N), (N, N), (N,), (N, N)]
    return [values(shape, salt, dtype) for salt, shape in enumerate(shapes)]


def unfused(f):
    """The result of f if each node is a step."""
    mx._set_fusion(False)
    try:
        out = f()
        mx.eval(out)
    finally:
        mx._set_fusion(True)
    return out


def check_same(fused, one_by_one):
    """Asserts that arrays are equal to the bit."""
    for a, b in zip(fused, one_by_one, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        a, b = (np.array(x.astype(mx.float32) if x.dtype == mx.bfloat16 else x) for x in (a, b))
        np.testing.assert_array_equal(a, b)


KEY = mx.random.key(7)
mx.eval(KEY)

# Of x, w, row, r: matrices (N, N), and a row
FORMULAS = {
    "activation": lambda x, w, row, r: mx.maximum(x @ w, 0),
    "bias": lambda x, w, row, r: mx.maximum(x @ w + row, 0),
    "bias in a column": lambda x, w, row, r: x @ w - r[:, :1],
    "residual": lambda x, w, row, r: (x @ w) * 2 + r,
    "strided residual": lambda x, w, row, r: x @ w + r[::-1, ::-1],
    "transposed residual": lambda x, w, row, r: x @ w + r.T,
    "residual that the product reads": lambda x, w, row, r: x @ w + x * w.T,
    "product read twice": lambda x, w, row, r: (lambda h: h * (h + 1))(x @ w),
    "cast": lambda x, w, row, r: (x @ w).astype(mx.float16) + 1,
    "where": lambda x, w, row, r: mx.where(r > 0, x @ w, row),
    "dropout": lambda x, w, row, r: mx.where(
        mx.random.bernoulli(0.75, (N, N), key=KEY), x @ w + row, 0
    ),
    "positions": lambda x, w, row, r: (x @ w).astype(mx.float32) + mx.arange(N, dtype=mx.float32),
    "constant operand": lambda x, w, row, r: mx.ones((N, N), x.dtype) @ w + row,
    "addmm": lambda x, w, row, r: (
        mx.maximum(mx.addmm(row, x, w, 0.5, 2.0), r)
        if mx.issubdtype(x.dtype, mx.inexact)
        else mx.maximum(x @ w, r)
    ),
    "stack of products": lambda x, w, row, r: mx.abs(
        x.reshape(2, 2, N // 4, N) @ mx.stack([w[None], r[None]]) + row
    ),
}


# Steps that make the product's operands
COPIES = {"constant operand": 2, "stack of products": 1}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32"])
@pytest.mark.parametrize("name", FORMULAS)
def test_a_product_and_its_epilogue_are_one_step(name, dtype):
    args = operands(getattr(mx, dtype))
    formula = FORMULAS[name]
    out = formula(*args)
    steps = mx._plan_steps(out)
    if FUSES:
        assert len(steps) == 1 + COPIES.get(name, 0), steps
        assert steps[-1].startswith(("fused(matmul,", "fused(addmm,")), steps
    check_same([out], [unfused(lambda: formula(*args))])


def test_two_products_share_one_epilogue():
    x, w, _, r = operands()
    formula = lambda: mx.tanh(x @ w + r @ w)  # noqa: E731
    out = formula()
    if FUSES:
        assert sorted(mx._plan_steps(out)) == ["fused(matmul,add,tanh)", "matmul"]
    check_same([out], [unfused(formula)])


def test_several_results_of_an_epilogue():
    x, w, row, _ = operands()

    def results():
        h = x @ w + row
        return [h, mx.maximum(h, 0) * 2]

    out = results()
    if FUSES:
        assert len(mx._plan_steps(*out)) == 1, mx._plan_steps(*out)
    mx.eval(out)
    check_same(out, unfused(results))


def held(x, w, row, r):
    h = x @ w
    return [h, mx.maximum(h, 0)]


def read_by_a_reduction(x, w, row, r):
    h = x @ w
    return [mx.sum(h, 0), mx.maximum(h, 0)]


def read_by_two_groups(x, w, row, r):
    h = x @ w
    return [mx.maximum(h, 0), mx.exp(mx.sum(mx.exp(h * 0.1) @ w, 0)) + h]


def read_transposed(x, w, row, r):
    return [(x @ w).T + r]


def read_in_two_orders(x, w, row, r):
    h = x @ w
    return [h + h.T]


def broadcast(x, w, row, r):
    return [x[:1] @ w + r]


def sliced(x, w, row, r):
    return [(x @ w)[1:] + r[1:]]


def too_long(x, w, row, r):
    h = x @ w
    for k in range(14):
        h = mx.maximum(h, row) if k % 2 else h + r
    return [h]


def of_another_stream(x, w, row, r):
    return [mx.maximum(mx.matmul(x, w, stream=OTHER), 0)]


def empty(x, w, row, r):
    return [x[:0] @ w + row]


OTHER = mx.new_stream(mx.default_device())


@pytest.mark.parametrize(
    "formula",
    [
        held,
        read_by_a_reduction,
        read_by_two_groups,
        read_transposed,
        read_in_two_orders,
        broadcast,
        sliced,
        too_long,
        of_another_stream,
        empty,
    ],
)
def test_a_product_that_others_need_is_stored(formula):
    args = operands()
    out = formula(*args)
    assert "matmul" in mx._plan_steps(*out), mx._plan_steps(*out)
    mx.eval(out)
    check_same(out, unfused(lambda: formula(*args)))


@pytest.mark.parametrize("length", [1, 7])
def test_a_group_between_a_product_and_a_reduction(length):
    """An op with two products joins one of both."""
    x, w, row, _ = operands()

    def loss():
        h = x @ w
        for _ in range(length):
            h = mx.maximum(h + row, 0.5)
        return mx.sum(h)

    steps = mx._plan_steps(loss())
    assert len(steps) == (3 if FUSES and length > 1 else 2), steps
    assert (steps[0] != "matmul") == (FUSES and length == 1), steps
    check_same([loss()], [unfused(loss)])


def network(weights, x):
    h = mx.maximum(mx.addmm(weights[1], x, weights[0]), 0)
    h = h + mx.tanh(h @ weights[2] + weights[1])
    return mx.mean(mx.square(h @ weights[3] - x))


@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_through_epilogues(compiled):
    x, w, row, r = operands()
    weights = [w * 0.1, row, r * 0.1, (w - r) * 0.1]
    mx.eval(weights)
    function = mx.value_and_grad(network)
    if compiled:
        function = mx.compile(function)

    def run():
        losses = []
        current = weights
        for _ in range(4):  # the same plan again
            loss, grads = function(current, x)
            current = [a - 0.1 * g for a, g in zip(current, grads, strict=True)]
            mx.eval(loss, current)
            losses.append(loss)
        return [*losses, *current]

    fused = run()
    assert fused[3].item() < fused[0].item()
    if not compiled:
        check_same(fused, unfused(run))
    assert len({loss.item() for loss in fused[:4]}) == 4


def test_a_compiled_function_has_the_same_epilogue():
    args = operands()
    formula = FORMULAS["bias"]
    compiled = mx.compile(formula)
    for _ in range(3):
        check_same([compiled(*args)], [unfused(lambda: formula(*args))])


def test_results_do_not_overlap_the_inputs_of_the_product():
    """The result may take the memory of a temporary residual, unless the product reads it too."""
    x, w, _, r = operands()

    def results(keep):
        first = mx.sin(r)
        a = first @ w + x * 2 if keep else x @ w + mx.exp(mx.softmax(r, 0))
        both = mx.softmax(x, 0)
        return [a, both @ w + both, mx.maximum(mx.softmax(w, 1) @ w, mx.softmax(r, 1))]

    for keep in (False, True):
        check_same(results(keep), unfused(lambda keep=keep: results(keep)))
    # Inputs without another reference are taken over.
    for _ in range(3):
        a = x + 0
        mx.eval(a)
        want = np.array(x @ w + x)
        a = a @ w + a
        np.testing.assert_array_equal(np.array(a), want)


def test_profiles_and_errors_name_the_whole_step():
    x, w, row, _ = operands()
    out = mx.maximum(x @ w + row, 0)
    with mx.profile() as p:
        mx.eval(out)
    assert ("fused(matmul,add,maximum)" in str(p)) == FUSES, str(p)
    with mx.debug_nans(), pytest.raises(RuntimeError, match="sqrt"):
        mx.eval(mx.sqrt(x @ w - 1e6))


@pytest.mark.skipif(not FUSES, reason="failures on request are the second backend's")
def test_failures_in_front_of_an_epilogue():
    fake = second_backend.library()
    x, w, row, _ = operands()
    want = np.array(mx.maximum(x @ w + row, 0))
    mx.synchronize()
    for kind in (second_backend.LAUNCH, second_backend.ALLOCATION):
        out = mx.maximum(x @ w + row, 0)
        fake.mlx_fake_fail(kind, 1)
        with pytest.raises((RuntimeError, MemoryError)):
            mx.eval(out)
        fake.mlx_fake_fail(kind, 0)
        np.testing.assert_array_equal(np.array(mx.maximum(x @ w + row, 0)), want)


@pytest.mark.cpu_only("runs this file on the second backend")
@pytest.mark.parametrize("backend", ["fake", "fake-unified"])
def test_the_second_backend(backend):
    files = [__file__, os.path.join(HERE, "test_result_order.py")]
    run = subprocess.run(
        [*PYTHON, "-m", "pytest", "-q", "-pno:cacheprovider", "--backend", backend, *files],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "MLX_DEBUG": "verify"},
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    assert "skipped" not in run.stdout, run.stdout[-300:]
