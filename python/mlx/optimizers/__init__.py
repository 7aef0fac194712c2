"""Optimizers and schedules for their settings."""

from typing import TYPE_CHECKING

import mlx.core as mx  # noqa: F401
from mlx._names import OPTIMIZERS, Missing
from mlx.nn import Module as Module
from mlx.optimizers.adam_variants import (
    NAdam as NAdam,
    RAdam as RAdam,
)
from mlx.optimizers.groups import ParameterGroups as ParameterGroups
from mlx.optimizers.lbfgs import LBFGS as LBFGS
from mlx.optimizers.optimizers import (
    SGD as SGD,
    AdaDelta as AdaDelta,
    Adafactor as Adafactor,
    Adagrad as Adagrad,
    Adam as Adam,
    Adamax as Adamax,
    AdamW as AdamW,
    Lion as Lion,
    MultiOptimizer as MultiOptimizer,
    Muon as Muon,
    Optimizer as Optimizer,
    RMSprop as RMSprop,
    clip_grad_norm as clip_grad_norm,
)
from mlx.optimizers.schedulers import (
    ReduceOnPlateau as ReduceOnPlateau,
    cosine_decay as cosine_decay,
    cosine_warm_restarts as cosine_warm_restarts,
    exponential_decay as exponential_decay,
    join_schedules as join_schedules,
    linear_schedule as linear_schedule,
    one_cycle as one_cycle,
    step_decay as step_decay,
)
from mlx.optimizers.wrappers import (
    GradientAccumulator as GradientAccumulator,
    MixedPrecision as MixedPrecision,
)
from mlx.utils import (
    tree_flatten as tree_flatten,
    tree_map as tree_map,
    tree_merge as tree_merge,
    tree_reduce as tree_reduce,
    tree_unflatten as tree_unflatten,
)

if not TYPE_CHECKING:  # a type checker would accept every name
    __getattr__ = Missing("mlx.optimizers", {"PyTorch": OPTIMIZERS})
del OPTIMIZERS, TYPE_CHECKING, Missing
