"""Composite functions with kernels of their own."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

def rms_norm(x: array, weight: array | None, eps: float, *, stream: StreamOrDevice = None) -> array:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis."""

def layer_norm(x: array, weight: array | None, bias: array | None, eps: float, *, stream: StreamOrDevice = None) -> array:
    """(x - mean(x)) / sqrt(var(x) + eps) * weight + bias over the last axis."""

def rope(a: array, dims: int, *, traditional: bool, base: float | None, scale: float, offset: int | array, freqs: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Rotary position embedding of the first `dims` features of an array of shape (B, .., T, D): pair i at position t turns by (offset + t) * scale * base^(-2i / dims), or divided by freqs[i]. Pairs are neighbours if `traditional`, else dims / 2 apart. The offset is one integer or one for each batch.
    """

def scaled_dot_product_attention(q: array, k: array, v: array, *, scale: float, mask: None | str | array = None, sinks: array | None = None, force_fused: bool = False, stream: StreamOrDevice = None) -> array:
    """
    softmax(scale * q @ k.T + mask) @ v for queries (B, N, T, D), keys (B, M, S, D) and values (B, M, S, V), where N is a multiple of M. The mask is 'causal', an array of bool (true is kept) or one that is added to the scores. Sinks, one a head, take part in the softmax only.
    """

def cross_entropy(logits: array, targets: array, *, stream: StreamOrDevice = None) -> array:
    """
    logsumexp(logits) - logits[targets] over the last axis, in float32 or wider.
    """

def gated_delta_update(q: array, k: array, v: array, gamma: array, beta: array, initial_state: array | None = None, mask: array | None = None, stream: StreamOrDevice = None) -> list[array]:
    """
    The gated delta rule S = gamma S; S += beta (v - S k) k^T; y = S q along the positions of q and k (B, T, M, D) and v (B, T, N, V). Returns y and the last state.
    """

def metal_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '', ensure_row_contiguous: bool = True, atomic_outputs: bool = False, compile_options: object | None = None) -> Callable[..., list[array]]:
    """
    A function that runs a Metal kernel; it raises, as there is no Metal device.
    """

def cuda_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '', ensure_row_contiguous: bool = True, shared_memory: int = 0) -> Callable[..., list[array]]:
    """
    A function that runs a CUDA kernel. Raises RuntimeError, as there is no CUDA device.
    """

def precompiled_cuda_kernel(*, name: str, compiled_source: bytes, inputs: Sequence[ScalarOrArray], output_shapes: Sequence[tuple[int, ...]], output_dtypes: Sequence[Dtype], scalars: Sequence[object], grid: tuple[int, int, int], threadgroup: tuple[int, int, int], shared_memory: int = 0, init_value: float | None = None, ensure_row_contiguous: bool = False, stream: StreamOrDevice = None) -> list[array]:
    """
    Runs a compiled CUDA kernel. Raises RuntimeError, as there is no CUDA device.
    """
