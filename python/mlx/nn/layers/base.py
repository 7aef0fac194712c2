"""Module: the base of every layer and model, a dict of its parameters and submodules."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import mlx.core as mx
from mlx._names import MODULE, hint
from mlx.utils import tree_flatten, tree_unflatten

Filter = Callable[["Module", str, Any], bool]

_STORED = (mx.array, dict, list, tuple)


def _is_leaf_value(module: Module, key: str, value: Any) -> bool:
    return not isinstance(value, (dict, list))


def _is_bottom_module(module: Module, key: str, value: Any) -> bool:
    return Module.is_module(value) and not tree_flatten(value.children(), is_leaf=Module.is_module)


def _checked_names(
    modules: list[Module], keys: str | list[str] | None, strict: bool
) -> list[str] | None:
    """``keys`` as a list; with ``strict`` each must be in one of ``modules``."""
    names = [keys] if isinstance(keys, str) else keys
    for name in names or ():
        if strict and not any(name in module for module in modules):
            raise KeyError(f"Module doesn't contain member {name}.")
    return names


def _is_selected_parameter(module: Module, key: str, value: Any) -> bool:
    """Whether ``freeze`` without names means this entry: parameters, but those of submodules."""
    return not isinstance(value, Module) and module.valid_parameter_filter(module, key, value)


# Functions that call themselves stand outside the methods: a closure that holds itself, and with it
# the module, would keep the arrays until the garbage collector runs.
def _mapped(
    module: Module,
    key: str,
    value: Any,
    filter_fn: Filter,
    map_fn: Callable[..., Any] | None,
    is_leaf: Filter,
) -> Any:
    """The result of :meth:`Module.filter_and_map` for an entry that was selected."""
    if is_leaf(module, key, value):
        return map_fn(value) if map_fn else value
    if isinstance(value, Module):
        return value.filter_and_map(filter_fn, map_fn, is_leaf)
    if not isinstance(value, (dict, list)):
        raise RuntimeError("Unexpected leaf found while traversing the module")

    items = value.items() if isinstance(value, dict) else enumerate(value)
    inside = [(k, f"{key}.{k}", v) for k, v in items]
    made = {
        k: _mapped(module, path, v, filter_fn, map_fn, is_leaf)
        if filter_fn(module, path, v)
        else {}
        for k, path, v in inside
    }
    return made if isinstance(value, dict) else list(made.values())


def _graft(target: Any, source: Any, leaf: type, kind: str, strict: bool) -> None:
    """Replace in place the entries of ``target`` that are of type ``leaf`` by those of ``source``.

    ``kind`` names such an entry in errors; entries that do not fit are skipped unless ``strict``.
    """
    if not isinstance(source, (dict, list)) or isinstance(target, tuple):
        if strict:
            raise ValueError(f"Received invalid type: {type(source).__name__}.")
        return
    for key, new in source.items() if isinstance(source, dict) else enumerate(source):
        if isinstance(target, list) and isinstance(key, int):
            if key >= len(target):
                if strict:
                    raise ValueError(
                        f"List index {key} is out of bounds for destination of length"
                        f" {len(target)}."
                    )
                continue
        elif not isinstance(target, dict) or key not in target:
            if strict:
                raise ValueError(f'Module does not have {kind} named "{key}".')
            continue
        current = target[key]
        if isinstance(current, leaf) and isinstance(new, leaf):
            target[key] = new
        elif isinstance(current, (dict, list, tuple)) or strict:
            _graft(current, new, leaf, kind, strict)


def _finds_entry(module: Module, key: str, of_class: Any) -> bool:
    """Whether the class has a property without a setter that would find an entry of its name."""
    if not isinstance(of_class, property) or of_class.fset is not None:
        return False
    return key in module or not hasattr(module, key)  # where it has no value, the entry is found


def _refuse_forward(self: Module, *_: Any, **__: Any) -> NoReturn:
    """The ``__call__`` of a class that has PyTorch's method instead."""
    name = type(self).__name__
    raise TypeError(f"[{name}] a class with forward; write __call__ in the place of forward")


class Module(dict):  # type: ignore[type-arg]
    """Hold the parameters and submodules of a layer or model.

    Arrays, submodules and containers of them that are set as attributes are entries of the dict;
    any other attribute is an ordinary one. Entries whose name starts with an underscore are no
    parameters. A new module is in training mode and nothing in it is frozen.

    >>> class MLP(nn.Module):
    ...     def __init__(self, dims):
    ...         super().__init__()
    ...         self.layers = [nn.Linear(a, b) for a, b in zip(dims, dims[1:])]
    ...
    ...     def __call__(self, x):
    ...         for layer in self.layers[:-1]:
    ...             x = nn.relu(layer(x))
    ...         return self.layers[-1](x)
    >>> MLP([2, 16, 1])(mx.ones((3, 2))).shape
    (3, 1)
    """

    __call__: Callable[..., Any]
    _no_grad: set[str]
    _training: bool

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "forward" in vars(cls) and not any("__call__" in vars(c) for c in cls.__mro__):
            cls.__call__ = _refuse_forward  # type: ignore[method-assign]

    def __init__(self) -> None:
        self._no_grad = set()
        self._training = True

    # Attributes

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            pass
        try:
            return object.__getattribute__(self, key)  # raises a failed property's own error
        except AttributeError:
            if (text := hint(key, "a module", {"PyTorch": MODULE})) and not hasattr(
                type(self), key
            ):
                raise AttributeError(text, name=key, obj=self) from None
            raise

    def __setattr__(self, key: str, val: Any) -> None:
        of_class = getattr(type(self), key, None)
        if isinstance(val, _STORED) and _finds_entry(self, key, of_class):
            self[key] = val
        elif hasattr(of_class, "__set__"):  # decides itself where the value goes
            super().__setattr__(key, val)
        elif not isinstance(val, _STORED):
            super().__setattr__(key, val)
            self.pop(key, None)
        elif of_class is not None:
            raise AttributeError(
                f"{key!r} of the class {type(self).__name__!r} would hide the entry of that name"
            )
        else:
            self.__dict__.pop(key, None)
            self[key] = val

    def __delattr__(self, name: str) -> None:
        if name in self:
            del self[name]
        else:
            super().__delattr__(name)

    # Description

    def _extra_repr(self) -> str:
        """The text in the parentheses of the module's ``repr``."""
        return ""

    def __repr__(self) -> str:
        lines = [
            textwrap.indent(f"({path}): {child!r}", "  ")
            for path, child in tree_flatten(self.children(), is_leaf=self.is_module)
        ]
        inside = "\n".join([self._extra_repr(), *lines])
        return f"{type(self).__name__}({inside}" + ("\n)" if lines else ")")

    @property
    def state(self) -> Module:
        """Return the module itself, a tree with all its arrays for ``mx.eval`` and ``compile``."""
        return self

    @property
    def training(self) -> bool:
        """Return whether the module is in training mode."""
        return self._training

    # Walking the tree

    @staticmethod
    def is_module(value: Any) -> bool:
        """Return whether ``value`` is a module.

        Args:
            value: any object.
        """
        return isinstance(value, Module)

    @staticmethod
    def valid_child_filter(module: Module, key: str, value: Any) -> bool:
        """Select modules and the containers that may hold them."""
        return isinstance(value, (dict, list))

    @staticmethod
    def valid_parameter_filter(module: Module, key: str, value: Any) -> bool:
        """Select what is, or may hold, a parameter: names with a leading underscore are not."""
        return isinstance(value, (dict, list, mx.array)) and not key.startswith("_")

    @staticmethod
    def trainable_parameter_filter(module: Module, key: str, value: Any) -> bool:
        """Select what is, or may hold, a parameter that is not frozen."""
        return Module.valid_parameter_filter(module, key, value) and key not in module._no_grad

    def filter_and_map(
        self,
        filter_fn: Filter,
        map_fn: Callable[..., Any] | None = None,
        is_leaf_fn: Filter | None = None,
    ) -> dict[str, Any]:
        """Build a tree of what a function selects in this module and in all below it.

        Args:
            filter_fn: ``filter_fn(module, key, value)`` says whether to keep an entry of
                ``module``. Within containers the key is a path such as ``"layers.0"``, and what is
                not kept becomes ``{}``.
            map_fn: applied to every leaf (the identity by default).
            is_leaf_fn: called like ``filter_fn``, says where to stop descending; by default at
                everything but dicts (modules included) and lists.

        Returns:
            A tree of dicts and lists.

        >>> layer = nn.Linear(2, 1)
        >>> layer.filter_and_map(layer.valid_parameter_filter, lambda p: p.size)
        {'weight': 2, 'bias': 1}
        """
        is_leaf = is_leaf_fn or _is_leaf_value
        return {
            k: _mapped(self, k, v, filter_fn, map_fn, is_leaf)
            for k, v in self.items()
            if filter_fn(self, k, v)
        }

    def parameters(self) -> dict[str, Any]:
        """Return all arrays of this module and those below it, as a tree.

        >>> nn.Linear(2, 1, bias=False).parameters()["weight"].shape
        (1, 2)
        """
        return self.filter_and_map(self.valid_parameter_filter)

    def trainable_parameters(self) -> dict[str, Any]:
        """Return the parameters that are not frozen, as a tree.

        >>> nn.Linear(2, 1).freeze().trainable_parameters()
        {}
        """
        return self.filter_and_map(self.trainable_parameter_filter)

    def children(self) -> dict[str, Any]:
        """Return the modules directly below this one, as a tree.

        >>> nn.Sequential(nn.ReLU()).children()
        {'layers': [ReLU()]}
        """
        return self.filter_and_map(
            self.valid_child_filter, is_leaf_fn=lambda m, k, v: isinstance(v, Module)
        )

    def leaf_modules(self) -> dict[str, Any]:
        """Return the modules that have no modules below them, as a tree.

        >>> nn.Sequential(nn.Sequential(nn.ReLU())).leaf_modules()
        {'layers': [{'layers': [ReLU()]}]}
        """
        return self.filter_and_map(self.valid_child_filter, is_leaf_fn=_is_bottom_module)

    def _walk(self, path: str = "") -> Iterator[tuple[str, Module]]:
        yield path, self
        children = tree_flatten(self.children(), prefix=path, is_leaf=self.is_module)
        for child_path, child in reversed(children):
            yield from child._walk(child_path)

    def named_modules(self) -> list[tuple[str, Module]]:
        """List this module (named ``""``) and all below it with their paths; the last child first.

        >>> [path for path, _ in nn.Sequential(nn.ReLU(), nn.Tanh()).named_modules()]
        ['', 'layers.1', 'layers.0']
        """
        return list(self._walk())

    def modules(self) -> list[Module]:
        """List this module and all below it, in the order of :meth:`named_modules`."""
        return [module for _, module in self._walk()]

    # Changing the tree

    def update(self, parameters: dict[str, Any], strict: bool = True) -> Module:  # type: ignore[override]
        """Replace the parameters that occur in a tree. Shapes are not compared.

        Args:
            parameters: a tree like that of :meth:`parameters`; it may hold fewer.
            strict: whether to refuse what has no place.

        Returns:
            This module.

        Raises:
            ValueError: the tree names a parameter that does not exist or holds something else than
                an array, and ``strict`` is true.

        >>> layer = nn.Linear(2, 1).update({"bias": mx.array([5.0])})
        >>> layer.bias
        array([5], dtype=float32)
        """
        _graft(self, parameters, mx.array, "parameter", strict)
        return self

    def update_modules(self, modules: dict[str, Any], strict: bool = True) -> Module:
        """Replace the submodules that occur in a tree; ``{}`` leaves one alone.

        Args:
            modules: a tree like that of :meth:`children`; it may hold fewer.
            strict: whether to refuse what has no place.

        Returns:
            This module.

        Raises:
            ValueError: the tree names a submodule that does not exist or holds something else than
                a module, and ``strict`` is true.

        >>> nn.Sequential(nn.ReLU()).update_modules({"layers": [nn.Tanh()]})
        Sequential(
          (layers.0): Tanh()
        )
        """
        _graft(self, modules, Module, "sub-module", strict)
        return self

    def apply(
        self, map_fn: Callable[[mx.array], mx.array], filter_fn: Filter | None = None
    ) -> Module:
        """Replace parameters by a function of them.

        Args:
            map_fn: the function.
            filter_fn: ``filter_fn(module, key, value)`` selects parameters; all by default.

        Returns:
            This module.

        >>> nn.Linear(2, 1).apply(lambda p: p.astype(mx.float16)).weight.dtype
        mlx.core.float16
        """
        return self.update(self.filter_and_map(filter_fn or self.valid_parameter_filter, map_fn))

    def apply_to_modules(self, apply_fn: Callable[[str, Module], Any]) -> Module:
        """Call ``apply_fn(path, module)`` for this module and all below it.

        Args:
            apply_fn: the function.

        Returns:
            This module.
        """
        for path, module in self.named_modules():
            apply_fn(path, module)
        return self

    def set_dtype(
        self,
        dtype: mx.Dtype,
        predicate: Callable[[mx.Dtype], bool] | None = lambda x: mx.issubdtype(x, mx.floating),
    ) -> Module:
        """Cast parameters.

        Args:
            dtype: the new dtype.
            predicate: ``predicate(dtype)`` selects parameters; the real floating ones by default,
                all with ``None``.

        Returns:
            This module.

        >>> nn.Linear(2, 1).set_dtype(mx.bfloat16).weight.dtype
        mlx.core.bfloat16
        """
        return self.apply(
            lambda x: x.astype(dtype) if predicate is None or predicate(x.dtype) else x
        )

    # Training

    def freeze(
        self,
        *,
        recurse: bool = True,
        keys: str | list[str] | None = None,
        strict: bool = False,
    ) -> Module:
        """Take parameters out of :meth:`trainable_parameters`.

        Args:
            recurse: whether to do so in all modules below too.
            keys: the parameters' names within their modules; all by default.
            strict: whether each of ``keys`` has to be in one of these modules.

        Returns:
            This module.

        Raises:
            KeyError: one of ``keys`` is in no module, and ``strict`` is true.

        >>> sorted(nn.Linear(2, 1).freeze(keys="bias").trainable_parameters())
        ['weight']
        """

        modules = self.modules() if recurse else [self]
        names = _checked_names(modules, keys, strict)
        for module in modules:
            if names is None:
                own = tree_flatten(module.filter_and_map(_is_selected_parameter))
                module._no_grad.update(path for path, _ in own)
            else:
                module._no_grad.update(names)
        return self

    def unfreeze(
        self,
        *,
        recurse: bool = True,
        keys: str | list[str] | None = None,
        strict: bool = False,
    ) -> Module:
        """Undo :meth:`freeze`, with the same arguments.

        Each module below is asked by its own ``unfreeze``, so that a layer can keep frozen what
        must not be trained, as the running statistics of :class:`BatchNorm`.

        Args:
            recurse: whether to do so in all modules below too.
            keys: the parameters' names within their modules; all by default.
            strict: whether each of ``keys`` has to be in one of these modules.

        Returns:
            This module.

        Raises:
            KeyError: one of ``keys`` is in no module, and ``strict`` is true.
        """
        modules = self.modules() if recurse else [self]
        names = _checked_names(modules, keys, strict)
        if names is None:
            self._no_grad.clear()
        else:
            self._no_grad.difference_update(names)
        for module in modules[1:]:
            module.unfreeze(recurse=False, keys=keys)
        return self

    def train(self, mode: bool = True) -> Module:
        """Set this module and all below it to training mode.

        Args:
            mode: false for evaluation mode.

        Returns:
            This module.
        """
        for module in self.modules():
            module._set_training_mode(mode)
        return self

    def _set_training_mode(self, mode: bool) -> None:
        """Set the mode of this module alone."""
        self._training = mode

    def eval(self) -> Module:
        """Set this module and all below it to evaluation mode.

        Returns:
            This module.
        """
        return self.train(False)

    # Files

    def load_weights(
        self,
        file_or_weights: str | os.PathLike[str] | list[tuple[str, mx.array]] | dict[str, mx.array],
        strict: bool = True,
    ) -> Module:
        """Replace parameters by those of a file or a list.

        Args:
            file_or_weights: the name of a ``.npz`` or ``.safetensors`` file, or pairs of path and
                array.
            strict: whether names and shapes have to be exactly those of the module, or nothing is
                replaced. Otherwise what has no place is skipped, and shapes may change.

        Returns:
            This module.

        Raises:
            ValueError: names or shapes do not fit, or a value is no array, and ``strict`` is true.
        """
        if isinstance(file_or_weights, (str, os.PathLike)):
            loaded: Any = mx.load(os.fspath(file_or_weights))
            weights = dict(loaded)
        else:
            weights = dict(file_or_weights)
        if strict:
            self._check_weights(weights)
        if weights:
            self.update(tree_unflatten(list(weights.items())), strict=False)
        return self

    def _check_weights(self, weights: dict[str, mx.array]) -> None:
        mine = dict(tree_flatten(self.parameters()))
        for names, text in (
            (weights.keys() - mine.keys(), "Received {} parameters not in model: \n{}."),
            (mine.keys() - weights.keys(), "Missing {} parameters: \n{}."),
        ):
            if names:
                raise ValueError(text.format(len(names), ",\n".join(sorted(names))))
        for name, old in mine.items():
            new = weights[name]
            if not isinstance(new, mx.array):
                raise ValueError(f"Expected mx.array but received {type(new)} for parameter {name}")
            if new.shape != old.shape:
                raise ValueError(
                    f"Expected shape {old.shape} but received shape {new.shape}"
                    f" for parameter {name}"
                )

    def save_weights(self, file: str | os.PathLike[str]) -> None:
        """Write all parameters to a ``.npz`` or ``.safetensors`` file.

        Args:
            file: its name.

        Raises:
            ValueError: the name has another extension.
        """
        file = os.fspath(file)
        weights = dict(tree_flatten(self.parameters()))
        if file.endswith(".npz"):
            mx.savez(file, **weights)
        elif file.endswith(".safetensors"):
            mx.save_safetensors(file, weights)
        else:
            raise ValueError(
                f"Unsupported file extension for {file}. Use '.npz' or '.safetensors'."
            )
