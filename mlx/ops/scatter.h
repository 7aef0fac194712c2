// Writes at integer indices: scatter and its reductions, put_along_axis. The result is a new array.
// For repeated indices, assignments keep the last value and reductions apply all.
#pragma once

#include <vector>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// How an element at an indexed position is combined with its update.
enum class ScatterMode : uint8_t { set, add, multiply, divide, maximum, minimum };

/// `a` with slices replaced: slice i of `updates` (whose shape is the broadcast index shape
/// followed by that of a slice, which has the rank of `a`) starts at indices[k][i] along axes[k].
MLX_API array scatter(const array& a, const std::vector<array>& indices, const array& updates,
                      const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array scatter(const array& a, const array& indices, const array& updates, int axis,
                      StreamOrDevice s = {});
/// The same, adding the updates.
MLX_API array scatter_add(const array& a, const std::vector<array>& indices, const array& updates,
                          const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array scatter_add(const array& a, const array& indices, const array& updates, int axis,
                          StreamOrDevice s = {});
/// The same, multiplying by the updates.
MLX_API array scatter_prod(const array& a, const std::vector<array>& indices, const array& updates,
                           const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array scatter_prod(const array& a, const array& indices, const array& updates, int axis,
                           StreamOrDevice s = {});
/// The same, keeping the maximum.
MLX_API array scatter_max(const array& a, const std::vector<array>& indices, const array& updates,
                          const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array scatter_max(const array& a, const array& indices, const array& updates, int axis,
                          StreamOrDevice s = {});
/// The same, keeping the minimum.
MLX_API array scatter_min(const array& a, const std::vector<array>& indices, const array& updates,
                          const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array scatter_min(const array& a, const array& indices, const array& updates, int axis,
                          StreamOrDevice s = {});
/// A scatter of any mode.
MLX_API array scatter(const array& a, const std::vector<array>& indices, const array& updates,
                      const std::vector<int>& axes, ScatterMode mode, StreamOrDevice s = {});

/// `a` with a[.., indices[.., i, ..], ..] replaced by values[.., i, ..] along `axis`; `values` and
/// the other axes of `indices` broadcast.
MLX_API array put_along_axis(const array& a, const array& indices, const array& values, int axis,
                             StreamOrDevice s = {});
/// The same, adding the values.
MLX_API array scatter_add_axis(const array& a, const array& indices, const array& values, int axis,
                               StreamOrDevice s = {});
/// Any mode.
array scatter_axis(const array& a, const array& indices, const array& values, int axis,
                   ScatterMode mode, StreamOrDevice s = {});

struct ScatterAttrs {
  std::vector<int> axes;
  ScatterMode mode;
  template <class F>
  void each(F&& f) {
    f("axes", axes);
    f("mode", mode);
  }
};
struct ScatterAxisAttrs {
  int axis;
  ScatterMode mode;
  template <class F>
  void each(F&& f) {
    f("axis", axis);
    f("mode", mode);
  }
};

extern const OpDef op_scatter, op_scatter_axis;

namespace rules {
Arrays scatter_vjp(const RuleArgs&);
Arrays scatter_jvp(const RuleArgs&);
Arrays scatter_axis_vjp(const RuleArgs&);
Arrays scatter_axis_jvp(const RuleArgs&);
Batched scatter_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched scatter_axis_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
