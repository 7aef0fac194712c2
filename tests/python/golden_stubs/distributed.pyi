"""Groups of processes and collectives over them."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

class Group:
    """Processes that compute together."""

    def rank(self) -> int:
        """This process's place in the group."""

    def size(self) -> int:
        """Number of processes."""

    def split(self, color: int, key: int = -1) -> Group:
        """The members of the same color, ordered by key."""

    def __copy__(self) -> object: ...

    def __deepcopy__(self, arg: object, /) -> object: ...

    def __reduce__(self) -> tuple:
        """For pickling: the group of all processes, which is the only one."""

def all_sum(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the sum over the processes of a group, to each of them.

    Args:
        x: an array of one shape in all processes.
        group: the group; all processes by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `x`.

    Example:
        >>> mx.distributed.all_sum(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def all_max(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the maximum over the processes of a group, to each of them.

    Args:
        x: an array of one shape in all processes.
        group: the group; all processes by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `x`.

    Example:
        >>> mx.distributed.all_max(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def all_min(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the minimum over the processes of a group, to each of them.

    Args:
        x: an array of one shape in all processes.
        group: the group; all processes by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `x`.

    Example:
        >>> mx.distributed.all_min(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def all_gather(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the arrays of the processes of a group, joined along the first axis.

    Args:
        x: an array of one shape in all processes.
        group: the group; all processes by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array.

    Example:
        >>> mx.distributed.all_gather(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def sum_scatter(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return a part of the sum over the processes of a group: to each process its own.

    Args:
        x: an array of one shape in all processes.
        group: the group; all processes by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array.

    Example:
        >>> mx.distributed.sum_scatter(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def send(x: array, dst: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Send an array to another process.

    Args:
        x: the array.
        dst: the rank of the process.
        group: the group; all processes by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array that stands for the end of the transfer.

    Raises:
        ValueError: there is no other process.
    """

def recv(shape: Sequence[int], dtype: Dtype, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Receive an array from another process.

    Args:
        shape: its shape.
        dtype: its dtype.
        src: the rank of the process.
        group: the group; all processes by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        The array.

    Raises:
        ValueError: there is no other process.
    """

def recv_like(x: array, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Receive an array of the shape and dtype of another one from another process.

    Args:
        x: an array that gives the shape and the dtype.
        src: the rank of the process.
        group: the group; all processes by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        The array.

    Raises:
        ValueError: there is no other process.
    """

def is_available(backend: str = 'any') -> bool:
    """
    Test whether processes can be connected.

    Args:
        backend: the name of an engine; 'any' by default.

    Returns:
        True or False: no engine is built in.

    Example:
        >>> mx.distributed.is_available()
        False
    """

def init(strict: bool = False, backend: str = 'any', *, all_gather_factory: object | None = None) -> Group:
    """
    Return the group of all processes: this one alone, as no engine is built in.

    Args:
        strict: whether an error is raised if processes cannot be connected; False by default.
        backend: the name of an engine; 'any' by default.
        all_gather_factory: accepted for compatibility; it changes nothing.

    Returns:
        A `Group`.

    Raises:
        RuntimeError: `strict` is True.

    Example:
        >>> mx.distributed.init().size()
        1
    """
