"""Dicts whose iteration has another order than the dict within: arguments, results, captures."""

import itertools
from collections import OrderedDict

import pytest

import mlx.core as mx

pytestmark = pytest.mark.anywhere

X, Y, Z = mx.array(1.0), mx.array(2.0), mx.array(3.0)


def moved(**items):
    """The first item is the last one of the iteration, and the first of the dict within."""
    out = OrderedDict(items)
    out.move_to_end(next(iter(items)))
    return out


class Backwards(dict):
    def __iter__(self):
        return reversed(list(super().__iter__()))


class Odd(dict):
    """Iterates over something else than its keys."""

    def __init__(self, keys, **items):
        super().__init__(**items)
        self.own = keys

    def __iter__(self):
        return iter(self.own())


MAKERS = pytest.mark.parametrize("make", [moved, Backwards], ids=["OrderedDict", "subclass"])


def numbers(tree):
    return [v.item() for v in tree]


@MAKERS
def test_a_compiled_function_sees_the_order_of_each_call(make):
    f = mx.compile(lambda d: [d[k] + 0 for k in d])
    plain = type(make(a=X))(a=X, b=Y)
    for given in (plain, make(a=X, b=Y), make(a=Y, b=X, c=Z), plain, make(a=X, b=Y)):
        assert numbers(f(given)) == [given[k].item() for k in given]


def test_captured_state_has_its_order():
    state = OrderedDict(a=X, b=Y)
    f = mx.compile(lambda x: [state[k] + x for k in state], inputs=state)
    assert numbers(f(X)) == [2, 3]
    state.move_to_end("a")
    assert numbers(f(X)) == [3, 2]
    state["a"], state["b"] = Z, X
    assert numbers(f(X)) == [2, 4]


@MAKERS
def test_transformations_keep_the_order(make):
    """The items of results belong to the keys of the arguments."""
    d = make(a=X, b=Y, c=Z)
    seen = []

    def f(t):
        seen.append(list(t))
        return t["a"] * 2 + t["b"] * 3 + t["c"] * t["c"]

    for g in (mx.grad(f)(d), mx.compile(mx.grad(f))(d), mx.value_and_grad(mx.checkpoint(f))(d)[1]):
        assert type(g) is type(d) and {k: dict.__getitem__(g, k).item() for k in "abc"} == {
            "a": 2,
            "b": 3,
            "c": 6,
        }
        assert list(g) == list(d)
    assert all(order == list(d) for order in seen)
    for wrap in (lambda f: f, mx.compile, mx.checkpoint):
        again = wrap(lambda t: t)(d)
        assert list(again) == list(d)
        assert [again[k].item() for k in again] == [d[k].item() for k in d]


@MAKERS
def test_axes_belong_to_their_keys(make):
    d = make(a=mx.arange(6.0).reshape(2, 3), b=mx.arange(6.0).reshape(3, 2))
    axes = {"b": 1, "a": 0}
    out = mx.vmap(lambda t: t["a"] - t["b"], in_axes=(axes,))(d)
    assert mx.array_equal(out, d["a"] - d["b"].T)
    out = mx.vmap(lambda t: make(a=t["a"], b=t["b"]), in_axes=(axes,), out_axes=axes)(d)
    assert mx.array_equal(out["a"], d["a"]) and mx.array_equal(out["b"], d["b"])


@MAKERS
def test_loops_carry_items_by_their_keys(make):
    init = make(a=X, b=Y)
    step = lambda c, x: ({"b": c["b"] + x, "a": c["a"]}, make(u=c["a"], v=x))  # noqa: E731
    last, out = mx.scan(step, init, mx.arange(3.0))
    assert last["a"].item() == 1 and last["b"].item() == 5
    assert out["u"].tolist() == [1, 1, 1] and out["v"].tolist() == [0, 1, 2]
    out = mx.cond(X > 0, lambda t: {"a": t["b"], "b": t["a"]}, lambda t: dict(t), init)
    assert (out["a"].item(), out["b"].item()) == (2, 1)


@MAKERS
def test_files_and_derivatives_by_tree(make, tmp_path):
    d = make(a=X, b=Y)
    mx.save_safetensors(tmp_path / "a.safetensors", d)
    assert {k: v.item() for k, v in mx.load(tmp_path / "a.safetensors").items()} == {"a": 1, "b": 2}


@pytest.mark.parametrize("outputs", [False, True])
def test_captured_ordered_dicts_stay_whole(outputs):
    """Keys that a function adds, and those that are put back after its trace."""
    state = OrderedDict(a=X, b=Y)

    def f(x):
        state["new"] = x + 1
        state["a"] = state["a"] + x
        return x

    g = mx.compile(f, inputs=state, outputs=state if outputs else None)
    for _ in range(3):
        g(X)
        assert len(list(state)) == len(state) == (3 if outputs else 2)
    assert state["a"].item() == (4 if outputs else 1)
    state["gone"] = Z
    state.move_to_end("a")
    assert list(state) == [*(["b", "new"] if outputs else ["b"]), "gone", "a"]
    assert [k for k, _ in state.items()] == list(state)
    if outputs:
        del state["new"]
        g(X)
        assert sorted(state) == ["a", "b", "gone", "new"] == sorted(k for k, _ in state.items())


def test_iteration_that_gives_other_things_than_the_keys():
    """The order is then that of the dict within."""
    for keys in (
        lambda: [],
        lambda: ["b", "b"],
        lambda: ["b", "x"],
        lambda: ["b", "a", "b"],
        lambda: itertools.repeat("b"),
        itertools.count,
    ):
        d = Odd(keys, a=X, b=Y)
        out = mx.compile(lambda t: [t["a"] + 1, t["b"] * 1])(d)
        assert numbers(out) == [2, 2]
        g = mx.grad(lambda t: t["a"] * 2 + t["b"] * 3)(d)
        assert (g["a"].item(), g["b"].item()) == (2, 3)

    def fail():
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        mx.compile(lambda t: t["a"])(Odd(fail, a=X))
