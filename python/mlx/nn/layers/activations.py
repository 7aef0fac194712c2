"""Activation functions and the layers that apply them.

Functions work elementwise on arrays of any shape unless they name an axis.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

import mlx.core as mx
from mlx.nn.layers._likelihoods import _less_maximum, _log_of_sum
from mlx.nn.layers.base import Module

# Constants of Klambauer et al., "Self-Normalizing Neural Networks" (2017).
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def sigmoid(x: mx.array) -> mx.array:
    """Return ``1 / (1 + exp(-x))``, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.sigmoid(mx.array([-1.0, 0.0, 1.0]))
    array([0.268941, 0.5, 0.731059], dtype=float32)
    """
    return mx.sigmoid(x)


def tanh(x: mx.array) -> mx.array:
    """Return the hyperbolic tangent, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.tanh(mx.array([-1.0, 0.0, 1.0]))
    array([-0.761594, 0, 0.761594], dtype=float32)
    """
    return mx.tanh(x)


def relu(x: mx.array) -> mx.array:
    """Return ``max(x, 0)``, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.relu(mx.array([-1.0, 0.0, 1.0]))
    array([0, 0, 1], dtype=float32)
    """
    return mx.maximum(x, 0)


def relu2(x: mx.array) -> mx.array:
    """Return ``max(x, 0)²``, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.relu2(mx.array([-1.0, 0.0, 3.0]))
    array([0, 0, 9], dtype=float32)
    """
    return mx.square(mx.maximum(x, 0))


def relu6(x: mx.array) -> mx.array:
    """Return ``min(max(x, 0), 6)``, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.relu6(mx.array([-1.0, 3.0, 9.0]))
    array([0, 3, 6], dtype=float32)
    """
    return mx.minimum(mx.maximum(x, 0), 6.0)


def leaky_relu(x: mx.array, negative_slope: float = 0.01) -> mx.array:
    """Return ``x`` if it is positive and ``negative_slope * x`` otherwise, elementwise.

    Args:
        x: an array of any shape.
        negative_slope: the slope below zero, at most 1.

    >>> nn.leaky_relu(mx.array([-1.0, 0.0, 1.0]), 0.1)
    array([-0.1, 0, 1], dtype=float32)
    """
    return mx.maximum(negative_slope * x, x)


def prelu(x: mx.array, alpha: mx.array) -> mx.array:
    """Return ``x`` if it is positive and ``alpha * x`` otherwise, elementwise.

    Args:
        x: an array of any shape.
        alpha: the slopes below zero, an array that broadcasts with ``x`` and can be learnt.

    >>> nn.prelu(mx.array([-1.0, 1.0]), mx.array(0.25))
    array([-0.25, 1], dtype=float32)
    """
    return mx.maximum(0, x) + alpha * mx.minimum(0, x)


def elu(x: mx.array, alpha: float = 1.0) -> mx.array:
    """Return ``x`` if it is positive and ``alpha * (exp(x) - 1)`` otherwise, elementwise.

    Clevert et al., "Fast and Accurate Deep Network Learning by Exponential Linear Units" (2016).

    Args:
        x: an array of any shape.
        alpha: minus the limit for negative numbers.

    >>> nn.elu(mx.array([-1.0, 0.0, 1.0]))
    array([-0.632121, 0, 1], dtype=float32)
    """
    # The minimum keeps the branch that is not taken, and its gradient, finite.
    return mx.where(x > 0, x, alpha * mx.expm1(mx.minimum(x, 0)))


def celu(x: mx.array, alpha: float = 1.0) -> mx.array:
    """Return ``max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)``, elementwise.

    Barron, "Continuously Differentiable Exponential Linear Units" (2017).

    Args:
        x: an array of any shape.
        alpha: minus the limit for negative numbers.

    >>> nn.celu(mx.array([-1.0, 0.0, 1.0]))
    array([-0.632121, 0, 1], dtype=float32)
    """
    return mx.maximum(x, 0.0) + alpha * mx.expm1(mx.minimum(x, 0.0) / alpha)


def selu(x: mx.array) -> mx.array:
    """Return :func:`elu` scaled such that activations keep mean 0 and variance 1.

    The constants are those of Klambauer et al., "Self-Normalizing Neural Networks" (2017).

    Args:
        x: an array of any shape.

    >>> nn.selu(mx.array([-1.0, 0.0, 1.0]))
    array([-1.11133, 0, 1.0507], dtype=float32)
    """
    return elu(x, _SELU_ALPHA) * _SELU_SCALE


def gelu(x: mx.array) -> mx.array:
    """Return ``x Φ(x)``, where Φ is the distribution function of the normal distribution.

    Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016).

    Args:
        x: an array of any shape.

    >>> nn.gelu(mx.array([-1.0, 0.0, 1.0]))
    array([-0.158655, 0, 0.841345], dtype=float32)
    """
    return x * (1 + mx.erf(x / math.sqrt(2))) / 2


def gelu_approx(x: mx.array) -> mx.array:
    """Return :func:`gelu` with ``Φ(x) ≈ (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) / 2``.

    Args:
        x: an array of any shape.

    >>> nn.gelu_approx(mx.array([-1.0, 0.0, 1.0]))
    array([-0.158808, 0, 0.841192], dtype=float32)
    """
    return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def gelu_fast_approx(x: mx.array) -> mx.array:
    """Return :func:`gelu` with ``Φ(x) ≈ sigmoid(1.702 x)``.

    Args:
        x: an array of any shape.

    >>> nn.gelu_fast_approx(mx.array([-1.0, 0.0, 1.0]))
    array([-0.154204, 0, 0.845796], dtype=float32)
    """
    return x * mx.sigmoid(1.702 * x)


def silu(x: mx.array) -> mx.array:
    """Return ``x * sigmoid(x)``, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.silu(mx.array([-1.0, 0.0, 1.0]))
    array([-0.268941, 0, 0.731059], dtype=float32)
    """
    return x * mx.sigmoid(x)


def mish(x: mx.array) -> mx.array:
    """Return ``x * tanh(softplus(x))``, elementwise.

    Misra, "Mish: A Self Regularized Non-Monotonic Activation Function" (2019).

    Args:
        x: an array of any shape.

    >>> nn.mish(mx.array([-1.0, 0.0, 1.0]))
    array([-0.303401, 0, 0.865098], dtype=float32)
    """
    return x * mx.tanh(softplus(x))


def hardswish(x: mx.array) -> mx.array:
    """Return ``x * min(max(x + 3, 0), 6) / 6``, elementwise.

    Howard et al., "Searching for MobileNetV3" (2019).

    Args:
        x: an array of any shape.

    >>> nn.hardswish(mx.array([-3.0, 0.0, 3.0]))
    array([-0, 0, 3], dtype=float32)
    """
    return x * relu6(x + 3) / 6


def hard_tanh(x: mx.array, min_val: float = -1.0, max_val: float = 1.0) -> mx.array:
    """Return ``min(max(x, min_val), max_val)``, elementwise.

    Args:
        x: an array of any shape.
        min_val: the least result.
        max_val: the greatest result.

    >>> nn.hard_tanh(mx.array([-2.0, 0.5, 2.0]))
    array([-1, 0.5, 1], dtype=float32)
    """
    return mx.minimum(mx.maximum(x, min_val), max_val)


def hard_shrink(x: mx.array, lambd: float = 0.5) -> mx.array:
    """Return ``x`` if ``|x| > lambd`` and 0 otherwise, elementwise.

    Args:
        x: an array of any shape.
        lambd: the threshold.

    >>> nn.hard_shrink(mx.array([-1.0, 0.25, 1.0]))
    array([-1, 0, 1], dtype=float32)
    """
    return mx.where(mx.abs(x) > lambd, x, 0)


def softshrink(x: mx.array, lambd: float = 0.5) -> mx.array:
    """Return ``x - sign(x) * lambd`` if ``|x| > lambd`` and 0 otherwise, elementwise.

    Args:
        x: an array of any shape.
        lambd: the threshold.

    >>> nn.softshrink(mx.array([-1.0, 0.25, 1.0]))
    array([-0.5, 0, 0.5], dtype=float32)
    """
    return mx.where(mx.abs(x) > lambd, x - mx.sign(x) * lambd, 0)


def softplus(x: mx.array) -> mx.array:
    """Return ``log(1 + exp(x))``, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.softplus(mx.array([-1.0, 0.0, 100.0]))
    array([0.313262, 0.693147, 100], dtype=float32)
    """
    return mx.logaddexp(x, 0)


def softsign(x: mx.array) -> mx.array:
    """Return ``x / (1 + |x|)``, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.softsign(mx.array([-1.0, 0.0, 3.0]))
    array([-0.5, 0, 0.75], dtype=float32)
    """
    return x / (1 + mx.abs(x))


def log_sigmoid(x: mx.array) -> mx.array:
    """Return ``log(sigmoid(x))``, elementwise.

    Args:
        x: an array of any shape.

    >>> nn.log_sigmoid(mx.array([-100.0, 0.0]))
    array([-100, -0.693147], dtype=float32)
    """
    return -softplus(-x)


def step(x: mx.array, threshold: float = 0.0) -> mx.array:
    """Return 1 if ``x >= threshold`` and 0 otherwise, elementwise, as integers.

    Args:
        x: an array of any shape.
        threshold: the least number that gives 1.

    >>> nn.step(mx.array([-1.0, 0.0, 1.0]))
    array([0, 1, 1], dtype=int32)
    """
    return mx.where(x >= threshold, 1, 0)


def softmax(x: mx.array, axis: int = -1) -> mx.array:
    """Return ``exp(x)`` divided by its sum along an axis.

    Args:
        x: an array of any shape.
        axis: the axis of the probabilities.

    >>> nn.softmax(mx.array([0.0, 0.0]))
    array([0.5, 0.5], dtype=float32)
    """
    return mx.softmax(x, axis=axis)


def softmin(x: mx.array, axis: int = -1) -> mx.array:
    """Return ``softmax(-x)`` along an axis.

    Args:
        x: an array of any shape.
        axis: the axis of the probabilities.

    >>> nn.softmin(mx.array([0.0, 0.0]))
    array([0.5, 0.5], dtype=float32)
    """
    return mx.softmax(-x, axis=axis)


def log_softmax(x: mx.array, axis: int = -1) -> mx.array:
    """Return ``log(softmax(x))`` along an axis.

    Args:
        x: an array of any shape.
        axis: the axis of the probabilities.

    >>> nn.log_softmax(mx.array([0.0, 0.0]))
    array([-0.693147, -0.693147], dtype=float32)
    """
    shifted = _less_maximum(x, axis)
    y = shifted - _log_of_sum(shifted, axis, keepdims=True)
    return y.astype(x.dtype) if mx.issubdtype(x.dtype, mx.floating) else y


def glu(x: mx.array, axis: int = -1) -> mx.array:
    """Return the first half of ``x`` times the sigmoid of its second half.

    Dauphin et al., "Language Modeling with Gated Convolutional Networks" (2017).

    Args:
        x: an array whose length along ``axis`` is even.
        axis: the axis that is halved.

    >>> nn.glu(mx.array([1.0, 2.0, 0.0, 0.0]))
    array([0.5, 1], dtype=float32)
    """
    a, b = mx.split(x, 2, axis=axis)
    return a * mx.sigmoid(b)


def _layer(name: str, function: Callable[[mx.array], mx.array]) -> type[Module]:
    """The module class ``name`` that applies ``function`` and has nothing to configure."""

    def call(_: Module, x: mx.array) -> mx.array:
        return function(x)

    _, arrows, example = inspect.cleandoc(function.__doc__ or "").partition(">>>")
    example = arrows + example.replace(f"nn.{function.__name__}(", f"nn.{name}()(")
    doc = f"Apply :func:`{function.__name__}`.\n\n{example}"
    return type(name, (Module,), {"__call__": call, "__doc__": doc, "__module__": __name__})


HardTanh = _layer("HardTanh", hard_tanh)
Hardswish = _layer("Hardswish", hardswish)
LogSigmoid = _layer("LogSigmoid", log_sigmoid)
LogSoftmax = _layer("LogSoftmax", log_softmax)
Mish = _layer("Mish", mish)
ReLU = _layer("ReLU", relu)
ReLU2 = _layer("ReLU2", relu2)
ReLU6 = _layer("ReLU6", relu6)
SELU = _layer("SELU", selu)
SiLU = _layer("SiLU", silu)
Sigmoid = _layer("Sigmoid", sigmoid)
Softmax = _layer("Softmax", softmax)
Softmin = _layer("Softmin", softmin)
Softplus = _layer("Softplus", softplus)
Softsign = _layer("Softsign", softsign)
Tanh = _layer("Tanh", tanh)


class CELU(Module):
    """Apply :func:`celu`.

    Args:
        alpha: minus the limit for negative numbers.

    >>> nn.CELU()(mx.array([-1.0, 1.0]))
    array([-0.632121, 1], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self._alpha = alpha

    def __call__(self, x: mx.array) -> mx.array:
        return celu(x, self._alpha)


class ELU(Module):
    """Apply :func:`elu`.

    Args:
        alpha: minus the limit for negative numbers.

    >>> nn.ELU()(mx.array([-1.0, 1.0]))
    array([-0.632121, 1], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self._alpha = alpha

    def __call__(self, x: mx.array) -> mx.array:
        return elu(x, self._alpha)


_GELUS = {"none": gelu, "precise": gelu_approx, "tanh": gelu_approx, "fast": gelu_fast_approx}


class GELU(Module):
    """Apply :func:`gelu` or an approximation of it.

    Args:
        approx: ``"none"`` is exact, ``"precise"`` and ``"tanh"`` are :func:`gelu_approx`,
            ``"fast"`` is :func:`gelu_fast_approx`.

    Raises:
        ValueError: ``approx`` is another word.

    >>> nn.GELU("fast")(mx.array([-1.0, 1.0]))
    array([-0.154204, 0.845796], dtype=float32)
    """

    def __init__(self, approx: str = "none") -> None:
        super().__init__()
        if approx not in _GELUS:
            raise ValueError(
                f"The approximation should be in {list(_GELUS)} but {approx!r} was given"
            )
        self._approx = approx

    def __call__(self, x: mx.array) -> mx.array:
        return _GELUS[self._approx](x)


class GLU(Module):
    """Apply :func:`glu`, which halves an axis.

    Args:
        axis: the axis.

    >>> nn.GLU()(mx.ones((2, 8))).shape
    (2, 4)
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def __call__(self, x: mx.array) -> mx.array:
        return glu(x, self.axis)


class HardShrink(Module):
    """Apply :func:`hard_shrink`.

    Args:
        lambd: the threshold.

    >>> nn.HardShrink()(mx.array([0.25, 1.0]))
    array([0, 1], dtype=float32)
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, x: mx.array) -> mx.array:
        return hard_shrink(x, self.lambd)


class LeakyReLU(Module):
    """Apply :func:`leaky_relu`.

    Args:
        negative_slope: the slope below zero.

    >>> nn.LeakyReLU(0.1)(mx.array([-1.0, 1.0]))
    array([-0.1, 1], dtype=float32)
    """

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self._negative_slope = negative_slope

    def __call__(self, x: mx.array) -> mx.array:
        return leaky_relu(x, self._negative_slope)


class PReLU(Module):
    """Apply :func:`prelu` with slopes that are learnt.

    The parameter ``weight`` has shape ``(num_parameters,)``.

    Args:
        num_parameters: 1, or the length of the last axis of the input.
        init: the slope at the start.

    >>> nn.PReLU()(mx.array([-1.0, 1.0]))
    array([-0.25, 1], dtype=float32)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.weight = mx.full([num_parameters], init)

    def __call__(self, x: mx.array) -> mx.array:
        return prelu(x, self.weight)


class Softshrink(Module):
    """Apply :func:`softshrink`.

    Args:
        lambd: the threshold.

    >>> nn.Softshrink()(mx.array([0.25, 1.0]))
    array([0, 0.5], dtype=float32)
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, x: mx.array) -> mx.array:
        return softshrink(x, self.lambd)


class Step(Module):
    """Apply :func:`step`.

    Args:
        threshold: the least number that gives 1.

    >>> nn.Step()(mx.array([-1.0, 1.0]))
    array([0, 1], dtype=int32)
    """

    def __init__(self, threshold: float = 0.0) -> None:
        super().__init__()
        self.threshold = threshold

    def __call__(self, x: mx.array) -> mx.array:
        return step(x, self.threshold)
