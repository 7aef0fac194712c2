// Einstein summation: subscripts to a sequence of products of two operands.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Sums of products by subscripts such as "ij,jk->ik". "..." stands for axes that broadcast; an
/// axis of length 1 broadcasts too. Without "->" the result has the letters that occur once, in
/// alphabetical order. The order of the products is that of einsum_path.
MLX_API array einsum(const std::string& subscripts, const std::vector<array>& operands,
                     StreamOrDevice s = {});

/// The contraction order of einsum: indices into the list of operands, from which the contracted
/// operands are removed and to which the result is appended; and a description of its cost. The
/// order is optimal for up to 8 operands, greedy for more.
MLX_API std::pair<std::vector<std::vector<int>>, std::string> einsum_path(
    const std::string& subscripts, const std::vector<array>& operands);

}  // namespace mlx::core
