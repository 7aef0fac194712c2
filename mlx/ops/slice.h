// Slices: views of rectangular parts of an array, and copies of the array with a part replaced.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// a[start:stop:strides], per axis as in NumPy: negative indices count from the end, indices beyond
/// the ends are clamped, strides may be negative (a stop before the first element is -length - 1).
MLX_API array slice(const array& a, Shape start, Shape stop, Shape strides, StreamOrDevice s = {});
MLX_API array slice(const array& a, std::initializer_list<int> start, Shape stop, Shape strides,
                    StreamOrDevice s = {});
MLX_API array slice(const array& a, Shape start, Shape stop, StreamOrDevice s = {});
/// The part of shape `slice_size` that starts at start[i] along axes[i] and at 0 along the others.
/// Throws IndexError, when evaluated, if it is not within `a`.
MLX_API array slice(const array& a, const array& start, std::vector<int> axes, Shape slice_size,
                    StreamOrDevice s = {});

/// A copy of `src` with src[start:stop:strides] replaced by `update`, which is cast and broadcast.
MLX_API array slice_update(const array& src, const array& update, Shape start, Shape stop,
                           Shape strides, StreamOrDevice s = {});
MLX_API array slice_update(const array& src, const array& update, Shape start, Shape stop,
                           StreamOrDevice s = {});
/// The same for a part that starts at start[i] along axes[i] and has the length of the update
/// there.
MLX_API array slice_update(const array& src, const array& update, const array& start,
                           std::vector<int> axes, StreamOrDevice s = {});
/// The same, with the part combined with the update.
MLX_API array slice_update_add(const array& src, const array& update, Shape start, Shape stop,
                               Shape strides, StreamOrDevice s = {});
MLX_API array slice_update_add(const array& src, const array& update, Shape start, Shape stop,
                               StreamOrDevice s = {});
MLX_API array slice_update_prod(const array& src, const array& update, Shape start, Shape stop,
                                Shape strides, StreamOrDevice s = {});
MLX_API array slice_update_prod(const array& src, const array& update, Shape start, Shape stop,
                                StreamOrDevice s = {});
MLX_API array slice_update_max(const array& src, const array& update, Shape start, Shape stop,
                               Shape strides, StreamOrDevice s = {});
MLX_API array slice_update_max(const array& src, const array& update, Shape start, Shape stop,
                               StreamOrDevice s = {});
MLX_API array slice_update_min(const array& src, const array& update, Shape start, Shape stop,
                               Shape strides, StreamOrDevice s = {});
MLX_API array slice_update_min(const array& src, const array& update, Shape start, Shape stop,
                               StreamOrDevice s = {});

/// The elements in reverse order along the given axes, or along all axes.
MLX_API array flip(const array& a, const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array flip(const array& a, int axis, StreamOrDevice s = {});
MLX_API array flip(const array& a, StreamOrDevice s = {});
/// The slices along an axis, without that axis.
MLX_API std::vector<array> unstack(const array& a, int axis, StreamOrDevice s = {});
MLX_API std::vector<array> unstack(const array& a, StreamOrDevice s = {});

/// Start, stop and strides as given; another input shape clamps them again.
struct SliceAttrs {
  Shape start, stop, strides;
  template <class F>
  void each(F&& f) {
    f("start", start);
    f("stop", stop);
    f("strides", strides);
  }
};
struct DynamicSliceAttrs {
  std::vector<int> axes;
  Shape slice_size;
  template <class F>
  void each(F&& f) {
    f("axes", axes);
    f("slice_size", slice_size);
  }
};

/// The range that a slice selects from an array of a given shape.
struct SliceRange {
  Shape start, length;
};
/// Throws ValueError naming `op` for lists of another rank and strides of 0.
MLX_API SliceRange slice_range(const char* op, const Shape& shape, const SliceAttrs& attrs);

extern const OpDef op_slice, op_slice_update, op_dynamic_slice, op_dynamic_slice_update;

namespace rules {
Arrays slice_vjp(const RuleArgs& r);
Arrays slice_update_vjp(const RuleArgs& r);
Arrays dynamic_slice_vjp(const RuleArgs& r);
Arrays dynamic_slice_jvp(const RuleArgs& r);
Arrays dynamic_slice_update_vjp(const RuleArgs& r);
Arrays dynamic_slice_update_jvp(const RuleArgs& r);
Batched slice_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched slice_update_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched dynamic_slice_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched dynamic_slice_update_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
