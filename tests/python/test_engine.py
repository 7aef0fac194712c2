"""The engine's behaviour: laziness, aliasing, handles, depth, memory, errors, threads, fork."""

import gc
import os
import pickle
import threading
import time

import numpy as np
import pytest
import second_backend
from memory_in_use import memory_in_use, settled_memory

import mlx.core as mx

# Laziness


def test_building_a_graph_runs_nothing():
    a = mx.ones((64, 64))
    mx.eval(a)
    before = mx._launch_count()
    b = mx.exp(a @ a) + mx.sum(a, axis=0)
    assert b.shape == (64, 64) and b.dtype == mx.float32
    assert mx._launch_count() == before
    mx.eval(b)
    assert mx._launch_count() > before


def test_evaluated_arrays_are_not_computed_again():
    b = mx.exp(mx.ones(8))
    mx.eval(b)
    before = mx._launch_count()
    mx.eval(b, [b, {"b": b}])
    b.tolist()
    assert mx._launch_count() == before


def test_unrequested_results_are_never_computed():
    a = mx.array([1, 2, 3])
    useless = a[mx.array([7])]  # would raise if it ran
    wanted = a + 1
    mx.eval(wanted)
    assert wanted.tolist() == [2, 3, 4]
    del useless


def test_eval_takes_trees_and_ignores_other_leaves():
    a, b, c = (mx.exp(mx.array(float(n))) for n in range(3))
    mx.eval(a, {"x": [b, (c, None, 3, "text")]}, None)
    before = mx._launch_count()
    assert (a.item(), b.item(), c.item()) == pytest.approx((1.0, np.e, np.e**2))
    assert mx._launch_count() == before
    mx.eval()
    mx.eval({})


@pytest.mark.parametrize(
    "use",
    [
        bool,
        float,
        int,
        repr,
        str,
        np.array,
        lambda a: a.item(),
        lambda a: a.tolist(),
        memoryview,
        pickle.dumps,
    ],
)
def test_uses_that_need_values_evaluate(use):
    use(mx.exp(mx.array(0.0)))


def test_async_eval_and_synchronize():
    a = mx.exp(mx.ones((256, 256))) @ mx.ones((256, 256))
    b = a * 2
    mx.async_eval(a, [b])
    c = b + 1
    mx.synchronize()
    before = mx._launch_count()
    mx.eval(a, b)
    assert mx._launch_count() == before
    assert c[0, 0].item() == pytest.approx(256 * np.e * 2 + 1, rel=1e-5)
    mx.synchronize(mx.default_stream(mx.default_device()))


# Aliasing


def test_assignment_is_seen_through_every_name_of_the_object():
    a = mx.zeros(3)
    b, holder = a, {"a": a}
    a[1] = 5
    a += 1
    assert a is b and holder["a"] is a
    assert b.tolist() == [1, 6, 1]


@pytest.mark.parametrize(
    "derive",
    [
        lambda a: a[:],
        lambda a: a[1:],
        lambda a: a[::-1],
        lambda a: a.reshape(2, 2),
        lambda a: a.T,
        lambda a: a * 1,
        lambda a: mx.array(a),
        lambda a: mx.broadcast_to(a, (3, 4)),
        lambda a: mx.stop_gradient(a),
        lambda a: mx.contiguous(a),
        lambda a: a.astype(mx.float32),
        lambda a: mx.expand_dims(a, 0),
    ],
)
@pytest.mark.parametrize("evaluated", [False, True])
def test_earlier_results_do_not_see_assignments(derive, evaluated):
    a = mx.array([1.0, 2.0, 3.0, 4.0])
    b = derive(a)
    want = derive(mx.array([1.0, 2.0, 3.0, 4.0])).tolist()
    if evaluated:
        mx.eval(a, b)
    a[:] = 9
    a *= 2
    mx.eval(a)
    assert b.tolist() == want
    assert a.tolist() == [18.0] * 4


def test_writing_to_a_derived_array_leaves_its_source():
    a = mx.arange(6)
    b = a[2:5]
    c = a.reshape(2, 3)
    b[0] = 100
    c[:] = 7
    assert a.tolist() == [0, 1, 2, 3, 4, 5]
    assert b.tolist() == [100, 3, 4]
    assert c.tolist() == [[7] * 3] * 2


def test_a_numpy_view_keeps_its_values():
    a = mx.arange(4, dtype=mx.float32)
    mx.eval(a)
    view = np.array(a, copy=False)
    a += 1
    mx.eval(a)
    assert view.tolist() == [0, 1, 2, 3]
    assert a.tolist() == [1, 2, 3, 4]


def test_a_live_export_pins_its_memory():
    for _ in range(20):
        a = mx.full((1024,), 3.0)
        mx.eval(a)
        view = memoryview(a)
        a = a * 2 + 1  # would run in place, if it could
        mx.eval(a)
        assert view[0] == 3.0 and view[1023] == 3.0
        del a
        others = [mx.full((1024,), float(n)) for n in range(8)]  # would take the freed buffer
        mx.eval(others)
        assert view[0] == 3.0 and view[1023] == 3.0


def test_writing_through_an_export_changes_the_array_and_later_results():
    a = mx.zeros(4)
    view = np.array(a, copy=False)
    if not view.flags.writeable:
        pytest.fail("the view of an array is read-only")
    view[1] = 5
    assert a.tolist() == [0, 5, 0, 0]
    assert (a + 1).tolist() == [1, 6, 1, 1]


def test_dlpack_exports_share_and_stay_valid():
    a = mx.arange(5, dtype=mx.float32)
    exported = np.from_dlpack(a)
    want = exported.copy()
    del a
    gc.collect()
    mx.eval([mx.full((5,), 9.0) for _ in range(8)])
    assert np.array_equal(exported, want)


def test_arrays_from_numpy_are_copies():
    source = np.arange(4, dtype=np.float32)
    a = mx.array(source)
    source[:] = 9
    assert a.tolist() == [0, 1, 2, 3]


def test_updates_in_a_loop_do_not_keep_history():
    a = mx.zeros((1000,))
    mx.eval(a)
    start = memory_in_use()
    for _ in range(50):
        a = a + 1
        mx.eval(a)
    assert mx.get_active_memory() <= start + 3 * 4096
    assert a[0].item() == 50


# Transformed functions get fresh handles


def test_in_place_updates_in_a_transformed_function_stay_inside():
    def function(w, t):
        w += 1
        t["b"][0] = 5.0
        return (w * w).sum() + t["b"].sum()

    w, t = mx.array([1.0, 2.0]), {"b": mx.array([1.0, 2.0])}
    value, gradient = mx.value_and_grad(function)(w, t)
    assert value.item() == 13 + 7
    assert gradient.tolist() == [4.0, 6.0]
    assert w.tolist() == [1.0, 2.0]
    mx.vmap(lambda v: v.__iadd__(1))(w)
    mx.jvp(lambda v: v.__iadd__(1), [w], [w])
    mx.compile(lambda v: v.__iadd__(1))(w)
    mx.checkpoint(lambda v: v.__iadd__(1))(w)
    assert w.tolist() == [1.0, 2.0]


def test_gradient_through_in_place_updates():
    def function(a):
        b = a * 2
        b[0] = a[1] * a[2]
        b[1:] += a[:2]
        return (b * b).sum()

    a = mx.array([1.0, 2.0, 3.0])
    # b = [a1*a2, 2*a1 + a0, 2*a2 + a1]
    want = [2 * 5, 2 * 6 * 3 + 2 * 5 * 2 + 2 * 8, 2 * 6 * 2 + 2 * 8 * 2]
    assert mx.grad(function)(a).tolist() == want


# Depth


def seconds(call):
    """Processor time of a call, which other programs do not lengthen, and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def chain(length, op):
    a = mx.array([1.0, 2.0])
    for _ in range(length):
        a = op(a)
    return a


def test_a_million_nodes_are_built_and_dropped():
    time_small, a = seconds(lambda: chain(100_000, lambda v: v + 1.0))
    del a
    time_large, a = seconds(lambda: chain(1_000_000, lambda v: v + 1.0))
    assert time_large < 30 * time_small + 1.0
    start = time.process_time()
    del a
    assert time.process_time() - start < time_large + 1.0


def test_a_million_nodes_are_evaluated():
    small, large = chain(100_000, lambda v: v + 1.0), chain(1_000_000, lambda v: v + 1.0)
    time_small, _ = seconds(lambda: mx.eval(small))
    time_large, _ = seconds(lambda: mx.eval(large))
    assert small.tolist() == [100_001, 100_002]
    assert large.tolist() == [1_000_001, 1_000_002]
    assert time_large < 30 * time_small + 1.0


def test_a_deep_chain_of_views_and_sorts_is_evaluated():
    assert chain(100_000, lambda v: v[::-1]).tolist() == [1.0, 2.0]
    # A sort takes milliseconds on the emulated device.
    sorts = 10_000 if second_backend.in_use() == "metal" else 100_000
    assert chain(sorts, lambda v: mx.sort(v)).tolist() == [1.0, 2.0]


def test_a_deep_chain_is_differentiated_and_compiled():
    assert mx.grad(lambda a: _repeat(a, 50_000, lambda v: v * 1.0).sum())(mx.ones(2)).tolist() == [
        1,
        1,
    ]
    assert (
        mx.compile(lambda a: _repeat(a, 20_000, lambda v: v + 1.0))(mx.ones(2)).tolist()
        == [20_001] * 2
    )


def _repeat(a, times, op):
    for _ in range(times):
        a = op(a)
    return a


def test_a_shared_subgraph_is_computed_once():
    a = mx.array(1.0)
    for _ in range(60):
        a = mx.sin(a) + mx.cos(a) * a - a  # 2**60 paths
    assert np.isfinite(a.item())
    assert np.isfinite(
        mx.grad(lambda v: _repeat(v, 60, lambda u: mx.sin(u) + u * 0.5))(mx.array(1.0)).item()
    )


# Memory


def test_memory_figures_follow_arrays():
    before = memory_in_use()
    a = mx.zeros((1 << 18,)) + 1
    mx.eval(a)
    assert mx.get_active_memory() - before >= 1 << 20
    mx.reset_peak_memory()
    b = a * 2
    mx.eval(b)
    assert mx.get_peak_memory() >= mx.get_active_memory()
    del a, b
    assert memory_in_use() - before < 1 << 20
    mx.clear_cache()
    assert mx.get_cache_memory() == 0


def test_limits_are_returned_and_restored():
    for set_limit in (mx.set_cache_limit, mx.set_memory_limit):
        first = set_limit(1 << 30)
        assert set_limit(first) == 1 << 30
    mx.eval(mx.ones((1 << 20,)) + 1)
    first = mx.set_cache_limit(0)
    mx.eval(mx.ones((1 << 20,)) + 1)
    gc.collect()
    assert mx.get_cache_memory() == 0
    mx.set_cache_limit(first)
    assert mx.get_memory_limit() > 0


@pytest.mark.cpu_only("the memory of the CPU")
def test_new_arrays_take_the_memory_that_was_used_last():
    def address(x):
        return np.asarray(x).__array_interface__["data"][0]

    mx.clear_cache()
    x = mx.zeros((1 << 20,))
    kept = [x + i for i in range(4)]
    mx.eval(x, kept)
    first, second = address(kept[0]), address(kept[1])
    kept[0] = kept[1] = None
    y = x + 9
    mx.eval(y)
    z = x + 8
    mx.eval(z)
    assert (address(y), address(z)) == (second, first)


def test_a_fused_chain_needs_no_temporaries():
    a = mx.ones((1 << 20,))
    mx.eval(a)
    start = settled_memory()
    mx.reset_peak_memory()
    b = mx.exp(a) * 2 + mx.tanh(a) - mx.sqrt(a) * mx.sin(a)
    mx.eval(b)
    assert mx.get_peak_memory() - start < 2 * (1 << 22)


def test_get_array_buffer_size():
    a = mx.ones((1024,)) + 1
    mx.eval(a)
    assert mx.get_array_buffer_size(a) >= 4096
    assert mx.get_array_buffer_size(a, {"view": [a]}) == mx.get_array_buffer_size(a)


def test_out_of_memory_is_an_exception():
    with pytest.raises((MemoryError, RuntimeError, OverflowError)):
        mx.eval(mx.zeros((1 << 50,), mx.float32) + mx.arange(1 << 50))
    ceiling = mx.set_memory_ceiling(memory_in_use() + (1 << 22))
    try:
        with pytest.raises(MemoryError):
            mx.eval(mx.ones((1 << 21,)) * mx.arange(1 << 21))
        assert (mx.ones(4) + 1).tolist() == [2] * 4
    finally:
        mx.set_memory_ceiling(ceiling)
    assert mx.sum(mx.ones((1 << 21,)) + 1).item() == 1 << 22


# Errors while executing


@pytest.mark.parametrize(
    "wait",
    [mx.eval, repr, lambda a: a.tolist(), np.array, lambda a: (mx.async_eval(a), mx.eval(a))],
)
def test_errors_of_execution_reach_the_waiting_thread(wait):
    wrong = mx.arange(3)[mx.array([1, 5])]
    dependent = mx.exp(wrong.astype(mx.float32))
    for _ in range(2):
        with pytest.raises(IndexError, match=r"5.*3"):
            wait(wrong)
        with pytest.raises((IndexError, RuntimeError)):
            wait(dependent)
    assert (mx.arange(3) + 1).tolist() == [1, 2, 3]


def test_errors_of_execution_spoil_only_dependent_arrays():
    x, index = mx.arange(5), mx.array([9])
    before, wrong, after = x + 1, x[index], x * 2
    dependent = mx.sort(wrong)
    with pytest.raises(IndexError):
        mx.eval(before, wrong, after, dependent)
    for good, values in ((x, range(5)), (before, range(1, 6)), (after, range(0, 10, 2))):
        assert good.tolist() == list(values)
        assert np.array(good + 0).tolist() == list(values)
    for bad in (wrong, dependent):
        with pytest.raises(IndexError):
            mx.eval(bad)
    x += 1
    mx.eval(x)
    assert x.tolist() == list(range(1, 6))


def test_a_failing_factorisation_is_an_exception():
    bad = mx.linalg.cholesky(-mx.eye(3), stream=mx.cpu)
    with pytest.raises(RuntimeError):
        mx.eval(bad)
    good = mx.linalg.cholesky(mx.eye(3), stream=mx.cpu)
    assert good.tolist() == mx.eye(3).tolist()


# Streams and threads


def in_thread(call):
    """Result of a call in a new thread; its exception is raised here."""
    box = []

    def body():
        try:
            box.append((call(), None))
        except Exception as error:
            box.append((None, error))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "the thread hangs"
    result, error = box[0]
    if error:
        raise error
    return result


def test_a_stream_belongs_to_its_thread():
    stream = mx.new_stream(mx.default_device())
    assert mx.add(mx.ones(2), 1, stream=stream).tolist() == [2, 2]
    with pytest.raises(RuntimeError):
        in_thread(lambda: mx.add(mx.ones(2), 1, stream=stream).tolist())
    for make in (mx.new_thread_unsafe_stream, mx.new_thread_local_stream):
        shared = make(mx.default_device())
        assert in_thread(lambda s=shared: mx.add(mx.ones(2), 1, stream=s).tolist()) == [2, 2]


def test_the_default_stream_and_random_state_are_per_thread():
    device = mx.default_device()
    here = mx.default_stream(device)
    there = in_thread(lambda: repr(mx.default_stream(device)))
    assert repr(here) != there
    assert mx.default_stream(device) == here
    mx.random.seed(7)
    first = mx.random.uniform(shape=(3,)).tolist()
    mx.random.seed(7)
    in_thread(lambda: (mx.random.seed(99), mx.random.uniform().item()))
    assert mx.random.uniform(shape=(3,)).tolist() == first


def test_many_threads_compute_at_once():
    def work(seed):
        key = mx.random.key(seed)
        total = mx.zeros((32, 32))
        for step in range(30):
            noise = mx.random.uniform(shape=(32, 32), key=mx.random.split(key, 30)[step])
            total = mx.tanh(total @ noise * 0.1 + noise)
        return total.tolist()

    want = [work(seed) for seed in range(4)]
    got, errors = [None] * 4, []

    def body(seed):
        try:
            got[seed] = work(seed)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not errors
    assert got == want


def test_evaluated_arrays_can_be_used_in_any_thread():
    a = mx.exp(mx.ones(4))
    mx.eval(a)
    assert in_thread(lambda: (a + 1).tolist()) == (a + 1).tolist()


def test_values_cross_streams_in_order():
    one, two = mx.new_stream(mx.default_device()), mx.new_stream(mx.default_device())
    a = mx.ones((64, 64))
    for n in range(20):
        a = mx.add(
            mx.matmul(a, a, stream=one if n % 2 else two) / 64,
            1e-3 * n,
            stream=two if n % 3 else one,
        )
    b = mx.ones((64, 64))
    for n in range(20):
        b = mx.matmul(b, b) / 64 + 1e-3 * n
    assert a.tolist() == b.tolist()


def test_stream_contexts_nest_and_restore():
    device = mx.default_device()
    before = mx.default_stream(device)
    inner = mx.new_stream(device)
    with mx.stream(inner):
        assert mx.default_stream(device) == inner
        with pytest.raises(ZeroDivisionError), mx.stream(mx.cpu):
            raise ZeroDivisionError
        assert mx.default_stream(device) == inner
    assert mx.default_stream(device) == before
    assert mx.default_device() == device


# Fork


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_computes(backend):
    if backend in ("gpu", "cuda-host", "metal"):
        pytest.skip("a forked child has the CPU alone: cuda_checks.py, metal_checks.py")
    a = mx.ones((512, 512))
    mx.eval(a @ a, mx.exp(a) + mx.ones((2048, 512))[:512])
    pending = mx.exp(a)
    mx.async_eval(pending)
    pid = os.fork()
    if pid == 0:  # the child must not return into pytest
        code = 1
        try:
            right = (mx.sum(a @ a).item() == 512**3) and (mx.sum(a * 2).item() == 2 * 512**2)
            right = right and abs(pending[0, 0].item() - np.e) < 1e-5
            code = 0 if right else 2
        finally:
            os._exit(code)
    for _ in range(600):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    assert mx.sum(a @ a).item() == 512**3
