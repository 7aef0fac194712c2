// Helpers shared by the rules of several op families.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core::rules {

/// Outputs of a batched op, and the batch axis of each.
using Batched = std::pair<Arrays, std::vector<int>>;

/// `g` summed over the axes along which `shape` was broadcast to the shape of `g`.
array sum_to(const array& g, const Shape& shape, Stream s);
/// `x` with its mapped axis first; `x` itself if axis is -1.
array to_front(const array& x, int axis, Stream s);
/// `x` with its mapped axis first, or broadcast along a first axis of length `n` if axis is -1.
array with_batch(const array& x, int axis, int64_t n, Stream s);
/// The common length of the mapped axes.
int64_t batch_size(const Arrays& inputs, const std::vector<int>& axes);
/// A shape or list of axes with one more entry in front.
MLX_API Shape prepend(int64_t first, const Shape& rest);
/// Axes of a shape with one more axis in front.
std::vector<int> shifted(const std::vector<int>& axes);
/// Passes the cotangent through: for ops that keep shape, dtype and elements.
Arrays identity_vjp(const RuleArgs& r);
/// The sum of two cotangents of one array. Cotangents of slices are written into one array of
/// zeros.
array sum_of_cotangents(const array& a, const array& b, Stream s);
/// A scalar zero.
MLX_API array zero(Dtype dtype);

}  // namespace mlx::core::rules
