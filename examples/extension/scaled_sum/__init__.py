"""An operation written in C++."""

import mlx.core as _  # noqa: F401, arrays must be known first

from ._ext import scaled_sum

__all__ = ["scaled_sum"]
