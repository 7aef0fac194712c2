"""Failures of the plugin for NVIDIA GPUs, on a driver of the host whose calls fail on request.

`pytest --backend cuda-host cuda_failures.py`: test_cuda_plugin.py runs it; with --all the training
loop meets a thousand failures.
"""

import contextlib

import numpy as np
import pytest
import second_backend
from cases import selection
from memory_in_use import settled_memory

import mlx.core as mx

KINDS = ["allocation", "launch", "copy", "library", "event", "pinned", "module", "graph"]
ALLOCATION, LAUNCH, COPY, LIBRARY, EVENT, PINNED, MODULE, GRAPH = range(8)
ERRORS = (MemoryError, RuntimeError)


@pytest.fixture
def driver():
    """The driver of the host; no call fails afterwards, and it got no address but its own."""
    found = second_backend.host_driver()
    yield found
    for kind in range(len(KINDS)):
        found.mlx_host_fail(kind, 0, 0)
    mx.synchronize()
    assert found.mlx_host_faults() == 0


class Training:
    """A network of two layers; `step` trains it once."""

    def __init__(self):
        rng = np.random.default_rng(5)
        self.x = mx.array(rng.standard_normal((8, 12)), mx.float32)
        self.y = mx.array(rng.integers(0, 4, 8))
        shapes = ((12, 16), (16,), (16, 4), (4,))
        self.start = [mx.array(rng.standard_normal(s) * 0.3, mx.float32) for s in shapes]
        self.weights = list(self.start)
        self.gradient = mx.value_and_grad(self.loss)

    def loss(self, weights):
        a, b, c, d = weights
        out = mx.maximum(self.x @ a + b, 0) @ c + d
        return mx.mean(mx.logsumexp(out, -1) - mx.take_along_axis(out, self.y[:, None], -1)[:, 0])

    def step(self):
        loss, found = self.gradient(self.weights)
        weights = [w - 0.1 * g for w, g in zip(self.weights, found, strict=True)]
        mx.eval(loss, weights)
        self.weights = weights
        return loss.item()

    def losses(self, steps=2):
        self.weights = list(self.start)
        return [self.step() for _ in range(steps)]


def test_a_training_loop_meets_failures(driver):
    """Each call that fails raises, or is made good; nothing leaks, and the loop goes on."""
    training = Training()
    right = training.losses()
    kinds = [ALLOCATION, LAUNCH, COPY, LIBRARY, EVENT, PINNED, GRAPH]
    for kind in kinds:  # the calls of one step, the first of which are those that copy
        driver.mlx_host_fail(kind, 0, 0)
    training.losses(1)
    calls = {kind: driver.mlx_host_calls(kind) for kind in kinds}
    assert calls[LAUNCH] > 5 and calls[LIBRARY] > 2 and calls[EVENT] > 0
    training.weights = list(training.start)
    before, memory = settled_memory(), driver.mlx_host_bytes()
    wanted = 1000 if selection.EVERYTHING else 100
    met = raised = 0
    for n in range(100 * wanted):
        if met >= wanted:
            break
        kind = kinds[n % len(kinds)]
        training.weights = list(training.start)
        if kind == ALLOCATION:
            mx.clear_cache()  # else no memory is asked for
        first = 1 + n // len(kinds) % max(calls[kind], 1)
        driver.mlx_host_fail(kind, first, 1 + n % 3)
        try:
            assert training.step() == right[0]
        except ERRORS:
            raised += 1
        failed = driver.mlx_host_calls(kind) >= first
        driver.mlx_host_fail(kind, 0, 0)
        met += failed
        training.weights = list(training.start)
        assert settled_memory() == before
        assert driver.mlx_host_bytes() <= memory + (8 << 20)  # a slab more or less
        if n % 5 == 0:
            assert training.losses() == right
    assert met >= wanted and raised > wanted // 2
    assert training.losses() == right


@pytest.mark.parametrize("kind", [LAUNCH, LIBRARY])
def test_each_failure_raises(kind, driver):
    """A final error is raised at once, and later steps do not hide it."""
    training = Training()
    training.losses()
    driver.mlx_host_fail(kind, 0, 0)
    training.losses(1)
    for n in range(1, driver.mlx_host_calls(kind) + 1):
        training.weights = list(training.start)
        driver.mlx_host_fail(kind, n, 1000)  # a call that fails in a graph is made once more
        raised = False
        try:
            training.step()
        except RuntimeError:
            raised = True
        # Graphs do not call libraries.
        assert raised == (driver.mlx_host_calls(kind) >= n) and (raised or kind == LIBRARY)
    driver.mlx_host_fail(kind, 0, 0)


def test_a_product_with_a_row_that_failed_is_tried_again(driver):
    """Its plan, then the product itself."""
    a, b, row = mx.ones((6, 21)), mx.ones((21, 10)), mx.arange(10.0)
    mx.eval(a, b, row, mx.addmm(row, a + 0, b))  # the library is open
    a, b = mx.ones((7, 21)), mx.ones((21, 10))
    mx.eval(a, b)
    for _ in range(2):
        driver.mlx_host_fail(LIBRARY, 1, 1)
        with pytest.raises(ERRORS):
            mx.eval(mx.addmm(row, a, b))
        driver.mlx_host_fail(LIBRARY, 0, 0)
        assert mx.addmm(row, a, b).tolist() == [[21.0 + k for k in range(10)]] * 7


def test_code_that_does_not_load(driver):
    """A kernel that cannot be compiled or loaded raises, and is tried again."""
    x = mx.arange(5.0)
    mx.eval(x)
    driver.mlx_host_fail(MODULE, 1, 1)
    with pytest.raises(ERRORS):
        mx.eval(mx.tanh(x * 0.59375) + 0.28125)
    driver.mlx_host_fail(MODULE, 0, 0)
    y = mx.tanh(x * 0.59375) + 0.28125
    assert y.tolist() == (mx.add(mx.tanh(mx.multiply(x, 0.59375, stream=mx.cpu), stream=mx.cpu),
                                 0.28125, stream=mx.cpu)).tolist()  # fmt: skip


@pytest.mark.parametrize("kind", [ALLOCATION, LAUNCH, COPY, EVENT, PINNED])
def test_copies_and_borrowed_ops(kind, driver):
    """Large and small copies both ways, and ops that the CPU computes."""
    x = np.arange(70_000, dtype=np.float32)

    def work():
        a = mx.array(x) + 1
        b = mx.exp(a * 0) + mx.linalg.qr(a.reshape(-1, 2))[0].flatten()  # which has no kernel
        return b.sum().item()

    right = work()
    before = settled_memory()
    raised = 0
    for n in (1, 2, 3, 5, 7, 9):
        mx.clear_cache()
        driver.mlx_host_fail(kind, n, 2)
        try:
            assert work() == right
        except ERRORS:
            raised += 1
        driver.mlx_host_fail(kind, 0, 0)
        assert settled_memory() == before
        assert work() == right
    assert raised >= 2 or kind == PINNED  # pinned memory serves again


@pytest.mark.parametrize("kind", [ALLOCATION, PINNED])
def test_work_that_met_too_little_memory_goes_on(kind, driver):
    """A launch that found no memory before a step can succeed later: nothing is final."""
    x = np.arange(70_000, dtype=np.float32)

    def work():
        a = mx.array(x) + 1
        return mx.take(mx.exp(a * 0), mx.array([3, 4])) + mx.take(a, mx.array([0, 1]))

    right = work().tolist()
    for n in range(1, 6):
        out = work()
        settled_memory()
        driver.mlx_host_fail(kind, n, 3)
        with contextlib.suppress(MemoryError):
            out.tolist()
        driver.mlx_host_fail(kind, 0, 0)
        assert out.tolist() == right


def test_a_transform_that_failed_is_tried_again(driver):
    """One failed call of the library does not refuse its shape for good."""
    x = mx.arange(24.0)
    mx.eval(x)
    before = settled_memory()
    driver.mlx_host_fail(LIBRARY, 1, 1)
    with pytest.raises(ERRORS):
        mx.eval(mx.fft.fft(x))
    driver.mlx_host_fail(LIBRARY, 0, 0)
    calls = driver.mlx_host_calls(LIBRARY)
    assert np.allclose(np.array(mx.fft.fft(x)), np.fft.fft(np.arange(24.0)), atol=1e-3)
    assert driver.mlx_host_calls(LIBRARY) > calls  # the library's, not the CPU's
    assert settled_memory() == before


@pytest.mark.parametrize("bytes_", [200 << 30, 1 << 40, 1 << 50])
def test_out_of_memory(bytes_):
    """An array that does not fit raises MemoryError and leaves memory as it was."""
    a = mx.ones((1000,)) + 1
    mx.eval(a)
    before, cached = settled_memory(), mx.get_cache_memory()
    for ask in (
        lambda: mx.zeros((bytes_,), mx.uint8) + 1,
        lambda: mx.sort(mx.zeros((bytes_ // 4,)) + a[0]),
    ):
        out = ask()
        for _ in range(2):
            with pytest.raises(MemoryError, match="requested"):
                mx.eval(out)
        del out
    assert (settled_memory(), mx.get_cache_memory()) == (before, cached)
    assert (a + 1).tolist() == [3] * 1000


def test_the_ceiling_is_a_limit_like_the_devices():
    """Memory above the ceiling is refused, and what is there stays usable."""
    a = mx.ones((1 << 18,)) + 1
    mx.eval(a)
    before = settled_memory()
    earlier = mx.set_memory_ceiling(before + (1 << 19))
    try:
        with pytest.raises(MemoryError, match="ceiling"):
            mx.eval(a * 3)
        assert settled_memory() == before
        assert (a[:8] * 3).tolist() == [6] * 8
    finally:
        assert mx.set_memory_ceiling(earlier) == before + (1 << 19)
    assert (a * 3).sum().item() == 6 << 18
