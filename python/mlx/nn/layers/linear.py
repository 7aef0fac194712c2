"""Affine and bilinear maps of the last axis."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.base import Module
from mlx.nn.layers.quantized import QQLinear, QuantizedLinear


class Identity(Module):
    """Return the input; all arguments are ignored.

    >>> nn.Identity()(mx.array([1.0]))
    array([1], dtype=float32)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def __call__(self, x: mx.array) -> mx.array:
        return x


class Flatten(Module):
    """Merge axes into one: by default all but the first, which is the batch.

    Args:
        start_axis: the first axis that is merged.
        end_axis: the last axis that is merged.

    >>> nn.Flatten()(mx.zeros((8, 4, 4, 3))).shape
    (8, 48)
    """

    def __init__(self, start_axis: int = 1, end_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.end_axis = start_axis, end_axis

    def _extra_repr(self) -> str:
        return f"start_axis={self.start_axis}, end_axis={self.end_axis}"

    def __call__(self, x: mx.array) -> mx.array:
        return mx.flatten(x, self.start_axis, self.end_axis)


class Linear(Module):
    """Compute ``x @ weight.T + bias``.

    The input has shape ``(..., input_dims)``, the output ``(..., output_dims)``. ``weight`` of
    shape ``(output_dims, input_dims)`` and ``bias`` of shape ``(output_dims,)`` start uniform in
    ``±1/sqrt(input_dims)``.

    Args:
        input_dims: the size of the input's last axis.
        output_dims: the size of the output's last axis.
        bias: whether there is a bias.

    Raises:
        ValueError: a size is not accepted.

    >>> nn.Linear(3, 2)(mx.ones((5, 3))).shape
    (5, 2)
    """

    def __init__(self, input_dims: int, output_dims: int, bias: bool = True) -> None:
        super().__init__()
        check_sizes(self, input_dims=input_dims)
        check_sizes(self, 0, output_dims=output_dims)
        bound = 1 / math.sqrt(input_dims)
        self.weight = mx.random.uniform(-bound, bound, (output_dims, input_dims))
        if bias:
            self.bias = mx.random.uniform(-bound, bound, (output_dims,))

    def _extra_repr(self) -> str:
        output_dims, input_dims = self.weight.shape
        return f"input_dims={input_dims}, output_dims={output_dims}, bias={'bias' in self}"

    def __call__(self, x: mx.array) -> mx.array:
        if "bias" in self:
            return mx.addmm(self["bias"], x, self["weight"].T)
        return x @ self["weight"].T

    def to_quantized(
        self,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "affine",
        quantize_input: bool = False,
    ) -> Module:
        """Return this layer with packed weights, a :class:`QuantizedLinear`.

        Args:
            group_size: the number of elements that share a scale; by default the mode's.
            bits: the bits of an element; by default the mode's.
            mode: ``"affine"``, ``"mxfp4"``, ``"mxfp8"`` or ``"nvfp4"``; see
                :mod:`mlx.nn.layers.quantized`.
            quantize_input: return a :class:`QQLinear`, which quantizes its input too; for the modes
                ``"nvfp4"`` and ``"mxfp8"``.

        >>> nn.Linear(64, 8).to_quantized(bits=4)
        QuantizedLinear(input_dims=64, output_dims=8, bias=True, group_size=64, bits=4, mode=affine)
        """
        if not quantize_input:
            return QuantizedLinear.from_linear(self, group_size, bits, mode)
        if mode not in ("nvfp4", "mxfp8"):
            raise ValueError(
                "Quantized activations are only supported for 'nvfp4' and 'mxfp8' modes,"
                f" got {mode}."
            )
        return QQLinear.from_linear(self, group_size, bits, mode)


class Bilinear(Module):
    """Compute ``y[..., k] = x1 · weight[k]ᵀ · x2 + bias[k]`` of two inputs.

    The inputs have shapes ``(..., input1_dims)`` and ``(..., input2_dims)``, the output ``(...,
    output_dims)``. ``weight`` of shape ``(output_dims, input2_dims, input1_dims)`` and ``bias`` of
    shape ``(output_dims,)`` start uniform in ``±1/sqrt(input1_dims)``.

    Args:
        input1_dims: the size of the first input's last axis.
        input2_dims: the size of the second input's last axis.
        output_dims: the size of the output's last axis.
        bias: whether there is a bias.

    >>> nn.Bilinear(3, 4, 2)(mx.ones((5, 3)), mx.ones((5, 4))).shape
    (5, 2)
    """

    def __init__(
        self, input1_dims: int, input2_dims: int, output_dims: int, bias: bool = True
    ) -> None:
        super().__init__()
        check_sizes(self, input1_dims=input1_dims)
        check_sizes(self, 0, input2_dims=input2_dims, output_dims=output_dims)
        bound = 1 / math.sqrt(input1_dims)
        self.weight = mx.random.uniform(-bound, bound, (output_dims, input2_dims, input1_dims))
        if bias:
            self.bias = mx.random.uniform(-bound, bound, (output_dims,))

    def _extra_repr(self) -> str:
        output_dims, input2_dims, input1_dims = self.weight.shape
        return (
            f"input1_dims={input1_dims}, input2_dims={input2_dims},"
            f" output_dims={output_dims}, bias={'bias' in self}"
        )

    def __call__(self, x1: mx.array, x2: mx.array) -> mx.array:
        # One product with all rows of the weights, then one small product with x2 per element.
        output_dims, input2_dims, input1_dims = self.weight.shape
        rows = (x1 @ self.weight.reshape(-1, input1_dims).T).reshape(
            *x1.shape[:-1], output_dims, input2_dims
        )
        y = (rows @ mx.expand_dims(x2, -1)).squeeze(-1)
        return y + self.bias if "bias" in self else y
