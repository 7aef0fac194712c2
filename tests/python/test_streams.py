"""Derived nodes run on the streams of the transformed nodes, not on the caller's default stream."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import cases
import pytest
from cases.table import device_array
from memory_in_use import settled_memory

import mlx.core as mx


@pytest.fixture(scope="module")
def other():
    return mx.new_stream(mx.default_device())


def flat(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def strays(arrays, stream):
    """Names of the ops that the arrays come from and that are on other streams."""
    return sorted({op for op, index in mx._node_streams(*arrays) if index != stream.index})


class Subject:
    """A row's function and inputs, which vary where they are inexact, with all ops on a stream."""

    def __init__(self, row, dtype, stream):
        self.row, self.stream = row, stream
        with mx.stream(stream):
            self.inputs = [mx.stop_gradient(device_array(i) + 0) for i in row.host_inputs(dtype)]
        inexact = [mx.issubdtype(a.dtype, mx.inexact) for a in self.inputs]
        self.positions = [n for n in row.differentiable() if inexact[n]]
        self.varied = [self.inputs[n] for n in self.positions]

    def call(self, *xs):
        inputs = list(self.inputs)
        for n, x in zip(self.positions, xs, strict=True):
            inputs[n] = x
        with mx.stream(self.stream):
            return flat(self.row.call(*inputs))

    def smooth(self, *xs):
        """The results that have derivatives."""
        return [o for o in self.call(*xs) if mx.issubdtype(o.dtype, mx.inexact)]

    def loss(self, *xs):
        results = self.smooth(*xs)
        with mx.stream(self.stream):
            return sum((mx.real(o) * (mx.real(o) + 1)).sum() for o in results)


def vmap(s):
    with mx.stream(s.stream):
        stacked = [mx.stack([x, x]) for x in s.varied]
    return mx.vmap(lambda *xs: tuple(s.call(*xs)))(*stacked)


def grad(s):
    return mx.grad(s.loss, argnums=list(range(len(s.varied))))(*s.varied)


def jvp(s):
    with mx.stream(s.stream):
        ones = [mx.ones_like(x) for x in s.varied]
    return mx.jvp(s.smooth, s.varied, ones)[1]


def grad_of_grad(s):
    argnums = list(range(len(s.varied)))

    def inner(*xs):
        grads = flat(mx.grad(s.loss, argnums=argnums)(*xs))
        with mx.stream(s.stream):
            return sum((mx.real(g) * mx.real(g)).sum() for g in grads)

    return mx.grad(inner, argnums=argnums)(*s.varied)


def check_on(stream):
    def check(row):
        for dtype in ("float32", "complex64"):
            if dtype not in row.dtypes:
                continue
            subject = Subject(row, dtype, stream)
            transformations = [vmap] if row.batched and subject.varied else []
            if row.kind != "flat" and subject.varied and subject.smooth(*subject.varied):
                transformations += [grad, jvp] + [grad_of_grad] * (row.kind == "smooth")
            for transformation in transformations:
                if not cases.chosen(f"streams {row.name} {dtype} {transformation.__name__}", 0.4):
                    continue
                found = strays(flat(transformation(subject)), stream)
                if found:
                    yield f"{dtype} {transformation.__name__}: {', '.join(found)} elsewhere"

    return check


@pytest.mark.parametrize("family", cases.names())
def test_rules_build_on_the_stream_of_the_op(family, other):
    cases.run_rows(family, check_on(other))


def busy(stream):
    """Gives a stream work for some time."""
    m = mx.random.uniform(shape=(700, 700)) / 350
    mx.async_eval(mx.matmul(mx.matmul(m, m, stream=stream), m, stream=stream))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("read", [mx.exp, mx.sort, mx.square])
def test_memory_that_another_stream_reads_is_not_taken_over(other, read, compiled):
    here = mx.new_stream(mx.default_device())

    def change(a):
        return mx.add(a, 1, stream=here)

    change = mx.compile(change) if compiled else change
    mx.eval(change(mx.ones(100_000)))
    for value in (2.0, 3.0, 4.0):
        a = mx.full((100_000,), value) * 1.0
        want = read(mx.array(value).reshape(1)).item()
        mx.eval(a)
        busy(other)
        seen = read(a, stream=other)
        mx.async_eval(seen)
        changed = change(a)
        del a
        mx.eval(changed)
        assert mx.all(changed == value + 1).item()
        assert mx.all(seen == want).item()


@pytest.mark.parametrize("compiled", [False, True])
def test_chains_without_a_waiter_need_no_more_memory(compiled):
    """The launches of a stream run in order: a result takes over the memory of the one before."""

    def step(x):
        return mx.exp(x * 0.5) - 1

    step = mx.compile(step) if compiled else step
    x = mx.ones(1 << 18)
    mx.eval(x, step(x))
    before = settled_memory()
    mx.reset_peak_memory()
    for _ in range(30):
        x = step(x)
        mx.async_eval(x)
    mx.eval(x)
    assert mx.get_peak_memory() - before <= 3 << 20


def test_rules_of_the_program_build_on_its_default_stream(other):
    def rule(primals, cotangent, output):
        seen.append(mx.exp(primals))
        return cotangent * 2

    seen = []
    f = mx.custom_function(lambda x: mx.sin(x, stream=other))
    f.vjp(rule)
    x = mx.ones(3)
    mx.grad(lambda x: f(x).sum(stream=other))(x)
    assert [index for op, index in mx._node_streams(seen[0]) if op == "exp"] == [
        mx.default_stream(mx.default_device()).index
    ]


def test_a_block_counts_for_its_thread():
    """Blocks that overlap in time neither end each other nor leave their device behind."""
    device = mx.default_device()
    inside, leave = threading.Event(), threading.Event()

    def work():
        with mx.stream(mx.cpu):
            inside.set()
            assert leave.wait(20)
            return mx.default_device(), (mx.ones(3) + 1).device

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        assert inside.wait(20)
        here = mx.default_device(), (mx.ones(3) + 1).device
        with mx.stream(device):
            leave.set()
            there = done.result()
    assert here == (device, device)
    assert there == (mx.Device(mx.cpu, 0), mx.Device(mx.cpu, 0))
    assert mx.default_device() == device


def test_a_default_that_is_set_in_a_block_ends_with_it():
    device = mx.default_device()
    with mx.stream(mx.cpu):
        mx.set_default_device(device)
        assert mx.default_device() == device
    assert mx.default_device() == device


def chosen():
    return mx.default_stream(mx.cpu), mx.default_device()


@pytest.mark.parametrize("delays", [(0, 2, 1, 3), (0, 3, 1, 2), (1, 2, 0, 3), (0, 1, 2, 3)])
def test_tasks_have_blocks_of_their_own(delays):
    """Blocks of tasks open and close in any order; each task sees its own, and nothing stays."""
    before = chosen()
    streams = [mx.new_stream(mx.cpu) for _ in range(2)]
    seen = []

    async def task(stream, opens, closes):
        for turn in range(5):
            if turn == opens:
                block = mx.stream(stream)
                block.__enter__()
            await asyncio.sleep(0)
            inside = opens <= turn < closes
            seen.append(chosen()[0] == (stream if inside else before[0]))
            if turn == closes:
                continue
            if turn == closes - 1:
                block.__exit__()

    async def main():
        await asyncio.gather(task(streams[0], *delays[:2]), task(streams[1], *delays[2:]))

    asyncio.run(main())
    assert all(seen) and len(seen) == 10 and chosen() == before


@pytest.mark.parametrize("order", ["xy", "yx"])
def test_generators_leave_blocks_in_any_order(order):
    before = chosen()
    streams = {name: mx.new_stream(mx.cpu) for name in "xy"}

    def block(stream):
        with mx.stream(stream):
            yield

    open_ = {name: block(stream) for name, stream in streams.items()}
    for generator in open_.values():
        next(generator)
    assert chosen()[0] == streams["y"]
    for name in order:
        open_.pop(name).close()
        assert chosen()[0] == (streams[next(iter(open_))] if open_ else before[0])
    assert chosen() == before


def test_defaults_that_a_block_sets_end_with_it():
    before, other = chosen(), mx.new_stream(mx.cpu)
    with mx.stream(mx.new_stream(mx.cpu)):
        mx.set_default_stream(other)
        assert chosen()[0] == other
        with mx.stream(mx.cpu):
            assert chosen()[0] == other
    assert chosen() == before


def test_a_block_counts_on_its_thread_alone():
    before, stream, seen = chosen(), mx.new_stream(mx.cpu), []
    with mx.stream(stream):
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=lambda: context.run(lambda: seen.append(mx.default_stream(mx.cpu) == stream))
        )
        thread.start()
        thread.join()
        assert chosen()[0] == stream
    assert seen == [False] and chosen() == before


def test_results_of_queries_of_devices_are_objects_of_their_own():
    info, device = mx.device_info(mx.cpu), mx.default_device()
    info["device_name"] = info["new"] = "changed"
    again = mx.device_info(mx.cpu)
    assert again["device_name"] != "changed" and "new" not in again
    before = repr(device)
    mx.set_default_device(mx.cpu)
    now = mx.default_device()
    mx.set_default_device(device)
    assert now == mx.Device(mx.cpu) and repr(device) == before
