"""Copies and pickles of what programs keep: arrays, functions, modules, optimizers."""

import copy
import functools
import pathlib
import pickle
import sys
import types

import numpy as np
import pytest
import workers

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten

sys.path.insert(0, str(pathlib.Path(__file__).parent / "nn"))
import nn_cases

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
DTYPES = [
    mx.bool_,
    *(getattr(mx, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
    mx.float16,
    mx.bfloat16,
    mx.float32,
    mx.float64,
    mx.complex64,
    mx.complex128,
]


def address(a):
    return np.asarray(a.view(mx.uint8)).__array_interface__["data"][0]


def out_of_band(value, convert=lambda buffer: buffer):
    """A value after a way through pickles whose buffers are sent beside them."""
    buffers = []
    data = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[convert(b) for b in buffers]), len(data), len(buffers)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


LAYOUTS = {
    "dense": lambda a: a,
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, 1:],
    "reversed": lambda a: a[::-1],
    "broadcast": lambda a: mx.broadcast_to(a[0], (5, 4)),
    "scalar": lambda a: a[1, 1],
    "empty": lambda a: a[:0],
    "lazy": lambda a: a * 1,
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays(layout, dtype):
    a = LAYOUTS[layout](mx.arange(12).reshape(3, 4).astype(dtype))
    for protocol in PROTOCOLS:
        assert same(pickle.loads(pickle.dumps(a, protocol)), a)
    for convert in (lambda b: b, bytes, bytearray, lambda b: memoryview(bytes(b))):
        got, _, buffers = out_of_band(a, convert)
        assert same(got, a) and buffers == 1
    assert same(copy.copy(a), a) and same(copy.deepcopy(a), a)


def test_elements_are_sent_out_of_band_without_a_copy():
    a = mx.arange(100000.0)
    got, size, buffers = out_of_band(a)
    assert (size < 500, buffers) == (True, 1)
    assert address(got) == address(a)
    memory = bytearray(np.arange(1000, dtype=np.float32).tobytes())
    state = (pickle.PickleBuffer(memory), 10, (10, 100))
    b = mx.array(0)
    b.__setstate__(state)
    assert b.shape == (10, 100) and b[3, 5].item() == 305
    np.frombuffer(memory, np.float32)[305] = -1
    assert b[3, 5].item() == -1
    with pytest.raises(BufferError):
        memory.clear()  # the array holds it
    del b, state
    memory.clear()


def test_shared_elements_live_as_long_as_an_array_needs_them():
    a = mx.random.uniform(shape=(1000, 100))
    want = a.sum(axis=1).tolist()
    got, _, _ = out_of_band(a)
    del a
    later = got * 1
    del got
    mx.eval([mx.zeros((1000, 100)) + i for i in range(4)])
    assert later.sum(axis=1).tolist() == want


def test_read_only_elements_are_copied():
    memory = np.arange(6, dtype=np.float32).tobytes()
    a = mx.array(0)
    a.__setstate__((memory, 10, (2, 3)))
    np.asarray(a)[0, 0] = 5  # must not write to the bytes
    assert np.frombuffer(memory, np.float32)[0] == 0 and a[0, 0].item() == 5


def test_changes_do_not_reach_copies():
    a = mx.zeros(3) + 1
    b, (c, _, _), d = copy.deepcopy(a), out_of_band(a), copy.copy(a)
    b[0], c[1], d[2] = 5, 6, 7
    assert [x.tolist() for x in (a, b, c, d)] == [[1, 1, 1], [5, 1, 1], [1, 6, 1], [1, 1, 7]]
    pair = pickle.loads(pickle.dumps([a, a]))
    assert pair[0] is pair[1]


STATES = {
    "another object": [(b"",), [b"", 10, (0,)], (b"", 10, "ab"), (b"", "10", (0,))],
    "unknown dtype": [(b"", 15, (0,)), (b"", -1, (0,))],
    "does not fit": [(b"abc", 10, (1,)), (b"abcd", 10, (2,)), (bytearray(8), 10, (1,))],
    "negative": [(bytearray(4), 10, (-1,))],
}


@pytest.mark.parametrize("reason", STATES)
def test_other_states_are_refused(reason):
    for state in STATES[reason]:
        with pytest.raises((ValueError, TypeError), match="__setstate__"):
            mx.array(0).__setstate__(state)


def test_bytes_of_bool_become_zero_and_one():
    for memory in (b"\x00\x02\xff\x01", bytearray(b"\x00\x02\xff\x01")):
        a = mx.array(0)
        a.__setstate__((memory, 0, (4,)))
        assert bytes(a) == b"\x00\x01\x01\x01"


def test_misaligned_elements():
    memory = memoryview(bytearray(b"x" + np.arange(5, dtype=np.float64).tobytes()))[1:]
    a = mx.array(0)
    a.__setstate__((memory, 11, (5,)))
    assert a.tolist() == [0, 1, 2, 3, 4] and (a + a).tolist() == [0, 2, 4, 6, 8]


BY_NAME = ["doubled", "halved", "slope", "rows", "recomputed", "with_rule", "counted"]


@pytest.mark.parametrize("name", [*BY_NAME, "Holder.tripled"])
def test_decorated_functions_pickle_by_name(name):
    f = functools.reduce(getattr, name.split("."), workers)
    for protocol in PROTOCOLS:
        assert pickle.loads(pickle.dumps(f, protocol)) is f
    assert copy.copy(f) is f and copy.deepcopy(f) is f


def test_interrupts_while_a_name_is_looked_up_are_raised(monkeypatch):
    def interrupt(name):
        raise KeyboardInterrupt

    def inside(x):
        return x

    inside.__qualname__ = "not_there"
    inside.__module__ = "module_that_interrupts"
    module = types.ModuleType(inside.__module__)
    module.__getattr__ = interrupt
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(KeyboardInterrupt):
        pickle.dumps(mx.compile(inside))


def test_functions_with_state_keep_it_in_copies():
    state = [mx.array(0.0)]

    def count(x):
        state[0] = state[0] + 1
        return x + state[0]

    f = mx.compile(count, inputs=state, outputs=state)
    g, h = copy.copy(f), copy.deepcopy(f)
    assert [f(mx.array(10)).item(), g(mx.array(10)).item(), h(mx.array(10)).item()] == [11, 12, 13]
    assert state[0].item() == 3


def test_deep_copies_of_bound_methods_belong_to_the_copy():
    class Trainer:
        def __init__(self):
            self.scale = mx.array(2.0)
            self.step = mx.compile(self.compute)

        def compute(self, x):
            return x * self.scale

    a = Trainer()
    b = copy.deepcopy(a)
    b.scale = mx.array(5.0)
    assert a.step(mx.array(1.0)).item() == 2 and b.step(mx.array(1.0)).item() == 5


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_custom_functions(way):
    f = mx.custom_function(workers.square)
    f.vjp(workers.with_rule_rule)
    again = way(f)
    assert again(mx.array(3.0)).item() == 9
    assert mx.grad(again)(mx.array(3.0)).item() == 30
    plain = way(mx.custom_function(workers.square))
    assert mx.grad(plain)(mx.array(3.0)).item() == 6


def test_gradients_of_modules():
    model = nn.Linear(3, 2)
    x = mx.ones((2, 3))
    model, step = pickle.loads(
        pickle.dumps((model, nn.value_and_grad(model, functools.partial(workers.error, model))))
    )
    loss, gradients = step(x)
    assert loss.item() == workers.error(model, x).item() and gradients["weight"].shape == (2, 3)
    again = pickle.loads(pickle.dumps(nn.utils.checkpoint(model)))
    assert mx.allclose(again(x), model(x)).item()
    named = nn.value_and_grad(model, workers.total)
    assert named.__name__ == "total" and named.__wrapped__ is workers.total


INITIALIZERS = {
    "constant": (0.5,),
    "normal": (1.0, 2.0),
    "uniform": (-1.0, 1.0),
    "identity": (),
    "glorot_normal": (),
    "glorot_uniform": (),
    "he_normal": (),
    "he_uniform": (),
    "sparse": (0.5,),
    "orthogonal": (),
}


@pytest.mark.parametrize("name", INITIALIZERS)
def test_initializers(name):
    f = getattr(nn.init, name)(*INITIALIZERS[name], dtype=mx.float32)
    a = mx.zeros((6, 6))
    values = []
    for g in (f, copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        mx.random.seed(4)
        values.append(g(a).tolist())
    assert values == [values[0]] * 4


def test_every_initializer_is_tested():
    public = {n for n, f in vars(nn.init).items() if n[0] != "_" and hasattr(f, "__wrapped__")}
    assert public == set(INITIALIZERS)


def parameters_of(model):
    return [(name, a.tolist()) for name, a in tree_flatten(model.parameters())]


def test_modules():
    model = workers.Network()
    model.linear.freeze(keys=["bias"])
    model(mx.random.normal((4, 3)))
    model.eval()
    x = mx.random.normal((4, 3))
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), out_of_band(model)[0]):
        assert parameters_of(again) == parameters_of(model)
        assert again(x).tolist() == model(x).tolist()
        assert again.training is False
        names = [n for n, _ in tree_flatten(again.trainable_parameters())]
        assert "linear.bias" not in names and "linear.weight" in names
        again.linear.weight[0, 0] = 99.0
        assert model.linear.weight[0, 0].item() != 99
        assert again._device == model._device
        assert again._limits.max == model._limits.max
    assert out_of_band(model)[2] == len(parameters_of(model))


OPTIMIZERS = {
    "SGD": lambda: optim.SGD(0.1, momentum=0.9),
    "Adam": lambda: optim.Adam(1e-2),
    "AdamW": lambda: optim.AdamW(optim.cosine_decay(1e-1, 10)),
    "Adafactor": lambda: optim.Adafactor(),
    "Lion": lambda: optim.Lion(optim.linear_schedule(0.1, 0.01, 5)),
    "Muon": lambda: optim.Muon(1e-2),
    "Adagrad": lambda: optim.Adagrad(1e-2),
    "AdaDelta": lambda: optim.AdaDelta(1.0),
    "RMSprop": lambda: optim.RMSprop(1e-2),
    "Adamax": lambda: optim.Adamax(1e-2),
    "MultiOptimizer": lambda: optim.MultiOptimizer(
        [optim.SGD(optim.step_decay(0.1, 0.5, 2)), optim.Adam(1e-2)], [workers.is_matrix]
    ),
    "ParameterGroups": lambda: optim.ParameterGroups(
        optim.Adam, [("bias", {"eps": 1e-3}), (workers.is_matrix, {})], learning_rate=1e-2
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_go_on(name):
    optimizer, model = OPTIMIZERS[name](), nn.Linear(3, 2)
    gradients = {"weight": mx.ones((2, 3)), "bias": mx.arange(2.0)}
    for _ in range(3):
        optimizer.update(model, gradients)
    for again in (
        copy.deepcopy(optimizer),
        pickle.loads(pickle.dumps(optimizer)),
        out_of_band(optimizer)[0],
    ):
        one, two = copy.deepcopy(model), copy.deepcopy(model)
        copy.deepcopy(optimizer).update(one, gradients)
        again.update(two, gradients)
        assert parameters_of(one) == parameters_of(two)


VALUES = {
    "dtype": mx.bfloat16,
    "device": mx.Device(mx.cpu, 0),
    "kind": mx.cpu,
    "finfo": mx.finfo(mx.float16),
    "iinfo": mx.iinfo(mx.int8),
    "result": mx.unique_counts(mx.array([1, 1])),
    "function": mx.linalg.norm,
    "method": mx.array.sum,
    "bound method": mx.ones(3).sum,
    "loss": nn.losses.cross_entropy,
    "activation": nn.gelu_approx,
}


@pytest.mark.parametrize("name", VALUES)
def test_small_values(name):
    value = VALUES[name]
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert repr(again).split(" at 0x")[0] == repr(value).split(" at 0x")[0]


def test_streams_are_copied_as_themselves():
    model = workers.Network()
    model._stream = mx.default_stream(mx.cpu)
    assert copy.deepcopy(model)._stream is model._stream
    for stream in (mx.default_stream(mx.cpu), mx.new_thread_local_stream(mx.cpu)):
        assert copy.copy(stream) is stream and copy.deepcopy([stream])[0] is stream


@pytest.mark.parametrize("transform", [mx.grad, mx.vmap, mx.compile], ids=lambda t: t.__name__)
def test_in_transformations(transform):
    def f(x):
        return (copy.copy(x) * copy.deepcopy(x)).sum()

    x = mx.array([[1.0, 2.0]])
    want = {"grad": [[2, 4]], "vmap": [5], "compile": 5}[transform.__name__]
    assert transform(f)(x).tolist() == want
    refused = pytest.raises(ValueError, match="Not allowed inside a graph transformation")
    lost = pytest.warns(UserWarning, match="has no derivative")
    with lost if transform is mx.grad else refused:
        transform(lambda x: (pickle.dumps(x), x.sum())[1])(x)


def layers():
    """A layer of each case with its inputs."""
    for line in nn_cases.LAYERS:
        source, *shapes = (part.strip() for part in line.split("|"))
        inputs = []
        for shape in shapes:
            axes = tuple(map(int, shape.strip("i").split(",")))
            x = nn_cases.data("a", axes)
            inputs.append(mx.array(np.abs(x).astype(np.int32) % 5 if shape[0] == "i" else x))
        yield source, eval(source, {"nn": nn, "mx": mx}), inputs


def test_every_layer():
    count = 0
    for source, layer, inputs in layers():
        layer.eval()
        want = [a.tolist() for _, a in tree_flatten([layer(*inputs)])]
        for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer, 5))):
            assert type(again) is type(layer)
            assert [a.tolist() for _, a in tree_flatten([again(*inputs)])] == want, source
            count += 1
    assert count > 200
