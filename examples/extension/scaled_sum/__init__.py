"""An operation written in C++."""

from ._ext import scaled_sum

__all__ = ["scaled_sum"]
