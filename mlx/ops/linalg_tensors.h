// Condition numbers, products of several matrices, and tensors as matrices.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core::linalg {

/// The order of a matrix norm; none: by singular values.
using NormOrder = std::optional<std::variant<double, std::string>>;

/// The norm of matrices times that of their inverses; of order 2 by default, and for orders 2 and
/// -2 the ratio of singular values, of any matrices.
MLX_API array cond(const array& a, const NormOrder& order = {}, StreamOrDevice s = {});
/// The product of matrices, of which the first and the last may be vectors, in the order that needs
/// the fewest multiplications.
MLX_API array multi_dot(const std::vector<array>& arrays, StreamOrDevice s = {});
/// The inverse of a tensor as a matrix of the first `ind` axes by the others.
MLX_API array tensorinv(const array& a, int ind = 2, StreamOrDevice s = {});
/// x with tensordot(a, x, x.ndim) = b.
MLX_API array tensorsolve(const array& a, const array& b, StreamOrDevice s = {});

}  // namespace mlx::core::linalg
