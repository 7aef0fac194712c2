"""Checks of the second backend in mode argv[1], each printed as JSON: name, error or null."""

import faulthandler
import gc
import json
import pathlib
import random
import re
import sys
import tempfile
import traceback

import numpy as np
import second_backend
from memory_in_use import settled_memory
from second_backend_operands import DTYPES, has_fma, operand, rows

import mlx.core as mx
import mlx.nn as nn

fake = None
unified = False
CHECKS = []


def check(f):
    CHECKS.append(f)
    return f


def moved_to_host(f):
    """Bytes that the device copies to the host meanwhile."""
    before = fake.mlx_fake_bytes_to_host()
    f()
    return fake.mlx_fake_bytes_to_host() - before


def on_device(values, dtype=mx.float32):
    """An array whose bytes lie on the device alone."""
    a = mx.array(values, dtype) + mx.array(0, dtype)
    mx.eval(a)
    return a


def same_bits(a, b):
    """Whether two arrays are equal to the bit; NaNs are equal to each other."""
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    nan = np.isnan if mx.issubdtype(a.dtype, mx.inexact) else lambda x: np.zeros(x.shape, bool)
    x, y = np.array(a), np.array(b)
    parts = [(x.real, y.real), (x.imag, y.imag)] if np.iscomplexobj(x) else [(x, y)]
    for p, q in parts:
        p, q = np.ascontiguousarray(p), np.ascontiguousarray(q)
        equal = p.view(f"u{p.itemsize}") == q.view(f"u{q.itemsize}")
        if not (equal | (nan(p) & nan(q))).all():
            return False
    return True


@check
def test_it_is_the_gpu():
    assert mx.default_device() == mx.Device(mx.gpu)
    assert mx.is_available(mx.gpu) and mx.device_count(mx.gpu) == 1
    assert mx.new_stream(mx.gpu) != mx.default_stream(mx.gpu)
    assert mx.device_info(mx.gpu)["architecture"] == ("unified" if unified else "discrete")


@check
def test_read_write_in_place_read_again():
    a = on_device(range(1000))
    for k in range(6):
        assert a.tolist() == [float(i + k) for i in range(1000)]
        a = a + 1
        mx.eval(a)
    a[3] = -1
    assert a[3].item() == -1
    assert a[2:5].tolist() == [8.0, -1.0, 10.0]


@check
def test_numpy_writes_into_an_exported_array():
    a = on_device(range(64))
    view = np.asarray(a)
    for k in range(5):
        view[7] = 100 + k
        b = a * 2
        mx.eval(b)
        assert b[7].item() == 2 * (100 + k)
        assert a[7].item() == 100 + k
    del view
    assert (a + 1)[7].item() == 105


@check
def test_an_item_of_a_slice_moves_its_own_bytes():
    a = on_device(range(100_000))
    mx.synchronize()
    moved = moved_to_host(lambda: a[77_777].item())
    assert a[77_777].item() == 77_777
    assert moved == (0 if unified else 4), moved


@check
def test_bytes_on_the_device_are_not_copied_again():
    a = on_device(range(1000))
    before = fake.mlx_fake_bytes_to_device()
    for _ in range(3):
        mx.eval(a * 2)
    assert fake.mlx_fake_bytes_to_device() == before
    b = mx.array(np.arange(1000, dtype=np.float32))
    mx.eval(b + 1)
    mx.eval(b + 2)
    assert fake.mlx_fake_bytes_to_device() - before == (0 if unified else 4000)


class Training:
    """A small network, its loss and its step."""

    def __init__(self):
        mx.random.seed(1)
        self.x = mx.random.normal((32, 8))
        self.y = mx.sum(self.x, axis=1, keepdims=True)
        self.weights = [mx.random.normal((8, 16)) * 0.1, mx.random.normal((16, 1)) * 0.1]
        mx.eval(self.x, self.y, self.weights)

        def loss(weights):
            hidden = mx.tanh(self.x @ weights[0])
            return mx.mean(mx.square(hidden @ weights[1] - self.y))

        self.step = mx.value_and_grad(loss)

    def run(self):
        loss, grads = self.step(self.weights)
        fresh = [w - 0.05 * g for w, g in zip(self.weights, grads, strict=True)]
        mx.eval(loss, fresh)
        value = loss.item()
        self.weights = fresh
        return value


@check
def test_failures_on_request_leave_nothing_behind():
    training = Training()
    first = training.run()
    mx.synchronize()
    gc.collect()
    kinds = [second_backend.LAUNCH, second_backend.ALLOCATION]
    if not unified:
        kinds.append(second_backend.COPY)
    buffers = fake.mlx_fake_buffers()
    rng = random.Random(0)
    raised = 0
    for k in range(200):
        kind = kinds[k % len(kinds)]
        nth = rng.randint(1, 3) if kind == second_backend.ALLOCATION else 1
        fake.mlx_fake_fail(kind, nth)
        try:
            training.run()
        except (RuntimeError, MemoryError):
            raised += 1
        finally:
            fake.mlx_fake_fail(kind, 0)
        if k % 10 == 0:
            last = training.run()
            mx.synchronize()
            gc.collect()
            assert fake.mlx_fake_buffers() == buffers, (k, fake.mlx_fake_buffers(), buffers)
    assert raised == 200, raised
    assert last < first


@check
def test_a_failed_launch_raises_at_each_waiter_alone():
    a = on_device([1.0, 2.0])
    fake.mlx_fake_fail(second_backend.LAUNCH, 1)
    b = mx.exp(a)
    for wait in (lambda: mx.eval(b), b.tolist, lambda: mx.eval(b + 1)):
        try:
            wait()
            raise AssertionError("nothing was raised")
        except RuntimeError as e:
            assert "failed on request" in str(e), e
    assert a.tolist() == [1.0, 2.0]
    assert mx.exp(a * 0).tolist() == [1.0, 1.0]


@check
def test_a_failed_preparation_is_that_of_one_evaluation():
    """Loops and compiled functions go on with plans that are made again."""
    a = on_device([1.0, 2.0])

    def f(x):
        return mx.exp(x) * 3 + mx.cumsum(x)

    want = f(mx.array([1.0, 2.0])).tolist()
    for loop in (f, mx.compile(f), mx.compile(lambda x: f(x) + 0, shapeless=True)):
        failed = []
        for _ in range(5):  # an eager plan is kept when its form is seen for the second time
            fake.mlx_fake_fail(second_backend.PREPARATION, 1)
            b = loop(a)
            for wait in (lambda b=b: mx.eval(b), b.tolist, lambda b=b: mx.eval(b + 1)):
                try:
                    wait()
                except RuntimeError as e:
                    failed.append(str(e))
                finally:
                    fake.mlx_fake_fail(second_backend.PREPARATION, 0)
            assert loop(a).tolist() == want
        assert len(failed) % 3 == 0 and len(failed) >= 3, failed
        assert all("a preparation failed on request" in text for text in failed), failed


@check
def test_a_failing_kernel_is_named():
    a = on_device(range(8))
    bad = a[mx.array([99])]
    good = a + 1
    try:
        mx.eval(bad, good)
        raise AssertionError("nothing was raised")
    except (IndexError, ValueError) as e:
        assert "99" in str(e), e
    assert good.tolist() == [float(i + 1) for i in range(8)]


@check
def test_arrays_are_used_alternately_on_both_devices():
    a = on_device(range(100))
    want = np.arange(100, dtype=np.float32)
    for k in range(10):
        device = mx.cpu if k % 2 else mx.gpu
        a = mx.add(mx.multiply(a, 0.5, stream=device), float(k), stream=device)
        want = want * np.float32(0.5) + np.float32(k)
        if k % 3 == 0:
            mx.eval(a)
        if k % 4 == 0:
            mx.async_eval(a)
    assert np.array_equal(np.array(a), want)


@check
def test_a_result_is_used_on_both_devices_at_once():
    a = mx.exp(on_device(range(10)) / 10)
    pair = mx.add(a, 1, stream=mx.cpu), mx.add(a, 1, stream=mx.gpu)
    mx.eval(pair)
    assert pair[0].tolist() == pair[1].tolist()


def held(stream, f):
    """Runs f while a stream (or all of them) is stopped before its next launch or copy."""
    fake.mlx_fake_hold(stream)
    try:
        return f()
    finally:
        fake.mlx_fake_release()


def index_of(stream):
    return int(re.search(r"(\d+)\)$", repr(stream))[1])


@check
def test_async_eval_never_waits_for_the_device():
    a, host = on_device(range(1000)), mx.array(np.arange(1000, dtype=np.float32))
    mx.synchronize()
    finished = fake.mlx_fake_finished()

    def build():
        x = a
        for k in range(80):
            x = mx.sin(x * 0.5 + host)
            if k % 10 == 9:
                x = mx.add(x, 1.0, stream=mx.cpu)
            mx.async_eval(x)
        y = mx.sum(x @ mx.ones((1000, 3)), axis=0)
        mx.async_eval(y)
        assert fake.mlx_fake_finished() == finished
        return x

    x = held(second_backend.ALL_STREAMS, build)
    want = np.arange(1000, dtype=np.float32)
    for k in range(80):
        want = np.array(mx.sin(mx.array(want) * 0.5 + host, stream=mx.cpu))
        if k % 10 == 9:
            want = want + np.float32(1.0)
    assert np.allclose(np.array(x), want, atol=1e-5)


@check
def test_streams_do_not_wait_for_each_other():
    one, two = mx.new_stream(mx.gpu), mx.new_stream(mx.gpu)
    a = on_device(range(16))
    mx.eval(mx.add(a, 1, stream=one), mx.add(a, 1, stream=two))

    def run():
        slow = mx.multiply(a, 2, stream=one)
        mx.async_eval(slow)
        for k in range(5):
            assert mx.add(a, k, stream=two).tolist() == [float(i + k) for i in range(16)]
        both = mx.add(slow, mx.add(a, 1, stream=two), stream=two)
        mx.async_eval(both)
        return both

    both = held(index_of(one), run)
    assert both.tolist() == [3.0 * i + 1 for i in range(16)]
    x = a
    for k in range(60):
        x = mx.add(mx.multiply(x, 1.0, stream=one if k % 2 else two), 1.0, stream=two)
        if k % 7 == 0:
            mx.async_eval(x)
    assert x.tolist() == [float(i + 60) for i in range(16)]


@check
def test_memory_figures_are_those_of_the_device():
    before = settled_memory()
    a = on_device(np.zeros(1 << 18))
    mx.synchronize()
    assert mx.get_active_memory() - before == 1 << 20, mx.get_active_memory() - before
    mx.reset_peak_memory()
    mx.eval(mx.sum(mx.exp(a) * 2))
    assert mx.get_peak_memory() >= 1 << 20
    ceiling = mx.set_memory_ceiling(mx.get_active_memory() + (1 << 21))
    try:
        mx.eval(mx.ones(1 << 22))
        raise AssertionError("nothing was raised")
    except MemoryError:
        pass
    finally:
        mx.set_memory_ceiling(ceiling)
    assert mx.sum(mx.ones(1 << 22)).item() == 1 << 22
    del a
    mx.synchronize()
    assert mx.get_active_memory() == before, mx.get_active_memory() - before
    limit = mx.set_cache_limit(1 << 30)  # 0 in sanitized builds
    mx.eval(mx.ones(1 << 22))
    mx.synchronize()
    assert mx.get_cache_memory() > 0
    mx.clear_cache()
    assert mx.get_cache_memory() == 0
    mx.set_cache_limit(limit)


@check
def test_a_launch_without_memory_goes_on_later():
    mx.synchronize()
    a = on_device(np.ones(1 << 18))
    ceiling = mx.set_memory_ceiling(mx.get_active_memory() + (1 << 20) + 4096)
    try:
        b = mx.cumsum(mx.sort(mx.exp(a)))
        try:
            mx.eval(b)
            raised = False
        except MemoryError:
            raised = True
    finally:
        mx.set_memory_ceiling(ceiling)
    assert raised
    assert b[0].item() == np.float32(np.e)


@check
def test_files_of_device_arrays():
    a, b = on_device(range(12)).reshape(3, 4).T, on_device([1, 2, 3], mx.bfloat16)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        mx.save(str(folder / "a.npy"), a)
        mx.savez(str(folder / "b.npz"), a=a)
        mx.save_safetensors(str(folder / "c.safetensors"), {"a": a, "b": b})
        assert mx.array_equal(mx.load(str(folder / "a.npy")), a)
        assert mx.array_equal(mx.load(str(folder / "b.npz"))["a"], a)
        loaded = mx.load(str(folder / "c.safetensors"))
        assert mx.array_equal(loaded["a"] + 1, a + 1) and mx.array_equal(loaded["b"], b)


@check
def test_exports_to_other_libraries():
    a = on_device(range(6)).reshape(2, 3)
    assert np.array_equal(np.array(a), np.arange(6.0).reshape(2, 3))
    assert memoryview(a.T).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert np.array_equal(np.from_dlpack(a + 1), np.arange(6.0).reshape(2, 3) + 1)


@check
def test_an_imported_array_outlives_its_owner():
    """Memory of another library is given back after the last launch that reads it."""
    source = np.arange(4096, dtype=np.float32)
    want = source.copy()

    def start(stream):
        imported = mx.from_dlpack(source) if hasattr(mx, "from_dlpack") else mx.asarray(source)
        y = mx.add(imported, 1.0, stream=stream)
        mx.async_eval(y)
        return y

    y = held(second_backend.ALL_STREAMS, lambda: start(mx.gpu))
    assert np.array_equal(np.array(y), want + 1)


@check
def test_memory_is_not_taken_over_while_it_is_read():
    """A launch or a copy of another stream may not have started yet."""
    one, two = mx.new_stream(mx.gpu), mx.new_stream(mx.gpu)

    def run(read):
        a = on_device(range(1000))
        seen = read(a)
        mx.async_eval(seen)
        changed = mx.add(a, 1, stream=two)
        del a
        mx.eval(changed)
        return seen, changed

    copies = -1
    for stream, read in (
        (index_of(one), lambda a: mx.square(a, stream=one)),
        (copies, lambda a: mx.square(a, stream=mx.cpu)),
    ):
        mx.synchronize()
        seen, changed = held(stream, lambda read=read: run(read))
        assert seen.tolist() == [float(i * i) for i in range(1000)]
        assert changed.tolist() == [float(i + 1) for i in range(1000)]


@check
def test_copies_of_suspended_work_go_on():
    a = on_device(np.ones(1 << 18))
    ceiling = mx.set_memory_ceiling(mx.get_active_memory() + (1 << 20) + 4096)
    try:
        b = mx.cumsum(mx.sort(mx.exp(a)))
        mx.async_eval(b)
        c = mx.add(b, 1, stream=mx.cpu)
        mx.async_eval(c)
    finally:
        mx.set_memory_ceiling(ceiling)
    d = mx.add(c, 1, stream=mx.gpu)
    mx.async_eval(d)
    assert d[0].item() == np.float32(np.e) + 2


@check
def test_nothing_is_read_after_it_was_freed():
    """Temporaries and inputs go while launches that read them have not started."""

    def run():
        x = on_host = mx.array(np.arange(500, dtype=np.float32))
        for _ in range(10):
            x = mx.sum(mx.sin(x)[:, None] * mx.cos(on_host)[None], axis=1)
            mx.async_eval(x)
        gc.collect()
        return x

    x = held(second_backend.ALL_STREAMS, run)
    y = mx.array(np.arange(500, dtype=np.float32))
    host = y
    for _ in range(10):
        y = mx.sum(
            mx.sin(y, stream=mx.cpu)[:, None] * mx.cos(host, stream=mx.cpu)[None],
            axis=1,
            stream=mx.cpu,
        )
    assert np.allclose(np.array(x), np.array(y), rtol=1e-3, atol=1e-3)


@check
def test_every_row_in_every_dtype_has_the_bits_of_the_cpu():
    if not has_fma():
        return
    rng = np.random.default_rng(0)
    compared = 0
    for name, arity in rows():
        f = getattr(mx, name)
        for dtype in DTYPES:
            args = [operand(rng, dtype, (300,)) for _ in range(int(arity))]
            if name == "where":
                args[0] = operand(rng, mx.bool_, (300,))
            try:
                want = f(*args, stream=mx.cpu)
                mx.eval(want)
            except (TypeError, ValueError):
                continue
            got = f(*args, stream=mx.gpu)
            mx.eval(got)
            assert same_bits(want, got), (name, dtype)
            compared += 1
    assert compared > 700, compared


@check
def test_casts_have_the_bits_of_the_cpu():
    rng = np.random.default_rng(1)
    for a in DTYPES:
        x = operand(rng, a, (500,))
        for b in DTYPES:
            want, got = x.astype(b, stream=mx.cpu), x.astype(b, stream=mx.gpu)
            assert same_bits(want, got), (a, b)


@check
def test_random_programs_have_the_bits_of_the_cpu():
    if not has_fma():
        return
    unary = ["exp", "sin", "tanh", "sigmoid", "abs", "negative", "sqrt", "square", "floor", "erf"]
    binary = ["add", "subtract", "multiply", "maximum", "divide", "arctan2", "power"]
    for seed in range(60):
        results = []
        for device in (mx.cpu, mx.gpu):
            rng = np.random.default_rng(seed)
            dtype = [mx.float32, mx.float16, mx.bfloat16, mx.float64][seed % 4]
            shape = (rng.integers(1, 9).item(), rng.integers(1, 60).item())
            full = operand(rng, dtype, (4, *shape[::-1]))
            pool = [full[0].T, full[1, ::-1].T, full[2, :, :1].T, mx.array(0.75, dtype)]
            with mx.stream(device):
                for _ in range(rng.integers(1, 30)):
                    if rng.random() < 0.5:
                        op = getattr(mx, unary[rng.integers(len(unary))])
                        pool.append(op(pool[rng.integers(len(pool))]))
                    else:
                        op = getattr(mx, binary[rng.integers(len(binary))])
                        i, j = rng.integers(len(pool), size=2)
                        pool.append(op(pool[i], pool[j]))
                    if rng.random() < 0.1:
                        pool.append(pool[-1].astype(dtype).T.T)
                mx.eval(pool[-1], pool[-2])
            results.append(pool[-2:])
        for x, y in zip(*results, strict=True):
            assert same_bits(x, y), seed


@check
def test_profiles_and_nans_are_reported_afterwards():
    a = on_device([1.0, 2.0, 3.0])
    with mx.debug_nans():
        try:
            mx.eval(mx.log(a - 2) * 2)
            raise AssertionError("nothing was raised")
        except RuntimeError as e:
            assert "log" in str(e) and "second_backend_checks.py" in str(e), e
        mx.eval(mx.log(a))


@check
def test_layers_train_as_on_the_cpu():
    results = []
    for device in (mx.cpu, mx.gpu):
        with mx.stream(device):
            mx.random.seed(3)
            model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
            x = mx.random.normal((16, 4))
            step = nn.value_and_grad(model, lambda m, x: mx.mean(mx.square(m(x) - 1)))
            for _ in range(5):
                loss, grads = step(model, x)
                model.update(nn.utils.tree_map(lambda p, g: p - 0.1 * g, model, grads))
                mx.eval(loss, model.parameters())
            results.append(loss.item())
    assert abs(results[0] - results[1]) < 1e-5, results


@check
def test_no_write_was_out_of_bounds_and_nothing_leaks():
    gc.collect()
    mx.synchronize()
    assert fake.mlx_fake_faults() == 0
    assert fake.mlx_fake_borrowed() > 0
    assert fake.mlx_fake_launches() == fake.mlx_fake_finished()


def main():
    """Runs every check."""
    global fake, unified
    faulthandler.enable()
    second_backend.load(sys.argv[1])
    fake, unified = second_backend.library(), sys.argv[1] == "fake-unified"
    mx.set_default_device(mx.gpu)
    for f in CHECKS:
        if len(sys.argv) > 2 and sys.argv[2] not in f.__name__:
            continue
        faulthandler.dump_traceback_later(100, exit=True)
        try:
            f()
            error = None
        except BaseException:
            error = traceback.format_exc()
            fake.mlx_fake_release()
        print(json.dumps([f.__name__, error]), flush=True)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
