"""Evaluations that are suspended, by insufficient memory or a signal, and resumed later."""

import contextlib
import signal
import textwrap
import threading
import time

import numpy as np
import processes
import pytest
import ranks
import second_backend
from memory_in_use import memory_in_use, settled_memory
from processes import run_program

import mlx.core as mx

MB = 1 << 20
# A host that compiles each kernel, and instrumented code, take minutes for a program.
SLOW = second_backend.in_use() == "cuda-host" or processes.SANITIZED or processes.EMULATED


class Ceiling:
    """Limits the default device to `room` more bytes."""

    def __init__(self, room):
        self.room = room

    def __enter__(self):
        self.before = mx.set_memory_ceiling(settled_memory() + self.room)

    def __exit__(self, *_):
        mx.set_memory_ceiling(self.before)


def test_parameters_survive_a_step_without_memory():
    w = mx.ones((MB,))
    x = mx.arange(MB, dtype=mx.float32)
    mx.eval(w, x)
    with Ceiling(MB):
        for _ in range(3):
            g = mx.sum(mx.sort(x * 2)) * 1e-12
            w = w - 0.1 * g
            with pytest.raises(MemoryError):
                mx.eval(w, g)
            with pytest.raises(MemoryError):
                mx.eval(w)
    step = float(np.float32(0.1) * np.float32(np.sum(np.arange(MB) * 2.0) * 1e-12))
    assert w[0].item() == pytest.approx(1 - 3 * step, abs=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_calls_of_compiled_functions_go_on(compiled):
    def f(x):
        return mx.sum(mx.sort(x)), x + 1

    f = mx.compile(f) if compiled else f
    x = mx.random.uniform(shape=(MB,))
    mx.eval(x)
    with Ceiling(5 * MB):
        total, more = f(x)
        with pytest.raises(MemoryError):
            mx.eval(total, more)
    assert total.item() == pytest.approx(np.array(x).sum(), rel=1e-5)
    np.testing.assert_array_equal(np.array(more), np.array(x) + 1)


def test_async_work_without_memory_goes_on():
    x = mx.random.uniform(shape=(MB,))
    mx.eval(x)
    with Ceiling(MB):
        y = mx.sum(mx.sort(x))
        mx.async_eval(y)
        z = y + 1
        mx.async_eval(z)
        with pytest.raises(MemoryError):
            z.item()
    assert z.item() == pytest.approx(np.array(x).sum() + 1, rel=1e-5)


def test_an_interrupted_evaluation_can_be_evaluated_again():
    program = """
        import os, signal, threading
        import mlx.core as mx
        x = mx.random.uniform(shape=(SIZE,))
        mx.eval(x)
        def work():
            y = x
            for _ in range(200):
                y = mx.sort(mx.sin(y) + x)
            return y, mx.sum(y)
        started = threading.Event()
        def interrupt():
            started.wait()
            import time
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        y, total = work()
        try:
            started.set()
            mx.eval(y, total)
            print("finished", end=" ")
            threading.Event().wait(60)
        except KeyboardInterrupt:
            print("interrupted")
        again, expected = work()
        print(mx.array_equal(y, again).item(), total.item() == expected.item())
    """
    slow = second_backend.in_use() or processes.SANITIZED
    size = 1 << (16 if slow else 20)
    code, out, err = run_program(textwrap.dedent(program).replace("SIZE", str(size)))
    assert code == 0, err
    assert out.split()[-3:] == ["interrupted", "True", "True"]


def test_threads_resume_the_same_work_once():
    x = mx.random.uniform(shape=(MB,))
    mx.eval(x)
    with Ceiling(MB):
        y = mx.sum(mx.sort(x))
        with pytest.raises(MemoryError):
            mx.eval(y)
    results = []
    threads = [threading.Thread(target=lambda: results.append(y.item())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 8 and len(set(results)) == 1


SUSPENDED = """
import gc
import mlx.core as mx
x = mx.random.uniform(shape=(1 << 20,))
mx.eval(x)
one, two = mx.new_stream(DEVICE), mx.new_stream(DEVICE)
gc.collect()
mx.clear_cache()
before = mx.set_memory_ceiling(mx.get_active_memory() + (ROOM << 20))
y = mx.add(mx.sort(x, stream=one), 1, stream=two)
w = mx.sum(y, stream=one)
try:
    mx.eval(y)
    print("enough")
except MemoryError:
    pass
mx.set_memory_ceiling(before)
z = mx.exp(y, stream=two)
mx.async_eval(z)
v = mx.sum(z - 1, stream=OTHER)
mx.async_eval(v)
mx.async_eval(w)
total = sum(mx.sum(a).item() for a in (z, v, w, y))
x = x + 1
want = mx.sum(mx.exp(x)) + mx.sum(mx.exp(x) - 1) + 2 * mx.sum(x)
print(abs(total - want.item()) < 1e-4 * want.item())
"""


@pytest.mark.parametrize("room", [1, 5, 9])
@pytest.mark.parametrize("other", ["one", "two", "mx.cpu"])
def test_work_behind_suspended_work_goes_on(room, other):
    """No stream waits for work that is queued behind its own."""
    text = SUSPENDED.replace("DEVICE", "mx.default_device()").replace("ROOM", str(room))
    assert run_program(text.replace("OTHER", other), timeout=60) == (0, "True\n", "")


CHAIN = """
import gc, threading
import mlx.core as mx
x = mx.random.uniform(shape=(1 << 20,))
mx.eval(x)
gc.collect()
mx.clear_cache()
def attempt(y):
    try:
        mx.LAUNCH(y)
    except MemoryError:
        pass
def chain():
    before = mx.set_memory_ceiling(mx.get_active_memory() + (1 << 20))
    y = start = mx.sum(mx.sort(x))
    attempt(y)
    for _ in range(40000):
        y = y + 1
        attempt(y)
    for _ in range(20):
        attempt(y)
    mx.set_memory_ceiling(before)
    if DROPPED:
        del y, start
        gc.collect()
    else:
        READ
        print(abs(y.item() - start.item() - 40000) < 4000)
threading.stack_size(2 << 20)
thread = threading.Thread(target=chain)
thread.start()
thread.join()
print(mx.sum(x * 0).item())
"""


@pytest.mark.parametrize("launch", ["async_eval", "eval"])
@pytest.mark.parametrize("end", ["y.item()", "mx.synchronize()", "dropped"])
def test_a_chain_of_suspended_work_is_longer_than_the_stack(launch, end):
    """Suspended work goes on, stops again and is dropped without recursion.

    Attempts that walk the whole chain would take several times the limit.
    """
    dropped = end == "dropped"
    text = CHAIN.replace("LAUNCH", launch).replace("DROPPED", str(dropped)).replace("READ", end)
    result = run_program(text, timeout=60 if not SLOW else 600)
    assert result == (0, "0.0\n" if dropped else "True\n0.0\n", "")


def active_memory(limit):
    """The memory in use, once it is down to a limit: a queue's thread frees its work late."""
    for _ in range(500):
        if mx.get_active_memory() <= limit:
            break
        time.sleep(0.01)
    return mx.get_active_memory()


@pytest.mark.parametrize("launch", [mx.eval, mx.async_eval], ids=lambda f: f.__name__)
@pytest.mark.parametrize("behind", [0, 3])
def test_work_that_is_dropped_gives_its_memory_back(launch, behind):
    """Operands and results, also those of work behind it, whether or not its error was thrown."""
    x = mx.random.uniform(shape=(MB,))
    mx.eval(x)
    with Ceiling(13 * MB):
        before = memory_in_use()
        for reads in (False, True):
            w = x + 1
            mx.eval(w)
            y = [mx.sort(w)[::2] * 2]
            y += [y[-1] + k for k in range(behind)]
            for a in y:
                with contextlib.suppress(MemoryError):
                    launch(a)
            if reads:
                with pytest.raises(MemoryError):
                    y[-1].tolist()
            del w, y, a
            assert active_memory(before) <= before
        mx.synchronize()


def test_synchronize_goes_on_with_work_in_its_order():
    """The first that stops again has the error; work that does not depend on it is not lost."""
    x = mx.random.uniform(shape=(MB,))
    mx.eval(x)
    stream = mx.default_stream(mx.default_device())
    with Ceiling(MB):
        small, large = mx.sum(mx.sort(x[:: MB // 16])), [mx.sum(mx.sort(x)) + k for k in range(3)]
        mx.async_eval(*large)
        mx.async_eval(small)
        for _ in range(2):
            with pytest.raises(MemoryError):
                mx.synchronize(stream)
        assert small.item() == pytest.approx(np.sort(np.array(x[:: MB // 16])).sum(), rel=1e-5)
    mx.synchronize(stream)
    total = np.array(x).sum()
    assert [a.item() for a in large] == pytest.approx([total + k for k in range(3)], rel=1e-5)


TURNS = """
import gc
x = mx.random.uniform(shape=(1 << 20,))
mx.eval(x)
gc.collect()
mx.clear_cache()
before = mx.set_memory_ceiling(mx.get_active_memory() + (1 << 20 if rank == 0 else 1 << 30))
def attempt(y):
    try:
        mx.LAUNCH(y)
    except MemoryError:
        pass
sums = [dist.all_sum(mx.sum(mx.sort(x)) * 0 + rank)]
attempt(sums[0])
for k in range(1, 6):
    sums.append(dist.all_sum(mx.array(k)))
    attempt(sums[k])
if DROPPED:
    sums[0] = mx.array(1.0)
try:
    mx.synchronize(mx.default_stream(mx.cpu))
except MemoryError:
    pass
mx.set_memory_ceiling(before)
print([a.item() for a in ORDER])
"""


@pytest.mark.skipif(second_backend.in_use() is not None, reason="limits the memory of the CPU")
@pytest.mark.parametrize("launch", ["async_eval", "eval"])
@pytest.mark.parametrize("dropped", [False, True], ids=["kept", "dropped"])
@pytest.mark.parametrize("order", ["sums", "sums[::-1]"])
def test_communication_keeps_its_order(tmp_path, launch, dropped, order):
    """Collectives behind a suspended one wait for it: other processes expect them in order."""
    text = TURNS.replace("LAUNCH", launch).replace("DROPPED", str(dropped))
    code, out, err = ranks.run(tmp_path, text.replace("ORDER", order))
    want = [1.0, 2, 4, 6, 8, 10]
    assert (code, out) == (0, f"{want if order == 'sums' else want[::-1]}\n" * 2), err


def test_signal_handlers_that_do_not_raise_do_not_stop_an_evaluation():
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        x = mx.random.uniform(shape=(MB,))
        y = x
        for _ in range(40):
            y = mx.sort(mx.sin(y) + x)
        mx.eval(y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert y.shape == (MB,) and seen


# Compiled functions over what they capture


def captured_view():
    c = mx.array([[1.0, 2.0]])
    return lambda a: a * c[0]


def captured_pending():
    c = mx.array([[1.0, 2.0]]) * 2
    return lambda a: a * mx.exp(c)[0]


def captured_part():
    q, r = mx.linalg.qr(mx.array([[2.0, 1.0], [1.0, 3.0]]), stream=mx.cpu)
    return lambda a: a @ q + r[0]


def captured_chain():
    c = mx.array([1.0, 2.0])
    v = c.reshape(2, 1).T
    return lambda a: a * v[0] + mx.broadcast_to(c[1:], (2,))


def captured_transposed():
    w = mx.array([[1.0, 2.0], [3.0, 4.0]])
    return lambda a: a @ w.T


CAPTURES = [captured_view, captured_pending, captured_part, captured_chain, captured_transposed]
TRANSFORMED = {
    "grad": lambda f: mx.grad(lambda a: f(a).sum())(mx.ones(2)),
    "vjp": lambda f: mx.vjp(f, [mx.ones(2)], [mx.ones(2)])[1],
    "jvp": lambda f: mx.jvp(f, [mx.ones(2)], [mx.ones(2)])[1],
    "vmap": lambda f: mx.vmap(f)(mx.ones((3, 2))),
    "compile": lambda f: mx.compile(lambda a: f(a) + 1)(mx.ones(2)),
    "grad of grad": lambda f: mx.grad(lambda b: mx.grad(lambda a: (f(a) * a).sum())(b).sum())(
        mx.ones(2)
    ),
    "plain": lambda f: f(mx.ones(2)),
}


@pytest.mark.parametrize("make", CAPTURES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("how", TRANSFORMED)
@pytest.mark.parametrize("first", [False, True], ids=["new", "called before"])
def test_compiled_functions_called_plainly_after_a_transformation(make, how, first):
    plain = make()
    f = mx.compile(plain)
    if first:
        mx.eval(f(mx.ones(2)))
    mx.eval(TRANSFORMED[how](f))
    out = f(mx.ones(2))
    mx.eval(out)
    mx.eval(TRANSFORMED[how](f))
    np.testing.assert_array_equal(np.array(out), np.array(plain(mx.ones(2))))
    np.testing.assert_array_equal(np.array(f(mx.ones(2))), np.array(out))
