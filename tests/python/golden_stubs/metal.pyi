"""Compatibility with programs for Apple GPUs."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

def get_active_memory() -> int:
    """
    Return the number of bytes in use by arrays.

    Returns:
        An int.

    Example:
        >>> mx.get_active_memory() >= 0
        True
    """

def get_peak_memory() -> int:
    """
    Return the largest number of bytes that were in use since the start or the last reset.

    Returns:
        An int.

    Example:
        >>> mx.get_peak_memory() >= mx.get_active_memory()
        True
    """

def get_cache_memory() -> int:
    """
    Return the number of freed bytes that are kept for reuse.

    Returns:
        An int.

    Example:
        >>> mx.get_cache_memory() >= 0
        True
    """

def set_memory_limit(limit: int) -> int:
    """
    Set the number of bytes in use above which cached memory is released first.

    Args:
        limit: the number of bytes.

    Returns:
        The former limit.

    Example:
        >>> former = mx.set_memory_limit(2**30)
        >>> mx.set_memory_limit(former)
        1073741824
    """

def set_cache_limit(limit: int) -> int:
    """
    Set the largest number of freed bytes that are kept for reuse.

    Args:
        limit: the number of bytes; 0 keeps nothing.

    Returns:
        The former limit.

    Example:
        >>> former = mx.set_cache_limit(2**20)
        >>> mx.set_cache_limit(former)
        1048576
    """

def set_wired_limit(limit: int) -> int:
    """
    Accept a limit for compatibility; it has no effect.

    Args:
        limit: the number of bytes.

    Returns:
        The former limit.

    Example:
        >>> former = mx.set_wired_limit(0)
    """

def reset_peak_memory() -> None:
    """
    Set the peak of memory to what is in use now.

    Example:
        >>> mx.reset_peak_memory()
    """

def clear_cache() -> None:
    """
    Release the freed memory that is kept for reuse.

    Example:
        >>> mx.clear_cache()
        >>> mx.get_cache_memory()
        0
    """

def is_available() -> bool:
    """True where Metal is there."""

def device_info() -> dict[str, str | int]:
    """Properties of the Metal device; empty where there is none."""

def start_capture(path: str) -> None:
    """
    Starts a capture of the Metal device; raises: captures are not supported.
    """

def stop_capture() -> None:
    """
    Ends a capture of the Metal device; raises: captures are not supported.
    """
