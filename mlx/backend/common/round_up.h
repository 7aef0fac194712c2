// Divisions that round up.
#pragma once

#include <cstdint>

namespace mlx::core {

/// The least number of parts of `b` elements that hold `a`.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The least multiple of `b` that is not below `a`.
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

}  // namespace mlx::core
