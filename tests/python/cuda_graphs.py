"""Graphs of launches that repeat, of the plugin for NVIDIA GPUs: `pytest --backend cuda-host
cuda_graphs.py`. test_cuda_plugin.py runs it.
"""

import gc
import threading

import numpy as np
import pytest
from cuda_checks import no_faults, outputs  # noqa: F401
from cuda_failures import ERRORS, GRAPH, LAUNCH, LIBRARY, driver  # noqa: F401

import mlx.core as mx

REPEATS = 40  # beyond the number of graphs that one place has


def rows(x):
    """Kernels alone."""
    for k in range(4):
        x = mx.cumsum(mx.softmax(x * 1.5 + k, -1), 0)
    return x


def products(x):
    """Kernels, products, and products with a row."""
    w = mx.arange(64.0).reshape(8, 8) / 64
    for k in range(3):
        x = mx.softmax(x @ w, -1) + k
        x = mx.addmm(w[0], x, w)
    return x


def two_parts(x):
    """Other libraries and copies between kernels."""
    y = mx.cumsum(mx.softmax(x, -1), 0)
    y = mx.abs(mx.fft.fft(y)) + mx.linalg.cholesky(y @ y.T + 9 * mx.eye(8))
    return mx.cumsum(mx.softmax(y, -1), 0)


def convolutions(x):
    """Convolutions and transforms, by libraries."""
    images = mx.softmax(x, -1).reshape(1, 8, 8, 1) * mx.ones((16,))
    y = mx.conv2d(images, mx.arange(144.0 * 16).reshape(16, 3, 3, 16) / 1000, padding=1)
    return mx.abs(mx.fft.fft(mx.softmax(y.sum(-1)[0], -1) * 3)) + 1


def checked(x):
    """A kernel with an error record."""
    return mx.take(mx.cumsum(mx.softmax(x, -1), 0), mx.argmax(x, -1), axis=0) * 2


def packed(x):
    """Products that read their packed matrices early: given ones, and two of the launch."""
    w = mx.tile(x * mx.linspace(1, 2, 8), (16, 16)).astype(mx.float16)
    y = mx.softmax(w[:3], -1)
    for k in range(2):
        y = mx.softmax(mx.quantized_matmul(y, *GIVEN), -1)
        y = mx.softmax(mx.quantized_matmul(y, *mx.quantize(w + k)), -1)
    return y


def long(x):
    """So many calls that they are several graphs."""
    for _ in range(24):
        x = mx.cumsum(mx.softmax(x, -1), 0)
    return x


GIVEN = mx.quantize(mx.sin(mx.arange(128 * 128.0)).reshape(128, 128).astype(mx.float16))
PROGRAMS = {f.__name__: f for f in (rows, products, two_parts, convolutions, checked, packed, long)}


def inputs(n):
    rng = np.random.default_rng(3)
    return [mx.array(rng.standard_normal((8, 8)), mx.float32) for _ in range(n)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_repeated_launches_give_the_same_bits(name, driver):  # noqa: F811
    """Calls that come first make no graph; later ones do, with other arguments."""
    xs = inputs(3)
    firsts = []
    for x in xs:
        with mx.stream(mx.new_stream(mx.gpu)):
            firsts.append(np.array(PROGRAMS[name](x)))
    f = mx.compile(PROGRAMS[name])
    launched = driver.mlx_host_graph_launches()
    kept = []
    for n in range(REPEATS):
        y = f(xs[n % 3])
        assert np.array_equal(np.array(y), firsts[n % 3])
        if n % 4 == 0:
            kept.append(y)  # results get other memory
    assert driver.mlx_host_graph_launches() > launched + REPEATS // 2


def test_kernels_overlap(driver):  # noqa: F811
    """A kernel of a graph may begin before the one before ends. The driver takes no such edge
    beside a library."""
    x = inputs(1)[0]
    before = driver.mlx_host_graph_overlaps()
    with mx.stream(mx.new_stream(mx.gpu)):
        for _ in range(3):
            mx.eval(rows(x))
    assert driver.mlx_host_graph_overlaps() > before


def test_graphs_go_with_their_stream(driver):  # noqa: F811
    x = inputs(1)[0]
    mx.eval(x)
    before, made = driver.mlx_host_graphs(), []

    def work():
        for _ in range(4):
            mx.eval(mx.compile(rows)(x))
        made.append(driver.mlx_host_graphs())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    gc.collect()
    mx.synchronize()
    assert made == [before + 1]
    assert driver.mlx_host_graphs() == before


def test_functions_and_shapes_share_graphs(driver):  # noqa: F811
    """The kernels are the same, and get other sizes, as in a text that grows."""
    cache = mx.zeros((24, 8)) + mx.arange(8)
    for n in range(2, 24):
        want = np.cumsum(np.array(mx.softmax(cache[:n], -1, stream=mx.cpu)), 0) * 3
        if n == 6:
            graphs = driver.mlx_host_graphs()
        got = mx.cumsum(mx.softmax(cache[:n], -1), 0) * 3
        assert np.allclose(np.array(got), want, rtol=1e-5)
    assert driver.mlx_host_graphs() == graphs


def test_convolutions_and_transforms_become_part_of_graphs(driver):  # noqa: F811
    x = inputs(1)[0]
    f = mx.compile(convolutions)
    for _ in range(REPEATS):
        mx.eval(f(x))
    driver.mlx_host_fail(LIBRARY, 0, 0)
    mx.eval(f(x))
    assert driver.mlx_host_calls(LIBRARY) == 0


def test_products_in_graphs_do_not_call_the_library(driver):  # noqa: F811
    """Once each set of addresses that the memory goes through has its graph."""
    w = [mx.array(np.eye(8) * (1 - k / 8), mx.float32) for k in range(6)]

    def step(w):
        return [mx.maximum(a @ b, 0) * 0.5 + b for a, b in zip(w, w[::-1], strict=True)]

    f = mx.compile(step)
    calls = []
    for _ in range(REPEATS):
        driver.mlx_host_fail(LIBRARY, 0, 0)
        w = f(w)
        mx.eval(w)
        calls.append(driver.mlx_host_calls(LIBRARY))
    assert calls[0] >= 2 and calls[-4:] == [0] * 4


def test_another_stream_gets_other_graphs(driver):  # noqa: F811
    """Libraries have temporary memory for each stream, which graphs use."""
    x = inputs(1)[0]
    f = mx.compile(products)
    want = np.array(f(x))
    for _ in range(8):
        mx.eval(f(x))
    for expected in (False, True):
        driver.mlx_host_fail(LIBRARY, 0, 0)
        with mx.stream(mx.new_stream(mx.gpu) if expected else mx.default_stream(mx.gpu)):
            assert np.array_equal(np.array(f(x)), want)
        assert (driver.mlx_host_calls(LIBRARY) > 0) == expected


@pytest.mark.parametrize("name", ["rows", "products"])
@pytest.mark.parametrize("n", range(1, 4))
def test_graphs_that_fail_give_way_to_calls(name, n, driver):  # noqa: F811
    x = inputs(1)[0]
    f = mx.compile(PROGRAMS[name])
    want = np.array(f(x))
    for _ in range(n):
        f(x).tolist()
    driver.mlx_host_fail(GRAPH, 1, 100)
    for _ in range(3):
        assert np.array_equal(np.array(f(x + 0)), want)
    driver.mlx_host_fail(GRAPH, 0, 0)
    assert np.array_equal(np.array(f(x)), want)


def test_a_library_that_fails_while_a_graph_is_made_is_asked_again(driver):  # noqa: F811
    x = inputs(1)[0]
    with mx.stream(mx.new_stream(mx.gpu)):
        f = mx.compile(products)
        want = np.array(f(x))
        driver.mlx_host_fail(LIBRARY, 1, 1)
        kept = [f(x) for _ in range(8)]  # each at another address
        assert all(np.array_equal(np.array(y), want) for y in kept)
        driver.mlx_host_fail(LIBRARY, 0, 0)
        del kept
        for _ in range(REPEATS):
            assert np.array_equal(np.array(f(x)), want)
        driver.mlx_host_fail(LIBRARY, 0, 0)
        mx.eval(f(x))
    assert driver.mlx_host_calls(LIBRARY) == 0


@pytest.mark.parametrize("kind", [LAUNCH, LIBRARY])
def test_a_call_that_fails_is_the_error_of_its_step(kind, driver):  # noqa: F811
    """Results that do not depend on it are there, and the function works again."""

    def two(x, w):
        return mx.cumsum(mx.softmax(x, -1), 0), mx.softmax((x + 1) @ w, -1) * 2

    x, w = inputs(2)
    f = mx.compile(two)
    want = [np.array(y) for y in f(x, w)]
    driver.mlx_host_fail(kind, 0, 0)
    mx.eval(f(x, w))
    kept = []
    for n in range(1, driver.mlx_host_calls(kind) + 1):
        kept.append(w * 1)  # the library gets another address
        mx.eval(kept)
        left, right = f(x, kept[-1])
        driver.mlx_host_fail(kind, n, 1000)
        good = 0
        for y, expected in zip((left, right), want, strict=True):
            try:
                good += np.array_equal(np.array(y), expected)
            except ERRORS:
                continue
        driver.mlx_host_fail(kind, 0, 0)
        assert good < 2 and (good == 1 or kind == LAUNCH)
        for y, expected in zip(f(x, w), want, strict=True):
            assert np.array_equal(np.array(y), expected)


def test_threads_share_a_function():
    x = inputs(1)[0]
    mx.eval(x)
    f = mx.compile(products)
    want = np.array(f(x))
    wrong = []

    def work():
        with mx.stream(mx.new_stream(mx.gpu)):
            for _ in range(30):
                if not np.array_equal(np.array(f(x)), want):
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_thousands_of_kernels():
    """More than one graph has."""

    def f(x):
        for _ in range(1100):
            x = mx.cumsum(mx.softmax(x, -1), 0)
        return x

    x = mx.ones((2, 2))
    g = mx.compile(f)
    want = np.array(g(x))
    for _ in range(2):
        assert np.array_equal(np.array(g(x)), want)
