"""Neural networks: modules, layers, activation functions, losses and initialisers."""

from mlx.nn import init as init, losses as losses, utils as utils
from mlx.nn.layers import *  # noqa: F403
from mlx.nn.utils import average_gradients as average_gradients, value_and_grad as value_and_grad
