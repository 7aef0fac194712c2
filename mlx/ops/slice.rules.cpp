// Derivatives and batching of slices.
#include "mlx/ops/slice.h"

#include "mlx/ops/creation.h"
#include "mlx/ops/index.h"
#include "mlx/ops/scatter.h"
#include "mlx/ops/view.h"

namespace mlx::core::rules {

namespace {

/// The starts of a batch: one array of shape (batch,) per axis, preceded by the batch's own
/// indices.
Arrays batched_starts(const array& start, int axis, bool with_batch_axis, size_t n_axes, Stream s) {
  array rows = to_front(start, axis, s);
  int64_t batch = rows.shape()[0];
  rows = reshape(rows, {batch, static_cast<int64_t>(n_axes)}, s);
  Arrays out;
  if (with_batch_axis) out.push_back(arange(0, batch, 1, int64, s));
  for (array& column : unstack(rows, 1, s)) out.push_back(std::move(column));
  return out;
}

std::vector<int> batched_axes(const std::vector<int>& axes) {
  std::vector<int> out = shifted(axes);
  out.insert(out.begin(), 0);
  return out;
}

bool is_zero_constant(const Node* n) {
  if (repeats_input(n->op)) n = n->inputs()[0];
  return n->op == &op_constant && n->scalar() == Scalar{};
}

/// True if two slices of an array are known to be disjoint from their first and last indices.
bool apart(const Shape& shape, const SliceAttrs& a, const SliceAttrs& b) {
  SliceRange x = slice_range("slice", shape, a), y = slice_range("slice", shape, b);
  for (size_t i = 0; i < shape.size(); ++i) {
    auto ends = [i](const SliceRange& r, const SliceAttrs& at) -> std::pair<int64_t, int64_t> {
      int64_t first = r.start[i], last = first + (r.length[i] - 1) * at.strides[i];
      return std::minmax(first, last);
    };
    if (x.length[i] == 0 || y.length[i] == 0) return true;
    auto [x_low, x_high] = ends(x, a);
    auto [y_low, y_high] = ends(y, b);
    if (x_high < y_low || y_high < x_low) return true;
  }
  return false;
}

/// True if `whole` is zero at a slice: it is zeros into which other slices were written.
bool zero_at(const Node* whole, const SliceAttrs& part) {
  constexpr int kFar = 256;
  for (int i = 0; i < kFar && whole->op == &op_slice_update; ++i, whole = whole->inputs()[0])
    if (!apart(whole->shape, attrs_as<SliceAttrs>(whole->attrs.get()), part)) return false;
  return is_zero_constant(whole);
}

bool is_part_of_zeros(const array& a) {
  return a.node()->op == &op_slice_update && is_zero_constant(a.node()->inputs()[0]);
}

}  // namespace

array sum_of_cotangents(const array& a, const array& b, Stream s) {
  bool later = is_part_of_zeros(b);
  if (!later && !is_part_of_zeros(a)) return add(a, b, s);
  const array &whole = later ? a : b, &part = later ? b : a;
  auto& at = attrs_as<SliceAttrs>(part.node()->attrs.get());
  array update(part.node()->inputs()[1]);
  if (zero_at(whole.node(), at))
    return slice_update(whole, update, at.start, at.stop, at.strides, s);
  return slice_update_add(whole, update, at.start, at.stop, at.strides, s);
}

Arrays slice_vjp(const RuleArgs& r) {
  auto& a = attrs_as<SliceAttrs>(r.attrs);
  array whole = zeros(r.inputs[0].shape(), r.grads[0].dtype(), r.stream);
  return {slice_update(whole, r.grads[0], a.start, a.stop, a.strides, r.stream)};
}

Arrays slice_update_vjp(const RuleArgs& r) {
  auto& a = attrs_as<SliceAttrs>(r.attrs);
  const array& g = r.grads[0];
  Arrays out(2);
  if (r.requested[0])
    out[0] = slice_update(g, zero(g.dtype()), a.start, a.stop, a.strides, r.stream);
  if (r.requested[1]) out[1] = slice(g, a.start, a.stop, a.strides, r.stream);
  return out;
}

Arrays dynamic_slice_vjp(const RuleArgs& r) {
  array whole = zeros(r.inputs[0].shape(), r.grads[0].dtype(), r.stream);
  return {slice_update(whole, r.grads[0], r.inputs[1], attrs_as<DynamicSliceAttrs>(r.attrs).axes,
                       r.stream),
          array()};
}
Arrays dynamic_slice_jvp(const RuleArgs& r) {
  if (!r.grads[0]) return {array()};
  auto& a = attrs_as<DynamicSliceAttrs>(r.attrs);
  return {slice(r.grads[0], r.inputs[1], a.axes, a.slice_size, r.stream)};
}

Arrays dynamic_slice_update_vjp(const RuleArgs& r) {
  auto& a = attrs_as<DynamicSliceAttrs>(r.attrs);
  const array& g = r.grads[0];
  Arrays out(3);
  if (r.requested[0])
    out[0] =
        slice_update(g, zeros(a.slice_size, g.dtype(), r.stream), r.inputs[2], a.axes, r.stream);
  if (r.requested[1]) out[1] = slice(g, r.inputs[2], a.axes, a.slice_size, r.stream);
  return out;
}
Arrays dynamic_slice_update_jvp(const RuleArgs& r) {
  if (!r.grads[0] && !r.grads[1]) return {array()};
  auto& a = attrs_as<DynamicSliceAttrs>(r.attrs);
  auto tangent = [&](int i) {
    return r.grads[i] ? r.grads[i] : zeros(r.inputs[i].shape(), r.outputs[0].dtype(), r.stream);
  };
  return {slice_update(tangent(0), tangent(1), r.inputs[2], a.axes, r.stream)};
}

Batched slice_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<SliceAttrs>(attrs);
  array x = to_front(in[0], axes[0], s);
  return {{slice(x, prepend(0, a.start), prepend(x.shape()[0], a.stop), prepend(1, a.strides), s)},
          {0}};
}

Batched slice_update_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                          Stream s) {
  auto& a = attrs_as<SliceAttrs>(attrs);
  int64_t batch = batch_size(in, axes);
  return {{slice_update(with_batch(in[0], axes[0], batch, s), with_batch(in[1], axes[1], batch, s),
                        prepend(0, a.start), prepend(batch, a.stop), prepend(1, a.strides), s)},
          {0}};
}

Batched dynamic_slice_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                           Stream s) {
  auto& a = attrs_as<DynamicSliceAttrs>(attrs);
  bool many = axes[0] >= 0;
  array x = to_front(in[0], axes[0], s);
  if (axes[1] < 0)
    return {{slice(x, in[1], shifted(a.axes), prepend(x.shape()[0], a.slice_size), s)}, {0}};
  Arrays starts = batched_starts(in[1], axes[1], many, a.axes.size(), s);
  if (!many) return {{gather(x, starts, a.axes, a.slice_size, s)}, {0}};
  array parts = gather(x, starts, batched_axes(a.axes), prepend(1, a.slice_size), s);
  return {{squeeze(parts, 1, s)}, {0}};
}

Batched dynamic_slice_update_vmap(const Arrays& in, const std::vector<int>& axes,
                                  const Attrs* attrs, Stream s) {
  auto& a = attrs_as<DynamicSliceAttrs>(attrs);
  int64_t batch = batch_size(in, axes);
  array src = with_batch(in[0], axes[0], batch, s), update = with_batch(in[1], axes[1], batch, s);
  if (axes[2] < 0) return {{slice_update(src, update, in[2], shifted(a.axes), s)}, {0}};
  Arrays starts = batched_starts(in[2], axes[2], true, a.axes.size(), s);
  return {{scatter(src, starts, expand_dims(update, 1, s), batched_axes(a.axes), s)}, {0}};
}

}  // namespace mlx::core::rules
