// Ops that give the same elements another shape or order of axes. They need no kernel if strides
// can express the result; otherwise the runtime copies.
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// `a` in another shape with the same number of elements; one length may be -1 and is inferred.
MLX_API array reshape(const array& a, Shape shape, StreamOrDevice s = {});
/// Axes start to end (inclusive, clamped) merged into one; a scalar gives shape (1,).
MLX_API array flatten(const array& a, int start_axis, int end_axis = -1, StreamOrDevice s = {});
MLX_API array flatten(const array& a, StreamOrDevice s = {});
/// `axis` split into axes of `shape`, of which one length may be -1.
MLX_API array unflatten(const array& a, int axis, Shape shape, StreamOrDevice s = {});
/// Without the given axes, which must have length 1; without all axes of length 1 if none is given.
MLX_API array squeeze(const array& a, const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array squeeze(const array& a, int axis, StreamOrDevice s = {});
MLX_API array squeeze(const array& a, StreamOrDevice s = {});
/// With axes of length 1 inserted at these positions of the result.
MLX_API array expand_dims(const array& a, const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array expand_dims(const array& a, int axis, StreamOrDevice s = {});

/// Axis i of the result is axis axes[i] of `a`; all axes reversed if none are given.
MLX_API array transpose(const array& a, std::vector<int> axes, StreamOrDevice s = {});
MLX_API array transpose(const array& a, std::initializer_list<int> axes, StreamOrDevice s = {});
MLX_API array transpose(const array& a, StreamOrDevice s = {});
/// The last two axes swapped.
MLX_API array matrix_transpose(const array& a, StreamOrDevice s = {});
MLX_API array swapaxes(const array& a, int axis1, int axis2, StreamOrDevice s = {});
/// Axis `source` moved to position `destination`; the others keep their order.
MLX_API array moveaxis(const array& a, int source, int destination, StreamOrDevice s = {});

/// `a` repeated along axes of length 1 and new leading axes to `shape`.
MLX_API array broadcast_to(const array& a, const Shape& shape, StreamOrDevice s = {});
/// The same elements; asked for, the result has memory for each of them.
array filled(const array& a, const Shape& shape, StreamOrDevice s = {});
MLX_API std::vector<array> broadcast_arrays(const std::vector<array>& inputs,
                                            StreamOrDevice s = {});

/// Element (i, j, ..) of the result is element offset + i * strides[0] + j * strides[1] + .. of `a`
/// in row-major order. Throws ValueError if an element is outside `a`.
MLX_API array as_strided(array a, Shape shape, Strides strides, int64_t offset,
                         StreamOrDevice s = {});
/// The diagonals of the planes of two axes, as a last axis.
MLX_API array diagonal(const array& a, int offset = 0, int axis1 = 0, int axis2 = 1,
                       StreamOrDevice s = {});

/// The sums of the diagonals, converted first if a dtype is given.
MLX_API array trace(const array& a, int offset, int axis1, int axis2, Dtype dtype,
                    StreamOrDevice s = {});
MLX_API array trace(const array& a, int offset, int axis1, int axis2, StreamOrDevice s = {});
MLX_API array trace(const array& a, StreamOrDevice s = {});

/// With axes of length 1 added up to the rank in the name.
MLX_API array atleast_1d(const array& a, StreamOrDevice s = {});
MLX_API std::vector<array> atleast_1d(const std::vector<array>& a, StreamOrDevice s = {});
MLX_API array atleast_2d(const array& a, StreamOrDevice s = {});
MLX_API std::vector<array> atleast_2d(const std::vector<array>& a, StreamOrDevice s = {});
MLX_API array atleast_3d(const array& a, StreamOrDevice s = {});
MLX_API std::vector<array> atleast_3d(const std::vector<array>& a, StreamOrDevice s = {});

/// Strides that give a layout another shape without moving an element, or false.
bool reshape_strides(const Shape& from, const Strides& strides, const Shape& to, Strides& out);

/// Lengths as given, including -1, which is inferred again for another input.
struct ReshapeAttrs {
  Shape shape;
  template <class F>
  void each(F&& f) {
    f("shape", shape);
  }
};
struct FlattenAttrs {
  int start, end;
  template <class F>
  void each(F&& f) {
    f("start", start);
    f("end", end);
  }
};
struct UnflattenAttrs {
  int axis;
  Shape shape;
  template <class F>
  void each(F&& f) {
    f("axis", axis);
    f("shape", shape);
  }
};
/// Sorted axes of the longer shape that have length 1.
struct AxesAttrs {
  Shape axes;
  template <class F>
  void each(F&& f) {
    f("axes", axes);
  }
};
struct TransposeAttrs {
  std::vector<int> axes;
  template <class F>
  void each(F&& f) {
    f("axes", axes);
  }
};
struct BroadcastAttrs {
  Shape shape;
  template <class F>
  void each(F&& f) {
    f("shape", shape);
  }
};
struct AsStridedAttrs {
  Shape shape;
  Strides strides;
  int64_t offset;
  template <class F>
  void each(F&& f) {
    f("shape", shape);
    f("strides", strides);
    f("offset", offset);
  }
};
struct DiagonalAttrs {
  int offset, axis1, axis2;
  template <class F>
  void each(F&& f) {
    f("offset", offset);
    f("axis1", axis1);
    f("axis2", axis2);
  }
};

extern const OpDef op_reshape, op_flatten, op_unflatten, op_squeeze, op_expand_dims, op_transpose,
    op_broadcast_to, op_full, op_as_strided, op_diagonal;
/// True for ops that repeat their input along axes: broadcast_to and full.
inline bool repeats_input(const OpDef* op) { return op == &op_broadcast_to || op == &op_full; }

namespace rules {
Arrays reshape_vjp(const RuleArgs& r);
Arrays transpose_vjp(const RuleArgs& r);
Arrays broadcast_to_vjp(const RuleArgs& r);
Arrays as_strided_vjp(const RuleArgs& r);
Arrays diagonal_vjp(const RuleArgs& r);
Batched reshape_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched flatten_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched unflatten_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched squeeze_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched expand_dims_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched transpose_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched broadcast_to_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched as_strided_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched diagonal_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
