"""Compatibility with programs for Apple GPUs."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

def get_active_memory() -> int:
    """Bytes in use by arrays."""

def get_peak_memory() -> int:
    """The maximum number of bytes in use since the start or the last reset."""

def get_cache_memory() -> int:
    """Bytes of freed memory that are kept for reuse."""

def set_memory_limit(limit: int) -> int:
    """
    Sets the number of bytes above which cached memory is released first; returns the previous limit.
    """

def set_cache_limit(limit: int) -> int:
    """
    Sets the maximum size of the cache in bytes; returns the previous limit.
    """

def set_wired_limit(limit: int) -> int:
    """Accepted for compatibility; returns the previous limit."""

def reset_peak_memory() -> None:
    """Sets the peak to the current use."""

def clear_cache() -> None:
    """Releases the cached memory."""

def is_available() -> bool:
    """True where Metal is there."""

def device_info() -> dict[str, str | int]:
    """Properties of the Metal device; empty where there is none."""

def start_capture(path: str) -> None:
    """Starts a capture of the Metal device; raises where there is none."""

def stop_capture() -> None:
    """Ends a capture of the Metal device; raises where there is none."""
