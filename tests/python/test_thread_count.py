"""The number of threads: set at any time, never seen in results."""

import os
import subprocess
import threading

import pytest
from processes import PYTHON

import mlx.core as mx


@pytest.fixture(autouse=True)
def former():
    """The number of before the test, which is restored."""
    former = mx.get_num_threads()
    yield former
    mx.set_num_threads(former)


@pytest.mark.parametrize("n", [1, 2, 7, 1024])
def test_is_returned(n):
    """The number that was set is returned, by the information about the device too."""
    mx.set_num_threads(n)
    assert mx.get_num_threads() == n
    assert mx.device_info(mx.cpu)["threads"] == n


@pytest.mark.parametrize("n", [0, -1, 1025, 2**31 - 1])
def test_refused(n, former):
    """Numbers outside 1 to 1024 are refused, and change nothing."""
    with pytest.raises(ValueError, match=rf"\[set_num_threads\] {n} given; accepted: .* 1 to 1024"):
        mx.set_num_threads(n)
    assert mx.get_num_threads() == former


@pytest.mark.parametrize("n", [2.5, "2", None, 2**40])
def test_not_an_int(n, former):
    """Anything but a number that fits is refused."""
    with pytest.raises((TypeError, OverflowError, ValueError)):
        mx.set_num_threads(n)
    assert mx.get_num_threads() == former


def programs():
    """Functions whose kernels divide their work by the number of threads."""
    key = mx.random.key(3)
    x = mx.random.normal((500, 400), key=key)
    positions = mx.random.randint(0, 300, (20000,), key=key)
    deep = mx.random.normal((2500, 300), key=key)
    mx.eval(x, positions, deep)
    return {
        "sum": lambda: mx.sum(x, axis=1),
        "softmax": lambda: mx.softmax(x.reshape(2, -1), axis=-1),
        "sort": lambda: mx.sort(x.reshape(-1)),
        "cumsum": lambda: mx.cumsum(x.reshape(-1)),
        "matmul": lambda: x @ x.T,
        "matmul of a row": lambda: deep[:, 7] @ deep,
        "matmul of few rows": lambda: deep[:, :5].T.astype(mx.float16) @ deep.astype(mx.float16),
        "scatter": lambda: mx.zeros((300,)).at[positions].add(mx.sin(x.reshape(-1)[:20000])),
        "fft": lambda: mx.abs(mx.fft.fft(x)),
        "elementwise": lambda: mx.exp(mx.sin(x) * 0.5) + 1,
    }


@pytest.mark.parametrize("name", list(programs()))
def test_results_do_not_depend_on_it(name):
    """The same bits with any number."""
    program = programs()[name]
    mx.set_num_threads(1)
    expected = program()
    mx.eval(expected)
    for n in (2, 5):
        mx.set_num_threads(n)
        result = program()
        assert mx.array_equal(result, expected).item(), n


def test_changes_while_others_evaluate():
    """Evaluations of other threads go on, with the right results."""
    stop = threading.Event()
    wrong, done = [], [0, 0]

    def evaluate(me):
        x = mx.arange(300_000, dtype=mx.float32) % 7
        first = mx.sum(mx.sort(mx.exp(x) - x)).item()
        while not stop.is_set():
            total = mx.sum(mx.sort(mx.exp(x) - x)).item()
            if total != first:
                wrong.append((total, first))
            done[me] += 1

    workers = [threading.Thread(target=evaluate, args=(i,)) for i in range(2)]
    for worker in workers:
        worker.start()
    changes = 0
    while changes < 200 or min(done) < 3:
        mx.set_num_threads(changes % 5 + 1)
        assert mx.get_num_threads() == changes % 5 + 1
        changes += 1
    stop.set()
    for worker in workers:
        worker.join()
    assert not wrong


def test_environment_is_the_start():
    """`MLX_NUM_THREADS` is the number until another one is set, also in a process that forks."""
    program = """
import os, mlx.core as mx
assert mx.get_num_threads() == 3
mx.set_num_threads(4)
assert mx.get_num_threads() == 4
mx.eval(mx.sort(mx.random.normal((300_000,))))
if (child := os.fork()) == 0:
    mx.eval(mx.sort(mx.random.normal((300_000,))))
    same = mx.get_num_threads() == 4
    mx.set_num_threads(2)
    mx.eval(mx.sort(mx.random.normal((300_000,))))
    os._exit(0 if same and mx.get_num_threads() == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
assert mx.get_num_threads() == 4
"""
    env = {**os.environ, "MLX_NUM_THREADS": "3", "MLX_DEVICE": "cpu"}
    done = subprocess.run(
        [*PYTHON, "-c", program], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_malformed_environment():
    """A malformed variable raises until a number is set."""
    program = """
import mlx.core as mx
try:
    mx.get_num_threads()
except RuntimeError as error:
    print(error)
mx.set_num_threads(2)
print(mx.get_num_threads())
"""
    env = {**os.environ, "MLX_NUM_THREADS": "many"}
    done = subprocess.run(
        [*PYTHON, "-c", program], env=env, capture_output=True, text=True, timeout=60
    )
    assert "[cpu] MLX_NUM_THREADS=many" in done.stdout and done.stdout.endswith("2\n"), done
