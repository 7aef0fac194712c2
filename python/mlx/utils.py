"""Trees: nested dicts, lists and tuples with anything else as leaves.

A leaf is named by its path, the keys from the root joined by dots: in
``{"layers": [{"bias": b}]}`` the array ``b`` is ``"layers.0.bias"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any, overload

import mlx.core as mx

_CONTAINERS = (dict, list, tuple, type(mx.random.state))


def _is_branch(tree: Any, is_leaf: Callable[..., Any] | None) -> bool:
    return isinstance(tree, _CONTAINERS) and not (is_leaf is not None and is_leaf(tree))


def _items(tree: Any) -> Iterable[tuple[Any, Any]]:
    return tree.items() if isinstance(tree, dict) else enumerate(tree)


def _like(tree: Any, values: list[Any]) -> Any:
    """A container of the kind of ``tree`` that holds ``values`` in its order."""
    if isinstance(tree, dict):
        return dict(zip(tree, values, strict=True))
    if not isinstance(tree, (list, tuple)):
        return values  # random.state cannot be constructed: a list takes its place
    return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)


def tree_map(
    fn: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[..., Any] | None = None
) -> Any:
    """Replace every leaf of a tree by ``fn(leaf)``.

    Args:
        fn: gets a leaf, and the leaves of ``rest`` at the same place.
        tree: the tree.
        rest: further trees; they have to contain every key of ``tree`` and may contain more.
        is_leaf: ``is_leaf(subtree)`` may declare a container to be a leaf.

    Returns:
        A tree of the form of ``tree``.

    >>> tree_map(lambda a, b: a + b, {"x": [1, 2]}, {"x": [10, 20]})
    {'x': [11, 22]}
    """
    if not _is_branch(tree, is_leaf):
        return fn(tree, *rest)
    return _like(
        tree,
        [
            tree_map(fn, sub, *(other[key] for other in rest), is_leaf=is_leaf)
            for key, sub in _items(tree)
        ],
    )


def tree_map_with_path(
    fn: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., Any] | None = None,
    path: Any | None = None,
) -> Any:
    """Replace every leaf of a tree by ``fn(path, leaf)``.

    Args:
        fn: gets the path of a leaf, the leaf, and the leaves of ``rest`` at the same place.
        tree: the tree.
        rest: further trees, as in :func:`tree_map`.
        is_leaf: ``is_leaf(subtree)`` may declare a container to be a leaf.
        path: the prefix of all paths; a tree that is a single leaf has the path ``path``.

    Returns:
        A tree of the form of ``tree``.

    >>> tree_map_with_path(lambda path, leaf: f"{path}={leaf}", {"x": [1, 2]})
    {'x': ['x.0=1', 'x.1=2']}
    """
    if not _is_branch(tree, is_leaf):
        return fn(path, tree, *rest)
    prefix = "" if path in (None, "") else f"{path}."
    return _like(
        tree,
        [
            tree_map_with_path(
                fn,
                sub,
                *(other[key] for other in rest),
                is_leaf=is_leaf,
                path=f"{prefix}{key}",
            )
            for key, sub in _items(tree)
        ],
    )


def _leaves(path: str, tree: Any, is_leaf: Callable[..., Any] | None) -> Iterator[tuple[str, Any]]:
    """Pairs of path and leaf, the paths beginning with ``path``."""
    if not _is_branch(tree, is_leaf):
        yield path, tree
        return
    start = f"{path}." if path else ""
    for key, child in _items(tree):
        yield from _leaves(f"{start}{key}", child, is_leaf)


@overload
def tree_flatten(
    tree: Any,
    prefix: str = ...,
    is_leaf: Callable[..., Any] | None = ...,
    destination: list[tuple[str, Any]] | None = ...,
) -> list[tuple[str, Any]]: ...
@overload
def tree_flatten(
    tree: Any,
    prefix: str = ...,
    is_leaf: Callable[..., Any] | None = ...,
    *,
    destination: dict[str, Any],
) -> dict[str, Any]: ...
def tree_flatten(
    tree: Any,
    prefix: str = "",
    is_leaf: Callable[..., Any] | None = None,
    destination: list[tuple[str, Any]] | dict[str, Any] | None = None,
) -> list[tuple[str, Any]] | dict[str, Any]:
    """List the leaves of a tree as pairs of path and leaf, in order.

    Empty containers leave no trace.

    Args:
        tree: the tree.
        prefix: is put before every path.
        is_leaf: ``is_leaf(subtree)`` may declare a container to be a leaf.
        destination: a list or a dict to which the pairs are added; a new list by default.

    Returns:
        The destination.

    Raises:
        ValueError: ``destination`` is neither a list nor a dict.

    >>> tree_flatten({"x": [1, {"y": 2}]})
    [('x.0', 1), ('x.1.y', 2)]
    """
    if destination is None:
        destination = []
    if not isinstance(destination, (list, dict)):
        raise ValueError("Destination should be either a list or a dictionary or None")

    pairs = _leaves(prefix.removeprefix("."), tree, is_leaf)
    if isinstance(destination, list):
        destination.extend(pairs)
    else:
        destination.update(pairs)
    return destination


def tree_unflatten(tree: list[tuple[str, Any]] | dict[str, Any]) -> Any:
    """Build the tree that :func:`tree_flatten` flattened.

    A level whose keys are all numbers becomes a list, with ``{}`` at the numbers that are left out.
    Every other level becomes a dict, and so do levels with two spellings of a number or with more
    than 65536 numbers left out.

    Args:
        tree: the pairs, or the dict.

    Returns:
        The tree.

    Raises:
        ValueError: two leaves have one path.

    >>> tree_unflatten([("x.0", 1), ("x.1.y", 2)])
    {'x': [1, {'y': 2}]}
    """
    return _unflattened(list(tree.items() if isinstance(tree, dict) else tree))


_MOST_LEFT_OUT = 1 << 16


def _unflattened(pairs: list[tuple[str, Any]], above: str = "") -> Any:
    """The tree of pairs; ``above`` is the path of its place."""
    if pairs and not any(path for path, _ in pairs):
        if len(pairs) > 1:
            raise ValueError(f"[tree_unflatten] {len(pairs)} leaves at {above!r}; one is accepted")
        return pairs[0][1]
    levels: dict[str, list[tuple[str, Any]]] = {}
    for path, leaf in pairs:
        head, _, tail = path.partition(".")
        levels.setdefault(head, []).append((tail, leaf))
    start = f"{above}." if above else ""
    branches = {key: _unflattened(sub, f"{start}{key}") for key, sub in levels.items()}
    if not all(key.isdecimal() and len(key) < 20 for key in branches):
        return branches
    numbered = {int(key): branch for key, branch in branches.items()}
    length = max(numbered, default=-1) + 1
    # As a list, "1" and "01" would be one item, and a large number would fill the memory.
    if len(numbered) < len(branches) or length - len(branches) > _MOST_LEFT_OUT:
        return branches
    return [numbered.get(i, {}) for i in range(length)]


def tree_reduce(
    fn: Callable[..., Any],
    tree: Any,
    initializer: Any = None,
    is_leaf: Callable[..., Any] | None = None,
) -> Any:
    """Fold the leaves of a tree from the left: ``fn(accumulated, leaf)``.

    Args:
        fn: gets the accumulated value and a leaf.
        tree: the tree.
        initializer: the value to start with; the first leaf by default.
        is_leaf: ``is_leaf(subtree)`` may declare a container to be a leaf.

    Returns:
        The last result of ``fn``; for an empty tree the initializer.

    >>> tree_reduce(lambda total, leaf: total + leaf, {"x": [1, 2], "y": 3})
    6
    """
    total = initializer
    if not _is_branch(tree, is_leaf):
        return tree if total is None else fn(total, tree)
    for _, sub in _items(tree):
        total = tree_reduce(fn, sub, total, is_leaf)
    return total


def tree_merge(tree_a: Any, tree_b: Any, merge_fn: Callable[..., Any] | None = None) -> Any:
    """Unite two trees.

    ``None`` and empty containers count as nothing.

    Args:
        tree_a: a tree.
        tree_b: another.
        merge_fn: ``merge_fn(a, b)`` decides if both have a leaf at one place.

    Returns:
        The tree with what either has.

    Raises:
        ValueError: two leaves are at one place and there is no ``merge_fn``, or the containers are
            of different kinds.

    >>> tree_merge({"x": 1, "y": {}}, {"y": {"z": 2}})
    {'x': 1, 'y': {'z': 2}}
    """

    def absent(tree: Any) -> bool:
        return tree is None or (isinstance(tree, _CONTAINERS) and not tree)

    if absent(tree_a) != absent(tree_b):
        return tree_b if absent(tree_a) else tree_a
    if isinstance(tree_a, dict) and isinstance(tree_b, dict):
        return {
            key: tree_merge(tree_a.get(key), tree_b.get(key), merge_fn)
            if key in tree_a and key in tree_b
            else (tree_a if key in tree_a else tree_b)[key]
            for key in {**tree_a, **tree_b}
        }
    if isinstance(tree_a, (list, tuple)) and isinstance(tree_b, (list, tuple)):
        united = [
            a if b is None else b if a is None else tree_merge(a, b, merge_fn)
            for a, b in zip_longest(tree_a, tree_b)
        ]
        return _like(tree_a, united)
    if merge_fn is not None:
        return merge_fn(tree_a, tree_b)
    if isinstance(tree_a, _CONTAINERS) and isinstance(tree_b, _CONTAINERS):
        raise ValueError(f"Cannot merge {type(tree_a).__name__} with {type(tree_b).__name__}")
    raise ValueError(
        "Trees contain elements at the same locations but no merge function was provided"
    )


def tree_leaves(tree: Any, is_leaf: Callable[..., Any] | None = None) -> list[Any]:
    """List the leaves of a tree, in order.

    Args:
        tree: the tree.
        is_leaf: ``is_leaf(subtree)`` may declare a container to be a leaf.

    Returns:
        The leaves, without the paths that :func:`tree_flatten` adds.

    >>> tree_leaves({"x": [1, {"y": 2}]})
    [1, 2]
    """
    return [leaf for _, leaf in _leaves("", tree, is_leaf)]


class TreeStructure:
    """Hold the containers of a tree without its leaves: the result of :func:`tree_structure`.

    Structures are equal where containers, keys and their order are.

    Args:
        tree: the tree.
        is_leaf: ``is_leaf(subtree)`` may declare a container to be a leaf.

    >>> structure = tree_structure({"x": [1, 2]})
    >>> structure, structure.num_leaves
    ({'x': [*, *]}, 2)
    """

    def __init__(self, tree: Any, is_leaf: Callable[..., Any] | None = None) -> None:
        self._form = tree_map(lambda leaf: ..., tree, is_leaf=is_leaf)
        self.num_leaves = len(tree_leaves(self._form))

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure with other leaves.

        Args:
            leaves: as many leaves as the structure has.

        Raises:
            ValueError: there are more or fewer.

        >>> tree_structure({"x": [1, 2]}).unflatten([3, 4])
        {'x': [3, 4]}
        """
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(f"[TreeStructure] {len(given)} leaves; {self.num_leaves} are accepted")
        following = iter(given)
        return tree_map(lambda _: next(following), self._form)

    def _key(self, form: Any) -> Any:
        if form is ...:
            return None
        kind = type(form)
        return kind, tuple((key, self._key(sub)) for key, sub in _items(form))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeStructure) and self._key(self._form) == other._key(other._form)

    def __hash__(self) -> int:
        return hash(self._key(self._form))

    def __repr__(self) -> str:
        return repr(self._form).replace("Ellipsis", "*")


def tree_structure(tree: Any, is_leaf: Callable[..., Any] | None = None) -> TreeStructure:
    """Return the containers of a tree without its leaves.

    Args:
        tree: the tree.
        is_leaf: ``is_leaf(subtree)`` may declare a container to be a leaf.

    Returns:
        An object that compares by containers, keys and order, and has ``num_leaves`` and
        ``unflatten(leaves)``.

    >>> tree_structure({"x": 1, "y": (2, 3)}) == tree_structure({"x": 4, "y": (5, 6)})
    True
    """
    return TreeStructure(tree, is_leaf)
