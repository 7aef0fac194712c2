"""Names of other frameworks: the message of an AttributeError, and that its names exist."""

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
    "FUNCTIONS": nn,
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


KEY = mx.random.key(0)
#: Calls as other libraries have them, and the end of the message.
CALLS = [
    (lambda: mx.sum(mx.zeros((2, 2)), dim=1), "for dim= write axis"),
    (lambda: mx.sum(mx.zeros((2, 2)), axis=1, keepdim=True), "for keepdim= write keepdims"),
    (lambda: mx.random.normal(size=(3,)), "for size= write shape"),
    (lambda: mx.zeros((2,), device="cpu"), "for device= write stream"),
    (lambda: mx.compile(mx.sum, static_argnums=0), "for static_argnums= write mx.compile(f)"),
    (lambda: mx.zeros(2, 3), "for the shape (2, 3) write zeros((2, 3))"),
    (lambda: mx.ones(2, 3, 4), "for the shape (2, 3, 4) write ones((2, 3, 4))"),
    (lambda: mx.random.normal(3), "for the shape (3,) write normal((3,))"),
    (lambda: mx.random.randint(0, 5, 3), "for the shape (3,) write randint(0, 5, (3,))"),
    (lambda: mx.random.uniform((3,)), "for a shape write shape=(3,)"),
    (lambda: mx.random.normal(KEY, (3,)), "for a key write key=key"),
    (lambda: optim.Adam(lr=0.1), "for lr= write learning_rate="),
    (lambda: optim.Adam(nn.Linear(1, 1).parameters(), lr=0.1), "for lr= write learning_rate="),
    (lambda: optim.SGD(nn.Linear(1, 1).parameters()), "parameters belong to update("),
    (lambda: optim.AdamW(nn.Linear(1, 1).parameters(), 0.1), "parameters belong to update("),
    (lambda: optim.Lion(nn.Linear(1, 1).parameters(), 0.1), "parameters belong to update("),
    (lambda: optim.Adam(0.1, 0.9), "a list of two numbers is accepted"),
    (lambda: nn.value_and_grad(mx.sum, nn.Linear(1, 1)), "the module comes first"),
]


@pytest.mark.parametrize(("call", "text"), CALLS, ids=[text for _, text in CALLS])
def test_calls_of_other_libraries(call, text):
    """The message ends with the call as it is written here."""
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        call()


def test_keywords_are_not_those_of_mlx():
    """Keywords that a function has, or that no table knows, give no hint."""
    assert not _names.call_hint("f", "f(a: array, dim: int) -> array", [], ("dim",))
    assert not _names.call_hint("f", "f(a: array) -> array", [1], ("nothing",))


def test_forward_of_pytorch():
    """A class with forward is told to write __call__; one with both is called."""

    class Torch(nn.Module):
        def forward(self, x):
            return x

    class Both(Torch):
        def __call__(self, x):
            return self.forward(x)

    with pytest.raises(TypeError, match=re.escape("[Torch] a class with forward; write __call__")):
        Torch()(1)
    assert Both()(1) == 1


def test_at_set_and_get():
    """JAX's names of what `x[i] = v` and `x[i]` do."""
    x = mx.arange(6.0).reshape(2, 3)
    assert x.at[0].set(7).tolist() == [[7, 7, 7], [3, 4, 5]]
    assert x.at[:, 1].get().tolist() == [1, 4] and x.tolist()[0] == [0, 1, 2]
    gradient = mx.grad(lambda v, x: (x.at[1].set(v) ** 2).sum())(mx.array([1.0, 2.0, 3.0]), x)
    assert gradient.tolist() == [2, 4, 6]
    with pytest.raises(ValueError, match=r"\[at\] no indices"):
        x.at.get()


NAN = -np.array([np.nan])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (lambda: mx.array(NAN.astype(np.float32)), "array([nan], dtype=float32)"),
        (lambda: mx.array(NAN, mx.float64), "array([nan], dtype=float64)"),
        (lambda: mx.array(NAN.astype(np.float16)), "array([nan], dtype=float16)"),
        (lambda: mx.array([mx.inf]) - mx.inf, "array([nan], dtype=float32)"),
        (lambda: mx.array(complex(-1, -NAN[0])), "array(-1+nanj, dtype=complex64)"),
        (lambda: mx.array([-0.0]), "array([-0], dtype=float32)"),
        (lambda: mx.zeros((0,)), "array([], dtype=float32)"),
        (lambda: mx.zeros((0, 3)), "array([], shape=(0, 3), dtype=float32)"),
        (lambda: mx.zeros((2, 0), mx.int8), "array([], shape=(2, 0), dtype=int8)"),
    ],
)
def test_printed(values, text):
    """NaN has no sign; the shape of an empty array is printed."""
    array = values()
    with mx.stream(mx.cpu):
        assert repr(array) == str(array) == text


def test_names_that_do_not_exist():
    """The standard message; arrays and modules do not list what they lack."""
    for place in (mx, nn, mx.array(1)):
        with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
            place.no_such_name  # noqa: B018
    elsewhere = {n for n, v in vars(mx.array).items() if isinstance(v, _names.Elsewhere)}
    assert "permute" in elsewhere
    for place in (mx.array, mx.array(1), type("Below", (mx.array,), {})):
        assert not elsewhere & set(dir(place))
        assert {"shape", "sum", "__add__"} <= set(dir(place))


def test_a_class_below_array_may_have_the_names():
    """Names of the tables can be attributes of a program's own class."""

    class Named(mx.array):
        permute = 3

    assert Named(1).permute == 3 and "permute" in dir(Named(1)) and "permute" in dir(Named)


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
