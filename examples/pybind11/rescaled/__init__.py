"""An extension module written with pybind11."""

from rescaled._ext import rescaled

__all__ = ["rescaled"]
