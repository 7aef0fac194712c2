"""
Arrays computed lazily, functions on them, and transformations of such functions.
"""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import cuda as cuda
from mlx.core import distributed as distributed
from mlx.core import fast as fast
from mlx.core import fft as fft
from mlx.core import linalg as linalg
from mlx.core import metal as metal
from mlx.core import random as random
from mlx.core import special as special

P = ParamSpec("P")
R = TypeVar("R")
scalar: TypeAlias = int | float | bool | complex
list_or_scalar: TypeAlias = scalar | list["list_or_scalar"]
StreamOrDevice: TypeAlias = "Stream | ThreadLocalStream | Device | DeviceType | None"
ScalarOrArray: TypeAlias = "scalar | array | SupportsArray | DLPackCompatible"
ArrayInput: TypeAlias = (
    "scalar | Sequence[Any] | array | SupportsArray | SupportsNumpyArray | DLPackCompatible"
)
file: TypeAlias = IO[bytes]
bool_: Dtype


class SupportsArray(Protocol):
    def __mlx_array__(self) -> array: ...


class SupportsNumpyArray(Protocol):
    def __array__(self) -> Any: ...


class DLPackCompatible(Protocol):
    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


from collections.abc import Callable
import enum
import pathlib
import types
from typing import NamedTuple, overload

import numpy


class ArrayIndexError(IndexError, ValueError):
    """An axis, index or mask is out of range."""

class SizeError(OverflowError, ValueError):
    """A number is not representable in the required type."""

class ExecutionError(RuntimeError, ValueError):
    """A computation failed during execution."""

class LinAlgError(ExecutionError):
    """
    A matrix does not have the requested factorisation, inverse or solution.
    """

class CommunicationError(ExecutionError):
    """
    Processes that work together disagree, or one of them is lost, late or gone.
    """

class FileError(RuntimeError, ValueError):
    """A file cannot be read or written."""

class ArrayMemoryError(MemoryError, RuntimeError):
    """An allocation would exceed the memory limit."""

class ArgumentError(TypeError, ValueError):
    """An argument has a type that is not accepted."""

pi: float = 3.141592653589793

e: float = 2.718281828459045

euler_gamma: float = 0.5772156649015329

inf: float = float('inf')

nan: float = float('nan')

newaxis: None = None

class Dtype:
    """The type of an array's elements."""

    @property
    def size(self) -> int:
        """Bytes of an element."""

    def __repr__(self) -> str:
        """The qualified name."""

    def __eq__(self, arg: object, /) -> bool:
        """True for the same dtype."""

    def __hash__(self) -> int:
        """A number by dtype."""

    @property
    def __numpy_dtype__(self) -> Any:
        """The dtype of NumPy that numpy.dtype(...) gives, from version 2.4 on."""

    def __reduce__(self) -> str:
        """The name in mlx.core, for pickling."""

uint8: Dtype = ...

uint16: Dtype = ...

uint32: Dtype = ...

uint64: Dtype = ...

int8: Dtype = ...

int16: Dtype = ...

int32: Dtype = ...

int64: Dtype = ...

float16: Dtype = ...

float32: Dtype = ...

float64: Dtype = ...

bfloat16: Dtype = ...

complex64: Dtype = ...

complex128: Dtype = ...

class DtypeCategory(enum.Enum):
    """Families of dtypes, for issubdtype."""

    complexfloating = 0

    floating = 1

    inexact = 2

    signedinteger = 3

    unsignedinteger = 4

    integer = 5

    number = 6

    generic = 7

complexfloating: DtypeCategory = DtypeCategory.complexfloating

floating: DtypeCategory = DtypeCategory.floating

inexact: DtypeCategory = DtypeCategory.inexact

signedinteger: DtypeCategory = DtypeCategory.signedinteger

unsignedinteger: DtypeCategory = DtypeCategory.unsignedinteger

integer: DtypeCategory = DtypeCategory.integer

number: DtypeCategory = DtypeCategory.number

generic: DtypeCategory = DtypeCategory.generic

class finfo:
    """Limits of a floating dtype, or of a complex dtype's parts."""

    def __init__(self, arg: object, /) -> None: ...

    @property
    def bits(self) -> int:
        """Bits of an element."""

    @property
    def dtype(self) -> Dtype:
        """The dtype."""

    @property
    def min(self) -> float:
        """Smallest finite number."""

    @property
    def max(self) -> float:
        """Largest finite number."""

    @property
    def eps(self) -> float:
        """Distance from 1 to the next number."""

    @property
    def smallest_normal(self) -> float:
        """Smallest positive normal number."""

    def __repr__(self) -> str:
        """The limits."""

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling."""

class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, arg: object, /) -> None: ...

    @property
    def bits(self) -> int:
        """Bits of an element."""

    @property
    def dtype(self) -> Dtype:
        """The dtype."""

    @property
    def min(self) -> int:
        """Smallest number."""

    @property
    def max(self) -> int:
        """Largest number."""

    def __repr__(self) -> str:
        """The limits."""

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling."""

def issubdtype(arg1: Dtype | DtypeCategory, arg2: Dtype | DtypeCategory) -> bool:
    """
    Test whether a dtype, or a category of dtypes, belongs to another one.

    Args:
        arg1: a dtype or a category.
        arg2: a dtype or a category such as `mx.floating`.

    Returns:
        True or False.

    Example:
        >>> mx.issubdtype(mx.float16, mx.floating)
        True
    """

def result_type(*arrays_and_dtypes: array | Dtype | scalar) -> Dtype:
    """
    Return the dtype that arrays, dtypes and scalars are promoted to.

    Args:
        arrays_and_dtypes: arrays, dtypes and Python scalars.

    Returns:
        A `Dtype`.

    Example:
        >>> mx.result_type(mx.int32, mx.float16)
        mlx.core.float16
    """

def can_cast(from_: array | Dtype, to: Dtype) -> bool:
    """
    Test whether promotion converts a dtype to another one.

    Args:
        from_: a dtype, or an array whose dtype counts.
        to: a dtype.

    Returns:
        True or False.

    Example:
        >>> mx.can_cast(mx.int32, mx.float32)
        True
    """

def isdtype(dtype: Dtype, kind: Dtype | str | tuple[Dtype | str, ...]) -> bool:
    """
    Test whether a dtype is of a kind.

    Args:
        dtype: the dtype.
        kind: a dtype, a word such as 'integral' or 'real floating', or a tuple of them.

    Returns:
        True or False.

    Raises:
        ValueError: `kind` is another word.

    Example:
        >>> mx.isdtype(mx.int8, "signed integer")
        True
    """

class DeviceType(enum.Enum):
    """Kinds of processors."""

    cpu = 0

    gpu = 1

    def __eq__(self, arg: object, /) -> bool:
        """True for the same kind, and for its first device."""

    def __hash__(self) -> int:
        """A number by kind."""

cpu: DeviceType = DeviceType.cpu

gpu: DeviceType = DeviceType.gpu

class Device:
    """A device type and the index of one device of that type."""

    def __init__(self, type: DeviceType, index: int = 0) -> None: ...

    @property
    def type(self) -> DeviceType:
        """The kind."""

    @property
    def index(self) -> int:
        """Which one of its kind."""

    def __repr__(self) -> str:
        """The kind and the number."""

    def __eq__(self, arg: object, /) -> bool:
        """True for the same device, and for its kind where it is the first."""

    def __hash__(self) -> int:
        """A number by device."""

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling."""

class Stream:
    """A queue of work on a device; only its thread may use it."""

    @property
    def device(self) -> Device:
        """The device of the stream."""

    @property
    def index(self) -> int:
        """Its number."""

    def __repr__(self) -> str:
        """The device and the number."""

    def __eq__(self, arg: object, /) -> bool:
        """True for the same stream."""

    def __hash__(self) -> int:
        """A number by stream."""

    def __copy__(self) -> Any:
        """The stream itself."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """The stream itself."""

class ThreadLocalStream:
    """A stream that each thread has its own copy of."""

    @property
    def device(self) -> Device:
        """The device of the stream."""

    @property
    def index(self) -> int:
        """Its number."""

    def __repr__(self) -> str:
        """The device and the number."""

    def __eq__(self, arg: object, /) -> bool:
        """True for the same stream."""

    def __hash__(self) -> int:
        """A number by stream."""

    def __copy__(self) -> Any:
        """The stream itself."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """The stream itself."""

class StreamContext:
    """A `with` block with a default stream."""

    def __init__(self, s: object) -> None: ...

    def __enter__(self) -> None:
        """Makes the stream the default."""

    def __exit__(self, exc_type: type | None = None, exc_value: object | None = None, traceback: object | None = None) -> None:
        """Puts the earlier default back."""

def stream(s: Stream | ThreadLocalStream | Device | DeviceType) -> StreamContext:
    """
    Return a context in which a stream, or the default stream of a device, is the default.

    The default changes for the thread that enters the block. Other threads keep their
    defaults, and so do threads that start in the block.

    Args:
        s: the stream or device.

    Returns:
        A `StreamContext` for a `with` statement.

    Example:
        >>> with mx.stream(mx.new_stream(mx.cpu)):
        ...     y = mx.add(1, 2)
    """

def default_device() -> Device:
    """
    Return the device on which arrays are computed unless another one is named.

    Returns:
        A `Device`.

    Example:
        >>> mx.default_device()
        Device(cpu, 0)
    """

def set_default_device(device: Device | DeviceType) -> None:
    """
    Set the device on which arrays are computed unless another one is named.

    Args:
        device: a device or a kind of device, such as `mx.cpu`.

    Raises:
        ValueError: there is no such device.

    Example:
        >>> mx.set_default_device(mx.cpu)
    """

def get_num_threads() -> int:
    """
    Return the number of threads that an operation on the CPU may use.

    Returns:
        An int: what `set_num_threads` set. At first the environment variable
        `MLX_NUM_THREADS`, or the number of cores that the process may use.

    Raises:
        RuntimeError: no number was set, and `MLX_NUM_THREADS` is malformed.

    Example:
        >>> mx.get_num_threads() >= 1
        True
    """

def set_num_threads(n: int) -> None:
    """
    Set the number of threads that an operation on the CPU may use.

    It counts the thread that runs the operation. Results do not depend on it.
    It may be called at any time, also while other threads evaluate: an operation
    that runs is finished first, with its current number of threads.

    Args:
        n: 1 to 1024; with 1, each operation is computed by the thread that runs it.

    Raises:
        ValueError: `n` is not from 1 to 1024.

    Example:
        >>> former = mx.get_num_threads()
        >>> mx.set_num_threads(2)
        >>> mx.get_num_threads()
        2
        >>> mx.set_num_threads(former)
    """

def default_stream(device: Device | DeviceType) -> Stream:
    """
    Return the default stream of the calling thread on a device.

    Args:
        device: a device or a kind of device.

    Returns:
        A `Stream`.

    Example:
        >>> mx.default_stream(mx.cpu).device
        Device(cpu, 0)
    """

def set_default_stream(stream: Stream) -> None:
    """
    Make a stream the default one of the calling thread on its device.

    Args:
        stream: the stream.

    Example:
        >>> mx.set_default_stream(mx.default_stream(mx.cpu))
    """

def new_stream(device: Device | DeviceType) -> Stream:
    """
    Make a stream of the calling thread: work on it runs in order, beside the work of other
    streams.

    Args:
        device: a device or a kind of device.

    Returns:
        A `Stream`.

    Example:
        >>> s = mx.new_stream(mx.cpu)
        >>> mx.add(1, 2, stream=s)
        array(3, dtype=int32)
    """

def new_thread_unsafe_stream(device: Device | DeviceType) -> Stream:
    """
    Make a stream that any thread may use. The program is responsible for the order of work.

    Args:
        device: a device or a kind of device.

    Returns:
        A `Stream`.

    Example:
        >>> s = mx.new_thread_unsafe_stream(mx.cpu)
        >>> mx.add(1, 2, stream=s)
        array(3, dtype=int32)
    """

def new_thread_local_stream(device: Device | DeviceType) -> ThreadLocalStream:
    """
    Make a stream of which each thread has a copy of its own.

    Args:
        device: a device or a kind of device.

    Returns:
        A `ThreadLocalStream`.

    Example:
        >>> s = mx.new_thread_local_stream(mx.cpu)
        >>> mx.add(1, 2, stream=s)
        array(3, dtype=int32)
    """

def clear_streams() -> None:
    """
    Wait for the streams of the calling thread and release them.

    Example:
        >>> import threading
        >>> thread = threading.Thread(target=mx.clear_streams)
        >>> thread.start(); thread.join()
    """

def synchronize(stream: StreamOrDevice = None) -> None:
    """
    Wait for all work that was submitted to a stream.

    Args:
        stream: the stream or device; None (default) for the default stream.

    Example:
        >>> mx.synchronize()
    """

def is_available(device: Device | DeviceType) -> bool:
    """
    Test whether a device exists.

    Args:
        device: a device or a kind of device.

    Returns:
        True or False.

    Example:
        >>> mx.is_available(mx.cpu)
        True
    """

def device_count(device_type: DeviceType) -> int:
    """
    Count the devices of a kind.

    Args:
        device_type: `mx.cpu` or `mx.gpu`.

    Returns:
        An int.

    Example:
        >>> mx.device_count(mx.cpu)
        1
    """

def device_info(d: None | Device | DeviceType = None) -> dict[str, str | int]:
    """
    Return the properties of a device: name, architecture, memory and others.

    Args:
        d: a device or a kind of device; the default device by default.

    Returns:
        A dict, which is empty if there is no such device.

    Example:
        >>> "architecture" in mx.device_info(mx.cpu)
        True
    """

class array:
    """An n-dimensional array, computed when its elements are first needed."""

    def __repr__(self) -> str: ...

    def __hash__(self) -> int: ...

    def __lt__(self, other: ScalarOrArray) -> array: ...

    def __le__(self, other: ScalarOrArray) -> array: ...

    def __eq__(self, other: object) -> array: ...  # type: ignore[override]

    def __ne__(self, other: object) -> array: ...  # type: ignore[override]

    def __gt__(self, other: ScalarOrArray) -> array: ...

    def __ge__(self, other: ScalarOrArray) -> array: ...

    def __iter__(self) -> ArrayIterator: ...

    def __init__(self: array, val: ArrayInput, dtype: Dtype | None = None) -> None:
        """
        Makes an array of a scalar, nested lists or tuples, or another array. Integers become int32 (int64 where needed), floats float32, complex numbers complex64; arrays keep their dtype, but foreign float64 and complex128 become float32 and complex64; `dtype` overrides all that.
        """

    def __add__(self, other: ScalarOrArray) -> array: ...

    def __radd__(self, other: ScalarOrArray) -> array: ...

    def __sub__(self, other: ScalarOrArray) -> array: ...

    def __rsub__(self, other: ScalarOrArray) -> array: ...

    def __mul__(self, other: ScalarOrArray) -> array: ...

    def __rmul__(self, other: ScalarOrArray) -> array: ...

    def __mod__(self, other: ScalarOrArray) -> array: ...

    def __rmod__(self, other: ScalarOrArray) -> array: ...

    def __divmod__(self, other: ScalarOrArray) -> tuple[array, array]: ...

    def __rdivmod__(self, other: ScalarOrArray) -> tuple[array, array]: ...

    def __pow__(self, other: ScalarOrArray) -> array: ...

    def __rpow__(self, other: ScalarOrArray) -> array: ...

    def __neg__(self) -> array: ...

    def __pos__(self) -> array: ...

    def __abs__(self) -> array: ...

    def __bool__(self) -> bool: ...

    def __invert__(self) -> array: ...

    def __lshift__(self, other: ScalarOrArray) -> array: ...

    def __rlshift__(self, other: ScalarOrArray) -> array: ...

    def __rshift__(self, other: ScalarOrArray) -> array: ...

    def __rrshift__(self, other: ScalarOrArray) -> array: ...

    def __and__(self, other: ScalarOrArray) -> array: ...

    def __rand__(self, other: ScalarOrArray) -> array: ...

    def __xor__(self, other: ScalarOrArray) -> array: ...

    def __rxor__(self, other: ScalarOrArray) -> array: ...

    def __or__(self, other: ScalarOrArray) -> array: ...

    def __ror__(self, other: ScalarOrArray) -> array: ...

    def __int__(self) -> int: ...

    def __float__(self) -> float: ...

    def __iadd__(self, other: ScalarOrArray) -> array: ...

    def __isub__(self, other: ScalarOrArray) -> array: ...

    def __imul__(self, other: ScalarOrArray) -> array: ...

    def __imod__(self, other: ScalarOrArray) -> array: ...

    def __ipow__(self, other: ScalarOrArray) -> array: ...

    def __ilshift__(self, other: ScalarOrArray) -> array: ...

    def __irshift__(self, other: ScalarOrArray) -> array: ...

    def __iand__(self, other: ScalarOrArray) -> array: ...

    def __ixor__(self, other: ScalarOrArray) -> array: ...

    def __ior__(self, other: ScalarOrArray) -> array: ...

    def __floordiv__(self, other: ScalarOrArray) -> array: ...

    def __rfloordiv__(self, other: ScalarOrArray) -> array: ...

    def __truediv__(self, other: ScalarOrArray) -> array: ...

    def __rtruediv__(self, other: ScalarOrArray) -> array: ...

    def __ifloordiv__(self, other: ScalarOrArray) -> array: ...

    def __itruediv__(self, other: ScalarOrArray) -> array: ...

    def __index__(self) -> int: ...

    def __matmul__(self, other: ScalarOrArray) -> array: ...

    def __rmatmul__(self, other: ScalarOrArray) -> array: ...

    def __imatmul__(self, other: ScalarOrArray) -> array: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: object) -> array: ...

    def __setitem__(self, index: object, value: ScalarOrArray | list_or_scalar) -> None: ...

    def __delitem__(self, index: object) -> None: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""

    @property
    def dtype(self) -> Dtype:
        """Type of the elements."""

    @property
    def ndim(self) -> int:
        """Number of axes."""

    @property
    def size(self) -> int:
        """Number of elements."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""

    @property
    def T(self) -> array:
        """The array with its axes reversed."""

    @property
    def mT(self) -> array:
        """The array with its last two axes exchanged."""

    @property
    def real(self) -> array:
        """The real parts."""

    @property
    def imag(self) -> array:
        """The imaginary parts."""

    def item(self) -> Any:
        """
        The only element as a Python scalar. Computes the array; raises ValueError where it has not exactly one element.
        """

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars. Computes the array."""

    def __array__(self, dtype: object | None = None, copy: object | None = None) -> numpy.ndarray:
        """The array as a NumPy array that shares its memory where it can."""

    def __array_namespace__(self, api_version: str | None = None) -> types.ModuleType:
        """The module that has the functions for arrays."""

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """
        A DLPack capsule that shares the array's memory: a GPU's for consumers that give a stream or ask for it, else the host's.
        """

    def __dlpack_device__(self) -> tuple[int, int]:
        """
        The DLPack device of the memory: (1, 0) for the CPU, (2, k) for the NVIDIA GPU k.
        """

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """
        The array's memory on an NVIDIA GPU (version 3); AttributeError where it is not on one.
        """

    def __complex__(self) -> complex:
        """The only element as a complex number."""

    def __bytes__(self) -> bytes:
        """The bytes of the elements in row-major order."""

    def copy(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return an array with the same elements and memory of its own.

        Assignments to elements change the array that is written alone; `b = a` gives a second name
        to the same array.

        Args:
            stream: the stream or device that computes the result; None is the default one.

        Returns:
            An array of the same shape and dtype.
        """

    def __copy__(self) -> array:
        """Another handle of the array."""

    def __deepcopy__(self, memo: dict[int, Any]) -> array:
        """Another handle of the array."""

    def __div__(self, other: ScalarOrArray) -> array:
        """The same as self / other."""

    def __rdiv__(self, other: ScalarOrArray) -> array:
        """The same as other / self."""

    @property
    def at(self) -> ArrayAt:
        """Updates at indexed positions: a.at[indices].add(value) and so on."""

    def abs(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return the absolute value of each element, the modulus of complex numbers.

        See `mlx.core.abs`.
        """

    def conj(self, *, stream: StreamOrDevice = None) -> array:
        """Return the complex conjugate."""

    def cos(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return the cosine of angles in radians.

        See `mlx.core.cos`.
        """

    def exp(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return the exponential `e^a`.

        See `mlx.core.exp`.
        """

    def log(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return the natural logarithm.

        See `mlx.core.log`.
        """

    def log10(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return the logarithm to base 10.

        See `mlx.core.log10`.
        """

    def log1p(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return `log(1 + a)` without the loss of digits near zero.

        See `mlx.core.log1p`.
        """

    def log2(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return the logarithm to base 2.

        See `mlx.core.log2`.
        """

    def reciprocal(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return `1 / a`.

        See `mlx.core.reciprocal`.
        """

    def rsqrt(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return `1 / sqrt(a)`.

        See `mlx.core.rsqrt`.
        """

    def sin(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return the sine of angles in radians.

        See `mlx.core.sin`.
        """

    def sqrt(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return the square root.

        See `mlx.core.sqrt`.
        """

    def square(self, *, stream: StreamOrDevice = None) -> array:
        """
        Return the square `a * a`.

        See `mlx.core.square`.
        """

    def round(self, decimals: int = 0, *, stream: StreamOrDevice = None) -> array:
        """Rounds to `decimals` decimals, ties to even."""

    def clip(self, min: scalar | array | None = None, max: scalar | array | None = None, *, stream: StreamOrDevice = None) -> array:
        """
        Return the elements limited to the interval between two bounds.

        Args:
            min: the lower bound, an array or a scalar; None for none.
            max: the upper bound, an array or a scalar; None for none.
            stream: the stream or device that computes the result; None is the default one.

        Returns:
            An array.
        """

    def astype(self, dtype: Dtype, stream: StreamOrDevice = None) -> array:
        """The elements converted to a dtype."""

    def view(self, dtype: Dtype, *, stream: StreamOrDevice = None) -> array:
        """The bytes reinterpreted as elements of another dtype."""

    def reshape(self, *shape: int | Sequence[int], stream: StreamOrDevice = None) -> array:
        """
        The array in another shape, given as separate lengths or as a sequence; one length may be -1 and is inferred.
        """

    def flatten(self, start_axis: int = 0, end_axis: int = -1, *, stream: StreamOrDevice = None) -> array:
        """Merges the axes `start_axis` to `end_axis`, inclusive, into one."""

    def squeeze(self, axis: int | Sequence[int] | None = None, *, stream: StreamOrDevice = None) -> array:
        """Removes the given axes of length 1, or all axes of length 1."""

    def transpose(self, *axes: int | Sequence[int] | None, stream: StreamOrDevice = None) -> array:
        """
        Permutes the axes: axis i of the result is axis axes[i]; reverses all axes if none are given.
        """

    def swapaxes(self, axis1: int, axis2: int, *, stream: StreamOrDevice = None) -> array:
        """Swaps two axes."""

    def moveaxis(self, source: int, destination: int, *, stream: StreamOrDevice = None) -> array:
        """Moves axis `source` to position `destination`."""

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1, stream: StreamOrDevice = None) -> array:
        """The diagonals of the planes that two axes span, as a last axis."""

    def diag(self, k: int = 0, *, stream: StreamOrDevice = None) -> array:
        """The k-th diagonal of a matrix, or the matrix with a vector on it."""

    def split(self, indices_or_sections: int | tuple[int, ...], axis: int = 0, *, stream: StreamOrDevice = None) -> list[array]:
        """Splits an axis into a number of equal parts, or at the given indices."""

    def take(self, indices: int | array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
        """
        Take slices along an axis, by their indices.

        See `mlx.core.take`.
        """

    @overload
    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Return the sum of the elements over axes.

        See `mlx.core.sum`.
        """

    @overload
    def sum(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function sum of the module; `dtype` is that of the operand, and `out` the None that numpy.sum passes.
        """

    @overload
    def prod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Return the product of the elements over axes.

        See `mlx.core.prod`.
        """

    @overload
    def prod(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function prod of the module; `dtype` is that of the operand, and `out` the None that numpy.prod passes.
        """

    @overload
    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Return the largest element over axes. NaN is larger than all numbers.

        See `mlx.core.max`.
        """

    @overload
    def max(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function max of the module; `dtype` is that of the operand, and `out` the None that numpy.max passes.
        """

    @overload
    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Return the smallest element over axes. NaN is smaller than all numbers.

        See `mlx.core.min`.
        """

    @overload
    def min(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function min of the module; `dtype` is that of the operand, and `out` the None that numpy.min passes.
        """

    @overload
    def all(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Test whether all elements over axes are nonzero.

        See `mlx.core.all`.
        """

    @overload
    def all(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function all of the module; `dtype` is that of the operand, and `out` the None that numpy.all passes.
        """

    @overload
    def any(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Test whether at least one element over axes is nonzero.

        See `mlx.core.any`.
        """

    @overload
    def any(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function any of the module; `dtype` is that of the operand, and `out` the None that numpy.any passes.
        """

    @overload
    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Return the arithmetic mean over axes.

        See `mlx.core.mean`.
        """

    @overload
    def mean(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function mean of the module; `dtype` is that of the operand, and `out` the None that numpy.mean passes.
        """

    @overload
    def var(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: int = 0, *, correction: float | None = None, stream: StreamOrDevice = None) -> array:
        """
        Return the variance over axes: the mean squared distance from the mean.

        See `mlx.core.var`.
        """

    @overload
    def var(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, ddof: int = 0, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function var of the module; `dtype` is that of the operand, and `out` the None that numpy.var passes.
        """

    @overload
    def std(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: int = 0, *, correction: float | None = None, stream: StreamOrDevice = None) -> array:
        """
        Return the standard deviation over axes: the square root of the variance.

        See `mlx.core.std`.
        """

    @overload
    def std(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, ddof: int = 0, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function std of the module; `dtype` is that of the operand, and `out` the None that numpy.std passes.
        """

    def argmax(self, axis: int | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Return the index of the first largest element.

        See `mlx.core.argmax`.
        """

    def argmin(self, axis: int | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Return the index of the first smallest element.

        See `mlx.core.argmin`.
        """

    __array_priority__: float = 1000.0

    def __round__(self, ndigits: int | None = None) -> array:
        """Each element rounded to `ndigits` decimals; see mlx.core.round."""

    def __trunc__(self) -> int:
        """
        The element of an array without axes, without what comes after its point.
        """

    def as_integer_ratio(self) -> tuple[int, int]:
        """The element of an array without axes as a quotient of integers."""

    @property
    def __numpy_dtype__(self) -> Any:
        """The dtype of NumPy that numpy.result_type finds, from version 2.4 on."""

    def __arrow_array__(self, type: Any = None) -> Any:
        """The array with one axis as an array of PyArrow."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """
        Shape, type and address of the elements, as NumPy's array interface has them.
        """

    def __getstate__(self) -> tuple[Any, ...]:
        """The state for pickling."""

    def __setstate__(self, arg: tuple[Any, ...], /) -> None:
        """Restores a pickled state."""

    def __reduce_ex__(self, protocol: Any, /) -> tuple[Any, ...]:
        """
        For pickling. In protocol 5 the elements are a buffer, which may be sent out of band.
        """

    def logsumexp(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """log(sum(exp(a))) over axes, or over all, without overflow."""

    def cumsum(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """
        Return the cumulative sum: the sums of the elements up to each one.

        See `mlx.core.cumsum`.
        """

    def cumprod(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """
        Return the cumulative product: the products of the elements up to each one.

        See `mlx.core.cumprod`.
        """

    def cummax(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """
        Return the cumulative maximum: the largest of the elements up to each one.

        See `mlx.core.cummax`.
        """

    def cummin(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """
        Return the cumulative minimum: the smallest of the elements up to each one.

        See `mlx.core.cummin`.
        """

    def logcumsumexp(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """
        Return `log(cumsum(exp(a)))` without overflow.

        See `mlx.core.logcumsumexp`.
        """

    def sort(self, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
        """
        Return the elements in ascending order along an axis; the array itself does not change.

        Args:
            axis: the axis, by default the last one; None flattens the array first.
            stream: the stream or device that computes the result; None is the default one.

        Returns:
            An array.
        """

    def argsort(self, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
        """
        Return the indices that sort the elements along an axis.

        See `mlx.core.argsort`.
        """

    def dot(self, other: scalar | array, *, stream: StreamOrDevice = None) -> array:
        """
        Return the dot product as NumPy defines it: for vectors and matrices that of `@`.

        A scalar multiplies; for more axes the last one is multiplied with the last but one of
        `other`.

        Args:
            other: an array or a scalar.
            stream: the stream or device that computes the result; None is the default one.

        Returns:
            An array.

        Raises:
            ValueError: the lengths do not agree.
        """

    @property
    def device(self) -> Device:
        """The device that computes the array."""

    def to_device(self, device: Device | Stream | None, /, *, stream: StreamOrDevice = None) -> array:
        """The array on a device: itself where it is there, else a copy."""

class ArrayAt:
    """Updates at indexed positions that apply every repeated index."""

    def __getitem__(self, indices: object | None) -> ArrayAt:
        """Chooses the positions."""

    __iter__: None = None

    __contains__: None = None

    def set(self, value: ScalarOrArray) -> array:
        """
        The array with the positions replaced by `value`; the last one of a repetition stays.
        """

    def add(self, value: ScalarOrArray) -> array:
        """
        The array with `value` added at the positions, once for each repetition.
        """

    def subtract(self, value: ScalarOrArray) -> array:
        """The array with `value` subtracted at the positions."""

    def multiply(self, value: ScalarOrArray) -> array:
        """The array with the positions multiplied by `value`."""

    def divide(self, value: ScalarOrArray) -> array:
        """The array with the positions divided by `value`."""

    def maximum(self, value: ScalarOrArray) -> array:
        """
        The array with the larger of the elements and `value` at the positions.
        """

    def minimum(self, value: ScalarOrArray) -> array:
        """
        The array with the smaller of the elements and `value` at the positions.
        """

    def get(self) -> array:
        """The elements at the positions, as `a[indices]`."""

    def apply(self, fn: Callable[[array], array]) -> array:
        """The array with the elements at the positions replaced by `fn` of them."""

class ArrayLike:
    """An object that has `__mlx_array__`."""

    def __init__(self, arg: object, /) -> None: ...

    def __mlx_array__(self) -> array:
        """The array that the object gives."""

class ArrayIterator:
    """Iterates over the first axis of an array."""

    def __iter__(self) -> ArrayIterator:
        """The iterator itself."""

    def __next__(self) -> array:
        """The next slice."""

def abs(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the absolute value of each element, the modulus of complex numbers.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, the real one for complex arrays.

    Example:
        >>> mx.abs(mx.array([-1.5, 2.0]))
        array([1.5, 2], dtype=float32)
        >>> mx.abs(mx.array([3 + 4j]))
        array([5], dtype=float32)
    """

def arccos(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse cosine, in radians in [0, pi].

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers. Elements
        outside [-1, 1] give NaN.

    Example:
        >>> mx.arccos(mx.array([1.0, 0.0, -1.0]))
        array([0, 1.5708, 3.14159], dtype=float32)
    """

def arccosh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse hyperbolic cosine.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers. Elements
        below 1 give NaN.

    Example:
        >>> mx.arccosh(mx.array([1.0, 2.0]))
        array([0, 1.31696], dtype=float32)
    """

def arcsin(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse sine, in radians in [-pi/2, pi/2].

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers. Elements
        outside [-1, 1] give NaN.

    Example:
        >>> mx.arcsin(mx.array([0.0, 1.0]))
        array([0, 1.5708], dtype=float32)
    """

def arcsinh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse hyperbolic sine.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.arcsinh(mx.array([0.0, 1.0]))
        array([0, 0.881374], dtype=float32)
    """

def arctan(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse tangent, in radians in [-pi/2, pi/2].

    See `arctan2` for the angle of a point in the plane.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.arctan(mx.array([0.0, 1.0]))
        array([0, 0.785398], dtype=float32)
    """

def arctanh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse hyperbolic tangent.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers. Elements
        outside [-1, 1] give NaN.

    Example:
        >>> mx.arctanh(mx.array([0.0, 0.5]))
        array([0, 0.549306], dtype=float32)
    """

def bitwise_invert(a: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the bitwise complement of integers, and the logical negation of bool.

    Args:
        a: an array or a scalar, of bool or integers.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: `a` is floating or complex.

    Example:
        >>> mx.bitwise_invert(mx.array([0, 5]))
        array([-1, -6], dtype=int32)
    """

def cbrt(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the cube root, which is negative for negative numbers.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.cbrt(mx.array([-8.0, 27.0]))
        array([-2, 3], dtype=float32)
    """

def ceil(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the smallest integer that is not below each element.

    Args:
        a: an array of any dtype but complex.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.ceil(mx.array([-1.5, 1.5]))
        array([-1, 2], dtype=float32)
    """

def conjugate(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the complex conjugate.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Example:
        >>> mx.conjugate(mx.array([1 + 2j]))
        array([1-2j], dtype=complex64)
    """

def cos(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the cosine of angles in radians.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.cos(mx.array([0.0, mx.pi]))
        array([1, -1], dtype=float32)
    """

def cosh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the hyperbolic cosine.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.cosh(mx.array([0.0, 1.0]))
        array([1, 1.54308], dtype=float32)
    """

def digamma(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the derivative of the logarithm of the gamma function.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, infinite at 0, NaN at negative integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.digamma(mx.array([1.0, 2.0]))
        array([-0.577216, 0.422784], dtype=float32)
    """

def erf(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to `a`.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.erf(mx.array([0.0, 1.0]))
        array([0, 0.842701], dtype=float32)
    """

def erfc(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `1 - erf(a)`, accurate for large numbers.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.erfc(mx.array([0.0, 5.0]))
        array([1, 1.53746e-12], dtype=float32)
    """

def erfinv(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse of the error function.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers. -1 and 1
        give infinities, elements outside give NaN.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.erfinv(mx.array([0.0, 0.5]))
        array([0, 0.476936], dtype=float32)
    """

def exp(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the exponential `e^a`.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.exp(mx.array([0.0, 1.0]))
        array([1, 2.71828], dtype=float32)
    """

def expm1(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `exp(a) - 1` without the loss of digits near zero.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.expm1(mx.array([1e-6, 1.0]))
        array([1e-06, 1.71828], dtype=float32)
    """

def floor(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the largest integer that is not above each element.

    Args:
        a: an array of any dtype but complex.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.floor(mx.array([-1.5, 1.5]))
        array([-2, 1], dtype=float32)
    """

def imag(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the imaginary part, zeros for real arrays.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, the real one for complex arrays.

    Example:
        >>> mx.imag(mx.array([1 + 2j]))
        array([2], dtype=float32)
    """

def isfinite(a: array, stream: StreamOrDevice = None) -> array:
    """
    Test whether each element is neither infinite nor NaN.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `a`.

    Example:
        >>> mx.isfinite(mx.array([1.0, mx.inf, mx.nan]))
        array([True, False, False], dtype=bool)
    """

def isinf(a: array, stream: StreamOrDevice = None) -> array:
    """
    Test whether each element is positive or negative infinity.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `a`.

    Example:
        >>> mx.isinf(mx.array([1.0, -mx.inf, mx.nan]))
        array([False, True, False], dtype=bool)
    """

def isnan(a: array, stream: StreamOrDevice = None) -> array:
    """
    Test whether each element is NaN.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `a`.

    Example:
        >>> mx.isnan(mx.array([1.0, mx.inf, mx.nan]))
        array([False, False, True], dtype=bool)
    """

def isneginf(a: array, stream: StreamOrDevice = None) -> array:
    """
    Test whether each element is negative infinity.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `a`.

    Example:
        >>> mx.isneginf(mx.array([-mx.inf, mx.inf]))
        array([True, False], dtype=bool)
    """

def isposinf(a: array, stream: StreamOrDevice = None) -> array:
    """
    Test whether each element is positive infinity.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `a`.

    Example:
        >>> mx.isposinf(mx.array([-mx.inf, mx.inf]))
        array([False, True], dtype=bool)
    """

def lgamma(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm of the magnitude of the gamma function.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, infinite at 0 and negative integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.lgamma(mx.array([1.0, 5.0]))
        array([0, 3.17805], dtype=float32)
    """

def log(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the natural logarithm.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers. 0 gives
        -inf, negative numbers give NaN.

    Example:
        >>> mx.log(mx.array([1.0, mx.e, 0.0]))
        array([0, 1, -inf], dtype=float32)
    """

def log10(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm to base 10.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.log10(mx.array([1.0, 1000.0]))
        array([0, 3], dtype=float32)
    """

def log1p(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `log(1 + a)` without the loss of digits near zero.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.log1p(mx.array([1e-6, 1.0]))
        array([1e-06, 0.693147], dtype=float32)
    """

def log2(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm to base 2.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.log2(mx.array([1.0, 8.0]))
        array([0, 3], dtype=float32)
    """

def logical_not(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Test whether each element is zero.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `a`.

    Example:
        >>> mx.logical_not(mx.array([True, False]))
        array([False, True], dtype=bool)
        >>> mx.logical_not(mx.array([0, 2]))
        array([True, False], dtype=bool)
    """

def negative(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the negation `-a`.

    Args:
        a: an array of any dtype but bool; unsigned integers wrap around.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: `a` is of bool; `logical_not` negates it.

    Example:
        >>> mx.negative(mx.array([1, -2]))
        array([-1, 2], dtype=int32)
    """

def real(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the real part.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, the real one for complex arrays.

    Example:
        >>> mx.real(mx.array([1 + 2j]))
        array([1], dtype=float32)
    """

def reciprocal(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `1 / a`.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.reciprocal(mx.array([2.0, 4.0]))
        array([0.5, 0.25], dtype=float32)
    """

def rint(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the nearest integer, the even one of two that are equally near.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Example:
        >>> mx.rint(mx.array([0.5, 1.5, 2.4]))
        array([0, 2, 2], dtype=float32)
    """

def rsqrt(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `1 / sqrt(a)`.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.rsqrt(mx.array([4.0, 16.0]))
        array([0.5, 0.25], dtype=float32)
    """

def sigmoid(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logistic function `1 / (1 + exp(-a))`.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.sigmoid(mx.array([-1.0, 0.0, 1.0]))
        array([0.268941, 0.5, 0.731059], dtype=float32)
    """

def sign(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return -1, 0 or 1 by the sign of each element, `a / abs(a)` for complex numbers.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Example:
        >>> mx.sign(mx.array([-2.5, 0.0, 7.0]))
        array([-1, 0, 1], dtype=float32)
    """

def sin(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the sine of angles in radians.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.sin(mx.array([0.0, mx.pi / 2]))
        array([0, 1], dtype=float32)
    """

def sinh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the hyperbolic sine.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.sinh(mx.array([0.0, 1.0]))
        array([0, 1.1752], dtype=float32)
    """

def sqrt(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the square root.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers. Negative
        numbers give NaN, complex ones the principal root.

    Example:
        >>> mx.sqrt(mx.array([4, 9]))
        array([2, 3], dtype=float32)
    """

def square(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the square `a * a`.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Example:
        >>> mx.square(mx.array([2, -3]))
        array([4, 9], dtype=int32)
    """

def tan(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the tangent of angles in radians.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.tan(mx.array([0.0, 1.0]))
        array([0, 1.55741], dtype=float32)
    """

def tanh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the hyperbolic tangent.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.tanh(mx.array([0.0, 1.0]))
        array([0, 0.761594], dtype=float32)
    """

def trunc(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the integer part: the next integer toward zero.

    Args:
        a: an array of any dtype but complex.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.trunc(mx.array([-1.5, 1.5]))
        array([-1, 1], dtype=float32)
    """

def add(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the sum `a + b`, the logical or for bool.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.add(mx.array([1, 2]), 0.5)
        array([1.5, 2.5], dtype=float32)
    """

def arctan2(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the angle of the point `(b, a)`, in radians in [-pi, pi].

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: the shapes cannot be broadcast, or an operand is complex.

    Example:
        >>> mx.arctan2(mx.array([1.0, -1.0]), mx.array([1.0, -1.0]))
        array([0.785398, -2.35619], dtype=float32)
    """

def bitwise_and(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the bitwise and of integers or bool.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is floating or complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.bitwise_and(mx.array([5, 6]), 3)
        array([1, 2], dtype=int32)
    """

def bitwise_or(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the bitwise or of integers or bool.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is floating or complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.bitwise_or(mx.array([5, 6]), 3)
        array([7, 7], dtype=int32)
    """

def bitwise_xor(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the bitwise exclusive or of integers or bool.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is floating or complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.bitwise_xor(mx.array([5, 6]), 3)
        array([6, 5], dtype=int32)
    """

def divide(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the quotient `a / b`. Bool and integers are divided in float32.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.divide(mx.array([1, 2]), 4)
        array([0.25, 0.5], dtype=float32)
    """

def equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Test whether the operands are equal, element by element.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape. NaN equals nothing.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.equal(mx.array([1, 2, 3]), 2)
        array([False, True, False], dtype=bool)
    """

def floor_divide(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the quotient rounded toward negative infinity.

    An integer divided by zero gives 0.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.floor_divide(mx.array([7, -7]), 2)
        array([3, -4], dtype=int32)
    """

def gcd(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the greatest common divisor of integers.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is not of integers.

    Example:
        >>> mx.gcd(mx.array([12, -18]), 8)
        array([4, 2], dtype=int32)
    """

def greater(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Test whether `a > b`, element by element. Complex numbers are compared by their real parts
    first.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.greater(mx.array([1, 2, 3]), 2)
        array([False, False, True], dtype=bool)
    """

def greater_equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Test whether `a >= b`, element by element. Complex numbers are compared by their real parts
    first.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.greater_equal(mx.array([1, 2, 3]), 2)
        array([False, True, True], dtype=bool)
    """

def left_shift(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the bits of `a` shifted left by `b` places, 0 if `b` reaches the width of the dtype.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is floating or complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.left_shift(mx.array([1, 2]), 3)
        array([8, 16], dtype=int32)
    """

def less(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Test whether `a < b`, element by element. Complex numbers are compared by their real parts
    first.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.less(mx.array([1, 2, 3]), 2)
        array([True, False, False], dtype=bool)
    """

def less_equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Test whether `a <= b`, element by element. Complex numbers are compared by their real parts
    first.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.less_equal(mx.array([1, 2, 3]), 2)
        array([True, True, False], dtype=bool)
    """

def logaddexp(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `log(exp(a) + exp(b))` without overflow.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.logaddexp(mx.array([0.0, 1000.0]), mx.array([0.0, 1000.0]))
        array([0.693147, 1000.69], dtype=float32)
    """

def logical_and(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Test whether both operands are nonzero.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.logical_and(mx.array([True, True]), mx.array([True, False]))
        array([True, False], dtype=bool)
    """

def logical_or(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Test whether at least one of the operands is nonzero.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.logical_or(mx.array([True, False]), mx.array([False, False]))
        array([True, False], dtype=bool)
    """

def logical_xor(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Test whether exactly one of the operands is nonzero.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.logical_xor(mx.array([True, True]), mx.array([True, False]))
        array([False, True], dtype=bool)
    """

def maximum(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the larger one of two elements, NaN if either is NaN.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.maximum(mx.array([1, 5]), 3)
        array([3, 5], dtype=int32)
    """

def minimum(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the smaller one of two elements, NaN if either is NaN.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.minimum(mx.array([1, 5]), 3)
        array([1, 3], dtype=int32)
    """

def multiply(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the product `a * b`, the logical and for bool.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.multiply(mx.array([1, 2]), mx.array([3, 4]))
        array([3, 8], dtype=int32)
    """

def not_equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Test whether the operands differ, element by element.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape. NaN differs from everything.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.not_equal(mx.array([1, 2, 3]), 2)
        array([True, False, True], dtype=bool)
    """

def power(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `a` to the power `b`.

    Integers wrap around, and a negative integer exponent gives 0.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.power(mx.array([2.0, 3.0]), 2)
        array([4, 9], dtype=float32)
    """

def remainder(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the remainder of the division of `a` by `b`, with the sign of `b`.

    An integer divided by zero gives 0.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.remainder(mx.array([7, -7]), 3)
        array([1, 2], dtype=int32)
    """

def right_shift(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the bits of `a` shifted right by `b` places; the sign is kept.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is floating or complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.right_shift(mx.array([16, -16]), 2)
        array([4, -4], dtype=int32)
    """

def subtract(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Return the difference `a - b`.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.subtract(mx.array([5, 6]), mx.array([1, 2]))
        array([4, 4], dtype=int32)
    """

@overload
def where(condition: scalar | array, x: scalar | array, y: scalar | array, /, *, stream: StreamOrDevice = None) -> array: ...

@overload
def where(condition: array, /, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Take elements of `x` if the condition is true, and of `y` otherwise.

    With the condition alone, return the indices of its true elements, as `nonzero` does.

    Args:
        condition: an array or a scalar, read as bool.
        x: an array or a scalar.
        y: an array or a scalar; the operands are broadcast to one shape, `x` and `y` promoted
            to one dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape; with the condition alone a tuple of arrays, one for
        each axis.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> a = mx.array([1, -2, 3])
        >>> mx.where(a > 0, a, 0)
        array([1, 0, 3], dtype=int32)
    """

acos = arccos

acosh = arccosh

asin = arcsin

asinh = arcsinh

atan = arctan

atan2 = arctan2

atanh = arctanh

bitwise_left_shift = left_shift

conj = conjugate

bitwise_right_shift = right_shift

pow = power

def positive(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the array itself.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        The array `a`.

    Example:
        >>> mx.positive(mx.array([1, -2]))
        array([1, -2], dtype=int32)
    """

def degrees(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Convert angles from radians to degrees.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.degrees(mx.array([0.0, mx.pi]))
        array([0, 180], dtype=float32)
    """

def radians(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Convert angles from degrees to radians.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.radians(mx.array([0.0, 180.0]))
        array([0, 3.14159], dtype=float32)
    """

def round(a: array, /, decimals: int = 0, stream: StreamOrDevice = None) -> array:
    """
    Round to a number of decimals, to the even neighbour if two are equally near.

    Args:
        a: an array of any dtype.
        decimals: how many decimals are kept, 0 by default; negative numbers round to tens,
            hundreds, ....
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Example:
        >>> mx.round(mx.array([1.25, 2.718]), 1)
        array([1.2, 2.7], dtype=float32)
    """

def nan_to_num(a: scalar | array, nan: float = 0, posinf: float | None = None, neginf: float | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Replace NaN and infinities by finite numbers.

    Args:
        a: an array of any dtype.
        nan: what replaces NaN; 0 by default.
        posinf: what replaces infinity; the largest finite number of the dtype by default.
        neginf: what replaces negative infinity; the smallest finite number of the dtype by
            default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Example:
        >>> mx.nan_to_num(mx.array([mx.nan, mx.inf, 1.0]), posinf=9.0)
        array([0, 9, 1], dtype=float32)
    """

@overload
def clip(a: array, /, a_min: scalar | array | None, a_max: scalar | array | None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def clip(a: array, /, min: scalar | array | None = None, max: scalar | array | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Limit elements to the interval between two bounds.

    Args:
        a: an array of any dtype.
        a_min: the lower bound, an array or a scalar; None for none.
        a_max: the upper bound, an array or a scalar; None for none.
        min: another name of `a_min`.
        max: another name of `a_max`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.clip(mx.array([-1, 0.5, 7]), 0, 1)
        array([0, 0.5, 1], dtype=float32)
        >>> mx.clip(mx.array([-1, 0.5, 7]), max=1)
        array([-1, 0.5, 1], dtype=float32)
    """

def divmod(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> list[array]:
    """
    Return the quotient rounded toward negative infinity, and the remainder.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        `[floor_divide(a, b), remainder(a, b)]`.

    Raises:
        ValueError: an operand is complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.divmod(mx.array([7, -7]), 3)
        [array([2, -3], dtype=int32), array([1, 2], dtype=int32)]
    """

def isclose(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Test whether `abs(a - b) <= atol + rtol * abs(b)`. Infinities of one sign are close.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        rtol: the relative tolerance; 1e-5 by default.
        atol: the absolute tolerance; 1e-8 by default.
        equal_nan: whether two NaN are close; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the broadcast shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.isclose(mx.array([1.0, 1.1]), mx.array([1.000001, 1.0]))
        array([True, False], dtype=bool)
    """

def allclose(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Test whether all elements are close: `abs(a - b) <= atol + rtol * abs(b)`.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        rtol: the relative tolerance; 1e-5 by default.
        atol: the absolute tolerance; 1e-8 by default.
        equal_nan: whether two NaN are close; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A scalar array of bool.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.allclose(mx.array([1.0, 2.0]), mx.array([1.000001, 2.0]))
        array(True, dtype=bool)
    """

def array_equal(a: scalar | array, b: scalar | array, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Test whether two arrays have the same shape and equal elements.

    Args:
        a: an array or a scalar.
        b: an array or a scalar.
        equal_nan: whether NaN equals NaN; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A scalar array of bool.

    Example:
        >>> mx.array_equal(mx.array([1, 2]), mx.array([1.0, 2.0]))
        array(True, dtype=bool)
    """

@overload
def astype(a: array, dtype: Dtype, /, *, stream: StreamOrDevice = None) -> array: ...

@overload
def astype(a: array, dtype: Dtype, /, *, device: StreamOrDevice = None) -> array: ...

@overload
def astype(a: array, dtype: Dtype, /, *, copy: bool, stream: StreamOrDevice = None) -> array: ...

@overload
def astype(a: array, dtype: Dtype, /, *, copy: bool, device: StreamOrDevice = None) -> array:
    """
    Convert the elements to a dtype.

    Floats become integers by truncation; complex numbers lose their imaginary part.

    Args:
        a: an array of any dtype.
        dtype: the dtype of the result, such as `mx.float16`.
        copy: accepted for the array API standard; arrays are never changed by a conversion.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        An array of the shape of `a`.

    Example:
        >>> mx.astype(mx.array([1.7, -1.7]), mx.int32)
        array([1, -1], dtype=int32)
    """

def view(a: scalar | array, dtype: Dtype, stream: StreamOrDevice = None) -> array:
    """
    Reinterpret the bytes as elements of another dtype.

    Args:
        a: an array of any dtype.
        dtype: the dtype of the result; if its size differs, the length of the last axis changes
            in proportion.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the bytes of `a`.

    Raises:
        ValueError: the last axis has no whole number of elements of `dtype`.

    Example:
        >>> mx.view(mx.array([1.0]), mx.uint32)
        array([1065353216], dtype=uint32)
    """

def contiguous(a: array, /, allow_col_major: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the same elements in row-major memory order.

    Args:
        a: an array of any dtype.
        allow_col_major: whether an array in column-major order is returned as it is; False by
            default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Example:
        >>> mx.contiguous(mx.array([[1, 2], [3, 4]]).T)
        array([[1, 3],
               [2, 4]], dtype=int32)
    """

def stop_gradient(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the array as a constant for differentiation: no derivative flows through it.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Example:
        >>> mx.grad(lambda x: x * mx.stop_gradient(x))(mx.array(3.0))
        array(3, dtype=float32)
    """

def to_fp8(x: array, *, stream: StreamOrDevice = None) -> array:
    """
    Round floats to 8-bit floats with 4 exponent and 3 mantissa bits (e4m3).

    Args:
        x: an array of floats.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint8 of the shape of `x`: the bits of the 8-bit floats.

    Example:
        >>> mx.to_fp8(mx.array([1.0, 2.0]))
        array([56, 64], dtype=uint8)
    """

def from_fp8(x: array, dtype: Dtype = bfloat16, *, stream: StreamOrDevice = None) -> array:
    """
    Convert 8-bit floats (e4m3), stored as uint8, to a floating dtype.

    Args:
        x: an array of uint8.
        dtype: the dtype of the result; bfloat16 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `x`.

    Example:
        >>> mx.from_fp8(mx.array([56, 64], dtype=mx.uint8), mx.float32)
        array([1, 2], dtype=float32)
    """

@overload
def depends(inputs: array, dependencies: array | Sequence[array]) -> array: ...

@overload
def depends(inputs: Sequence[array], dependencies: array | Sequence[array]) -> list[array]:
    """
    Return the inputs, which are available only once the dependencies have been computed.

    Args:
        inputs: an array or a sequence of arrays.
        dependencies: an array or a sequence of arrays that are computed first.

    Returns:
        The inputs: an array, or a list of arrays for a sequence.

    Example:
        >>> a, b = mx.array(1.0), mx.array(2.0)
        >>> mx.depends(a, b)
        array(1, dtype=float32)
    """

@overload
def arange(start: int | float, /, stop: None | int | float = None, step: None | int | float = None, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def arange(start: int | float, /, stop: None | int | float = None, step: None | int | float = None, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array: ...

@overload
def arange(*, start: int | float, stop: int | float, step: None | int | float = None, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array: ...

@overload
def arange(*, start: int | float, stop: int | float, step: None | int | float = None, dtype: Dtype | None = None, device: StreamOrDevice = None) -> array: ...

@overload
def arange(stop: int | float, step: None | int | float = None, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def arange(stop: int | float, step: None | int | float = None, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """
    Return evenly spaced numbers in the half-open interval [start, stop).

    Args:
        start: the first number; 0 if one number alone is given, which is then `stop`.
        stop: the end, which is not included.
        step: the distance of neighbours; 1 by default.
        dtype: the dtype; by default int32 if all arguments are ints (int64 if needed), float32
            otherwise.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        A vector.

    Raises:
        ValueError: the step is 0, or the length is not finite.

    Example:
        >>> mx.arange(4)
        array([0, 1, 2, 3], dtype=int32)
        >>> mx.arange(1, 2, 0.25)
        array([1, 1.25, 1.5, 1.75], dtype=float32)
    """

@overload
def linspace(start: float, stop: float, num: int | None = 50, endpoint: bool = True, dtype: Dtype | None = float32, stream: StreamOrDevice = None) -> array: ...

@overload
def linspace(start: float, stop: float, num: int | None = 50, endpoint: bool = True, dtype: Dtype | None = float32, device: StreamOrDevice = None) -> array: ...

@overload
def linspace(start: complex, stop: complex, /, num: int = 50, *, endpoint: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array: ...

@overload
def linspace(start: complex, stop: complex, /, num: int = 50, *, endpoint: bool = True, dtype: Dtype | None = None, device: StreamOrDevice = None) -> array:
    """
    Return evenly spaced numbers from `start` to `stop`.

    Args:
        start: the first number, which may be complex.
        stop: the last number; not part of the result if `endpoint` is False.
        num: how many numbers; 50 by default.
        endpoint: whether `stop` is the last number; True by default.
        dtype: the dtype; float32 by default, complex64 for complex ends.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        A vector of length `num`.

    Raises:
        ValueError: `num` is negative.

    Example:
        >>> mx.linspace(0, 1, 5)
        array([0, 0.25, 0.5, 0.75, 1], dtype=float32)
        >>> mx.linspace(0, 1, 4, endpoint=False)
        array([0, 0.25, 0.5, 0.75], dtype=float32)
    """

@overload
def full(shape: int | Sequence[int], vals: scalar | array, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def full(shape: int | Sequence[int], fill_value: scalar | array, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """
    Return an array filled with a value.

    Args:
        shape: the shape; an int for a vector.
        vals: a scalar, or an array that is broadcast to the shape.
        fill_value: another name of `vals`.
        dtype: the dtype; by default the one of `vals`.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: a length is negative, or `vals` cannot be broadcast.

    Example:
        >>> mx.full((2, 2), 7)
        array([[7, 7],
               [7, 7]], dtype=int32)
    """

@overload
def full_like(a: array, vals: scalar | array, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def full_like(a: array, fill_value: scalar | array, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """
    Return an array of the shape of another one, filled with a value.

    Args:
        a: the array that gives the shape, and the dtype unless one is given.
        vals: a scalar, or an array that is broadcast to the shape.
        fill_value: another name of `vals`.
        dtype: the dtype; by default the one of `a`.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: `vals` cannot be broadcast.

    Example:
        >>> mx.full_like(mx.array([1, 2]), 7)
        array([7, 7], dtype=int32)
    """

@overload
def zeros(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array: ...

@overload
def zeros(shape: int | Sequence[int], dtype: Dtype | None = float32, *, device: StreamOrDevice = None) -> array:
    """
    Return an array of zeros.

    Args:
        shape: the shape; an int for a vector.
        dtype: the dtype of the result; float32 by default.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: a length is negative.

    Example:
        >>> mx.zeros((2, 3))
        array([[0, 0, 0],
               [0, 0, 0]], dtype=float32)
    """

@overload
def zeros_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def zeros_like(a: array, /, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """
    Return an array of zeros of the shape of another one.

    Args:
        a: the array that gives the shape, and the dtype unless one is given.
        dtype: the dtype; by default the one of `a`.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        An array of the shape of `a`.

    Example:
        >>> mx.zeros_like(mx.array([1, 2]))
        array([0, 0], dtype=int32)
    """

@overload
def ones(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array: ...

@overload
def ones(shape: int | Sequence[int], dtype: Dtype | None = float32, *, device: StreamOrDevice = None) -> array:
    """
    Return an array of ones.

    Args:
        shape: the shape; an int for a vector.
        dtype: the dtype of the result; float32 by default.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: a length is negative.

    Example:
        >>> mx.ones(3, mx.int32)
        array([1, 1, 1], dtype=int32)
    """

@overload
def ones_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def ones_like(a: array, /, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """
    Return an array of ones of the shape of another one.

    Args:
        a: the array that gives the shape, and the dtype unless one is given.
        dtype: the dtype; by default the one of `a`.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        An array of the shape of `a`.

    Example:
        >>> mx.ones_like(mx.array([1.5, 2.5]))
        array([1, 1], dtype=float32)
    """

empty = zeros

empty_like = zeros_like

@overload
def eye(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array: ...

@overload
def eye(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = float32, *, device: StreamOrDevice = None) -> array:
    """
    Return a matrix with ones on a diagonal and zeros elsewhere.

    Args:
        n: the number of rows.
        m: the number of columns; `n` by default.
        k: the diagonal: 0 (default) the main one, positive ones above it, negative ones below.
        dtype: the dtype of the result; float32 by default.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        A matrix of shape (n, m).

    Raises:
        ValueError: a length is negative.

    Example:
        >>> mx.eye(2, 3, k=1)
        array([[0, 1, 0],
               [0, 0, 1]], dtype=float32)
    """

def identity(n: int, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """
    Return the identity matrix.

    Args:
        n: the number of rows and columns.
        dtype: the dtype of the result; float32 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A matrix of shape (n, n).

    Raises:
        ValueError: `n` is negative.

    Example:
        >>> mx.identity(2)
        array([[1, 0],
               [0, 1]], dtype=float32)
    """

def tri(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return a matrix with ones on and below a diagonal, and zeros above it.

    Args:
        n: the number of rows.
        m: the number of columns; `n` by default.
        k: the diagonal; 0 (default) is the main one.
        dtype: the dtype of the result; float32 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A matrix of shape (n, m).

    Raises:
        ValueError: a length is negative.

    Example:
        >>> mx.tri(3)
        array([[1, 0, 0],
               [1, 1, 0],
               [1, 1, 1]], dtype=float32)
    """

def tril(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Set the elements above a diagonal to zero.

    Args:
        x: an array whose last two axes are matrices.
        k: the diagonal; 0 (default) is the main one.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: `x` has fewer than two axes.

    Example:
        >>> mx.tril(mx.ones((3, 3)))
        array([[1, 0, 0],
               [1, 1, 0],
               [1, 1, 1]], dtype=float32)
    """

def triu(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Set the elements below a diagonal to zero.

    Args:
        x: an array whose last two axes are matrices.
        k: the diagonal; 0 (default) is the main one.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: `x` has fewer than two axes.

    Example:
        >>> mx.triu(mx.ones((3, 3)))
        array([[1, 1, 1],
               [0, 1, 1],
               [0, 0, 1]], dtype=float32)
    """

def diag(a: array, /, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Return a diagonal of a matrix, or the matrix that has a vector as its diagonal.

    Args:
        a: a vector or a matrix.
        k: the diagonal; 0 (default) is the main one.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector for a matrix, a square matrix for a vector.

    Raises:
        ValueError: `a` is neither a vector nor a matrix.

    Example:
        >>> mx.diag(mx.array([1, 2]))
        array([[1, 0],
               [0, 2]], dtype=int32)
        >>> mx.diag(mx.array([[1, 2], [3, 4]]))
        array([1, 4], dtype=int32)
    """

def meshgrid(*arrays: array, sparse: bool | None = False, indexing: str | None = 'xy', stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the coordinates of the points of a grid.

    Args:
        arrays: a vector of coordinates for each axis.
        sparse: whether each result has length 1 along all axes but its own; False by default.
        indexing: 'xy' (default) exchanges the first two axes, 'ij' does not.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of arrays, one for each vector.

    Raises:
        ValueError: `indexing` is another word.

    Example:
        >>> x, y = mx.meshgrid(mx.array([1, 2, 3]), mx.array([10, 20]))
        >>> x
        array([[1, 2, 3],
               [1, 2, 3]], dtype=int32)
        >>> y
        array([[10, 10, 10],
               [20, 20, 20]], dtype=int32)
    """

def bartlett(M: int, *, stream: StreamOrDevice = None) -> array:
    """
    Return the Bartlett window, a triangle.

    Args:
        M: the number of points.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of float32.

    Example:
        >>> mx.bartlett(5)
        array([0, 0.5, 1, 0.5, 0], dtype=float32)
    """

def blackman(M: int, *, stream: StreamOrDevice = None) -> array:
    """
    Return the Blackman window.

    Args:
        M: the number of points.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of float32.

    Example:
        >>> mx.blackman(5)[1:4]
        array([0.34, 1, 0.34], dtype=float32)
    """

def hamming(M: int, *, stream: StreamOrDevice = None) -> array:
    """
    Return the Hamming window.

    Args:
        M: the number of points.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of float32.

    Example:
        >>> mx.hamming(5)
        array([0.08, 0.54, 1, 0.54, 0.08], dtype=float32)
    """

def hanning(M: int, *, stream: StreamOrDevice = None) -> array:
    """
    Return the Hann window.

    Args:
        M: the number of points.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of float32.

    Example:
        >>> mx.hanning(5)
        array([0, 0.5, 1, 0.5, 0], dtype=float32)
    """

def asarray(a: ArrayInput, dtype: Dtype | None = None, *, copy: bool | None = None, device: Device | Stream | None = None) -> array:
    """
    Convert an object to an array.

    Args:
        a: numbers, nested lists, or an array of another library.
        dtype: the dtype; by default that of `a`, float32 for Python floats and float64 arrays.
        copy: True copies always, False shares memory or raises, None (default) copies if
            needed.
        device: the device of the array; None is the default one.

    Returns:
        An array.

    Raises:
        ValueError: `copy` is False and the memory cannot be shared.

    Example:
        >>> mx.asarray([1, 2, 3])
        array([1, 2, 3], dtype=int32)
    """

def from_dlpack(x: DLPackCompatible, /, *, copy: bool | None = None, device: Device | Stream | None = None) -> array:
    """
    Convert an object of another library that has `__dlpack__` to an array.

    Args:
        x: the object, such as a NumPy array or a PyTorch tensor.
        copy: True copies, False shares memory or raises; None (default) shares memory of a GPU whose
            dtype is kept, and copies the host's.
        device: the device of the array; None is the default one.

    Returns:
        An array.

    Raises:
        ValueError: `copy` is False and the memory cannot be shared.

    Example:
        >>> import numpy as np
        >>> mx.from_dlpack(np.array([1, 2], dtype=np.int32))
        array([1, 2], dtype=int32)
    """

@overload
def reshape(a: array, /, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array: ...

@overload
def reshape(a: array, /, shape: Sequence[int], *, copy: bool | None, stream: StreamOrDevice = None) -> array:
    """
    Return the elements in another shape.

    Args:
        a: an array of any dtype.
        shape: the lengths; one of them may be -1 and follows from the others.
        copy: accepted for the array API standard; the result behaves as a copy.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `a` in row-major order.

    Raises:
        ValueError: the numbers of elements differ.

    Example:
        >>> mx.reshape(mx.arange(6), (2, -1))
        array([[0, 1, 2],
               [3, 4, 5]], dtype=int32)
    """

def flatten(a: array, /, start_axis: int = 0, end_axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Merge neighbouring axes into one.

    Args:
        a: an array of any dtype.
        start_axis: the first axis that is merged; 0 by default.
        end_axis: the last axis that is merged; the last one by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `a`.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.flatten(mx.array([[1, 2], [3, 4]]))
        array([1, 2, 3, 4], dtype=int32)
    """

def unflatten(a: array, /, axis: int, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Split an axis into several.

    Args:
        a: an array of any dtype.
        axis: the axis.
        shape: the lengths of the new axes; one of them may be -1.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `a`.

    Raises:
        IndexError: the axis is out of range.
        ValueError: the lengths do not fit the axis.

    Example:
        >>> mx.unflatten(mx.arange(6), 0, (2, 3))
        array([[0, 1, 2],
               [3, 4, 5]], dtype=int32)
    """

def squeeze(a: array, /, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None) -> array:
    """
    Remove axes of length 1.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are removed; None (the default) for all of length 1.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `a`.

    Raises:
        IndexError: an axis is out of range.
        ValueError: an axis has another length.

    Example:
        >>> mx.squeeze(mx.zeros((1, 3, 1))).shape
        (3,)
    """

def expand_dims(a: array, /, axis: int | Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Insert axes of length 1.

    Args:
        a: an array of any dtype.
        axis: the position or positions of the new axes in the result.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `a`.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.expand_dims(mx.array([1, 2]), 0)
        array([[1, 2]], dtype=int32)
    """

def broadcast_to(a: scalar | array, /, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Repeat an array along new leading axes and along axes of length 1.

    Args:
        a: an array or a scalar.
        shape: the shape of the result.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape; no memory is copied.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.broadcast_to(mx.array([1, 2]), (2, 2))
        array([[1, 2],
               [1, 2]], dtype=int32)
    """

def broadcast_arrays(*arrays: array, stream: StreamOrDevice = None) -> list[array]:
    """
    Broadcast arrays to their common shape.

    Args:
        arrays: the arrays.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A list of arrays of one shape.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.broadcast_arrays(mx.array([1, 2]), mx.array([[3], [4]]))
        [array([[1, 2],
               [1, 2]], dtype=int32), array([[3, 3],
               [4, 4]], dtype=int32)]
    """

def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """
    Return the shape that several shapes are broadcast to.

    Args:
        shapes: sequences of ints.

    Returns:
        A tuple of ints.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.broadcast_shapes((2, 1), (3,))
        (2, 3)
    """

@overload
def atleast_1d(arys: array, /, *, stream: StreamOrDevice = None) -> array: ...

@overload
def atleast_1d(first: array, second: array, /, *arys: array, stream: StreamOrDevice = None) -> list[array]: ...

@overload
def atleast_1d(*arys: array, stream: StreamOrDevice = None) -> array | list[array]:
    """
    Convert scalars to vectors of length 1, and leave other arrays as they are.

    Args:
        arys: the arrays.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array, or a list of arrays for several.

    Example:
        >>> mx.atleast_1d(mx.array(3))
        array([3], dtype=int32)
    """

@overload
def atleast_2d(arys: array, /, *, stream: StreamOrDevice = None) -> array: ...

@overload
def atleast_2d(first: array, second: array, /, *arys: array, stream: StreamOrDevice = None) -> list[array]: ...

@overload
def atleast_2d(*arys: array, stream: StreamOrDevice = None) -> array | list[array]:
    """
    Add leading axes of length 1 to arrays of fewer than two axes.

    Args:
        arys: the arrays.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array, or a list of arrays for several.

    Example:
        >>> mx.atleast_2d(mx.array([1, 2]))
        array([[1, 2]], dtype=int32)
    """

@overload
def atleast_3d(arys: array, /, *, stream: StreamOrDevice = None) -> array: ...

@overload
def atleast_3d(first: array, second: array, /, *arys: array, stream: StreamOrDevice = None) -> list[array]: ...

@overload
def atleast_3d(*arys: array, stream: StreamOrDevice = None) -> array | list[array]:
    """
    Add axes of length 1 to arrays of fewer than three axes.

    Args:
        arys: the arrays.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array, or a list of arrays for several.

    Example:
        >>> mx.atleast_3d(mx.array([1, 2])).shape
        (1, 2, 1)
    """

def transpose(a: array, /, axes: Sequence[int] | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Permute the axes.

    Args:
        a: an array of any dtype.
        axes: axis `i` of the result is axis `axes[i]` of `a`; None (the default) reverses the
            axes.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `a`; no memory is copied.

    Raises:
        IndexError: an axis is out of range.
        ValueError: `axes` is no permutation.

    Example:
        >>> mx.transpose(mx.array([[1, 2], [3, 4]]))
        array([[1, 3],
               [2, 4]], dtype=int32)
        >>> mx.transpose(mx.zeros((2, 3, 4)), (0, 2, 1)).shape
        (2, 4, 3)
    """

permute_dims = transpose

def matrix_transpose(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Exchange the last two axes.

    Args:
        a: an array of at least two axes.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `a`; no memory is copied.

    Raises:
        ValueError: `a` has fewer than two axes.

    Example:
        >>> mx.matrix_transpose(mx.array([[1, 2], [3, 4]]))
        array([[1, 3],
               [2, 4]], dtype=int32)
    """

def swapaxes(a: array, /, axis1: int, axis2: int, *, stream: StreamOrDevice = None) -> array:
    """
    Exchange two axes.

    Args:
        a: an array of any dtype.
        axis1: the first axis.
        axis2: the second axis.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `a`; no memory is copied.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.swapaxes(mx.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
    """

@overload
def moveaxis(a: array, /, source: int, destination: int, *, stream: StreamOrDevice = None) -> array: ...

@overload
def moveaxis(a: array, /, source: Sequence[int], destination: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Move axes to other positions; the others keep their order.

    Args:
        a: an array of any dtype.
        source: the axis or axes.
        destination: their positions in the result.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `a`; no memory is copied.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.moveaxis(mx.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """

def flip(a: array, /, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None) -> array:
    """
    Reverse the order of the elements along axes.

    Args:
        a: an array of any dtype.
        axis: the axis or axes; None (the default) for all.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.flip(mx.array([1, 2, 3]))
        array([3, 2, 1], dtype=int32)
    """

def diagonal(a: array, offset: int = 0, axis1: int = 0, axis2: int = 1, stream: StreamOrDevice = None) -> array:
    """
    Return the diagonals of the planes that two axes span, as a last axis.

    Args:
        a: an array of at least two axes.
        offset: the diagonal: 0 (default) the main one, positive ones above it.
        axis1: the axis of the rows; 0 by default.
        axis2: the axis of the columns; 1 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with one axis less than `a`.

    Raises:
        ValueError: `a` has fewer than two axes.

    Example:
        >>> mx.diagonal(mx.array([[1, 2], [3, 4]]))
        array([1, 4], dtype=int32)
    """

def trace(a: array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return the sum of a diagonal.

    Args:
        a: an array of at least two axes.
        offset: the diagonal: 0 (default) the main one, positive ones above it.
        axis1: the axis of the rows; 0 by default.
        axis2: the axis of the columns; 1 by default.
        dtype: the dtype of the sum; by default the one that `sum` gives.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the two axes.

    Raises:
        ValueError: `a` has fewer than two axes.

    Example:
        >>> mx.trace(mx.array([[1, 2], [3, 4]]))
        array(5, dtype=int32)
    """

def as_strided(a: array, /, shape: Sequence[int] | None = None, strides: Sequence[int] | None = None, offset: int = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Return a view whose shape and strides are given.

    Element `(i, j, ...)` is element `offset + i * strides[0] + j * strides[1] + ...` of `a` in
    row-major order.

    Args:
        a: an array of any dtype.
        shape: the shape; that of `a` by default.
        strides: a step for each axis, in elements; those of a row-major array by default.
        offset: the position of the first element; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: an element lies outside of `a`.

    Example:
        >>> mx.as_strided(mx.arange(5), (3, 3), (1, 1))
        array([[0, 1, 2],
               [1, 2, 3],
               [2, 3, 4]], dtype=int32)
    """

def slice(a: array, start_indices: array, axes: Sequence[int], slice_size: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Return a slice whose start is given by an array.

    Args:
        a: an array of any dtype.
        start_indices: a vector of integers: where the slice begins, along `axes`.
        axes: the axes that the starts belong to.
        slice_size: the lengths of the slice, one for each axis of `a`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape `slice_size`.

    Raises:
        ValueError: the slice is larger than `a`.

    Example:
        >>> mx.slice(mx.arange(9).reshape(3, 3), mx.array([1]), (0,), (1, 2))
        array([[3, 4]], dtype=int32)
    """

def slice_update(a: array, update: array, start_indices: array, axes: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Return a copy with a slice replaced, whose start is given by an array.

    Args:
        a: an array of any dtype.
        update: what is written.
        start_indices: a vector of integers: where the slice begins, along `axes`.
        axes: the axes that the starts belong to.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: the update is larger than `a`.

    Example:
        >>> mx.slice_update(mx.zeros(4), mx.ones(2), mx.array([1]), (0,))
        array([0, 1, 1, 0], dtype=float32)
    """

def concatenate(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Join arrays along an existing axis.

    Args:
        arrays: arrays whose lengths agree along the other axes; they are promoted to one dtype.
        axis: the axis, 0 by default; None flattens the arrays first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array.

    Raises:
        ValueError: there are no arrays, or other lengths differ.

    Example:
        >>> mx.concatenate([mx.array([1, 2]), mx.array([3])])
        array([1, 2, 3], dtype=int32)
    """

concat = concatenate

def stack(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Join arrays of one shape along a new axis.

    Args:
        arrays: the arrays; they are promoted to one dtype.
        axis: the position of the new axis, 0 by default; None flattens the arrays first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with one axis more.

    Raises:
        ValueError: there are no arrays, or shapes differ.

    Example:
        >>> mx.stack([mx.array([1, 2]), mx.array([3, 4])])
        array([[1, 2],
               [3, 4]], dtype=int32)
    """

def split(a: array, /, indices_or_sections: int | Sequence[int], axis: int = 0, *, stream: StreamOrDevice = None) -> list[array]:
    """
    Split an array along an axis.

    Args:
        a: an array of any dtype.
        indices_or_sections: the number of equal parts, or the indices at which the parts begin.
        axis: the axis; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A list of arrays.

    Raises:
        ValueError: the axis has no such number of equal parts.

    Example:
        >>> mx.split(mx.arange(4), 2)
        [array([0, 1], dtype=int32), array([2, 3], dtype=int32)]
        >>> mx.split(mx.arange(4), [1])
        [array([0], dtype=int32), array([1, 2, 3], dtype=int32)]
    """

def unstack(x: array, /, *, axis: int = 0, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the slices along an axis, without that axis.

    Args:
        x: an array of at least one axis.
        axis: the axis; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of arrays.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.unstack(mx.array([[1, 2], [3, 4]]))
        (array([1, 2], dtype=int32), array([3, 4], dtype=int32))
    """

def pad(a: array, pad_width: int | tuple[int] | tuple[int, int] | list[tuple[int, int]], mode: Literal['constant', 'edge', 'reflect', 'symmetric'] = 'constant', constant_values: scalar | array = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Add elements at the ends of axes.

    Args:
        a: an array of any dtype.
        pad_width: how many: an int for all ends, a pair (before, after), or a pair for each
            axis.
        mode: 'constant' (default), 'edge' for the outermost element, 'reflect' or 'symmetric'
            for a mirror image without or with it.
        constant_values: the value that is added in mode 'constant'; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a`.

    Raises:
        ValueError: a width is negative, or the mode is unknown.

    Example:
        >>> mx.pad(mx.array([1, 2]), (1, 2))
        array([0, 1, 2, 0, 0], dtype=int32)
        >>> mx.pad(mx.array([1, 2, 3]), 2, mode="reflect")
        array([3, 2, 1, ..., 3, 2, 1], dtype=int32)
    """

@overload
def repeat(array: array, repeats: int, axis: int | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def repeat(array: array, repeats: array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Repeat each element along an axis.

    Args:
        array: the array.
        repeats: how many times: an int, or an array with a number for each element.
        axis: the axis; None (the default) flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of the input.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> mx.repeat(mx.array([1, 2]), 2)
        array([1, 1, 2, 2], dtype=int32)
    """

def tile(a: array, reps: int | Sequence[int], /, *, stream: StreamOrDevice = None) -> array:
    """
    Repeat an array along its axes.

    Args:
        a: an array of any dtype.
        reps: the number of copies along each axis; an int for the last axis.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a`.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> mx.tile(mx.array([1, 2]), 2)
        array([1, 2, 1, 2], dtype=int32)
    """

def roll(a: array, /, shift: int | tuple[int], axis: None | int | tuple[int] = None, *, stream: StreamOrDevice = None) -> array:
    """
    Shift elements along axes; what leaves at the end comes back at the start.

    Args:
        a: an array of any dtype.
        shift: by how many places, one number for each axis.
        axis: the axis or axes; None (the default) flattens the array first and restores its
            shape.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.roll(mx.array([1, 2, 3]), 1)
        array([3, 1, 2], dtype=int32)
    """

def take(a: array, /, indices: int | array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Take slices along an axis, by their indices.

    Args:
        a: an array of any dtype.
        indices: an int or an array of integers; negative ones count from the end.
        axis: the axis; None (the default) flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array: the axis is replaced by the axes of `indices`.

    Raises:
        IndexError: an index is out of range.

    Example:
        >>> mx.take(mx.array([10, 20, 30]), mx.array([2, 0]))
        array([30, 10], dtype=int32)
    """

def take_along_axis(a: array, /, indices: array, axis: int | None = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Take elements along an axis, by an index for each.

    Args:
        a: an array of any dtype.
        indices: an array of integers that is broadcast against `a` on the other axes.
        axis: the axis, by default the last one; None flattens `a` first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `indices`.

    Raises:
        IndexError: an index or the axis is out of range.

    Example:
        >>> a = mx.array([[3, 1], [2, 4]])
        >>> mx.take_along_axis(a, mx.argsort(a, axis=1), axis=1)
        array([[1, 3],
               [2, 4]], dtype=int32)
    """

def put_along_axis(a: array, /, indices: array, values: array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return a copy with elements replaced along an axis, by an index for each.

    Args:
        a: an array of any dtype.
        indices: an array of integers that is broadcast against `a` on the other axes.
        values: what is written; broadcast to the shape of `indices`.
        axis: the axis; None (the default) flattens `a` first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        IndexError: the axis is out of range.

    Example:
        >>> mx.put_along_axis(mx.zeros((2, 2)), mx.array([[1], [0]]), mx.array(5.0), axis=1)
        array([[0, 5],
               [5, 0]], dtype=float32)
    """

def nonzero(a: array, /, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the indices of the nonzero elements. Evaluates the array.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of vectors of indices, one for each axis.

    Example:
        >>> mx.nonzero(mx.array([0, 3, 4]))
        (array([1, 2], dtype=int32),)
    """

def argwhere(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the indices of the nonzero elements, as rows. Evaluates the array.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A matrix with a row for each nonzero element and a column for each axis.

    Example:
        >>> mx.argwhere(mx.array([[0, 3], [4, 0]]))
        array([[0, 1],
               [1, 0]], dtype=int32)
    """

def flatnonzero(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the indices of the nonzero elements of the flattened array. Evaluates the array.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of indices.

    Example:
        >>> mx.flatnonzero(mx.array([[0, 3], [4, 0]]))
        array([1, 2], dtype=int32)
    """

def compress(condition: array, a: array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Take the slices along an axis for which a condition is true. Evaluates the condition.

    Args:
        condition: a vector of bool.
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a`.

    Raises:
        ValueError: the condition is longer than the axis.

    Example:
        >>> mx.compress(mx.array([True, False, True]), mx.array([1, 2, 3]))
        array([1, 3], dtype=int32)
    """

def extract(condition: array, a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Take the elements for which a condition is true. Evaluates the condition.

    Args:
        condition: an array of bool with as many elements as `a`.
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of the dtype of `a`.

    Example:
        >>> a = mx.array([1, 2, 3])
        >>> mx.extract(a > 1, a)
        array([2, 3], dtype=int32)
    """

@overload
def sum(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array: ...

@overload
def sum(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, dtype: Dtype | None, stream: StreamOrDevice = None) -> array:
    """
    Return the sum of the elements over axes.

    Bool and integers narrower than 32 bits are added in int32 or uint32.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        dtype: the dtype in which elements are added; by default the one of `a`, at least 32
            bits for integers.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes; 0 for an empty one.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> a = mx.array([[1, 2], [3, 4]])
        >>> mx.sum(a)
        array(10, dtype=int32)
        >>> mx.sum(a, axis=0)
        array([4, 6], dtype=int32)
    """

@overload
def prod(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array: ...

@overload
def prod(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, dtype: Dtype | None, stream: StreamOrDevice = None) -> array:
    """
    Return the product of the elements over axes.

    Bool and integers narrower than 32 bits are multiplied in int32 or uint32.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        dtype: the dtype in which elements are multiplied; by default the one of `a`, at least
            32 bits for integers.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes; 1 for an empty one.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.prod(mx.array([[1, 2], [3, 4]]), axis=1)
        array([2, 12], dtype=int32)
    """

def max(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the largest element over axes. NaN is larger than all numbers.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a` without the reduced axes.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a reduced axis has length 0.

    Example:
        >>> mx.max(mx.array([[1, 5], [3, 2]]), axis=1)
        array([5, 3], dtype=int32)
    """

def min(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the smallest element over axes. NaN is smaller than all numbers.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a` without the reduced axes.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a reduced axis has length 0.

    Example:
        >>> mx.min(mx.array([[1, 5], [3, 2]]), axis=1)
        array([1, 2], dtype=int32)
    """

def all(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Test whether all elements over axes are nonzero.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool without the reduced axes; True for an empty one.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.all(mx.array([[True, True], [True, False]]), axis=1)
        array([True, False], dtype=bool)
    """

def any(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Test whether at least one element over axes is nonzero.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool without the reduced axes; False for an empty one.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.any(mx.array([[False, True], [False, False]]), axis=1)
        array([True, False], dtype=bool)
    """

def mean(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the arithmetic mean over axes.

    Args:
        a: an array; bool and integers are converted to float32.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, of the dtype of `a` or float32; NaN for an empty one.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.mean(mx.array([[1, 2], [3, 4]]), axis=0)
        array([2, 3], dtype=float32)
    """

def median(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the median over axes: the middle of the sorted elements, or the mean of the two
    middle ones.

    Args:
        a: an array of any dtype but complex.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, of the dtype of `a` or float32.

    Raises:
        IndexError: an axis is out of range.
        ValueError: `a` is complex, or a reduced axis has length 0.

    Example:
        >>> mx.median(mx.array([5.0, 1.0, 3.0, 2.0]))
        array(2.5, dtype=float32)
    """

def count_nonzero(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Count the nonzero elements over axes.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of integers without the reduced axes.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.count_nonzero(mx.array([[0, 1], [2, 3]]), axis=0)
        array([1, 2], dtype=int32)
    """

def minmax(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    Return the smallest and the largest element over axes, in one pass.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A pair of arrays of the dtype of `a` without the reduced axes: the smallest and the
        largest.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a reduced axis has length 0.

    Example:
        >>> mx.minmax(mx.array([3, 1, 2]))
        (array(1, dtype=int32), array(3, dtype=int32))
    """

@overload
def var(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, stream: StreamOrDevice = None) -> array: ...

@overload
def var(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, correction: float, stream: StreamOrDevice = None) -> array:
    """
    Return the variance over axes: the mean squared distance from the mean.

    Args:
        a: an array; bool and integers are converted to float32.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        ddof: the sum of squares is divided by `n - ddof`; 0 by default, 1 for the unbiased
            estimate.
        correction: the same as `ddof`, and may be a fraction.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, of the dtype of `a` or float32.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.var(mx.array([1.0, 2.0, 3.0, 4.0]))
        array(1.25, dtype=float32)
        >>> mx.var(mx.array([1.0, 2.0, 3.0, 4.0]), ddof=1)
        array(1.66667, dtype=float32)
    """

@overload
def std(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, stream: StreamOrDevice = None) -> array: ...

@overload
def std(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, correction: float, stream: StreamOrDevice = None) -> array:
    """
    Return the standard deviation over axes: the square root of the variance.

    Args:
        a: an array; bool and integers are converted to float32.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        ddof: the sum of squares is divided by `n - ddof`; 0 by default.
        correction: the same as `ddof`, and may be a fraction.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, of the dtype of `a` or float32.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.std(mx.array([1.0, 3.0]))
        array(1, dtype=float32)
    """

def argmax(a: array, /, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the index of the first largest element.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint32 without the axis.

    Raises:
        IndexError: the axis is out of range.
        ValueError: the axis has length 0.

    Example:
        >>> mx.argmax(mx.array([[1, 5], [7, 2]]), axis=1)
        array([1, 0], dtype=uint32)
    """

def argmin(a: array, /, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the index of the first smallest element.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint32 without the axis.

    Raises:
        IndexError: the axis is out of range.
        ValueError: the axis has length 0.

    Example:
        >>> mx.argmin(mx.array([[1, 5], [7, 2]]), axis=1)
        array([0, 1], dtype=uint32)
    """

def softmax(a: array, /, axis: None | int | Sequence[int] = None, *, precise: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return `exp(a) / sum(exp(a))` over axes, without overflow.

    Args:
        a: an array; bool and integers are converted to float32.
        axis: the axis or axes over which the sum is 1; None (the default) for all.
        precise: whether 16-bit floats are computed in float32; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.softmax(mx.array([0.0, 1.0, 2.0]))
        array([0.0900306, 0.244728, 0.665241], dtype=float32)
    """

def logsumexp(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return `log(sum(exp(a)))` over axes, without overflow.

    Args:
        a: an array; bool and integers are converted to float32.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, of the dtype of `a` or float32; -inf for an empty
        one.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.logsumexp(mx.array([1000.0, 1000.0]))
        array(1000.69, dtype=float32)
    """

def cumsum(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the cumulative sum: the sums of the elements up to each one.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        reverse: whether sums run from the end; False by default.
        inclusive: whether the element itself is part of its sum; True by default.
        dtype: the dtype of the result; that of `a` by default, int32 for bool.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, flat if `axis` is None.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.cumsum(mx.array([1, 2, 3]))
        array([1, 3, 6], dtype=int32)
        >>> mx.cumsum(mx.array([1, 2, 3]), inclusive=False)
        array([0, 1, 3], dtype=int32)
    """

def cumprod(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the cumulative product: the products of the elements up to each one.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        reverse: whether products run from the end; False by default.
        inclusive: whether the element itself is part of its product; True by default.
        dtype: the dtype of the result; that of `a` by default, int32 for bool.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, flat if `axis` is None.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.cumprod(mx.array([1, 2, 3]))
        array([1, 2, 6], dtype=int32)
    """

def cummax(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
    """
    Return the cumulative maximum: the largest of the elements up to each one.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        reverse: whether maxima run from the end; False by default.
        inclusive: whether the element itself takes part; True by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`, flat if `axis` is None.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.cummax(mx.array([1, 3, 2]))
        array([1, 3, 3], dtype=int32)
    """

def cummin(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
    """
    Return the cumulative minimum: the smallest of the elements up to each one.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        reverse: whether minima run from the end; False by default.
        inclusive: whether the element itself takes part; True by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`, flat if `axis` is None.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.cummin(mx.array([3, 1, 2]))
        array([3, 1, 1], dtype=int32)
    """

def logcumsumexp(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
    """
    Return `log(cumsum(exp(a)))` without overflow.

    Args:
        a: an array; bool and integers are converted to float32.
        axis: the axis; None (the default) flattens the array first.
        reverse: whether sums run from the end; False by default.
        inclusive: whether the element itself is part of its sum; True by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, flat if `axis` is None, of its dtype or float32.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.logcumsumexp(mx.array([0.0, 0.0, 0.0]))
        array([0, 0.693147, 1.09861], dtype=float32)
    """

def diff(a: array, /, n: int = 1, axis: int = -1, *, prepend: scalar | array | None = None, append: scalar | array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the differences of neighbours along an axis; for bool, whether they differ.

    Args:
        a: an array of any dtype.
        n: how many times differences are taken; 1 by default.
        axis: the axis; the last one by default.
        prepend: elements that are put before `a` first, an array or a scalar; None for none.
        append: elements that are put behind `a` first, an array or a scalar; None for none.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array that is `n` shorter along the axis.

    Raises:
        IndexError: the axis is out of range.
        ValueError: `n` is negative.

    Example:
        >>> mx.diff(mx.array([1, 4, 9]))
        array([3, 5], dtype=int32)
    """

@overload
def sort(a: array, /, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array: ...

@overload
def sort(a: array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, stream: StreamOrDevice = None) -> array:
    """
    Return the elements in ascending order along an axis. NaN comes last.

    Args:
        a: an array of any dtype.
        axis: the axis, by default the last one; None flattens the array first.
        descending: whether the order is descending; False by default.
        stable: accepted for the array API standard; the sort is stable.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`, flat if `axis` is None.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.sort(mx.array([3, 1, 2]))
        array([1, 2, 3], dtype=int32)
    """

@overload
def argsort(a: array, /, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array: ...

@overload
def argsort(a: array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, stream: StreamOrDevice = None) -> array:
    """
    Return the indices that sort the elements along an axis.

    Args:
        a: an array of any dtype.
        axis: the axis, by default the last one; None flattens the array first.
        descending: whether the order is descending; False by default.
        stable: accepted for the array API standard; the sort is stable.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint32 of the shape of `a`, flat if `axis` is None.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.argsort(mx.array([3, 1, 2]))
        array([1, 2, 0], dtype=uint32)
    """

def partition(a: array, /, kth: int, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the elements so that the `kth` smallest is in its sorted position, with none larger
    before it.

    Args:
        a: an array of any dtype.
        kth: the position; negative numbers count from the end.
        axis: the axis, by default the last one; None flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`, flat if `axis` is None.

    Raises:
        IndexError: the axis is out of range.
        ValueError: `kth` is out of range.

    Example:
        >>> mx.partition(mx.array([3, 1, 2, 5]), 1)[1]
        array(2, dtype=int32)
    """

def argpartition(a: array, /, kth: int, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the indices of the elements in the order of `partition`.

    Args:
        a: an array of any dtype.
        kth: the position; negative numbers count from the end.
        axis: the axis, by default the last one; None flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint32 of the shape of `a`, flat if `axis` is None.

    Raises:
        IndexError: the axis is out of range.
        ValueError: `kth` is out of range.

    Example:
        >>> mx.argpartition(mx.array([3, 1, 2, 5]), 1)[1]
        array(2, dtype=uint32)
    """

def topk(a: array, /, k: int, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the `k` largest elements along an axis, in no particular order.

    Args:
        a: an array of any dtype.
        k: how many, from 0 to the length of the axis.
        axis: the axis, by default the last one; None flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a` with `k` elements along the axis.

    Raises:
        IndexError: the axis is out of range.
        ValueError: `k` is out of range.

    Example:
        >>> mx.sort(mx.topk(mx.array([3, 1, 2, 5]), 2))
        array([3, 5], dtype=int32)
    """

def searchsorted(sorted_sequence: array, values: array, /, side: str = 'left', *, sorter: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the positions at which values would be inserted to keep a sequence sorted.

    Args:
        sorted_sequence: a vector in ascending order.
        values: an array of any shape.
        side: 'left' for positions before equal elements (the default), 'right' for positions
            after them.
        sorter: indices that sort the sequence, if it is not sorted; None by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of integers of the shape of `values`.

    Raises:
        ValueError: `side` is another word, or the sequence is no vector.

    Example:
        >>> mx.searchsorted(mx.array([1, 3, 5]), mx.array([3, 4]))
        array([1, 2], dtype=uint32)
    """

def unique(a: array, /, size: int | None = None, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, fill_value: scalar | array | None = None, *, stream: StreamOrDevice = None) -> array | tuple[array, ...]:
    """
    Return the distinct elements of the flattened array in ascending order.

    Without `size` the array is evaluated, since the number of results depends on it. No two NaN
    are equal.

    Args:
        a: an array of any dtype.
        size: how many results there are: the first ones, filled up with `fill_value`; None for
            all.
        return_index: whether the positions of first occurrences are returned; False by default.
        return_inverse: whether the positions that give back `a` are returned; False by default.
        return_counts: whether the numbers of occurrences are returned; False by default.
        fill_value: what fills the results up to `size`; the smallest element by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        The elements, or a tuple of them and of what else is asked for.

    Example:
        >>> mx.unique(mx.array([3, 1, 3]))
        array([1, 3], dtype=int32)
        >>> mx.unique(mx.array([3, 1, 3]), return_counts=True)
        (array([1, 3], dtype=int32), array([1, 2], dtype=int32))
    """

class UniqueAllResult(NamedTuple):
    values: array
    indices: array
    inverse_indices: array
    counts: array

def unique_all(x: array, /, *, stream: StreamOrDevice = None) -> UniqueAllResult:
    """
    Return the distinct elements, their first positions, the inverse and the counts. Evaluates
    the array.

    Args:
        x: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A named tuple `(values, indices, inverse_indices, counts)`.

    Example:
        >>> mx.unique_all(mx.array([3, 1, 3])).values
        array([1, 3], dtype=int32)
    """

class UniqueCountsResult(NamedTuple):
    values: array
    counts: array

def unique_counts(x: array, /, *, stream: StreamOrDevice = None) -> UniqueCountsResult:
    """
    Return the distinct elements and their counts. Evaluates the array.

    Args:
        x: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A named tuple `(values, counts)`.

    Example:
        >>> mx.unique_counts(mx.array([3, 1, 3])).counts
        array([1, 2], dtype=int32)
    """

class UniqueInverseResult(NamedTuple):
    values: array
    inverse_indices: array

def unique_inverse(x: array, /, *, stream: StreamOrDevice = None) -> UniqueInverseResult:
    """
    Return the distinct elements and the positions that give back `x`. Evaluates the array.

    Args:
        x: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A named tuple `(values, inverse_indices)`.

    Example:
        >>> mx.unique_inverse(mx.array([3, 1, 3])).inverse_indices
        array([1, 0, 1], dtype=int32)
    """

def unique_values(x: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the distinct elements in ascending order. Evaluates the array.

    Args:
        x: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of the dtype of `x`.

    Example:
        >>> mx.unique_values(mx.array([3, 1, 3]))
        array([1, 3], dtype=int32)
    """

def isin(x1: scalar | array, x2: scalar | array, /, *, invert: bool = False, assume_unique: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Test whether each element is among those of another array.

    Args:
        x1: an array or a scalar: what is looked for.
        x2: an array or a scalar: the set.
        invert: whether the result is negated; False by default.
        assume_unique: accepted for NumPy's interface; it changes nothing.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `x1`.

    Example:
        >>> mx.isin(mx.array([1, 2, 3]), mx.array([2, 3, 5]))
        array([False, True, True], dtype=bool)
    """

def bincount(x: array, /, weights: array | None = None, minlength: int = 0, *, length: int | None = None, stream: StreamOrDevice = None) -> array:
    """
    Count how often 0, 1, 2, ... occur in a vector of integers.

    The array is evaluated to find the largest element, unless `length` is given.

    Args:
        x: a vector of integers from 0 up.
        weights: a vector of what each element counts; None counts 1.
        minlength: the least number of results; 0 by default.
        length: the number of results; all elements must be smaller.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of counts, or of sums of weights.

    Raises:
        ValueError: `x` is no vector of integers, or has negative elements.

    Example:
        >>> mx.bincount(mx.array([0, 2, 2]))
        array([1, 0, 2], dtype=int32)
    """

def histogram(a: array, bins: int | Sequence[scalar] | array = 10, range: tuple[float, float] | None = None, weights: array | None = None, density: bool = False, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    Count how many elements fall into each bin.

    A bin contains its lower bound; the last one contains its upper bound too.

    Args:
        a: a real array.
        bins: the number of bins of equal width, 10 by default, or the ascending bounds of the
            bins.
        range: the outer bounds; by default the smallest and the largest element, which must be
            finite.
        weights: what each element counts, of the shape of `a`; None counts 1.
        density: whether the counts are scaled so that their integral is 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A pair: the counts, and the bounds of the bins, one more than there are bins.

    Raises:
        ValueError: `bins` or `range` are not accepted.

    Example:
        >>> mx.histogram(mx.array([1.0, 2.0, 2.5, 4.0]), bins=3, range=(1.0, 4.0))
        (array([1, 2, 1], dtype=int32), array([1, 2, 3, 4], dtype=float32))
    """

def get_matmul_precision() -> str:
    """
    Return the precision of the products that the calling thread builds.

    Returns:
        "highest", "high" or "medium": of the innermost `with` block of `matmul_precision`, or
        what `set_matmul_precision` set.

    Example:
        >>> with mx.matmul_precision("high"):
        ...     mx.get_matmul_precision()
        'high'
    """

def set_matmul_precision(precision: str) -> None:
    """
    Set how far products of float32 and complex64 matrices may round their operands.

    It applies to convolutions, to attention (`fast.scaled_dot_product_attention`), to `matmul` and to
    functions that call it: the operator `@`, `addmm`, `einsum`, `tensordot`, `inner`, linear layers. A
    product has the precision that was set as it was
    called, and so have its derivatives. On NVIDIA GPUs, products with operands of fewer bits are
    several times faster; other devices compute in float32 whatever is set. Sums are float32.

    Args:
        precision: "highest", the default, uses operands as they are, "high" may round them to
            TF32, which has 11 significant bits, and "medium" to bfloat16, which has 8. If the
            environment variable `MLX_ENABLE_TF32` is 1, a program starts with "high".

    Raises:
        ValueError: the precision is another one.

    Example:
        >>> mx.set_matmul_precision("high")
        >>> a = mx.ones((2, 2)) @ mx.ones((2, 2))
        >>> mx.set_matmul_precision("highest")
    """

class _MatmulPrecision:
    """A `with` block in which products have a precision."""

    def __enter__(self) -> _MatmulPrecision:
        """Sets the precision for the calling thread."""

    def __exit__(self, *args: object) -> None:
        """Puts the earlier precision back."""

def matmul_precision(precision: str) -> _MatmulPrecision:
    """
    Return a context manager in which products of the calling thread have a precision.

    Args:
        precision: "highest", "high" or "medium", as in `set_matmul_precision`.

    Returns:
        A context manager; blocks can be nested.

    Raises:
        ValueError: the precision is another one.

    Example:
        >>> a = mx.ones((2, 2))
        >>> with mx.matmul_precision("high"):
        ...     b = a @ a
    """

def matmul(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the matrix product of the last two axes; the other axes are broadcast.

    A vector on the left is a row, a vector on the right a column; its axis is not part of the
    result.

    Args:
        a: an array of shape (..., M, K) or (K,).
        b: an array of shape (..., K, N) or (K,).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (..., M, N).

    Raises:
        ValueError: an operand is a scalar, or the shapes do not agree.

    Example:
        >>> mx.matmul(mx.array([[1.0, 2.0]]), mx.array([[3.0], [4.0]]))
        array([[11]], dtype=float32)
    """

def inner(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the sums of products over the last axes.

    Args:
        a: an array of shape (..., K).
        b: an array of shape (..., K).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array whose axes are those of `a`, then those of `b`, without the last ones.

    Raises:
        ValueError: the last axes differ in length.

    Example:
        >>> mx.inner(mx.array([1, 2]), mx.array([3, 4]))
        array(11, dtype=int32)
    """

def outer(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the products of all pairs of elements of two flattened arrays.

    Args:
        a: an array of M elements.
        b: an array of N elements.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A matrix of shape (M, N).

    Example:
        >>> mx.outer(mx.array([1, 2]), mx.array([3, 4]))
        array([[3, 4],
               [6, 8]], dtype=int32)
    """

def kron(a: array, b: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the Kronecker product: `b` multiplied by each element of `a`, in blocks.

    Args:
        a: an array.
        b: an array.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array whose lengths are the products of the operands' lengths.

    Example:
        >>> mx.kron(mx.array([1, 2]), mx.array([1, 1]))
        array([1, 1, 2, 2], dtype=int32)
    """

def vecdot(a: array, b: array, /, *, axis: int = -1, stream: StreamOrDevice = None) -> array:
    """
    Return the sum of `conj(a) * b` over an axis.

    Args:
        a: an array.
        b: an array; the other axes are broadcast.
        axis: the axis; the last one by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the axis.

    Raises:
        ValueError: the axes differ in length, or the shapes cannot be broadcast.

    Example:
        >>> mx.vecdot(mx.array([1, 2]), mx.array([3, 4]))
        array(11, dtype=int32)
    """

def addmm(c: array, a: array, b: array, /, alpha: float = 1.0, beta: float = 1.0, *, stream: StreamOrDevice = None) -> array:
    """
    Return `beta * c + alpha * (a @ b)`.

    Args:
        c: an array that is broadcast to the shape of the product.
        a: an array of shape (..., M, K).
        b: an array of shape (..., K, N).
        alpha: the factor of the product; 1 by default.
        beta: the factor of `c`; 1 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (..., M, N).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> mx.addmm(mx.array([1.0]), mx.array([[1.0, 2.0]]), mx.array([[3.0], [4.0]]))
        array([[12]], dtype=float32)
    """

def tensordot(a: array, b: array, /, axes: int | list[Sequence[int]] = 2, *, stream: StreamOrDevice = None) -> array:
    """
    Return the sums of products over several axes of two arrays.

    Args:
        a: an array.
        b: an array.
        axes: how many of the last axes of `a` and the first ones of `b` (2 by default), or two
            lists of axes.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the other axes of `a`, then those of `b`.

    Raises:
        ValueError: the axes differ in number or length.

    Example:
        >>> mx.tensordot(mx.ones((2, 3)), mx.ones((3, 4)), axes=1).shape
        (2, 4)
    """

def gather_mm(a: array, b: array, /, lhs_indices: array | None = None, rhs_indices: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return the matrix products of chosen matrices, without copies of the operands.

    Args:
        a: an array of shape (..., M, K).
        b: an array of shape (..., K, N).
        lhs_indices: which matrices of `a`, counted over its flattened leading axes; None for
            all.
        rhs_indices: which matrices of `b`; None for all.
        sorted_indices: whether the indices are in ascending order, which is faster; False by
            default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of the indices, then (M, N).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> a, b = mx.ones((2, 1, 3)), mx.ones((4, 3, 1))
        >>> mx.gather_mm(a, b, mx.array([0, 1]), mx.array([3, 0])).shape
        (2, 1, 1)
    """

def segmented_mm(a: array, b: array, /, segments: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the products `a[:, start:end] @ b[start:end]` for ranges of the inner axis.

    Args:
        a: a matrix of shape (M, K).
        b: a matrix of shape (K, N).
        segments: the ranges, an array of shape (..., 2).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (..., M, N).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> a, b = mx.ones((1, 4)), mx.ones((4, 1))
        >>> mx.segmented_mm(a, b, mx.array([[0, 1], [1, 4]]))
        array([[[1]],
               [[3]]], dtype=float32)
    """

def block_masked_mm(a: array, b: array, /, block_size: int = 64, mask_out: array | None = None, mask_lhs: array | None = None, mask_rhs: array | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return the matrix product in which square blocks of the operands and of the result are
    masked.

    Args:
        a: an array of shape (..., M, K).
        b: an array of shape (..., K, N).
        block_size: the side of a block, 32 or 64 (default).
        mask_out: a mask of the blocks of the result; None for none.
        mask_lhs: a mask of the blocks of `a`; None for none.
        mask_rhs: a mask of the blocks of `b`; None for none.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (..., M, N).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> a, b = mx.ones((64, 64)), mx.ones((64, 64))
        >>> mx.block_masked_mm(a, b, 64, mx.array([[False]])).sum()
        array(0, dtype=float32)
    """

def hadamard_transform(a: array, scale: float | None = None, stream: StreamOrDevice = None) -> array:
    """
    Multiply the rows of the last axis by a Hadamard matrix.

    Args:
        a: an array whose last axis has length m * 2^k, m being 1, 12, 20 or 28.
        scale: the factor of the result; `1 / sqrt(n)` by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: the length is not accepted.

    Example:
        >>> mx.hadamard_transform(mx.array([1.0, 1.0]), scale=1.0)
        array([2, 0], dtype=float32)
    """

def quantize(w: array, /, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', *, global_scale: array | None = None, stream: StreamOrDevice = None) -> list[array]:
    """
    Pack a matrix along its last axis into words of 32 bits.

    The elements of a group share a scale, and a bias in mode 'affine'.

    Args:
        w: an array whose last axis is a multiple of the group size.
        group_size: 32, 64 or 128; by default what the mode has (64 in mode 'affine').
        bits: bits of an element: 1, 2, 3, 4, 5, 6 or 8; by default what the mode has (4 in mode
            'affine').
        mode: 'affine' (default), 'mxfp4', 'mxfp8' or 'nvfp4'.
        global_scale: a scale of the whole array, for mode 'nvfp4'; None for none.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A list: the words (uint32), the scales and, in mode 'affine', the biases.

    Raises:
        ValueError: the last axis is no multiple of the group size, or the options do not fit
            the mode.

    Example:
        >>> words, scales, biases = mx.quantize(mx.ones((2, 64)))
        >>> words.shape, scales.shape
        ((2, 8), (2, 1))
    """

def dequantize(w: array, /, scales: array, biases: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', global_scale: array | None = None, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Unpack what `quantize` has packed.

    Args:
        w: the words.
        scales: the scales.
        biases: the biases, for mode 'affine'.
        group_size: as given to `quantize`.
        bits: as given to `quantize`.
        mode: as given to `quantize`; 'affine' by default.
        global_scale: as given to `quantize`.
        dtype: the dtype of the result; by default that of the scales, bfloat16 for other modes.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of floats.

    Raises:
        ValueError: the arrays do not fit the options.

    Example:
        >>> packed = mx.quantize(mx.ones((1, 64)))
        >>> mx.dequantize(*packed)[0, :3]
        array([1, 1, 1], dtype=float32)
    """

def quantized_matmul(x: array, w: array, /, scales: array, biases: array | None = None, transpose: bool = True, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', *, stream: StreamOrDevice = None) -> array:
    """
    Return `x @ w.T` for a packed `w`, or `x @ w` if `transpose` is False.

    Args:
        x: an array of shape (..., M, K).
        w: the words of `quantize`.
        scales: its scales.
        biases: its biases, for mode 'affine'.
        transpose: whether `w` is transposed; True by default.
        group_size: as given to `quantize`.
        bits: as given to `quantize`.
        mode: as given to `quantize`; 'affine' by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (..., M, N).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> packed = mx.quantize(mx.ones((2, 64)))
        >>> mx.quantized_matmul(mx.ones((1, 64)), *packed)
        array([[64, 64]], dtype=float32)
    """

def gather_qmm(x: array, w: array, /, scales: array, biases: array | None = None, lhs_indices: array | None = None, rhs_indices: array | None = None, transpose: bool = True, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', global_scale: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return `quantized_matmul` for chosen matrices.

    Args:
        x: an array of shape (..., M, K).
        w: the words of `quantize`.
        scales: its scales.
        biases: its biases, for mode 'affine'.
        lhs_indices: which matrices of `x`, counted over its flattened leading axes; None for
            all.
        rhs_indices: which matrices of `w`; None for all.
        transpose: whether `w` is transposed; True by default.
        group_size: as given to `quantize`.
        bits: as given to `quantize`.
        mode: as given to `quantize`; 'affine' by default.
        global_scale: as given to `quantize`.
        sorted_indices: whether the indices are in ascending order, which is faster; False by
            default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of the indices, then (M, N).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> packed = mx.quantize(mx.ones((3, 2, 64)))
        >>> mx.gather_qmm(mx.ones((1, 1, 64)), *packed, rhs_indices=mx.array([2])).shape
        (1, 1, 2)
    """

def qqmm(x: array, w: array, scales: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'nvfp4', global_scale_x: array | None = None, global_scale_w: array | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return `x @ w.T` with both operands rounded to 8-bit or 4-bit floats.

    Args:
        x: an array of shape (..., M, K).
        w: words of `quantize`, or floats of shape (N, K).
        scales: the scales of `w`, if it is packed.
        group_size: as given to `quantize`.
        bits: as given to `quantize`.
        mode: 'nvfp4' (default), 'mxfp4' or 'mxfp8'.
        global_scale_x: a scale of the whole of `x`; None for none.
        global_scale_w: a scale of the whole of `w`; None for none.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (..., M, N).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> mx.qqmm(mx.ones((1, 32)), mx.ones((2, 32)))
        array([[34.0312, 34.0312]], dtype=float32)
    """

def gather_qqmm(x: array, w: array, /, scales: array | None = None, lhs_indices: array | None = None, rhs_indices: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'nvfp4', global_scale_x: array | None = None, global_scale_w: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return `qqmm` for chosen matrices.

    Args:
        x: an array of shape (..., M, K).
        w: words of `quantize`, or floats of shape (..., N, K).
        scales: the scales of `w`, if it is packed.
        lhs_indices: which matrices of `x`, counted over its flattened leading axes; None for
            all.
        rhs_indices: which matrices of `w`; None for all.
        group_size: as given to `quantize`.
        bits: as given to `quantize`.
        mode: 'nvfp4' (default), 'mxfp4' or 'mxfp8'.
        global_scale_x: a scale of the whole of `x`; None for none.
        global_scale_w: a scale of the whole of `w`; None for none.
        sorted_indices: whether the indices are in ascending order, which is faster; False by
            default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of the indices, then (M, N).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> w = mx.ones((3, 2, 32))
        >>> mx.gather_qqmm(mx.ones((1, 1, 32)), w, rhs_indices=mx.array([2])).shape
        (1, 1, 2)
    """

def einsum(subscripts: str, *operands: array, stream: StreamOrDevice = None) -> array:
    """
    Return sums of products that subscripts describe.

    A letter names an axis. Letters that the result lacks are summed over; `...` stands for
    further axes.

    Args:
        subscripts: the axes of the operands and, behind `->`, of the result.
        operands: the arrays.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the axes of the result.

    Raises:
        ValueError: the subscripts do not fit the operands.

    Example:
        >>> a = mx.array([[1, 2], [3, 4]])
        >>> mx.einsum("ij,jk->ik", a, a)
        array([[7, 10],
               [15, 22]], dtype=int32)
        >>> mx.einsum("ii", a)
        array(5, dtype=int32)
    """

def einsum_path(subscripts: str, *operands: array) -> tuple[list[tuple[int, ...]], str]:
    """
    Return the order in which `einsum` contracts its operands.

    Args:
        subscripts: the axes of the operands and of the result.
        operands: the arrays.

    Returns:
        A pair: the operands contracted in each step, and a text about the cost.

    Raises:
        ValueError: the subscripts do not fit the operands.

    Example:
        >>> a = mx.ones((2, 2))
        >>> mx.einsum_path("ij,jk,kl->il", a, a, a)[0]
        [(1, 2), (0, 1)]
    """

def conv1d(input: array, weight: array, /, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the convolution (cross-correlation) along one axis. Channels come last.

    Args:
        input: an array of shape (N, L, C).
        weight: an array of shape (C_out, K, C / groups).
        stride: the distance of windows; 1 by default.
        padding: zeros added at either end; 0 by default.
        dilation: the distance of the elements of a window; 1 by default.
        groups: in how many groups channels are split; 1 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (N, L_out, C_out).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> x = mx.arange(5.0).reshape(1, 5, 1)
        >>> mx.conv1d(x, mx.ones((1, 3, 1))).flatten()
        array([3, 6, 9], dtype=float32)
    """

def conv_transpose1d(input: array, weight: array, /, stride: int = 1, padding: int = 0, dilation: int = 1, output_padding: int = 0, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the transposed convolution along one axis, the gradient of `conv1d`. Channels come
    last.

    Args:
        input: an array of shape (N, L, C).
        weight: an array of shape (C_out, K, C / groups).
        stride: the distance of windows in the result; 1 by default.
        padding: elements removed at either end; 0 by default.
        dilation: the distance of the elements of a window; 1 by default.
        output_padding: elements added at the end; 0 by default.
        groups: in how many groups channels are split; 1 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (N, L_out, C_out).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> mx.conv_transpose1d(mx.ones((1, 3, 1)), mx.ones((1, 2, 1)), stride=2).shape
        (1, 6, 1)
    """

def conv2d(input: array, weight: array, /, stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the convolution (cross-correlation) along two axes. Channels come last.

    Args:
        input: an array of shape (N, H, W, C).
        weight: an array of shape (C_out, KH, KW, C / groups).
        stride: the distance of windows, one number or one for each axis; 1 by default.
        padding: zeros added at either end; 0 by default.
        dilation: the distance of the elements of a window; 1 by default.
        groups: in how many groups channels are split; 1 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (N, H_out, W_out, C_out).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> mx.conv2d(mx.ones((1, 8, 8, 3)), mx.ones((16, 3, 3, 3)), padding=1).shape
        (1, 8, 8, 16)
    """

def conv_transpose2d(input: array, weight: array, /, stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, output_padding: int | tuple[int, int] = 0, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the transposed convolution along two axes, the gradient of `conv2d`. Channels come
    last.

    Args:
        input: an array of shape (N, H, W, C).
        weight: an array of shape (C_out, KH, KW, C / groups).
        stride: the distance of windows in the result; 1 by default.
        padding: elements removed at either end; 0 by default.
        dilation: the distance of the elements of a window; 1 by default.
        output_padding: elements added at the end; 0 by default.
        groups: in how many groups channels are split; 1 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (N, H_out, W_out, C_out).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> mx.conv_transpose2d(mx.ones((1, 4, 4, 3)), mx.ones((2, 2, 2, 3)), stride=2).shape
        (1, 8, 8, 2)
    """

def conv3d(input: array, weight: array, /, stride: int | tuple[int, int, int] = 1, padding: int | tuple[int, int, int] = 0, dilation: int | tuple[int, int, int] = 1, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the convolution (cross-correlation) along three axes. Channels come last.

    Args:
        input: an array of shape (N, D, H, W, C).
        weight: an array of shape (C_out, KD, KH, KW, C / groups).
        stride: the distance of windows, one number or one for each axis; 1 by default.
        padding: zeros added at either end; 0 by default.
        dilation: the distance of the elements of a window; 1 by default.
        groups: in how many groups channels are split; 1 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (N, D_out, H_out, W_out, C_out).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> mx.conv3d(mx.ones((1, 4, 4, 4, 2)), mx.ones((3, 2, 2, 2, 2))).shape
        (1, 3, 3, 3, 3)
    """

def conv_transpose3d(input: array, weight: array, /, stride: int | tuple[int, int, int] = 1, padding: int | tuple[int, int, int] = 0, dilation: int | tuple[int, int, int] = 1, output_padding: int | tuple[int, int, int] = 0, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the transposed convolution along three axes, the gradient of `conv3d`. Channels come
    last.

    Args:
        input: an array of shape (N, D, H, W, C).
        weight: an array of shape (C_out, KD, KH, KW, C / groups).
        stride: the distance of windows in the result; 1 by default.
        padding: elements removed at either end; 0 by default.
        dilation: the distance of the elements of a window; 1 by default.
        output_padding: elements added at the end; 0 by default.
        groups: in how many groups channels are split; 1 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (N, D_out, H_out, W_out, C_out).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> mx.conv_transpose3d(mx.ones((1, 2, 2, 2, 1)), mx.ones((1, 2, 2, 2, 1)), stride=2).shape
        (1, 4, 4, 4, 1)
    """

def conv_general(input: array, weight: array, /, stride: int | Sequence[int] = 1, padding: int | Sequence[int] | tuple[Sequence[int], Sequence[int]] = 0, kernel_dilation: int | Sequence[int] = 1, input_dilation: int | Sequence[int] = 1, groups: int = 1, flip: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return a convolution along any number of axes, in its general form. Channels come last.

    Args:
        input: an array of shape (N, ..., C).
        weight: an array of shape (C_out, ..., C / groups).
        stride: the distance of windows; 1 by default.
        padding: zeros added: one number, one for each axis, or a pair of sequences for the
            starts and the ends; 0 by default.
        kernel_dilation: the distance of the elements of a window; 1 by default.
        input_dilation: the distance of the elements of the input, between which zeros are put;
            1 by default.
        groups: in how many groups channels are split; 1 by default.
        flip: whether the kernel is reversed, as in a convolution in the mathematical sense;
            False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (N, ..., C_out).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> x = mx.array([1.0, 2.0, 3.0]).reshape(1, 3, 1)
        >>> mx.conv_general(x, mx.ones((1, 2, 1)), padding=([1], [0])).flatten()
        array([1, 3, 5], dtype=float32)
    """

def convolve(a: array, v: array, /, mode: str = "full", *, stream: StreamOrDevice = None) -> array:
    """
    Return the discrete convolution of two vectors.

    Args:
        a: a vector.
        v: a vector.
        mode: 'full' (default) for all positions, 'same' for as many as the longer vector has,
            'valid' for those at which the vectors overlap wholly.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector.

    Raises:
        ValueError: an operand is no vector or is empty, or the mode is unknown.

    Example:
        >>> mx.convolve(mx.array([1.0, 2.0, 3.0]), mx.array([0.0, 1.0]))
        array([0, 1, 2, 3], dtype=float32)
    """

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

def get_memory_limit() -> int:
    """
    Return the number of bytes in use above which cached memory is released first.

    Returns:
        An int.

    Example:
        >>> mx.get_memory_limit() > 0
        True
    """

def get_memory_ceiling() -> int:
    """
    Return the number of bytes above which an allocation fails.

    Returns:
        An int.

    Example:
        >>> mx.get_memory_ceiling() > 0
        True
    """

def set_memory_ceiling(limit: int) -> int:
    """
    Set the number of bytes above which an allocation fails.

    The error is `mx.ArrayMemoryError`, which is both MemoryError and RuntimeError.

    Args:
        limit: the number of bytes.

    Returns:
        The former ceiling.

    Example:
        >>> former = mx.set_memory_ceiling(2**34)
        >>> mx.set_memory_ceiling(former)
        17179869184
    """

def get_array_buffer_size(*args: Any) -> int:
    """
    Return the bytes of the buffers of arrays. A buffer that arrays share counts once.

    Args:
        args: arrays and trees of arrays.

    Returns:
        An int.

    Example:
        >>> x = mx.zeros(1024)
        >>> mx.eval(x)
        >>> mx.get_array_buffer_size([x, x]) >= 4096
        True
    """

def eval(*args: Any) -> None:
    """
    Evaluate the arrays of trees, and wait for them.

    Args:
        args: arrays, and lists, tuples, dicts and modules that contain arrays.

    Raises:
        mx.ExecutionError: an op fails.

    Example:
        >>> y = mx.array([1.0, 2.0]) * 2  # not computed yet
        >>> mx.eval(y)
    """

def async_eval(*args: Any) -> None:
    """
    Start the evaluation of the arrays of trees without waiting for it. Reading them waits.

    Args:
        args: arrays, and lists, tuples, dicts and modules that contain arrays.

    Example:
        >>> y = mx.array([1.0, 2.0]) * 2
        >>> mx.async_eval(y)
        >>> y
        array([2, 4], dtype=float32)
    """

def value_and_grad(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = [], has_aux: bool = False) -> Callable[P, tuple[R, Any]]:
    """
    Return a function that computes the value of `fun` and its gradient.

    `fun` returns a scalar array, or a tuple that starts with one. The gradient has the form of
    the arguments, in a tuple if several positions are given, and in a pair with a dict if names
    are given.

    Args:
        fun: the function.
        argnums: the position or positions of the arguments to differentiate; 0 by default.
        argnames: the names of keyword arguments to differentiate; none by default.
        has_aux: True for a function that returns a pair, of which the first item is differentiated
            and the second one, a tree of any values, is returned as well; False by default.

    Returns:
        A function of the arguments of `fun` that returns `(value, gradient)`; with `has_aux` the value
        is the pair.

    Raises:
        ValueError: the result of `fun` does not start with a scalar array, or an argument is no
            array of floats; raised by the call.

    Example:
        >>> f = mx.value_and_grad(lambda x: (x**2).sum())
        >>> f(mx.array([1.0, 2.0]))
        (array(5, dtype=float32), array([2, 4], dtype=float32))
    """

def grad(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = [], has_aux: bool = False) -> Callable[P, Any]:
    """
    Return a function that computes the gradient of `fun`, a function that returns a scalar
    array.

    Args:
        fun: the function.
        argnums: the position or positions of the arguments to differentiate; 0 by default.
        argnames: the names of keyword arguments to differentiate; none by default.
        has_aux: True for a function that returns a pair, of which the first item is differentiated
            and the second one, a tree of any values, is returned as well; False by default.

    Returns:
        A function of the arguments of `fun` that returns the gradient; see `value_and_grad` for
        its form.

    Raises:
        ValueError: the result of `fun` does not start with a scalar array, or an argument is no
            array of floats; raised by the call.

    Example:
        >>> mx.grad(lambda x: x * x)(mx.array(3.0))
        array(6, dtype=float32)
        >>> mx.grad(mx.grad(mx.sin))(mx.array(0.5))
        array(-0.479426, dtype=float32)
    """

def vjp(fun: Callable[..., Any], primals: Sequence[array], cotangents: Sequence[array]) -> tuple[list[array], list[array]]:
    """
    Return the value of a function, and the products of cotangents with its Jacobian.

    Args:
        fun: a function of arrays.
        primals: the arguments.
        cotangents: an array for each result, of its shape.

    Returns:
        A pair of lists: the results of `fun`, and a product for each primal.

    Raises:
        ValueError: the cotangents do not fit the results.

    Example:
        >>> mx.vjp(mx.sin, [mx.array(0.0)], [mx.array(2.0)])
        ([array(0, dtype=float32)], [array(2, dtype=float32)])
    """

def jvp(fun: Callable[..., Any], primals: Sequence[array], tangents: Sequence[array]) -> tuple[list[array], list[array]]:
    """
    Return the value of a function, and the products of its Jacobian with tangents.

    Args:
        fun: a function of arrays.
        primals: the arguments.
        tangents: an array for each argument, of its shape.

    Returns:
        A pair of lists: the results of `fun`, and a product for each result.

    Raises:
        ValueError: the tangents do not fit the primals.

    Example:
        >>> mx.jvp(mx.sin, [mx.array(0.0)], [mx.array(2.0)])
        ([array(0, dtype=float32)], [array(2, dtype=float32)])
    """

def jacfwd(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = [], has_aux: bool = False) -> Callable[P, Any]:
    """
    Return a function that computes the Jacobian of `fun` by forward mode: a product for
    each element of the arguments.

    Args:
        fun: a function that returns an array, or a tree of arrays.
        argnums: the position or positions of the arguments to differentiate; 0 by default.
        argnames: the names of keyword arguments to differentiate; none by default.
        has_aux: True for a function that returns a pair, of which the first item is differentiated
            and the second one, a tree of any values, is returned as well; False by default.

    Returns:
        A function of the arguments of `fun` that returns the result of `fun` with each array
        replaced by its Jacobian, in the form of a gradient. Its shape is that of the array,
        followed by that of the argument.

    Raises:
        ValueError: an argument is no array of real floats; raised by the call.

    Example:
        >>> mx.jacfwd(lambda x: x * x)(mx.array([1.0, 2.0]))
        array([[2, 0],
               [0, 4]], dtype=float32)
    """

def jacrev(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = [], has_aux: bool = False) -> Callable[P, Any]:
    """
    Return a function that computes the Jacobian of `fun` by reverse mode: a product for
    each element of the results.

    Args:
        fun: a function that returns an array, or a tree of arrays.
        argnums: the position or positions of the arguments to differentiate; 0 by default.
        argnames: the names of keyword arguments to differentiate; none by default.
        has_aux: True for a function that returns a pair, of which the first item is differentiated
            and the second one, a tree of any values, is returned as well; False by default.

    Returns:
        A function of the arguments of `fun` that returns the result of `fun` with each array
        replaced by its Jacobian, in the form of a gradient. Its shape is that of the array,
        followed by that of the argument.

    Raises:
        ValueError: an argument or a result is no array of real floats; raised by the call.

    Example:
        >>> mx.jacrev(lambda x: x.sum())(mx.array([1.0, 2.0]))
        array([1, 1], dtype=float32)
    """

def hessian(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = [], has_aux: bool = False) -> Callable[P, Any]:
    """
    Return a function that computes the second derivatives of `fun`: `jacfwd` of `jacrev`.

    Args:
        fun: a function that returns an array, or a tree of arrays.
        argnums: the position or positions of the arguments to differentiate; 0 by default.
        argnames: the names of keyword arguments to differentiate; none by default.
        has_aux: True for a function that returns a pair, of which the first item is differentiated
            and the second one, a tree of any values, is returned as well; False by default.

    Returns:
        A function of the arguments of `fun` that returns the result of `fun` with each array
        replaced by its second derivatives, in the form of a gradient of gradients. Their shape is
        that of the array, followed by those of both arguments.

    Raises:
        ValueError: an argument or a result is no array of real floats; raised by the call.

    Example:
        >>> mx.hessian(lambda x: (x ** 3).sum())(mx.array([1.0, 2.0]))
        array([[6, 0],
               [0, 12]], dtype=float32)
    """

def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: array) -> array:
    """
    Apply a function of vectors along an axis.

    The function is called once with a traced vector, as by `vmap`.

    Args:
        func1d: a function of a vector that returns an array.
        axis: the axis.
        arr: an array.

    Returns:
        An array in which the axes of the function's result take the place of the axis.

    Raises:
        ValueError: the function returns several arrays.

    Example:
        >>> mx.apply_along_axis(mx.max, 0, mx.array([[1, 5], [4, 2]]))
        array([4, 5], dtype=int32)
    """

def fromfunction(function: Callable[..., Any], shape: Sequence[int], dtype: Dtype | None = float32) -> Any:
    """
    Apply a function to the index of each element along each axis.

    Args:
        function: a function of as many arrays as the shape has axes.
        shape: the shape of the arrays.
        dtype: the dtype of the arrays; float32 by default.

    Returns:
        The result of the function.

    Example:
        >>> mx.fromfunction(lambda i, j: i + j, (2, 3))
        array([[0, 1, 2],
               [1, 2, 3]], dtype=float32)
    """

def piecewise(x: array, condlist: Sequence[array], funclist: Sequence[Any]) -> array:
    """
    Return values of several functions, chosen by conditions.

    Unlike NumPy's, each function takes all elements, and the last true condition decides.

    Args:
        x: an array.
        condlist: arrays of bool.
        funclist: functions of `x`, or numbers: one for each condition, and possibly one for the
            rest, which is 0 otherwise.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: the number of functions does not fit.

    Example:
        >>> mx.piecewise(mx.array([-1.0, 2.0]), [mx.array([True, False])], [lambda x: -x, 7.0])
        array([1, 7], dtype=float32)
    """

def vjp_fn(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """
    Return the result of a function, and a function from cotangents of the result to those of
    the primals.

    The derivative is traced here, so that the function of cotangents does not call `fun`. `vjp`
    takes the cotangents at once.

    Args:
        fun: a function of trees of arrays that returns a tree of arrays.
        primals: the arguments at which derivatives are taken.
        has_aux: True for a function that returns a pair, of which the first item is differentiated
            and the second one, a tree of any values, is returned as well; False by default.

    Returns:
        The result of `fun`, the function, and with `has_aux` the second item. The function takes a
        tree like the result, or its items as arguments, with None for zeros; it returns a tree like the
        argument of `fun`, a tuple of trees for several arguments.

    Raises:
        ValueError: a leaf is no array, or cotangents have another form or other shapes; raised by
            the function.

    Example:
        >>> y, pull = mx.vjp_fn(lambda x: x**2, mx.array(3.0))
        >>> pull(mx.array(1.0))
        array(6, dtype=float32)
    """

def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """
    Return the result of a function, and the linear function from tangents of the primals to
    those of the result.

    The derivative is traced here: the linear function does not call `fun`, and values that do not
    depend on tangents are computed once. `jvp` takes the tangents at once.

    Args:
        fun: a function of trees of arrays that returns a tree of arrays.
        primals: the arguments at which derivatives are taken.
        has_aux: True for a function that returns a pair, of which the first item is differentiated
            and the second one, a tree of any values, is returned as well; False by default.

    Returns:
        The result of `fun`, the function, and with `has_aux` the second item. The function takes
        arguments like the primals, with None for zeros, and returns a tree like the result.

    Raises:
        ValueError: a leaf is no array, or tangents have another form or other shapes; raised by the
            function.

    Example:
        >>> y, push = mx.linearize(lambda x: x**2, mx.array(3.0))
        >>> push(mx.array(1.0))
        array(6, dtype=float32)
    """

def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """
    Return the transpose of a linear function, which takes cotangents of its outputs.

    The function must be linear in the primals: the transpose is its derivative at zero.

    Args:
        fun: a function of arrays that returns an array or a sequence of arrays.
        primals: arrays of the shapes and dtypes of its arguments; their values are not used.

    Returns:
        A function that returns an array, or a tuple of them.

    Raises:
        ValueError: the number or shapes of cotangents do not fit.

    Example:
        >>> mx.linear_transpose(lambda x: 3 * x[:2], mx.zeros((3,)))(mx.array([1.0, 2.0]))
        array([3, 6, 0], dtype=float32)
    """

def hvp(fun: Callable[..., Any], primals: Sequence[array], tangents: Sequence[array]) -> tuple[list[array], list[array]]:
    """
    Return the gradient of a function, and its Hessian times vectors, without the Hessian.

    Args:
        fun: a function of arrays that returns a scalar array.
        primals: the arrays at which derivatives are taken.
        tangents: an array of the shape of each primal.

    Returns:
        A tuple of a list of gradients and a list of products.

    Raises:
        ValueError: the function does not return a scalar, or the shapes do not fit.

    Example:
        >>> mx.hvp(lambda x: (x**3).sum(), [mx.array([1.0, 2.0])], [mx.array([1.0, 0.0])])
        ([array([3, 12], dtype=float32)], [array([6, 0], dtype=float32)])
    """

class ShapeDtypeStruct:
    """The shape and the dtype of an array, without its values."""

    def __init__(self, arg0: object, arg1: object, /) -> None: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""

    @property
    def dtype(self) -> Dtype:
        """The type of the elements."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    def __eq__(self, other: object) -> bool:
        """True for the same shape and dtype."""

    def __hash__(self) -> int:
        """The hash of the shape and the dtype."""

    def __repr__(self) -> str:
        """The shape and the dtype."""

def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """
    Return the shapes and dtypes of the result of a function, without computing it.

    `fun` is called once, on arrays without values: code that reads values raises an error.

    Args:
        fun: the function.
        args: its arguments: trees of arrays, of `ShapeDtypeStruct` in their place, and of other
            values.
        kwargs: its keyword arguments, likewise.

    Returns:
        The result of `fun` with a `ShapeDtypeStruct` in the place of each array.

    Raises:
        mx.ExecutionError: `fun` reads a value; or what `fun` raises for these shapes.

    Example:
        >>> mx.eval_shape(mx.matmul, mx.ShapeDtypeStruct((2, 3), mx.float16), mx.zeros((3, 4)))
        ShapeDtypeStruct(shape=(2, 4), dtype=float32)
    """

def compile(fun: Callable[P, R], inputs: object | None = None, outputs: object | None = None, shapeless: bool = False) -> Callable[P, R]:
    """
    Return a function that computes what `fun` computes, as one node of the graph.

    `fun` is traced once for each combination of dtypes, shapes and tree structures of its
    arguments, and of the numbers and strings among them. What it reads besides its arguments is
    a constant of the trace, unless `inputs` names it; arrays cannot be evaluated while it is
    traced.

    Args:
        fun: a function of trees of arrays.
        inputs: containers (lists, dicts, modules, `mx.random.state`) whose arrays `fun` reads.
        outputs: containers whose arrays `fun` replaces; they are updated in place.
        shapeless: whether a trace serves arguments of other lengths, if every op allows it;
            False by default.

    Returns:
        A function of the arguments of `fun`.

    Raises:
        ValueError: `fun` reads the value of an array while it is traced; raised by the call.

    Example:
        >>> f = mx.compile(lambda x, y: mx.exp(-x) + y)
        >>> f(mx.array(0.0), mx.array(2.0))
        array(3, dtype=float32)
    """

def disable_compile() -> None:
    """
    Let compiled functions run as ordinary ones from here on.

    The environment variable MLX_DISABLE_COMPILE has the same effect.

    Example:
        >>> mx.disable_compile()
        >>> mx.enable_compile()
    """

def enable_compile() -> None:
    """
    Let compiled functions run compiled again, after `disable_compile`.

    Example:
        >>> mx.enable_compile()
    """

def compile_cache_info() -> dict[str, int]:
    """
    Return the numbers of hits and misses of the cache of traces, and its size.

    Returns:
        A dict with the keys `hits`, `misses`, `size` and others.

    Example:
        >>> sorted(mx.compile_cache_info())
        ['hits', 'max_size', 'misses', 'size']
    """

def set_compile_cache_size(n: int) -> int:
    """
    Set how many traces are kept over all compiled functions; those used longest ago are dropped
    first.

    Args:
        n: the number; 1024 at the start.

    Returns:
        The former number.

    Raises:
        ValueError: `n` is negative.

    Example:
        >>> mx.set_compile_cache_size(1024)
        1024
    """

def clear_compile_cache() -> None:
    """
    Drop the traces of all compiled functions.

    Example:
        >>> mx.clear_compile_cache()
    """

class DebugScope:
    """
    A debugging aid that is on or off; as a context manager it restores the previous state.
    """

    def __enter__(self) -> DebugScope:
        """Itself; turns the aid on or off again where it has been left."""

    def __exit__(self, *args: object) -> None:
        """Puts back what was before."""

def debug_nans(on: bool = True) -> DebugScope:
    """
    Let an evaluation fail at the first op whose result has a NaN and whose inputs have none.

    The error names the op and the line of the program that built it. Elementwise ops then run
    one by one, and compiled functions are traced anew. Holds for all threads.

    Args:
        on: whether to check; True by default.

    Returns:
        An object for a `with` statement, which ends the checks.

    Example:
        >>> with mx.debug_nans():
        ...     y = mx.log(mx.array(1.0)).item()
    """

def debug_lines(on: bool = True) -> DebugScope:
    """
    Let errors of evaluation name the line of the program that built the op which failed.

    Compiled functions are traced anew. Holds for all threads.

    Args:
        on: whether lines are recorded; True by default.

    Returns:
        An object for a `with` statement, which ends the recording.

    Example:
        >>> with mx.debug_lines():
        ...     y = mx.log(mx.array(1.0)).item()
    """

class Profile:
    """Times of executed steps; made by profile()."""

    def __enter__(self) -> Profile:
        """Starts to record."""

    def __exit__(self, *args: object) -> None:
        """Waits for what has been launched, stops, and writes the file."""

    def summary(self) -> str:
        """A table: calls, time, share of the time and GB/s, one line a step."""

    def __str__(self) -> str:
        """The summary."""

def profile(file: str | None = None) -> Profile:
    """
    Record the steps that run within a `with` statement: op, shape, dtype, bytes, time and line.

    Args:
        file: where a trace in Chrome's format is written; None for nowhere.

    Returns:
        An object for a `with` statement; printing it shows a table.

    Example:
        >>> with mx.profile() as p:
        ...     mx.eval(mx.ones(3) + 1)
        >>> len(str(p)) > 0
        True
    """

def vmap(fun: Callable[P, R], in_axes: object = 0, out_axes: object = 0) -> Callable[P, R]:
    """
    Return a function that applies `fun` to each position along an axis of its arguments, at
    once.

    `fun` runs once, on arrays without the mapped axis and without values.

    Args:
        fun: a function of arrays.
        in_axes: the mapped axis of each argument: an int (0 by default), None if an argument is
            not mapped, or a tree of them, a tuple having an entry for each argument.
        out_axes: the position of the mapped axis in the results, in the same form; 0 by
            default.

    Returns:
        A function of the arguments of `fun` with the mapped axes. Arrays in keyword arguments are
        mapped over their first axes.

    Raises:
        IndexError: an axis is out of range; raised by the call.
        ValueError: mapped axes differ in length, or an op cannot be vectorized; raised by the
            call.

    Example:
        >>> mx.vmap(lambda x, y: x @ y, in_axes=(0, None))(mx.ones((3, 2)), mx.array([1.0, 2.0]))
        array([3, 3, 3], dtype=float32)
    """

def scan(f: Callable[..., Any], init: object, xs: object = None, length: int | None = None, reverse: bool = False, *, checkpoint: bool = False) -> tuple[Any, Any]:
    """
    Apply `f` to each slice of `xs` along the first axes, and pass on what it carries.

    `f(carry, x)` returns `(carry, y)`. It is called once, on arrays without values; the loop then
    runs as one node of the graph, without Python. The results are those of

        for x in slices of xs: carry, y = f(carry, x); ys.append(y)

    with the `ys` stacked. What `f` reads besides its arguments is the same in each iteration. The
    derivative is a scan, too, in the other direction.

    Args:
        f: a function of two trees of arrays. The carry that it returns has the form, shapes and
            dtypes of `init`.
        init: the first carry: a tree of arrays. Numbers become arrays.
        xs: a tree of arrays whose first axes have one length; None by default, and `length` is then
            needed.
        length: the number of iterations; by default, that of the first axes of `xs`.
        reverse: True goes from the last slice to the first; False by default. The order of the
            results is that of `xs`.
        checkpoint: True makes derivatives store the carries alone and compute the values inside of
            an iteration again: less memory and more time; False by default.

    Returns:
        `(carry, ys)`: the last carry, and the tree of results, each with a first axis of that length.

    Raises:
        ValueError: `f` returns no pair; the carry changes its form, a shape or a dtype; lengths
            differ or none is given; `f` communicates with other processes.

    Example:
        >>> total, sums = mx.scan(lambda c, x: (c + x, c + x), mx.array(0.0), mx.array([1.0, 2.0, 3.0]))
        >>> sums
        array([1, 3, 6], dtype=float32)
    """

def map(f: Callable[..., Any], xs: object) -> Any:
    """
    Apply `f` to each slice of `xs` along the first axes, one after another, and stack the
    results.

    `f` is called once, on arrays without values. `mx.vmap` computes all slices at once; `map` needs
    the memory of one slice for the values inside of `f`.

    Args:
        f: a function of a tree of arrays that returns a tree of arrays.
        xs: a tree of arrays whose first axes have one length.

    Returns:
        The tree of results, each with a first axis of that length.

    Raises:
        ValueError: `xs` has no array, or lengths differ.

    Example:
        >>> mx.map(lambda x: x @ x, mx.array([[1.0, 2.0], [3.0, 4.0]]))
        array([5, 25], dtype=float32)
    """

def associative_scan(fn: Callable[..., Any], elems: object, reverse: bool = False, axis: int = 0) -> Any:
    """
    Join the slices of all leading parts along an axis with an associative function, in a
    logarithmic number of steps.

    Slice `i` of the result is `fn(... fn(fn(elems[0], elems[1]), elems[2]) ..., elems[i])`. The
    order in which pairs are combined is another one, which an associative function does not see.

    Args:
        fn: an associative function of two trees of arrays that returns such a tree. It gets many
            slices at once, along the same axis, and computes each by itself.
        elems: a tree of arrays with one length along the axis.
        reverse: True combines trailing parts, from the end; False by default.
        axis: the axis; 0 by default.

    Returns:
        A tree of arrays of the shapes of `elems`.

    Raises:
        IndexError: the axis is out of range.
        ValueError: lengths differ, or `fn` changes the form, a shape or a dtype.

    Example:
        >>> mx.associative_scan(mx.multiply, mx.array([1.0, 2.0, 3.0, 4.0]))
        array([1, 2, 6, 24], dtype=float32)
    """

def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: object) -> Any:
    """
    Repeat `body_fun` while `cond_fun` is true.

    The results are those of

        while cond_fun(val): val = body_fun(val)

    Both functions are called once, on arrays without values; the loop then runs without Python. It
    has forward-mode derivatives (`mx.jvp`) and none in reverse mode. Under `mx.vmap`, it goes on
    while the condition of one position is true. An interrupt (Ctrl-C) ends the wait for its result.

    Args:
        cond_fun: a function of a tree of arrays that returns a scalar.
        body_fun: a function of that tree that returns one of the same form, shapes and dtypes.
        init_val: the first tree. Numbers become arrays.

    Returns:
        The last tree.

    Raises:
        ValueError: the body changes the form, a shape or a dtype; the condition returns no scalar;
            a reverse-mode derivative is asked for.

    Example:
        >>> mx.while_loop(lambda x: x < 100, lambda x: x * 2, mx.array(3))
        array(192, dtype=int32)
    """

def fori_loop(lower: int | array, upper: int | array, body_fun: Callable[..., Any], init_val: object) -> Any:
    """
    Apply `body_fun` for each number from `lower` up to `upper`, which is not one of them.

    The results are those of

        for i in range(lower, upper): val = body_fun(i, val)

    With bounds that are Python integers the loop is a `mx.scan`, which has derivatives; with arrays
    it is a `mx.while_loop`.

    Args:
        lower: the first number.
        upper: the end.
        body_fun: a function of an int32 scalar and a tree of arrays that returns a tree of the same
            form, shapes and dtypes.
        init_val: the first tree. Numbers become arrays.

    Returns:
        The last tree.

    Raises:
        ValueError: the body changes the form, a shape or a dtype; a bound is no integer scalar.

    Example:
        >>> mx.fori_loop(1, 5, lambda i, x: x * i, mx.array(1))
        array(24, dtype=int32)
    """

def cond(pred: bool | array, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: object) -> Any:
    """
    Return the result of `true_fun(*operands)` or of `false_fun(*operands)`; the other one does not
    run.

    Both functions are called once, on arrays without values. Under `mx.vmap` with a predicate that
    differs between positions, both run, and each position selects its result.

    Args:
        pred: a scalar, true unless it is zero.
        true_fun: a function of the operands.
        false_fun: a function of the operands that returns a tree of the same form, shapes and
            dtypes.
        operands: trees of arrays. Numbers become arrays.

    Returns:
        The tree that the function returned.

    Raises:
        ValueError: the predicate is no scalar, or the results differ in form, a shape or a dtype.

    Example:
        >>> mx.cond(mx.array(2.0) > 1, lambda x: x + 1, lambda x: x - 1, mx.array(5.0))
        array(6, dtype=float32)
    """

def switch(index: int | array, branches: Sequence[Callable], *operands: object) -> Any:
    """
    Return the result of `branches[index](*operands)`; the other functions do not run.

    All functions are called once, on arrays without values. Under `mx.vmap` with an index that
    differs between positions, all run, and each position selects its result.

    Args:
        index: an integer scalar. Numbers below 0 stand for the first function, numbers beyond the
            end for the last one.
        branches: functions of the operands that return trees of the same form, shapes and dtypes.
        operands: trees of arrays. Numbers become arrays.

    Returns:
        The tree that the function returned.

    Raises:
        ValueError: the index is no integer scalar, there is no function, or the results differ in
            form, a shape or a dtype.

    Example:
        >>> mx.switch(mx.array(1), [mx.sin, mx.negative, mx.cos], mx.array(2.0))
        array(-2, dtype=float32)
    """

class custom_function:
    """
    A function of trees of arrays with rules of its own: `f.vjp`, `f.jvp` and `f.vmap` set them and may be used as decorators. A transformation without a rule goes through the function.
    """

    def __init__(self, f: Callable[..., Any]) -> None: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """
        Calls the function. Keyword arguments go to the rules as they are, without derivatives.
        """

    def vjp(self, f: Callable[..., Any]) -> custom_function:
        """
        Sets `f(primals, cotangents, outputs)`, which gives cotangents of the arguments; None stands for a zero cotangent, and for an argument that is no array.
        """

    def jvp(self, f: Callable[..., Any]) -> custom_function:
        """
        Sets `f(primals, tangents)`, which gives tangents of the outputs; None stands for a zero tangent.
        """

    def vmap(self, f: Callable[..., Any]) -> custom_function:
        """
        Sets `f(inputs, axes)`, which gives the outputs for mapped inputs, and their axes.
        """

    def __reduce__(self) -> tuple[Any, ...]:
        """
        For pickling: by name where it stands in a module in place of its function.
        """

    def __setstate__(self, rules: tuple[Any, ...], /) -> None:
        """Restores the rules."""

def checkpoint(fun: Callable[P, R]) -> Callable[P, R]:
    """
    Return a function like `fun` whose derivative computes intermediate arrays again instead of
    keeping them.

    `fun` runs once; what depends on its arguments is computed again, with the same random
    numbers.

    Args:
        fun: a function of trees of arrays.

    Returns:
        A function of the arguments of `fun`.

    Example:
        >>> f = mx.checkpoint(lambda x: mx.exp(mx.sin(x)))
        >>> mx.grad(f)(mx.array(0.0))
        array(1, dtype=float32)
    """

def save(file: file | str | pathlib.Path, arr: array) -> None:
    """
    Write an array to a file in NumPy's format.

    Args:
        file: a path, to which `.npy` is added if it is missing, or a binary file object.
        arr: the array.

    Raises:
        mx.FileError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "a.npy")
        >>> mx.save(file, mx.array([1, 2]))
        >>> mx.load(file)
        array([1, 2], dtype=int32)
    """

def savez(file: file | str | pathlib.Path, *args: Any, **kwargs: Any) -> None:
    """
    Write arrays to an archive in NumPy's format.

    Args:
        file: a path, to which `.npz` is added if it is missing, or a binary file object.
        args: arrays, which are named `arr_0`, `arr_1`, ....
        kwargs: arrays by name.

    Raises:
        mx.FileError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "a.npz")
        >>> mx.savez(file, x=mx.array([1, 2]))
        >>> mx.load(file)
        {'x': array([1, 2], dtype=int32)}
    """

def savez_compressed(file: file | str | pathlib.Path, *args: Any, **kwargs: Any) -> None:
    """
    Write arrays to a compressed archive in NumPy's format.

    Args:
        file: a path, to which `.npz` is added if it is missing, or a binary file object.
        args: arrays, which are named `arr_0`, `arr_1`, ....
        kwargs: arrays by name.

    Raises:
        mx.FileError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "a.npz")
        >>> mx.savez_compressed(file, mx.array([1, 2]))
        >>> mx.load(file)["arr_0"]
        array([1, 2], dtype=int32)
    """

def save_safetensors(file: file | str | pathlib.Path, arrays: dict[str, array], metadata: dict[str, str] | None = None) -> None:
    """
    Write named arrays in the safetensors format.

    Args:
        file: a path, to which `.safetensors` is added if it is missing, or a binary file
            object.
        arrays: a dict of arrays.
        metadata: a dict of texts that are kept in the file; None for none.

    Raises:
        mx.FileError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> mx.save_safetensors(file, {"w": mx.ones(2)})
        >>> mx.load(file)
        {'w': array([1, 1], dtype=float32)}
    """

def save_gguf(file: file | str | pathlib.Path, arrays: dict[str, array], metadata: dict[str, array | str | list[str]] | None = None) -> None:
    """
    Write named arrays and metadata in the GGUF format.

    Args:
        file: a path, to which `.gguf` is added if it is missing.
        arrays: a dict of arrays.
        metadata: a dict of arrays, texts and lists of texts that are kept in the file; None for
            none.

    Raises:
        mx.FileError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "a.gguf")
        >>> mx.save_gguf(file, {"w": mx.ones(2)})
        >>> mx.load(file)
        {'w': array([1, 1], dtype=float32)}
    """

@overload
def load(file: file | str | pathlib.Path, /, format: Literal["npy"], return_metadata: Literal[False] = False, *, stream: StreamOrDevice = None) -> array: ...

@overload
def load(file: file | str | pathlib.Path, /, format: Literal["npz", "safetensors", "gguf"], return_metadata: Literal[False] = False, *, stream: StreamOrDevice = None) -> dict[str, array]: ...

@overload
def load(file: file | str | pathlib.Path, /, format: str | None = None, return_metadata: Literal[False] = False, *, stream: StreamOrDevice = None) -> array | dict[str, array]: ...

@overload
def load(file: file | str | pathlib.Path, /, format: str | None = None, *, return_metadata: Literal[True], stream: StreamOrDevice = None) -> tuple[dict[str, array], dict[str, Any]]: ...

@overload
def load(file: file | str | pathlib.Path, /, format: str | None, return_metadata: Literal[True], *, stream: StreamOrDevice = None) -> tuple[dict[str, array], dict[str, Any]]: ...

@overload
def load(file: file | str | pathlib.Path, /, format: str | None = None, return_metadata: bool = False, *, stream: StreamOrDevice = None) -> array | dict[str, array] | tuple[dict[str, array], dict[str, Any]]:
    """
    Read an array, or arrays by name, from a file.

    Arrays of a file that is named by a path are read when they are used; file objects are read
    at once.

    Args:
        file: a path, or a binary file object.
        format: 'npy', 'npz', 'safetensors' or 'gguf'; by default it follows from the name or
            the content.
        return_metadata: whether the metadata of safetensors and GGUF files are returned too;
            False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array for `.npy`, a dict of arrays for the other formats; with metadata a pair.

    Raises:
        mx.FileError: the file cannot be read, or is damaged.

    Example:
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "a.npz")
        >>> mx.savez(file, x=mx.array([1, 2]))
        >>> mx.load(file)["x"]
        array([1, 2], dtype=int32)
    """

class FunctionExporter:
    """
    Traces a function for each form of its arguments that it is called with, and writes the file when it is closed. Made by `exporter`.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Adds a trace for such arguments."""

    def close(self) -> None:
        """Writes the file. Nothing is traced afterwards."""

    def __enter__(self) -> FunctionExporter: ...

    def __exit__(self, exc_type: object | None = None, exc_value: object | None = None, traceback: object | None = None) -> None:
        """Closes; after an exception nothing is written."""

def export_function(file_or_callback: str | Callable[..., Any], fun: Callable[..., Any], *args: Any, shapeless: bool = False, metadata: str | None = None, **kwargs: Any) -> None:
    """
    Trace a function and write it to a file, which `import_function` reads.

    Custom functions and checkpoints are written as what they compute, without their rules.

    Args:
        file_or_callback: a path, or a function that gets the parts as dicts.
        fun: a function of arrays that returns an array, or a list or tuple of arrays.
        args: the positional arguments of the trace.
        shapeless: whether the file serves arguments of other lengths, if every op allows it;
            False by default.
        metadata: a text that is kept in the file; None for none.
        kwargs: the keyword arguments of the trace.

    Raises:
        ValueError: an op runs code of the program.
        mx.FileError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "sum.mlxfn")
        >>> mx.export_function(file, lambda x, y: x + y, mx.array(1.0), mx.array(2.0))
        >>> mx.import_function(file)(mx.array(3.0), mx.array(4.0))
        (array(7, dtype=float32),)
    """

def exporter(file: str, fun: Callable[..., Any], *, shapeless: bool = False, metadata: str | None = None) -> FunctionExporter:
    """
    Return a context manager that traces a function for each call and writes all traces to one
    file.

    Args:
        file: the path.
        fun: a function of arrays.
        shapeless: whether a trace serves arguments of other lengths, if every op allows it;
            False by default.
        metadata: a text that is kept in the file; None for none.

    Returns:
        A context manager; calls of what it yields are traced.

    Example:
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "square.mlxfn")
        >>> with mx.exporter(file, mx.square) as trace:
        ...     trace(mx.array(1.0))
        ...     trace(mx.array([1.0, 2.0]))
    """

@overload
def import_function(file: str, return_metadata: Literal[False] = False) -> Callable[..., tuple[array, ...]]: ...

@overload
def import_function(file: str, return_metadata: Literal[True]) -> tuple[Callable[..., tuple[array, ...]], str]: ...

@overload
def import_function(file: str, return_metadata: bool = False) -> Callable[..., tuple[array, ...]] | tuple[Callable[..., tuple[array, ...]], str]:
    """
    Return the function in a file that `export_function` or `exporter` has written.

    Args:
        file: the path.
        return_metadata: whether the text in the file is returned too; False by default.

    Returns:
        A function of arrays that returns a tuple of arrays, or a pair of it and the text.

    Raises:
        mx.FileError: the file cannot be read, is damaged or of another kind.
        ValueError: the arguments fit no trace; raised by the call.

    Example:
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "square.mlxfn")
        >>> mx.export_function(file, mx.square, mx.array(1.0))
        >>> mx.import_function(file)(mx.array(3.0))
        (array(9, dtype=float32),)
    """

def export_to_dot(file: object, *args: Any, **kwargs: Any) -> None:
    """
    Write the graph of what is still to be computed as Graphviz text.

    Args:
        file: a path, or an open text file.
        args: arrays and trees of arrays.
        kwargs: arrays, which are given these names.

    Example:
        >>> import io
        >>> out = io.StringIO()
        >>> mx.export_to_dot(out, mx.exp(mx.array(1.0)))
        >>> out.getvalue().startswith("digraph")
        True
    """

def simplify(*args: Any) -> None:
    """
    Merge common subexpressions of graphs in place, and remove ops that do nothing.

    Results stay bitwise equal.

    Args:
        args: arrays and trees of arrays.

    Example:
        >>> x = mx.array(1.0)
        >>> y = mx.exp(x) + mx.exp(x)
        >>> mx.simplify(y)
    """

class PrintOptions:
    """Print options for numbers."""

    def __init__(self, precision: int = -1) -> None: ...

    @property
    def precision(self) -> int:
        """Digits after the point; -1 for six significant digits."""

    @precision.setter
    def precision(self, value: int) -> None: ...

class _PrintOptionsContext:
    """A `with` block with print options."""

    def __enter__(self) -> _PrintOptionsContext:
        """Sets the options."""

    def __exit__(self, exc_type: object | None = None, exc_value: object | None = None, traceback: object | None = None) -> None:
        """Puts the earlier options back."""

def set_printoptions(precision: int = -1) -> None:
    """
    Set how numbers of arrays are printed.

    Args:
        precision: the number of digits after the point; -1 (default) for six significant
            digits.

    Example:
        >>> mx.set_printoptions(precision=2)
        >>> mx.array([3.14159])
        array([3.14], dtype=float32)
        >>> mx.set_printoptions()
    """

def get_printoptions() -> PrintOptions:
    """
    Return how numbers of arrays are printed.

    Returns:
        A `PrintOptions`.

    Example:
        >>> mx.get_printoptions().precision
        -1
    """

def printoptions(precision: int = -1) -> _PrintOptionsContext:
    """
    Return a context in which numbers of arrays are printed in another way.

    Args:
        precision: the number of digits after the point; -1 (default) for six significant
            digits.

    Returns:
        An object for a `with` statement.

    Example:
        >>> with mx.printoptions(precision=2):
        ...     print(mx.array([3.14159]))
        array([3.14], dtype=float32)
    """

class _ArrayNamespaceInfo:
    """Properties by the array API standard."""

    def capabilities(self) -> dict[str, bool | int]:
        """What the functions can do."""

    def default_device(self) -> Device:
        """The device of new arrays."""

    def devices(self) -> tuple[Device, ...]:
        """The devices that are there."""

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, Dtype]:
        """The dtypes of new arrays, by kind."""

    def dtypes(self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Dtype]:
        """The dtypes of the standard that are there, by name."""

def __array_namespace_info__() -> _ArrayNamespaceInfo:
    """
    Return what the array API standard asks for: dtypes, devices, capabilities.

    Returns:
        An object with the methods `capabilities`, `default_device`, `default_dtypes`, `devices`
        and `dtypes`.

    Example:
        >>> mx.__array_namespace_info__().default_device()
        Device(cpu, 0)
    """

def matrix_norm(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the norm of matrices or vectors: the same as `linalg.norm`.

    Args:
        a: an array; bool and integers are converted to float32.
        ord: the order: any number for vectors; 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc' for
            matrices.
        axis: the axis of the vectors, or the two axes of the matrices; None (the default) for
            the whole array.
        keepdims: whether the axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array without the axes.

    Raises:
        ValueError: the order is not accepted.

    Example:
        >>> mx.matrix_norm(mx.array([[3.0, 0.0], [0.0, 4.0]]))
        array(5, dtype=float32)
    """

def copysign(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the magnitude of `a` with the sign of `b`.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.copysign(mx.array([1.0, 2.0]), mx.array([-0.0, 3.0]))
        array([-1, 2], dtype=float32)
    """

def hypot(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `sqrt(a^2 + b^2)` without overflow.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.hypot(mx.array([3.0, 5.0]), mx.array([4.0, 12.0]))
        array([5, 13], dtype=float32)
    """

def nextafter(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the floating-point number that follows `a` in the direction of `b`.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex, or the shapes cannot be broadcast.

    Example:
        >>> mx.nextafter(mx.array(1.0), 2.0).item()
        1.0000001192092896
    """

def signbit(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Test whether the sign bit is set, as it is for negative numbers and -0.0.

    Args:
        a: an array of any dtype but complex.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `a`.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.signbit(mx.array([-0.0, 0.0, -3.0]))
        array([True, False, True], dtype=bool)
    """

def cumulative_sum(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, include_initial: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return the cumulative sum, as `cumsum` does, under its name in the array API standard.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        reverse: whether sums run from the end; False by default.
        inclusive: whether the element itself is part of its sum; True by default.
        dtype: the dtype of the result; that of `a` by default.
        include_initial: whether 0 stands before the sums; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, one longer along the axis with `include_initial`.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.cumulative_sum(mx.array([1, 2, 3]), include_initial=True)
        array([0, 1, 3, 6], dtype=int32)
    """

def cumulative_prod(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, include_initial: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return the cumulative product, as `cumprod` does, under its name in the array API standard.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        reverse: whether products run from the end; False by default.
        inclusive: whether the element itself is part of its product; True by default.
        dtype: the dtype of the result; that of `a` by default.
        include_initial: whether 1 stands before the products; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, one longer along the axis with `include_initial`.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.cumulative_prod(mx.array([1, 2, 3]), include_initial=True)
        array([1, 1, 2, 6], dtype=int32)
    """

__array_api_version__: str = '2025.12'

def exp2(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return 2 to the power of each element.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.exp2(mx.array([0.0, 3.0]))
        array([1, 8], dtype=float32)
    """

def angle(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the angle of complex numbers in the plane, in radians.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`; 0 or pi for real numbers.

    Example:
        >>> mx.angle(mx.array([1j, -1.0]))
        array([1.5708, 3.14159], dtype=float32)
    """

def fmax(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the larger of two elements, and the number if the other is NaN.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.fmax(mx.array([1.0, mx.nan]), 0.5)
        array([1, 0.5], dtype=float32)
    """

def fmin(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the smaller of two elements, and the number if the other is NaN.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.fmin(mx.array([1.0, mx.nan]), 0.5)
        array([0.5, 0.5], dtype=float32)
    """

def fmod(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the exact remainder of a division, with the sign of `a`.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype; 0 for an integer divided by
        zero.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.fmod(mx.array([-7.0, 7.0]), 3)
        array([-1, 1], dtype=float32)
        >>> mx.remainder(mx.array([-7.0, 7.0]), 3)
        array([2, 1], dtype=float32)
    """

def heaviside(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the step function: 0 for negative elements of `a`, 1 for positive ones, `b` at 0.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.heaviside(mx.array([-1.0, 0.0, 2.0]), 0.5)
        array([0, 0.5, 1], dtype=float32)
    """

def lcm(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the least common multiple of integers.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: an operand is not of integers.

    Example:
        >>> mx.lcm(mx.array([4, 6]), 10)
        array([20, 30], dtype=int32)
    """

def logaddexp2(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `log2(2 ** a + 2 ** b)` without overflow.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.logaddexp2(mx.array([200.0]), 200)
        array([201], dtype=float32)
    """

absolute = abs

amax = max

amin = min

around = round

bitwise_not = bitwise_invert

deg2rad = radians

fabs = abs

fix = trunc

invert = bitwise_invert

mod = remainder

rad2deg = degrees

true_divide = divide

def nansum(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the sum of the elements that are no NaN.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, or with length 1 for each of them.

    Example:
        >>> mx.nansum(mx.array([[1.0, mx.nan], [3.0, 4.0]]), axis=0)
        array([4, 4], dtype=float32)
    """

def nanprod(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the product of the elements that are no NaN.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, or with length 1 for each of them.

    Example:
        >>> mx.nanprod(mx.array([[1.0, mx.nan], [3.0, 4.0]]), axis=0)
        array([3, 4], dtype=float32)
    """

def nanmax(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the largest element that is no NaN; NaN if there is none.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, or with length 1 for each of them.

    Example:
        >>> mx.nanmax(mx.array([[1.0, mx.nan], [3.0, 4.0]]), axis=1)
        array([1, 4], dtype=float32)
    """

def nanmin(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the smallest element that is no NaN; NaN if there is none.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, or with length 1 for each of them.

    Example:
        >>> mx.nanmin(mx.array([[1.0, mx.nan], [3.0, 4.0]]), axis=1)
        array([1, 3], dtype=float32)
    """

def nanmean(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the mean of the elements that are no NaN; NaN if there is none.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, float32 for bool and integers.

    Example:
        >>> mx.nanmean(mx.array([[1.0, mx.nan], [3.0, 4.0]]), axis=1)
        array([1, 3.5], dtype=float32)
    """

def nanmedian(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the median of the elements that are no NaN; NaN if there is none.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, float32 for bool and integers.

    Example:
        >>> mx.nanmedian(mx.array([[1.0, mx.nan], [3.0, 4.0]]))
        array(3, dtype=float32)
    """

def ptp(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the difference of the largest and the smallest element.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, or with length 1 for each of them.

    Example:
        >>> mx.ptp(mx.array([3, 1, 7]))
        array(6, dtype=int32)
    """

def nanvar(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: float = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Return the variance of the elements that are no NaN.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        ddof: the divisor is the number of elements that are no NaN, less this; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, float32 for bool and integers. NaN where the divisor
        is not positive.

    Example:
        >>> mx.nanvar(mx.array([[1.0, mx.nan], [3.0, 4.0]]))
        array(1.55556, dtype=float32)
    """

def nanstd(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: float = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Return the standard deviation of the elements that are no NaN.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        ddof: the divisor is the number of elements that are no NaN, less this; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, float32 for bool and integers. NaN where the divisor
        is not positive.

    Example:
        >>> mx.nanstd(mx.array([[1.0, mx.nan], [3.0, 4.0]]))
        array(1.24722, dtype=float32)
    """

def nanargmax(a: array, /, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the index of the largest element that is no NaN.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) for the flattened array.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint32; 0 where all elements are NaN.

    Example:
        >>> mx.nanargmax(mx.array([[1.0, mx.nan], [3.0, 4.0]]), axis=1)
        array([0, 1], dtype=uint32)
    """

def nanargmin(a: array, /, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the index of the smallest element that is no NaN.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) for the flattened array.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint32; 0 where all elements are NaN.

    Example:
        >>> mx.nanargmin(mx.array([[1.0, mx.nan], [3.0, 4.0]]), axis=0)
        array([0, 1], dtype=uint32)
    """

def nancumsum(a: array, /, axis: None | int = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return cumulative sums in which NaN counts as 0.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, or of one axis.

    Example:
        >>> mx.nancumsum(mx.array([1.0, mx.nan, 2.0]))
        array([1, 1, 3], dtype=float32)
    """

def nancumprod(a: array, /, axis: None | int = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return cumulative products in which NaN counts as 1.

    Args:
        a: an array of any dtype.
        axis: the axis; None (the default) flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, or of one axis.

    Example:
        >>> mx.nancumprod(mx.array([2.0, mx.nan, 3.0]))
        array([2, 2, 6], dtype=float32)
    """

def quantile(a: scalar | array, q: float | Sequence[float] | array, axis: None | int | Sequence[int] = None, *, method: Literal['linear', 'lower', 'higher', 'nearest', 'midpoint'] = 'linear', keepdims: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return quantiles: numbers below which given parts of the elements lie.

    Args:
        a: an array of real numbers.
        q: probabilities from 0 to 1, a number, a sequence or an array.
        axis: the axis or axes that are reduced; None (the default) for all.
        method: the number between two elements: 'linear' (the default), 'lower', 'higher',
            'nearest' or 'midpoint'.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the axes of `q`, then the axes of `a` that are not reduced; NaN where `a`
        has NaN.

    Raises:
        ValueError: `q` is out of range, `a` is complex or empty, or the method is another one.

    Example:
        >>> mx.quantile(mx.array([1.0, 2.0, 3.0, 5.0]), [0.25, 0.5])
        array([1.75, 2.5], dtype=float32)
    """

def percentile(a: scalar | array, q: float | Sequence[float] | array, axis: None | int | Sequence[int] = None, *, method: Literal['linear', 'lower', 'higher', 'nearest', 'midpoint'] = 'linear', keepdims: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return percentiles: numbers below which given percentages of the elements lie.

    Args:
        a: an array of real numbers.
        q: percentages from 0 to 100, a number, a sequence or an array.
        axis: the axis or axes that are reduced; None (the default) for all.
        method: the number between two elements: 'linear' (the default), 'lower', 'higher',
            'nearest' or 'midpoint'.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the axes of `q`, then the axes of `a` that are not reduced; NaN where `a`
        has NaN.

    Raises:
        ValueError: `q` is out of range, `a` is complex or empty, or the method is another one.

    Example:
        >>> mx.percentile(mx.array([1.0, 2.0, 3.0, 5.0]), 50)
        array(2.5, dtype=float32)
    """

def nanquantile(a: scalar | array, q: float | Sequence[float] | array, axis: None | int | Sequence[int] = None, *, method: Literal['linear', 'lower', 'higher', 'nearest', 'midpoint'] = 'linear', keepdims: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return quantiles of the elements that are no NaN.

    Args:
        a: an array of real numbers.
        q: probabilities from 0 to 1, a number, a sequence or an array.
        axis: the axis or axes that are reduced; None (the default) for all.
        method: the number between two elements: 'linear' (the default), 'lower', 'higher',
            'nearest' or 'midpoint'.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the axes of `q`, then the axes of `a` that are not reduced; NaN where `a`
        has NaN alone.

    Raises:
        ValueError: `q` is out of range, `a` is complex or empty, or the method is another one.

    Example:
        >>> mx.nanquantile(mx.array([1.0, mx.nan, 3.0]), 0.5)
        array(2, dtype=float32)
    """

def nanpercentile(a: scalar | array, q: float | Sequence[float] | array, axis: None | int | Sequence[int] = None, *, method: Literal['linear', 'lower', 'higher', 'nearest', 'midpoint'] = 'linear', keepdims: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return percentiles of the elements that are no NaN.

    Args:
        a: an array of real numbers.
        q: percentages from 0 to 100, a number, a sequence or an array.
        axis: the axis or axes that are reduced; None (the default) for all.
        method: the number between two elements: 'linear' (the default), 'lower', 'higher',
            'nearest' or 'midpoint'.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the axes of `q`, then the axes of `a` that are not reduced; NaN where `a`
        has NaN alone.

    Raises:
        ValueError: `q` is out of range, `a` is complex or empty, or the method is another one.

    Example:
        >>> mx.nanpercentile(mx.array([1.0, mx.nan, 3.0]), 50)
        array(2, dtype=float32)
    """

def average(a: array, axis: None | int | Sequence[int] = None, weights: array | None = None, returned: bool = False, *, keepdims: bool = False, stream: StreamOrDevice = None) -> array | tuple[array, array]:
    """
    Return the mean, with weights.

    Args:
        a: an array of any dtype.
        axis: the axis or axes that are reduced; None (the default) for all.
        weights: an array of the shape of `a`, or of the length of its one axis; None (the
            default) gives the ordinary mean.
        returned: whether the sum of the weights is returned, too; False by default.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, or a tuple of it and the sum of the weights.

    Raises:
        ValueError: the weights have another shape.

    Example:
        >>> mx.average(mx.array([1.0, 2.0, 4.0]), weights=mx.array([1, 1, 2]))
        array(2.75, dtype=float32)
    """

def cov(m: array, y: array | None = None, rowvar: bool = True, bias: bool = False, ddof: float | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return the covariances of variables.

    Args:
        m: an array of up to two axes; each row has the observations of a variable.
        y: further variables, or None (the default).
        rowvar: whether variables are rows, by default, or columns.
        bias: whether the divisor is the number of observations instead of one less; False by
            default.
        ddof: the divisor is the number of observations less this; None (the default) leaves it
            to `bias`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A matrix of covariances; a scalar for one variable.

    Raises:
        ValueError: more than two axes, or unequal numbers of observations.

    Example:
        >>> mx.cov(mx.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        array([[1, -1],
               [-1, 1]], dtype=float32)
    """

def corrcoef(x: array, y: array | None = None, rowvar: bool = True, *, stream: StreamOrDevice = None) -> array:
    """
    Return the correlation coefficients of variables.

    Args:
        x: an array of up to two axes; each row has the observations of a variable.
        y: further variables, or None (the default).
        rowvar: whether variables are rows, by default, or columns.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A matrix of coefficients; a scalar for one variable.

    Raises:
        ValueError: more than two axes, or unequal numbers of observations.

    Example:
        >>> mx.corrcoef(mx.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        array([[1, -1],
               [-1, 1]], dtype=float32)
    """

def vstack(arrays: list[array], *, stream: StreamOrDevice = None) -> array:
    """
    Join arrays along the first axis; vectors become rows.

    Args:
        arrays: a list of arrays.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the promoted dtype.

    Raises:
        ValueError: the shapes do not fit, or there are no arrays.

    Example:
        >>> mx.vstack([mx.array([1, 2]), mx.array([3, 4])])
        array([[1, 2],
               [3, 4]], dtype=int32)
    """

def hstack(arrays: list[array], *, stream: StreamOrDevice = None) -> array:
    """
    Join arrays along the second axis, vectors along their only one.

    Args:
        arrays: a list of arrays.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the promoted dtype.

    Raises:
        ValueError: the shapes do not fit, or there are no arrays.

    Example:
        >>> mx.hstack([mx.array([1, 2]), mx.array([3, 4])])
        array([1, 2, 3, 4], dtype=int32)
    """

def dstack(arrays: list[array], *, stream: StreamOrDevice = None) -> array:
    """
    Join arrays along a third axis.

    Args:
        arrays: a list of arrays.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the promoted dtype.

    Raises:
        ValueError: the shapes do not fit, or there are no arrays.

    Example:
        >>> mx.dstack([mx.array([1, 2]), mx.array([3, 4])])
        array([[[1, 3],
                [2, 4]]], dtype=int32)
    """

def column_stack(arrays: list[array], *, stream: StreamOrDevice = None) -> array:
    """
    Join arrays along the second axis; vectors become columns.

    Args:
        arrays: a list of arrays.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the promoted dtype.

    Raises:
        ValueError: the shapes do not fit, or there are no arrays.

    Example:
        >>> mx.column_stack([mx.array([1, 2]), mx.array([3, 4])])
        array([[1, 3],
               [2, 4]], dtype=int32)
    """

row_stack = vstack

def append(a: scalar | array, values: scalar | array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Add values after the elements of an array.

    Args:
        a: the input array.
        values: an array or a scalar; a list of numbers is an array, too.
        axis: the axis; None (the default) flattens both arrays first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the promoted dtype.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> mx.append(mx.array([1, 2]), mx.array([3]))
        array([1, 2, 3], dtype=int32)
    """

def vsplit(a: array, indices_or_sections: int | Sequence[int], *, stream: StreamOrDevice = None) -> list[array]:
    """
    Split an array along its first axis.

    Args:
        a: the input array.
        indices_or_sections: a number of equal parts, or the indices at which parts begin.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A list of arrays.

    Raises:
        ValueError: the axis cannot be divided into equal parts.

    Example:
        >>> mx.vsplit(mx.arange(4).reshape(2, 2), 2)
        [array([[0, 1]], dtype=int32), array([[2, 3]], dtype=int32)]
    """

def hsplit(a: array, indices_or_sections: int | Sequence[int], *, stream: StreamOrDevice = None) -> list[array]:
    """
    Split an array along its second axis, a vector along its only one.

    Args:
        a: the input array.
        indices_or_sections: a number of equal parts, or the indices at which parts begin.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A list of arrays.

    Raises:
        ValueError: the axis cannot be divided into equal parts.

    Example:
        >>> mx.hsplit(mx.arange(4), [1])
        [array([0], dtype=int32), array([1, 2, 3], dtype=int32)]
    """

def dsplit(a: array, indices_or_sections: int | Sequence[int], *, stream: StreamOrDevice = None) -> list[array]:
    """
    Split an array along its third axis.

    Args:
        a: the input array.
        indices_or_sections: a number of equal parts, or the indices at which parts begin.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A list of arrays.

    Raises:
        ValueError: the axis cannot be divided into equal parts.

    Example:
        >>> [part.shape for part in mx.dsplit(mx.zeros((2, 2, 4)), 2)]
        [(2, 2, 2), (2, 2, 2)]
    """

def array_split(a: array, indices_or_sections: int | Sequence[int], axis: int = 0, *, stream: StreamOrDevice = None) -> list[array]:
    """
    Split an array along an axis into parts of nearly equal length.

    Args:
        a: the input array.
        indices_or_sections: a number of parts, of which the first ones are longer by one where
            the length is no multiple; or the indices at which parts begin.
        axis: the axis; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A list of arrays.

    Raises:
        ValueError: the number of parts is below 1.

    Example:
        >>> mx.array_split(mx.arange(5), 2)
        [array([0, 1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """

def flipud(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Reverse the order of the first axis.

    Args:
        a: the input array.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: `a` has no axis.

    Example:
        >>> mx.flipud(mx.array([1, 2, 3]))
        array([3, 2, 1], dtype=int32)
    """

def fliplr(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Reverse the order of the second axis.

    Args:
        a: the input array.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: `a` has less than two axes.

    Example:
        >>> mx.fliplr(mx.array([[1, 2], [3, 4]]))
        array([[2, 1],
               [4, 3]], dtype=int32)
    """

def rot90(a: array, k: int = 1, axes: tuple[int, int] = (0, 1), *, stream: StreamOrDevice = None) -> array:
    """
    Return an array turned by quarters of a turn.

    Args:
        a: the input array.
        k: the number of quarters, from the first towards the second axis; 1 by default.
        axes: the two axes; (0, 1) by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a`.

    Raises:
        ValueError: the axes are equal.

    Example:
        >>> mx.rot90(mx.array([[1, 2], [3, 4]]))
        array([[2, 4],
               [1, 3]], dtype=int32)
    """

def ravel(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return all elements as a vector.

    Args:
        a: the input array.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of one axis.

    Example:
        >>> mx.ravel(mx.array([[1, 2], [3, 4]]))
        array([1, 2, 3, 4], dtype=int32)
    """

def diagflat(a: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Return a matrix with the flattened array on a diagonal.

    Args:
        a: the input array.
        k: the diagonal, 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A square matrix.

    Example:
        >>> mx.diagflat(mx.array([1, 2]))
        array([[1, 0],
               [0, 2]], dtype=int32)
    """

def copy(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return a copy of an array.

    Args:
        a: the input array.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Example:
        >>> mx.copy(mx.array([1, 2]))
        array([1, 2], dtype=int32)
    """

def insert(a: scalar | array, obj: int | Sequence[int], values: scalar | array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Insert values in front of elements of an array.

    Args:
        a: the input array.
        obj: an index, or a sequence of indices, of `a`; its length stands for the end.
        values: the values, converted to the dtype of `a` and broadcast to one slice for each
            index.
        axis: the axis; None (the default) flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a`.

    Raises:
        IndexError: an index is out of range.

    Example:
        >>> mx.insert(mx.array([1, 2, 3]), 1, 9)
        array([1, 9, 2, 3], dtype=int32)
    """

def delete(a: array, obj: int | Sequence[int], axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return an array without some of its elements.

    Args:
        a: the input array.
        obj: an index or a sequence of indices.
        axis: the axis; None (the default) flattens the array first.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a`.

    Raises:
        IndexError: an index is out of range.

    Example:
        >>> mx.delete(mx.array([1, 2, 3]), [0, -1])
        array([2], dtype=int32)
    """

def diag_indices_from(arr: array, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the indices of the main diagonal of an array.

    Args:
        arr: an array of at least two axes, all of one length.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple with a vector of int32 for each axis.

    Raises:
        ValueError: there is one axis, or the lengths differ.

    Example:
        >>> mx.diag_indices_from(mx.ones((2, 2)))
        (array([0, 1], dtype=int32), array([0, 1], dtype=int32))
    """

def tril_indices(n: int, k: int = 0, m: int | None = None, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the indices of the elements on and below a diagonal.

    Args:
        n: the number of rows.
        k: the diagonal, 0 by default.
        m: the number of columns; None (the default) for a square.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        Two arrays of int32: rows and columns.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> mx.tril_indices(2)
        (array([0, 1, 1], dtype=int32), array([0, 0, 1], dtype=int32))
    """

def tril_indices_from(a: array, k: int = 0, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the indices of the elements of a matrix on and below a diagonal.

    Args:
        a: a matrix.
        k: the diagonal, 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        Two arrays of int32: rows and columns.

    Raises:
        ValueError: `a` is no matrix.

    Example:
        >>> mx.tril_indices_from(mx.zeros((2, 2)))
        (array([0, 1, 1], dtype=int32), array([0, 0, 1], dtype=int32))
    """

def triu_indices(n: int, k: int = 0, m: int | None = None, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the indices of the elements on and above a diagonal.

    Args:
        n: the number of rows.
        k: the diagonal, 0 by default.
        m: the number of columns; None (the default) for a square.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        Two arrays of int32: rows and columns.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> mx.triu_indices(2)
        (array([0, 0, 1], dtype=int32), array([0, 1, 1], dtype=int32))
    """

def triu_indices_from(a: array, k: int = 0, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the indices of the elements of a matrix on and above a diagonal.

    Args:
        a: a matrix.
        k: the diagonal, 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        Two arrays of int32: rows and columns.

    Raises:
        ValueError: `a` is no matrix.

    Example:
        >>> mx.triu_indices_from(mx.zeros((2, 2)))
        (array([0, 0, 1], dtype=int32), array([0, 1, 1], dtype=int32))
    """

def diag_indices(n: int, ndim: int = 2, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the indices of a main diagonal.

    Args:
        n: the length of each axis.
        ndim: the number of axes; 2 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of int32 for each axis.

    Example:
        >>> mx.diag_indices(2)
        (array([0, 1], dtype=int32), array([0, 1], dtype=int32))
    """

def indices(dimensions: Sequence[int], dtype: Dtype | None = int32, *, stream: StreamOrDevice = None) -> array:
    """
    Return the index of each element of a shape along each axis.

    Args:
        dimensions: the shape.
        dtype: the dtype of the result; int32 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (len(dimensions), *dimensions).

    Example:
        >>> mx.indices((2, 2))
        array([[[0, 0],
                [1, 1]],
               [[0, 1],
                [0, 1]]], dtype=int32)
    """

def unravel_index(indices: array, shape: int | Sequence[int], *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Return the indices along each axis of elements of a flattened array.

    Args:
        indices: an array of integers from 0.
        shape: the shape of the array.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array for each axis.

    Raises:
        ValueError: the indices are no integers.

    Example:
        >>> mx.unravel_index(mx.array([1, 5]), (2, 3))
        (array([0, 1], dtype=int32), array([1, 2], dtype=int32))
    """

def ravel_multi_index(multi_index: Sequence[array], dims: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Return the indices into a flattened array from those along each axis.

    Args:
        multi_index: an array of integers for each axis.
        dims: the shape of the array.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of integers.

    Raises:
        ValueError: the number of index arrays is not that of the axes, or they are no integers.

    Example:
        >>> mx.ravel_multi_index([mx.array([0, 1]), mx.array([1, 2])], (2, 3))
        array([1, 5], dtype=int32)
    """

def lexsort(keys: Sequence[array], axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the indices that sort by several keys, the last one first.

    Args:
        keys: a sequence of arrays of one shape.
        axis: the axis that is sorted, by default the last one.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint32.

    Raises:
        ValueError: the shapes differ, or there are no keys.

    Example:
        >>> mx.lexsort([mx.array([2, 1, 3]), mx.array([0, 0, -1])])
        array([2, 1, 0], dtype=uint32)
    """

def select(condlist: Sequence[array], choicelist: Sequence[array], default: scalar | array = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Return the first of several choices whose condition is true.

    Args:
        condlist: a sequence of conditions.
        choicelist: a sequence of as many arrays; all are broadcast to one shape.
        default: the value where no condition is true; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: the numbers of conditions and choices differ.

    Example:
        >>> x = mx.arange(4)
        >>> mx.select([x < 1, x > 2], [x - 10, x * 10], 5)
        array([-10, 5, 5, 30], dtype=int32)
    """

def rollaxis(a: array, axis: int, start: int = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Return the array with an axis moved in front of another one; `moveaxis` is easier to read.

    Args:
        a: an array of any dtype.
        axis: the axis that moves.
        start: the axis in front of which it is put; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the same elements.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.rollaxis(mx.ones((2, 3, 4)), 2).shape
        (4, 2, 3)
    """

def resize(a: array, new_shape: int | Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Return the flattened elements in another shape, repeated as often as needed.

    Args:
        a: an array of any dtype.
        new_shape: the shape.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a`; zeros if it has no elements.

    Raises:
        ValueError: a length is negative.

    Example:
        >>> mx.resize(mx.array([1, 2, 3]), (2, 4))
        array([[1, 2, 3, 1],
               [2, 3, 1, 2]], dtype=int32)
    """

def block(arrays: array | list[Any], *, stream: StreamOrDevice = None) -> array:
    """
    Join arrays in nested lists: inner lists along the last axis, outer ones along those before.

    Args:
        arrays: an array, or lists of lists of arrays, all equally deep.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the promoted dtype.

    Raises:
        ValueError: a list is empty, or the depths or shapes do not fit.

    Example:
        >>> mx.block([[mx.ones((1, 2)), mx.zeros((1, 1))], [mx.zeros((1, 3))]])
        array([[1, 1, 0],
               [0, 0, 0]], dtype=float32)
    """

def ediff1d(ary: array, to_end: scalar | array | None = None, to_begin: scalar | array | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return the differences of neighbours of the flattened array.

    Args:
        ary: an array.
        to_end: elements appended to the result.
        to_begin: elements put in front of the result.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of the dtype of `ary`.

    Example:
        >>> mx.ediff1d(mx.array([1, 2, 4]), to_end=9)
        array([1, 2, 9], dtype=int32)
    """

def choose(a: array, choices: Sequence[array], mode: str = 'clip', *, stream: StreamOrDevice = None) -> array:
    """
    Return elements of several arrays, each from the array that has the number in `a`.

    Args:
        a: an array of integers.
        choices: arrays that broadcast with `a`.
        mode: 'clip' limits the numbers (the default; NumPy's default 'raise' would have to wait
            for values), 'wrap' counts on from the start.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype of the choices.

    Raises:
        ValueError: there are no choices, or the numbers are not integers.

    Example:
        >>> mx.choose(mx.array([0, 1, 0]), [mx.array([1, 2, 3]), mx.array([10, 20, 30])])
        array([1, 20, 3], dtype=int32)
    """

def matvec(x1: array, x2: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Multiply matrices and vectors.

    Args:
        x1: matrices (.., m, n).
        x2: vectors (.., n).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        Vectors (.., m).

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> mx.matvec(mx.array([[1.0, 2.0], [3.0, 4.0]]), mx.array([1.0, 1.0]))
        array([3, 7], dtype=float32)
    """

def vecmat(x1: array, x2: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Multiply vectors, of which the conjugate is taken, and matrices.

    Args:
        x1: vectors (.., m).
        x2: matrices (.., m, n).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        Vectors (.., n).

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> mx.vecmat(mx.array([1.0, 1.0]), mx.array([[1.0, 2.0], [3.0, 4.0]]))
        array([4, 6], dtype=float32)
    """

def array_equiv(x1: array, x2: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return whether arrays are equal after broadcasting.

    Args:
        x1: an array.
        x2: an array.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A scalar array of bool; false if the shapes cannot be broadcast.

    Example:
        >>> mx.array_equiv(mx.array([1, 1]), mx.array([[1], [1]]))
        array(True, dtype=bool)
    """

def shape(a: ArrayInput) -> tuple[int, ...]:
    """
    Return the shape of an array, or of what becomes one.

    Args:
        a: an array, a number, or nested lists.

    Returns:
        A tuple of integers.

    Example:
        >>> mx.shape([[1, 2], [3, 4]])
        (2, 2)
    """

def ndim(a: ArrayInput) -> int:
    """
    Return the number of axes of an array, or of what becomes one.

    Args:
        a: an array, a number, or nested lists.

    Returns:
        An integer.

    Example:
        >>> mx.ndim([[1, 2], [3, 4]])
        2
    """

def size(a: ArrayInput, axis: int | None = None) -> int:
    """
    Return the number of elements, or the length of an axis.

    Args:
        a: an array, a number, or nested lists.
        axis: the axis; None (the default) counts all elements.

    Returns:
        An integer.

    Raises:
        IndexError: the axis is out of range.

    Example:
        >>> mx.size([[1, 2], [3, 4]])
        4
    """

def isscalar(element: Any) -> bool:
    """
    Return whether an object is a number, a string or bytes; false for arrays.

    Args:
        element: any object.

    Returns:
        A bool.

    Example:
        >>> mx.isscalar(3.1), mx.isscalar(mx.array(3.1))
        (True, False)
    """

def iscomplexobj(x: ArrayInput) -> bool:
    """
    Return whether an array has a complex dtype.

    Args:
        x: an array, a number, or nested lists.

    Returns:
        A bool.

    Example:
        >>> mx.iscomplexobj(mx.array([1j]))
        True
    """

def isrealobj(x: ArrayInput) -> bool:
    """
    Return whether an array has a dtype that is not complex.

    Args:
        x: an array, a number, or nested lists.

    Returns:
        A bool.

    Example:
        >>> mx.isrealobj(mx.array([1j]))
        False
    """

def iscomplex(x: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return true for elements with an imaginary part that is not 0.

    Args:
        x: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `x`.

    Example:
        >>> mx.iscomplex(mx.array([1 + 1j, 1 + 0j]))
        array([True, False], dtype=bool)
    """

def isreal(x: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return true for elements without an imaginary part.

    Args:
        x: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool of the shape of `x`.

    Example:
        >>> mx.isreal(mx.array([1 + 1j, 1 + 0j]))
        array([False, True], dtype=bool)
    """

def promote_types(type1: Dtype, type2: Dtype) -> Dtype:
    """
    Return the dtype to which two dtypes are promoted.

    Args:
        type1: a dtype.
        type2: a dtype.

    Returns:
        A dtype.

    Example:
        >>> mx.promote_types(mx.int16, mx.uint16)
        mlx.core.int32
    """

def sort_complex(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the elements sorted along the last axis as complex numbers, by real parts first.

    Args:
        a: an array of any dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of complex64, or complex128.

    Example:
        >>> mx.sort_complex(mx.array([2, 1]))
        array([1+0j, 2+0j], dtype=complex64)
    """

def ascontiguousarray(a: ArrayInput, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return an array with at least one axis whose elements are in memory in row-major order.

    Args:
        a: an array, a number, or nested lists.
        dtype: the dtype; None (the default) keeps it.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array.

    Example:
        >>> mx.ascontiguousarray(3)
        array([3], dtype=int32)
    """

asanyarray = asarray

def logspace(start: float, stop: float, num: int = 50, endpoint: bool = True, base: float = 10.0, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """
    Return numbers whose logarithms are evenly spaced.

    Args:
        start: the logarithm of the first number.
        stop: the logarithm of the last number.
        num: the number of numbers; 50 by default.
        endpoint: whether the last number is included; True by default.
        base: the base of the logarithms; 10 by default.
        dtype: the dtype of the result; float32 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of `num` numbers.

    Example:
        >>> mx.logspace(0, 2, 3)
        array([1, 10, 100], dtype=float32)
    """

def geomspace(start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """
    Return numbers with a constant ratio of neighbours.

    Args:
        start: the first number.
        stop: the last number.
        num: the number of numbers; 50 by default.
        endpoint: whether the last number is included; True by default.
        dtype: the dtype of the result; float32 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of `num` numbers.

    Raises:
        ValueError: a bound is 0 or infinite, or the signs differ.

    Example:
        >>> mx.geomspace(1, 8, 4)
        array([1, 2, 4, 8], dtype=float32)
    """

def interp(x: scalar | array, xp: array, fp: array, left: scalar | array | None = None, right: scalar | array | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return a linear interpolation between points.

    Args:
        x: the positions of the results.
        xp: the positions of the points, ascending.
        fp: the values of the points.
        left: the value below the first position; None (the default) for that of the first
            point.
        right: the value above the last position; None (the default) for that of the last point.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `x`.

    Raises:
        ValueError: `xp` and `fp` have different lengths or no elements, or positions are
            complex.

    Example:
        >>> mx.interp(mx.array([0.5, 2.5, 9.0]), mx.array([0, 1, 2, 3]), mx.array([0.0, 10, 0, 5]))
        array([5, 2.5, 5], dtype=float32)
    """

def gradient(f: array, *varargs: scalar | array, axis: int | Sequence[int] | None = None, stream: StreamOrDevice = None) -> array | list[array]:
    """
    Return the slopes of a sampled function: differences of both neighbours, and of one at the ends.

    Args:
        f: the samples.
        varargs: a distance, or an array of positions, for all axes or for each of them; 1 by
            default.
        axis: the axis or axes; None (the default) for all.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `f`; a list of one for each axis where there are several.

    Raises:
        ValueError: an axis has less than two elements, or the positions another length.

    Example:
        >>> mx.gradient(mx.array([0.0, 1.0, 4.0, 9.0]))
        array([1, 2, 4, 5], dtype=float32)
    """

def trapezoid(y: array, x: array | None = None, dx: float = 1.0, axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the integral along an axis by the trapezoidal rule.

    Args:
        y: the samples.
        x: their positions, of the shape of `y` or of one axis; None (the default) for equal
            distances.
        dx: the distance of samples without positions; 1 by default.
        axis: the axis, by default the last one.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the axis.

    Raises:
        ValueError: `x` has another shape.

    Example:
        >>> mx.trapezoid(mx.array([0.0, 1.0, 4.0]))
        array(3, dtype=float32)
    """

def unwrap(p: array, discont: float | None = None, axis: int = -1, *, period: float = 6.283185307179586, stream: StreamOrDevice = None) -> array:
    """
    Remove jumps of angles by adding multiples of the period.

    Args:
        p: the angles.
        discont: the smallest jump; half of a period by default.
        axis: the axis, by default the last one.
        period: the period; 2 pi by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `p`.

    Raises:
        ValueError: `p` is complex, or the period is not positive.

    Example:
        >>> mx.unwrap(mx.array([350.0, 10.0, 30.0]), period=360)
        array([350, 370, 390], dtype=float32)
    """

def digitize(x: array, bins: array, right: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the numbers of the bins in which elements are.

    Args:
        x: an array of real numbers.
        bins: the edges, in ascending or descending order.
        right: whether a bin includes its right edge instead of its left one; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of int32 of the shape of `x`: 0 below the first edge, the number of edges
        beyond the last one.

    Raises:
        ValueError: the edges have not one axis, or an array is complex.

    Example:
        >>> mx.digitize(mx.array([0.2, 6.4, 3.0]), mx.array([0.0, 1.0, 4.0]))
        array([1, 3, 2], dtype=int32)
    """

def polyval(p: array, x: scalar | array, *, stream: StreamOrDevice = None) -> array:
    """
    Evaluate a polynomial.

    Args:
        p: the coefficients, that of the highest power first.
        x: the points.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `x` and the promoted dtype.

    Raises:
        ValueError: `p` has not one axis.

    Example:
        >>> mx.polyval(mx.array([1, 0, 2]), mx.array([1, 2, 3]))
        array([3, 6, 11], dtype=int32)
    """

def polyfit(x: array, y: array, deg: int, *, w: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the coefficients of the polynomial of least squares through points.

    Args:
        x: the positions of the points.
        y: their values, a vector or a column for each curve.
        deg: the degree of the polynomial.
        w: weights of the points' distances; None (the default) for 1.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        The coefficients, that of the highest power first.

    Raises:
        ValueError: the lengths differ, or the degree is negative.

    Example:
        >>> mx.polyfit(mx.array([0.0, 1.0, 2.0]), mx.array([1.0, 3.0, 5.0]), 1)
        array([2, 1], dtype=float32)
    """

def vander(x: array, N: int | None = None, increasing: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return a matrix with the powers of a vector as columns.

    Args:
        x: a vector.
        N: the number of columns; None (the default) for a square.
        increasing: whether the powers increase from left to right; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A matrix of the dtype of `x`.

    Raises:
        ValueError: `x` has not one axis.

    Example:
        >>> mx.vander(mx.array([1, 2, 3]))
        array([[1, 1, 1],
               [4, 2, 1],
               [9, 3, 1]], dtype=int32)
    """

def dot(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the product of scalars, vectors or matrices as NumPy's `dot`.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        The product of a scalar and an array; else the sums over the last axis of `a` and the
        last but one of `b`, or its only one.

    Raises:
        ValueError: the lengths differ.

    Example:
        >>> mx.dot(mx.array([1, 2]), mx.array([3, 4]))
        array(11, dtype=int32)
    """

def vdot(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the sum of `conj(a) * b` of the flattened arrays.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A scalar.

    Raises:
        ValueError: the numbers of elements differ.

    Example:
        >>> mx.vdot(mx.array([1j, 2]), mx.array([1j, 1]))
        array(3+0j, dtype=complex64)
    """

def cross(a: array, b: array, axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the cross product of vectors of length 3, or 2.

    Args:
        a: an array of vectors.
        b: an array of vectors; the other axes broadcast.
        axis: the axis of the vectors, by default the last one.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of vectors of length 3.

    Raises:
        ValueError: the vectors have other lengths.

    Example:
        >>> mx.cross(mx.array([1, 0, 0]), mx.array([0, 1, 0]))
        array([0, 0, 1], dtype=int32)
    """

def histogram_bin_edges(a: array, bins: int | Sequence[scalar] | array = 10, range: tuple[float, float] | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return the edges of the bins that `histogram` uses.

    Args:
        a: an array that is not complex.
        bins: a number of bins, or edges; 10 by default.
        range: the lowest and the highest edge; None (the default) takes them from the elements.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector.

    Raises:
        ValueError: the number of bins is not positive.

    Example:
        >>> mx.histogram_bin_edges(mx.array([0.0, 4.0]), 4)
        array([0, 1, 2, 3, 4], dtype=float32)
    """

def histogram2d(x: array, y: array, bins: Any = 10, range: Any = None, density: bool = False, weights: array | None = None, *, stream: StreamOrDevice = None) -> tuple[array, array, array]:
    """
    Count points of a plane in the cells of a grid.

    Args:
        x: the first coordinates, a vector.
        y: the second coordinates, a vector.
        bins: a number of bins, or edges; for several coordinates also a list with an item for
            each. 10 by default.
        range: the lowest and the highest edge, or a list with an item for each coordinate; None
            (the default) takes them from the points.
        density: whether the integral is made 1; False by default.
        weights: a number for each point that is added instead of 1.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of counts (int32, or the dtype of the weights) and the edges of both
        coordinates.

    Raises:
        ValueError: a coordinate has not one axis, or there is no bin.

    Example:
        >>> mx.histogram2d(mx.array([0.0, 1.0, 1.0]), mx.array([0.0, 1.0, 1.0]), 2)[0]
        array([[1, 0],
               [0, 2]], dtype=int32)
    """

def histogramdd(sample: array | Sequence[array], bins: Any = 10, range: Any = None, density: bool = False, weights: array | None = None, *, stream: StreamOrDevice = None) -> tuple[array, list[array]]:
    """
    Count points in the cells of a grid of any number of coordinates.

    Args:
        sample: points as rows, or a sequence with a vector for each coordinate.
        bins: a number of bins, or edges; for several coordinates also a list with an item for
            each. 10 by default.
        range: the lowest and the highest edge, or a list with an item for each coordinate; None
            (the default) takes them from the points.
        density: whether the integral is made 1; False by default.
        weights: a number for each point that is added instead of 1.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of counts (int32, or the dtype of the weights) and a list of edges.

    Raises:
        ValueError: a coordinate has not one axis, or there is no bin.

    Example:
        >>> mx.histogramdd(mx.array([[0.0, 0.0], [1.0, 1.0]]), 2)[0]
        array([[1, 0],
               [0, 1]], dtype=int32)
    """

def correlate(a: array, v: array, mode: str = 'valid', *, stream: StreamOrDevice = None) -> array:
    """
    Return sums of products of a vector and the conjugate of another one, moved along it.

    Args:
        a: a vector.
        v: a vector.
        mode: 'valid' (the default), 'same' or 'full'.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of the promoted dtype.

    Raises:
        ValueError: an operand has not one axis or no elements, or the mode has another name.

    Example:
        >>> mx.correlate(mx.array([1.0, 2.0, 3.0]), mx.array([0.0, 1.0, 0.5]), 'full')
        array([0.5, 2, 3.5, 3, 0], dtype=float32)
    """

def kaiser(M: int, beta: float, *, stream: StreamOrDevice = None) -> array:
    """
    Return Kaiser's window.

    Args:
        M: the number of points.
        beta: the shape: 0 is a rectangle, larger numbers are narrower.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of float32.

    Example:
        >>> mx.kaiser(3, 2.0)
        array([0.438676, 1, 0.438676], dtype=float32)
    """

def random_gamma_grad(a: scalar | array, x: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the derivative of a gamma variate with respect to its shape parameter, at a fixed
    value of the distribution function; `random.gamma` uses it.

    Args:
        a: the shape parameter, an array or a scalar, positive.
        x: the gamma variate, an array or a scalar.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.random_gamma_grad(mx.array([1.0, 2.0]), 1.5)
        array([1.43094, 0.936639], dtype=float32)
    """

def sinc(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `sin(pi a) / (pi a)`, and 1 at 0.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.sinc(mx.array([0.0, 0.5]))
        array([1, 0.63662], dtype=float32)
    """

def union1d(ar1: array, ar2: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the elements of either array.

    Args:
        ar1: an array, which is flattened.
        ar2: an array, which is flattened.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A sorted vector of the promoted dtype without repetitions.

    Raises:
        ValueError: a traced function calls it, because the length depends on values.

    Example:
        >>> mx.union1d(mx.array([3, 1, 2, 1]), mx.array([2, 5]))
        array([1, 2, 3, 5], dtype=int32)
    """

def setdiff1d(ar1: array, ar2: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the elements of the first array that the second one does not have.

    Args:
        ar1: an array, which is flattened.
        ar2: an array, which is flattened.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A sorted vector of the promoted dtype without repetitions.

    Raises:
        ValueError: a traced function calls it, because the length depends on values.

    Example:
        >>> mx.setdiff1d(mx.array([3, 1, 2, 1]), mx.array([2, 5]))
        array([1, 3], dtype=int32)
    """

def setxor1d(ar1: array, ar2: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the elements that exactly one of the arrays has.

    Args:
        ar1: an array, which is flattened.
        ar2: an array, which is flattened.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A sorted vector of the promoted dtype without repetitions.

    Raises:
        ValueError: a traced function calls it, because the length depends on values.

    Example:
        >>> mx.setxor1d(mx.array([3, 1, 2, 1]), mx.array([2, 5]))
        array([1, 3, 5], dtype=int32)
    """

def intersect1d(ar1: array, ar2: array, return_indices: bool = False, *, stream: StreamOrDevice = None) -> array | tuple[array, array, array]:
    """
    Return the elements that both arrays have.

    Args:
        ar1: an array, which is flattened.
        ar2: an array, which is flattened.
        return_indices: whether the indices of the first occurrences in both flattened arrays
            are returned too; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A sorted vector of the promoted dtype; with `return_indices` a tuple of it and two
        vectors of uint32.

    Raises:
        ValueError: a traced function calls it, because the length depends on values.

    Example:
        >>> mx.intersect1d(mx.array([3, 1, 2, 1]), mx.array([2, 5, 1]))
        array([1, 2], dtype=int32)
    """

def trim_zeros(filt: array, trim: str = 'fb', *, stream: StreamOrDevice = None) -> array:
    """
    Return a vector without the zeros at its ends.

    Args:
        filt: a vector.
        trim: the ends that lose their zeros: 'f' the front, 'b' the back; both by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of the same dtype.

    Raises:
        ValueError: `filt` has not one axis, or `trim` has other letters.
        ValueError: a traced function calls it, because the length depends on values.

    Example:
        >>> mx.trim_zeros(mx.array([0, 0, 1, 0, 2, 0]))
        array([1, 0, 2], dtype=int32)
    """

def polyadd(a1: scalar | array, a2: scalar | array, *, stream: StreamOrDevice = None) -> array:
    """
    Add two polynomials.

    Args:
        a1: a vector of coefficients, the highest power first.
        a2: another one.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of the length of the longer one.

    Raises:
        ValueError: an operand has more than one axis, or no coefficients.

    Example:
        >>> mx.polyadd(mx.array([1, 2]), mx.array([3, 0, 5]))
        array([3, 1, 7], dtype=int32)
    """

def polysub(a1: scalar | array, a2: scalar | array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the difference of two polynomials.

    Args:
        a1: a vector of coefficients, the highest power first.
        a2: another one.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of the length of the longer one.

    Raises:
        ValueError: an operand has more than one axis, or no coefficients.

    Example:
        >>> mx.polysub(mx.array([1, 2]), mx.array([3, 0, 5]))
        array([-3, 1, -3], dtype=int32)
    """

def polymul(a1: scalar | array, a2: scalar | array, *, stream: StreamOrDevice = None) -> array:
    """
    Multiply two polynomials.

    Args:
        a1: a vector of coefficients, the highest power first.
        a2: another one.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of the sum of both lengths less one.

    Raises:
        ValueError: an operand has more than one axis, or no coefficients.

    Example:
        >>> mx.polymul(mx.array([1, 2]), mx.array([3, 0, 5]))
        array([3, 6, 5, 10], dtype=int32)
    """

def polydiv(u: array, v: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    Return the quotient of two polynomials and the remainder.

    The lengths depend on those of the operands alone: unlike NumPy's, the remainder keeps
    leading zeros.

    Args:
        u: a vector of coefficients, the highest power first.
        v: the divisor, whose first coefficient is not 0.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of the quotient and the remainder.

    Raises:
        ValueError: an operand has more than one axis, or no coefficients.

    Example:
        >>> mx.polydiv(mx.array([1.0, 3.0, 5.0]), mx.array([1.0, 1.0]))
        (array([1, 2], dtype=float32), array([3], dtype=float32))
    """

def polyder(p: array, m: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the derivative of a polynomial.

    Args:
        p: a vector of coefficients, the highest power first.
        m: the order; 1 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector with m coefficients less.

    Raises:
        ValueError: `p` has not one axis with a coefficient, or the order is negative.

    Example:
        >>> mx.polyder(mx.array([1, 2, 3]))
        array([2, 2], dtype=int32)
    """

def polyint(p: array, m: int = 1, k: scalar | array = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Return the integral of a polynomial.

    Args:
        p: a vector of coefficients, the highest power first.
        m: the order; 1 by default.
        k: the constant, or one for each integration; 0 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of a floating dtype with m coefficients more.

    Raises:
        ValueError: the number of constants is neither 1 nor m, or the order is negative.

    Example:
        >>> mx.polyint(mx.array([6.0, 2.0, 3.0]))
        array([2, 1, 3, 0], dtype=float32)
    """

def poly(seq_of_zeros: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the polynomial with the given roots, or the characteristic polynomial of a square
    matrix.

    Args:
        seq_of_zeros: a vector of roots, or a square matrix.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of a floating or complex dtype that starts with 1.

    Raises:
        ValueError: the argument is neither.

    Example:
        >>> mx.poly(mx.array([1.0, 2.0]))
        array([1, -3, 2], dtype=float32)
    """

def roots(p: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the roots of a polynomial, as eigenvalues of its companion matrix.

    Args:
        p: a vector of coefficients, the highest power first; the first one is not 0.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of complex64, or complex128.

    Raises:
        ValueError: `p` has not one axis with a coefficient.

    Example:
        >>> mx.roots(mx.array([1.0, -3.0, 2.0]))
        array([2+0j, 1+0j], dtype=complex64)
    """

def dynamic_slice(operand: array, start_indices: array | Sequence[scalar | array], slice_sizes: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Return the slice that starts at positions which may be computed, as `jax.lax.dynamic_slice`.

    Negative starts count from the end; starts are then limited so that the slice is within the
    array.

    Args:
        operand: an array of any dtype.
        start_indices: an integer for each axis: an array, or a sequence of integers and scalar
            arrays.
        slice_sizes: the length of the slice along each axis.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape `slice_sizes`.

    Raises:
        ValueError: the starts or lengths do not fit the array.

    Example:
        >>> mx.dynamic_slice(mx.arange(6), [mx.array(4)], (3,))
        array([3, 4, 5], dtype=int32)
    """

def dynamic_update_slice(operand: array, update: array, start_indices: array | Sequence[scalar | array], *, stream: StreamOrDevice = None) -> array:
    """
    Return the array with a slice replaced that starts at positions which may be computed.

    Args:
        operand: an array of any dtype.
        update: the new elements, converted to the dtype of the operand.
        start_indices: an integer for each axis, as for `dynamic_slice`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of the operand.

    Raises:
        ValueError: the update or the starts do not fit the array.

    Example:
        >>> mx.dynamic_update_slice(mx.arange(5), mx.array([9, 9]), [1])
        array([0, 9, 9, 3, 4], dtype=int32)
    """

def dynamic_index_in_dim(operand: array, index: scalar | array, axis: int = 0, keepdims: bool = True, *, stream: StreamOrDevice = None) -> array:
    """
    Return the slice at one index of an axis, which may be computed and is limited to the axis.

    Args:
        operand: an array of any dtype.
        index: an integer.
        axis: the axis; the first one by default.
        keepdims: whether the axis stays with length 1; True by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with one element along the axis, or without it.

    Raises:
        ValueError: the index is not a scalar integer.

    Example:
        >>> mx.dynamic_index_in_dim(mx.array([[1, 2], [3, 4]]), mx.array(1), 0, False)
        array([3, 4], dtype=int32)
    """

def dot_general(lhs: array, rhs: array, dimension_numbers: tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]], *, stream: StreamOrDevice = None) -> array:
    """
    Multiply and sum over contracted axes, for each index of batch axes.

    Args:
        lhs: an array.
        rhs: an array.
        dimension_numbers: ((contracted axes of lhs, of rhs), (batch axes of lhs, of rhs)).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array whose axes are the batch axes, the other ones of lhs, and those of rhs.

    Raises:
        ValueError: the lengths of contracted or batch axes differ, or an axis occurs twice.

    Example:
        >>> mx.dot_general(mx.ones((2, 3, 4)), mx.ones((2, 4, 5)), (((2,), (1,)), ((0,), (0,)))).shape
        (2, 3, 5)
    """

def top_k(operand: array, k: int, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    Return the k largest elements along the last axis in descending order, and their indices.

    Equal elements are in the order of their indices. `topk` returns the elements alone, in any
    order.

    Args:
        operand: an array with at least one axis.
        k: the number of elements.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of elements and of indices in int32.

    Raises:
        ValueError: k is negative or larger than the axis.

    Example:
        >>> mx.top_k(mx.array([1, 5, 3]), 2)
        (array([5, 3], dtype=int32), array([1, 2], dtype=int32))
    """

def sort_key_val(keys: array, values: array, dimension: int = -1, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    Return keys sorted along an axis, and values in the same order; equal keys keep theirs.

    Args:
        keys: an array.
        values: an array of the same shape.
        dimension: the axis; the last one by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of sorted keys and values.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> mx.sort_key_val(mx.array([3, 1, 2]), mx.array([30, 10, 20]))
        (array([1, 2, 3], dtype=int32), array([10, 20, 30], dtype=int32))
    """

def iota(dtype: Dtype, size: int, *, stream: StreamOrDevice = None) -> array:
    """
    Return 0, 1, 2, .. in a dtype.

    Args:
        dtype: the dtype.
        size: the number of elements.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector.

    Raises:
        ValueError: the size is negative.

    Example:
        >>> mx.iota(mx.float32, 3)
        array([0, 1, 2], dtype=float32)
    """

def bitcast_convert_type(operand: array, new_dtype: Dtype, *, stream: StreamOrDevice = None) -> array:
    """
    Return the bits of the elements as another dtype.

    Of a narrower dtype the elements are along a new last axis, and the last axis is joined to
    elements of a wider one.

    Args:
        operand: an array of any dtype.
        new_dtype: the dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype.

    Raises:
        ValueError: the last axis does not fit a wider dtype.

    Example:
        >>> mx.bitcast_convert_type(mx.array([1.0]), mx.uint32)
        array([1065353216], dtype=uint32)
    """

def broadcast(operand: array, sizes: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    Return the array with new axes in front along which it repeats.

    Args:
        operand: an array of any dtype.
        sizes: the lengths of the new axes.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape `(*sizes, *operand.shape)`.

    Example:
        >>> mx.broadcast(mx.array([1, 2]), (2,))
        array([[1, 2],
               [1, 2]], dtype=int32)
    """

def cumlogsumexp(operand: array, axis: int = 0, reverse: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm of the cumulative sum of exponentials, as `logcumsumexp`.

    Args:
        operand: an array.
        axis: the axis; the first one by default.
        reverse: whether sums start at the end; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of the operand.

    Raises:
        IndexError: the axis is out of range.

    Example:
        >>> mx.cumlogsumexp(mx.array([0.0, 0.0]))
        array([0, 0.693147], dtype=float32)
    """

erf_inv = erfinv

def bitwise_count(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the number of ones in the binary representation of magnitudes.

    Args:
        a: an array of integers.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint8.

    Raises:
        ValueError: the dtype is no integer one.

    Example:
        >>> mx.bitwise_count(mx.array([7, -1]))
        array([3, 1], dtype=uint8)
    """

def population_count(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the number of ones among the bits of integers, of which negative ones have two's
    complement.

    Args:
        a: an array of integers.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a`.

    Raises:
        ValueError: the dtype is no integer one.

    Example:
        >>> mx.population_count(mx.array([7, -1]))
        array([3, 32], dtype=int32)
    """

def clz(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the number of zeros before the first one among the bits of integers.

    Args:
        a: an array of integers.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the dtype of `a`.

    Raises:
        ValueError: the dtype is no integer one.

    Example:
        >>> mx.clz(mx.array([1, 256]))
        array([31, 23], dtype=int32)
    """

def spacing(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the distance to the next number away from zero, with the sign of the number.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.spacing(mx.array([1.0]))
        array([1.19209e-07], dtype=float32)
    """

def frexp(a: array, /, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    Split numbers into a fraction with a magnitude in [0.5, 1) and a power of two.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of the fractions, and of exponents in int32.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.frexp(mx.array([6.0]))
        (array([0.75], dtype=float32), array([3], dtype=int32))
    """

def modf(a: array, /, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    Split numbers into a fraction and an integer, both with their sign.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple of fractions and integers in the dtype of `a`, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.modf(mx.array([1.5, -2.25]))
        (array([0.5, -0.25], dtype=float32), array([1, -2], dtype=float32))
    """

def ldexp(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `a * 2^b` for integers `b`.

    Args:
        a: an array or a scalar that is not complex.
        b: an array or a scalar of integers.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the dtype of `a`, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex, or `b` is not of integers.

    Example:
        >>> mx.ldexp(mx.array([1.0, 3.0]), mx.array([4, -1]))
        array([16, 1.5], dtype=float32)
    """

def float_power(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `a^b` in a floating or complex dtype: integers become float32.

    Args:
        a: an array or a scalar.
        b: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype.

    Raises:
        ValueError: the shapes cannot be broadcast.

    Example:
        >>> mx.float_power(mx.array([2]), -1)
        array([0.5], dtype=float32)
    """

def packbits(a: array, axis: int | None = None, bitorder: str = 'big', *, stream: StreamOrDevice = None) -> array:
    """
    Pack elements that are not zero as the bits of bytes.

    Args:
        a: an array of bool or integers.
        axis: the axis; None (the default) flattens the array first.
        bitorder: 'big', the first element is the highest bit, or 'little'; 'big' by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint8; the last byte is filled with zeros.

    Raises:
        ValueError: the dtype is inexact, or the order has another name.

    Example:
        >>> mx.packbits(mx.array([1, 0, 0, 0, 0, 0, 1, 1]))
        array([131], dtype=uint8)
    """

def unpackbits(a: array, axis: int | None = None, count: int | None = None, bitorder: str = 'big', *, stream: StreamOrDevice = None) -> array:
    """
    Unpack the bits of bytes as elements.

    Args:
        a: an array of uint8.
        axis: the axis; None (the default) flattens the array first.
        count: the number of bits that are kept; a negative number is left out at the end; None
            keeps all.
        bitorder: 'big', the first element is the highest bit, or 'little'; 'big' by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint8.

    Raises:
        ValueError: the dtype is another one, or `count` is larger than the number of bits.

    Example:
        >>> mx.unpackbits(mx.array([131], mx.uint8))
        array([1, 0, 0, ..., 0, 1, 1], dtype=uint8)
    """
