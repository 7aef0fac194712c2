// Functions of jax.lax that differ from NumPy's and MLX's in their arguments, composed of other
// ops.
#pragma once

#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// The slice of the given lengths that starts at `start`, an integer for each axis. Negative ones
/// count from the end; then they are limited so that the slice is within the array.
MLX_API array dynamic_slice(const array& a, const array& start, const Shape& sizes,
                            StreamOrDevice s = {});
/// The array with such a slice replaced.
MLX_API array dynamic_update_slice(const array& a, const array& update, const array& start,
                                   StreamOrDevice s = {});
/// The k largest elements along the last axis in descending order, and their indices (int32); equal
/// ones in the order of their indices.
MLX_API std::pair<array, array> top_k(const array& a, int64_t k, StreamOrDevice s = {});
/// Keys sorted along an axis, and values in the same order; equal keys keep their order.
MLX_API std::pair<array, array> sort_key_val(const array& keys, const array& values, int axis = -1,
                                             StreamOrDevice s = {});
/// The bits of the elements as another dtype: narrower ones along a new last axis, wider ones made
/// of the last axis.
MLX_API array bitcast_convert_type(const array& a, Dtype dtype, StreamOrDevice s = {});
/// The array with new axes of these lengths in front.
MLX_API array broadcast(const array& a, const Shape& sizes, StreamOrDevice s = {});

/// Axes of both operands.
struct DotAxes {
  std::vector<int> contract_a, contract_b, batch_a, batch_b;
};
/// Products summed over the contracted axes, for each index of the batch axes, which come first in
/// the result; then the other axes of `a` and of `b`.
MLX_API array dot_general(const array& a, const array& b, const DotAxes& axes,
                          StreamOrDevice s = {});

}  // namespace mlx::core
