"""Iteration ends: each class with indices also says how, or that it has none."""

import importlib
import itertools
import pkgutil

import numpy as np
import pytest

import mlx
import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

MANY = 100


def modules():
    """Modules of the package without other frameworks, and those of the extension module."""
    found = {}
    for info in pkgutil.walk_packages(mlx.__path__, "mlx."):
        if "__main__" in info.name or info.name.startswith(("mlx.lib", "mlx.bench.frameworks")):
            continue
        found[info.name] = importlib.import_module(info.name)
    waiting = [mx]
    while waiting:
        for value in vars(waiting.pop()).values():
            name = getattr(value, "__name__", "")
            if type(value) is type(mx) and name.startswith("mlx.") and name not in found:
                found[name] = value
                waiting.append(value)
    return found.values()


def classes_with_indices():
    found = {c for m in modules() for c in vars(m).values() if isinstance(c, type)}
    found.add(type(mx.ones(3).at))
    ours = {c for c in found if c.__module__.startswith("mlx")}
    return sorted((c for c in ours if hasattr(c, "__getitem__")), key=lambda c: c.__qualname__)


# Instances, with the number of items of each; None: not iterable.
INSTANCES = {
    "at": (lambda: mx.ones(3).at, None),
    "at positions": (lambda: mx.ones(3).at[1], None),
    "array": (lambda: mx.ones(3), 3),
    "empty array": (lambda: mx.ones((0, 2)), 0),
    "iterator of an array": (lambda: iter(mx.ones(3)), 3),
    "random state": (lambda: mx.random.state, 1),
    "named results": (lambda: mx.linalg.slogdet(mx.eye(2)), 2),
    "layer": (lambda: nn.Linear(2, 2), 2),
    "state of an optimizer": (lambda: optim.SGD(0.1).state, None),
    "dtype": (lambda: mx.float32, None),
    "finfo": (lambda: mx.finfo(mx.float32), None),
    "device": (lambda: mx.Device(mx.cpu), None),
    "stream": (lambda: mx.default_stream(mx.cpu), None),
    "kinds of dtypes": (lambda: mx.DtypeCategory, len(mx.DtypeCategory)),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_iteration_ends(name):
    make, length = INSTANCES[name]
    value = make()
    if name == "state of an optimizer":
        length = len(value)
    if length is None:
        with pytest.raises(TypeError, match="not iterable"):
            iter(value)
        with pytest.raises(TypeError, match=r"not iterable|not a container"):
            0 in value  # noqa: B015
        with pytest.raises(TypeError):
            np.fromiter(value, float)
    else:
        assert len(list(itertools.islice(iter(value), MANY))) == length


@pytest.mark.parametrize("kind", classes_with_indices(), ids=lambda c: c.__qualname__)
def test_classes_with_indices_say_how_iteration_ends(kind):
    """By `__iter__`, which may be None, or by a length, at which their indices end."""
    assert hasattr(kind, "__iter__") or hasattr(kind, "__len__")
