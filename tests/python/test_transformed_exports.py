"""Arrays of transformed functions that leave for NumPy, buffers, DLPack and Python: under
derivatives with a warning where one is lost; as errors where there are no values yet."""

import os
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import mlx.core as mx

ml_dtypes = pytest.importorskip("ml_dtypes")

# The ways out, and the dtypes that each of them has.
ROADS = {
    "asarray": (lambda x: np.asarray(x).tolist(), "all"),
    "array": (lambda x: np.array(x).tolist(), "all"),
    "__array__": (lambda x: x.__array__().tolist(), "all"),
    "memoryview": (lambda x: np.asarray(memoryview(x)).tolist(), "buffer"),
    "dlpack": (lambda x: np.from_dlpack(x).tolist(), "buffer"),
    "dlpack, copied": (lambda x: np.from_dlpack(x, copy=True).tolist(), "buffer"),
    "interface": (lambda x: x.__array_interface__ and x.tolist(), "buffer"),
    "bytes": (lambda x: bytes(x) and x.tolist(), "all"),
    "pickle": (lambda x: pickle.loads(pickle.dumps(x)).tolist(), "all"),
    "ufunc": (lambda x: np.positive(x).tolist(), "numbers"),
    "median": (lambda x: [np.median(x)] * x.size, "numbers"),
    "tolist": (lambda x: x.tolist(), "all"),
    "item": (lambda x: [x[k].item() for k in range(2)], "all"),
    "float": (lambda x: [float(v) for v in x], "real"),
    "complex": (lambda x: [complex(v) for v in x], "all"),
}
EXACT = ["bool_", "uint8", "int16", "int32", "int64"]
FLOATING = ["float16", "bfloat16", "float32", "float64", "complex64"]
DERIVATIVES = {
    "grad": lambda f, x: mx.grad(f)(x),
    "value_and_grad": lambda f, x: mx.value_and_grad(f)(x)[1],
    "vjp": lambda f, x: mx.vjp(f, [x], [mx.array(1.0)])[1][0],
    "jvp": lambda f, x: mx.jvp(f, [x], [mx.ones(2)])[1][0],
    "grad of checkpoint": lambda f, x: mx.grad(mx.checkpoint(f))(x),
    "grad of grad": lambda f, x: mx.grad(lambda x: mx.grad(f)(x).sum())(x),
}


def cases():
    for road, (_, kinds) in ROADS.items():
        for dtype in EXACT + FLOATING:
            buffer = dtype != "bfloat16" or kinds == "all" or kinds == "real"
            number = dtype not in ("bool_", "bfloat16") or kinds != "numbers"
            real = dtype != "complex64" or kinds not in ("real", "numbers")
            if buffer and number and real:
                yield road, dtype


@pytest.mark.parametrize("road, dtype", list(cases()))
def test_values_leave_under_derivatives(road, dtype):
    leave, t = ROADS[road][0], getattr(mx, dtype)
    seen = []

    def f(x):
        seen.append(leave((x * x).astype(t)))
        return (x * x).sum()

    x = mx.array([1.0, 1.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert mx.grad(f)(x).tolist() == [2, 2]
    assert seen == [[1, 1]]
    lost = [w for w in caught if "has no derivative" in str(w.message)]
    assert all(issubclass(w.category, UserWarning) for w in lost)
    assert all("stop_gradient" in str(w.message) for w in lost)
    assert bool(lost) == (dtype in FLOATING)
    for w in lost:  # the line of the program, not of a library
        assert w.filename == __file__


@pytest.mark.parametrize("way", DERIVATIVES)
def test_one_warning_for_each_line(way):
    def f(x):
        for _ in range(3):
            np.asarray(x)
        x.sum().item()
        return (x * x).sum()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        DERIVATIVES[way](f, mx.array([1.0, 2.0]))
    lines = [w.lineno - f.__code__.co_firstlineno for w in caught]
    assert sorted(lines) == [2, 3]


@pytest.mark.parametrize("road", ROADS)
def test_values_without_derivatives_leave_without_a_warning(road):
    leave = ROADS[road][0]
    constant = mx.array([1.0, 1.0])

    def f(x):
        leave(constant)
        leave(mx.stop_gradient(x))
        leave(mx.stop_gradient(x) * constant)
        leave((x > 0).astype(mx.int32))
        assert bool(x.sum() > 0) and int(x.sum()) == 2 and f"{x[0]:.1f}" == "1.0" and str(x)
        return (x * x).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mx.grad(f)(mx.array([1.0, 1.0])).tolist() == [2, 2]


@pytest.mark.parametrize("transform", [mx.vmap, mx.compile], ids=lambda t: t.__name__)
@pytest.mark.parametrize("within", [lambda f: f, mx.grad], ids=["itself", "grad"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("road", ROADS)
def test_values_that_come_later_do_not_leave(road, dtype, within, transform):
    def f(x):
        ROADS[road][0](x.astype(getattr(mx, dtype)))
        return x.sum()

    with pytest.raises(
        (ValueError, BufferError), match="Not allowed inside a graph transformation"
    ):
        transform(within(f))(mx.ones((2, 2) if transform is mx.vmap else 2))


OURS = {
    "a scalar of NumPy's on the left": lambda x: np.sqrt(4) * x,
    "an array of NumPy's on the left": lambda x: np.array([2, 2], np.float32) * x,
    "an array of NumPy's on the right": lambda x: x * np.array([2, 2], np.float32),
    "sum": lambda x: 2 * np.sum(x),
    "mean": lambda x: 4 * np.mean(x),
    "prod": lambda x: 2 * np.prod(x),
    "max of the negative": lambda x: -2 * np.max(-x, axis=0, keepdims=True),
}


@pytest.mark.parametrize("name", OURS)
def test_operators_and_methods_of_numpy_keep_the_derivative(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad = mx.grad(lambda x: mx.sum(OURS[name](x)))(mx.ones(2))
    assert grad.sum().item() == (2 if "max" in name else 4)


def test_the_warning_as_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for leave, _ in ROADS.values():
            with pytest.raises(UserWarning, match="stop_gradient"):
                mx.grad(lambda x, leave=leave: (leave(x), x.sum())[1])(mx.ones(2))


STRICT = """
    import pickle
    import numpy as np
    import mlx.core as mx

    roads = (np.asarray, memoryview, np.from_dlpack, pickle.dumps, bytes, lambda x: x.tolist(),
             lambda x: x[0].item(), lambda x: float(x[0]))
    for leave in roads:
        try:
            mx.grad(lambda x: (leave(x), x.sum())[1])(mx.ones(2))
        except (ValueError, BufferError) as e:
            assert "Not allowed inside a graph transformation" in str(e), e
        else:
            raise AssertionError(leave)
        mx.grad(lambda x: (leave(mx.stop_gradient(x)), leave(x > 0), x.sum())[2])(mx.ones(2))
"""


def test_strict_exports():
    environment = os.environ | {"MLX_STRICT_EXPORT": "1"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(STRICT)], env=environment, check=True)
