"""Layers whose weights are stored with few bits, and the conversion of models to them.

Modes, with their group size and bits by default: ``"affine"`` (64, 4; a scale and a bias for
each group), ``"mxfp4"`` (32, 4), ``"mxfp8"`` (32, 8) and ``"nvfp4"`` (16, 4; small floats with a
scale for each group).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx
from mlx.nn.layers._checks import check_sizes
from mlx.nn.layers.base import Module
from mlx.utils import tree_map_with_path

_DEFAULTS = {"affine": (64, 4), "mxfp4": (32, 4), "nvfp4": (16, 4), "mxfp8": (32, 8)}


def _defaults_for_mode(mode: str, group_size: int | None, bits: int | None) -> tuple[int, int]:
    """``group_size`` and ``bits``, or those of the mode where they are ``None``."""
    if mode not in _DEFAULTS:
        raise ValueError(
            f"Invalid quantization mode '{mode}'. Valid modes are: {', '.join(_DEFAULTS)}."
        )
    size, width = _DEFAULTS[mode]
    return size if group_size is None else group_size, width if bits is None else bits


def quantize(
    model: Module,
    group_size: int | None = None,
    bits: int | None = None,
    *,
    mode: str = "affine",
    quantize_input: bool = False,
    class_predicate: Callable[[str, Module], bool | dict[str, Any]] | None = None,
) -> None:
    """Replace the layers of a model that can be packed, in place.

    Args:
        model: the module below which layers are replaced.
        group_size: the number of elements that share a scale; by default the mode's.
        bits: the bits of an element; by default the mode's.
        mode: ``"affine"``, ``"mxfp4"``, ``"mxfp8"`` or ``"nvfp4"``; see
            :mod:`mlx.nn.layers.quantized`.
        quantize_input: whether layers also quantize their input.
        class_predicate: ``class_predicate(path, layer)`` says whether to pack a layer, or returns a
            dict of the arguments for its ``to_quantized``. By default every layer that has this
            method is packed.

    Raises:
        ValueError: the last axis of a weight is no multiple of the group size, or the mode is
            unknown.

    >>> model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 2))
    >>> nn.quantize(model, bits=8, class_predicate=lambda path, layer: path == "layers.0")
    >>> type(model.layers[0]).__name__, type(model.layers[1]).__name__
    ('QuantizedLinear', 'Linear')
    """
    options = {
        "group_size": group_size,
        "bits": bits,
        "mode": mode,
        "quantize_input": quantize_input,
    }
    predicate = class_predicate or (lambda path, layer: hasattr(layer, "to_quantized"))

    def convert(path: str, layer: Module) -> Module:
        chosen = predicate(path, layer)
        if not chosen:
            return layer
        if not isinstance(chosen, (bool, dict)):
            raise ValueError(
                f"[nn.quantize] a class_predicate that returns {type(chosen).__name__} for layer"
                f" {path!r}; a bool or a dict of arguments of to_quantized is accepted"
            )
        if not hasattr(layer, "to_quantized"):
            raise ValueError(
                f"[nn.quantize] layer {path!r}, a {type(layer).__name__};"
                " layers with to_quantized are accepted"
            )
        arguments = dict(chosen if isinstance(chosen, dict) else options)
        if not arguments.get("quantize_input"):
            # Layers from elsewhere need not know this argument.
            arguments.pop("quantize_input", None)
        try:
            return layer.to_quantized(**arguments)
        except ValueError as error:
            where = f"layer {path!r}" if path else "the model"
            raise ValueError(f"[nn.quantize] {where}, a {type(layer).__name__}: {error}") from error

    layers = tree_map_with_path(convert, model.leaf_modules(), is_leaf=Module.is_module)
    model.update_modules(layers)


class _Quantized(Module):
    """A layer with ``weight``, ``scales`` and, in the affine mode, ``biases``, all frozen."""

    def __init__(self, group_size: int | None, bits: int | None, mode: str) -> None:
        super().__init__()
        self.group_size, self.bits = _defaults_for_mode(mode, group_size, bits)
        self.mode = mode

    @classmethod
    def _of(cls, weight: mx.array, group_size: int | None, bits: int | None, mode: str) -> Any:
        """A layer with nothing but ``weight``, quantised and frozen."""
        layer = cls.__new__(cls)
        _Quantized.__init__(layer, group_size, bits, mode)
        layer._store(weight)
        layer.freeze()
        # A key is used up as where the weights are drawn: a seeded program goes on with the same
        # numbers whichever way its layers were made.
        mx.random.uniform()
        return layer

    @property
    def _format(self) -> dict[str, Any]:
        return {"group_size": self.group_size, "bits": self.bits, "mode": self.mode}

    @property
    def _input_dims(self) -> int:
        return self.weight.shape[-1] * 32 // self.bits

    def _format_repr(self) -> str:
        return ", ".join(f"{key}={value}" for key, value in self._format.items())

    def _store(self, weight: mx.array) -> None:
        """Quantise ``weight``."""
        self.weight, self.scales, *biases = mx.quantize(weight, **self._format)
        self.biases = biases[0] if biases else None

    def _matmul(self, x: mx.array) -> mx.array:
        return mx.quantized_matmul(
            x,
            self["weight"],
            scales=self["scales"],
            biases=self.get("biases"),
            transpose=True,
            **self._format,
        )


class QuantizedLinear(_Quantized):
    """Compute ``x @ weight.T + bias`` with packed weights.

    ``weight`` of shape ``(output_dims, input_dims * bits / 32)``, ``scales`` and ``biases`` of
    shape ``(output_dims, input_dims / group_size)`` are frozen.

    Args:
        input_dims: the size of the input's last axis.
        output_dims: the size of the output's last axis.
        bias: whether there is a bias, which starts at zero.
        group_size: the number of elements that share a scale; by default the mode's.
        bits: the bits of an element; by default the mode's.
        mode: ``"affine"``, ``"mxfp4"``, ``"mxfp8"`` or ``"nvfp4"``; see
            :mod:`mlx.nn.layers.quantized`.

    >>> nn.QuantizedLinear(64, 8, bits=4)(mx.ones((5, 64))).shape
    (5, 8)
    """

    def __init__(
        self,
        input_dims: int,
        output_dims: int,
        bias: bool = True,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "affine",
    ) -> None:
        super().__init__(group_size, bits, mode)
        check_sizes(self, input_dims=input_dims)
        check_sizes(self, 0, output_dims=output_dims)
        bound = math.sqrt(1 / input_dims)
        self._store(mx.random.uniform(-bound, bound, (output_dims, input_dims)))
        if bias:
            self.bias = mx.zeros((output_dims,))
        self.freeze()

    def _extra_repr(self) -> str:
        return (
            f"input_dims={self._input_dims}, output_dims={self.weight.shape[0]},"
            f" bias={'bias' in self}, {self._format_repr()}"
        )

    def __call__(self, x: mx.array) -> mx.array:
        y = self._matmul(x)
        return y + self["bias"] if "bias" in self else y

    @classmethod
    def from_linear(
        cls,
        linear_layer: Module,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "affine",
    ) -> QuantizedLinear:
        """Pack the weights of a :class:`Linear`; its bias is kept and stays trainable.

        Args:
            linear_layer: the layer.
            group_size: the number of elements that share a scale; by default the mode's.
            bits: the bits of an element; by default the mode's.
            mode: ``"affine"``, ``"mxfp4"``, ``"mxfp8"`` or ``"nvfp4"``; see
                :mod:`mlx.nn.layers.quantized`.
        """
        layer = cls._of(linear_layer.weight, group_size, bits, mode)
        if "bias" in linear_layer:
            layer.bias = linear_layer.bias
        return layer


class QuantizedEmbedding(_Quantized):
    """Look up packed vectors, which are restored when looked up.

    ``weight`` of shape ``(num_embeddings, dims * bits / 32)``, ``scales`` and ``biases`` of shape
    ``(num_embeddings, dims / group_size)`` are frozen.

    Args:
        num_embeddings: the number of vectors.
        dims: the size of a vector.
        group_size: the number of elements that share a scale; by default the mode's.
        bits: the bits of an element; by default the mode's.
        mode: ``"affine"``, ``"mxfp4"``, ``"mxfp8"`` or ``"nvfp4"``; see
            :mod:`mlx.nn.layers.quantized`.

    >>> nn.QuantizedEmbedding(10, 64)(mx.array([1, 5])).shape
    (2, 64)
    """

    def __init__(
        self,
        num_embeddings: int,
        dims: int,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "affine",
    ) -> None:
        super().__init__(group_size, bits, mode)
        check_sizes(self, 0, num_embeddings=num_embeddings)
        check_sizes(self, dims=dims)
        self._store(mx.random.normal((num_embeddings, dims), scale=math.sqrt(1 / dims)))
        self.freeze()

    @property
    def num_embeddings(self) -> int:
        """The number of vectors."""
        return self.weight.shape[0]

    @property
    def dims(self) -> int:
        """The size of a vector."""
        return self._input_dims

    def _extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.dims}, {self._format_repr()}"

    def __call__(self, x: mx.array) -> mx.array:
        x = x if isinstance(x, mx.array) else mx.array(x)
        rows = x.flatten()
        biases = self.get("biases")
        y = mx.dequantize(
            self["weight"][rows],
            scales=self["scales"][rows],
            biases=None if biases is None else biases[rows],
            **self._format,
        )
        return y.reshape(*x.shape, y.shape[-1])

    def as_linear(self, x: mx.array) -> mx.array:
        """Return scores of all vectors, as :meth:`Embedding.as_linear`.

        Args:
            x: vectors of shape ``(..., dims)``.
        """
        return self._matmul(x)

    @classmethod
    def from_embedding(
        cls,
        embedding_layer: Module,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "affine",
    ) -> QuantizedEmbedding:
        """Pack the vectors of an :class:`Embedding`.

        Args:
            embedding_layer: the layer.
            group_size: the number of elements that share a scale; by default the mode's.
            bits: the bits of an element; by default the mode's.
            mode: ``"affine"``, ``"mxfp4"``, ``"mxfp8"`` or ``"nvfp4"``; see
                :mod:`mlx.nn.layers.quantized`.
        """
        return cls._of(embedding_layer.weight, group_size, bits, mode)


class QQLinear(_Quantized):
    """Compute ``x @ weight.T`` with both factors quantized.

    ``weight`` is kept in floating point for training and packed, with ``scales``, in evaluation
    mode; :meth:`train` and :meth:`eval` convert it.

    Args:
        input_dims: the size of the input's last axis.
        output_dims: the size of the output's last axis.
        group_size: the number of elements that share a scale; by default the mode's.
        bits: the bits of an element; by default the mode's.
        mode: ``"nvfp4"`` or ``"mxfp8"``.

    >>> nn.QQLinear(64, 8)(mx.ones((5, 64))).shape
    (5, 8)
    """

    def __init__(
        self,
        input_dims: int,
        output_dims: int,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "nvfp4",
    ) -> None:
        super().__init__(group_size, bits, mode)
        check_sizes(self, input_dims=input_dims)
        check_sizes(self, 0, output_dims=output_dims)
        bound = math.sqrt(1 / input_dims)
        self.weight = mx.random.uniform(-bound, bound, (output_dims, input_dims))
        self._quantized = False

    def _extra_repr(self) -> str:
        input_dims = self._input_dims if self._quantized else self.weight.shape[-1]
        return f"input_dims={input_dims}, output_dims={self.weight.shape[0]}, {self._format_repr()}"

    def quantize(self) -> None:
        """Quantise the weight, unless it is."""
        if not self._quantized:
            self._store(self.weight)
            self._quantized = True

    def dequantize(self) -> None:
        """Restore the weight in floating point, unless it is."""
        if self._quantized:
            self.weight = mx.dequantize(
                self.weight, scales=self.scales, biases=self.biases, **self._format
            )
            del self.scales, self.biases
            self._quantized = False

    def _set_training_mode(self, mode: bool) -> None:
        super()._set_training_mode(mode)
        if mode:
            self.dequantize()
        else:
            self.quantize()

    def __call__(self, x: mx.array) -> mx.array:
        return mx.qqmm(x, self["weight"], scales=self.get("scales"), **self._format)

    @classmethod
    def from_linear(
        cls,
        linear_layer: Module,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "nvfp4",
    ) -> QQLinear:
        """Take over the weight of a :class:`Linear` without bias, and its training mode.

        Args:
            linear_layer: the layer.
            group_size: the number of elements that share a scale; by default the mode's.
            bits: the bits of an element; by default the mode's.
            mode: ``"nvfp4"`` or ``"mxfp8"``.

        Raises:
            NotImplementedError: the layer has a bias.
        """
        if "bias" in linear_layer:
            raise NotImplementedError("QQLinear does not support bias yet.")
        output_dims, input_dims = linear_layer.weight.shape
        layer = cls(input_dims, output_dims, group_size, bits, mode)
        layer.weight = linear_layer.weight
        layer.train(linear_layer.training)
        return layer
