// Materialization of views that repeat elements, for operands of products.
#pragma once

#include "mlx/core/array.h"

namespace mlx::core {

/// `a`, copied to a buffer of its own if it is a view that repeats elements. Products round by the
/// memory order of their operands: an op that transposes an operand before the product must
/// transpose what the operand would be after evaluation.
array materialized(const array& a, Stream s);

}  // namespace mlx::core
