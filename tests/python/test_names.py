"""Names of other frameworks: the message of an AttributeError, and that its names exist."""

import itertools
import re

import numpy as np
import pytest

import mlx
import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import mlx.utils
from mlx import _names

pytestmark = pytest.mark.anywhere

TABLES = {
    "TORCH": mx,
    "NUMPY": mx,
    "TENSOR": mx.array(1.0),
    "NDARRAY": mx.array(1.0),
    "LAYERS": nn,
    "JAX": mx,
    "RANDOM": mx.random,
    "MODULE": nn.Linear(1, 1),
    "OPTIMIZERS": optim,
    "OPTIMIZER": optim.SGD(0.1),
}
OWNERS = {
    "mx": mx,
    "nn": nn,
    "optim": optim,
    "mlx": mlx,
    "x": mx.array([1.0]),
    "model": nn.Linear(1, 1),
    "optimizer": optim.SGD(0.1),
}
CASES = [(table, name) for table in TABLES for name in vars(_names)[table]]
WRITTEN = re.compile(rf"\b(?:{'|'.join(OWNERS)})(?:\.[A-Za-z_]\w*)+")


@pytest.mark.parametrize(("table", "name"), CASES)
def test_hint(table, name):
    """The name is absent, the error says what is called so, and that exists."""
    place, here = TABLES[table], vars(_names)[table][name]
    assert not hasattr(place, name) and getattr(place, name, 7) == 7
    with pytest.raises(AttributeError, match=re.escape(f"{name} write {here}") + "$"):
        getattr(place, name)
    for path in WRITTEN.findall(here):
        value = OWNERS[path.split(".")[0]]
        for part in path.split(".")[1:]:
            value = getattr(value, part)


SPECIAL = [float("nan"), -8.0, -0.5, 0.0, 1.0, 27.0]


@pytest.mark.parametrize("name", ["cbrt", "nansum", "fmax", "fmin"])
def test_expressions_give_numpys_values(name):
    """Also for negative numbers and NaN."""
    x = mx.array(SPECIAL)
    a, b = (mx.array(v) for v in zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
    arguments = [np.array(v) for v in ((a, b) if name.startswith("f") else (x,))]
    got = eval(_names.NUMPY[name], {"mx": mx, "x": x, "a": a, "b": b})
    np.testing.assert_allclose(got, getattr(np, name)(*arguments), rtol=1e-6)


def test_names_that_do_not_exist():
    """The standard message; arrays and modules do not list what they lack."""
    for place in (mx, nn, mx.array(1)):
        with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
            place.no_such_name  # noqa: B018
    assert not set(_names.TENSOR) & set(dir(mx.array(1)))
    assert "shape" in dir(mx.array(1))


def test_a_class_below_array_may_have_the_names():
    """Names of the tables can be attributes of a program's own class."""

    class Named(mx.array):
        permute = 3

    assert Named(1).permute == 3 and "permute" in dir(Named(1))


def test_version():
    """One version, in both places."""
    assert mlx.__version__ == mx.__version__ and re.fullmatch(r"\d+\.\d+\.\d+", mlx.__version__)
    with pytest.raises(AttributeError, match="no_such_name"):
        mlx.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("float32", "float32"), ("bool", "bool_"), (float, "float32"), (int, "int32"),
        (bool, "bool_"), (complex, "complex64"),
    ],
)  # fmt: skip
def test_other_dtypes_get_a_hint(written, name):
    """Names and types of Python where a dtype belongs."""
    text = re.escape(f"for the dtype {written!r} write mx.{name}")
    for call in (
        lambda: mx.zeros((2,), dtype=written),
        lambda: mx.array([1], dtype=written),
        lambda: mx.array([1]).astype(written),
        lambda: mx.arange(3, dtype=written),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    with pytest.raises(TypeError, match=r"\[array\]"):
        mx.array([1], dtype=written)


def test_dtypes_of_numpy_get_a_hint():
    """Scalar types and dtype objects."""
    np = pytest.importorskip("numpy")
    for written in (np.float16, np.dtype("float16")):
        with pytest.raises(TypeError, match=r"write mx\.float16"):
            mx.zeros(2, dtype=written)
    with pytest.raises(TypeError) as error:
        mx.zeros("float32")
    assert "write mx.float32" in str(error.value)
    with pytest.raises(TypeError) as error:
        mx.pad(mx.zeros(2), "float32")
    assert "write" not in str(error.value)


def test_texts_of_errors():
    """The accepted arguments, in words that make sentences."""
    with pytest.raises(ValueError, match="numbers are accepted; logical_not negates bool"):
        mx.negative(mx.array(True))
    x, w = mx.zeros((1, 3, 8, 8)), mx.zeros((16, 3, 3, 3))
    with pytest.raises(ValueError, match="channels are the last axis: move axis 1 of both"):
        mx.conv2d(x, mx.zeros((16, 3, 5, 5)))
    with pytest.raises(ValueError, match="channels are the last axis: move axis 1 of"):
        mx.conv2d(x, w)
    with pytest.raises(ValueError, match="move axis 1 of the input to the end"):
        mx.conv2d(x, mx.zeros((16, 5, 5, 3)))
    with pytest.raises(ValueError) as error:
        mx.conv2d(mx.zeros((1, 8, 8, 4)), w)
    assert "channels are" not in str(error.value)


def test_quantize_names_the_layer():
    """The layer that cannot be packed."""
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(63, 2))
    with pytest.raises(ValueError, match=r"layer 'layers\.1', a Linear: \[quantize\]"):
        nn.quantize(model)
