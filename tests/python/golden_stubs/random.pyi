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

def exponential(shape: Sequence[int] = [], dtype: Dtype | None = float32, scale: scalar | array = 1.0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers with the density `exp(-x / scale) / scale` for positive x.

    Args:
        shape: the shape of the result, to which the parameters are broadcast; () by default.
        dtype: a real floating dtype; float32 by default.
        scale: the scale, an array or a scalar; 1 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.exponential((2,), key=mx.random.key(0))
        array([0.243723, 1.63027], dtype=float32)
    """

def rayleigh(shape: Sequence[int] = [], dtype: Dtype | None = float32, scale: scalar | array = 1.0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers with the distribution function `1 - exp(-(x / scale) ** 2 / 2)`.

    Args:
        shape: the shape of the result, to which the parameters are broadcast; () by default.
        dtype: a real floating dtype; float32 by default.
        scale: the scale, an array or a scalar; 1 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.rayleigh((2,), key=mx.random.key(0))
        array([0.698174, 1.8057], dtype=float32)
    """

def cauchy(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: scalar | array = 0.0, scale: scalar | array = 1.0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers with the density `1 / (pi * scale * (1 + ((x - loc) / scale) ** 2))`.

    Args:
        shape: the shape of the result, to which the parameters are broadcast; () by default.
        dtype: a real floating dtype; float32 by default.
        loc: the location, an array or a scalar; 0 by default.
        scale: the scale, an array or a scalar; 1 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.cauchy((2,), key=mx.random.key(0))
        array([-1.23785, 1.41457], dtype=float32)
    """

def logistic(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: scalar | array = 0.0, scale: scalar | array = 1.0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers with the distribution function `sigmoid((x - loc) / scale)`.

    Args:
        shape: the shape of the result, to which the parameters are broadcast; () by default.
        dtype: a real floating dtype; float32 by default.
        loc: the location, an array or a scalar; 0 by default.
        scale: the scale, an array or a scalar; 1 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.logistic((2,), key=mx.random.key(0))
        array([-1.28739, 1.41227], dtype=float32)
    """

def lognormal(shape: Sequence[int] = [], dtype: Dtype | None = float32, mean: scalar | array = 0.0, sigma: scalar | array = 1.0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers whose logarithms are normally distributed.

    Args:
        shape: the shape of the result, to which the parameters are broadcast; () by default.
        dtype: a real floating dtype; float32 by default.
        mean: the mean of the logarithms, an array or a scalar; 0 by default.
        sigma: their standard deviation, an array or a scalar; 1 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.lognormal((2,), key=mx.random.key(0))
        array([0.456227, 2.35477], dtype=float32)
    """

def weibull(a: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers with the distribution function `1 - exp(-x ** a)`.

    Args:
        a: the shape parameter, an array or a scalar.
        shape: the shape of the result; None (the default) for that of the parameters.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.weibull(1.5, (2,), key=mx.random.key(0))
        array([0.39018, 1.38518], dtype=float32)
    """

def triangular(left: scalar | array, mode: scalar | array, right: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers whose density rises from `left` to `mode` and falls to `right`.

    Args:
        left: the lower bound, an array or a scalar.
        mode: the most likely number.
        right: the upper bound.
        shape: the shape of the result; None (the default) for that of the parameters.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.triangular(0, 1, 4, (2,), key=mx.random.key(0))
        array([0.930152, 2.46686], dtype=float32)
    """

def geometric(p: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw the number of trials until the first success.

    Args:
        p: the probability of success, an array or a scalar.
        shape: the shape of the result; None (the default) for that of the parameters.
        dtype: a dtype; int32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the probabilities cannot be broadcast.

    Example:
        >>> mx.random.geometric(0.2, (3,), key=mx.random.key(0))
        array([16, 2, 5], dtype=int32)
    """

def rademacher(shape: Sequence[int] = [], dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw -1 or 1 with equal probability.

    Args:
        shape: the shape of the result; () by default.
        dtype: a dtype with negative numbers; int32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is bool or unsigned.

    Example:
        >>> mx.random.rademacher((4,), key=mx.random.key(0))
        array([-1, 1, -1, 1], dtype=int32)
    """

def choice(a: int | array, shape: Sequence[int] = [], replace: bool = True, p: array | None = None, axis: int = 0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw items of an array, or numbers below an int.

    Args:
        a: an array, or an int that stands for the numbers below it.
        shape: the shape of the draw; () by default.
        replace: whether an item can be drawn again; True by default.
        p: a floating number for each item, to which the probabilities are proportional; None
            (the default) for equal ones.
        axis: the axis of the items; 0 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape, in the place of the axis.

    Raises:
        ValueError: more items than there are without replacement, or `p` has another shape.

    Example:
        >>> mx.random.choice(5, (3,), replace=False, key=mx.random.key(0))
        array([1, 2, 0], dtype=uint32)
        >>> mx.random.choice(mx.array([1.5, 2.5]), (2,), key=mx.random.key(0))
        array([1.5, 2.5], dtype=float32)
    """

def fold_in(key: array, data: int, stream: StreamOrDevice = None) -> array:
    """
    Make a key of a key and a number; keys for different numbers are independent.

    Args:
        key: the key.
        data: a number from 0 below 2 ** 64.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A key.

    Raises:
        mx.SizeError: the number does not fit.

    Example:
        >>> mx.random.fold_in(mx.random.key(0), 3)
        array([925680880, 2358697609], dtype=uint32)
    """

shuffle = permutation

PRNGKey = key
