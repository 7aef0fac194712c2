"""Compiled functions: which calls share a trace, and which get one of their own."""

import collections
import enum
import functools

import numpy as np
import pytest

import mlx.core as mx

X, Y = mx.array(1.0), mx.array(2.0)


class Kind(enum.Enum):
    A = 1
    B = 2


class Number(enum.IntEnum):
    A = 1
    B = 2


class Text(str, enum.Enum):
    A = "a"
    B = "b"


class Metres(float):
    """A number with an attribute."""

    def __new__(cls, value, unit="m"):
        self = super().__new__(cls, value)
        self.unit = unit
        return self


class Slotted(str):
    __slots__ = ("extra",)


class Plain(int):
    """A subclass whose instances have nothing but their value."""


class Tagged(dict):
    tag = None


class Row(list):
    tag = None


class SlottedRow(list):
    __slots__ = ("tag",)


class SlottedDict(dict):
    __slots__ = ("tag",)


class Cells(tuple):
    tag = None


class Item(dict):
    """A dict whose attributes are its items."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


Pair = collections.namedtuple("Pair", "a b")


def slotted(text, extra):
    out = Slotted(text)
    out.extra = extra
    return out


def tagged(cls, content, tag):
    out = cls(content)
    out.tag = tag
    return out


def ordered(*names):
    return collections.OrderedDict((name, X if name == "x" else Y) for name in names)


def moved(first, *names):
    """The first name is the last one by now, where the dict within has it first."""
    out = ordered(first, *names)
    out.move_to_end(first)
    return out


# Names of entries of a dict, no two of which are one.
NAMES = [
    "a",
    "b",
    "\ud800",
    "\udc80",
    b"a",
    b"b",
    1,
    2,
    -1,
    2**63,
    2**64,
    2**200,
    -(2**200),
    1.5,
    float("inf"),
    None,
    True,
    False,
    1j,
    (0, 1),
    (0, 2),
    (0, (1,)),
    ((0,), 1),
    (),
    Pair(0, 1),
    frozenset([3]),
    frozenset([4]),
    frozenset([3, 4]),
    frozenset([3, frozenset([4])]),
    Kind.A,
    Kind.B,
    Number.A,
    Number.B,
    Text.A,
    Text.B,
    Metres(1.5),
    Metres(1.5, "ft"),
    slotted("a", 1),
    slotted("a", 2),
    Plain(1),
    np.float64(1.5),
    np.str_("a"),
    mx.float32,
    mx.int32,
    mx.cpu,
    int,
    str,
    len,
    Kind,
]


def label(value):
    return f"{type(value).__name__}-{ascii(value)[:24]}"


def traces(make, wrap=mx.compile):
    """A compiled function, and a list of what each of its traces was given."""
    seen = []

    def f(*args, **kwargs):
        seen.append((args, kwargs))
        return make(*args, **kwargs)

    return wrap(f), seen


@pytest.mark.filterwarnings("ignore:.*was traced")
def test_each_name_of_an_entry_has_its_trace():
    f, seen = traces(lambda d: next(iter(d.values())) + 0)
    for name in NAMES:
        assert f({name: X}).item() == 1
        (given,) = seen[-1][0][0]
        assert type(given) is type(name) and given is name, label(name)
    assert len(seen) == len(NAMES)
    for name in NAMES:
        assert f({name: Y}).item() == 2
    assert len(seen) == len(NAMES)


@pytest.mark.filterwarnings("ignore:.*was traced")
def test_each_name_in_captured_state_has_its_trace():
    state = {}
    f, seen = traces(lambda x: x + len(state), lambda f: mx.compile(f, inputs=state))
    for count in range(2):
        for name in NAMES:
            state.clear()
            state[name] = X
            assert f(X).item() == 2
        assert len(seen) == len(NAMES), count


EQUAL = {
    "bytes": lambda: bytes([1, 2, 3]),
    "tuple": lambda: (0, (1, "x" + str(len("ab"))), 2.5),
    "namedtuple": lambda: Pair(0, bytes([5, 6])),
    "frozenset": lambda: frozenset(["a" + str(i) for i in range(30)]),
    "int": lambda: 2**70 + 1,
    "subclass": lambda: Plain(70000),
    "NumPy's": lambda: np.float64(0.25),
}


@pytest.mark.parametrize("kind", EQUAL)
def test_equal_values_share_a_trace(kind):
    f, seen = traces(lambda d: next(iter(d.values())) + 0)
    first, second = EQUAL[kind](), EQUAL[kind]()
    assert first is not second
    f({first: X})
    f({second: Y})
    assert len(seen) == 1


ARGUMENTS = {
    "int and IntEnum": [1, Number.A],
    "text and Enum": ["a", Text.A],
    "members": [Text.A, Text.B],
    "attributes": [Metres(1.5), Metres(1.5, "ft"), 1.5],
    "slots": ["a", slotted("a", 1), slotted("a", 2)],
    "zeros": [0.0, -0.0, 0, False],
    "lone surrogates": ["\ud800", "\ud801", "\\ud800"],
    "attributes of dicts": [{"x": X}, tagged(Tagged, {"x": X}, 1), tagged(Tagged, {"x": X}, 2)],
    "attributes of lists": [[X], tagged(Row, [X], "a"), tagged(Row, [X], "b")],
    "slots of lists": [SlottedRow([X]), tagged(SlottedRow, [X], 1), tagged(SlottedRow, [X], 2)],
    "slots of dicts": [
        SlottedDict(x=X),
        tagged(SlottedDict, {"x": X}, 1),
        tagged(SlottedDict, {"x": X}, 2),
    ],
    "orders of OrderedDict": [ordered("x", "y"), moved("x", "y")],
    "orders": [{"x": X, "y": Y}, {"y": Y, "x": X}],
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_arguments_that_differ_have_their_traces(kind):
    f, seen = traces(lambda x, other: x + 0)
    for _ in range(2):
        for value in ARGUMENTS[kind]:
            f(X, value)
    assert len(seen) == len(ARGUMENTS[kind])


CHANGED = {
    "float": lambda: Metres(1.5),
    "text": lambda: tagged(type("Name", (str,), {}), "a", 0),
    "int": lambda: tagged(type("Count", (int,), {}), 3, 0),
    "slots of a text": lambda: slotted("a", 0),
    "list": lambda: tagged(Row, [X], 0),
    "tuple": lambda: tagged(Cells, [X], 0),
    "dict": lambda: tagged(Tagged, {"x": X}, 0),
    "slots of a list": lambda: tagged(SlottedRow, [X], 0),
    "slots of a dict": lambda: tagged(SlottedDict, {"x": X}, 0),
}


@pytest.mark.parametrize("kind", CHANGED)
@pytest.mark.parametrize("place", ["argument", "in a list", "key of a dict"])
def test_attributes_that_change_have_their_traces(kind, place):
    """The function is given them, and each value has a trace."""
    given = CHANGED[kind]()
    name = next(n for n in ("unit", "extra", "tag") if hasattr(given, n))
    if place == "key of a dict" and isinstance(given, (list, dict)):
        pytest.skip("has no hash")
    if place == "key of a dict" and isinstance(given, tuple):
        given = tagged(Cells, [1], 0)
    whole = {"argument": given, "in a list": [given]}.get(place) or {given: X}
    inner = (lambda v: v) if place == "argument" else lambda v: next(iter(v))
    f, seen = traces(lambda v: mx.array(getattr(inner(v), name)) + 0)
    for value in (2, 7, 2, 7):
        setattr(given, name, value)
        assert f(whole).item() == value
    assert len(seen) == 2


def test_attributes_that_are_the_object_itself():
    given = tagged(type("Name", (str,), {}), "a", 0)
    given.tag = given
    f, seen = traces(lambda v, x: x + (v.tag is v))
    assert [f(given, X).item() for _ in range(2)] == [2, 2] and len(seen) == 1


def test_slots_without_a_value():
    f, seen = traces(lambda v: mx.array(getattr(v, "tag", -1)) + v[0])
    assert [f(SlottedRow([X])).item() for _ in range(2)] == [0, 0]
    assert f(tagged(SlottedRow, [X], 4)).item() == 5 and len(seen) == 2


def test_results_keep_their_attributes():
    for cls in (Row, SlottedRow, Cells):
        f = mx.compile(lambda x, cls=cls: tagged(cls, [x + 1], "text"))
        for _ in range(2):
            out = f(X)
            assert type(out) is cls and out.tag == "text" and out[0].item() == 2


def test_dicts_whose_attributes_are_their_items_share_a_trace():
    f, seen = traces(lambda d: d["x"] + 0)
    assert [f(Item(x=v)).item() for v in (X, Y)] == [1, 2]
    assert len(seen) == 1


def by_name(a, b):
    return a + 2 * b


class Callable:
    def __call__(self, a, b):
        return a + 2 * b

    def method(self, a, b):
        return a + 2 * b


COMPILED = mx.compile(by_name)


@pytest.mark.parametrize(
    "f",
    [
        by_name,
        Callable(),
        Callable().method,
        functools.partial(by_name),
        functools.partial(functools.partial(Callable().method)),
        COMPILED,
        mx.checkpoint(by_name),
        mx.checkpoint(functools.partial(by_name)),
    ],
    ids=["f", "o", "method", "partial", "partial method", "compile", "checkpoint", "both"],
)
def test_the_order_of_keywords_makes_no_trace(f):
    g = mx.compile(f)
    before = mx.compile_cache_info()
    assert [g(a=X, b=Y).item(), g(b=Y, a=X).item(), g(b=X, a=Y).item()] == [5, 5, 4]
    now = mx.compile_cache_info()
    # A compiled function within is called once, by the trace of the outer one.
    within = [(1, 3), (2, 2)] if f is COMPILED else [(1, 2)]
    assert (now["misses"] - before["misses"], now["hits"] - before["hits"]) in within


def test_the_order_of_keywords_makes_no_trace_of_gradients():
    f = mx.compile(mx.grad(lambda x, a, b: x * a + b))
    before = mx.compile_cache_info()
    assert [f(X, a=X, b=Y).item(), f(X, b=Y, a=X).item(), f(X, b=X, a=Y).item()] == [1, 1, 2]
    now = mx.compile_cache_info()
    assert (now["misses"] - before["misses"], now["hits"] - before["hits"]) == (1, 2)


def test_the_order_of_keywords_stays_where_the_function_sees_it():
    def values(**k):
        return list(k.values())

    for f in (values, functools.partial(values), mx.compile(values), mx.checkpoint(values)):
        f = mx.compile(f)
        assert [v.item() for v in f(a=X, b=Y)] == [1, 2]
        assert [v.item() for v in f(b=Y, a=X)] == [2, 1]
        assert [v.item() for v in f(a=Y, b=X)] == [2, 1]


@pytest.mark.parametrize("shapeless", [False, True])
def test_a_call_is_one_hit_or_one_miss(shapeless):
    f = mx.compile(lambda x: x.reshape(-1) * x.shape[0], shapeless=shapeless)
    counts = []
    for n in (2, 2, 3, 2, 3):
        before = mx.compile_cache_info()
        f(mx.ones((n,)))
        now = mx.compile_cache_info()
        counts.append((now["hits"] - before["hits"], now["misses"] - before["misses"]))
    assert counts == [(0, 1), (1, 0), (0, 1), (1, 0), (1, 0)]
