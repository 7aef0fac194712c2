// Objects that stand for the ops of nodes.
#pragma once

#include <memory>

#include "mlx/core/node.h"
#include "mlx/ops/custom.h"

namespace mlx::core {

/// The op of a node, as an object of the class with its published name (compat/primitives.h).
std::shared_ptr<Primitive> op_primitive_of(const Node& n);

}  // namespace mlx::core
