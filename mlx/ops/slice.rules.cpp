// Derivatives and batching of slices.
#include "mlx/ops/slice.h"

#include "mlx/ops/creation.h"
#include "mlx/ops/index.h"
#include "mlx/ops/scatter.h"
#include "mlx/ops/view.h"

namespace mlx::core::rules {

namespace {

/// The starts of a batch, one array of shape (batch,) for each axis, after the batch's own positions.
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

}  // namespace

Arrays slice_vjp(const RuleArgs& r) {
  auto& a = attrs_as<SliceAttrs>(r.attrs);
  array whole = zeros(r.inputs[0].shape(), r.grads[0].dtype(), r.stream);
  return {slice_update(whole, r.grads[0], a.start, a.stop, a.strides, r.stream)};
}

Arrays slice_update_vjp(const RuleArgs& r) {
  auto& a = attrs_as<SliceAttrs>(r.attrs);
  const array& g = r.grads[0];
  Arrays out(2);
  if (r.wanted[0]) out[0] = slice_update(g, zero(g.dtype()), a.start, a.stop, a.strides, r.stream);
  if (r.wanted[1]) out[1] = slice(g, a.start, a.stop, a.strides, r.stream);
  return out;
}

Arrays dynamic_slice_vjp(const RuleArgs& r) {
  array whole = zeros(r.inputs[0].shape(), r.grads[0].dtype(), r.stream);
  return {slice_update(whole, r.grads[0], r.inputs[1],
                       attrs_as<DynamicSliceAttrs>(r.attrs).axes, r.stream),
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
  if (r.wanted[0])
    out[0] = slice_update(g, zeros(a.slice_size, g.dtype(), r.stream), r.inputs[2], a.axes, r.stream);
  if (r.wanted[1]) out[1] = slice(g, r.inputs[2], a.axes, a.slice_size, r.stream);
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

Batched dynamic_slice_update_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                                  Stream s) {
  auto& a = attrs_as<DynamicSliceAttrs>(attrs);
  int64_t batch = batch_size(in, axes);
  array src = with_batch(in[0], axes[0], batch, s), update = with_batch(in[1], axes[1], batch, s);
  if (axes[2] < 0) return {{slice_update(src, update, in[2], shifted(a.axes), s)}, {0}};
  Arrays starts = batched_starts(in[2], axes[2], true, a.axes.size(), s);
  return {{scatter(src, starts, expand_dims(update, 1, s), batched_axes(a.axes), s)}, {0}};
}

}  // namespace mlx::core::rules
