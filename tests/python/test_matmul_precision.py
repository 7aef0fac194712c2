"""How far products may round their operands: settings, products, threads."""

import functools
import threading

import numpy as np
import pytest
from processes import run_program

import mlx.core as mx

NAMES = ("highest", "high", "medium")


@pytest.fixture(autouse=True)
def as_before():
    """Other tests have the precision that they had."""
    before = mx.get_matmul_precision()
    mx.set_matmul_precision("highest")
    yield
    mx.set_matmul_precision(before)


def operands(dtype=mx.float32):
    rng = np.random.RandomState(3)
    a, b = (mx.array(rng.uniform(-2, 2, s)).astype(dtype) for s in ((5, 33), (33, 7)))
    mx.eval(a, b)
    return a, b


def test_it_is_set_for_all_threads_and_for_one():
    assert mx.get_matmul_precision() == "highest"
    seen = {}
    with mx.matmul_precision("medium"):
        with mx.matmul_precision("high"):
            assert mx.get_matmul_precision() == "high"
        assert mx.get_matmul_precision() == "medium"
        mx.set_matmul_precision("high")
        assert mx.get_matmul_precision() == "medium"
        thread = threading.Thread(target=lambda: seen.update(other=mx.get_matmul_precision()))
        thread.start()
        thread.join()
    assert (seen["other"], mx.get_matmul_precision()) == ("high", "high")


def test_a_block_can_be_entered_again():
    block = mx.matmul_precision("high")
    with block, block:
        assert mx.get_matmul_precision() == "high"
    assert mx.get_matmul_precision() == "highest"
    with pytest.raises(ValueError, match="was not entered"):
        block.__exit__()


@pytest.mark.parametrize("f", [mx.set_matmul_precision, mx.matmul_precision])
def test_other_names(f):
    message = f"[{f.__name__}] the precision 'low'; 'highest', 'high' and 'medium' are accepted"
    with pytest.raises(ValueError) as error:
        f("low")
    assert str(error.value) == message


def test_the_environment():
    program = "import mlx.core as mx; print(mx.get_matmul_precision())"
    for value, name in (("1", "high"), ("0", "highest")):
        assert run_program(program, MLX_ENABLE_TF32=value) == (0, name + "\n", "")


def products(a, b):
    return [
        a @ b,
        mx.addmm(mx.ones((7,), a.dtype), a, b, 0.5, 2.0),
        mx.addmm(mx.ones((5, 1), a.dtype), a, b, 1.0, 0.0),
        mx.addmm(mx.array(2, a.dtype), a[0], b),
        mx.einsum("ij,jk->ki", a, b),
        mx.tensordot(a, b, 1),
        mx.vmap(mx.matmul, (0, None))(a, b),
        *mx.grad(lambda a, b: mx.real((a @ b) ** 2).sum(), (0, 1))(a, b),
        *mx.jvp(lambda a: a @ b, [a], [a])[1],
        *convolutions(a.reshape(1, 5, 11, 3), b.reshape(7, 1, 11, 3)),
    ]


def convolutions(x, w):
    """A convolution and its derivatives; a transposed one."""
    conv = functools.partial(mx.conv2d, padding=(0, 5))
    return [
        conv(x, w),
        *mx.grad(lambda x, w: mx.real(conv(x, w) ** 2).sum(), (0, 1))(x, w),
        mx.conv_transpose2d(x, w, stride=2),
    ]


@pytest.mark.parametrize("dtype", [mx.float32, mx.complex64, mx.float16, mx.float64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_products_are_right(name, dtype):
    """To what the precision promises; other dtypes have one precision alone."""
    a, b = operands(dtype)
    want = products(a, b)
    with mx.matmul_precision(name):
        got = products(a, b)
    bound = {"highest": 1e-6, "high": 2e-3, "medium": 2e-2}[name]
    for x, y in zip(got, want, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        x, y = np.array(x), np.array(y)
        if dtype in (mx.float32, mx.complex64):
            assert np.abs(x - y).max() <= bound * np.abs(y).max()
        else:
            assert np.array_equal(x, y)


@pytest.mark.cpu_only(reason="the CPU computes in float32 whatever is set")
def test_the_cpu_computes_in_float32():
    a, b = operands()
    with mx.matmul_precision("medium"):
        c = a @ b
    assert mx.array_equal(c, a @ b)


def test_compiled_functions_are_traced_for_each():
    a, b = operands()
    traced = []

    @mx.compile
    def f(a, b):
        traced.append(mx.get_matmul_precision())
        return a @ b

    for _ in range(2):
        for name in NAMES:
            with mx.matmul_precision(name):
                f(a, b)
    assert traced == list(NAMES)


def test_functions_in_files_have_no_precision(tmp_path):
    a, b = operands()
    path = str(tmp_path / "f.mlxfn")
    with mx.matmul_precision("high"):
        mx.export_function(path, lambda a, b: a @ b + a[:, :7], a, b)
    assert mx.array_equal(mx.import_function(path)(a, b)[0], a @ b + a[:, :7])
    x, w = a.reshape(1, 5, 11, 3), b.reshape(7, 1, 11, 3)
    with mx.matmul_precision("high"):
        mx.export_function(path, convolutions, x, w)
    for got, want in zip(mx.import_function(path)(x, w), convolutions(x, w), strict=True):
        assert mx.array_equal(got, want)
