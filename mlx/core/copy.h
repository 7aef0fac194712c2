// Copies of nodes over other inputs.
#pragma once

#include "mlx/core/array.h"

namespace mlx::core {

/// A node with the op, attributes, shape and dtype of `n` and other inputs.
array copy_node(const Node& n, const Arrays& inputs);
/// True if two nodes have the same number of results, with equal shapes and dtypes.
bool same_outputs(const Node& a, const Node& b);

}  // namespace mlx::core
