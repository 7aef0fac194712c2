"""A typed program: mypy checks this file in strict mode (./dev lint), and what it says of types is
checked again when it runs.

`assert_type` fails for mypy where an expression has not exactly the type, and for pytest where the
value does not belong to it.
"""

import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def belongs(value, kind) -> bool:
        """Whether a value is of a type as annotations write it."""
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if kind is Any:
            return True
        if origin is types.UnionType:
            return any(belongs(value, one) for one in inner)
        if origin is tuple and inner[-1] is not Ellipsis:
            return len(value) == len(inner) and all(map(belongs, value, inner))
        if origin in (tuple, list):
            return isinstance(value, origin) and all(belongs(v, inner[0]) for v in value)
        if origin is dict:
            return isinstance(value, dict) and all(belongs(v, inner[1]) for v in value.values())
        return isinstance(value, kind)

    def assert_type(value, kind):
        """The check of `typing.assert_type`, on the value itself."""
        assert belongs(value, kind), (type(value), kind)
        return value


x = mx.array([[1.0, 2.0], [3.0, 4.0]])


def test_arrays() -> None:
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.dtype, mx.Dtype)
    assert_type(x[0], mx.array)
    assert_type(x[:, None].sum(axis=(0, 1)) + 2 * x, mx.array)
    assert_type(x.at[0].add(1), mx.array)
    assert_type([row for row in x], list[mx.array])
    assert_type(divmod(x, 2), tuple[mx.array, mx.array])
    assert_type(x.reshape(4).reshape((2, 2)).transpose(1, 0), mx.array)
    y = mx.array(x)
    y += 1
    y[0] = 3
    assert_type(y, mx.array)
    assert_type((x > 1).all(), mx.array)
    if (x > 10).any():
        raise AssertionError
    numbers: list[list[float]] = x.tolist()
    assert numbers[1][1] == float(x[1, 1].item()) == 4
    assert int(mx.array(3).item()) + 1 == 4


def test_sources_of_arrays() -> None:
    for value in (
        mx.array(np.ones((2, 2))),
        mx.array(range(4)),
        mx.array([[1, 2], [3, 4]], dtype=mx.float16),
        mx.array(memoryview(b"abc")),
        mx.array(1j),
        mx.asarray(np.ones(3), copy=True),
        mx.asarray([x, x]),
        np.ones(2) * x,
    ):
        assert_type(mx.array(value), mx.array)
    assert_type(np.asarray(x).shape, tuple[Any, ...])


def test_functions_that_return_several() -> None:
    assert_type(mx.divmod(x, 2), list[mx.array])
    assert_type(mx.split(x, 2), list[mx.array])
    assert_type(mx.quantize(mx.ones((32, 64))), list[mx.array])
    assert_type(mx.broadcast_arrays(x, x), list[mx.array])
    assert_type(mx.broadcast_shapes((2, 1), (3,)), tuple[int, ...])
    assert_type(mx.meshgrid(x[0], x[1]), tuple[mx.array, ...])
    assert_type(mx.unstack(x), tuple[mx.array, ...])
    assert_type(mx.nonzero(x), tuple[mx.array, ...])
    assert_type(mx.minmax(x), tuple[mx.array, mx.array])
    assert_type(mx.histogram(x), tuple[mx.array, mx.array])
    assert_type(mx.atleast_2d(x), mx.array)
    assert_type(mx.atleast_2d(x, x), list[mx.array])
    assert_type(mx.depends(x, [x]), mx.array)
    assert_type(mx.depends([x], x), list[mx.array])
    assert_type(mx.einsum_path("ij,jk", x, x), tuple[list[tuple[int, ...]], str])
    assert_type(mx.unique_counts(x).counts, mx.array)
    assert_type(mx.finfo(mx.float16).max, float)
    assert_type(mx.compile_cache_info(), dict[str, int])


def test_linear_algebra() -> None:
    cpu = mx.cpu
    assert_type(mx.linalg.slogdet(x, stream=cpu).logabsdet, mx.array)
    assert_type(mx.linalg.svd(x, stream=cpu).S, mx.array)
    assert_type(mx.linalg.svd(x, False, stream=cpu), mx.array)
    assert_type(mx.linalg.svd(x, full_matrices=False, stream=cpu).Vh, mx.array)
    q, r = mx.linalg.qr(x, stream=cpu)
    assert_type(q @ r, mx.array)
    assert_type(mx.linalg.eigh(x @ x.T, stream=cpu).eigenvectors, mx.array)
    assert_type(mx.linalg.lu_factor(x, stream=cpu), tuple[mx.array, mx.array])
    assert_type(mx.linalg.lu(x, stream=cpu), tuple[mx.array, mx.array, mx.array])


def loss_of(w: mx.array, scale: float = 1.0) -> mx.array:
    return (w * w).sum() * scale


@mx.compile
def both(a: mx.array, times: int = 2) -> tuple[mx.array, mx.array]:
    return a * times, a + times


@mx.custom_function
def doubled(a: mx.array) -> mx.array:
    return a * 2


@doubled.vjp
def _(primals: Any, cotangents: Any, outputs: Any) -> Any:
    return cotangents * 2


def test_transformations() -> None:
    def square(a: mx.array) -> mx.array:
        return a * a

    assert_type(mx.value_and_grad(loss_of)(x, scale=2.0), tuple[mx.array, Any])
    assert_type(mx.grad(loss_of)(x), Any)
    assert_type(both(x, times=3), tuple[mx.array, mx.array])
    assert_type(mx.vmap(square)(x), mx.array)
    assert_type(mx.checkpoint(square)(x), mx.array)
    assert float(doubled(x).sum().item()) == 20
    for form in ((x,), [x]):
        assert_type(mx.jvp(square, form, form), tuple[list[mx.array], list[mx.array]])
        assert_type(mx.vjp(square, form, form), tuple[list[mx.array], list[mx.array]])


def test_files(tmp_path: Path) -> None:
    mx.save(tmp_path / "a.npy", x)
    mx.savez(tmp_path / "a.npz", x, named=x)
    mx.save_safetensors(tmp_path / "a.safetensors", {"x": x}, {"made": "here"})
    path = tmp_path / "a.safetensors"
    assert_type(mx.load(tmp_path / "a.npy", "npy"), mx.array)
    assert_type(mx.load(tmp_path / "a.npz", format="npz"), dict[str, mx.array])
    assert_type(mx.load(path, format="safetensors"), dict[str, mx.array])
    assert_type(mx.load(path), mx.array | dict[str, mx.array])
    assert_type(mx.load(path, return_metadata=True), tuple[dict[str, mx.array], dict[str, Any]])
    arrays, metadata = mx.load(path, return_metadata=True)
    assert_type(arrays, dict[str, mx.array])
    assert metadata["made"] == "here"
    arrays, _ = mx.load(path, "safetensors", True)
    function = str(tmp_path / "a.mlxfn")
    mx.export_function(function, loss_of, x)
    assert_type(mx.import_function(function)(x), tuple[mx.array, ...])
    imported, text = mx.import_function(function, return_metadata=True)
    assert_type(imported(x), tuple[mx.array, ...])
    assert_type(text, str)


class Network(nn.Module):
    """Layers in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(2, 2) for _ in range(2)]

    def __call__(self, a: mx.array) -> mx.array:
        for layer in self.layers:
            a = mx.maximum(layer(a), 0)
        return a


def test_training() -> None:
    model, optimizer = Network(), optim.Adam(learning_rate=1e-3)

    def error(a: mx.array, scale: float = 1.0) -> tuple[mx.array, dict[str, mx.array]]:
        out = model(a)
        return nn.losses.mse_loss(out, a) * scale, {"out": out}

    (loss, extra), gradients = nn.value_and_grad(model, error)(x, scale=2.0)
    assert_type(loss, mx.array)
    assert_type(extra, dict[str, mx.array])
    assert_type(gradients, dict[str, Any])
    optimizer.update(model, gradients)
    mx.eval(model.parameters(), optimizer.state)
    total: float = float(loss.item()) + float(extra["out"].sum().item())
    assert total == total
    assert_type(nn.utils.checkpoint(model, loss_of)(x, scale=2.0), mx.array)
    assert [name for name, _ in tree_flatten(model.parameters())]
    with mx.stream(mx.cpu), pytest.raises(ValueError, match="axis"):
        x.sum(axis=5)
