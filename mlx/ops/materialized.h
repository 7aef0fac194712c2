// Materialization of filled arrays (ones, full), for operands of products.
#pragma once

#include "mlx/core/array.h"

namespace mlx::core {

/// `a`, copied to another buffer if evaluation would do so. Products round by the memory order of
/// their operands: an op that transposes an operand before the product must transpose the operand
/// as evaluation would store it.
array materialized(const array& a, Stream s);

/// The transpose of `materialized(a)` over the last two axes, conjugated where it is complex.
array conjugate_transpose(const array& a, Stream s);

}  // namespace mlx::core
