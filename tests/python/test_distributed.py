"""Collectives over threads: values, bits, derivatives, batching, order, disagreement, faults."""

import functools
import itertools
import threading
import time

import distributed_cases
import numpy as np
import pytest
from processes import run_program

import mlx.core as mx

dist = mx.distributed
simulate = dist.simulate


def rank():
    """The rank of this thread."""
    return dist.init().rank()


def column(values):
    """The array of this rank: its row of a table."""
    return mx.array(values[rank()])


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_table(size):
    """Each function, dtype and shape: the bits of NumPy's sums in the engine's order."""
    results = simulate(distributed_cases.run_all, size)
    assert [w for wrong, _ in results for w in wrong] == []


@pytest.mark.parametrize("size", [2, 3, 5])
def test_special_values(size):
    """NaNs, infinities and zeros of both signs, in all combinations of ranks: as the ops."""
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5]
    rows = np.array(list(itertools.product(special, repeat=size)), np.float32).T

    def check(dtype, call, expected):
        with mx.stream(mx.cpu):
            inputs = [mx.array(row).astype(dtype) for row in rows]
            want = expected(inputs, rank()).astype(mx.float64)
        got = call(inputs[rank()])
        with mx.stream(mx.cpu):
            got, want = np.array(got.astype(mx.float64)), np.array(want)
        return np.array_equal(got, want, equal_nan=True) and np.array_equal(
            np.signbit(got[~np.isnan(got)]), np.signbit(want[~np.isnan(want)])
        )

    for dtype in (mx.float16, mx.bfloat16, mx.float32, mx.float64):
        for name, call, expected, _ in distributed_cases.ROWS[:3]:
            right = simulate(functools.partial(check, dtype, call, expected), size)
            assert all(right), (name, dtype)


def test_alone():
    """A group of one process: collectives are the identity."""
    group = dist.init()
    assert (group.rank(), group.size()) == (0, 1)
    x = mx.array([1.0, 2.0, 3.0])
    for f in (dist.all_sum, dist.all_max, dist.all_min, dist.all_gather, dist.sum_scatter):
        assert f(x) is x or mx.array_equal(f(x), x)
    assert mx.array_equal(dist.broadcast(x, 0), x)
    dist.barrier()
    assert simulate(lambda: dist.all_sum(x).sum().item(), 1) == [6.0]
    assert dist.status()["engine"] == "none"


@pytest.mark.parametrize("size", [2, 3])
def test_derivatives(size):
    """Gradients and tangents of each function against those of one process."""
    rows = np.random.default_rng(3).normal(size=(size, 2 * size, 3)).astype(np.float32)
    top = rows.max(0)

    def check():
        r, x = rank(), column(rows)
        w = mx.arange(2.0 * size * 3).reshape(2 * size, 3)
        grad = mx.grad(lambda x: (dist.all_sum(x) * w).sum())(x)
        assert mx.array_equal(grad, w)
        for f, best in ((dist.all_max, top), (dist.all_min, rows.min(0))):
            grad = mx.grad(lambda x, f=f: (f(x) * w).sum())(x)
            assert mx.array_equal(grad, w * (x == mx.array(best)))
        weights = mx.arange(2.0 * size * size * 3).reshape(-1, 3)
        grad = mx.grad(lambda x: (dist.all_gather(x) * weights).sum())(x)
        assert mx.array_equal(grad, mx.split(weights, size)[r])
        part = mx.arange(6.0).reshape(2, 3) + r
        grad = mx.grad(lambda x: (dist.sum_scatter(x) * part).sum())(x)
        assert mx.array_equal(grad, dist.all_gather(part))
        grad = mx.grad(lambda x: (dist.all_to_all(x) * (w + r)).sum())(x)
        assert mx.array_equal(grad, dist.all_to_all(w + r))
        grad = mx.grad(lambda x: (dist.broadcast(x, 1) * w).sum())(x)
        assert mx.array_equal(grad, w * size if r == 1 else w * 0)
        # A scalar, whose gather is a vector.
        grad = mx.grad(lambda x: (dist.all_gather(x) * mx.arange(1.0, size + 1)).sum())(x[0, 0])
        assert grad.item() == r + 1
        functions = (dist.all_sum, dist.all_gather, dist.sum_scatter, dist.all_to_all)
        for f in functions:
            value, tangent = mx.jvp(f, (x,), (w + r,))
            assert mx.array_equal(value[0], f(x)) and mx.array_equal(tangent[0], f(w + r))
        _, tangent = mx.jvp(dist.all_max, (x,), (w + r,))
        assert mx.array_equal(tangent[0], w + mx.array(rows.argmax(0)))

    simulate(check, size)


def test_ties_share_the_gradient():
    def check():
        x = mx.array([1.0, 2.0 + rank()])
        return mx.grad(lambda x: dist.all_max(x).sum())(x).tolist()

    assert simulate(check, 2) == [[0.5, 0.0], [0.5, 1.0]]


@pytest.mark.parametrize("axis", [0, 1])
def test_vmap(axis):
    """Batches equal loops, for every function."""
    data = np.random.default_rng(5).normal(size=(2, 3, 4, 5)).astype(np.float32)

    def check():
        x = mx.moveaxis(column(data), 0, axis)
        functions = [dist.all_sum, dist.all_max, dist.all_gather, dist.sum_scatter]
        functions += [dist.all_to_all, lambda x: dist.broadcast(x, 0)]
        for f in functions:
            batched = mx.vmap(f, in_axes=axis)(x)
            loop = mx.stack([f(mx.take(x, i, axis)) for i in range(3)])
            assert mx.array_equal(batched, loop)
        scalars = mx.vmap(dist.all_gather)(x[0, :, 0])
        assert scalars.shape == (x.shape[1], 2)

    simulate(check, 2)


def test_compiled():
    """Compiled functions communicate in each call, and in the order of their calls."""

    @mx.compile
    def step(x, y):
        return dist.all_sum(x) * 2, dist.all_gather(y)

    def check():
        out = []
        for k in range(4):
            a, b = step(mx.array([1.0 + rank() + k]), mx.array([k]))
            c = dist.all_max(mx.array(float(k * rank())))
            d, e = step(mx.array([1.0]), mx.array([rank()]))
            # The order in which a rank evaluates is free.
            mx.eval(*((a, b, c, d, e) if rank() else (e, d, c, b, a)))
            out.append([x.tolist() for x in (a, b, c, d, e)])
        grad = mx.grad(lambda x: step(x, x)[0].sum())(mx.array([3.0]))
        grad_too = mx.compile(mx.grad(lambda x: dist.all_sum(x * x).sum()))(mx.array([3.0]))
        return out, grad.item(), grad_too.item()

    first, second = simulate(check, 2)
    assert first == second
    assert [o[0] for o in first[0]] == [[6.0], [10.0], [14.0], [18.0]]
    assert [o[4] for o in first[0]] == [[0, 1]] * 4
    assert first[1:] == (2.0, 6.0)
    # Another simulation has another group.
    assert simulate(check, 2)[0] == first


def test_shapeless():
    f = mx.compile(lambda x: dist.all_sum(x) + 1, shapeless=True)
    out = simulate(lambda: [f(mx.ones(n)).tolist() for n in (1, 2, 1)], 2)
    assert out == [[[3.0], [3.0, 3.0], [3.0]]] * 2


def test_in_transformations():
    """checkpoint, custom_function, value_and_grad, nested."""

    def check():
        x = mx.array([1.0, 2.0]) * (rank() + 1)
        inner = mx.checkpoint(lambda x: dist.all_sum(x * x))
        value, grad = mx.value_and_grad(lambda x: inner(x).sum())(x)
        twice = mx.grad(lambda x: mx.grad(lambda y: (dist.all_sum(y) ** 3).sum())(x).sum())(x)

        @mx.custom_function
        def f(x):
            return dist.all_sum(x)

        f.vjp(lambda x, g, o: g * 10)
        return (
            value.item(),
            grad.tolist(),
            twice.tolist(),
            mx.grad(lambda x: f(x).sum())(x).tolist(),
        )

    total = [3.0, 6.0]
    for r, (value, grad, twice, custom) in enumerate(simulate(check, 2)):
        assert value == 25.0
        assert grad == [2.0 * (r + 1), 4.0 * (r + 1)]
        assert twice == [6 * t for t in total]
        assert custom == [10.0, 10.0]


def test_order_of_evaluation():
    """Ranks that evaluate the same collectives in another order get the same values."""

    def check():
        a = dist.all_sum(mx.array(1.0))
        b = dist.all_sum(mx.array(10.0))
        mx.eval(*((a, b) if rank() else (b, a)))
        return a.item(), b.item()

    assert simulate(check, 2) == [(2.0, 20.0)] * 2


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    """Programs of 20 collectives in several groups, in portions; each rank has its own order."""

    def program(portions):
        shared = np.random.default_rng(seed)
        own = np.random.default_rng(seed * 100 + rank())
        world = dist.init()
        groups = [world, world.split(rank() % 2), world.split(rank() // 2, 10 - rank())]
        values = [mx.array([float(rank() + 1), 2.0])]
        results = []
        for portion in range(5):
            fresh = []
            for _ in range(4):
                group = groups[shared.integers(len(groups))]
                x = values[shared.integers(len(values))]
                kind = shared.integers(3)
                if kind == 0:
                    y = dist.all_sum(x, group=group) / group.size() + 1
                elif kind == 1:
                    y = dist.all_max(x * 2, group=group) - portion
                else:
                    y = dist.all_gather(x, group=group)[-2:] * 0.5
                values.append(y)
                fresh.append(y)
            if portions:
                own.shuffle(fresh)
                mx.eval(*fresh) if own.integers(2) else mx.async_eval(*fresh)
            results += fresh
        mx.eval(values)
        return [v.tolist() for v in values]

    assert simulate(lambda: program(True), 4) == simulate(lambda: program(False), 4)


EARLY = """
import mlx.core as mx

def check():
    x, total = mx.ones((64, 64)), []
    for _ in range(3):
        x = mx.sin(x @ x)
        total.append(mx.distributed.all_sum(x).exp())
    steps = mx._plan_steps(total)
    mx.eval(total)
    return steps, [t[0, 0].item() for t in total]

(steps, values), (_, others) = mx.distributed.simulate(check, 2)
assert values == others
kinds = ["sum" if "all_sum" in s else "exp" if "exp" in s else "" for s in steps]
print([k for k in kinds if k], values)
"""


def test_early_start():
    """Sums of computed arrays come before everything that reads them, unless that is switched
    off; the values are the same."""
    code, early, err = run_program(EARLY)
    assert code == 0, err
    assert early.startswith(str(["sum"] * 3 + ["exp"] * 3)), early
    values = early.split("] ")[1]
    for off in ({"MLX_DISABLE_PASSES": "communicate"}, {"MLX_DISTRIBUTED_AHEAD": "0"}):
        code, out, err = run_program(EARLY, **off)
        assert code == 0, err
        kinds, same = out.split("] ")
        assert kinds + "]" == str(["sum", "exp"] * 3) and same == values, out
    code, out, err = run_program(EARLY, MLX_DISTRIBUTED_AHEAD="1 GB")
    assert code != 0 and "MLX_DISTRIBUTED_AHEAD=1 GB given; accepted: a number from 0." in err, err


def test_unknown_check():
    """The variable of checks has two words; another one is an error, and not a silent "on"."""
    text = "import mlx.core as mx; print(mx.distributed.simulate(lambda: 1, 2))"
    code, out, err = run_program(text, MLX_DISTRIBUTED_CHECK="of")
    assert code != 0 and "MLX_DISTRIBUTED_CHECK=of given; accepted: on, off." in err, out + err
    for word in ("on", "off"):
        code, out, err = run_program(text, MLX_DISTRIBUTED_CHECK=word)
        assert (code, out) == (0, "[1, 1]\n"), err


# Ranks that disagree: a program for all ranks but 1, and one for rank 1.
def _sum(n=4, dtype=mx.float32):
    return dist.all_sum(mx.ones(n, dtype)).sum().item()


DISAGREEMENTS = {
    "kind": (lambda: _sum(), lambda: dist.all_max(mx.ones(4)).sum().item()),
    "operation": (lambda: _sum(), lambda: mx.eval(dist.all_gather(mx.ones(4)))),
    "dtype": (lambda: _sum(), lambda: _sum(dtype=mx.int32)),
    "count": (lambda: _sum(), lambda: _sum(8)),
    "count of large arrays": (lambda: _sum(1 << 20), lambda: _sum(1 << 19)),
    "source": (
        lambda: mx.eval(dist.broadcast(mx.ones(4), 0)),
        lambda: mx.eval(dist.broadcast(mx.ones(4), 1)),
    ),
    "barrier": (lambda: _sum(), lambda: dist.barrier()),
    "one more": (lambda: None, lambda: _sum()),
    "one less": (lambda: _sum(), lambda: None),
    "not evaluated": (
        lambda: (_sum(), _sum()),
        lambda: (dist.all_sum(mx.ones(4)), _sum()),
    ),
    "other order of groups": (
        lambda: (_sum(), dist.init().split(0)),
        lambda: (dist.init().split(0), _sum()),
    ),
    "message in place of a sum": (
        lambda: _sum(),
        lambda: mx.eval(dist.send(mx.ones(4), 0), dist.recv((4,), mx.float32, 0)),
    ),
    "message of another shape": (
        lambda: mx.eval(dist.recv((5,), mx.float32, 1)),
        lambda: mx.eval(dist.send(mx.ones(4), 0), dist.recv((4,), mx.float32, 0)),
    ),
}


@pytest.mark.parametrize("name", DISAGREEMENTS)
@pytest.mark.parametrize("size", [2, 4])
def test_disagreement(name, size):
    """An error on every rank, and never a value."""
    usual, odd = DISAGREEMENTS[name]
    errors = {}

    def check():
        try:
            _sum()
            (odd if rank() == 1 else usual)()
            _sum()  # a rank without an error so far finds out here
            dist.barrier()
        except mx.CommunicationError as e:
            errors[rank()] = str(e)

    simulate(check, size)
    assert sorted(errors) == list(range(size))
    assert all("rank" in text for text in errors.values())


def test_text_of_disagreement():
    def check():
        if rank() == 1:
            dist.all_sum(mx.ones(1024)).sum().item()
        else:
            dist.all_sum(mx.ones(2048)).sum().item()

    with pytest.raises(mx.CommunicationError) as e:
        simulate(check, 4)
    text = str(e.value)
    for part in (
        "[all_sum] ranks disagree at message 1",
        "ranks 0, 2 and 3 run all_sum of 2048 float32 (test_distributed.py:",
        "rank 1 runs all_sum of 1024 float32 (test_distributed.py:",
        "must run the same collectives",
    ):
        assert part in text


def test_lines_may_differ():
    """Two branches of a program may make one request."""

    def check():
        x = mx.ones(2)
        y = dist.all_sum(x) if rank() else dist.all_sum(x * 2)
        y = dist.all_sum(y)
        return y.tolist()

    assert simulate(check, 2) == [[6.0, 6.0]] * 2


def test_failing_rank():
    """The error of the rank that failed is raised; the others are told of it."""
    seen = {}

    def check():
        if rank() == 2:
            time.sleep(0.05)
            raise LookupError("no such file")
        try:
            _sum()
        except mx.CommunicationError as e:
            seen[rank()] = str(e)
            raise

    with pytest.raises(LookupError, match="no such file"):
        simulate(check, 3)
    assert set(seen) == {0, 1}
    assert all(
        "rank 2 ended: LookupError: no such file (test_distributed.py:" in t for t in seen.values()
    )


def test_leaving_rank():
    with pytest.raises(mx.CommunicationError, match="rank 1 ended normally"):
        simulate(lambda: _sum() if rank() == 0 else None, 2)


def test_after_a_failure():
    """Later use of the group raises the first error again; all else goes on."""

    def check():
        with pytest.raises(mx.CommunicationError) as first:
            _sum(2 + rank())
        with pytest.raises(mx.CommunicationError) as second:
            _sum()
        assert str(first.value).split("]")[1][:16] == str(second.value).split("]")[1][:16]
        assert dist.status()["failure"]
        return mx.ones(3).sum().item()

    assert simulate(check, 2) == [3.0, 3.0]


def test_errors_reach_waiting_code():
    """Of work that was started asynchronously, too."""

    def check():
        y = dist.all_sum(mx.ones(2 + rank()))
        mx.async_eval(y)
        with pytest.raises(mx.CommunicationError):
            mx.eval(y + 1)

    simulate(check, 2)


def test_late_rank():
    program = """
import os, threading
os.environ["MLX_DISTRIBUTED_TIMEOUT"] = "0.3"
import mlx.core as mx
over = threading.Event()
def check():
    if mx.distributed.init().rank() == 1:
        over.wait(60)
    try:
        mx.distributed.all_sum(mx.ones(2)).sum().item()
    finally:
        over.set()
try:
    mx.distributed.simulate(check, 2)
except mx.CommunicationError as e:
    print(e)
"""
    code, out, err = run_program(program)
    assert code == 0, err
    assert "no progress for 0 s" in out and "waiting for rank 1" in out


def test_another_error_is_not_a_hang():
    """A rank whose input cannot be computed does not take part: the others are told."""

    def check():
        x = mx.linalg.inv(mx.zeros((2, 2)) if rank() else mx.eye(2), stream=mx.cpu)
        return dist.all_sum(x).sum().item()

    with pytest.raises((mx.LinAlgError, mx.CommunicationError)):
        simulate(check, 2)


BAD = [
    ("dist.send(x, 0)", ValueError, "this process"),
    ("dist.send(x, 2)", ValueError, "0 to 1"),
    ("dist.recv((3,), mx.float32, -1)", ValueError, "0 to 1"),
    ("dist.recv((-3,), mx.float32, 1)", ValueError, "negative"),
    ("dist.broadcast(x, 2)", ValueError, "0 to 1"),
    ("dist.sum_scatter(x)", ValueError, "2 members"),
    ("dist.sum_scatter(mx.array(1.0))", ValueError, "scalar"),
    ("dist.all_to_all(x)", ValueError, "2 members"),
    ("dist.all_sum(x, group=3)", TypeError, "group"),
    ("dist.init(backend='no')", ValueError, "ring"),
    ("dist.init(backend=3)", TypeError, "backend"),
    ("dist.init(timeout=-1)", ValueError, "seconds"),
    ("dist.init(all_gather_factory=3)", TypeError, "callable"),
    ("dist.init(all_gather_factory=len)", ValueError, "jaccl"),
    ("dist.simulate(len, 0)", ValueError, "at least 1"),
]


@pytest.mark.parametrize("call, error, text", BAD)
def test_bad_input(call, error, text):
    def check():
        if rank() == 0:
            with pytest.raises(error, match=text):
                eval(call, {"dist": dist, "mx": mx, "x": mx.ones(3)})

    simulate(check, 2)


def test_large_messages_in_a_circle():
    """Sends do not wait for their receivers."""

    def check():
        r, x = rank(), mx.full((1 << 20,), 1.0 * rank())
        for _ in range(3):
            x = distributed_cases.around(x)
        assert x[0].item() == (r - 3) % 4

    simulate(check, 4)


def test_memory_of_a_shared_input():
    """Results may take the memory of their inputs only where nothing else reads it."""

    def check():
        x = mx.ones(1000) * (rank() + 1)
        a = dist.all_sum(x)
        b = x * 2
        c = dist.all_sum(a + b)
        mx.eval(a, b, c)
        return a[0].item(), b[0].item(), c[0].item()

    assert simulate(check, 2) == [(3.0, 2.0, 12.0), (3.0, 4.0, 12.0)]


def test_export(tmp_path):
    """A function with collectives of all processes is exported by name; of other groups refused."""

    def check():
        with pytest.raises(ValueError, match="group of all processes"):
            mx.export_function(str(tmp_path / f"{rank()}.mlxfn"), dist.all_sum, mx.ones(2))

    simulate(check, 2)


def test_threads_of_a_rank():
    """Threads that a rank starts are no ranks."""

    def check():
        sizes = []
        thread = threading.Thread(target=lambda: sizes.append(dist.init().size()))
        thread.start()
        thread.join()
        return sizes

    assert simulate(check, 2) == [[1], [1]]
