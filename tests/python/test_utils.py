"""mlx.utils: trees."""

import pickle
from collections import namedtuple

import pytest

from mlx.utils import (
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_with_path,
    tree_merge,
    tree_reduce,
    tree_structure,
    tree_unflatten,
)

TREE = {"a": [1, {"b": 2}, (3, 4)], "c": {"d": 5}, "e": [], "f": {}, "g": None}
FLAT = [("a.0", 1), ("a.1.b", 2), ("a.2.0", 3), ("a.2.1", 4), ("c.d", 5), ("g", None)]
Pair = namedtuple("Pair", "x y")


def is_tuple(tree):
    """Whether a container is a tuple."""
    return isinstance(tree, tuple)


@pytest.mark.parametrize(
    "tree, options, expected",
    [
        (TREE, {}, FLAT),
        (TREE, {"prefix": "p"}, [(f"p.{path}", leaf) for path, leaf in FLAT]),
        (TREE, {"destination": {}}, dict(FLAT)),
        ([1, 2], {"destination": [("z", 0)]}, [("z", 0), ("0", 1), ("1", 2)]),
        ([1, (2, 3)], {"is_leaf": is_tuple}, [("0", 1), ("1", (2, 3))]),
        (3, {}, [("", 3)]),
        ([], {}, []),
        ({1: 2, "x": {3: 4}}, {}, [("1", 2), ("x.3", 4)]),
        (Pair(1, 2), {}, [("0", 1), ("1", 2)]),
    ],
)
def test_flatten(tree, options, expected):
    """Paths and leaves in order."""
    assert tree_flatten(tree, **options) == expected


def test_flatten_into():
    """The destination itself is returned; others are refused."""
    destination = {}
    assert tree_flatten(TREE, destination=destination) is destination
    with pytest.raises(ValueError):
        tree_flatten(TREE, destination=())


@pytest.mark.parametrize(
    "flat, expected",
    [
        (FLAT, {"a": [1, {"b": 2}, [3, 4]], "c": {"d": 5}, "g": None}),
        (dict(FLAT), {"a": [1, {"b": 2}, [3, 4]], "c": {"d": 5}, "g": None}),
        ([("", 5)], 5),
        ([], []),
        ([("0", 1), ("2", 3)], [1, {}, 3]),
        ([("10", 1), ("9", 2)], [{}] * 9 + [2, 1]),
        ([("a.1", 1), ("a.x", 2)], {"a": {"1": 1, "x": 2}}),
        ([("a", 1), ("a.b", 2)], {"a": {"": 1, "b": 2}}),
        ([("01", "a"), ("1", "b")], {"01": "a", "1": "b"}),
        ([("1.x", 1), ("01.x", 2)], {"1": {"x": 1}, "01": {"x": 2}}),
        ([("01", "a"), ("0", "b")], ["b", "a"]),
        ([("99999999999", 1)], {"99999999999": 1}),
        ([("x." + "9" * 5000, 1)], {"x": {"9" * 5000: 1}}),
        ([("65536", 1)], [{}] * 65536 + [1]),
        ([("65537", 1)], {"65537": 1}),
        ([("²", 1), ("-1", 2)], {"²": 1, "-1": 2}),
    ],
)
def test_unflatten(flat, expected):
    """Levels of numbers are lists, others dicts."""
    assert tree_unflatten(flat) == expected


@pytest.mark.parametrize(
    "flat",
    [[("0", 1), ("0", 2)], [("", 1), ("", 2)], [("a.b", 1), ("a.b", 2)], [("a", 1), ("a.", 2)]],
)
def test_two_leaves_at_one_path(flat):
    """Neither is lost silently."""
    with pytest.raises(ValueError, match="2 leaves"):
        tree_unflatten(flat)


def test_map():
    """Over one tree or several, with the kind of each container kept."""
    assert tree_map(lambda x: x, TREE) == TREE
    assert tree_map(lambda x: x + 1, Pair(1, [2])) == Pair(2, [3])
    assert tree_map(lambda x, y, z: x + y + z, {"a": [1]}, {"a": (2,), "b": 0}, {"a": [3]}) == {
        "a": [6]
    }
    assert tree_map(str, [[1], (2,)], is_leaf=is_tuple) == [["1"], "(2,)"]
    assert tree_map(lambda x: x, 3) == 3
    with pytest.raises(KeyError):
        tree_map(lambda x, y: x, {"a": 1}, {"b": 1})
    with pytest.raises(IndexError):
        tree_map(lambda x, y: x, [1, 2], [1])


def test_map_with_path():
    """The path comes first; a lone leaf has the given path."""

    def pair(path, leaf):
        return path, leaf

    expected = {"a": [("a.0", 1), {"b": ("a.1.b", 2)}]}
    assert tree_map_with_path(pair, {"a": [1, {"b": 2}]}) == expected
    assert tree_map_with_path(pair, [1], path="p") == [("p.0", 1)]
    assert tree_map_with_path(pair, [1], path="") == [("0", 1)]
    assert tree_map_with_path(pair, 1) == (None, 1)
    assert tree_map_with_path(lambda p, x, y: (p, x, y), (1,), (2,)) == (("0", 1, 2),)


def test_reduce():
    """A fold from the left."""
    join = "({},{})".format
    assert tree_reduce(join, {"a": [1, 2], "b": (3, {"c": 4})}) == "(((1,2),3),4)"
    assert tree_reduce(lambda a, b: a + b, [1, [2]], 10) == 13
    assert tree_reduce(lambda a, b: a + b, {}, 4) == 4
    assert tree_reduce(lambda a, b: a + b, {}) is None
    assert tree_reduce(lambda a, b: a + len(b), [(1, 2), (3,)], 0, is_tuple) == 3


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ([1, {"a": 2}], [{}, {"b": 3}], [1, {"a": 2, "b": 3}]),
        ({"a": {}}, {"a": 1}, {"a": 1}),
        ({"a": None}, {"a": 1}, {"a": 1}),
        ((1, {}), ({}, 2), (1, 2)),
        (Pair(1, {}), Pair({}, 2), Pair(1, 2)),
        ([], [1], [1]),
        ({"a": [{}, {"x": 1}]}, {"a": [{"y": 2}]}, {"a": [{"y": 2}, {"x": 1}]}),
        ({}, 3, 3),
        ({}, {}, {}),
    ],
)
def test_merge(a, b, expected):
    """Nothing and empty containers give way."""
    assert tree_merge(a, b) == expected


def test_merge_leaves():
    """Two leaves need a function, two kinds of container cannot be united."""
    assert tree_merge({"a": 1}, {"a": 2}, lambda x, y: x + y) == {"a": 3}
    for a, b in (({"a": 1}, {"a": 2}), ([1], [2, 3]), (1, 2)):
        with pytest.raises(ValueError, match="no merge function"):
            tree_merge(a, b)
    with pytest.raises(ValueError, match="Cannot merge"):
        tree_merge({}, [])


def test_leaves_and_structure():
    assert tree_leaves(TREE) == [leaf for _, leaf in FLAT]
    assert tree_leaves(TREE, is_leaf=is_tuple) == [1, 2, (3, 4), 5, None]
    structure = tree_structure(TREE)
    assert structure.num_leaves == len(FLAT)
    assert structure.unflatten(tree_leaves(TREE)) == TREE
    assert structure == tree_structure(tree_map(str, TREE)) and len({structure, structure}) == 1
    forms = [tree_structure(t) for t in ([1], (1,), {"x": 1}, {"y": 1}, Pair(1, 2), (1, 2), 1)]
    for k, one in enumerate(forms):
        assert [one == other for other in forms] == [j == k for j in range(len(forms))]
    assert tree_structure(Pair(1, [2])).unflatten([3, 4]) == Pair(3, [4])
    assert repr(tree_structure({"x": [1, (2,)]})) == "{'x': [*, (*,)]}"
    assert pickle.loads(pickle.dumps(structure)) == structure
    with pytest.raises(ValueError, match=r"1 leaves; 6 are accepted"):
        structure.unflatten([1])
