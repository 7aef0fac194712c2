// Linear algebra made of other operations: norms, cross products, least squares, powers, ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core::linalg {

/// Norm over one axis (a vector's), two (a matrix's), or all of an array of up to two where none
/// are given. Vectors: any order, infinite and 0 included. Matrices: 1, -1, 2, -2, ±inf, "fro",
/// "nuc". Complex arrays give real norms, integers float32; 16-bit floats are computed in float32.
MLX_API array norm(const array& a, const double ord,
                   const std::optional<std::vector<int>>& axis = {}, bool keepdims = false,
                   StreamOrDevice s = {});
MLX_API array norm(const array& a, const std::string& ord,
                   const std::optional<std::vector<int>>& axis = {}, bool keepdims = false,
                   StreamOrDevice s = {});
/// The root of the sum of squares, over one or two axes or all of them.
MLX_API array norm(const array& a, const std::optional<std::vector<int>>& axis = {},
                   bool keepdims = false, StreamOrDevice s = {});
inline array norm(const array& a, const double ord, int axis, bool keepdims = false,
                  StreamOrDevice s = {}) {
  return norm(a, ord, std::vector<int>{axis}, keepdims, s);
}
inline array norm(const array& a, const std::string& ord, int axis, bool keepdims = false,
                  StreamOrDevice s = {}) {
  return norm(a, ord, std::vector<int>{axis}, keepdims, s);
}
inline array norm(const array& a, int axis, bool keepdims = false, StreamOrDevice s = {}) {
  return norm(a, std::vector<int>{axis}, keepdims, s);
}

/// Norm of the vectors over any number of axes, or of all elements; any order.
MLX_API array vector_norm(const array& a, double ord,
                          const std::optional<std::vector<int>>& axes = {}, bool keepdims = false,
                          StreamOrDevice s = {});
/// Q (M, M) and R (M, N), where qr() gives min(M, N) columns and rows.
MLX_API std::pair<array, array> complete_qr(const array& a, StreamOrDevice s = {});
/// The Moore-Penrose inverse and the rank, where singular values up to `rtol`, one number for each
/// matrix, times the largest count as zero.
MLX_API array pinv(const array& a, const array& rtol, StreamOrDevice s = {});
MLX_API array matrix_rank(const array& a, const array& rtol, StreamOrDevice s = {});

/// The cross product of vectors of length 3, or 2 (the third component being 0), along an axis.
MLX_API array cross(const array& a, const array& b, int axis = -1, StreamOrDevice s = {});

/// What a least-squares problem gives.
struct LeastSquares {
  array x;          ///< of least norm among those that make the norm of b - a · x least
  array residuals;  ///< squared norms of the columns of b - a · x
  array rank;       ///< of a, int32
  array singular_values;
};
/// Solves a · x ≈ b. Singular values of `a` up to `rcond` times the largest count as zero; where it
/// is not given, up to max(M, N) units of the dtype's precision.
MLX_API LeastSquares lstsq(const array& a, const array& b, std::optional<double> rcond = {},
                           StreamOrDevice s = {});
/// The number of singular values above `tol`; where it is not given, above the largest times
/// max(M, N) units of the dtype's precision. int32.
MLX_API array matrix_rank(const array& a, std::optional<double> tol = {}, StreamOrDevice s = {});
/// `a` multiplied by itself; the inverse so for a negative `n`, the identity for 0.
MLX_API array matrix_power(const array& a, int n, StreamOrDevice s = {});

}  // namespace mlx::core::linalg
