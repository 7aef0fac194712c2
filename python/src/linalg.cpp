// Linear algebra: the submodule mlx.core.linalg.
#include "mlx/linalg.h"

#include "module.h"
#include "named.h"

namespace mlx::python {

namespace {

namespace la = mlx::core::linalg;
#define STREAM "*, stream: StreamOrDevice = None) -> "
#define SINGULAR " Raises LinAlgError, when evaluated, for a singular matrix."

using Order = std::variant<double, std::string>;
using AxisOrAxes = std::optional<std::variant<int, std::vector<int>>>;

array norm(const array& a, const std::optional<Order>& ord, const AxisOrAxes& axis, bool keepdims,
           const StreamOrDevice& s) {
  std::optional<std::vector<int>> axes;
  if (axis) {
    if (auto* one = std::get_if<int>(&*axis)) {
      axes = std::vector<int>{*one};
    } else {
      axes = std::get<1>(*axis);
    }
  }
  if (!ord) return la::norm(a, axes, keepdims, s);
  if (auto* name = std::get_if<std::string>(&*ord)) return la::norm(a, *name, axes, keepdims, s);
  return la::norm(a, std::get<0>(*ord), axes, keepdims, s);
}

#define MLX_NORM(NAME, DOC)                                                                       \
  def(                                                                                            \
      m,                                                                                          \
      NAME                                                                                        \
      "(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, " \
      "keepdims: bool = False, " STREAM "array",                                                  \
      [](const array& a, std::optional<Order>& ord, AxisOrAxes& axis, bool keepdims,              \
         const StreamOrDevice& s) { return norm(a, ord, axis, keepdims, s); },                    \
      DOC);

void bind_factorisations(nb::module_& m) {
  def(
      m, "cholesky(a: array, upper: bool = False, " STREAM "array",
      [](const array& a, bool upper, const StreamOrDevice& s) { return la::cholesky(a, upper, s); },
      "The lower triangular L with a = L @ L.T (conjugated), or the upper U with a = U.T @ U. Only "
      "that triangle is read. Raises LinAlgError, when evaluated, where `a` is not positive "
      "definite.");
  def(
      m, "cholesky_inv(a: array, upper: bool = False, " STREAM "array",
      [](const array& a, bool upper, const StreamOrDevice& s) {
        return la::cholesky_inv(a, upper, s);
      },
      "The inverse of a matrix given its Cholesky factor.");
  def(
      m, "qr(a: array, " STREAM "QRResult",
      [](const array& a, const StreamOrDevice& s) {
        auto [q, r] = la::qr(a, s);
        return linalg_result("QRResult", {q, r});
      },
      "Q (M, K) with orthonormal columns and upper triangular R (K, N), K = min(M, N), with "
      "a = Q @ R.");
  def(
      m, "svd(a: array, compute_uv: bool = True, " STREAM "SVDResult | array",
      [](const array& a, bool vectors, const StreamOrDevice& s) -> nb::object {
        std::vector<array> out = la::svd(a, vectors, s);
        return vectors ? linalg_result("SVDResult", out) : nb::steal(wrap(out[0]));
      },
      "U (M, M), the singular values S in descending order and Vt (N, N); S alone without "
      "`compute_uv`. Vt is conjugated for complex matrices: a = U[:, :K] * S @ Vt[:K].");
  def(
      m, "lu(a: array, " STREAM "tuple[array, array, array]",
      [](const array& a, const StreamOrDevice& s) { return tuple_of(la::lu(a, s)); },
      "Row positions P (uint32), lower triangular L and upper triangular U with a = (L @ U)[P].");
  def(
      m, "lu_factor(a: array, " STREAM "tuple[array, array]",
      [](const array& a, const StreamOrDevice& s) { return la::lu_factor(a, s); },
      "L below and U on and above the diagonal of one matrix, and the row that each row was "
      "exchanged with, as uint32.");
}

void bind_spectra(nb::module_& m) {
  def(
      m, "eigh(a: array, UPLO: str = 'L', " STREAM "EighResult",
      [](const array& a, std::string& uplo, const StreamOrDevice& s) {
        auto [values, vectors] = la::eigh(a, uplo, s);
        return linalg_result("EighResult", {values, vectors});
      },
      "Eigenvalues, ascending, and eigenvectors, as columns, of a symmetric or Hermitian matrix of "
      "which only the lower ('L') or upper ('U') triangle is read.");
  def(
      m, "eigvalsh(a: array, UPLO: str = 'L', " STREAM "array",
      [](const array& a, std::string& uplo, const StreamOrDevice& s) {
        return la::eigvalsh(a, uplo, s);
      },
      "Eigenvalues, ascending, of a symmetric or Hermitian matrix.");
  def(
      m, "eig(a: array, " STREAM "EigResult",
      [](const array& a, const StreamOrDevice& s) {
        auto [values, vectors] = la::eig(a, s);
        return linalg_result("EigResult", {values, vectors});
      },
      "Eigenvalues and eigenvectors, as columns of length 1, of a square matrix; both complex.");
  def(
      m, "eigvals(a: array, " STREAM "array",
      [](const array& a, const StreamOrDevice& s) { return la::eigvals(a, s); },
      "Eigenvalues of a square matrix, complex.");
}

void bind_solutions(nb::module_& m) {
  def(
      m, "solve(a: array, b: array, " STREAM "array",
      [](const array& a, const array& b, const StreamOrDevice& s) { return la::solve(a, b, s); },
      "The x with a @ x = b for b of shape (.., N, K) or (N,); leading axes broadcast." SINGULAR);
  def(
      m,
      "solve_triangular(a: array, b: array, *, upper: bool = False, "
      "stream: StreamOrDevice = None) -> array",
      [](const array& a, const array& b, bool upper, const StreamOrDevice& s) {
        return la::solve_triangular(a, b, upper, s);
      },
      "The x with a @ x = b for a lower or upper triangular `a`; the other triangle is not "
      "read." SINGULAR);
  def(
      m, "inv(a: array, " STREAM "array",
      [](const array& a, const StreamOrDevice& s) { return la::inv(a, s); },
      "The inverse of a square matrix." SINGULAR);
  def(
      m, "tri_inv(a: array, upper: bool = False, " STREAM "array",
      [](const array& a, bool upper, const StreamOrDevice& s) { return la::tri_inv(a, upper, s); },
      "The inverse of a lower or upper triangular matrix; the other triangle is not "
      "read." SINGULAR);
  def(
      m, "pinv(a: array, " STREAM "array",
      [](const array& a, const StreamOrDevice& s) { return la::pinv(a, s); },
      "The Moore-Penrose inverse. Singular values up to 10 * max(M, N) * eps times the largest "
      "count as zero.");
  def(
      m,
      "lstsq(a: array, b: array, rcond: float | None = None, " STREAM
      "tuple[array, array, array, array]",
      [](const array& a, const array& b, std::optional<double> rcond, const StreamOrDevice& s) {
        la::LeastSquares r = la::lstsq(a, b, rcond, s);
        return tuple_of({r.x, r.residuals, r.rank, r.singular_values});
      },
      "The x of least norm for which the norm of b - a @ x is least, the squared norms of the "
      "columns of b - a @ x, the rank of `a` and its singular values, of which those up to `rcond` "
      "(max(M, N) * eps) times the largest count as zero.");
  def(
      m, "det(a: array, " STREAM "array",
      [](const array& a, const StreamOrDevice& s) { return la::det(a, s); },
      "The determinant of a square matrix.");
  def(
      m, "slogdet(a: array, " STREAM "SlogdetResult",
      [](const array& a, const StreamOrDevice& s) {
        auto [sign, log] = la::slogdet(a, s);
        return linalg_result("SlogdetResult", {sign, log});
      },
      "Sign and logarithm of the modulus of the determinant; 0 and -inf for a singular matrix.");
}

void bind_functions(nb::module_& m) {
  MLX_NORM("norm",
           "Norm of vectors along an axis (any order; 2), of matrices in two axes (1, -1, 2, -2, "
           "inf, -inf, 'fro', 'nuc'; 'fro'), or of the whole array.")
  def(
      m, "cross(a: array, b: array, axis: int = -1, " STREAM "array",
      [](const array& a, const array& b, int axis, const StreamOrDevice& s) {
        return la::cross(a, b, axis, s);
      },
      "Cross product of vectors of length 3 along an axis; a missing third component is 0.");
  def(
      m, "matrix_rank(a: array, tol: float | None = None, " STREAM "array",
      [](const array& a, std::optional<double> tol, const StreamOrDevice& s) {
        return la::matrix_rank(a, tol, s);
      },
      "The number of singular values above `tol` (max(M, N) * eps times the largest).");
  def(
      m, "matrix_power(a: array, n: int, " STREAM "array",
      [](const array& a, int n, const StreamOrDevice& s) { return la::matrix_power(a, n, s); },
      "A square matrix multiplied by itself, or its inverse so for a negative `n`.");
  def(
      m, "expm(a: array, " STREAM "array",
      [](const array& a, const StreamOrDevice& s) { return la::expm(a, s); },
      "The matrix exponential of a square matrix.");
}

}  // namespace

void bind_linalg(nb::module_& core) {
  nb::module_ m = core.def_submodule("linalg", "Linear algebra on the last two axes of arrays.");
  bind_factorisations(m);
  bind_spectra(m);
  bind_solutions(m);
  bind_functions(m);
}

void bind_matrix_norm(nb::module_& m) { MLX_NORM("matrix_norm", "The same as linalg.norm.") }

}  // namespace mlx::python
