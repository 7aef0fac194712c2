"""Linear algebra on the last two axes of arrays."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

from typing import NamedTuple, overload

from mlx.core import (
    matmul as matmul,
    outer as outer,
    tensordot as tensordot
)


def cholesky(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the Cholesky factor: the lower triangular L with `a = L @ L.T`, L.T conjugated.

    Only one triangle of `a` is read.

    Args:
        a: symmetric or Hermitian positive definite matrices of shape (..., N, N).
        upper: whether the upper triangular U with `a = U.T @ U` is returned; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: the last two axes have different lengths.
        mx.LinAlgError: a matrix is not positive definite; raised by the evaluation.

    Example:
        >>> mx.linalg.cholesky(mx.array([[4.0, 2.0], [2.0, 5.0]]))
        array([[2, 0],
               [1, 2]], dtype=float32)
    """

def cholesky_inv(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse of matrices given by their Cholesky factors.

    Args:
        a: triangular matrices of shape (..., N, N).
        upper: whether they are upper triangular; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: the last two axes have different lengths.

    Example:
        >>> mx.linalg.cholesky_inv(mx.linalg.cholesky(mx.array([[4.0, 0.0], [0.0, 2.0]])))
        array([[0.25, 0],
               [0, 0.5]], dtype=float32)
    """

@overload
def qr(a: array, *, stream: StreamOrDevice = None) -> QRResult: ...

@overload
def qr(x: array, /, *, mode: str, stream: StreamOrDevice = None) -> QRResult:
    """
    Return the factors Q, with orthonormal columns, and R, upper triangular, with `a = Q @ R`.

    Args:
        a: matrices of shape (..., M, N).
        mode: 'reduced' (default) for Q (M, K) and R (K, N) with K = min(M, N), 'complete' for Q
            (M, M) and R (M, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A named tuple `(Q, R)`.

    Raises:
        ValueError: `a` has fewer than two axes, or the mode is unknown.

    Example:
        >>> q, r = mx.linalg.qr(mx.array([[3.0, 1.0], [4.0, 2.0]]))
        >>> mx.allclose(q @ r, mx.array([[3.0, 1.0], [4.0, 2.0]]), atol=1e-5)
        array(True, dtype=bool)
    """

@overload
def svd(a: array, compute_uv: Literal[True] = True, *, stream: StreamOrDevice = None) -> SVDResult: ...

@overload
def svd(a: array, compute_uv: Literal[False], *, stream: StreamOrDevice = None) -> array: ...

@overload
def svd(a: array, compute_uv: bool, *, stream: StreamOrDevice = None) -> SVDResult | array: ...

@overload
def svd(x: array, /, *, full_matrices: bool, stream: StreamOrDevice = None) -> SVDResult:
    """
    Return the singular value decomposition `a = U[:, :K] * S @ Vt[:K]`, K = min(M, N).

    Vt is conjugated for complex matrices.

    Args:
        a: matrices of shape (..., M, N).
        compute_uv: whether U and Vt are computed; True by default.
        full_matrices: whether U is (M, M) and Vt (N, N), which is the default; False for (M, K)
            and (K, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A named tuple `(U, S, Vh)` with S in descending order; S alone if `compute_uv` is False.

    Raises:
        ValueError: `a` has fewer than two axes.

    Example:
        >>> mx.linalg.svd(mx.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
        array([4, 3], dtype=float32)
    """

def lu(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array, array]:
    """
    Return row positions P, a lower triangular L and an upper triangular U with
    `a = (L @ U)[P]`.

    Args:
        a: matrices of shape (..., M, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple `(P, L, U)`; P is uint32.

    Raises:
        ValueError: `a` has fewer than two axes.

    Example:
        >>> p, l, u = mx.linalg.lu(mx.array([[1.0, 2.0], [4.0, 2.0]]))
        >>> (l @ u)[p]
        array([[1, 2],
               [4, 2]], dtype=float32)
    """

def lu_factor(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    Return L and U of the LU decomposition in one matrix, and the exchanges of rows.

    Args:
        a: matrices of shape (..., M, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A pair: L below the diagonal with U on and above it, and for each row the one it was
        exchanged with (uint32).

    Raises:
        ValueError: `a` has fewer than two axes.

    Example:
        >>> mx.linalg.lu_factor(mx.array([[2.0, 2.0], [1.0, 3.0]]))
        (array([[2, 2],
               [0.5, 2]], dtype=float32), array([0, 1], dtype=uint32))
    """

def eigh(a: array, UPLO: str = 'L', *, stream: StreamOrDevice = None) -> EighResult:
    """
    Return the eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Args:
        a: matrices of shape (..., N, N).
        UPLO: which triangle is read: 'L' (default) for the lower, 'U' for the upper.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A named tuple `(eigenvalues, eigenvectors)`: ascending, and as columns of length 1.

    Raises:
        ValueError: the last two axes have different lengths.

    Example:
        >>> mx.linalg.eigh(mx.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
        array([1, 2], dtype=float32)
    """

def eigvalsh(a: array, UPLO: str = 'L', *, stream: StreamOrDevice = None) -> array:
    """
    Return the eigenvalues of symmetric or Hermitian matrices, in ascending order.

    Args:
        a: matrices of shape (..., N, N).
        UPLO: which triangle is read: 'L' (default) for the lower, 'U' for the upper.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array of shape (..., N).

    Raises:
        ValueError: the last two axes have different lengths.

    Example:
        >>> mx.linalg.eigvalsh(mx.array([[2.0, 0.0], [0.0, 1.0]]))
        array([1, 2], dtype=float32)
    """

def eig(a: array, *, stream: StreamOrDevice = None) -> EigResult:
    """
    Return the eigenvalues and eigenvectors of square matrices.

    Args:
        a: matrices of shape (..., N, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A named tuple `(eigenvalues, eigenvectors)` of complex arrays; vectors are columns of
        length 1.

    Raises:
        ValueError: the last two axes have different lengths.

    Example:
        >>> mx.linalg.eig(mx.array([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
        array([0+1j, 0-1j], dtype=complex64)
    """

def eigvals(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the eigenvalues of square matrices.

    Args:
        a: matrices of shape (..., N, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array of shape (..., N).

    Raises:
        ValueError: the last two axes have different lengths.

    Example:
        >>> mx.linalg.eigvals(mx.array([[0.0, -1.0], [1.0, 0.0]]))
        array([0+1j, 0-1j], dtype=complex64)
    """

def solve(a: array, b: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the solution `x` of `a @ x = b`.

    Args:
        a: matrices of shape (..., N, N).
        b: right-hand sides of shape (..., N, K) or (N,); leading axes are broadcast.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `b`.

    Raises:
        ValueError: the shapes do not agree.
        mx.LinAlgError: a matrix is singular; raised by the evaluation.

    Example:
        >>> mx.linalg.solve(mx.array([[2.0, 0.0], [0.0, 4.0]]), mx.array([2.0, 2.0]))
        array([1, 0.5], dtype=float32)
    """

def solve_triangular(a: array, b: array, *, upper: bool = False, stream: StreamOrDevice = None) -> array:
    """
    Return the solution `x` of `a @ x = b` for triangular matrices; the other triangle is not
    read.

    Args:
        a: matrices of shape (..., N, N).
        b: right-hand sides of shape (..., N, K) or (N,); leading axes are broadcast.
        upper: whether the matrices are upper triangular; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `b`.

    Raises:
        ValueError: the shapes do not agree.
        mx.LinAlgError: a matrix is singular; raised by the evaluation.

    Example:
        >>> mx.linalg.solve_triangular(mx.array([[2.0, 0.0], [1.0, 4.0]]), mx.array([2.0, 5.0]))
        array([1, 1], dtype=float32)
    """

def inv(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse of square matrices.

    Args:
        a: matrices of shape (..., N, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: the last two axes have different lengths.
        mx.LinAlgError: a matrix is singular; raised by the evaluation.

    Example:
        >>> mx.linalg.inv(mx.array([[2.0, 0.0], [0.0, 4.0]]))
        array([[0.5, 0],
               [0, 0.25]], dtype=float32)
    """

def tri_inv(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse of triangular matrices; the other triangle is not read.

    Args:
        a: matrices of shape (..., N, N).
        upper: whether they are upper triangular; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: the last two axes have different lengths.
        mx.LinAlgError: a matrix is singular; raised by the evaluation.

    Example:
        >>> mx.linalg.tri_inv(mx.array([[2.0, 0.0], [0.0, 4.0]]))
        array([[0.5, 0],
               [-0, 0.25]], dtype=float32)
    """

@overload
def pinv(a: array, *, stream: StreamOrDevice = None) -> array: ...

@overload
def pinv(x: array, /, *, rtol: float | array | None, stream: StreamOrDevice = None) -> array:
    """
    Return the Moore-Penrose inverse.

    Args:
        a: matrices of shape (..., M, N).
        rtol: singular values up to `rtol` times the largest count as zero: a number, or one for
            each matrix; `10 * max(M, N) * eps` by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (..., N, M).

    Raises:
        ValueError: `a` has fewer than two axes.

    Example:
        >>> mx.linalg.pinv(mx.array([[2.0, 0.0], [0.0, 4.0]]))
        array([[0.5, 0],
               [0, 0.25]], dtype=float32)
    """

def lstsq(a: array, b: array, rcond: float | None = None, *, stream: StreamOrDevice = None) -> tuple[array, array, array, array]:
    """
    Return the least-squares solution `x` of `a @ x = b`; of several the one of least norm.

    Args:
        a: a matrix of shape (..., M, N).
        b: right-hand sides of shape (..., M, K) or (M,).
        rcond: singular values up to `rcond` times the largest count as zero; `max(M, N) * eps`
            by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A tuple: `x`, the squared norms of the columns of `b - a @ x`, the rank of `a`, its
        singular values.

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> a = mx.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> mx.linalg.lstsq(a, mx.array([1.0, 3.0, 5.0]))[2]
        array(2, dtype=int32)
    """

def det(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the determinant of square matrices.

    Args:
        a: matrices of shape (..., N, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of shape (...).

    Raises:
        ValueError: the last two axes have different lengths.

    Example:
        >>> mx.linalg.det(mx.array([[2.0, 0.0], [0.0, 4.0]]))
        array(8, dtype=float32)
    """

def slogdet(a: array, *, stream: StreamOrDevice = None) -> SlogdetResult:
    """
    Return the sign and the logarithm of the modulus of the determinant.

    Args:
        a: matrices of shape (..., N, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A named tuple `(sign, logabsdet)`; 0 and -inf for a singular matrix.

    Raises:
        ValueError: the last two axes have different lengths.

    Example:
        >>> mx.linalg.slogdet(mx.array([[2.0, 0.0], [0.0, -4.0]])).sign
        array(-1, dtype=float32)
    """

def norm(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Return the norm of vectors along an axis, of matrices in two axes, or of the whole array.

    Args:
        a: an array; bool and integers are converted to float32.
        ord: the order: any number for vectors; 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc' for
            matrices. By default the square root of the sum of squares.
        axis: the axis of the vectors, or the two axes of the matrices; None (the default) for
            the whole array.
        keepdims: whether the axes are kept with length 1; False by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array without the axes.

    Raises:
        ValueError: the order is not accepted.

    Example:
        >>> mx.linalg.norm(mx.array([3.0, 4.0]))
        array(5, dtype=float32)
        >>> mx.linalg.norm(mx.array([[3.0, 4.0], [0.0, 5.0]]), axis=1)
        array([5, 5], dtype=float32)
    """

def cross(a: array, b: array, axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Return the cross product of vectors along an axis.

    Args:
        a: an array with length 3 along the axis, or 2 if the third component is 0.
        b: an array with length 3 or 2 along the axis; the other axes are broadcast.
        axis: the axis; the last one by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array.

    Raises:
        ValueError: the axis has another length, or the shapes cannot be broadcast.

    Example:
        >>> mx.linalg.cross(mx.array([1, 0, 0]), mx.array([0, 1, 0]))
        array([0, 0, 1], dtype=int32)
    """

@overload
def matrix_rank(a: array, tol: float | None = None, *, stream: StreamOrDevice = None) -> array: ...

@overload
def matrix_rank(x: array, /, *, rtol: float | array | None, stream: StreamOrDevice = None) -> array:
    """
    Return the number of singular values above a tolerance.

    Args:
        a: matrices of shape (..., M, N).
        tol: the tolerance; by default `max(M, N) * eps` times the largest singular value.
        rtol: the tolerance relative to the largest singular value: a number, or one for each
            matrix.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of integers of shape (...).

    Example:
        >>> mx.linalg.matrix_rank(mx.array([[1.0, 2.0], [2.0, 4.0]]))
        array(1, dtype=int32)
    """

def matrix_power(a: array, n: int, *, stream: StreamOrDevice = None) -> array:
    """
    Return a power of square matrices; of their inverses if the exponent is negative.

    Args:
        a: matrices of shape (..., N, N).
        n: the exponent.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: the last two axes have different lengths.
        mx.LinAlgError: a matrix is singular; raised by the evaluation.

    Example:
        >>> mx.linalg.matrix_power(mx.array([[1.0, 1.0], [0.0, 1.0]]), 3)
        array([[1, 3],
               [0, 1]], dtype=float32)
    """

def expm(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return the matrix exponential of square matrices.

    Args:
        a: matrices of shape (..., N, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: the last two axes have different lengths.

    Example:
        >>> mx.linalg.expm(mx.zeros((2, 2)))
        array([[1, 0],
               [0, 1]], dtype=float32)
    """

class EighResult(NamedTuple):
    eigenvalues: array
    eigenvectors: array

class EigResult(NamedTuple):
    eigenvalues: array
    eigenvectors: array

class QRResult(NamedTuple):
    Q: array
    R: array

class SVDResult(NamedTuple):
    U: array
    S: array
    Vh: array

class SlogdetResult(NamedTuple):
    sign: array
    logabsdet: array

def vecdot(x1: array, x2: array, /, *, axis: int = -1, stream: StreamOrDevice = None) -> array:
    """
    Return the sum of `conj(x1) * x2` over an axis, in the dtype of the operands.

    Args:
        x1: an array.
        x2: an array; the other axes are broadcast.
        axis: the axis; the last one by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the axis.

    Raises:
        ValueError: the axes differ in length, or the shapes cannot be broadcast.

    Example:
        >>> mx.linalg.vecdot(mx.array([1, 2]), mx.array([3, 4]))
        array(11, dtype=int32)
    """

def matrix_transpose(x: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Exchange the last two axes.

    Args:
        x: an array of at least two axes.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with the elements of `x`; no memory is copied.

    Raises:
        ValueError: `x` has fewer than two axes.

    Example:
        >>> mx.linalg.matrix_transpose(mx.array([[1, 2], [3, 4]]))
        array([[1, 3],
               [2, 4]], dtype=int32)
    """

def diagonal(x: array, /, *, offset: int = 0, stream: StreamOrDevice = None) -> array:
    """
    Return the diagonals of the matrices in the last two axes.

    Args:
        x: an array of at least two axes.
        offset: the diagonal: 0 (default) the main one, positive ones above it.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array with one axis less than `x`.

    Raises:
        ValueError: `x` has fewer than two axes.

    Example:
        >>> mx.linalg.diagonal(mx.array([[1, 2], [3, 4]]))
        array([1, 4], dtype=int32)
    """

def trace(x: array, /, *, offset: int = 0, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the sums of the diagonals of the matrices in the last two axes.

    Args:
        x: an array of at least two axes.
        offset: the diagonal: 0 (default) the main one, positive ones above it.
        dtype: the dtype of the sum; by default the one that `sum` gives.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array without the last two axes.

    Raises:
        ValueError: `x` has fewer than two axes.

    Example:
        >>> mx.linalg.trace(mx.array([[1, 2], [3, 4]]))
        array(5, dtype=int32)
    """

def vector_norm(x: array, /, *, axis: None | int | Sequence[int] = None, keepdims: bool = False, ord: float = 2, stream: StreamOrDevice = None) -> array:
    """
    Return the norm of the vectors over any number of axes.

    Args:
        x: an array; bool and integers are converted to float32.
        axis: the axis or axes; None (the default) for all.
        keepdims: whether the axes are kept with length 1; False by default.
        ord: the order, any number; 2 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array without the axes.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.linalg.vector_norm(mx.array([3.0, 4.0]))
        array(5, dtype=float32)
    """

def matrix_norm(x: array, /, *, keepdims: bool = False, ord: float | str | None = 'fro', stream: StreamOrDevice = None) -> array:
    """
    Return the norm of the matrices in the last two axes.

    Args:
        x: an array of at least two axes.
        keepdims: whether the axes are kept with length 1; False by default.
        ord: 'fro' (default), 'nuc', 1, -1, 2, -2, inf or -inf.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array without the last two axes.

    Raises:
        ValueError: the order is not accepted.

    Example:
        >>> mx.linalg.matrix_norm(mx.array([[3.0, 0.0], [0.0, 4.0]]))
        array(5, dtype=float32)
    """

def svdvals(x: array, /, *, stream: StreamOrDevice = None) -> array:
    """
    Return the singular values, in descending order.

    Args:
        x: matrices of shape (..., M, N).
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array of shape (..., min(M, N)).

    Raises:
        ValueError: `x` has fewer than two axes.

    Example:
        >>> mx.linalg.svdvals(mx.array([[3.0, 0.0], [0.0, 4.0]]))
        array([4, 3], dtype=float32)
    """

def cond(x: array, p: float | str | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    Return condition numbers of matrices: the norm times that of the inverse.

    Args:
        x: matrices (.., m, n), square unless `p` is None, 2 or -2.
        p: the order of `norm`; None (the default) and 2 are the ratio of the largest and the
            smallest singular value, -2 its inverse.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of the leading axes.

    Raises:
        ValueError: there are fewer than two axes.
        mx.LinAlgError: a matrix is singular; raised by the evaluation.

    Example:
        >>> mx.linalg.cond(mx.array([[2.0, 0.0], [0.0, 1.0]]), stream=mx.cpu)
        array(2, dtype=float32)
    """

def multi_dot(arrays: Sequence[array], *, stream: StreamOrDevice = None) -> array:
    """
    Return the product of several matrices in the order that needs the fewest multiplications.

    Args:
        arrays: matrices; the first and the last may be vectors.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array: a matrix, or less where the ends are vectors.

    Raises:
        ValueError: there are fewer than two arrays, or their shapes do not fit.

    Example:
        >>> mx.linalg.multi_dot([mx.ones((9, 2)), mx.ones((2, 9)), mx.ones((9,))]).shape
        (9,)
    """

def tensorinv(a: array, ind: int = 2, *, stream: StreamOrDevice = None) -> array:
    """
    Return the inverse of a tensor as a matrix of the first axes by the others.

    Args:
        a: an array.
        ind: the number of first axes; 2 by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array whose first axes are the others.

    Raises:
        ValueError: the matrix is not square.
        mx.LinAlgError: a matrix is singular; raised by the evaluation.

    Example:
        >>> mx.linalg.tensorinv(mx.eye(6).reshape(2, 3, 6), stream=mx.cpu).shape
        (6, 2, 3)
    """

def tensorsolve(a: array, b: array, *, stream: StreamOrDevice = None) -> array:
    """
    Return x with `tensordot(a, x, x.ndim) = b`.

    Args:
        a: an array whose first axes are those of `b`.
        b: an array.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape of the other axes.

    Raises:
        ValueError: the shapes do not fit.
        mx.LinAlgError: a matrix is singular; raised by the evaluation.

    Example:
        >>> mx.linalg.tensorsolve(2 * mx.eye(6).reshape(2, 3, 6), mx.ones((2, 3)), stream=mx.cpu)
        array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], dtype=float32)
    """

matrix_exp = expm
