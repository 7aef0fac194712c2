"""Random numbers from keys or a seeded generator."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

def seed(seed: int) -> None:
    """
    Seed the generator of the calling thread.

    Args:
        seed: an int.

    Example:
        >>> mx.random.seed(0)
        >>> mx.random.randint(0, 100, (3,))
        array([87, 11, 27], dtype=int32)
    """

def key(seed: int) -> array:
    """
    Make a key for the functions that take one.

    Args:
        seed: an int.

    Returns:
        An array of two uint32.

    Example:
        >>> mx.random.key(7)
        array([0, 7], dtype=uint32)
    """

def split(key: array, num: int = 2, stream: StreamOrDevice = None) -> array:
    """
    Make keys of independent generators from one key.

    Args:
        key: the key.
        num: how many; 2 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (num, 2): a key in each row.

    Example:
        >>> a, b = mx.random.split(mx.random.key(7))
        >>> a
        array([966301609, 989289821], dtype=uint32)
    """

def uniform(low: scalar | array = 0, high: scalar | array = 1, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers spread evenly over the interval [low, high).

    Args:
        low: the lower bound, an array or a scalar; 0 by default.
        high: the upper bound, an array or a scalar; 1 by default.
        shape: the shape of the result, to which the bounds are broadcast; () by default.
        dtype: a floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not floating, or the bounds cannot be broadcast.

    Example:
        >>> mx.random.uniform(shape=(3,), key=mx.random.key(0))
        array([0.965321, 0.314682, 0.63303], dtype=float32)
    """

def randint(low: scalar | array, high: scalar | array, shape: Sequence[int] = [], dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw integers spread evenly over the interval [low, high).

    Args:
        low: the lower bound, an array or a scalar.
        high: the upper bound, which is not included.
        shape: the shape of the result, to which the bounds are broadcast; () by default.
        dtype: a dtype of integers, or bool; int32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype. Where the interval is empty, its elements are `low`.

    Raises:
        ValueError: the dtype is not accepted, or the bounds cannot be broadcast.

    Example:
        >>> mx.random.randint(0, 10, (5,), key=mx.random.key(0))
        array([5, 0, 3, 8, 5], dtype=int32)
    """

def bernoulli(p: scalar | array = 0.5, shape: Sequence[int] | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw bools that are True with a given probability.

    Args:
        p: the probability, an array or a scalar; 0.5 by default.
        shape: the shape of the result; that of `p` by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of bool.

    Raises:
        ValueError: `p` cannot be broadcast to the shape.

    Example:
        >>> mx.random.bernoulli(0.5, (4,), key=mx.random.key(0))
        array([False, True, False, True], dtype=bool)
    """

def permutation(x: int | array, axis: int = 0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the integers below a number, or the slices of an array, in random order.

    Args:
        x: an int, or an array.
        axis: the axis whose slices are permuted; 0 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A vector of integers, or an array of the shape and dtype of `x`.

    Raises:
        IndexError: the axis is out of range.

    Example:
        >>> mx.random.permutation(5, key=mx.random.key(0))
        array([1, 2, 0, 4, 3], dtype=uint32)
    """

def normal(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: scalar | array | None = None, scale: scalar | array | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw normally distributed numbers.

    Args:
        shape: the shape of the result; () by default.
        dtype: a floating or complex dtype; float32 by default.
        loc: the mean, an array or a scalar; 0 by default.
        scale: the standard deviation, an array or a scalar; 1 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not accepted, or `loc` or `scale` cannot be broadcast.

    Example:
        >>> mx.random.normal((3,), key=mx.random.key(0))
        array([1.81609, -0.482623, 0.339889], dtype=float32)
    """

def truncated_normal(lower: scalar | array, upper: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers of the standard normal distribution between two bounds.

    Args:
        lower: the lower bound, an array or a scalar.
        upper: the upper bound, an array or a scalar.
        shape: the shape of the result; that of the bounds by default.
        dtype: a floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given dtype.

    Raises:
        ValueError: the dtype is not floating, or the bounds cannot be broadcast.

    Example:
        >>> mx.random.truncated_normal(-1, 1, (3,), key=mx.random.key(0))
        array([0.906522, -0.322637, 0.22965], dtype=float32)
    """

def multivariate_normal(mean: array, cov: array, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw vectors of normally distributed numbers with given means and covariances.

    Args:
        mean: the means, of shape (..., N).
        cov: the covariances, symmetric and positive semidefinite matrices of shape (..., N, N).
        shape: the leading axes of the result, to which those of the means and covariances are
            broadcast.
        dtype: float32 (default) or float64.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape, then N.

    Raises:
        ValueError: the shapes do not agree, or the dtype is not accepted.

    Example:
        >>> mx.random.multivariate_normal(mx.zeros(2), mx.eye(2), (3,)).shape
        (3, 2)
    """

def gumbel(shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers of the standard Gumbel distribution.

    Args:
        shape: the shape of the result; () by default.
        dtype: a floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not floating.

    Example:
        >>> mx.random.gumbel((3,), key=mx.random.key(0))
        array([3.34404, -0.145133, 0.782552], dtype=float32)
    """

def laplace(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: float = 0.0, scale: float = 1.0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers of the Laplace distribution.

    Args:
        shape: the shape of the result; () by default.
        dtype: a floating dtype; float32 by default.
        loc: the mean; 0 by default.
        scale: the mean distance from it; 1 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not floating.

    Example:
        >>> mx.random.laplace((3,), key=mx.random.key(0))
        array([-2.66849, 0.463046, -0.309328], dtype=float32)
    """

def categorical(logits: array, axis: int = -1, shape: Sequence[int] | None = None, num_samples: int | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw positions along an axis with the probabilities `softmax(logits)`.

    Args:
        logits: an array of logarithms of probabilities, which need no normalization.
        axis: the axis; the last one by default.
        shape: the shape of the result, to which that of the other axes is broadcast; None for
            that shape.
        num_samples: how many positions are drawn, along a new last axis; not together with
            `shape`.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of uint32.

    Raises:
        ValueError: `shape` and `num_samples` are both given, or the shape does not fit.

    Example:
        >>> mx.random.categorical(mx.array([0.0, 0.0, 9.0]), num_samples=5, key=mx.random.key(0))
        array([2, 2, 2, 2, 2], dtype=uint32)
    """

class _RandomState:
    """The key of the calling thread's generator."""

    def __len__(self) -> int:
        """One."""

    def __getitem__(self, index: int) -> array:
        """The key: the same object each time, and what is written to it counts."""

    def __setitem__(self, index: int, value: array) -> None:
        """Replaces the key."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are lists with the key of the time."""

state: _RandomState = ...
