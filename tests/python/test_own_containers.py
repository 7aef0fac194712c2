"""Differentiated functions get the caller's own containers; their changes persist."""

from collections import namedtuple

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten

Pair = namedtuple("Pair", "a b")
BOTH = pytest.mark.parametrize(
    "gradient", [mx.grad, lambda f, **k: lambda *a, **kw: mx.value_and_grad(f, **k)(*a, **kw)[1]]
)


def tree():
    """Containers of each kind in each other, and the arrays in them."""
    a, b, c, d = (mx.array(float(v)) for v in (2, 3, 5, 7))
    return [a, {"b": b}, (c, {"d": [d]}), Pair(a, b)], [a, b, c, d]


@BOTH
def test_containers_are_the_callers_own(gradient):
    """Inside, lists and dicts are the caller's; afterwards they hold the caller's arrays."""
    t, arrays = tree()
    inner = (t[1], t[2], t[2][1], t[2][1]["d"], t[3])

    def f(x):
        assert x is t and x[1] is inner[0] and x[2][1] is inner[2] and x[2][1]["d"] is inner[3]
        assert x[0] is not arrays[0]
        return x[0] * x[1]["b"] * x[2][0] * x[2][1]["d"][0] + x[3].a

    g = gradient(f)(t)
    assert [float(v) for _, v in tree_flatten(g)] == [105, 70, 42, 30, 1, 0]
    assert (t[1], t[2], t[2][1], t[2][1]["d"], t[3]) == inner
    assert all(now is was for now, was in zip((t[0], t[1]["b"], t[2][0]), arrays, strict=False))
    assert t[2] is inner[1] and t[2][1]["d"][0] is arrays[3] and t[3] is inner[4]


WRITES = {
    "append": (lambda t: t.append(t[0] * 3), [2, 3, 6]),
    "insert": (lambda t: t.insert(0, mx.array(9.0)), [9, 2, 3]),
    "pop": (lambda t: t.pop(), [2]),
    "clear": (lambda t: t.clear(), []),
    "replace": (lambda t: t.__setitem__(1, t[0] * 10), [2, 20]),
    "replace by a constant": (lambda t: t.__setitem__(0, mx.array(5.0)), [5, 3]),
    "swap": (lambda t: t.reverse(), [3, 2]),
    "in place": (lambda t: t.__setitem__(0, t[0].__iadd__(1)), [3, 3]),
    "other things": (lambda t: t.append("text"), [2, 3, "text"]),
}


@BOTH
@pytest.mark.parametrize("how", ["returns", "raises"])
@pytest.mark.parametrize("write", WRITES)
def test_writes_are_kept(gradient, write, how):
    """Whatever a function does to its list stays, also when it raises; the rest is put back."""
    change, expected = WRITES[write]
    first, second = mx.array(2.0), mx.array(3.0)
    t = [first, second]

    def f(x):
        y = x[0] * x[0] * x[1]
        change(x)
        if how == "raises":
            raise KeyError("no")
        return y

    if how == "raises":
        with pytest.raises(KeyError):
            gradient(f)(t)
    else:
        assert [float(g) for g in gradient(f)(t)] == [12, 4]
    assert [v if isinstance(v, str) else v.item() for v in t] == expected
    for array, value in ((first, 2), (second, 3)):
        assert array.item() == value
        if value in expected and not (write == "in place" and value == 3):
            assert any(x is array for x in t)


def test_keys_of_dicts():
    """Keys that a function adds or moves do not disturb the gradient."""
    b = mx.array(5.0)
    t = {"a": mx.array(2.0), "b": b}

    def f(x):
        x["c"] = x.pop("b")
        x["new"] = {"deep": [x["a"] * 2]}
        return x["a"] * x["c"]

    g = mx.grad(f)(t)
    assert {k: v.item() for k, v in g.items()} == {"a": 5, "b": 2}
    assert list(t) == ["a", "c", "new"] and t["c"] is b
    assert t["new"]["deep"][0].item() == 4


def test_containers_that_nothing_is_derived_by():
    """Containers in inputs are the caller's own too; their arrays cannot be changed in place."""
    held = mx.array(2.0)
    other = {"x": [held], "f": len}
    other["self"] = other

    def f(x, o, *, named):
        assert o is other and named is other
        o["x"][0] += 1
        o["x"].append(x[0] * 2)
        return x[0] * o["x"][0]

    assert mx.grad(f)([mx.array(4.0)], other, named=other)[0].item() == 3
    assert held.item() == 2
    assert [x.item() for x in other["x"]] == [3, 8]


def test_a_container_in_two_places():
    """A container at two places is one: the last place has the whole derivative."""
    d = [mx.array(2.0)]
    first, second = mx.grad(lambda p, q: p[0] * p[0] * q[0], argnums=(0, 1))(d, d)
    assert (first[0].item(), second[0].item()) == (0, 12)
    assert d[0].item() == 2


def test_arguments_by_name_and_nested_gradients():
    """Selection by name, and a gradient within a gradient by the same container."""
    t = {"x": mx.array(2.0)}
    x = t["x"]
    _, g = mx.grad(lambda *, t: t["x"] ** 3, argnames="t")(t=t)
    assert g["t"]["x"].item() == 12 and t["x"] is x

    def outer(u):
        inner = mx.grad(lambda v: (v.__setitem__("y", v["x"] * 1.0), v["x"] ** 3)[1])(u)
        return inner["x"]

    assert mx.grad(outer)(t)["x"].item() == 12
    assert t["x"] is x and t["y"].item() == 2


def test_returned_containers_are_copies_with_values():
    """A function may return the container it was given."""
    t = {"a": mx.array(2.0)}
    (value, returned), g = mx.value_and_grad(lambda u: (u["a"] ** 2, u))(t)
    assert value.item() == 4 and returned is not t and returned["a"].item() == 2
    assert g["a"].item() == 4


class Counting(nn.Module):
    """A layer that counts its calls in an array."""

    def __init__(self):
        super().__init__()
        self.w = mx.array([1.0, 2.0])
        self.calls = mx.array(0.0)

    def __call__(self, x):
        """Scale."""
        self.calls = self.calls + 1
        return self.w * x


@BOTH
def test_modules(gradient):
    """A module under grad is the module, and its state is what the call made of it."""
    model, w = Counting(), None
    w = model.w

    def f(m, x):
        assert m is model
        m.note = "seen"
        m.extra = m.w * 2
        return m(x).sum()

    g = gradient(f)(model, mx.array([3.0, 4.0]))
    assert g["w"].tolist() == [3, 4] and "extra" not in g
    assert model.w is w and model.calls.item() == 1 and model.note == "seen"
    assert model.extra.tolist() == [2, 4]


def test_running_statistics_under_grad():
    """The statistics of BatchNorm come out as they do without grad."""
    x = mx.array(np.random.RandomState(0).randn(5, 3).astype(np.float32))
    plain, under, by_nn = (nn.BatchNorm(3) for _ in range(3))
    plain(x)
    mx.grad(lambda m: m(x).square().sum())(under)
    nn.value_and_grad(by_nn, lambda x: by_nn(x).square().sum())(x)
    for model in (under, by_nn):
        assert mx.array_equal(model.running_mean, plain.running_mean)
        assert mx.array_equal(model.running_var, plain.running_var)


@pytest.mark.parametrize("wrap", ["value_and_grad", "checkpoint"])
def test_models_have_their_own_arrays_again(wrap):
    """nn.value_and_grad and checkpoint put a model's arrays back, also after an error."""
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm(2))
    model.layers[0].freeze(keys="bias")
    before = dict(tree_flatten(model.trainable_parameters()))
    x = mx.array([[1.0, 2.0], [4.0, 3.0]])

    def fails(x):
        model(x)
        raise KeyError("no")

    if wrap == "value_and_grad":
        nn.value_and_grad(model, lambda x: model(x).sum())(x)
        broken = nn.value_and_grad(model, fails)
    else:
        mx.grad(lambda x: nn.utils.checkpoint(model)(x).square().sum())(x)
        broken = nn.utils.checkpoint(model, fails)
    with pytest.raises(KeyError):
        broken(x)
    after = dict(tree_flatten(model.trainable_parameters()))
    assert after.keys() == before.keys()
    assert all(after[k] is before[k] for k in before)
    assert not np.array_equal(model.layers[1].running_mean, [0, 0])


def test_writes_of_a_loss_into_its_model_are_kept():
    """nn.value_and_grad puts back only what the function did not replace."""
    model = nn.Linear(2, 2, bias=False)
    model.weight = mx.ones((2, 2))

    def f(x):
        model.weight = model.weight * 3
        return model(x).sum()

    _, g = nn.value_and_grad(model, f)(mx.array([1.0, 2.0]))
    assert g["weight"].tolist() == [[3, 6], [3, 6]]
    assert model.weight.tolist() == [[3, 3], [3, 3]]


def test_custom_functions_without_rules_get_the_callers_containers():
    """The function is called directly."""
    t = [mx.array(2.0)]

    @mx.custom_function
    def f(x):
        assert x is t
        x.append(x[0] * 2)
        return x[0] ** 2

    assert f(t).item() == 4 and t[1].item() == 4
    del t[1]
    assert mx.grad(f)(t)[0].item() == 4 and t[1].item() == 4
