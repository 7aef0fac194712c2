"""Activation functions and the layers that apply them.

Functions work elementwise on arrays of any shape unless they name an axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mlx.core as mx
from mlx.nn.layers.base import Module

# Constants of Klambauer et al., "Self-Normalizing Neural Networks" (2017).
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def sigmoid(x: mx.array) -> mx.array:
    """``1 / (1 + exp(-x))``."""
    return mx.sigmoid(x)


def tanh(x: mx.array) -> mx.array:
    """The hyperbolic tangent."""
    return mx.tanh(x)


def relu(x: mx.array) -> mx.array:
    """``max(x, 0)``."""
    return mx.maximum(x, 0)


def relu2(x: mx.array) -> mx.array:
    """``max(x, 0)²``."""
    return mx.square(mx.maximum(x, 0))


def relu6(x: mx.array) -> mx.array:
    """``min(max(x, 0), 6)``."""
    return mx.minimum(mx.maximum(x, 0), 6.0)


def leaky_relu(x: mx.array, negative_slope: float = 0.01) -> mx.array:
    """``x`` where it is positive, ``negative_slope * x`` elsewhere."""
    return mx.maximum(negative_slope * x, x)


def prelu(x: mx.array, alpha: mx.array) -> mx.array:
    """``x`` where it is positive, ``alpha * x`` elsewhere; ``alpha`` is an array to be learnt."""
    return mx.maximum(0, x) + alpha * mx.minimum(0, x)


def elu(x: mx.array, alpha: float = 1.0) -> mx.array:
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    # The minimum keeps the branch that is not taken, and its gradient, finite.
    return mx.where(x > 0, x, alpha * mx.expm1(mx.minimum(x, 0)))


def celu(x: mx.array, alpha: float = 1.0) -> mx.array:
    """``max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)``."""
    return mx.maximum(x, 0.0) + alpha * mx.expm1(mx.minimum(x, 0.0) / alpha)


def selu(x: mx.array) -> mx.array:
    """:func:`elu` with the constants for which activations normalise themselves."""
    return elu(x, _SELU_ALPHA) * _SELU_SCALE


def gelu(x: mx.array) -> mx.array:
    """``x Φ(x)`` with the distribution function Φ of the normal distribution."""
    return x * (1 + mx.erf(x / math.sqrt(2))) / 2


def gelu_approx(x: mx.array) -> mx.array:
    """:func:`gelu` with ``Φ(x) ≈ (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) / 2``."""
    return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_fast_approx(x: mx.array) -> mx.array:
    """:func:`gelu` with ``Φ(x) ≈ sigmoid(1.702 x)``."""
    return x * mx.sigmoid(1.702 * x)


def silu(x: mx.array) -> mx.array:
    """``x * sigmoid(x)``."""
    return x * mx.sigmoid(x)


def mish(x: mx.array) -> mx.array:
    """``x * tanh(softplus(x))``."""
    return x * mx.tanh(softplus(x))


def hardswish(x: mx.array) -> mx.array:
    """``x * min(max(x + 3, 0), 6) / 6``."""
    return x * relu6(x + 3) / 6


def hard_tanh(x: mx.array, min_val: float = -1.0, max_val: float = 1.0) -> mx.array:
    """``min(max(x, min_val), max_val)``."""
    return mx.minimum(mx.maximum(x, min_val), max_val)


def hard_shrink(x: mx.array, lambd: float = 0.5) -> mx.array:
    """``x`` where ``|x| > lambd``, 0 elsewhere."""
    return mx.where(mx.abs(x) > lambd, x, 0)


def softshrink(x: mx.array, lambd: float = 0.5) -> mx.array:
    """``x - sign(x) * lambd`` where ``|x| > lambd``, 0 elsewhere."""
    return mx.where(mx.abs(x) > lambd, x - mx.sign(x) * lambd, 0)


def softplus(x: mx.array) -> mx.array:
    """``log(1 + exp(x))``."""
    return mx.logaddexp(x, 0)


def softsign(x: mx.array) -> mx.array:
    """``x / (1 + |x|)``."""
    return x / (1 + mx.abs(x))


def log_sigmoid(x: mx.array) -> mx.array:
    """``log(sigmoid(x))``."""
    return -softplus(-x)


def step(x: mx.array, threshold: float = 0.0) -> mx.array:
    """1 where ``x >= threshold``, 0 elsewhere, as integers."""
    return mx.where(x >= threshold, 1, 0)


def softmax(x: mx.array, axis: int = -1) -> mx.array:
    """``exp(x)``, normalised along ``axis``."""
    return mx.softmax(x, axis=axis)


def softmin(x: mx.array, axis: int = -1) -> mx.array:
    """``softmax(-x)`` along ``axis``."""
    return mx.softmax(-x, axis=axis)


def _less_maximum(x: mx.array, axis: int) -> mx.array:
    """Logits less their maximum along ``axis``, which changes no probability.

    The difference of logits and a logarithm of their sum is then accurate for large ones too.
    In float32 where ``x`` has 16 bits.
    """
    if x.dtype in (mx.float16, mx.bfloat16):
        x = x.astype(mx.float32)
    if x.dtype == mx.complex64:
        return x
    return x - mx.stop_gradient(mx.max(x, axis=axis, keepdims=True))


def log_softmax(x: mx.array, axis: int = -1) -> mx.array:
    """``log(softmax(x))`` along ``axis``."""
    shifted = _less_maximum(x, axis)
    y = shifted - mx.logsumexp(shifted, axis=axis, keepdims=True)
    return y.astype(x.dtype) if mx.issubdtype(x.dtype, mx.floating) else y


def glu(x: mx.array, axis: int = -1) -> mx.array:
    """The first half of ``x`` along ``axis``, times the sigmoid of the second half."""
    a, b = mx.split(x, 2, axis=axis)
    return a * mx.sigmoid(b)


def _layer(name: str, function: Callable[[mx.array], mx.array]) -> type[Module]:
    """The module class ``name`` that applies ``function`` and has nothing to configure."""

    def call(_: Module, x: mx.array) -> mx.array:
        return function(x)

    doc = f"Applies :func:`{function.__name__}`: {function.__doc__}"
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
    """Applies :func:`celu`."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self._alpha = alpha

    def __call__(self, x: mx.array) -> mx.array:
        return celu(x, self._alpha)


class ELU(Module):
    """Applies :func:`elu`."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self._alpha = alpha

    def __call__(self, x: mx.array) -> mx.array:
        return elu(x, self._alpha)


_GELUS = {"none": gelu, "precise": gelu_approx, "tanh": gelu_approx, "fast": gelu_fast_approx}


class GELU(Module):
    """Applies :func:`gelu` or an approximation of it.

    Args:
        approx: ``"none"`` is exact, ``"precise"`` and ``"tanh"`` are :func:`gelu_approx`,
            ``"fast"`` is :func:`gelu_fast_approx`.
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
    """Applies :func:`glu` along ``axis``, which is halved."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def __call__(self, x: mx.array) -> mx.array:
        return glu(x, self.axis)


class HardShrink(Module):
    """Applies :func:`hard_shrink`."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, x: mx.array) -> mx.array:
        return hard_shrink(x, self.lambd)


class LeakyReLU(Module):
    """Applies :func:`leaky_relu`."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self._negative_slope = negative_slope

    def __call__(self, x: mx.array) -> mx.array:
        return leaky_relu(x, self._negative_slope)


class PReLU(Module):
    """Applies :func:`prelu` with learnt slopes, one for all or one for each last index of ``x``.

    The parameter ``weight`` of shape ``(num_parameters,)`` starts as ``init`` everywhere.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.weight = mx.full([num_parameters], init)

    def __call__(self, x: mx.array) -> mx.array:
        return prelu(x, self.weight)


class Softshrink(Module):
    """Applies :func:`softshrink`."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, x: mx.array) -> mx.array:
        return softshrink(x, self.lambd)


class Step(Module):
    """Applies :func:`step`."""

    def __init__(self, threshold: float = 0.0) -> None:
        super().__init__()
        self.threshold = threshold

    def __call__(self, x: mx.array) -> mx.array:
        return step(x, self.threshold)
