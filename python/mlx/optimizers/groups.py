"""Groups of parameters with settings of their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import mlx.core as mx
from mlx.optimizers.base import MultiOptimizer, Optimizer, _Tree
from mlx.utils import tree_flatten

Rule = str | Callable[[str, mx.array], bool]


class _Pattern:
    """The filter of a pattern of paths; a class, so that it pickles."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __call__(self, path: str, x: mx.array) -> bool:
        return fnmatchcase(path, self.pattern) or fnmatchcase(path, f"{self.pattern}.*")


def _filter_of(rule: Any) -> Callable[..., Any]:
    """The filter of a rule."""
    if isinstance(rule, str):
        return _Pattern(rule)
    if callable(rule):
        return rule
    raise TypeError(
        f"[ParameterGroups] a rule for {rule!r}; a pattern of paths or a function of path and"
        " gradient is accepted"
    )


class ParameterGroups(MultiOptimizer):
    """Divide the parameters among optimizers of one kind, by rules with settings of their own.

    A pattern, as ``"*.bias"`` or ``"layers.0"``, fits a path that it describes by ``*``, ``?`` and
    ``[...]`` (``*`` includes dots) and all paths below. A parameter follows the first rule that
    fits it; settings that the rule lacks are those of the parameters without a rule. A pattern that
    fits no path when the state is made gives a warning.

    Args:
        optimizer: the class of the optimizer, or a function of settings that returns one.
        rules: settings by pattern, or pairs of a pattern, or ``rule(path, gradient)``, and
            settings.
        settings: the settings of parameters without a rule.

    Raises:
        TypeError: a rule is neither a pattern nor a function, its settings are not a dict, or the
            optimizer has no setting of that name.

    >>> optimizer = optim.ParameterGroups(
    ...     optim.AdamW, {"head": {"learning_rate": 1e-2}, "*.bias": {"weight_decay": 0.0}},
    ...     learning_rate=1e-3, weight_decay=0.1,
    ... )
    >>> for group in optimizer.optimizers:
    ...     print(f"{group.learning_rate.item():.3f}", group.weight_decay)
    0.010 0.1
    0.001 0.0
    0.001 0.1
    >>> model = {"head": {"bias": mx.zeros(2)}, "body": {"weight": mx.zeros((2, 2))}}
    >>> optimizer.paths(model)
    [['head.bias'], [], ['body.weight']]
    """

    def __init__(
        self,
        optimizer: Callable[..., Optimizer],
        rules: Mapping[Any, Mapping[str, Any]] | Sequence[tuple[Rule, Mapping[str, Any]]],
        **settings: Any,
    ) -> None:
        if isinstance(optimizer, Optimizer):
            kind = type(optimizer).__name__
            raise TypeError(
                f"[ParameterGroups] optimizer is an object of {kind}; a class is accepted, with the"
                " settings as further arguments"
            )
        pairs = list(rules.items() if isinstance(rules, Mapping) else rules)
        for rule, own in pairs:
            if not isinstance(own, Mapping):
                raise TypeError(
                    f"[ParameterGroups] {own!r} as the settings of {rule!r}; a dict of settings is"
                    " accepted"
                )
        filters = [_filter_of(rule) for rule, _ in pairs]
        every = [dict(own) for _, own in pairs] + [{}]
        super().__init__([optimizer(**{**settings, **own}) for own in every], filters)
        self.rules = [rule for rule, _ in pairs]
        self._has_rate = ["learning_rate" in own for own in every]

    def __repr__(self) -> str:
        names = [
            rule if isinstance(rule, str) else getattr(rule, "__qualname__", repr(rule))
            for rule in self.rules
        ]
        groups = zip([*names, "others"], self.optimizers, strict=True)
        return f"ParameterGroups({'; '.join(f'{name}: {group!r}' for name, group in groups)})"

    def paths(self, parameters: _Tree) -> list[list[str]]:
        """Return the paths of the parameters of each group, the group without a rule last.

        Args:
            parameters: a tree of parameters.
        """
        return [[path for path, _ in tree_flatten(part)] for part in self._divide(parameters)]

    def init(self, parameters: _Tree) -> None:
        """Make the state of all parameters that have none.

        Args:
            parameters: a tree of parameters.
        """
        leaves = tree_flatten(parameters)
        for rule, accepts in zip(self.rules, self.filters, strict=False):
            if isinstance(rule, str) and not any(accepts(path, x) for path, x in leaves):
                warnings.warn(
                    f"[ParameterGroups] the pattern {rule!r} fits none of {len(leaves)} parameters"
                    + (f", such as {leaves[0][0]!r}" if leaves else ""),
                    stacklevel=3,
                )
        super().init(parameters)

    @property
    def learning_rate(self) -> mx.array:
        """Return the rate of parameters without a rule.

        Setting it sets the rates of all groups whose rule has none; the others are those of
        ``optimizers[i]``.
        """
        return self.optimizers[-1].learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: float | mx.array) -> None:
        for optimizer, has_rate in zip(self.optimizers, self._has_rate, strict=True):
            if not has_rate:
                optimizer.learning_rate = learning_rate
