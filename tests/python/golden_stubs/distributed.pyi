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

    def __eq__(self, other: object | None) -> bool:
        """True for the same group."""

    def __hash__(self) -> int: ...

    def __reduce__(self) -> tuple:
        """For pickling: the group of all processes."""

def all_sum(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the sum over the processes of a group, to each of them.

    16-bit floats are added in float32. With the engines `ring` and threads, the order of
    additions depends on the number of processes alone.

    Args:
        x: an array of one shape and dtype in all processes.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        An array of the shape of `x`.

    Raises:
        CommunicationError: when it is evaluated, where ranks disagree or one is lost.

    Example:
        >>> mx.distributed.all_sum(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def all_max(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the maximum over the processes of a group, to each of them.

    Args:
        x: an array of one shape and dtype in all processes.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        An array of the shape of `x`.

    Raises:
        CommunicationError: when it is evaluated, where ranks disagree or one is lost.

    Example:
        >>> mx.distributed.all_max(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def all_min(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the minimum over the processes of a group, to each of them.

    Args:
        x: an array of one shape and dtype in all processes.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        An array of the shape of `x`.

    Raises:
        CommunicationError: when it is evaluated, where ranks disagree or one is lost.

    Example:
        >>> mx.distributed.all_min(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def all_gather(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the arrays of the processes of a group, joined along the first axis.

    Args:
        x: an array of one shape and dtype in all processes.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        An array with as many times the rows of `x` as there are processes; of scalars a vector.

    Raises:
        CommunicationError: when it is evaluated, where ranks disagree or one is lost.

    Example:
        >>> mx.distributed.all_gather(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def sum_scatter(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return a part of the sum over the processes of a group: to each process its own.

    Args:
        x: an array of one shape and dtype in all processes.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        An array: the first axis divided by the number of processes.

    Raises:
        ValueError: the processes do not divide the first axis.
        CommunicationError: when it is evaluated, where ranks disagree or one is lost.

    Example:
        >>> mx.distributed.sum_scatter(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def all_to_all(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Exchange equal parts of the first axis: part j goes to process j.

    Args:
        x: an array of one shape and dtype in all processes.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        An array of the shape of `x`: the parts of all processes for this one, in their order.

    Raises:
        ValueError: the processes do not divide the first axis.
        CommunicationError: when it is evaluated, where ranks disagree or one is lost.

    Example:
        >>> mx.distributed.all_to_all(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def broadcast(x: array, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the array of one process, to each of them.

    Args:
        x: an array of one shape and dtype in all processes.
        src: the rank of the process whose array it is.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        An array of the shape of `x`.

    Raises:
        ValueError: no process has that rank.
        CommunicationError: when it is evaluated, where ranks disagree or one is lost.

    Example:
        >>> mx.distributed.broadcast(mx.array([1, 2]), 0)
        array([1, 2], dtype=int32)
    """

def send(x: array, dst: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Send an array to another process.

    Evaluating the result sends; it does not wait for the other process.

    Args:
        x: the array.
        dst: the rank of the process.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        The array `x`.

    Raises:
        ValueError: there is no other process, or none of that rank; a derivative reaches the result.
        CommunicationError: when it is evaluated, where the other process does something else.
    """

def recv(shape: Sequence[int], dtype: Dtype, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Receive an array from another process.

    Args:
        shape: its shape.
        dtype: its dtype.
        src: the rank of the process.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        The array.

    Raises:
        ValueError: there is no other process, or none of that rank; the function that it is called in
            is compiled or exported; a derivative reaches the result.
        CommunicationError: when it is evaluated, where the other process does something else.
    """

def recv_like(x: array, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """
    Receive an array of the shape and dtype of another one from another process.

    Args:
        x: an array that gives the shape and the dtype.
        src: the rank of the process.
        group: the group; all processes by default.
        stream: accepted for compatibility: collectives run on a queue of their own.

    Returns:
        The array.

    Raises:
        ValueError: there is no other process, or none of that rank; the function that it is called in
            is compiled or exported; a derivative reaches the result.
        CommunicationError: when it is evaluated, where the other process does something else.
    """

def barrier(*, group: Group | None = None) -> None:
    """
    Wait until all processes of a group have called it.

    What the process asked its groups for and has started to evaluate runs before.

    Args:
        group: the group; all processes by default.

    Raises:
        ValueError: the function that it is called in is compiled or exported.
        CommunicationError: a process does something else, or is lost.

    Example:
        >>> mx.distributed.barrier()
    """

def is_available(backend: str = 'any') -> bool:
    """
    Test whether processes can be connected.

    Args:
        backend: the name of an engine; 'any' by default.

    Returns:
        True for 'any' and 'ring', and for 'mpi' if its library can be opened.

    Example:
        >>> mx.distributed.is_available()
        True
    """

def init(strict: bool = False, backend: str = 'any', *, all_gather_factory: object | None = None, timeout: float | None = None) -> Group:
    """
    Return the group of all processes that were started together.

    A launcher describes them by environment variables: `mlx.launch` sets `MLX_HOSTFILE` and
    `MLX_RANK`; torchrun, launchers of MPI and srun of Slurm set variables of their own. Without them
    the process is alone, and collectives change nothing. The second call returns the same group.

    Args:
        strict: whether an error is raised if there are no other processes; False by default.
        backend: the name of an engine: 'ring', 'mpi' or 'nccl'; or 'any', the default, which follows
            the variables. With those of torchrun and Slurm it is 'nccl' where the default device is a
            GPU and the library is there, else 'ring'.
        all_gather_factory: accepted with the backend 'jaccl', which is not available.
        timeout: seconds without progress after which a message fails; by default those of
            `MLX_DISTRIBUTED_TIMEOUT`, else 1800.

    Returns:
        A `Group`.

    Raises:
        ExecutionError: `strict` is True and nothing launched the process, or a variable makes no sense.
        CommunicationError: the processes do not find each other.

    Example:
        >>> mx.distributed.init().size()
        1
    """

def simulate(fn: Callable[[], object], size: int) -> list[object]:
    """
    Evaluate a function as several processes would, in threads of this process.

    In each thread, `init` returns a group with the ranks from 0 to `size - 1`. Sums have the bits that
    as many processes with the engine `ring` compute. An exception in one rank ends the others.

    Args:
        fn: a function without arguments.
        size: the number of ranks.

    Returns:
        A list with the result of each rank.

    Raises:
        Exception: what the rank that failed first raised.

    Example:
        >>> mx.distributed.simulate(lambda: mx.distributed.all_sum(mx.array(2.0)).item(), 3)
        [6.0, 6.0, 6.0]
    """

def status() -> dict[str, object]:
    """
    Return what the groups of this process did so far.

    Returns:
        A dictionary: `engine` ('ring', 'mpi', 'nccl', 'threads' or 'none'), `rank`, `size`, the
        number of `messages`, their `bytes`, `failure`: why the groups do not work any more, or
        None, and `library`: name and version of the MPI or NCCL that is used, or None.

    Example:
        >>> mx.distributed.status()["engine"]
        'none'
    """
