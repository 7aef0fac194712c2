"""Compiled functions that replace arrays which no output names: one warning, which names them."""

import functools
import warnings

import pytest

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim


def warned(call, times=3):
    """The texts of the warnings of several calls."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(times):
            call()
    return [str(w.message) for w in seen]


def test_random_numbers():
    """Drawn without the generator's state among the outputs: named once, and indeed constant."""
    f = mx.compile(lambda x: x + mx.random.uniform(shape=(3,)))
    (text,) = warned(lambda: f(mx.zeros(3)))
    assert "replaces mx.random.state, which `outputs` does not contain" in text
    assert mx.array_equal(f(mx.zeros(3)), f(mx.zeros(3)))
    mx.eval(mx.random.uniform())


def test_captured_random_numbers_are_no_reason():
    """With the state, numbers differ and nothing is said."""
    state = [mx.random.state]
    f = mx.compile(lambda x: x + mx.random.uniform(shape=(3,)), inputs=state, outputs=state)
    assert warned(lambda: f(mx.zeros(3))) == []
    assert not mx.array_equal(f(mx.zeros(3)), f(mx.zeros(3)))


def training(model, optimizer):
    """A step of training."""
    loss_and_grad = nn.value_and_grad(model, lambda x: model(x).sum())

    def step(x):
        loss, gradients = loss_and_grad(x)
        optimizer.update(model, gradients)
        return loss

    return step


@pytest.mark.parametrize("named", ["nothing", "inputs", "both"])
def test_training(named):
    """A step whose model and optimizer are reached through its closure."""
    model, optimizer = nn.Linear(2, 1), optim.SGD(0.1, momentum=0.9)
    optimizer.init(model.trainable_parameters())
    mx.eval(model.state, optimizer.state)
    state = [model.state, optimizer.state]
    options = {} if named == "nothing" else {"inputs": state}
    if named == "both":
        options["outputs"] = state
    step = mx.compile(training(model, optimizer), **options)
    before = model.weight
    texts = warned(lambda: step(mx.ones((4, 2))))
    if named == "both":
        assert texts == [] and not mx.array_equal(before, model.weight)
    else:
        assert len(texts) == 1 and "model.weight" in texts[0]


def test_arrays_that_are_only_read():
    """Constants of the trace are no reason."""
    model, scale = nn.Linear(2, 1), [mx.array(2.0)]
    f = mx.compile(lambda x: model(x) * scale[0])
    assert warned(lambda: f(mx.ones((1, 2)))) == []


COUNTER = {"count": mx.array(0)}


def count(x):
    """Changes a global container."""
    COUNTER["count"] = COUNTER["count"] + 1
    return x + COUNTER["count"]


class Counter:
    """Changes itself."""

    def __init__(self):
        self.total = mx.array(0.0)

    def add(self, x):
        """Add to the total."""
        self.total = self.total + x
        return self.total


@pytest.mark.parametrize("way", ["global", "bound method", "partial", "inner function"])
def test_where_arrays_are_found(way):
    """Global variables, the object of a method, arguments of a partial, functions called."""
    counter = Counter()

    def add(counter, x):
        return counter.add(x)

    function, name = {
        "global": (count, "COUNTER['count']"),
        "bound method": (counter.add, ".total"),
        "partial": (functools.partial(add, counter), ".total"),
        "inner function": (lambda x: add(counter, x), "counter.total"),
    }[way]
    (text,) = warned(lambda: mx.compile(function)(mx.array(1.0)), times=1)
    assert name in text
    COUNTER["count"] = mx.array(0)


def test_many_arrays_are_counted():
    """Three are named."""
    held = [mx.array(float(i)) for i in range(5)]

    def f(x):
        for i in range(5):
            held[i] = held[i] + x
        return x

    (text,) = warned(lambda: mx.compile(f)(mx.array(1.0)), times=1)
    assert "held[0], held[1], held[2] and 2 more" in text


def test_places_that_move_between_the_searches():
    """Of many arrays, those that changed are named, also where others were added and removed."""
    arrays = [mx.array(float(i)) for i in range(300)]
    named = {f"k{i}": mx.array(float(i)) for i in range(300)}
    mx.eval(arrays, named)

    def f(x):
        arrays[250] = arrays[250] + x
        named["new"] = named.pop("k3") + x
        named["k200"] = named["k200"] * x
        return x * 2

    compiled = mx.compile(f)
    (text,) = warned(lambda: compiled(mx.array(1.0)))
    replaced = text.split("replaces ")[1].split(", which")[0]
    assert sorted(replaced.split(" and ")[0].split(", ")) == ["arrays[250]", "named['k200']"]


def test_as_an_error():
    """A program that turns warnings into errors gets this one from the call."""
    f = mx.compile(lambda x: x + mx.random.uniform())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match=r"mx\.random\.state"):
            f(mx.array(1.0))


def test_objects_whose_attributes_raise():
    """The search runs none of the program's code."""

    class Angry:
        def __getattr__(self, name):
            raise RuntimeError(name)

        def __call__(self, x):
            return x

    angry = Angry()
    f = mx.compile(lambda x: angry(x) + 1)
    assert warned(lambda: f(mx.array(1.0))) == [] and f(mx.array(1.0)).item() == 2


class Odd:
    """A callable object whose attributes would run code."""

    @property
    def args(self):
        """The plain data of a partial application."""
        raise AssertionError("a property was read")

    func = args

    def __getattr__(self, name):
        raise AssertionError(f"{name} was asked for")

    def __call__(self, x):
        return x + 1


class Key:
    """A key of a dict that cannot be printed."""

    def __repr__(self):
        raise RuntimeError("no text")


def test_the_search_runs_no_code_of_the_program():
    """Properties are not read; objects that cannot be printed are named by dots."""
    odd, arrays = Odd(), {Key(): mx.ones(2)}

    def f(x):
        for key in arrays:
            arrays[key] = arrays[key] + x
        return odd(x)

    (text,) = warned(lambda: mx.compile(f)(mx.ones(2)), times=1)
    assert "replaces arrays[...]" in text
