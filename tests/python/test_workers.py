"""Work in other processes and in event loops: fork, spawn, executors, asyncio."""

import asyncio
import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import time

import pytest
import workers
from processes import run_program

import mlx.core as mx

METHODS = ["fork", "spawn", "forkserver"]
pytestmark = pytest.mark.cpu_only("processes have the CPU alone")


def inputs():
    """An evaluated array, a lazy one, and one that a stream computes."""
    a = mx.arange(60000.0).reshape(300, 200) / 1000
    mx.eval(a)
    busy = mx.add(mx.sin(a), 1, stream=mx.new_stream(mx.cpu))
    mx.async_eval(busy)
    return [a, a + 1, busy]


def expected(x):
    return workers.compute(x)[0].tolist()


@pytest.mark.parametrize("method", METHODS)
def test_pools(method):
    arrays = inputs()
    with multiprocessing.get_context(method).Pool(2) as pool:
        for (got, inverse, number, pid), x in zip(
            pool.map(workers.compute, arrays), arrays, strict=True
        ):
            assert got.tolist() == expected(x)
            assert (inverse, number) == (25, 42) and pid != os.getpid()
        assert [a.item() for a in pool.map(workers.doubled, [mx.array(1), mx.array(2)])] == [2, 4]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_executors(method):
    context = multiprocessing.get_context(method)
    x = inputs()[0]
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
        assert executor.submit(workers.compute, x).result()[0].tolist() == expected(x)
        with pytest.raises(ValueError, match="axis"):
            executor.submit(mx.sum, x, axis=7).result()


def test_thread_executors():
    x = inputs()[1]
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        sums = list(executor.map(lambda i: (x * i).sum().item(), range(8)))
        lazy = list(executor.map(lambda i: x[i] * 2, range(8)))
    assert sums == [(x * i).sum().item() for i in range(8)]
    assert [a.tolist() for a in lazy] == [(x[i] * 2).tolist() for i in range(8)]


def wait(pid, seconds=60):
    """The exit code of a child; it is killed, and the test fails, where it does not end."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pytest.fail("the child did not end")


def in_child(check):
    """The exit code of a forked child in which `check` is true: 0, or 1 where it is false."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = 0 if check() else 1
        finally:
            os._exit(code)
    return wait(pid)


def test_a_forked_child_evaluates():
    want = [expected(x) for x in inputs()]
    arrays = inputs()  # new ones, since computing what is expected evaluates its argument
    a = arrays[0]
    for i in range(9):
        going_on = (a.T @ a) @ (a.T @ a)
        mx.async_eval(going_on)
        assert in_child(lambda k=i % 3: expected(arrays[k]) == want[k]) == 0
        assert mx.isfinite(going_on).all().item()


def test_grandchildren_evaluate():
    a = inputs()[0]
    want = expected(a)

    def child():
        assert expected(a) == want
        return in_child(lambda: expected(a) == want) == 0

    assert in_child(child) == 0


def test_children_differentiate_compile_and_write_files(tmp_path):
    x = mx.arange(4.0)
    workers.doubled(x)

    def child():
        mx.save(str(tmp_path / "a.npy"), mx.grad(workers.total)(x))
        return workers.doubled(x).tolist() == [0, 2, 4, 6]

    assert in_child(child) == 0
    assert mx.load(str(tmp_path / "a.npy")).tolist() == [0, 2, 4, 6]


def test_a_forked_child_may_exit_as_usual():
    text = """
import os, sys, warnings
import mlx.core as mx
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, of forks beside threads
x = mx.random.uniform(shape=(300, 300))
mx.async_eval(x @ x)
pid = os.fork()
mx.async_eval(x @ x + 1)
if pid == 0:
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert run_program(text) == (0, "7\n", "")


def test_event_loops():
    x = inputs()[0]

    async def step(i):
        a = x * i
        mx.async_eval(a)
        await asyncio.sleep(0)
        b = await asyncio.to_thread(lambda: (a + 1).sum())
        return b.item()

    async def main():
        loop = asyncio.get_running_loop()
        other = loop.run_in_executor(None, workers.compute, x)
        return await asyncio.gather(*(step(i) for i in range(5))), (await other)[0].tolist()

    sums, computed = asyncio.run(main())
    assert sums == [(x * i + 1).sum().item() for i in range(5)] and computed == expected(x)


def test_joblib():
    """The way of joblib: cloudpickle's functions, and arrays through files that are mapped."""
    joblib = pytest.importorskip("joblib")
    x = inputs()[0]
    got = joblib.Parallel(n_jobs=2)(joblib.delayed(lambda a, i: a[i].sum())(x, i) for i in range(3))
    assert [a.item() for a in got] == [x[i].sum().item() for i in range(3)]


def close(block):
    """A thread that computed with the memory gives it back soon after the result is there."""
    for wait in [0.01] * 200 + [None]:
        try:
            return block.close()
        except BufferError:
            if wait is None:
                raise
        time.sleep(wait)
        mx.synchronize()


def test_shared_memory(tmp_path):
    """Elements in a block of memory that processes share, and in a file that is mapped."""
    from multiprocessing import shared_memory

    buffers = []
    data = pickle.dumps(inputs()[0], 5, buffer_callback=buffers.append)
    block = shared_memory.SharedMemory(create=True, size=buffers[0].raw().nbytes)
    try:
        view = block.buf[: buffers[0].raw().nbytes]
        view[:] = buffers[0].raw()
        a = pickle.loads(data, buffers=[view])
        b = a + 0
        mx.eval(b)
        view[:4] = b"\x00\x00\x80\x3f"
        assert a[0, 0].item() == 1 and b[0, 0].item() == 0
        del a, view
    finally:
        buffers.clear()
        close(block)
        block.unlink()
