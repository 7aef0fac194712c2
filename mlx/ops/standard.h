// Functions of the array API standard, composed of the other families.
#pragma once

#include <optional>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// True if the sign bit is set: negative numbers, -0.0 and some NaN. Real dtypes.
MLX_API array signbit(const array& a, StreamOrDevice s = {});
/// |a| with the sign of b; floating.
MLX_API array copysign(const array& a, const array& b, StreamOrDevice s = {});
/// sqrt(a^2 + b^2) without overflow; floating. Infinite if a or b is.
MLX_API array hypot(const array& a, const array& b, StreamOrDevice s = {});
/// The next floating number after a towards b.
MLX_API array nextafter(const array& a, const array& b, StreamOrDevice s = {});

/// NaN and infinities replaced, by default by 0 and the largest finite numbers; complex parts
/// separately.
MLX_API array finite_numbers(const array& a, double nan, std::optional<double> posinf,
                             std::optional<double> neginf, StreamOrDevice s = {});

/// In descending order along an axis; the sort of indices is stable.
MLX_API array sort_descending(const array& a, int axis, StreamOrDevice s = {});
MLX_API array argsort_descending(const array& a, int axis, StreamOrDevice s = {});

/// Cumulative sums and products preceded by the neutral element, one longer than the axis. Without
/// an axis, at most one dimension is accepted.
MLX_API array cumsum_from_zero(const array& a, std::optional<int> axis, std::optional<Dtype> dtype,
                               StreamOrDevice s = {});
MLX_API array cumprod_from_one(const array& a, std::optional<int> axis, std::optional<Dtype> dtype,
                               StreamOrDevice s = {});

/// Slice i along an axis repeated counts[i] times, for 1-D counts of the axis length, or one count
/// for all. Evaluates the counts.
MLX_API array repeat(const array& a, const array& counts, int axis, StreamOrDevice s = {});
/// Axes moved to other positions; the others keep their order.
MLX_API array moveaxis(const array& a, const std::vector<int>& source,
                       const std::vector<int>& destination, StreamOrDevice s = {});

/// NumPy's dot: the product if an operand is a scalar, else the sums of products over the last axis
/// of `a` and the last but one of `b`, or its only one.
MLX_API array dot(const array& a, const array& b, StreamOrDevice s = {});

}  // namespace mlx::core
