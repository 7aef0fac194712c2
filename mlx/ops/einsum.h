// Einstein summation: subscripts to a sequence of products of two operands.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Sums of products by subscripts such as "ij,jk->ik"; "..." stands for axes that broadcast, an
/// axis of length 1 broadcasts too, and without "->" the letters that occur once are the result's,
/// in order. The order of the products comes from einsum_path.
MLX_API array einsum(const std::string& subscripts, const std::vector<array>& operands,
                     StreamOrDevice s = {});

/// The order in which einsum contracts: positions in the list of operands, from which the
/// contracted ones go and to whose end the result comes; and a description of its cost. The
/// cheapest order for up to 8 operands, else a greedy one.
MLX_API std::pair<std::vector<std::vector<int>>, std::string> einsum_path(
    const std::string& subscripts, const std::vector<array>& operands);

}  // namespace mlx::core
