// Reads at integer indices: take, gather, take_along_axis. Index arrays have any integer dtype;
// negative indices count from the end; indices out of range throw IndexError when evaluated.
#pragma once

#include <vector>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// The slices of `a` along `axis` at the given indices; the axes of `indices` replace `axis`.
MLX_API array take(const array& a, const array& indices, int axis, StreamOrDevice s = {});
/// The slice at one index, which is checked at once.
MLX_API array take(const array& a, int64_t index, int axis, StreamOrDevice s = {});
/// Elements of the flattened array.
MLX_API array take(const array& a, const array& indices, StreamOrDevice s = {});
MLX_API array take(const array& a, int64_t index, StreamOrDevice s = {});

/// out[.., i, ..] = a[.., indices[.., i, ..], ..]: one index for each element along `axis`. The
/// other axes of `a` and `indices` broadcast.
MLX_API array take_along_axis(const array& a, const array& indices, int axis,
                              StreamOrDevice s = {});

/// Slices of size `slice_sizes` that start at indices[k] along axes[k] and at 0 along the other
/// axes. The index arrays broadcast to one shape; the result has these axes, followed by those of a
/// slice.
MLX_API array gather(const array& a, const std::vector<array>& indices,
                     const std::vector<int>& axes, const Shape& slice_sizes, StreamOrDevice s = {});
MLX_API array gather(const array& a, const array& indices, int axis, const Shape& slice_sizes,
                     StreamOrDevice s = {});

struct TakeAttrs {
  int axis;
  template <class F>
  void each(F&& f) {
    f("axis", axis);
  }
};
struct GatherAttrs {
  std::vector<int> axes;
  Shape slice_sizes;
  template <class F>
  void each(F&& f) {
    f("axes", axes);
    f("slice_sizes", slice_sizes);
  }
};

extern const OpDef op_take, op_take_along_axis, op_gather;

/// Throws IndexError unless the array has an integer dtype.
void require_integer(const array& indices, const char* op);
/// The broadcast shape of the index arrays.
Shape broadcast_indices(const std::vector<array>& indices, const char* op);
/// Normalised axes: one per index array, without duplicates.
std::vector<int> indexed_axes(const std::vector<array>& indices, const std::vector<int>& axes,
                              int64_t ndim, const char* op);
/// Index arrays with their mapped axes moved to the front, all of one rank, with a first axis of
/// length 1 if not mapped. Unchanged if none is mapped.
std::vector<array> batch_indices(const std::vector<array>& indices, const std::vector<int>& axes);

namespace rules {
Arrays take_vjp(const RuleArgs&);
Arrays take_along_axis_vjp(const RuleArgs&);
Arrays gather_vjp(const RuleArgs&);
Batched take_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched take_along_axis_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched gather_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
