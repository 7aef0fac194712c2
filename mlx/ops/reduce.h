// Reductions: sums, products, extrema, all/any, means and their compositions, over all axes, one
// axis or several. Negative axes count from the end; reduced axes are dropped, or keep length 1
// with `keepdims`. 16-bit floats are accumulated in float32.
#pragma once

#include <tuple>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/reduce_kind.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

#define MLX_REDUCTION(name)                                                               \
  MLX_API array name(const array& a, const std::vector<int>& axes, bool keepdims = false, \
                     StreamOrDevice s = {});                                              \
  MLX_API array name(const array& a, bool keepdims, StreamOrDevice s = {});               \
  MLX_API array name(const array& a, StreamOrDevice s = {});                              \
  MLX_API array name(const array& a, int axis, bool keepdims = false, StreamOrDevice s = {});
/// Sum, in at least 32 bits; 0 for empty input.
MLX_REDUCTION(sum)
/// Product, in at least 32 bits; 1 for empty input.
MLX_REDUCTION(prod)
/// Largest element, NaN if there is one; throws ValueError for empty input.
MLX_REDUCTION(max)
/// Smallest element, NaN if there is one; throws ValueError for empty input.
MLX_REDUCTION(min)
/// True if every element is nonzero.
MLX_REDUCTION(all)
/// True if some element is nonzero.
MLX_REDUCTION(any)
/// Mean in floating point; NaN for empty input.
MLX_REDUCTION(mean)
/// Middle of the sorted elements, or the mean of the two middle ones; NaN if there is one. Throws
/// ValueError for empty input.
MLX_REDUCTION(median)
/// Number of nonzero elements, in int32.
MLX_REDUCTION(count_nonzero)
#undef MLX_REDUCTION

#define MLX_SPREAD(name)                                                                  \
  MLX_API array name(const array& a, const std::vector<int>& axes, bool keepdims = false, \
                     int ddof = 0, StreamOrDevice s = {});                                \
  MLX_API array name(const array& a, bool keepdims, int ddof = 0, StreamOrDevice s = {}); \
  MLX_API array name(const array& a, StreamOrDevice s = {});                              \
  MLX_API array name(const array& a, int axis, bool keepdims = false, int ddof = 0,       \
                     StreamOrDevice s = {});
/// Mean squared distance from the mean, divided by n - correction instead of n. If that is not
/// positive, the result is `beyond` times the mean squared distance.
MLX_API array variance(const array& a, const std::vector<int>& axes, bool keepdims,
                       double correction, double beyond, StreamOrDevice s = {});
/// Mean squared distance from the mean, divided by n - ddof instead of n; infinite if n <= ddof.
MLX_SPREAD(var)
/// Square root of the variance.
MLX_SPREAD(std)
#undef MLX_SPREAD

/// Smallest and largest element, as min and max give them.
MLX_API std::tuple<array, array> minmax(const array& a, const std::vector<int>& axes,
                                        bool keepdims = false, StreamOrDevice s = {});
MLX_API std::tuple<array, array> minmax(const array& a, bool keepdims, StreamOrDevice s = {});
MLX_API std::tuple<array, array> minmax(const array& a, StreamOrDevice s = {});
MLX_API std::tuple<array, array> minmax(const array& a, int axis, bool keepdims = false,
                                        StreamOrDevice s = {});

/// Index of the first largest element along an axis (uint32), or in the flattened array. NaN counts
/// as largest. Throws ValueError for an empty array.
MLX_API array argmax(const array& a, bool keepdims, StreamOrDevice s = {});
MLX_API array argmax(const array& a, StreamOrDevice s = {});
MLX_API array argmax(const array& a, int axis, bool keepdims = false, StreamOrDevice s = {});
/// Index of the first smallest element; NaN counts as smallest.
MLX_API array argmin(const array& a, bool keepdims, StreamOrDevice s = {});
MLX_API array argmin(const array& a, StreamOrDevice s = {});
MLX_API array argmin(const array& a, int axis, bool keepdims = false, StreamOrDevice s = {});

/// Attributes of op_reduce (sorted axes) and of op_arg_reduce (one axis, or none for a flattened
/// input).
struct ReduceAttrs {
  Reduction kind;
  std::vector<int> axes;
  bool keepdims;
  template <class F>
  void each(F&& f) {
    f("kind", kind);
    f("axes", axes);
    f("keepdims", keepdims);
  }
};

extern const OpDef op_reduce, op_arg_reduce;

/// The product of the lengths of `axes` as a scalar, or its inverse.
MLX_API array number_of_elements(const array& a, std::vector<int> axes, bool inverted,
                                 Dtype dtype = int32, StreamOrDevice s = {});
/// All axes of an array.
std::vector<int> all_axes(const array& a);
/// A reduction by its kind; `axes` may be negative, and an empty list means a conversion only.
MLX_API array reduce(const array& a, Reduction kind, const std::vector<int>& axes, bool keepdims,
                     StreamOrDevice s = {});
/// The shape of a reduction over sorted axes.
Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keepdims);
/// The result of a reduction over sorted axes with these axes restored as length 1.
array with_reduced_axes(const array& y, const std::vector<int>& axes, bool keepdims, Stream s);

namespace rules {
Arrays reduce_vjp(const RuleArgs& r);
Arrays reduce_jvp(const RuleArgs& r);
Batched reduce_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched arg_reduce_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
/// For ops that are constant almost everywhere.
MLX_API Arrays flat_vjp(const RuleArgs& r);
MLX_API Arrays flat_jvp(const RuleArgs& r);
}  // namespace rules

}  // namespace mlx::core
