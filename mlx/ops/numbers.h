// Elementwise functions of NumPy, composed of the ops of the table. Operands broadcast and are
// promoted.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// 2^a; inexact.
MLX_API array exp2(const array& a, StreamOrDevice s = {});
/// The larger or smaller element; a number where the other is NaN. Real dtypes.
MLX_API array fmax(const array& a, const array& b, StreamOrDevice s = {});
MLX_API array fmin(const array& a, const array& b, StreamOrDevice s = {});
/// The exact remainder with the sign of a; 0 for an integer divided by zero. Real dtypes.
MLX_API array fmod(const array& a, const array& b, StreamOrDevice s = {});
/// 0 for negative elements of a, 1 for positive ones, b at 0; floating.
MLX_API array heaviside(const array& a, const array& b, StreamOrDevice s = {});
/// The least common multiple of the magnitudes of integers; wraps.
MLX_API array lcm(const array& a, const array& b, StreamOrDevice s = {});
/// log2(2^a + 2^b) without overflow; inexact.
MLX_API array logaddexp2(const array& a, const array& b, StreamOrDevice s = {});
/// The angle of complex numbers in radians; 0 or pi for real ones.
MLX_API array angle(const array& a, StreamOrDevice s = {});

}  // namespace mlx::core
