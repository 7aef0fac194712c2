// Divisors known in advance: which divisions by a constant can be done without dividing.
#pragma once

#include "mlx/core/api.h"

namespace mlx::core::cpu {

/// True where x / c == x * (1 / c) for every float x: powers of two whose reciprocal is normal.
bool divides_exactly(float c);

/// 1 / c in two parts such that fma(x, high, x * low) is x / c, rounded as division rounds it, for
/// every x with 2^-60 < |x| < 2^60; false where there are none, or c is not within 2^-40 .. 2^40.
/// After Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when
/// the divisor is known in advance" (2004): what may fail is tried out.
MLX_API bool reciprocal_parts(float c, float& high, float& low);

}  // namespace mlx::core::cpu
