// Checks and shape inference of scatter and put_along_axis.
#include "mlx/ops/scatter.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

array scatter(const array& a, const std::vector<array>& indices, const array& updates,
              const std::vector<int>& axes, ScatterMode mode, StreamOrDevice s) {
  ScatterAttrs attrs{indexed_axes(indices, axes, a.ndim(), "scatter"), mode};
  Shape shape = broadcast_indices(indices, "scatter");
  bool nothing = num_elements(shape) == 0;  // the array may then be shorter than a slice
  bool fits = updates.ndim() == shape.size() + a.ndim();
  for (size_t i = 0; fits && i < updates.ndim(); ++i)
    fits = i < shape.size() ? updates.shape()[i] == shape[i] || updates.shape()[i] == 1
                            : nothing || updates.shape()[i] <= a.shape()[i - shape.size()];
  if (!fits)
    fail("scatter", "updates of shape ", to_string(updates.shape()), " for indices of shape ",
         to_string(shape), " into an array of shape ", to_string(a.shape()),
         "; the shape of the indices, then that of a slice of the array is accepted");
  if (nothing) return a;
  for (size_t i = shape.size(); i < updates.ndim(); ++i) shape.push_back(updates.shape()[i]);
  std::vector<array> inputs{a};
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  inputs.push_back(astype(broadcast_to(updates, shape, s), a.dtype(), s));
  return make_node(op_scatter, a.shape(), a.dtype(), to_stream(s), inputs,
                   make_attrs(std::move(attrs)));
}

#define MLX_SCATTER(name, mode)                                                          \
  array name(const array& a, const std::vector<array>& indices, const array& updates,    \
             const std::vector<int>& axes, StreamOrDevice s) {                           \
    return scatter(a, indices, updates, axes, ScatterMode::mode, s);                     \
  }                                                                                      \
  array name(const array& a, const array& indices, const array& updates, int axis,       \
             StreamOrDevice s) {                                                         \
    return scatter(a, {indices}, updates, std::vector<int>{axis}, ScatterMode::mode, s); \
  }
MLX_SCATTER(scatter, set)
MLX_SCATTER(scatter_add, add)
MLX_SCATTER(scatter_prod, multiply)
MLX_SCATTER(scatter_max, maximum)
MLX_SCATTER(scatter_min, minimum)
#undef MLX_SCATTER

array scatter_axis(const array& a, const array& indices, const array& values, int axis,
                   ScatterMode mode, StreamOrDevice s) {
  const char* op = mode == ScatterMode::set ? "put_along_axis" : "scatter_add_axis";
  require_integer(indices, op);
  axis = normalize_axis(axis, a.ndim(), op);
  if (indices.ndim() != a.ndim())
    fail(op, "indices with ", indices.ndim(), " dimensions for an array with ", a.ndim(),
         "; the numbers must agree");
  Shape rest = a.shape(), other = indices.shape();
  rest[axis] = other[axis] = 1;
  Shape shape = broadcast_shapes(rest, other, op), target = shape;
  shape[axis] = indices.shape(axis);
  target[axis] = a.shape(axis);
  return make_node(op_scatter_axis, target, a.dtype(), to_stream(s),
                   make_attrs(ScatterAxisAttrs{axis, mode}), broadcast_to(a, target, s),
                   broadcast_to(indices, shape, s),
                   broadcast_to(astype(values, a.dtype(), s), shape, s));
}

array put_along_axis(const array& a, const array& indices, const array& values, int axis,
                     StreamOrDevice s) {
  return scatter_axis(a, indices, values, axis, ScatterMode::set, s);
}

array scatter_add_axis(const array& a, const array& indices, const array& values, int axis,
                       StreamOrDevice s) {
  return scatter_axis(a, indices, values, axis, ScatterMode::add, s);
}

namespace {

Arrays build_scatter(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& r = attrs_as<ScatterAttrs>(attrs);
  return {scatter(in[0], Arrays(in.begin() + 1, in.end() - 1), in.back(), r.axes, r.mode, s)};
}
Arrays build_scatter_axis(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& r = attrs_as<ScatterAxisAttrs>(attrs);
  return {scatter_axis(in[0], in[1], in[2], r.axis, r.mode, s)};
}

}  // namespace

constinit const OpDef op_scatter{.name = "scatter",
                                 .kind = OpKind::kernel,
                                 .build = build_scatter,
                                 .vjp = rules::scatter_vjp,
                                 .jvp = rules::scatter_jvp,
                                 .vmap = rules::scatter_vmap};
constinit const OpDef op_scatter_axis{.name = "scatter_axis",
                                      .kind = OpKind::kernel,
                                      .shapeless = true,
                                      .build = build_scatter_axis,
                                      .vjp = rules::scatter_axis_vjp,
                                      .jvp = rules::scatter_axis_jvp,
                                      .vmap = rules::scatter_axis_vmap};

}  // namespace mlx::core
