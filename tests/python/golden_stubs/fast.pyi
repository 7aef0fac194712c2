"""Composite functions with kernels of their own."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

def rms_norm(x: array, weight: array | None, eps: float, *, stream: StreamOrDevice = None) -> array:
    """
    Return `x / sqrt(mean(x^2) + eps) * weight`, with the mean over the last axis.

    Args:
        x: an array of floats.
        weight: a vector of the length of the last axis; None for no factor.
        eps: a small number against division by zero.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: the weight does not fit, or `x` is a scalar.

    Example:
        >>> mx.fast.rms_norm(mx.array([3.0, 4.0]), None, 1e-5)
        array([0.848528, 1.13137], dtype=float32)
    """

def layer_norm(x: array, weight: array | None, bias: array | None, eps: float, *, stream: StreamOrDevice = None) -> array:
    """
    Return `(x - mean(x)) / sqrt(var(x) + eps) * weight + bias` over the last axis.

    Args:
        x: an array of floats.
        weight: a vector of the length of the last axis; None for no factor.
        bias: a vector of the length of the last axis; None for no bias.
        eps: a small number against division by zero.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: the weight or the bias does not fit, or `x` is a scalar.

    Example:
        >>> mx.fast.layer_norm(mx.array([1.0, 3.0]), None, None, 1e-5)
        array([-0.999995, 0.999995], dtype=float32)
    """

def rope(a: array, dims: int, *, traditional: bool, base: float | None, scale: float, offset: int | array, freqs: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Apply rotary position embedding to the first features of an array.

    Pair `i` at position `t` is rotated by the angle
    `(offset + t) * scale * base^(-2 i / dims)`, or by `(offset + t) * scale / freqs[i]`.

    Args:
        a: an array of shape (B, ..., T, D).
        dims: how many features are rotated; the others stay as they are.
        traditional: whether the features of a pair are neighbours; they are `dims / 2` apart
            otherwise.
        base: the base of the frequencies; None if `freqs` is given.
        scale: the factor of the positions.
        offset: the position of the first element: an int, or an array with one for each batch.
        freqs: a vector of `dims / 2` divisors, in place of `base`; None for none.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: the shapes do not agree, or both or none of `base` and `freqs` are given.

    Example:
        >>> x = mx.ones((1, 2, 4))
        >>> mx.fast.rope(x, 4, traditional=False, base=10000.0, scale=1.0, offset=0).shape
        (1, 2, 4)
    """

def scaled_dot_product_attention(q: array, k: array, v: array, *, scale: float, mask: None | str | array = None, sinks: array | None = None, force_fused: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return `softmax(scale * q @ k.T + mask) @ v`, without storing the scores.

    Args:
        q: queries of shape (B, N, T, D).
        k: keys of shape (B, M, S, D); N is a multiple of M.
        v: values of shape (B, M, S, V).
        scale: the factor of the scores, `1 / sqrt(D)` in most models.
        mask: 'causal', an array of bool (True is kept), or an array that is added to the
            scores; None for none.
        sinks: a logit for each head that takes part in the softmax alone; None for none.
        force_fused: require the kernel of a GPU, which the GPU uses in any case.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (B, N, T, V).

    Raises:
        ValueError: the shapes do not agree, or `force_fused` is set for the CPU or float64.

    Example:
        >>> q = k = v = mx.ones((1, 2, 3, 4))
        >>> mx.fast.scaled_dot_product_attention(q, k, v, scale=0.5, mask="causal").shape
        (1, 2, 3, 4)
    """

def cross_entropy(logits: array, targets: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return `logsumexp(logits) - logits[targets]` over the last axis, in float32 or wider.

    Args:
        logits: an array of shape (..., K).
        targets: an array of integers of shape (...).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `targets`.

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> mx.fast.cross_entropy(mx.array([[0.0, 0.0]]), mx.array([1]))
        array([0.693147], dtype=float32)
    """

def gated_delta_update(q: array, k: array, v: array, gamma: array, beta: array, initial_state: array | None = None, mask: array | None = None, stream: StreamOrDevice = None) -> list[array]:
    """
    Apply the gated delta rule along the positions of a sequence.

    At each position `S = gamma S`, `S += beta (v - S k) k^T`, `y = S q`.

    Args:
        q: queries of shape (B, T, M, D).
        k: keys of shape (B, T, M, D).
        v: values of shape (B, T, N, V).
        gamma: the decay at each position.
        beta: the step at each position.
        initial_state: the state S before the first position; zeros by default.
        mask: which positions take part, an array of bool; None for all.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A list: the outputs `y`, and the last state.

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> q = k = v = mx.ones((1, 3, 1, 4))
        >>> y, state = mx.fast.gated_delta_update(q, k, v, mx.ones((1, 3, 1)), mx.ones((1, 3, 1)))
        >>> y.shape
        (1, 3, 1, 4)
    """

class _MetalKernel:
    """A kernel for Metal that was given as source."""

    def __call__(self, *, inputs: Sequence[ScalarOrArray], output_shapes: Sequence[Sequence[int]], output_dtypes: Sequence[Dtype], grid: tuple[int, int, int], threadgroup: tuple[int, int, int], template: Sequence[tuple[str, bool | int | Dtype]] | None = None, init_value: float | None = None, verbose: bool = False, stream: StreamOrDevice = None) -> list[array]: ...

def metal_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '', ensure_row_contiguous: bool = True, atomic_outputs: bool = False, compile_options: object | None = None) -> Callable[..., list[array]]:
    """
    Return a function that adds a Metal kernel to the graph. No test has run one on a GPU.

    The source is the body of a kernel. Its arguments are the inputs, which are const, and the outputs,
    by their names: pointers to elements, and a reference for an input without axes. Inputs of less than
    eight elements are in the constant address space, others in that of the device. For an input x, a
    source that names them also has x_shape, x_strides (counted in elements) and x_ndim; so it has the
    positions of threads that it names, such as thread_position_in_grid. elem_to_loc(i, x_shape,
    x_strides, x_ndim) is where element i of x lies.

    Its compiler's errors name the kernel and the line of the source. It has no derivative and no rule
    for vmap unless a custom_function gives them.

    Args:
        name: the name of the kernel.
        input_names: the names of its inputs.
        output_names: the names of its outputs.
        source: the body of the kernel.
        header: what stands before it: functions, types.
        ensure_row_contiguous: whether inputs are copied to row-major order.
        atomic_outputs: whether outputs are pointers to atomic numbers.
        compile_options: accepted, and not used.

    Returns:
        A function with the keywords of that which `cuda_kernel` returns. Arguments of `template` are
        types and constants that the source has. Float64 and complex128 are refused.

    Raises:
        ValueError: names that are none; in the call also a grid, a threadgroup, outputs, dtypes or
            numbers of buffers that are not accepted.
        RuntimeError: there is no Metal device; raised by the call.

    Example:
        >>> kernel = mx.fast.metal_kernel("twice", ["x"], ["y"], "y[i] = 2 * x[i];")
    """

class _CudaKernel:
    """A kernel for CUDA that was given as source."""

    def __call__(self, *, inputs: Sequence[ScalarOrArray], output_shapes: Sequence[Sequence[int]], output_dtypes: Sequence[Dtype], grid: tuple[int, int, int], threadgroup: tuple[int, int, int], template: Sequence[tuple[str, bool | int | Dtype]] | None = None, init_value: float | None = None, verbose: bool = False, stream: StreamOrDevice = None) -> list[array]: ...

def cuda_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '', ensure_row_contiguous: bool = True, shared_memory: int = 0) -> Callable[..., list[array]]:
    """
    Return a function that adds a CUDA kernel to the graph.

    The source is the body of a function. Its parameters are pointers to the elements of the inputs,
    which are const, and of the outputs, by their names. Elements have the C++ types bool, int8_t to
    uint64_t, float, double, float16_t, bfloat16_t, complex64_t and complex128_t; a source that uses
    CUDA's __half or __nv_bfloat16 gets those. For an input x, a source that names them also has
    x_shape, x_strides (counted in elements) and x_ndim.

    The kernel runs on the stream of its GPU in the order of the graph. Its compiler's errors name the
    kernel and the line of the source. It has no derivative and no rule for vmap unless a
    custom_function gives them.

    Args:
        name: the name of the kernel.
        input_names: the names of its inputs.
        output_names: the names of its outputs.
        source: the body of the kernel.
        header: what stands before it: functions, `#include`.
        ensure_row_contiguous: whether inputs are copied to row-major order.
        shared_memory: bytes of dynamic shared memory, `extern __shared__`.

    Returns:
        A function with the keywords `inputs` (arrays and numbers), `output_shapes`,
        `output_dtypes`, `grid` (threads in each direction), `threadgroup` (threads of a block),
        `template`, `init_value`, `verbose` and `stream`. It returns the list of outputs. `template`
        has pairs of a name and a dtype, an integer or a bool, the template parameters of the
        function. `init_value` is written to all outputs before the kernel runs. `verbose` prints
        the source that is compiled. The grid is made up of whole blocks: if it is no multiple of
        the threadgroup, the source has to leave out the threads beyond it.

    Raises:
        RuntimeError: there is no CUDA device.

    Example:
        >>> source = \"\"\"
        ... int i = blockIdx.x * blockDim.x + threadIdx.x;
        ... if (i < x_shape[0]) y[i] = x[i] * T(2);
        ... \"\"\"
        >>> def twice(x):
        ...     kernel = mx.fast.cuda_kernel("twice", ["x"], ["y"], source)
        ...     return kernel(
        ...         inputs=[x],
        ...         template=[("T", x.dtype)],
        ...         grid=(x.size, 1, 1),
        ...         threadgroup=(256, 1, 1),
        ...         output_shapes=[x.shape],
        ...         output_dtypes=[x.dtype],
        ...     )[0]
    """

def precompiled_cuda_kernel(*, name: str, compiled_source: bytes, inputs: Sequence[ScalarOrArray], output_shapes: Sequence[tuple[int, ...]], output_dtypes: Sequence[Dtype], scalars: Sequence[object], grid: tuple[int, int, int], threadgroup: tuple[int, int, int], shared_memory: int = 0, init_value: float | None = None, ensure_row_contiguous: bool = False, stream: StreamOrDevice = None) -> list[array]:
    """
    Add a CUDA kernel given as PTX or machine code to the graph.

    The kernel's parameters are pointers to the elements of the inputs and of the outputs, then the
    scalars: bool, int or float.

    Args:
        name: the name of the function in the code.
        compiled_source: PTX or machine code (a cubin).
        inputs: arrays and numbers.
        output_shapes: the shapes of its outputs.
        output_dtypes: the dtypes of its outputs.
        scalars: its further arguments.
        grid: the number of threads in each direction.
        threadgroup: the threads of a block.
        shared_memory: bytes of dynamic shared memory.
        init_value: what outputs contain before it runs.
        ensure_row_contiguous: whether inputs are copied to row-major order.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        The outputs.

    Raises:
        RuntimeError: there is no CUDA device.

    Example:
        >>> def halved(x, ptx):
        ...     \"\"\"The kernel is `halve(const float* x, float* y, int n)`.\"\"\"
        ...     return mx.fast.precompiled_cuda_kernel(
        ...         name="halve",
        ...         compiled_source=ptx,
        ...         inputs=[x],
        ...         output_shapes=[x.shape],
        ...         output_dtypes=[mx.float32],
        ...         scalars=[x.size],
        ...         grid=(x.size, 1, 1),
        ...         threadgroup=(256, 1, 1),
        ...     )[0]
    """
