// Factorisations, inverses, solves and eigenvalue problems of matrices: the last two axes of an
// array, with batch axes before them. float32, float64 and complex dtypes, each in its own
// precision. Evaluation raises LinAlgError for a matrix without the requested factorisation or
// inverse, and for NaN or infinite elements that would prevent an iteration from converging.
//
// Derivatives of functions of Hermitian matrices are taken along Hermitian directions: cotangents
// are Hermitian. The ambiguity of singular vectors and eigenvectors (their phase, and rotations
// within the space of equal values) has no derivative: that component is zero.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

namespace linalg {

/// The lower triangular L with a = L · Lᴴ, or with `upper` the U with a = Uᴴ · U. Only that
/// triangle of the Hermitian positive definite `a` is read.
MLX_API array cholesky(const array& a, bool upper = false, StreamOrDevice s = {});
/// The inverse of a Hermitian matrix from its Cholesky factor.
MLX_API array cholesky_inv(const array& a, bool upper = false, StreamOrDevice s = {});
/// Q (M, K) with orthonormal columns and the upper triangular R (K, N) with a = Q · R, where K is
/// the smaller of M and N.
MLX_API std::pair<array, array> qr(const array& a, StreamOrDevice s = {});
/// U (M, M), the singular values in descending order, and Vᴴ (N, N); or the singular values alone.
MLX_API std::vector<array> svd(const array& a, bool compute_uv, StreamOrDevice s = {});
inline std::vector<array> svd(const array& a, StreamOrDevice s = {}) { return svd(a, true, s); }
/// The same with the first min(M, N) columns of U and rows of Vᴴ only.
MLX_API std::vector<array> thin_svd(const array& a, StreamOrDevice s = {});
/// Eigenvalues, ascending, and eigenvectors, as columns, of a Hermitian matrix; only the lower
/// (UPLO "L") or upper ("U") triangle is read.
MLX_API std::pair<array, array> eigh(const array& a, std::string UPLO = "L", StreamOrDevice s = {});
MLX_API array eigvalsh(const array& a, std::string UPLO = "L", StreamOrDevice s = {});
/// Eigenvalues and eigenvectors, as columns of length 1, of any square matrix; complex.
MLX_API std::pair<array, array> eig(const array& a, StreamOrDevice s = {});
MLX_API array eigvals(const array& a, StreamOrDevice s = {});
/// The row permutation P (uint32), L and U: row i of `a` is row P[i] of L · U.
MLX_API std::vector<array> lu(const array& a, StreamOrDevice s = {});
/// L below the diagonal and U on and above it in one matrix, and, as uint32, the row that each row
/// was exchanged with.
MLX_API std::pair<array, array> lu_factor(const array& a, StreamOrDevice s = {});

/// The x with a · x = b; b is a vector or a matrix, leading axes broadcast.
MLX_API array solve(const array& a, const array& b, StreamOrDevice s = {});
/// The same for a lower or upper triangular matrix; the other triangle is not read.
MLX_API array solve_triangular(const array& a, const array& b, bool upper = false,
                               StreamOrDevice s = {});
MLX_API array inv(const array& a, StreamOrDevice s = {});
/// The inverse of a lower or upper triangular matrix; the other triangle is not read.
MLX_API array tri_inv(const array& a, bool upper = false, StreamOrDevice s = {});
/// The Moore-Penrose inverse; singular values up to `rcond` times the largest are treated as zero
/// (negative: max(M, N) times 10 units of the dtype's precision).
MLX_API array pinv(const array& a, double rcond, StreamOrDevice s = {});
MLX_API array pinv(const array& a, StreamOrDevice s = {});
/// Integers give float32; 16-bit floats are computed in float32.
MLX_API array det(const array& a, StreamOrDevice s = {});
/// Sign (for complex matrices a number of modulus 1) and logarithm of the absolute value of the
/// determinant; 0 and -inf for a singular matrix.
MLX_API std::pair<array, array> slogdet(const array& a, StreamOrDevice s = {});
/// The matrix exponential: scaling and squaring of a Padé approximant (Higham 2005).
MLX_API array expm(const array& a, StreamOrDevice s = {});

}  // namespace linalg

struct TriangleAttrs {
  bool upper;
  template <class F>
  void each(F&& f) {
    f("upper", upper);
  }
};
/// Whether U and Vᴴ are square.
struct SvdAttrs {
  bool full;
  template <class F>
  void each(F&& f) {
    f("full", full);
  }
};
struct PinvAttrs {
  double rcond;
  template <class F>
  void each(F&& f) {
    f("rcond", rcond);
  }
};

/// One matrix to one matrix.
extern const OpDef op_cholesky, op_inv, op_tri_inv, op_pinv, op_expm;
/// Inputs: a matrix and the right-hand sides as a matrix, with equal leading axes.
extern const OpDef op_solve, op_solve_triangular;
/// Results: (Q, R); (U, S, Vᴴ); (values, vectors) twice; (packed, exchanges, row permutation);
/// (sign, log).
extern const OpDef op_qr, op_svd, op_eigh, op_eig, op_lu, op_slogdet;
/// Eigenvalues or singular values alone; the determinant and its matrix of derivatives.
extern const OpDef op_svdvals, op_eigvalsh, op_eigvals, op_det, op_cofactors;

namespace rules {
Arrays cholesky_jvp(const RuleArgs&);
Arrays inv_jvp(const RuleArgs&);
Arrays tri_inv_jvp(const RuleArgs&);
Arrays pinv_jvp(const RuleArgs&);
Arrays expm_jvp(const RuleArgs&);
Arrays expm_vjp(const RuleArgs&);
Arrays solve_jvp(const RuleArgs&);
Arrays solve_vjp(const RuleArgs&);
Arrays solve_triangular_jvp(const RuleArgs&);
Arrays solve_triangular_vjp(const RuleArgs&);
Arrays qr_jvp(const RuleArgs&);
Arrays svd_jvp(const RuleArgs&);
Arrays svdvals_jvp(const RuleArgs&);
Arrays eigh_jvp(const RuleArgs&);
Arrays eigvalsh_jvp(const RuleArgs&);
Arrays eig_jvp(const RuleArgs&);
Arrays eigvals_jvp(const RuleArgs&);
Arrays lu_jvp(const RuleArgs&);
Arrays det_jvp(const RuleArgs&);
Arrays cofactors_jvp(const RuleArgs&);
Arrays slogdet_jvp(const RuleArgs&);
}  // namespace rules

}  // namespace mlx::core
