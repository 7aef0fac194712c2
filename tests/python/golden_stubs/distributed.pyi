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
    """The sum over the group, given to every member."""

def all_max(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The maximum over the group, given to every member."""

def all_min(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The minimum over the group, given to every member."""

def all_gather(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The members' arrays joined along the first axis."""

def sum_scatter(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The sum over the group, of which each member gets its share."""

def send(x: array, dst: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """Sends `x` to the member `dst`."""

def recv(shape: Sequence[int], dtype: Dtype, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """Receives an array from the member `src`."""

def recv_like(x: array, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """Receives an array of the shape and dtype of `x`."""

def is_available(backend: str = 'any') -> bool:
    """True where an engine of that name connects processes."""

def init(strict: bool = False, backend: str = 'any', *, all_gather_factory: object | None = None) -> Group:
    """The group of all processes: this one alone, as no engine is built in."""
