// Divisions by constants that can be computed without dividing.
#pragma once

#include "mlx/core/api.h"

namespace mlx::core::cpu {

/// True if x / c == x * (1 / c) for every float x: powers of two whose reciprocal is normal.
bool divides_exactly(float c);

/// 1 / c in two parts: the nearest float, and what is left, rounded. False if c is not within
/// 2^-40 .. 2^40.
MLX_API bool split_reciprocal(float c, float& high, float& low);

/// 1 / c in two parts such that fma(x, high, x * low) equals the rounded quotient x / c for every x
/// with 2^-60 < |x| < 2^60; false if there are none, or if c is not within 2^-40 .. 2^40. After
/// Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the
/// divisor is known in advance" (2004); the candidates that may fail are tested.
MLX_API bool reciprocal_parts(float c, float& high, float& low);

}  // namespace mlx::core::cpu
