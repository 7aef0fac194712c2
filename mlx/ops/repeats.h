// Arrays that repeat elements, as the operands of products.
#pragma once

#include "mlx/core/array.h"

namespace mlx::core {

/// `a`, in memory of its own where it is a view that repeats elements. Products round by how their
/// operands lie: an op that transposes an operand before the product transposes what the operand
/// would be once it is evaluated.
array spelled_out(const array& a, Stream s);

}  // namespace mlx::core
