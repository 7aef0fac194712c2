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

bfloat16: Dtype = ...

float32: Dtype = ...

float64: Dtype = ...

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
    """True if the first dtype or category belongs to the second."""

def result_type(*arrays_and_dtypes: array | Dtype | scalar) -> Dtype:
    """The dtype that arrays, dtypes and scalars promote to."""

def can_cast(from_: array | Dtype, to: Dtype) -> bool:
    """True if promotion converts the first dtype to the second."""

def isdtype(dtype: Dtype, kind: Dtype | str | tuple[Dtype | str, ...]) -> bool:
    """
    True if the dtype is of a kind: a dtype, a name such as 'real floating', or one of several.
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
    A context in which the stream, or the default stream of the device, is used by default.
    """

def default_device() -> Device:
    """The device of new arrays."""

def set_default_device(device: Device | DeviceType) -> None:
    """Sets the device of new arrays."""

def default_stream(device: Device | DeviceType) -> Stream:
    """The calling thread's default stream on a device."""

def set_default_stream(stream: Stream) -> None:
    """Makes a stream the calling thread's default on its device."""

def new_stream(device: Device | DeviceType) -> Stream:
    """A stream for the calling thread."""

def new_thread_unsafe_stream(device: Device | DeviceType) -> Stream:
    """
    A stream that any thread may use; the caller is responsible for the order of work.
    """

def new_thread_local_stream(device: Device | DeviceType) -> ThreadLocalStream:
    """A stream that each thread has its own copy of."""

def clear_streams() -> None:
    """Waits for the calling thread's streams and releases them."""

def synchronize(stream: StreamOrDevice = None) -> None:
    """Waits for all work submitted to a stream, or to the default stream."""

def is_available(device: Device | DeviceType) -> bool:
    """True if the device exists."""

def device_count(device_type: DeviceType) -> int:
    """How many devices of a kind there are."""

def device_info(d: None | Device | DeviceType = None) -> dict[str, str | int]:
    """
    Name, architecture, memory and other properties of a device; empty if it does not exist.
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
        """Absolute value."""

    def conj(self, *, stream: StreamOrDevice = None) -> array:
        """Complex conjugate."""

    def cos(self, *, stream: StreamOrDevice = None) -> array:
        """Cosine of an angle in radians."""

    def exp(self, *, stream: StreamOrDevice = None) -> array:
        """Exponential."""

    def log(self, *, stream: StreamOrDevice = None) -> array:
        """Natural logarithm."""

    def log10(self, *, stream: StreamOrDevice = None) -> array:
        """Base-10 logarithm."""

    def log1p(self, *, stream: StreamOrDevice = None) -> array:
        """log(1 + a), accurate near zero."""

    def log2(self, *, stream: StreamOrDevice = None) -> array:
        """Base-2 logarithm."""

    def reciprocal(self, *, stream: StreamOrDevice = None) -> array:
        """1 / a."""

    def rsqrt(self, *, stream: StreamOrDevice = None) -> array:
        """1 / sqrt(a)."""

    def sin(self, *, stream: StreamOrDevice = None) -> array:
        """Sine of an angle in radians."""

    def sqrt(self, *, stream: StreamOrDevice = None) -> array:
        """Square root."""

    def square(self, *, stream: StreamOrDevice = None) -> array:
        """a * a."""

    def round(self, decimals: int = 0, *, stream: StreamOrDevice = None) -> array:
        """Rounds to `decimals` decimals, ties to even."""

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

    @overload
    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """Sum over axes, or over all. Bool and small integers add up in int32."""

    @overload
    def sum(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function sum of the module; `dtype` is that of the operand, and `out` the None that numpy.sum passes.
        """

    @overload
    def prod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Product over axes, or over all. Bool and small integers multiply in int32.
        """

    @overload
    def prod(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function prod of the module; `dtype` is that of the operand, and `out` the None that numpy.prod passes.
        """

    @overload
    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """Largest element over axes, or over all."""

    @overload
    def max(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function max of the module; `dtype` is that of the operand, and `out` the None that numpy.max passes.
        """

    @overload
    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """Smallest element over axes, or over all."""

    @overload
    def min(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function min of the module; `dtype` is that of the operand, and `out` the None that numpy.min passes.
        """

    @overload
    def all(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """True where all elements over axes, or over all, are nonzero."""

    @overload
    def all(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function all of the module; `dtype` is that of the operand, and `out` the None that numpy.all passes.
        """

    @overload
    def any(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """True where some element over axes, or over all, is nonzero."""

    @overload
    def any(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function any of the module; `dtype` is that of the operand, and `out` the None that numpy.any passes.
        """

    @overload
    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """Mean over axes, or over all, in floating point."""

    @overload
    def mean(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function mean of the module; `dtype` is that of the operand, and `out` the None that numpy.mean passes.
        """

    @overload
    def var(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: int = 0, *, correction: float | None = None, stream: StreamOrDevice = None) -> array:
        """Mean squared distance from the mean, divided by n - ddof."""

    @overload
    def var(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, ddof: int = 0, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function var of the module; `dtype` is that of the operand, and `out` the None that numpy.var passes.
        """

    @overload
    def std(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: int = 0, *, correction: float | None = None, stream: StreamOrDevice = None) -> array:
        """Square root of the variance."""

    @overload
    def std(self, axis: int | Sequence[int] | None = None, *, dtype: Dtype | None = None, out: None = None, ddof: int = 0, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
        """
        The same as the function std of the module; `dtype` is that of the operand, and `out` the None that numpy.std passes.
        """

    def argmax(self, axis: int | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Index of the first largest element along an axis, or in the flattened array.
        """

    def argmin(self, axis: int | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """
        Index of the first smallest element along an axis, or in the flattened array.
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
        """Cumulative sum along an axis or over the flattened array."""

    def cumprod(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """Cumulative product along an axis or over the flattened array."""

    def cummax(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """Cumulative maximum along an axis or over the flattened array."""

    def cummin(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """Cumulative minimum along an axis or over the flattened array."""

    def logcumsumexp(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """log(cumsum(exp(a))) without overflow."""

    @property
    def device(self) -> Device:
        """The device that computes the array."""

    def to_device(self, device: Device | Stream | None, /, *, stream: StreamOrDevice = None) -> array:
        """The array on a device: itself where it is there, else a copy."""

class ArrayAt:
    """Updates at indexed positions that apply every repeated index."""

    def __getitem__(self, indices: object | None) -> ArrayAt:
        """Chooses the positions."""

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
    """Absolute value; the modulus of a complex number."""

def arccos(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse cosine, in radians in [0, pi]."""

def arccosh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse hyperbolic cosine."""

def arcsin(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse sine, in radians in [-pi/2, pi/2]."""

def arcsinh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse hyperbolic sine."""

def arctan(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse tangent, in radians in [-pi/2, pi/2]."""

def arctanh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse hyperbolic tangent."""

def bitwise_invert(a: scalar | array, stream: StreamOrDevice = None) -> array:
    """Bitwise complement; logical not for bool."""

def ceil(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Smallest integer not below each element."""

def conjugate(a: array, *, stream: StreamOrDevice = None) -> array:
    """Complex conjugate."""

def cos(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Cosine of an angle in radians."""

def cosh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Hyperbolic cosine."""

def erf(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Error function 2/sqrt(pi) * integral of exp(-t^2) from 0 to a."""

def erfinv(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse of the error function."""

def exp(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Exponential."""

def expm1(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """exp(a) - 1, accurate near zero."""

def floor(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Largest integer not above each element."""

def imag(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Imaginary part."""

def isfinite(a: array, stream: StreamOrDevice = None) -> array:
    """True where the element is neither infinite nor NaN."""

def isinf(a: array, stream: StreamOrDevice = None) -> array:
    """True where the element is infinite."""

def isnan(a: array, stream: StreamOrDevice = None) -> array:
    """True where the element is NaN."""

def isneginf(a: array, stream: StreamOrDevice = None) -> array:
    """True where the element is negative infinity."""

def isposinf(a: array, stream: StreamOrDevice = None) -> array:
    """True where the element is positive infinity."""

def log(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Natural logarithm."""

def log10(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Base-10 logarithm."""

def log1p(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """log(1 + a), accurate near zero."""

def log2(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Base-2 logarithm."""

def logical_not(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """True where the element is zero."""

def negative(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Negation."""

def real(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Real part."""

def reciprocal(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """1 / a."""

def rint(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Nearest integer, ties to even."""

def rsqrt(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """1 / sqrt(a)."""

def sigmoid(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Logistic function 1 / (1 + exp(-a))."""

def sign(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """-1, 0 or 1 by sign; a / |a| for complex."""

def sin(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Sine of an angle in radians."""

def sinh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Hyperbolic sine."""

def sqrt(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Square root."""

def square(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """a * a."""

def tan(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Tangent of an angle in radians."""

def tanh(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Hyperbolic tangent."""

def trunc(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Integer part, rounding toward zero."""

def add(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Sum; logical or for bool."""

def arctan2(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Angle of the point (b, a), in radians in [-pi, pi]."""

def bitwise_and(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Bitwise and."""

def bitwise_or(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Bitwise or."""

def bitwise_xor(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Bitwise exclusive or."""

def divide(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """True quotient; integers divide in float32."""

def equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a == b."""

def floor_divide(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """
    Quotient rounded toward negative infinity; an integer divided by zero gives 0.
    """

def greater(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a > b; complex numbers compare real parts first."""

def greater_equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a >= b; complex numbers compare real parts first."""

def left_shift(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Bits of a shifted left by b places; 0 where b reaches the width."""

def less(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a < b; complex numbers compare real parts first."""

def less_equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a <= b; complex numbers compare real parts first."""

def logaddexp(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """log(exp(a) + exp(b)) without overflow."""

def logical_and(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """True where both are nonzero."""

def logical_or(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """True where either is nonzero."""

def logical_xor(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """True where exactly one is nonzero."""

def maximum(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """The larger of the two; NaN if either is NaN."""

def minimum(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """The smaller of the two; NaN if either is NaN."""

def multiply(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Product; logical and for bool."""

def not_equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a != b."""

def power(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    a to the power b; integers wrap and a negative integer exponent gives 0.
    """

def remainder(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Remainder with the sign of b; an integer divided by zero gives 0."""

def right_shift(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Bits of a shifted right by b places, keeping the sign."""

def subtract(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Difference."""

@overload
def where(condition: scalar | array, x: scalar | array, y: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """x where the condition is true, y elsewhere."""

@overload
def where(condition: array, /, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    `x` where the condition is true, `y` elsewhere. With the condition alone: the indices where it is true, as in nonzero.
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
    """The array itself."""

def degrees(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Radians to degrees."""

def radians(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Degrees to radians."""

def round(a: array, /, decimals: int = 0, stream: StreamOrDevice = None) -> array:
    """Rounds to `decimals` decimals, ties to even."""

def nan_to_num(a: scalar | array, nan: float = 0, posinf: float | None = None, neginf: float | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    NaN and infinities replaced; by default by 0 and the largest finite numbers.
    """

@overload
def clip(a: array, /, a_min: scalar | array | None, a_max: scalar | array | None, *, stream: StreamOrDevice = None) -> array:
    """Elements limited to [a_min, a_max]; None means no limit."""

@overload
def clip(a: array, /, min: scalar | array | None = None, max: scalar | array | None = None, *, stream: StreamOrDevice = None) -> array: ...

def divmod(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> list[array]:
    """[floor_divide(a, b), remainder(a, b)]."""

def isclose(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """
    True where |a - b| <= atol + rtol * |b|; infinities of one sign are close.
    """

def allclose(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """True where all elements are close; see isclose."""

def array_equal(a: scalar | array, b: scalar | array, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """True where shapes and all elements are equal."""

@overload
def astype(a: array, dtype: Dtype, /, *, stream: StreamOrDevice = None) -> array: ...

@overload
def astype(a: array, dtype: Dtype, /, *, device: StreamOrDevice = None) -> array:
    """The elements converted to a dtype."""

@overload
def astype(a: array, dtype: Dtype, /, *, copy: bool, stream: StreamOrDevice = None) -> array: ...

@overload
def astype(a: array, dtype: Dtype, /, *, copy: bool, device: StreamOrDevice = None) -> array: ...

def view(a: scalar | array, dtype: Dtype, stream: StreamOrDevice = None) -> array:
    """The bytes reinterpreted as elements of another dtype."""

def contiguous(a: array, /, allow_col_major: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    The same elements in row-major memory order, or in column-major order if allowed.
    """

def stop_gradient(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """The array, as a constant for differentiation."""

def to_fp8(x: array, *, stream: StreamOrDevice = None) -> array:
    """Floats rounded to 8-bit e4m3 floats, as uint8."""

def from_fp8(x: array, dtype: Dtype = bfloat16, *, stream: StreamOrDevice = None) -> array:
    """The values of 8-bit e4m3 floats stored as uint8."""

@overload
def depends(inputs: array, dependencies: array | Sequence[array]) -> array: ...

@overload
def depends(inputs: Sequence[array], dependencies: array | Sequence[array]) -> list[array]:
    """The inputs, available only once the dependencies have been computed."""

@overload
def arange(start: int | float, /, stop: None | int | float = None, step: None | int | float = None, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def arange(start: int | float, /, stop: None | int | float = None, step: None | int | float = None, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array: ...

@overload
def arange(*, start: int | float, stop: int | float, step: None | int | float = None, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array: ...

@overload
def arange(*, start: int | float, stop: int | float, step: None | int | float = None, dtype: Dtype | None = None, device: StreamOrDevice = None) -> array:
    """
    Evenly spaced numbers from `start` to before `stop`, with distance `step`.
    """

@overload
def arange(stop: int | float, step: None | int | float = None, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def arange(stop: int | float, step: None | int | float = None, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """
    Numbers from `start` on (0 where it is not given), `step` apart (1), before `stop`. All ints give int32 (int64 where needed), floats float32.

    Example: arange(1, 7, 2) is [1, 3, 5].
    """

@overload
def linspace(start: float, stop: float, num: int | None = 50, endpoint: bool = True, dtype: Dtype | None = float32, stream: StreamOrDevice = None) -> array: ...

@overload
def linspace(start: float, stop: float, num: int | None = 50, endpoint: bool = True, dtype: Dtype | None = float32, device: StreamOrDevice = None) -> array:
    """
    `num` numbers from `start` to `stop`, which is the last one unless `endpoint` is false.
    """

@overload
def linspace(start: complex, stop: complex, /, num: int = 50, *, endpoint: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array: ...

@overload
def linspace(start: complex, stop: complex, /, num: int = 50, *, endpoint: bool = True, dtype: Dtype | None = None, device: StreamOrDevice = None) -> array:
    """Evenly spaced numbers between two complex numbers."""

@overload
def full(shape: int | Sequence[int], vals: scalar | array, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def full(shape: int | Sequence[int], fill_value: scalar | array, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """
    An array of a shape, filled with a scalar or with an array that broadcasts to the shape.
    """

@overload
def full_like(a: array, vals: scalar | array, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def full_like(a: array, fill_value: scalar | array, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """full() with the shape of `a`, and its dtype unless one is given."""

@overload
def zeros(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array: ...

@overload
def zeros(shape: int | Sequence[int], dtype: Dtype | None = float32, *, device: StreamOrDevice = None) -> array:
    """An array of zeros."""

@overload
def zeros_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def zeros_like(a: array, /, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """
    An array of zeros with the shape of `a`, and its dtype unless one is given.
    """

@overload
def ones(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array: ...

@overload
def ones(shape: int | Sequence[int], dtype: Dtype | None = float32, *, device: StreamOrDevice = None) -> array:
    """An array of ones."""

@overload
def ones_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def ones_like(a: array, /, dtype: Dtype | None = None, *, device: StreamOrDevice = None) -> array:
    """
    An array of ones with the shape of `a`, and its dtype unless one is given.
    """

empty = zeros

empty_like = zeros_like

@overload
def eye(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array: ...

@overload
def eye(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = float32, *, device: StreamOrDevice = None) -> array:
    """An (n, m) matrix with ones on the k-th diagonal."""

def identity(n: int, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """The identity matrix of n rows."""

def tri(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """An (n, m) matrix with ones on and below the k-th diagonal."""

def tril(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """The matrix with zeros above its k-th diagonal."""

def triu(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """The matrix with zeros below its k-th diagonal."""

def diag(a: array, /, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """The k-th diagonal of a matrix, or the matrix with a vector on it."""

def meshgrid(*arrays: array, sparse: bool | None = False, indexing: str | None = 'xy', stream: StreamOrDevice = None) -> tuple[array, ...]:
    """Coordinates of a grid, one array per axis."""

def bartlett(M: int, *, stream: StreamOrDevice = None) -> array:
    """The bartlett window of M points."""

def blackman(M: int, *, stream: StreamOrDevice = None) -> array:
    """The blackman window of M points."""

def hamming(M: int, *, stream: StreamOrDevice = None) -> array:
    """The hamming window of M points."""

def hanning(M: int, *, stream: StreamOrDevice = None) -> array:
    """The hanning window of M points."""

def asarray(a: ArrayInput, dtype: Dtype | None = None, *, copy: bool | None = None, device: Device | Stream | None = None) -> array:
    """
    An array from any object with elements; see array. With copy=False, memory is shared or ValueError is raised.
    """

def from_dlpack(x: DLPackCompatible, /, *, copy: bool | None = None, device: Device | Stream | None = None) -> array:
    """An array of an object with __dlpack__. Copies unless copy=False."""

@overload
def reshape(a: array, /, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    The array in another shape with the same number of elements; one length may be -1 and is inferred.
    """

@overload
def reshape(a: array, /, shape: Sequence[int], *, copy: bool | None, stream: StreamOrDevice = None) -> array: ...

def flatten(a: array, /, start_axis: int = 0, end_axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """Merges the axes `start_axis` to `end_axis`, inclusive, into one."""

def unflatten(a: array, /, axis: int, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """An axis split into axes of `shape`; one length may be -1."""

def squeeze(a: array, /, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None) -> array:
    """Removes the given axes of length 1, or all axes of length 1."""

def expand_dims(a: array, /, axis: int | Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """Inserts axes of length 1 at the given positions of the result."""

def broadcast_to(a: scalar | array, /, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    The array repeated along axes of length 1 and new leading axes up to `shape`.
    """

def broadcast_arrays(*arrays: array, stream: StreamOrDevice = None) -> list[array]:
    """The arrays broadcast to their common shape."""

def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The broadcast shape of several shapes."""

@overload
def atleast_1d(arys: array, /, *, stream: StreamOrDevice = None) -> array: ...

@overload
def atleast_1d(first: array, second: array, /, *arys: array, stream: StreamOrDevice = None) -> list[array]: ...

@overload
def atleast_1d(*arys: array, stream: StreamOrDevice = None) -> array | list[array]:
    """
    The arrays with axes of length 1 added up to the rank in the name; a list where several are given.
    """

@overload
def atleast_2d(arys: array, /, *, stream: StreamOrDevice = None) -> array: ...

@overload
def atleast_2d(first: array, second: array, /, *arys: array, stream: StreamOrDevice = None) -> list[array]: ...

@overload
def atleast_2d(*arys: array, stream: StreamOrDevice = None) -> array | list[array]:
    """
    The arrays with axes of length 1 added up to the rank in the name; a list where several are given.
    """

@overload
def atleast_3d(arys: array, /, *, stream: StreamOrDevice = None) -> array: ...

@overload
def atleast_3d(first: array, second: array, /, *arys: array, stream: StreamOrDevice = None) -> list[array]: ...

@overload
def atleast_3d(*arys: array, stream: StreamOrDevice = None) -> array | list[array]:
    """
    The arrays with axes of length 1 added up to the rank in the name; a list where several are given.
    """

def transpose(a: array, /, axes: Sequence[int] | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Permutes the axes: axis i of the result is axis axes[i]; reverses all axes if none are given.
    """

permute_dims = transpose

def matrix_transpose(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Swaps the last two axes."""

def swapaxes(a: array, /, axis1: int, axis2: int, *, stream: StreamOrDevice = None) -> array:
    """Swaps two axes."""

@overload
def moveaxis(a: array, /, source: int, destination: int, *, stream: StreamOrDevice = None) -> array:
    """Moves axis `source` to position `destination`."""

@overload
def moveaxis(a: array, /, source: Sequence[int], destination: Sequence[int], *, stream: StreamOrDevice = None) -> array: ...

def flip(a: array, /, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None) -> array:
    """The elements in reverse order along the given axes, or along all."""

def diagonal(a: array, offset: int = 0, axis1: int = 0, axis2: int = 1, stream: StreamOrDevice = None) -> array:
    """The diagonals of the planes that two axes span, as a last axis."""

def trace(a: array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """The sum of a diagonal."""

def as_strided(a: array, /, shape: Sequence[int] | None = None, strides: Sequence[int] | None = None, offset: int = 0, *, stream: StreamOrDevice = None) -> array:
    """
    A view of the elements in row-major order: element (i, j, ..) is element offset + i * strides[0] + j * strides[1] + ..
    """

def slice(a: array, start_indices: array, axes: Sequence[int], slice_size: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    A slice of size `slice_size` whose start, along `axes`, is given by an array.
    """

def slice_update(a: array, update: array, start_indices: array, axes: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """
    A copy with `update` written to a slice whose start, along `axes`, is given by an array.
    """

def concatenate(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None) -> array:
    """
    Joins arrays along an existing axis; flattens them first if axis is None.
    """

concat = concatenate

def stack(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None) -> array:
    """Joins arrays along a new axis."""

def split(a: array, /, indices_or_sections: int | Sequence[int], axis: int = 0, *, stream: StreamOrDevice = None) -> list[array]:
    """Splits an axis into a number of equal parts, or at the given indices."""

def unstack(x: array, /, *, axis: int = 0, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """The slices along an axis, without that axis."""

def pad(a: array, pad_width: int | tuple[int] | tuple[int, int] | list[tuple[int, int]], mode: Literal['constant', 'edge', 'reflect', 'symmetric'] = 'constant', constant_values: scalar | array = 0, *, stream: StreamOrDevice = None) -> array:
    """
    The array with elements added at the ends of its axes: a value, the edge, or a mirror image without ('reflect') or with ('symmetric') the edge.
    """

@overload
def repeat(array: array, repeats: int, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """Each element `repeats` times along an axis, or in the flattened array."""

@overload
def repeat(array: array, repeats: array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array: ...

def tile(a: array, reps: int | Sequence[int], /, *, stream: StreamOrDevice = None) -> array:
    """The array repeated reps[i] times along axis i."""

def roll(a: array, /, shift: int | tuple[int], axis: None | int | tuple[int] = None, *, stream: StreamOrDevice = None) -> array:
    """The elements shifted cyclically along axes."""

def take(a: array, /, indices: int | array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """Slices at indices along an axis, or elements of the flattened array."""

def take_along_axis(a: array, /, indices: array, axis: int | None = -1, *, stream: StreamOrDevice = None) -> array:
    """Elements at one index for each element along an axis."""

def put_along_axis(a: array, /, indices: array, values: array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    A copy with `values` written at one index for each element along an axis.
    """

def nonzero(a: array, /, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """
    Indices of the nonzero elements, one array per axis. Evaluates the array.
    """

def argwhere(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """Indices of the nonzero elements, as rows. Evaluates the array."""

def flatnonzero(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Indices of the nonzero elements of the flattened array. Evaluates the array.
    """

def compress(condition: array, a: array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    The slices along an axis, or the elements of the flattened array, where the condition is true. Evaluates the condition.
    """

def extract(condition: array, a: array, *, stream: StreamOrDevice = None) -> array:
    """The elements where the condition is true. Evaluates the condition."""

@overload
def sum(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """Sum over axes, or over all. Bool and small integers add up in int32."""

@overload
def sum(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, dtype: Dtype | None, stream: StreamOrDevice = None) -> array: ...

@overload
def prod(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Product over axes, or over all. Bool and small integers multiply in int32.
    """

@overload
def prod(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, dtype: Dtype | None, stream: StreamOrDevice = None) -> array: ...

def max(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """Largest element over axes, or over all."""

def min(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """Smallest element over axes, or over all."""

def all(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """True where all elements over axes, or over all, are nonzero."""

def any(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """True where some element over axes, or over all, is nonzero."""

def mean(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """Mean over axes, or over all, in floating point."""

def median(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """Middle of the sorted elements, or the mean of the two middle ones."""

def count_nonzero(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
    """Number of nonzero elements over axes, or over all."""

def minmax(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """Smallest and largest element over axes, or over all."""

@overload
def var(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, stream: StreamOrDevice = None) -> array:
    """Mean squared distance from the mean, divided by n - ddof."""

@overload
def var(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, correction: float, stream: StreamOrDevice = None) -> array: ...

@overload
def std(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, stream: StreamOrDevice = None) -> array:
    """Square root of the variance."""

@overload
def std(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, correction: float, stream: StreamOrDevice = None) -> array: ...

def argmax(a: array, /, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Index of the first largest element along an axis, or in the flattened array.
    """

def argmin(a: array, /, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Index of the first smallest element along an axis, or in the flattened array.
    """

def softmax(a: array, /, axis: None | int | Sequence[int] = None, *, precise: bool = False, stream: StreamOrDevice = None) -> array:
    """exp(a) / sum(exp(a)) over axes, or over all, without overflow."""

def logsumexp(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """log(sum(exp(a))) over axes, or over all, without overflow."""

def cumsum(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """Cumulative sum along an axis or over the flattened array."""

def cumprod(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """Cumulative product along an axis or over the flattened array."""

def cummax(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
    """Cumulative maximum along an axis or over the flattened array."""

def cummin(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
    """Cumulative minimum along an axis or over the flattened array."""

def logcumsumexp(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
    """log(cumsum(exp(a))) without overflow."""

def diff(a: array, /, n: int = 1, axis: int = -1, *, prepend: scalar | array | None = None, append: scalar | array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Differences of neighbours along an axis, taken n times, with elements `prepend` and `append` at its ends; of bools, whether they differ.
    """

@overload
def sort(a: array, /, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    The elements in ascending order along an axis, or all of them. NaN comes last.
    """

@overload
def sort(a: array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, stream: StreamOrDevice = None) -> array: ...

@overload
def argsort(a: array, /, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """Indices that sort the elements along an axis, or the flattened array."""

@overload
def argsort(a: array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, stream: StreamOrDevice = None) -> array: ...

def partition(a: array, /, kth: int, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Partially sorted elements: the kth smallest is in its sorted position, with none larger before it.
    """

def argpartition(a: array, /, kth: int, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """Indices that partition the elements; see partition."""

def topk(a: array, /, k: int, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    The k largest elements along an axis, or of the flattened array, in no particular order.
    """

def searchsorted(sorted_sequence: array, values: array, /, side: str = 'left', *, sorter: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Positions at which values would be inserted to keep a sequence sorted: before equal ones ('left') or after them ('right'). The sequence may be one that taking `sorter` sorts.
    """

def unique(a: array, /, size: int | None = None, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, fill_value: scalar | array | None = None, *, stream: StreamOrDevice = None) -> array | tuple[array, ...]:
    """
    The distinct elements of the flattened array in ascending order, for which the array is
    computed; or the first `size` of them, filled up with `fill_value` (the smallest element
    unless given), for which it is not. Behind them, as asked for: positions of the first of
    each, the positions that give back `a`, and how many there are of each. No two NaN are equal.
    """

class UniqueAllResult(NamedTuple):
    values: array
    indices: array
    inverse_indices: array
    counts: array

def unique_all(x: array, /, *, stream: StreamOrDevice = None) -> UniqueAllResult:
    """
    The distinct elements, where the first of each stands, the positions that give back `x`, and the counts. Computes the array.
    """

class UniqueCountsResult(NamedTuple):
    values: array
    counts: array

def unique_counts(x: array, /, *, stream: StreamOrDevice = None) -> UniqueCountsResult:
    """
    The distinct elements and how many there are of each. Computes the array.
    """

class UniqueInverseResult(NamedTuple):
    values: array
    inverse_indices: array

def unique_inverse(x: array, /, *, stream: StreamOrDevice = None) -> UniqueInverseResult:
    """
    The distinct elements and the positions that give back `x`. Computes the array.
    """

def unique_values(x: array, /, *, stream: StreamOrDevice = None) -> array:
    """The distinct elements in ascending order. Computes the array."""

def isin(x1: scalar | array, x2: scalar | array, /, *, invert: bool = False, assume_unique: bool = False, stream: StreamOrDevice = None) -> array:
    """
    For each element whether it is among those of `x2`, or is not where `invert`.
    """

def bincount(x: array, /, weights: array | None = None, minlength: int = 0, *, length: int | None = None, stream: StreamOrDevice = None) -> array:
    """
    How often 0, 1, ... occur in a vector of integers, or the sums of the weights at their
    places. Computes the array to find the largest, unless `length`, the number of results, is
    given: the elements must then be smaller.
    """

def histogram(a: array, bins: int | Sequence[scalar] | array = 10, range: tuple[float, float] | None = None, weights: array | None = None, density: bool = False, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    How many elements (or which sum of `weights`) fall into each bin, and the bounds of the
    bins: so many of equal width over `range` (from the smallest to the largest element, which
    are to be finite), or those between ascending bounds. A bin contains its lower bound, the last one its upper
    bound too. `density` makes the integral 1.
    """

def matmul(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Matrix product of the last two axes; the other axes broadcast. A vector counts as a row on the left and as a column on the right.
    """

def inner(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """Sums of products over the last axes."""

def outer(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """a[i] * b[j] of the flattened operands."""

def kron(a: array, b: array, *, stream: StreamOrDevice = None) -> array:
    """Kronecker product."""

def vecdot(a: array, b: array, /, *, axis: int = -1, stream: StreamOrDevice = None) -> array:
    """Sum over an axis of conj(a) * b."""

def addmm(c: array, a: array, b: array, /, alpha: float = 1.0, beta: float = 1.0, *, stream: StreamOrDevice = None) -> array:
    """beta * c + alpha * (a @ b)."""

def tensordot(a: array, b: array, /, axes: int | list[Sequence[int]] = 2, *, stream: StreamOrDevice = None) -> array:
    """
    Contraction of the last axes of `a` with the first ones of `b`, or of axes in two lists.
    """

def gather_mm(a: array, b: array, /, lhs_indices: array | None = None, rhs_indices: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Matrix products of a[lhs_indices[i]] and b[rhs_indices[i]], without copies of the operands.
    """

def segmented_mm(a: array, b: array, /, segments: array, *, stream: StreamOrDevice = None) -> array:
    """
    Products a[:, start:end] @ b[start:end] for the ranges in the last axis of `segments`.
    """

def block_masked_mm(a: array, b: array, /, block_size: int = 64, mask_out: array | None = None, mask_lhs: array | None = None, mask_rhs: array | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Matrix product in which square blocks of the operands and of the result are masked.
    """

def hadamard_transform(a: array, scale: float | None = None, stream: StreamOrDevice = None) -> array:
    """
    Products of the rows of the last axis with a Hadamard matrix, times 1 / sqrt(n) or `scale`. Lengths n = m * 2^k with m one of 1, 12, 20 and 28.
    """

def quantize(w: array, /, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', *, global_scale: array | None = None, stream: StreamOrDevice = None) -> list[array]:
    """
    Packs a matrix along its last axis into uint32 words; groups of elements share a scale and, in mode affine, a bias. Modes: affine (1, 2, 3, 4, 5, 6 or 8 bits in groups of 32, 64 or 128), mxfp4, mxfp8, nvfp4. Returns words, scales and, for affine, biases.
    """

def dequantize(w: array, /, scales: array, biases: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', global_scale: array | None = None, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """Unpacks a matrix from the words, scales and biases of quantize."""

def quantized_matmul(x: array, w: array, /, scales: array, biases: array | None = None, transpose: bool = True, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', *, stream: StreamOrDevice = None) -> array:
    """
    x @ w.T with a packed w, or x @ w where `transpose` is False; leading axes broadcast.
    """

def gather_qmm(x: array, w: array, /, scales: array, biases: array | None = None, lhs_indices: array | None = None, rhs_indices: array | None = None, transpose: bool = True, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', global_scale: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None) -> array:
    """
    quantized_matmul of x[lhs_indices[i]] and w[rhs_indices[i]], counted over the flattened leading axes.
    """

def qqmm(x: array, w: array, scales: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'nvfp4', global_scale_x: array | None = None, global_scale_w: array | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    x @ w.T with both rounded to a mode of floats; w is packed, with its scales, or in floats.
    """

def gather_qqmm(x: array, w: array, /, scales: array | None = None, lhs_indices: array | None = None, rhs_indices: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'nvfp4', global_scale_x: array | None = None, global_scale_w: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None) -> array:
    """
    qqmm of x[lhs_indices[i]] and w[rhs_indices[i]], counted over the flattened leading axes.
    """

def einsum(subscripts: str, *operands: array, stream: StreamOrDevice = None) -> array:
    """
    Sums of products by subscripts, such as einsum('ij,jk->ik', a, b) for a matrix product.
    """

def einsum_path(subscripts: str, *operands: array) -> tuple[list[tuple[int, ...]], str]:
    """The order in which einsum contracts its operands, and what it costs."""

def conv1d(input: array, weight: array, /, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Convolution (cross-correlation) of an input (batch, .., channels) with a weight (output channels, .., input channels).
    """

def conv_transpose1d(input: array, weight: array, /, stride: int = 1, padding: int = 0, dilation: int = 1, output_padding: int = 0, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """Transposed convolution."""

def conv2d(input: array, weight: array, /, stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Convolution (cross-correlation) of an input (batch, .., channels) with a weight (output channels, .., input channels).
    """

def conv_transpose2d(input: array, weight: array, /, stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, output_padding: int | tuple[int, int] = 0, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """Transposed convolution."""

def conv3d(input: array, weight: array, /, stride: int | tuple[int, int, int] = 1, padding: int | tuple[int, int, int] = 0, dilation: int | tuple[int, int, int] = 1, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """
    Convolution (cross-correlation) of an input (batch, .., channels) with a weight (output channels, .., input channels).
    """

def conv_transpose3d(input: array, weight: array, /, stride: int | tuple[int, int, int] = 1, padding: int | tuple[int, int, int] = 0, dilation: int | tuple[int, int, int] = 1, output_padding: int | tuple[int, int, int] = 0, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """Transposed convolution."""

def conv_general(input: array, weight: array, /, stride: int | Sequence[int] = 1, padding: int | Sequence[int] | tuple[Sequence[int], Sequence[int]] = 0, kernel_dilation: int | Sequence[int] = 1, input_dilation: int | Sequence[int] = 1, groups: int = 1, flip: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    A convolution in its general form: padding at either end, zeros between the elements of the kernel and of the input, groups of channels, a kernel turned round.
    """

def convolve(a: array, v: array, /, mode: str = "full", *, stream: StreamOrDevice = None) -> array:
    """
    The convolution of two vectors: 'full', 'same' length as the longer, or 'valid'.
    """

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

def get_memory_limit() -> int:
    """The number of bytes above which cached memory is released first."""

def get_memory_ceiling() -> int:
    """The number of bytes above which allocations fail."""

def set_memory_ceiling(limit: int) -> int:
    """
    Sets the bytes above which allocation raises an exception that is both MemoryError and RuntimeError; returns the earlier ceiling.
    """

def get_array_buffer_size(*args: Any) -> int:
    """
    Bytes of the buffers of the arrays in trees; shared buffers count once.
    """

def eval(*args: Any) -> None:
    """
    Evaluates the arrays of trees (lists, tuples, dicts) and waits for them.
    """

def async_eval(*args: Any) -> None:
    """Starts the evaluation of the arrays of trees; reading them waits."""

def value_and_grad(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = []) -> Callable[P, tuple[R, Any]]:
    """
    A function that returns what `fun` returns and the gradient of it. `fun` returns a scalar array, or a tuple that starts with one. The gradient is taken of the arguments at `argnums` (0 by default) and the keyword arguments named by `argnames`, which are trees of arrays; it has their form, in a tuple where several positions are given, and in a pair with a dict where names are given.
    """

def grad(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = []) -> Callable[P, Any]:
    """
    A function that returns the gradient of `fun`, which returns a scalar array; see value_and_grad.

    Example: grad(lambda x: x * x)(array(3.0)) is 6.
    """

def vjp(fun: Callable[..., Any], primals: Sequence[array], cotangents: Sequence[array]) -> tuple[list[array], list[array]]:
    """
    What `fun` returns for the primals, and the products of the cotangents with its Jacobian, one for each primal.
    """

def jvp(fun: Callable[..., Any], primals: Sequence[array], tangents: Sequence[array]) -> tuple[list[array], list[array]]:
    """
    What `fun` returns for the primals, and the products of its Jacobian with the tangents, one for each result.
    """

def compile(fun: Callable[P, R], inputs: object | None = None, outputs: object | None = None, shapeless: bool = False) -> Callable[P, R]:
    """
    A function that gives what `fun` gives, and runs as one node of the graph.

    `fun` is traced once for each combination of dtypes and shapes of the arrays among its arguments, of the structure of these, and of the numbers, strings and None among them. `shapeless=True` traces once for all lengths where every op means the same for them; where one does not, or where `fun` looks at a shape, each shape is traced. `inputs` are containers (lists, dicts, modules, `random.state`) whose arrays `fun` reads, `outputs` containers that it changes: they are filled in place. Whatever else `fun` reads is a constant of the trace, and arrays cannot be evaluated while it is traced (ValueError).

    Example:
        compile(lambda x, y: exp(-x) + y)(array(1.0), array(2.0))
    """

def disable_compile() -> None:
    """
    Disables compilation: compiled functions run as ordinary functions. The environment variable MLX_DISABLE_COMPILE does the same.
    """

def enable_compile() -> None:
    """Enables compilation again."""

def compile_cache_info() -> dict[str, int]:
    """The number of hits and misses of the trace cache, and its size."""

def set_compile_cache_size(n: int) -> int:
    """
    Sets how many traces are kept over all compiled functions (1024 by default; the ones used longest ago go first); returns the former number.
    """

def clear_compile_cache() -> None:
    """Drops the traces of all compiled functions."""

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
    Lets an evaluation fail (ExecutionError) at the first op that makes a NaN of inputs without NaN, naming the op and the line of the program that built it. Elementwise ops then run one by one, and compiled functions are traced anew. Holds for all threads, from here on or within a `with` statement.

    Example: with debug_nans(): eval(log(array(-1.0)))
    """

def debug_lines(on: bool = True) -> DebugScope:
    """
    Lets errors of evaluation name the line of the program that built the op which failed, where it was built and is evaluated while this is on. Compiled functions are traced anew. Holds for all threads, from here on or within a `with` statement.
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
    Records the steps that run within a `with` statement: op, shape, dtype, bytes, time, and the line that built it. `file` gets a trace in Chrome's format (chrome://tracing, Perfetto).

    Example:
        with profile('steps.json') as p:
            eval(step())
        print(p)
    """

def vmap(fun: Callable[P, R], in_axes: object = 0, out_axes: object = 0) -> Callable[P, R]:
    """
    A function that applies `fun` to every position along an axis of its arguments, all at once, and stacks the results. `in_axes` and `out_axes` are ints (negative ones count from the end), None for what is not mapped, or trees of them: a tuple has an entry for each argument. `fun` runs once, on arrays without the mapped axis and without values. Raises IndexError for an axis out of range, and ValueError where mapped lengths differ or an op cannot be vectorized.

    Example: vmap(lambda x, y: x + y, in_axes=(1, 0))(x, y) is x.T + y.
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
        Sets `f(primals, cotangents, outputs)`, which gives cotangents of the arguments.
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
    A function like `fun` whose derivative computes what is inside again instead of keeping it. `fun` itself runs once: what depends on its arguments is computed again, with the same random numbers. Derivatives reach arguments and whatever else `fun` reads.
    """

def save(file: file | str | pathlib.Path, arr: array) -> None:
    """Writes an array in NumPy's format; .npy is added to a name without it."""

def savez(file: file | str | pathlib.Path, *args: Any, **kwargs: Any) -> None:
    """
    Writes arrays to an .npz archive, under their keywords or as arr_0, arr_1, ..
    """

def savez_compressed(file: file | str | pathlib.Path, *args: Any, **kwargs: Any) -> None:
    """Like savez, compressed."""

def save_safetensors(file: file | str | pathlib.Path, arrays: dict[str, array], metadata: dict[str, str] | None = None) -> None:
    """
    Writes named arrays in the safetensors format; .safetensors is added to a name without it.
    """

def save_gguf(file: file | str | pathlib.Path, arrays: dict[str, array], metadata: dict[str, array | str | list[str]] | None = None) -> None:
    """
    Writes named arrays and metadata in the GGUF format; .gguf is added to a name without it.
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
    Reads an array (.npy) or arrays by name (.npz, .safetensors, .gguf). The format follows from the name or the content. Arrays in files that are named by a path are read when they are used; file objects are read at once. Raises mx.FileError for files that cannot be read.
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
    Traces `fun(*args, **kwargs)`, a function of arrays that gives an array or a list or tuple of arrays, and writes it to a file. With `shapeless` the file serves arguments of any lengths where the function means the same for all; where it reads a shape or uses an op bound to one, it serves these shapes only. Custom functions and checkpoints are written as what they compute, without their rules. Instead of a file, a function may get the parts as dicts. Raises ValueError for ops that run code of the program.
    """

def exporter(file: str, fun: Callable[..., Any], *, shapeless: bool = False, metadata: str | None = None) -> FunctionExporter:
    """
    A context manager that traces `fun` for each call and writes all traces to one file.
    """

@overload
def import_function(file: str, return_metadata: Literal[False] = False) -> Callable[..., tuple[array, ...]]: ...

@overload
def import_function(file: str, return_metadata: Literal[True]) -> tuple[Callable[..., tuple[array, ...]], str]: ...

@overload
def import_function(file: str, return_metadata: bool = False) -> Callable[..., tuple[array, ...]] | tuple[Callable[..., tuple[array, ...]], str]:
    """
    The function in a file: it takes arrays as `export_function` does and gives a tuple of arrays. Arguments need the dtypes and shapes of a trace, or ValueError lists what is accepted. Raises FileError for a file that is damaged or of another kind.
    """

def export_to_dot(file: object, *args: Any, **kwargs: Any) -> None:
    """
    Writes the graph of what is still to be computed for trees of arrays as Graphviz text, to a path or an open text file. Arrays given by keyword are called so.
    """

def simplify(*args: Any) -> None:
    """
    Merges common subexpressions in the graphs of trees of arrays, in place, and removes identity ops. Results stay bitwise equal; evaluated arrays are unchanged.
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
    """Sets the digits after the point; -1 for six significant digits."""

def get_printoptions() -> PrintOptions:
    """The current print options."""

def printoptions(precision: int = -1) -> _PrintOptionsContext:
    """A context in which numbers print with other options."""

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
    """Properties of the module by the array API standard."""

def matrix_norm(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The same as linalg.norm."""

def copysign(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """The magnitude of a with the sign of b."""

def hypot(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """sqrt(a ** 2 + b ** 2) without overflow."""

def nextafter(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """The next floating number after a towards b."""

def signbit(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """True where the sign bit is set: for negative numbers and -0.0."""

def cumulative_sum(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, include_initial: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Sums of the elements up to each one; with `include_initial` 0 stands before them.
    """

def cumulative_prod(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, include_initial: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Products of the elements up to each one; with `include_initial` 1 stands before them.
    """

__array_api_version__: str = '2025.12'
