"""Neural networks: modules, layers, activation functions, losses and initialisers."""

from typing import TYPE_CHECKING

from mlx._names import FUNCTIONS, LAYERS, Missing
from mlx.nn import init as init, losses as losses, utils as utils
from mlx.nn.layers import *  # noqa: F403
from mlx.nn.utils import average_gradients as average_gradients, value_and_grad as value_and_grad

if not TYPE_CHECKING:  # a type checker would accept every name
    __getattr__ = Missing("mlx.nn", {"PyTorch": LAYERS, "JAX": FUNCTIONS})
del FUNCTIONS, LAYERS, TYPE_CHECKING, Missing
