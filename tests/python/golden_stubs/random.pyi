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

def loggamma(a: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw logarithms of gamma variates of scale 1, which do not underflow for small `a`.

    Args:
        a: the shape parameter, an array or a scalar; 0 gives -inf, negative numbers NaN.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.loggamma(0.001, (2,), key=mx.random.key(0))
        array([-454.033, -301.674], dtype=float32)
    """

def chisquare(df: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw sums of the squares of `df` normal numbers.

    Args:
        df: the degrees of freedom, an array or a scalar, positive.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.chisquare(3.0, (2,), key=mx.random.key(0))
        array([4.62117, 3.04268], dtype=float32)
    """

def student_t(df: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw from Student's t distribution; `t` and `standard_t` are other names.

    Args:
        df: the degrees of freedom, an array or a scalar, positive.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.student_t(4.0, (2,), key=mx.random.key(0))
        array([-0.0527052, -1.07709], dtype=float32)
    """

def pareto(a: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers of at least 1 with the distribution function `1 - x^-a`, as `jax.random.pareto`
    does; NumPy's start at 0.

    Args:
        a: the shape parameter, an array or a scalar, positive.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.pareto(2.0, (2,), key=mx.random.key(0))
        array([1.1296, 2.25949], dtype=float32)
    """

def generalized_normal(p: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers with a density proportional to `exp(-|x|^p)`.

    Args:
        p: the order, an array or a scalar, positive.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.generalized_normal(1.5, (2,), key=mx.random.key(0))
        array([-0.983635, 0.311994], dtype=float32)
    """

def poisson(lam: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers of events with the rate `lam`. They have no derivative.

    Args:
        lam: the rate, an array or a scalar; negative numbers and NaN give -1.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: an integer or real floating dtype; int32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is bool or complex, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.poisson(4.0, (4,), key=mx.random.key(0))
        array([2, 4, 4, 6], dtype=int32)
    """

def beta(a: scalar | array, b: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers between 0 and 1 with the density `x^(a - 1) (1 - x)^(b - 1) / beta(a, b)`.

    Args:
        a: the first shape parameter, an array or a scalar, positive.
        b: the second shape parameter, an array or a scalar, positive.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.beta(2.0, 3.0, (2,), key=mx.random.key(0))
        array([0.338918, 0.70919], dtype=float32)
    """

def f(dfnum: scalar | array, dfden: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw from Fisher's F distribution: ratios of `chisquare(dfnum) / dfnum` and
    `chisquare(dfden) / dfden`.

    Args:
        dfnum: the degrees of freedom of the numerator, an array or a scalar, positive.
        dfden: the degrees of freedom of the denominator, an array or a scalar, positive.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.f(3.0, 5.0, (2,), key=mx.random.key(0))
        array([0.710322, 4.28924], dtype=float32)
    """

def vonmises(mu: scalar | array, kappa: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw angles in [-pi, pi] with a density proportional to `exp(kappa cos(x - mu))`.

    There is a derivative with respect to `mu`, and none with respect to `kappa`.

    Args:
        mu: the mean angle, an array or a scalar.
        kappa: the concentration, an array or a scalar; negative numbers give NaN.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.vonmises(0.0, 4.0, (2,), key=mx.random.key(0))
        array([-0.738271, -0.0537623], dtype=float32)
    """

def wald(mean: scalar | array, scale: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw inverse Gaussian numbers.

    Args:
        mean: the mean, an array or a scalar, positive.
        scale: the scale, an array or a scalar, positive.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.wald(1.0, 2.0, (2,), key=mx.random.key(0))
        array([1.03562, 0.607749], dtype=float32)
    """

def double_sided_maxwell(loc: scalar | array, scale: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers with the density `z^2 exp(-z^2 / 2) / (sqrt(2 pi) scale)` of `z = (x - loc) /
    scale`.

    Args:
        loc: the location, an array or a scalar.
        scale: the scale, an array or a scalar, positive.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.double_sided_maxwell(0.0, 1.0, (2,), key=mx.random.key(0))
        array([-0.91783, 1.70492], dtype=float32)
    """

def binomial(n: scalar | array, p: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers of successes of `n` trials with the probability `p`. They have no derivative.

    Args:
        n: the number of trials, an array or a scalar, rounded down.
        p: the probability, an array or a scalar; parameters out of range give -1.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: an integer or real floating dtype; int32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is bool or complex, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.binomial(10, 0.3, (4,), key=mx.random.key(0))
        array([2, 2, 4, 4], dtype=int32)
    """

def negative_binomial(n: scalar | array, p: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw numbers of failures before `n` successes with the probability `p`. They have no
    derivative.

    Args:
        n: the number of successes, an array or a scalar, positive.
        p: the probability, an array or a scalar.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
        dtype: an integer or real floating dtype; int32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is bool or complex, or a parameter cannot be broadcast.

    Example:
        >>> mx.random.negative_binomial(3, 0.5, (4,), key=mx.random.key(0))
        array([0, 4, 2, 5], dtype=int32)
    """

def gamma(a: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, scale: scalar | array = 1.0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw gamma variates, with the density `x^(a - 1) exp(-x / scale) / (gamma(a) scale^a)` for
    positive x.

    The derivative with respect to `a` is that at a fixed value of the distribution function.

    Args:
        a: the shape parameter, an array or a scalar; 0 gives 0, negative numbers NaN.
        shape: the shape of the result, to which the parameters are broadcast; by default their
            common shape.
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
        >>> mx.random.gamma(2.0, (2,), key=mx.random.key(0))
        array([2.98219, 2.08441], dtype=float32)
    """

t = student_t

standard_t = student_t

def dirichlet(alpha: array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw vectors of positive numbers that sum to 1.

    Args:
        alpha: concentrations along the last axis.
        shape: the shape of the result without the last axis; by default that of the parameters
            without it.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, `alpha` is a scalar or empty, or its
            shape does not fit.

    Example:
        >>> mx.random.dirichlet(mx.array([1.0, 2.0, 3.0]), key=mx.random.key(0))
        array([0.2582, 0.336716, 0.405084], dtype=float32)
    """

def multinomial(n: scalar | array, pvals: array, shape: Sequence[int] | None = None, dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw how often each result occurs in `n` trials. They have no derivative.

    Args:
        n: the number of trials, an array or a scalar.
        pvals: probabilities along the last axis; what is missing to 1 belongs to the last
            result.
        shape: the shape of the result without the last axis; by default that of the parameters
            without it.
        dtype: an integer or real floating dtype; int32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is bool or complex, or a shape does not fit.

    Example:
        >>> mx.random.multinomial(10, mx.array([0.2, 0.3, 0.5]), key=mx.random.key(0))
        array([1, 2, 7], dtype=int32)
    """

def ball(d: int, p: float = 2.0, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw points in the ball of radius 1 of a norm.

    Args:
        d: the number of coordinates.
        p: the order of the norm; 2 by default.
        shape: the shape of the result without the last axis, of length d; () by default.
        dtype: a real floating dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is not a real floating one, or d or p is not positive.

    Example:
        >>> mx.random.ball(2, shape=(2,), key=mx.random.key(0))
        array([[0.501486, -0.354721],
               [-0.483666, 0.268735]], dtype=float32)
    """

def orthogonal(n: int, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw orthogonal matrices, unitary ones of a complex dtype, from the uniform distribution.

    Args:
        n: the number of rows and columns.
        shape: the shape of the result without the last two axes; () by default.
        dtype: a floating or complex dtype; float32 by default.
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is an integer one, or n is negative.

    Example:
        >>> mx.random.orthogonal(1, key=mx.random.key(0))
        array([[-1]], dtype=float32)
    """

def bits(shape: Sequence[int] = [], dtype: Dtype | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Draw random bits as unsigned integers.

    Args:
        shape: the shape of the result; () by default.
        dtype: uint8, uint16 or uint32 (the default).
        key: a key from `random.key` or `random.split`; None takes the next one of the generator
            that `random.seed` seeds.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the given shape and dtype.

    Raises:
        ValueError: the dtype is another one.

    Example:
        >>> mx.random.bits((2,), key=mx.random.key(0))
        array([928981903, 3453687069], dtype=uint32)
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
