// Checks and shape inference of take, gather and take_along_axis.
#include "mlx/ops/index.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

void require_integer(const array& indices, const char* op) {
  if (!issubdtype(indices.dtype(), integer))
    fail<IndexError>(op, "an index array of ", dtype_name(indices.dtype()),
                     "; integer dtypes are accepted");
}

Shape broadcast_indices(const std::vector<array>& indices, const char* op) {
  Shape shape;
  for (const array& i : indices) {
    require_integer(i, op);
    shape = broadcast_shapes(shape, i.shape(), op);
  }
  return shape;
}

std::vector<int> indexed_axes(const std::vector<array>& indices, const std::vector<int>& axes,
                              int64_t ndim, const char* op) {
  if (indices.size() != axes.size())
    fail(op, indices.size(), " index arrays and ", axes.size(), " axes; the counts must agree");
  normalize_axes(axes, ndim, op);
  std::vector<int> out;
  for (int axis : axes) out.push_back(normalize_axis(axis, ndim, op));
  return out;
}

std::vector<array> batch_indices(const std::vector<array>& indices, const std::vector<int>& axes) {
  if (std::all_of(axes.begin(), axes.end(), [](int axis) { return axis < 0; })) return indices;
  size_t rank = 0;
  for (size_t i = 0; i < indices.size(); ++i)
    rank = std::max(rank, indices[i].ndim() - (axes[i] >= 0));
  std::vector<array> out;
  for (size_t i = 0; i < indices.size(); ++i) {
    Stream s = stream_of(indices[i]);
    array index = axes[i] >= 0 ? moveaxis(indices[i], axes[i], 0, s) : indices[i];
    Shape shape(rank + 1, 1);
    size_t own = index.ndim() - (axes[i] >= 0);
    std::copy(index.shape().end() - own, index.shape().end(), shape.end() - own);
    if (axes[i] >= 0) shape[0] = index.shape(0);
    out.push_back(reshape(index, shape, s));
  }
  return out;
}

array take(const array& a, const array& indices, int axis, StreamOrDevice s) {
  require_integer(indices, "take");
  axis = normalize_axis(axis, a.ndim(), "take");
  Shape shape(a.shape().begin(), a.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), a.shape().begin() + axis + 1, a.shape().end());
  return make_node(op_take, std::move(shape), a.dtype(), to_stream(s), make_attrs(TakeAttrs{axis}),
                   a, indices);
}

array take(const array& a, int64_t index, int axis, StreamOrDevice s) {
  axis = normalize_axis(axis, a.ndim(), "take");
  int64_t size = a.shape(axis), i = index < 0 ? index + size : index;
  if (i < 0 || i >= size)
    fail<IndexError>("take", "index ", index, " is out of range for axis ", axis, " with size ",
                     size, "; ", -size, " to ", size - 1, " are accepted");
  Shape start(a.ndim(), 0), stop = a.shape();
  start[axis] = i;
  stop[axis] = i + 1;
  return squeeze(slice(a, start, stop, s), axis, s);
}

array take(const array& a, const array& indices, StreamOrDevice s) {
  return take(flatten(a, s), indices, 0, s);
}

array take(const array& a, int64_t index, StreamOrDevice s) {
  return take(flatten(a, s), index, 0, s);
}

array take_along_axis(const array& a, const array& indices, int axis, StreamOrDevice s) {
  require_integer(indices, "take_along_axis");
  axis = normalize_axis(axis, a.ndim(), "take_along_axis");
  if (indices.ndim() != a.ndim())
    fail("take_along_axis", "indices with ", indices.ndim(), " dimensions for an array with ",
         a.ndim(), "; the numbers must agree");
  // The axes other than `axis` broadcast in both directions.
  Shape rest = a.shape(), other = indices.shape();
  rest[axis] = other[axis] = 1;
  Shape shape = broadcast_shapes(rest, other, "take_along_axis"), source = shape;
  shape[axis] = indices.shape(axis);
  source[axis] = a.shape(axis);
  return make_node(op_take_along_axis, shape, a.dtype(), to_stream(s), make_attrs(TakeAttrs{axis}),
                   broadcast_to(a, source, s), broadcast_to(indices, shape, s));
}

array gather(const array& a, const std::vector<array>& indices, const std::vector<int>& axes,
             const Shape& slice_sizes, StreamOrDevice s) {
  GatherAttrs attrs{indexed_axes(indices, axes, a.ndim(), "gather"), slice_sizes};
  if (slice_sizes.size() != a.ndim())
    fail("gather", "slice sizes ", to_string(slice_sizes), " for an array of shape ",
         to_string(a.shape()), "; one for each axis is needed");
  Shape shape = broadcast_indices(indices, "gather");
  bool nothing = num_elements(shape) == 0;  // the array may then be shorter than a slice
  for (size_t i = 0; i < slice_sizes.size(); ++i)
    if (slice_sizes[i] < 0 || (slice_sizes[i] > a.shape()[i] && !nothing))
      fail("gather", "slice sizes ", to_string(slice_sizes), " for an array of shape ",
           to_string(a.shape()), "; sizes from 0 to the length of the axis are accepted");
  shape.insert(shape.end(), slice_sizes.begin(), slice_sizes.end());
  if (nothing) return zeros(shape, a.dtype(), s);
  std::vector<array> inputs{a};
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  return make_node(op_gather, std::move(shape), a.dtype(), to_stream(s), inputs,
                   make_attrs(std::move(attrs)));
}

array gather(const array& a, const array& indices, int axis, const Shape& slice_sizes,
             StreamOrDevice s) {
  return gather(a, std::vector<array>{indices}, std::vector<int>{axis}, slice_sizes, s);
}

namespace {

Arrays build_take(const Arrays& in, const Attrs* attrs, Stream s) {
  return {take(in[0], in[1], attrs_as<TakeAttrs>(attrs).axis, s)};
}
Arrays build_take_along_axis(const Arrays& in, const Attrs* attrs, Stream s) {
  return {take_along_axis(in[0], in[1], attrs_as<TakeAttrs>(attrs).axis, s)};
}
Arrays build_gather(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& g = attrs_as<GatherAttrs>(attrs);
  return {gather(in[0], Arrays(in.begin() + 1, in.end()), g.axes, g.slice_sizes, s)};
}

}  // namespace

// Index arrays have no tangents: the op is linear in its first input.
constinit const OpDef op_take{.name = "take",
                              .kind = OpKind::kernel,
                              .linearity = Linearity::multilinear,
                              .shapeless = true,
                              .build = build_take,
                              .vjp = rules::take_vjp,
                              .vmap = rules::take_vmap};
constinit const OpDef op_take_along_axis{.name = "take_along_axis",
                                         .kind = OpKind::kernel,
                                         .linearity = Linearity::multilinear,
                                         .shapeless = true,
                                         .build = build_take_along_axis,
                                         .vjp = rules::take_along_axis_vjp,
                                         .vmap = rules::take_along_axis_vmap};
constinit const OpDef op_gather{.name = "gather",
                                .kind = OpKind::kernel,
                                .linearity = Linearity::multilinear,
                                .build = build_gather,
                                .vjp = rules::gather_vjp,
                                .vmap = rules::gather_vmap};

}  // namespace mlx::core
