"""Special functions, as in scipy.special."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

def gammaln(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm of the magnitude of the gamma function; `lgamma` is another name.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, infinite at 0 and negative integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.gammaln(mx.array([1.0, 5.0]))
        array([0, 3.17805], dtype=float32)
    """

def digamma(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the derivative of the logarithm of the gamma function; `psi` is another name.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, infinite at 0, NaN at negative integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.digamma(mx.array([1.0]))
        array([-0.577216], dtype=float32)
    """

def gamma(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the gamma function, of which float32 is computed in double precision.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, NaN at negative integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.gamma(mx.array([0.5, 5.0]))
        array([1.77245, 24], dtype=float32)
    """

def beta(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the beta function `gamma(a) gamma(b) / gamma(a + b)` of positive numbers.

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
        >>> mx.special.beta(mx.array([2.0]), 3)
        array([0.0833333], dtype=float32)
    """

def betaln(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm of the beta function of positive numbers.

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
        >>> mx.special.betaln(mx.array([2.0]), 3)
        array([-2.48491], dtype=float32)
    """

def zeta(x: scalar | array, q: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the zeta function of Hurwitz, the sum of `(q + k) ** -x` over k = 0, 1, ...

    Args:
        x: the exponent, an array or a scalar; above 1.
        q: the start, an array or a scalar; above 0.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape; infinite for `x` = 1 or `q` = 0, NaN below.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.special.zeta(mx.array([2.0]), 1)
        array([1.64493], dtype=float32)
    """

def factorial(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `gamma(a + 1)`, 0 for negative numbers.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.factorial(mx.array([0, 5]))
        array([1, 120], dtype=float32)
    """

def comb(N: scalar | array, k: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the number of ways in which `k` of `N` things can be chosen: 0 unless `0 <= k <= N`.

    Args:
        N: the number of things, an array or a scalar.
        k: the number of chosen ones, an array or a scalar.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.special.comb(mx.array([5.0, 10.0]), 3)
        array([10, 120], dtype=float32)
    """

def polygamma(n: int, a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the derivative of order `n` of `digamma`.

    Args:
        n: the order, from 0 to 100.
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`; NaN for negative numbers if the order is above 1.

    Raises:
        ValueError: the order is out of range, or `a` is complex.

    Example:
        >>> mx.special.polygamma(1, mx.array([1.0, 2.0]))
        array([1.64493, 0.644934], dtype=float32)
    """

def multigammaln(a: array, d: int, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm of the gamma function of d by d matrices.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        d: the dimension, from 1.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `d` is below 1, or `a` is complex.

    Example:
        >>> mx.special.multigammaln(mx.array([3.0]), 2)
        array([1.55019], dtype=float32)
    """

lgamma = gammaln

psi = digamma

def erf(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the error function.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.erf(mx.array([0.5]))
        array([0.5205], dtype=float32)
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
        >>> mx.special.erfc(mx.array([5.0]))
        array([1.53746e-12], dtype=float32)
    """

def erfinv(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse of the error function.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.erfinv(mx.array([0.5]))
        array([0.476936], dtype=float32)
    """

def ndtr(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the distribution function of the standard normal distribution.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.ndtr(mx.array([-1.0, 0.0]))
        array([0.158655, 0.5], dtype=float32)
    """

def log_ndtr(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm of the distribution function of the standard normal distribution.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.log_ndtr(mx.array([-20.0, 0.0]))
        array([-203.917, -0.693147], dtype=float32)
    """

def ndtri(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse of `ndtr`, the quantile of the normal distribution; NaN outside of [0,
    1].

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.ndtri(mx.array([0.5, 0.975]))
        array([0, 1.95996], dtype=float32)
    """

def erfcx(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `exp(a^2) erfc(a)`, which does not underflow for large numbers.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.erfcx(mx.array([0.0, 10.0]))
        array([1, 0.056141], dtype=float32)
    """

def entr(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the entropy `-a * log(a)` of each element, 0 at 0, and -inf below.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.entr(mx.array([0.0, 0.5]))
        array([0, 0.346574], dtype=float32)
    """

def kl_div(x: scalar | array, y: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `x * log(x / y) - x + y`: y if x is 0, infinity if x or y is negative or y alone is 0.

    Args:
        x: an array or a scalar.
        y: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.special.kl_div(mx.array([0.5]), 0.25)
        array([0.0965736], dtype=float32)
    """

def rel_entr(x: scalar | array, y: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `x * log(x / y)`: 0 if x is 0, infinity if x or y is negative or y alone is 0.

    Args:
        x: an array or a scalar.
        y: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.special.rel_entr(mx.array([0.5]), 0.25)
        array([0.346574], dtype=float32)
    """

def xlogy(x: scalar | array, y: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `x * log(y)`, and 0 if x is 0 and y is no NaN.

    Args:
        x: an array or a scalar.
        y: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.special.xlogy(mx.array([0.0, 2.0]), mx.array([0.0, 1.5]))
        array([0, 0.81093], dtype=float32)
    """

def xlog1py(x: scalar | array, y: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `x * log(1 + y)`, and 0 if x is 0 and y is no NaN.

    Args:
        x: an array or a scalar.
        y: an array or a scalar; the operands are broadcast to one shape and promoted to one
            dtype.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.special.xlog1py(mx.array([0.0, 2.0]), mx.array([-1.0, 0.5]))
        array([0, 0.81093], dtype=float32)
    """

def expit(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logistic function, as `mx.sigmoid`.

    Args:
        a: an array; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.special.expit(mx.array([0.0, 1.0]))
        array([0.5, 0.731059], dtype=float32)
    """

def log_expit(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm of the logistic function.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.log_expit(mx.array([-100.0, 0.0]))
        array([-100, -0.693147], dtype=float32)
    """

def logit(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `log(a / (1 - a))`, the inverse of the logistic function.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.logit(mx.array([0.5, 0.75]))
        array([0, 1.09861], dtype=float32)
    """

def log_softmax(a: array, /, axis: int | Sequence[int] | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm of the softmax.

    Args:
        a: an array; bool and integers are converted to float32.
        axis: the axis or axes; None (the default) for all.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.special.log_softmax(mx.array([0.0, 0.0]))
        array([-0.693147, -0.693147], dtype=float32)
    """

def softmax(a: array, /, axis: int | Sequence[int] | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return the softmax, as `mx.softmax`.

    Args:
        a: an array; bool and integers are converted to float32.
        axis: the axis or axes; None (the default) for all.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Example:
        >>> mx.special.softmax(mx.array([0.0, 0.0]))
        array([0.5, 0.5], dtype=float32)
    """

def logsumexp(a: array, /, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the logarithm of the sum of the exponentials, as `mx.logsumexp`.

    Args:
        a: an array; bool and integers are converted to float32.
        axis: the axis or axes that are reduced; None (the default) for all.
        keepdims: whether reduced axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the reduced axes, float32 for bool and integers.

    Example:
        >>> mx.special.logsumexp(mx.array([0.0, 0.0]))
        array(0.693147, dtype=float32)
    """

def gammainc(a: scalar | array, x: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the regularized lower incomplete gamma function, the integral of `t^(a - 1) exp(-t) /
    gamma(a)` from 0 to x.

    It is computed in float64 on the host. Derivatives with respect to both arguments exist; a
    second one with respect to `a` raises.

    Args:
        a: the parameter, an array or a scalar, positive; negative numbers give NaN.
        x: the upper limit, an array or a scalar, from 0 on; negative numbers give NaN.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.special.gammainc(mx.array([1.0, 3.0]), 2.0)
        array([0.864665, 0.323324], dtype=float32)
    """

def gammaincc(a: scalar | array, x: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the regularized upper incomplete gamma function, `1 - gammainc(a, x)` without the
    cancellation.

    Args:
        a: the parameter, an array or a scalar, positive; negative numbers give NaN.
        x: the lower limit, an array or a scalar, from 0 on; negative numbers give NaN.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.special.gammaincc(mx.array([1.0, 3.0]), 2.0)
        array([0.135335, 0.676676], dtype=float32)
    """

def betainc(a: array, b: array, x: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the regularized incomplete beta function, the integral of `t^(a - 1) (1 - t)^(b - 1)
    / beta(a, b)` from 0 to x.

    It is computed in float64 on the host. The derivative with respect to `x` exists; those with
    respect to `a` and `b` raise.

    Args:
        a: the first parameter, an array, positive.
        b: the second parameter, an array, positive.
        x: the upper limit, an array of numbers in [0, 1]; others give NaN.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the broadcast shape and the promoted dtype, float32 for bool and integers.

    Raises:
        ValueError: an operand is complex.

    Example:
        >>> mx.special.betainc(mx.array(2.0), mx.array(3.0), mx.array([0.5, 1.0]))
        array([0.6875, 1], dtype=float32)
    """

def i0(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the modified Bessel function of the first kind of order 0.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.i0(mx.array([0.0, 2.0]))
        array([1, 2.27959], dtype=float32)
    """

def i0e(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `exp(-|a|) i0(a)`, which does not overflow.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.i0e(mx.array([0.0, 200.0]))
        array([1, 0.0282272], dtype=float32)
    """

def i1(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the modified Bessel function of the first kind of order 1.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.i1(mx.array([0.0, 2.0]))
        array([0, 1.59064], dtype=float32)
    """

def i1e(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `exp(-|a|) i1(a)`, which does not overflow.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.i1e(mx.array([0.0, 200.0]))
        array([0, 0.0281565], dtype=float32)
    """

def exprel(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return `(exp(a) - 1) / a`, which is 1 at 0.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`, of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.exprel(mx.array([0.0, 1.0]))
        array([1, 1.71828], dtype=float32)
    """

def cbrt(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the cube root, as `mx.cbrt`.

    Args:
        a: an array that is not complex; bool and integers are converted to float32.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a` and of its dtype, float32 for bool and integers.

    Raises:
        ValueError: `a` is complex.

    Example:
        >>> mx.special.cbrt(mx.array([8.0]))
        array([2], dtype=float32)
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
        >>> mx.special.sinc(mx.array([0.0, 0.5]))
        array([1, 0.63662], dtype=float32)
    """
