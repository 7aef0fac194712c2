"""Control flow beyond its rows: functions run once, errors, captured arrays, nesting, files."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import second_backend
from memory_in_use import settled_memory

import mlx.core as mx

HERE = pathlib.Path(__file__).parent

XS = mx.array([1.0, 2.0, 3.0, 4.0])
ZERO = mx.array(0.0)


def running(c, x):
    """The sum so far."""
    return c + x, c


def test_functions_are_called_once():
    calls = []

    def counted(result):
        def call(*args):
            calls.append(args)
            return result(*args)

        return call

    loops = {
        "scan": lambda: mx.scan(counted(running), ZERO, XS)[0],
        "map": lambda: mx.map(counted(mx.exp), XS),
        "while_loop": lambda: mx.while_loop(lambda x: x < 50, counted(lambda x: x * 2), 1.0),
        "fori_loop": lambda: mx.fori_loop(0, 9, counted(lambda i, x: x + i), 0),
        "grad of scan": lambda: mx.grad(lambda c: mx.scan(counted(running), c, XS)[0])(ZERO),
        "vmap of scan": lambda: mx.vmap(lambda c: mx.scan(counted(running), c, XS)[0])(XS),
    }
    for name, loop in loops.items():
        calls.clear()
        mx.eval(loop())
        assert len(calls) == 1, name


def test_trees():
    def f(carry, x):
        total = carry["total"] + x[0]
        return {"count": carry["count"] + 1, "total": total}, (total, {"twice": [x[1] * 2]})

    start = {"total": ZERO, "count": 0}
    carry, (sums, more) = mx.scan(f, start, (XS, XS))
    assert carry["total"].item() == 10 and carry["count"].item() == 4
    assert sums.tolist() == [1, 3, 6, 10] and more["twice"][0].tolist() == [2, 4, 6, 8]
    carry, nothing = mx.scan(lambda c, x: (c, None), (ZERO, None), XS)
    assert carry[1] is None and nothing is None
    swapped = mx.cond(True, lambda a, b: {"x": b, "y": a}, lambda a, b: {"y": b, "x": a}, XS, -XS)
    assert swapped["x"].tolist() == (-XS).tolist() and swapped["y"].tolist() == XS.tolist()


ERRORS = {
    "pair": (lambda: mx.scan(lambda c, x: c, ZERO, XS), "returned array; a pair"),
    "shape": (
        lambda: mx.scan(lambda c, x: (c + XS, x), ZERO, XS),
        "carry with array 0 of shape (4,) and dtype float32, and init is one with shape () and "
        "dtype float32",
    ),
    "dtype": (
        lambda: mx.scan(lambda c, x: (c + x, x), 0, XS),
        "array 0 of shape () and dtype float32, and init is one with shape () and dtype int32",
    ),
    "form": (lambda: mx.scan(lambda c, x: ((c, c), x), ZERO, XS), "a carry of the form"),
    "lengths": (lambda: mx.scan(running, ZERO, (XS, XS[:2])), "of 4 and 2; equal lengths"),
    "length": (lambda: mx.scan(lambda c, x: (c, c), ZERO, XS, length=3), "of 3 and 4"),
    "no length": (lambda: mx.scan(running, ZERO), "neither xs nor a length"),
    "negative": (lambda: mx.scan(lambda c, x: (c, c), ZERO, length=-1), "length -1"),
    "scalar": (lambda: mx.scan(running, ZERO, ZERO), "a scalar among xs"),
    "leaf": (lambda: mx.scan(running, "no", XS), "init contains str"),
    "result": (lambda: mx.scan(lambda c, x: (c, "no"), ZERO, XS), "contains str"),
    "map": (lambda: mx.map(mx.exp, []), "no array in xs"),
    "condition": (lambda: mx.while_loop(lambda x: x < 3, lambda x: x, XS), "a condition that"),
    "body": (lambda: mx.while_loop(lambda x: x < 3, lambda x: x + XS, ZERO), "array 0 of shape"),
    "nothing": (lambda: mx.while_loop(lambda x: True, lambda x: x, []), "no array in init"),
    "bound": (lambda: mx.fori_loop(ZERO, 3, lambda i, x: x, ZERO), "a lower bound of shape"),
    "wide": (lambda: mx.fori_loop(0, 2**40, lambda i, x: x, ZERO), "bounds of 32 bits"),
    "branches": (
        lambda: mx.cond(True, lambda x: x, lambda x: x.astype(mx.int32), ZERO),
        "branch 1 returned a value with array 0 of shape () and dtype float32, and branch 0 one "
        "with shape () and dtype int32",
    ),
    "none": (lambda: mx.switch(0, [], ZERO), "no branch"),
    "predicate": (lambda: mx.cond(XS > 1, mx.exp, mx.sin, XS), "a predicate of shape (4,)"),
    "index": (lambda: mx.switch(ZERO, [mx.exp], XS), "an index of shape ()"),
    "axes": (lambda: mx.associative_scan(mx.add, (XS, XS[:2])), "of lengths 4 and 2"),
    "shrinks": (lambda: mx.associative_scan(lambda a, b: a[:1], XS), "the function returned"),
    "axis": (lambda: mx.associative_scan(mx.add, XS, axis=1), "axis 1 of an array of shape (4,)"),
    "reverse": (
        lambda: mx.grad(lambda x: mx.while_loop(lambda v: v < 9, lambda v: v * 2, x))(ZERO + 1),
        "[while_loop] reverse-mode derivatives",
    ),
    "evaluation": (
        lambda: mx.scan(lambda c, x: (c + x.item(), x), ZERO, XS),
        "Not allowed inside a graph transformation",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, text = ERRORS[name]
    with pytest.raises((ValueError, IndexError), match=re.escape(text)):
        mx.eval(call())


def test_exceptions_of_functions_leave_nothing_behind():
    def broken(c, x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        mx.scan(broken, ZERO, XS)
    assert mx.scan(running, ZERO, XS)[0].item() == 10


def test_errors_in_an_iteration_are_those_of_the_op():
    bad = mx.array([[1.0, 2.0], [2.0, 1.0]])

    def f(c, i):
        return c + mx.linalg.cholesky(bad * i, stream=mx.cpu).sum(), None

    with pytest.raises(mx.LinAlgError):
        mx.eval(mx.scan(f, ZERO, XS))


@pytest.mark.parametrize("checkpoint", [False, True])
def test_derivatives_of_captured_arrays(checkpoint):
    w = mx.random.normal((3, 3), key=mx.random.key(0)) * 0.5
    xs = mx.random.normal((5, 2, 3), key=mx.random.key(1))

    def by_scan(w, c, xs):
        view = w.T[::-1]

        def f(c, x):
            c = mx.tanh(c @ view + x * mx.exp(w[0]))
            return c, (c * w[1], c)

        c, (ys, zs) = mx.scan(f, c, xs, checkpoint=checkpoint)
        return (ys * zs).sum() + (c**2).sum()

    def by_loop(w, c, xs):
        total = 0
        for x in xs:
            c = mx.tanh(c @ w.T[::-1] + x * mx.exp(w[0]))
            total = total + (c * w[1] * c).sum()
        return total + (c**2).sum()

    args = (w, xs[0], xs)
    for which in ((0, 1, 2), 0, (1,)):
        for wrap in (lambda f: f, mx.compile):
            got = wrap(mx.grad(by_scan, which))(*args)
            want = mx.grad(by_loop, which)(*args)
            for g, h in zip(
                *(a if isinstance(a, tuple) else (a,) for a in (got, want)), strict=True
            ):
                assert mx.allclose(g, h, 1e-4, 1e-5)


def test_a_scan_that_ran_already_has_derivatives():
    def f(c):
        last, ys = mx.scan(lambda c, x: (mx.sin(c * x), c), c, XS)
        mx.eval(last, ys)
        return last + ys.sum()

    def g(c):
        total = 0
        for x in XS:
            total, c = total + c, mx.sin(c * x)
        return total + c

    assert mx.allclose(mx.grad(f)(ZERO + 1), mx.grad(g)(ZERO + 1), 1e-5)


def loops_run(f):
    """How often each loop of an evaluation ran."""
    with mx.profile() as p:
        mx.eval(f(ZERO + 1))
    return [int(line.split()[0]) for line in str(p).splitlines() if "scan_loop" in line]


def test_the_value_and_the_gradient_share_one_forward_loop():
    def f(c):
        return mx.scan(lambda c, x: (mx.sin(c * x), None), c, XS)[0]

    assert loops_run(f) == [1]
    assert loops_run(mx.grad(f)) == [1, 1]
    assert loops_run(mx.value_and_grad(f)) == [1, 1]  # forward and backward


def test_checkpoint_stores_less():
    xs = mx.zeros((2000, 2000))

    def memory(checkpoint):
        def f(w):
            def step(c, x):
                for _ in range(8):
                    c = mx.sin(c * w)
                return c + x, None

            return mx.scan(step, xs[0], xs, checkpoint=checkpoint)[0].sum()

        start = settled_memory()
        mx.reset_peak_memory()
        mx.eval(mx.grad(f)(mx.array(1.0)))
        return mx.get_peak_memory() - start

    mx.eval(xs)
    assert memory(True) < 0.6 * memory(False)


def test_unused_branches_do_not_run():
    never = lambda x: mx.while_loop(lambda v: v == v, lambda v: v, x)  # noqa: E731
    for pred, want in ((True, 2.0), (False, 1.0)):
        branches = (lambda x: x + 1, never) if pred else (never, lambda x: x)
        assert mx.cond(mx.array(pred), *branches, ZERO + 1).item() == want
    captured = ZERO + 1
    assert mx.cond(mx.array(True), lambda: captured, lambda: never(captured)).item() == 1


def test_forward_derivative_of_a_while_loop():
    def f(x):
        return mx.while_loop(lambda v: v[0] < 5, lambda v: (v[0] + 1, v[1] * x), (0, x * 2))[1]

    value, tangent = mx.jvp(f, [mx.array(1.5)], [mx.array(1.0)])
    assert np.isclose(value[0].item(), 2 * 1.5**6)
    assert np.isclose(tangent[0].item(), 12 * 1.5**5)


def test_vmap_of_a_while_loop_ends_each_position_by_itself():
    def collatz(n):
        def step(v):
            even = v[0] % 2 == 0
            return mx.where(even, v[0] // 2, 3 * v[0] + 1), v[1] + 1

        return mx.while_loop(lambda v: v[0] != 1, step, (n, mx.array(0)))[1]

    n = mx.array([1, 2, 3, 7, 27])
    want = [0, 1, 7, 16, 111]
    assert mx.vmap(collatz)(n).tolist() == want
    assert mx.compile(mx.vmap(collatz))(n).tolist() == want
    assert mx.vmap(mx.vmap(collatz))(n[None]).tolist() == [want]


def test_inside_each_other():
    def f(x):
        def row(c, r):
            c = mx.cond(
                r.sum() > 0,
                lambda: c + mx.fori_loop(0, 3, lambda i, v: v * r.sum(), c),
                lambda: c - mx.scan(running, c, r)[1].sum(),
            )
            return c, mx.switch(mx.array(1), [lambda: c, lambda: c * 2])

        return mx.scan(row, mx.array(0.5), x)[1].sum()

    def g(x):
        c, out = mx.array(0.5), 0
        for r in x:
            if mx.stop_gradient(r.sum()).item() > 0:
                c = c + c * r.sum() ** 3
            else:
                sums = mx.concatenate([mx.zeros(1), mx.cumsum(r)[:-1]]) + c
                c = c - sums.sum()
            out = out + c * 2
        return out

    x = mx.array([[0.3, -0.2, 0.5], [-0.3, 0.1, -0.1], [0.2, 0.4, -0.1]])
    want, grad = g(x), mx.grad(g)(x)
    for h in (f, mx.compile(f)):
        assert mx.allclose(h(x), want, 1e-5)
        assert mx.allclose(mx.grad(h)(x), grad, 1e-4)
        assert mx.allclose(mx.vmap(h)(mx.stack([x, x]))[1], want, 1e-5)
    batch = mx.stack([x, -x])
    each = mx.stack([mx.grad(g)(x), mx.grad(g)(-x)])
    assert mx.allclose(mx.vmap(mx.grad(f))(batch), each, 1e-4)


def test_files_keep_functions(tmp_path):
    w = mx.array([0.5, -2.0])

    def f(x, n):
        def step(c, y):
            return mx.cond(c.sum() > 0, lambda: c * y, lambda: c + w * y), (c, mx.zeros(2) + 1)

        c, (ys, _) = mx.scan(step, w, x)
        return mx.while_loop(lambda v: v[0] < n, lambda v: (v[0] + 1, v[1] * 1.5), (0, c))[1], ys

    file = str(tmp_path / "f.mlxfn")
    args = (mx.array([1.0, -2.0, 0.25]), mx.array(3))
    mx.export_function(file, f, *args)
    for given in (args, (args[0] * 2, mx.array(0))):
        for got, want in zip(mx.import_function(file)(*given), f(*given), strict=True):
            assert got.tolist() == want.tolist()
    loaded = mx.import_function(file)
    grad = mx.grad(lambda x: loaded(x, args[1])[1].sum())(args[0])
    assert mx.allclose(grad, mx.grad(lambda x: f(x, args[1])[1].sum())(args[0]))


def test_files_of_derivatives(tmp_path):
    file = str(tmp_path / "g.mlxfn")
    f = mx.grad(lambda c: mx.scan(lambda c, x: (mx.sin(c * x), c), c, XS)[1].sum())
    mx.export_function(file, f, ZERO + 1)
    assert mx.allclose(mx.import_function(file)(ZERO + 2)[0], f(ZERO + 2))


def test_lengths_of_many_iterations():
    n = 100_000
    c, ys = mx.scan(lambda c, x: ((c * 1664525 + 1013904223), c), mx.array(1, mx.uint32), length=n)
    value = 1
    for _ in range(n):
        value = (value * 1664525 + 1013904223) % 2**32
    assert c.item() == value and ys.shape == (n,)


def test_custom_rules_inside():
    @mx.custom_function
    def twice(x):
        return mx.sin(x)

    @twice.vjp
    def rule(primals, cotangent, output):
        return cotangent * 3.0

    got = mx.grad(lambda c: mx.scan(lambda c, x: (twice(c), None), c, length=2)[0])(ZERO)
    assert got.item() == 9


def test_plans_serve_functions_that_are_traced_again():
    def f(c):
        return mx.scan(lambda c, x: (c * 2 + x, c), c, XS)[0]

    assert [f(mx.array(float(k))).item() for k in range(4)] == [16 * k + 26 for k in range(4)]
    g = lambda c: mx.scan(lambda c, x: (c * 3 + x, c), c, XS)[0]  # noqa: E731
    assert g(ZERO).item() == 27 + 18 + 9 + 4


INTERRUPTED = """
import mlx.core as mx, signal, sys, threading, time
backend = sys.argv[1]
if backend != "cpu":
    import second_backend
    second_backend.load(backend)
    mx.set_default_device(mx.gpu)
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
"""

ENDLESS = """
start, end = sys.argv[2:]
x = mx.while_loop(lambda v: v == v, lambda v: v + 1, mx.array(0))
if start == "async_eval":
    mx.async_eval(x)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    mx.eval(x)
except KeyboardInterrupt:
    print("ended", flush=True)
print(mx.while_loop(lambda v: v < 9, lambda v: v + 1, mx.array(0)).item(), flush=True)
if end == "unfinished":
    mx.async_eval(x * 2)
"""


OTHERS = """
results = []
def other():
    with mx.stream(mx.new_stream(mx.default_device())):
        x = mx.while_loop(lambda v: v < 5_000_000, lambda v: v + 1, mx.array(0))
        mx.async_eval(x)
        results.append(x.item())
thread = threading.Thread(target=other)
thread.start()
time.sleep(0.1)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    mx.eval(mx.while_loop(lambda v: v == v, lambda v: v + 1, mx.array(0)))
except KeyboardInterrupt:
    thread.join()
    print(results, flush=True)
"""


def interrupted(program, backend, *arguments):
    """The output of a program on a backend, whose loops an alarm interrupts."""
    if backend == "cuda-host" and not second_backend.has_host_driver():
        pytest.skip("this build has no plugin for NVIDIA GPUs with a driver of the host")
    out = subprocess.run(
        [sys.executable, "-c", INTERRUPTED + program, backend, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return out.stdout or out.stderr


@pytest.mark.anywhere
@pytest.mark.parametrize("end", ["over", "unfinished"])
@pytest.mark.parametrize("start", ["eval", "async_eval"])
@pytest.mark.parametrize("backend", ["cpu", "fake", "cuda-host"])
def test_an_interrupt_ends_a_loop_without_end(backend, start, end):
    """Later work and the program's end do not wait for it, wherever it runs."""
    assert interrupted(ENDLESS, backend, start, end) == "ended\n9\n"


@pytest.mark.anywhere
@pytest.mark.parametrize("backend", ["cpu", "fake", "cuda-host"])
def test_a_loop_of_another_thread_goes_on_after_an_interrupt(backend):
    assert interrupted(OTHERS, backend) == "[5000000]\n"
