// Limits of the 16-bit floating types.
#pragma once

#include <limits>

#include "mlx/core/half.h"

namespace std {

template <>
struct numeric_limits<mlx::core::float16_t> {
  using T = mlx::core::float16_t;
  static constexpr bool is_specialized = true, is_signed = true, has_infinity = true,
                        has_quiet_NaN = true;
  static constexpr int digits = 11;
  static constexpr T lowest() { return T(-65504.0f); }
  static constexpr T max() { return T(65504.0f); }
  static constexpr T min() { return T(0x1p-14f); }
  static constexpr T epsilon() { return T(0x1p-10f); }
  static constexpr T infinity() { return T(numeric_limits<float>::infinity()); }
  static constexpr T quiet_NaN() { return T(numeric_limits<float>::quiet_NaN()); }
};

template <>
struct numeric_limits<mlx::core::bfloat16_t> {
  using T = mlx::core::bfloat16_t;
  static constexpr bool is_specialized = true, is_signed = true, has_infinity = true,
                        has_quiet_NaN = true;
  static constexpr int digits = 8;
  static constexpr T lowest() { return T(-0x1.fep127f); }
  static constexpr T max() { return T(0x1.fep127f); }
  static constexpr T min() { return T(0x1p-126f); }
  static constexpr T epsilon() { return T(0x1p-7f); }
  static constexpr T infinity() { return T(numeric_limits<float>::infinity()); }
  static constexpr T quiet_NaN() { return T(numeric_limits<float>::quiet_NaN()); }
};

}  // namespace std
