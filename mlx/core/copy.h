// Nodes like other nodes.
#pragma once

#include "mlx/core/array.h"

namespace mlx::core {

/// A node like `n` over other inputs.
array copy_node(const Node& n, const Arrays& inputs);
/// True where two nodes have as many results, of the same shapes and dtypes.
bool same_parts(const Node& a, const Node& b);

}  // namespace mlx::core
