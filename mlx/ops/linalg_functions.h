// Linear algebra composed of other operations: norms, cross products, least squares, powers, ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core::linalg {

/// Norm over one axis (vector norm), two axes (matrix norm), or all axes of an array of rank up to
/// two if none are given. Vector orders: any, infinite and 0 included. Matrix orders: 1, -1, 2, -2,
/// ±inf, "fro", "nuc". Complex arrays give real norms, integers float32; 16-bit floats are computed
/// in float32.
MLX_API array norm(const array& a, const double ord,
                   const std::optional<std::vector<int>>& axis = {}, bool keepdims = false,
                   StreamOrDevice s = {});
MLX_API array norm(const array& a, const std::string& ord,
                   const std::optional<std::vector<int>>& axis = {}, bool keepdims = false,
                   StreamOrDevice s = {});
/// The square root of the sum of squares, over one or two axes or all of them.
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

/// Vector norm over any number of axes, or of all elements; any order.
MLX_API array vector_norm(const array& a, double ord,
                          const std::optional<std::vector<int>>& axes = {}, bool keepdims = false,
                          StreamOrDevice s = {});
/// Q (M, M) and R (M, N); qr() gives min(M, N) columns and rows.
MLX_API std::pair<array, array> complete_qr(const array& a, StreamOrDevice s = {});
/// The Moore-Penrose inverse; singular values up to `rtol` times the largest, with one `rtol` per
/// matrix, are treated as zero. Also returns the rank.
MLX_API array pinv(const array& a, const array& rtol, StreamOrDevice s = {});
MLX_API array matrix_rank(const array& a, const array& rtol, StreamOrDevice s = {});

/// The cross product of vectors of length 3, or 2 (with a third component of 0), along an axis.
MLX_API array cross(const array& a, const array& b, int axis = -1, StreamOrDevice s = {});

/// The results of lstsq.
struct LeastSquares {
  array x;          ///< the minimum-norm solution
  array residuals;  ///< squared norms of the columns of b - a · x
  array rank;       ///< of a, int32
  array singular_values;
};
/// Solves a · x ≈ b. Singular values of `a` up to `rcond` times the largest are treated as zero;
/// the default is max(M, N) units of the dtype's precision.
MLX_API LeastSquares lstsq(const array& a, const array& b, std::optional<double> rcond = {},
                           StreamOrDevice s = {});
/// The number of singular values above `tol`; the default is the largest times max(M, N) units of
/// the dtype's precision. int32.
MLX_API array matrix_rank(const array& a, std::optional<double> tol = {}, StreamOrDevice s = {});
/// The matrix power; negative `n` uses the inverse, 0 gives the identity.
MLX_API array matrix_power(const array& a, int n, StreamOrDevice s = {});

}  // namespace mlx::core::linalg
