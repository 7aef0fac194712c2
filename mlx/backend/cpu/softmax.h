// Softmax of contiguous operands that are not empty.
#pragma once

#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

inline constexpr double kExpNs = 0.5;  ///< one exponential on one thread

/// Softmax of `count` rows of n elements; `out` may be `in`.
void softmax_rows(const char* in, Dtype type, int64_t n, int64_t count, char* out);

/// Softmax over an axis that has several positions behind it.
void softmax_columns(const View& in, const View& out, int axis);

}  // namespace mlx::core::cpu
