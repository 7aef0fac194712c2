"""Objects whose code runs while they are read: changed lists, claimed lengths, failing names."""

import contextlib
import functools
import gc
import itertools
import pickle

import numpy as np
import pytest

import mlx.core as mx

pytestmark = pytest.mark.anywhere


@pytest.fixture(scope="module", autouse=True)
def little_garbage():
    """The objects of other tests do not slow the collections of this file's."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


X = mx.arange(6.0).reshape(2, 3)


class Changes:
    """Stands for a number and for an array, and changes a list when it is read."""

    ndim = 0

    def __init__(self, change, list_):
        self.change, self.list = change, list_

    def __index__(self):
        self.act()
        return 1

    def __float__(self):
        self.act()
        return 1.0

    def item(self):
        self.act()
        return 1.0

    def __dlpack__(self, **options):
        raise TypeError

    def act(self):
        self.change(self.list)
        gc.collect()
        for i in range(300):  # in the place of freed objects
            [float(i), str(i), (i,)]


class Array(Changes):
    """The same, of an array."""

    __dlpack__ = None

    def __mlx_array__(self):
        self.act()
        return mx.array([1.0])


CHANGES = {
    "clear": lambda a: a.clear(),
    "shrink": lambda a: a.pop(),
    "grow": lambda a: a.append(a[0]),
    "insert": lambda a: a.insert(0, a[-1]),
    "fill": lambda a: a.__setitem__(slice(None), [float(i) for i in range(1000, 1000 + len(a))]),
    "empty the first": lambda a: a[0].clear() if isinstance(a[0], list) else a.clear(),
}
# Readers of a list: of numbers, of arrays, and of lists of them.
READERS = {
    "array": mx.array,
    "array of a dtype": lambda a: mx.array(a, mx.float64),
    "nested": lambda a: mx.array([a, a]),
    "zeros": mx.zeros,
    "reshape": lambda a: mx.reshape(X, a),
    "sum": lambda a: mx.sum(X, axis=a),
    "transpose": lambda a: mx.transpose(X, a),
    "split": lambda a: mx.split(X, a, axis=1),
    "pad": lambda a: mx.pad(X, [a, a]),
    "tensordot": lambda a: mx.tensordot(X, X, [a, a]),
    "grad": lambda a: mx.grad(lambda *v: v[0].sum(), argnums=a)(X, X),
    "concatenate": mx.concatenate,
    "stack": mx.stack,
    "vjp": lambda a: mx.vjp(lambda *v: v[0], a, [X]),
    "index": lambda a: X[a],
    "take": lambda a: mx.take(X, mx.array(a)),
    "add": lambda a: X + mx.array(a),
    "where": lambda a: mx.where(X > 1, mx.array(a), 0),
    "array of lists": lambda a: mx.array([[1.0] * len(a), a]),
    "block": mx.block,
    "block of lists": lambda a: mx.block([[X[0, 0]], a]),
    "histogramdd": mx.histogramdd,
    "dynamic_slice": lambda a: mx.dynamic_slice(X, a, [1, 1]),
}


def lists(cls, change):
    """Lists of a few lengths, one of whose items changes them."""
    for length in (1, 2, 3, 500):
        for at in {0, length // 2, length - 1}:
            out = [float(str(i)) for i in range(length)] if cls is Changes else [X] * length
            out[at] = cls(change, out)
            yield out
    nested = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    nested[1][0] = cls(change, nested)
    yield nested
    within = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    within[1][0] = cls(change, within[1])
    yield within


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("cls", [Changes, Array])
def test_lists_that_change_while_they_are_read(cls, change, reader):
    """A list that changes its length is refused; of another, each item is read once or refused."""
    for given in lists(cls, CHANGES[change]):
        before = len(given)
        try:
            out = READERS[reader](given)
        except (TypeError, ValueError, IndexError, OverflowError):
            continue
        mx.eval(out)
        assert len(given) == before or reader in ("index", "where", "take", "add"), change


def test_blocks_that_get_deeper_while_they_are_measured():
    """A list that contains itself by then is refused."""
    given = [[1.0], [2.0]]
    given[1] = [Array(lambda a: a.__setitem__(0, a), given)]
    with pytest.raises(ValueError, match=r"\[block\] a list that an item's own code changed"):
        mx.block(given)


class Name(str):
    """A key whose code changes the dict that holds it, once it is armed."""

    armed = None

    def __hash__(self):
        self.act()
        return str.__hash__(self)

    def __eq__(self, other):
        self.act()
        return str.__eq__(self, other)

    def act(self):
        if Name.armed is not None:
            given, Name.armed = Name.armed, None
            given.clear()
            gc.collect()
            for i in range(300):
                [float(i), str(i), (i,)]


class Axis:
    """Stands for an axis, and changes a dict when it is read."""

    def __init__(self, given):
        self.given = given

    def __index__(self):
        self.given.clear()
        gc.collect()
        return 0


DICTS = {
    "save_safetensors": lambda d, path: mx.save_safetensors(path / "a.safetensors", d),
    "save_gguf": lambda d, path: mx.save_gguf(path / "a.gguf", d),
    "metadata": lambda d, path: mx.save_gguf(path / "a.gguf", {"x": X}, d),
    "savez": lambda d, path: mx.savez(path / "a.npz", **d),
    "compile": lambda d, path: mx.compile(lambda d: X + 1)(d),
    "grad": lambda d, path: mx.grad(lambda d: X.sum())(d),
    "vmap": lambda d, path: mx.vmap(lambda d: X, in_axes=(0,))(d),
    "map": lambda d, path: mx.map(lambda d: X, d),
    "scan": lambda d, path: mx.scan(lambda c, x: (dict(d), x), d, X),
    "eval": lambda d, path: mx.eval(d),
    "checkpoint": lambda d, path: mx.checkpoint(lambda d: X + 1)(d),
    "inputs": lambda d, path: mx.compile(lambda x: x + 1, inputs=d)(X),
}


@pytest.mark.parametrize("call", DICTS)
@pytest.mark.parametrize("change", ["clear", "grow", "replace"])
def test_dicts_that_change_while_they_are_read(change, call, tmp_path):
    changes = {
        "clear": lambda d: d.clear(),
        "grow": lambda d: d.update({f"new {i}": 1.0 for i in range(100)}),
        "replace": lambda d: d.update({k: float(i) for i, k in enumerate(d)}),
    }
    for length in (1, 2, 40):
        for at in {0, length // 2, length - 1}:
            for named in (False, True):
                given = {
                    (Name(i) if named else f"{i} name"): mx.array(float(i)) for i in range(length)
                }
                if named:
                    Name.armed = given
                else:
                    given[f"{at} name"] = Array(changes[change], given)
                with contextlib.suppress(TypeError, ValueError, IndexError, KeyError, RuntimeError):
                    DICTS[call](given, tmp_path)
                Name.armed = None


def test_axes_that_change_the_arguments():
    for length in (1, 2, 40):
        given = {str(i): X for i in range(length)}
        axes = {str(i): Axis(given) for i in range(length)}
        with contextlib.suppress(TypeError, ValueError, IndexError, KeyError):
            mx.vmap(lambda d: X, in_axes=(axes,))(given)


class Truth:
    """Stands for the slots of a class, and changes a dict when it is tested."""

    given = None

    def __bool__(self):
        given, Truth.given = Truth.given, None
        if given is not None:
            given.clear()
            gc.collect()
            for i in range(300):
                [float(i), str(i), (i,)]
        return True


def test_classes_whose_slots_change_the_arguments():
    cls = type("Cls", (str,), {})
    cls.__slots__ = Truth()
    f = mx.compile(lambda *a: X + 1)
    for _ in range(50):
        given = {cls(i): X for i in range(6)}
        Truth.given = given
        f(given)
        given = [cls(i) for i in range(6)]
        Truth.given = given
        with contextlib.suppress(ValueError):
            f(given)


class Meta(type):
    """A metaclass whose code runs where attributes of its classes are looked for."""

    given = None

    def __getattribute__(cls, name):
        given, Meta.given = Meta.given, None
        if given is not None:
            given.clear()
            gc.collect()
            for i in range(300):
                [float(i), str(i), (i,)]
        return super().__getattribute__(name)


@pytest.mark.parametrize("kind", [dict, list])
def test_metaclasses_that_change_captured_containers(kind):
    for _ in range(5):
        things = [type.__call__(Meta, "C", (), {"__call__": lambda self: None})() for _ in range(6)]
        given = dict(enumerate(things)) if kind is dict else things

        def f(x, given=given):
            return x + len(given)

        Meta.given = given
        mx.compile(f)(X)
        mx.compile(functools.partial(f, given=given))(X)


@pytest.mark.parametrize("change", ["clear", "shrink", "grow", "insert"])
def test_a_changed_list_is_named(change):
    given = [1.0, 2.0, 3.0]
    given[1] = Changes(CHANGES[change], given)
    with pytest.raises(ValueError, match=r"\[array\] a list that an item's own code changed"):
        mx.array(given)
    given = [1, 2, 3]
    given[1] = Changes(CHANGES[change], given)
    with pytest.raises(ValueError, match=r"\[sequence\] a list that an item's own code changed"):
        mx.zeros(given)


class Endless:
    """A sequence that claims a length, and has any item."""

    def __init__(self, item, length=2**40):
        self.given, self.length = item, length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return self.given


SEQUENCES = {
    "zeros": lambda s: mx.zeros(s(1)),
    "reshape": lambda s: X.reshape(s(1)),
    "broadcast_to": lambda s: mx.broadcast_to(X, s(1)),
    "normal": lambda s: mx.random.normal(s(1)),
    "as_strided": lambda s: mx.as_strided(X, s(1), s(1)),
    "sum": lambda s: mx.sum(X, axis=s(0)),
    "squeeze": lambda s: mx.squeeze(X, s(0)),
    "transpose": lambda s: mx.transpose(X, s(0)),
    "roll": lambda s: mx.roll(X, s(0), s(0)),
    "split": lambda s: mx.split(X, s(1)),
    "tile": lambda s: mx.tile(X, s(1)),
    "pad": lambda s: mx.pad(X, s(s(1))),
    "pad, pairs": lambda s: mx.pad(X, s((1, 1))),
    "fft": lambda s: mx.fft.fftn(X, axes=s(0)),
    "norm": lambda s: mx.linalg.norm(X, axis=s(0)),
    "tensordot": lambda s: mx.tensordot(X, X, [s(0), s(0)]),
    "grad": lambda s: mx.grad(lambda v: v.sum(), argnums=s(0)),
    "argnames": lambda s: mx.grad(lambda v: v.sum(), argnames=s("v")),
    "concatenate": lambda s: mx.concatenate(s(X)),
    "stack": lambda s: mx.stack(s(X)),
    "vjp": lambda s: mx.vjp(lambda *v: v[0], s(X), [X]),
    "conv": lambda s: mx.conv_general(mx.ones((1, 5, 1)), mx.ones((1, 3, 1)), stride=s(1)),
    "histogramdd": lambda s: mx.histogramdd(s(X[0])),
    "vstack": lambda s: mx.vstack(s(X)),
    "choose": lambda s: mx.choose(mx.array([0]), s(X)),
    "multi_dot": lambda s: mx.linalg.multi_dot(s(X)),
    "delete": lambda s: mx.delete(X, s(0)),
    "insert": lambda s: mx.insert(X, s(0), 1),
    "dot_general": lambda s: mx.dot_general(X, X, ((s(0), [1]), ([], []))),
}


@pytest.mark.parametrize("call", SEQUENCES)
def test_a_sequence_is_not_read_to_the_end_of_the_world(call):
    for make in (Endless, lambda item: Endless(item, 2**62)):
        with pytest.raises(ValueError, match=r"\[sequence\] \d+ items of a Endless; up to"):
            SEQUENCES[call](make)


def test_ranges_and_memory_are_sequences():
    for given in (range(2**40), np.broadcast_to(np.int32(1), (2**40,))):
        with pytest.raises(ValueError, match=r"\[sequence\] 1099511627776 items"):
            mx.zeros(given)
    for given, count in ((range(2**40), "1099511627776"), (range(2**70), r"over 2\^63")):
        message = rf"\[array\] a sequence of {count} elements; up to"
        for read in (mx.array, mx.asarray, lambda r: mx.array(r, mx.int8), mx.shape, mx.block):
            with pytest.raises(ValueError, match=message):
                read(given)
    with pytest.raises(ValueError, match=r"\[switch\] more than 1048576 branches"):
        mx.switch(0, itertools.repeat(abs), X)
    with pytest.raises(TypeError, match=r"\[histogramdd\] a sample of type generator"):
        mx.histogramdd(x for x in [X])
    assert mx.array(range(3, 9, 2)).tolist() == [3, 5, 7]
    assert mx.zeros(range(2, 4)).shape == (2, 3) == mx.zeros(np.array([2, 3])).shape
    assert mx.sum(X, axis=range(2)).item() == 15


def wraps_itself():
    def f(x):
        return x * 2

    f.__wrapped__ = f
    return f


def wraps_another():
    f, g = wraps_itself(), wraps_itself()
    f.__wrapped__, g.__wrapped__ = g, f
    return f


class Chain:
    """Each has another one that it wraps."""

    def __call__(self, x):
        return x * 2

    @property
    def __wrapped__(self):
        return Chain()


MODULE_FUNCTION = wraps_itself()
MODULE_FUNCTION.__qualname__ = "MODULE_FUNCTION"


@pytest.mark.parametrize(
    "transform", [mx.compile, mx.grad, mx.value_and_grad, mx.vmap, mx.checkpoint]
)
def test_functions_that_wrap_themselves_are_pickled(transform):
    for f in (MODULE_FUNCTION, Chain()):
        x = mx.array(3.0) if transform is not mx.vmap else X
        again = pickle.loads(pickle.dumps(transform(f)))
        assert mx.array_equal(
            mx.array(again(x)[0] if transform is mx.value_and_grad else again(x)),
            mx.array(transform(f)(x)[0] if transform is mx.value_and_grad else transform(f)(x)),
        )
    for f in (wraps_itself(), wraps_another()):
        with pytest.raises((AttributeError, pickle.PicklingError)):
            pickle.dumps(transform(f))


class Dropped:
    """Changes the captured list when it is dropped."""

    def __init__(self, act):
        self.act = act

    def __del__(self):
        self.act()


@pytest.mark.parametrize(
    "act", [lambda a: a.append(7), lambda a: a.clear(), lambda a: a.insert(0, mx.array(9.0))]
)
@pytest.mark.parametrize("place", ["list", "nested", "dict"])
def test_captured_lists_that_dropped_objects_change(place, act):
    """A dropped object sees the list as the call leaves it, as it does in an ordinary call."""
    results = []
    for wrap in (lambda f, **_: f, mx.compile):
        captured = []
        state = {"list": captured, "nested": [captured], "dict": {"a": captured}}[place]

        def f(x, captured=captured):
            captured[:] = [x + 1, x + 2, x + 3]
            return x

        g = wrap(f, outputs=state)
        g(mx.array(1.0))
        captured[:] = [Dropped(lambda captured=captured: act(captured)) for _ in range(5)]
        g(mx.array(1.0))
        results.append([v if isinstance(v, int) else v.item() for v in captured])
    assert results[0] == results[1]


def test_captured_lists_get_back_constants_that_were_removed():
    state = []

    def f(x):
        state[:] = ["text", x, 3]
        return x

    g = mx.compile(f, outputs=state)
    for _ in range(2):
        g(X)
        assert state[0] == "text" and mx.array_equal(state[1], X) and state[2] == 3
        state.clear()


ODD = [1.5, None, b"x", (), [], {}, object(), "\ud800", 2**70, slice(None), int, -1, 1j, Endless(1)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        lambda: mx.array(1),
        lambda: mx.arange(3),
        lambda: X[0] > 1,
        lambda: mx.array(1j),
        lambda: mx.float32,
        lambda: mx.Device(mx.cpu),
        lambda: mx.default_stream(mx.cpu),
        lambda: mx.array([1]).at,
        lambda: mx.array([1]).at[0],
        lambda: mx.finfo(mx.float32),
        lambda: mx.compile(abs),
        lambda: mx.add,
    ],
)
def test_methods_of_python_take_odd_arguments(make):
    """Python raises SystemError where C code asserts what it should have checked."""
    ordinary = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__getstate__"}
    for name in sorted(set(dir(make())) - ordinary):
        for odd in ODD:
            for arguments in ((odd,), (odd, odd), ("__doc__", odd)):
                try:
                    getattr(make(), name)(*arguments)
                except SystemError as error:
                    pytest.fail(f"{name}{arguments}: {error}")
                except Exception:
                    pass


class Unhashable(str):
    """A keyword whose code fails."""

    armed = False

    def __hash__(self):
        if Unhashable.armed:
            raise KeyError("own")
        return str.__hash__(self)


@pytest.mark.parametrize("f", [mx.savez, mx.eval, mx.compile(abs), mx.grad(abs), mx.add, mx.einsum])
def test_keywords_whose_code_fails(f):
    keywords = {Unhashable("file_"): X}
    Unhashable.armed = True
    try:
        with pytest.raises((KeyError, TypeError)):
            f(**keywords)
    finally:
        Unhashable.armed = False
