"""Composite functions with kernels of their own."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import StreamOrDevice, array, float32, int32, scalar

def rms_norm(x: array, weight: array | None, eps: float, *, stream: StreamOrDevice = None) -> array:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis."""

def layer_norm(x: array, weight: array | None, bias: array | None, eps: float, *, stream: StreamOrDevice = None) -> array:
    """(x - mean(x)) / sqrt(var(x) + eps) * weight + bias over the last axis."""
