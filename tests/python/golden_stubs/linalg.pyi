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
    The lower triangular L with a = L @ L.T (conjugated), or the upper U with a = U.T @ U. Only that triangle is read. Raises LinAlgError, when evaluated, where `a` is not positive definite.
    """

def cholesky_inv(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The inverse of a matrix given its Cholesky factor."""

@overload
def qr(a: array, *, stream: StreamOrDevice = None) -> QRResult:
    """
    Q (M, K) with orthonormal columns and upper triangular R (K, N), K = min(M, N), with a = Q @ R.
    """

@overload
def qr(x: array, /, *, mode: str, stream: StreamOrDevice = None) -> QRResult:
    """With mode 'complete' Q is (M, M) and R (M, N)."""

@overload
def svd(a: array, compute_uv: Literal[True] = True, *, stream: StreamOrDevice = None) -> SVDResult: ...

@overload
def svd(a: array, compute_uv: Literal[False], *, stream: StreamOrDevice = None) -> array: ...

@overload
def svd(a: array, compute_uv: bool, *, stream: StreamOrDevice = None) -> SVDResult | array:
    """
    U (M, M), the singular values S in descending order and Vt (N, N); S alone without `compute_uv`. Vt is conjugated for complex matrices: a = U[:, :K] * S @ Vt[:K].
    """

@overload
def svd(x: array, /, *, full_matrices: bool, stream: StreamOrDevice = None) -> SVDResult:
    """
    With `full_matrices` False only the first K columns of U and rows of Vt.
    """

def lu(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array, array]:
    """
    Row positions P (uint32), lower triangular L and upper triangular U with a = (L @ U)[P].
    """

def lu_factor(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """
    L below and U on and above the diagonal of one matrix, and the row that each row was exchanged with, as uint32.
    """

def eigh(a: array, UPLO: str = 'L', *, stream: StreamOrDevice = None) -> EighResult:
    """
    Eigenvalues, ascending, and eigenvectors, as columns, of a symmetric or Hermitian matrix of which only the lower ('L') or upper ('U') triangle is read.
    """

def eigvalsh(a: array, UPLO: str = 'L', *, stream: StreamOrDevice = None) -> array:
    """Eigenvalues, ascending, of a symmetric or Hermitian matrix."""

def eig(a: array, *, stream: StreamOrDevice = None) -> EigResult:
    """
    Eigenvalues and eigenvectors, as columns of length 1, of a square matrix; both complex.
    """

def eigvals(a: array, *, stream: StreamOrDevice = None) -> array:
    """Eigenvalues of a square matrix, complex."""

def solve(a: array, b: array, *, stream: StreamOrDevice = None) -> array:
    """
    The x with a @ x = b for b of shape (.., N, K) or (N,); leading axes broadcast. Raises LinAlgError, when evaluated, for a singular matrix.
    """

def solve_triangular(a: array, b: array, *, upper: bool = False, stream: StreamOrDevice = None) -> array:
    """
    The x with a @ x = b for a lower or upper triangular `a`; the other triangle is not read. Raises LinAlgError, when evaluated, for a singular matrix.
    """

def inv(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    The inverse of a square matrix. Raises LinAlgError, when evaluated, for a singular matrix.
    """

def tri_inv(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    The inverse of a lower or upper triangular matrix; the other triangle is not read. Raises LinAlgError, when evaluated, for a singular matrix.
    """

@overload
def pinv(a: array, *, stream: StreamOrDevice = None) -> array:
    """
    The Moore-Penrose inverse. Singular values up to 10 * max(M, N) * eps times the largest count as zero.
    """

@overload
def pinv(x: array, /, *, rtol: float | array | None, stream: StreamOrDevice = None) -> array:
    """
    Singular values up to `rtol`, one number for each matrix, times the largest count as zero.
    """

def lstsq(a: array, b: array, rcond: float | None = None, *, stream: StreamOrDevice = None) -> tuple[array, array, array, array]:
    """
    The x of least norm for which the norm of b - a @ x is least, the squared norms of the columns of b - a @ x, the rank of `a` and its singular values, of which those up to `rcond` (max(M, N) * eps) times the largest count as zero.
    """

def det(a: array, *, stream: StreamOrDevice = None) -> array:
    """The determinant of a square matrix."""

def slogdet(a: array, *, stream: StreamOrDevice = None) -> SlogdetResult:
    """
    Sign and logarithm of the modulus of the determinant; 0 and -inf for a singular matrix.
    """

def norm(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """
    Norm of vectors along an axis (any order; 2), of matrices in two axes (1, -1, 2, -2, inf, -inf, 'fro', 'nuc'; 'fro'), or of the whole array.
    """

def cross(a: array, b: array, axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """
    Cross product of vectors of length 3 along an axis; a missing third component is 0.
    """

@overload
def matrix_rank(a: array, tol: float | None = None, *, stream: StreamOrDevice = None) -> array:
    """
    The number of singular values above `tol` (max(M, N) * eps times the largest).
    """

@overload
def matrix_rank(x: array, /, *, rtol: float | array | None, stream: StreamOrDevice = None) -> array:
    """
    The number of singular values above `rtol`, one number for each matrix, times the largest.
    """

def matrix_power(a: array, n: int, *, stream: StreamOrDevice = None) -> array:
    """
    A square matrix multiplied by itself, or its inverse so for a negative `n`.
    """

def expm(a: array, *, stream: StreamOrDevice = None) -> array:
    """The matrix exponential of a square matrix."""

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
    Products of the vectors along an axis, the first conjugated, summed in their dtype.
    """

def matrix_transpose(x: array, /, *, stream: StreamOrDevice = None) -> array:
    """Swaps the last two axes."""

def diagonal(x: array, /, *, offset: int = 0, stream: StreamOrDevice = None) -> array:
    """The diagonals of matrices in the last two axes."""

def trace(x: array, /, *, offset: int = 0, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """The sums of the diagonals of matrices in the last two axes."""

def vector_norm(x: array, /, *, axis: None | int | Sequence[int] = None, keepdims: bool = False, ord: float = 2, stream: StreamOrDevice = None) -> array:
    """
    Norm of any order of the vectors over any number of axes, or of all elements.
    """

def matrix_norm(x: array, /, *, keepdims: bool = False, ord: float | str | None = 'fro', stream: StreamOrDevice = None) -> array:
    """
    Norm of the matrices in the last two axes: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.
    """

def svdvals(x: array, /, *, stream: StreamOrDevice = None) -> array:
    """The singular values, in descending order."""
