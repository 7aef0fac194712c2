"""Threads, interpreter exit and imports must not crash or leak."""

import os
import threading
import time

import processes
import pytest
from processes import run_program

import mlx.core as mx

# The end of the program


DAEMONS = """
import threading, time
import numpy as np, mlx.core as mx
x = mx.random.uniform(shape=(300, 300))
small = mx.random.uniform(shape=(20, 20))
mx.eval(x, small)
lent = np.ones((300, 300), np.float32)
loss = lambda a: sum([(a * i).sum() for i in range(20)])
rule = mx.custom_function(lambda a: loss(a))
rule.vjp(lambda a, c, o: loss(a) * a)
def work():
    while True:
        CALL
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end")
"""


@pytest.mark.sampled(0.5, always=True)
@pytest.mark.parametrize(
    "call",
    [
        "mx.eval(x @ x)",
        "(x @ x).tolist()",
        "mx.async_eval(mx.from_dlpack(lent, copy=False) + 1)",
        "mx.eval(mx.grad(loss)(small))",
        "mx.eval(mx.grad(rule)(small))",
        "mx.eval(mx.compile(lambda a: loss(a))(small))",
        "mx.eval(mx.vmap(loss)(small))",
        "x[x > 0.5]",
        "mx.array(lent[:, ::-1])",
        "mx.synchronize()",
    ],
)
def test_the_program_ends_while_daemon_threads_compute(call):
    for _ in range(3):
        assert run_program(DAEMONS.replace("CALL", call)) == (0, "end\n", "")


UNFINISHED = """
import atexit
import numpy as np, mlx.core as mx
kept = []
for i in range(60):
    y = mx.from_dlpack(np.ones((200, 200), np.float32), copy=False)
    z = y @ y
    for _ in range(3):
        z = z @ y
    mx.async_eval(z)
    del y
    if i % 2:
        kept.append(z)
END
"""


@pytest.mark.parametrize("end", ["", "atexit.register(lambda: z.sum().item())"])
def test_the_program_ends_while_work_on_borrowed_memory_goes_on(end):
    for _ in range(12):
        assert run_program(UNFINISHED.replace("END", end)) == (0, "", "")


def test_arrays_that_outlive_the_module_are_usable():
    text = """
import mlx.core as mx
class Last:
    def __init__(self, a): self.a = a
    def __del__(self): print((self.a + 1).tolist())
import builtins
builtins.last = Last(mx.arange(3))
"""
    assert run_program(text) == (0, "[1, 2, 3]\n", "")


# Threads


def threads_of_process():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))


def comes_true(condition, seconds=20):
    """Whether the condition holds soon."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def in_threads(n, body):
    for _ in range(n):
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")


@needs_proc
def test_threads_of_streams_go_with_the_threads_of_the_program():
    def body():
        a = mx.ones(1000)
        mx.async_eval(mx.exp(a))
        stream = mx.new_stream(mx.cpu)
        mx.async_eval(mx.add(a, 1, stream=stream))

    in_threads(2, body)
    before = threads_of_process()
    in_threads(200, body)
    assert comes_true(lambda: threads_of_process() <= before)


@needs_proc
def test_work_outlives_the_thread_that_started_it():
    made = []

    def body():
        a = mx.random.uniform(shape=(400, 400)) / 200
        for _ in range(20):
            a = a @ a
            mx.async_eval(a)
        made.append(a.sum())
        made.append(mx.stop_gradient(a))

    before = threads_of_process()
    in_threads(4, body)
    mx.async_eval(made)
    assert all(a.sum().item() >= 0 for a in made)
    assert comes_true(lambda: threads_of_process() <= before + 1)


@needs_proc
def test_a_shared_stream_keeps_its_order_over_many_threads():
    stream = mx.new_thread_unsafe_stream(mx.cpu)
    total = mx.array(0)

    def body():
        nonlocal total
        for _ in range(5):
            total = mx.add(total, 1, stream=stream)
            mx.async_eval(total)

    in_threads(100, body)
    assert total.item() == 500


SMALL_STACK = """
import threading
import numpy as np, mlx.core as mx
x = mx.arange(1000.0)
m = mx.random.uniform(shape=(64, 64))
image = mx.random.uniform(shape=(2, 16, 16, 4))
filters = mx.random.uniform(shape=(8, 3, 3, 4))
mx.eval(x, m, image, filters)
threading.stack_size(STACK)
calls = [
    lambda: mx.exp(x) * 2 + 1,
    lambda: mx.sum(x),
    lambda: m @ m,
    lambda: mx.sort(m),
    lambda: mx.softmax(m),
    lambda: mx.fft.fft(mx.arange(1009.0)),
    lambda: mx.conv2d(image, filters),
    lambda: mx.cumsum(x),
    lambda: mx.linalg.svd(m, stream=mx.cpu),
    lambda: mx.linalg.inv(m, stream=mx.cpu),
    lambda: mx.linalg.qr(m, stream=mx.cpu),
    lambda: mx.linalg.eigh(m, stream=mx.cpu),
    lambda: mx.linalg.cholesky(m @ m.T + 9 * mx.eye(64), stream=mx.cpu),
    lambda: mx.random.normal((100,)),
    lambda: x[x > 3],
    lambda: mx.unique(x),
    lambda: mx.grad(lambda a: (a * a).sum())(x),
    lambda: mx.vmap(lambda a: a * 2)(m),
    lambda: mx.compile(lambda a: mx.exp(a * 2) + 1)(x),
    lambda: mx.quantized_matmul(m, *mx.quantize(m)),
    lambda: mx.fast.rope(image, 4, traditional=False, base=1.0, scale=1.0, offset=0),
    lambda: mx.fast.layer_norm(m, None, None, 1e-5),
    lambda: m.at[0].add(1),
    lambda: mx.einsum("ij,jk->ik", m, m),
    lambda: mx.array([[1, 2], [3, 4]]),
    lambda: mx.array(np.ones((30, 40))[:, ::-1]),
    lambda: (m * 2).tolist(),
    lambda: str(m * 2),
    lambda: mx.async_eval(mx.exp(m) + 1),
    lambda: np.array(m * 3),
]
for call in calls:
    thread = threading.Thread(target=lambda: mx.eval(call()))
    thread.start()
    thread.join()
print("done")
"""


@pytest.mark.parametrize("kib", [32, 48, 64, 256])
def test_threads_with_little_stack_compute(kib):
    if processes.SANITIZED and kib < 64:
        pytest.skip("the frames of sanitized code are larger")
    if kib << 10 < os.sysconf("SC_THREAD_STACK_MIN"):
        pytest.skip("the system's least stack is larger")
    text = SMALL_STACK.replace("STACK", str(kib << 10))
    assert run_program(text) == (0, "done\n", "")


# Imports


AGAIN = """
import sys
import mlx.core as mx
a = mx.arange(3)
for name in [n for n in sys.modules if n.split(".")[0] == "mlx"]:
    del sys.modules[name]
for _ in range(2):
    try:
        import mlx.core
    except ImportError as error:
        print(error)
print((a + 1).tolist(), mx.exp(mx.zeros(1)).item())
"""


def test_a_second_import_is_refused():
    code, out, err = run_program(AGAIN)
    refused = "[import] mlx.core was removed from sys.modules; it can be loaded once in a process\n"
    assert (code, out, err) == (0, 2 * refused + "[1, 2, 3] 1.0\n", "")


SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
FIRST
text = '''
try:
    import mlx.core as mx
except ImportError as error:
    print(error, flush=True)
'''
for _ in range(2):
    made = interpreters.create()
    interpreters.run_string(made, text)
    interpreters.destroy(made)
import mlx.core as mx
mx.async_eval(mx.exp(mx.arange(1000.0)))
print((mx.arange(3) + 1).tolist())
"""


@pytest.mark.parametrize("first", ["", "import mlx.core"])
def test_subinterpreters_are_refused(first):
    code, out, err = run_program(SUBINTERPRETER.replace("FIRST", first))
    lines = out.splitlines()
    assert (code, lines[-1], err) == (0, "[1, 2, 3]", "")
    assert len(lines) == 3 and all("subinterpreter" in line for line in lines[:2])
