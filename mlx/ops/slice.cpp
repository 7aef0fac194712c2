// Checks, shapes and layouts of slices.
#include "mlx/ops/slice.h"

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

Shape ones(size_t n) { return Shape(n, 1); }

Arrays build_slice(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<SliceAttrs>(attrs);
  return {slice(in[0], a.start, a.stop, a.strides, s)};
}
bool slice_layout(const Node& node, const Layout& in, Layout& out) {
  auto& a = attrs_as<SliceAttrs>(node.attrs.get());
  SliceRange range = slice_range("slice", in.shape, a);
  out.strides = in.strides;
  out.offset = in.offset;
  if (num_elements(node.shape) == 0) return true;
  for (size_t i = 0; i < in.shape.size(); ++i) {
    out.offset += range.start[i] * in.strides[i];
    out.strides[i] = in.strides[i] * a.strides[i];
  }
  return true;
}
Arrays build_slice_update(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<SliceAttrs>(attrs);
  return {slice_update(in[0], in[1], a.start, a.stop, a.strides, s)};
}
Arrays build_dynamic_slice(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<DynamicSliceAttrs>(attrs);
  return {slice(in[0], in[1], a.axes, a.slice_size, s)};
}
Arrays build_dynamic_slice_update(const Arrays& in, const Attrs* attrs, Stream s) {
  return {slice_update(in[0], in[1], in[2], attrs_as<DynamicSliceAttrs>(attrs).axes, s)};
}

/// Normalised axes, without duplicates, one for every start.
std::vector<int> start_axes(const char* op, const array& a, const array& start,
                            const std::vector<int>& axes) {
  if (is_inexact(start.dtype()) || start.dtype() == bool_)
    fail<ValueError>(op, "starts of dtype ", dtype_name(start.dtype()),
                     "; integer dtypes are accepted");
  if (start.ndim() > 1 || start.size() != axes.size())
    fail<ValueError>(op, "starts of shape ", to_string(start.shape()), " for ", axes.size(),
                     " axes; one start for each axis is accepted");
  normalize_axes(axes, a.ndim(), op);
  std::vector<int> out;
  for (int i : axes) out.push_back(normalize_axis(i, a.ndim(), op));
  return out;
}

void require_part(const char* op, const Shape& part, const Shape& whole) {
  bool fits = part.size() == whole.size();
  for (size_t i = 0; fits && i < part.size(); ++i) fits = part[i] >= 0 && part[i] <= whole[i];
  if (!fits)
    fail<ValueError>(op, "a part of shape ", to_string(part), " of an array of shape ",
                     to_string(whole), "; one that fits is accepted");
}

array part_of(const char* op, const array& a, const Shape& start, const Shape& stop,
              const Shape& strides, Stream s) {
  SliceAttrs attrs{start, stop, strides};
  SliceRange range = slice_range(op, a.shape(), attrs);
  bool whole = range.length == a.shape();
  for (int64_t step : strides) whole = whole && step == 1;
  if (whole) return a;
  return make_node(op_slice, std::move(range.length), a.dtype(), s, make_attrs(std::move(attrs)),
                   a);
}

/// The part combined with the update and written back.
template <array (*combine)(const array&, const array&, StreamOrDevice)>
array combined(const array& src, const array& update, Shape start, Shape stop, Shape strides,
               StreamOrDevice stream) {
  Stream s = to_stream(stream);
  array part = part_of("slice_update", src, start, stop, strides, s);
  array fitted = combine(part, cast_to(update, src.dtype(), s), s);
  return slice_update(src, fitted, std::move(start), std::move(stop), std::move(strides), s);
}

}  // namespace

constinit const OpDef op_slice{.name = "slice",
                               .kind = OpKind::view,
                               .linearity = Linearity::linear,
                               .build = build_slice,
                               .view = slice_layout,
                               .vjp = rules::slice_vjp,
                               .vmap = rules::slice_vmap};
constinit const OpDef op_slice_update{.name = "slice_update",
                                      .kind = OpKind::kernel,
                                      .linearity = Linearity::linear,
                                      .build = build_slice_update,
                                      .vjp = rules::slice_update_vjp,
                                      .vmap = rules::slice_update_vmap};
constinit const OpDef op_dynamic_slice{.name = "dynamic_slice",
                                       .kind = OpKind::kernel,
                                       .build = build_dynamic_slice,
                                       .vjp = rules::dynamic_slice_vjp,
                                       .jvp = rules::dynamic_slice_jvp,
                                       .vmap = rules::dynamic_slice_vmap};
constinit const OpDef op_dynamic_slice_update{.name = "dynamic_slice_update",
                                              .kind = OpKind::kernel,
                                              .build = build_dynamic_slice_update,
                                              .vjp = rules::dynamic_slice_update_vjp,
                                              .jvp = rules::dynamic_slice_update_jvp,
                                              .vmap = rules::dynamic_slice_update_vmap};

SliceRange slice_range(const char* op, const Shape& shape, const SliceAttrs& attrs) {
  size_t ndim = shape.size();
  if (attrs.start.size() != ndim || attrs.stop.size() != ndim || attrs.strides.size() != ndim)
    fail<ValueError>(op, attrs.start.size(), " starts, ", attrs.stop.size(), " stops and ",
                     attrs.strides.size(), " strides for an array with ", ndim,
                     " dimensions; one of each for every axis is accepted");
  SliceRange range{Shape(ndim), Shape(ndim)};
  for (size_t i = 0; i < ndim; ++i) {
    int64_t n = shape[i], step = attrs.strides[i];
    if (step == 0)
      fail<ValueError>(op, "a stride of 0 on axis ", i, "; other strides are accepted");
    auto clamp = [&](int64_t v) {
      if (v < 0) v += n;
      return step > 0 ? std::clamp<int64_t>(v, 0, n) : std::clamp<int64_t>(v, -1, n - 1);
    };
    int64_t start = clamp(attrs.start[i]), stop = clamp(attrs.stop[i]);
    int64_t span = step > 0 ? stop - start : start - stop;
    uint64_t size = step > 0 ? step : -static_cast<uint64_t>(step);
    range.start[i] = start;
    range.length[i] = span <= 0 ? 0 : static_cast<int64_t>((span - 1) / size) + 1;
  }
  return range;
}

array slice(const array& a, Shape start, Shape stop, Shape strides, StreamOrDevice s) {
  return part_of("slice", a, start, stop, strides, to_stream(s));
}
array slice(const array& a, std::initializer_list<int> start, Shape stop, Shape strides,
            StreamOrDevice s) {
  return part_of("slice", a, Shape(start.begin(), start.end()), stop, strides, to_stream(s));
}
array slice(const array& a, Shape start, Shape stop, StreamOrDevice s) {
  return part_of("slice", a, start, stop, ones(a.ndim()), to_stream(s));
}

array slice(const array& a, const array& start, std::vector<int> axes, Shape slice_size,
            StreamOrDevice s) {
  axes = start_axes("slice", a, start, axes);
  require_part("slice", slice_size, a.shape());
  return make_node(op_dynamic_slice, slice_size, a.dtype(), to_stream(s),
                   make_attrs(DynamicSliceAttrs{std::move(axes), slice_size}), a, start);
}

array slice_update(const array& src, const array& update, Shape start, Shape stop, Shape strides,
                   StreamOrDevice stream) {
  Stream s = to_stream(stream);
  SliceAttrs attrs{std::move(start), std::move(stop), std::move(strides)};
  SliceRange range = slice_range("slice_update", src.shape(), attrs);
  array u = cast_to(update, src.dtype(), s);
  // Leading axes of length 1 are dropped, as in assignments.
  while (u.ndim() > src.ndim() && u.shape()[0] == 1) u = squeeze(u, 0, s);
  u = broadcast_to(u, range.length, s);
  return make_node(op_slice_update, src.shape(), src.dtype(), s, make_attrs(std::move(attrs)), src,
                   u);
}
array slice_update(const array& src, const array& update, Shape start, Shape stop,
                   StreamOrDevice s) {
  return slice_update(src, update, std::move(start), std::move(stop), ones(src.ndim()), s);
}

array slice_update(const array& src, const array& update, const array& start, std::vector<int> axes,
                   StreamOrDevice stream) {
  Stream s = to_stream(stream);
  axes = start_axes("slice_update", src, start, axes);
  // Axes that the update does not have are updated whole, or at the start if one is given.
  Shape part = update.shape();
  for (size_t i = src.ndim(); i-- > 0;) {
    if (i + update.ndim() >= src.ndim()) continue;
    bool given = std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end();
    part.insert(part.begin(), given ? 1 : src.shape()[i]);
  }
  require_part("slice_update", part, src.shape());
  array u = broadcast_to(cast_to(update, src.dtype(), s), part, s);
  return make_node(op_dynamic_slice_update, src.shape(), src.dtype(), s,
                   make_attrs(DynamicSliceAttrs{std::move(axes), std::move(part)}), src, u, start);
}

#define MLX_SLICE_UPDATE(name, combine)                                                            \
  array name(const array& src, const array& update, Shape start, Shape stop, Shape strides,        \
             StreamOrDevice s) {                                                                   \
    return combined<combine>(src, update, std::move(start), std::move(stop), std::move(strides),   \
                             s);                                                                   \
  }                                                                                                \
  array name(const array& src, const array& update, Shape start, Shape stop, StreamOrDevice s) {   \
    return combined<combine>(src, update, std::move(start), std::move(stop), ones(src.ndim()), s); \
  }
MLX_SLICE_UPDATE(slice_update_add, add)
MLX_SLICE_UPDATE(slice_update_prod, multiply)
MLX_SLICE_UPDATE(slice_update_max, maximum)
MLX_SLICE_UPDATE(slice_update_min, minimum)
#undef MLX_SLICE_UPDATE

array flip(const array& a, const std::vector<int>& axes, StreamOrDevice s) {
  SliceAttrs at{Shape(a.ndim(), 0), a.shape(), ones(a.ndim())};
  for (int axis : axes) {
    int i = normalize_axis(axis, a.ndim(), "flip");
    at.start[i] = -1;
    at.stop[i] = -a.shape()[i] - 1;
    at.strides[i] = -1;
  }
  return slice(a, at.start, at.stop, at.strides, s);
}
array flip(const array& a, int axis, StreamOrDevice s) {
  return flip(a, std::vector<int>{axis}, s);
}
array flip(const array& a, StreamOrDevice s) {
  std::vector<int> axes;
  for (size_t i = 0; i < a.ndim(); ++i) axes.push_back(static_cast<int>(i));
  return flip(a, axes, s);
}

std::vector<array> unstack(const array& a, int axis, StreamOrDevice stream) {
  int at = normalize_axis(axis, a.ndim(), "unstack");
  Stream s = to_stream(stream);
  Shape start(a.ndim(), 0), stop = a.shape(), strides = ones(a.ndim());
  Arrays out;
  for (int64_t i = 0; i < a.shape()[at]; ++i) {
    start[at] = i;
    stop[at] = i + 1;
    out.push_back(squeeze(part_of("unstack", a, start, stop, strides, s), at, s));
  }
  return out;
}
std::vector<array> unstack(const array& a, StreamOrDevice s) { return unstack(a, 0, s); }

}  // namespace mlx::core
