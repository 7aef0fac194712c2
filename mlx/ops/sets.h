// Sets of NumPy: sorted distinct elements of two flattened arrays. The lengths of results depend on
// values, so that the arrays are evaluated; a traced function cannot use them.
#pragma once

#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Elements of a or b; of both; of a but not b; of one of them.
MLX_API array union1d(const array& a, const array& b, StreamOrDevice s = {});
MLX_API array intersect1d(const array& a, const array& b, StreamOrDevice s = {});
MLX_API array setdiff1d(const array& a, const array& b, StreamOrDevice s = {});
MLX_API array setxor1d(const array& a, const array& b, StreamOrDevice s = {});
/// intersect1d, and the indices of the first occurrences in the flattened arrays.
MLX_API std::vector<array> intersect1d_indices(const array& a, const array& b,
                                               StreamOrDevice s = {});
/// A vector without the zeros at its front or its back.
MLX_API array trim_zeros(const array& a, bool front, bool back, StreamOrDevice s = {});

}  // namespace mlx::core
