// Derivatives and batching of the view ops. All are linear; the transpose of a view moves the
// elements back.
#include "mlx/ops/view.h"

#include "mlx/ops/concat.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/scatter.h"

namespace mlx::core::rules {

Arrays reshape_vjp(const RuleArgs& r) {
  return {reshape(r.grads[0], r.inputs[0].shape(), r.stream)};
}

Arrays transpose_vjp(const RuleArgs& r) {
  auto& axes = attrs_as<TransposeAttrs>(r.attrs).axes;
  std::vector<int> back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) back[axes[i]] = static_cast<int>(i);
  return {transpose(r.grads[0], std::move(back), r.stream)};
}

Arrays broadcast_to_vjp(const RuleArgs& r) {
  return {sum_to(r.grads[0], r.inputs[0].shape(), r.stream)};
}

/// Every element of the cotangent is added at the index that it came from.
Arrays as_strided_vjp(const RuleArgs& r) {
  auto& a = attrs_as<AsStridedAttrs>(r.attrs);
  int64_t size = static_cast<int64_t>(r.inputs[0].size());
  array positions = constant(static_cast<double>(a.offset), int64);
  for (size_t i = 0; i < a.shape.size(); ++i) {
    Shape along(a.shape.size(), 1);
    along[i] = a.shape[i];
    array step = arange(0, a.shape[i], 1, int64, r.stream) * array(a.strides[i], int64);
    positions = add(positions, reshape(step, along, r.stream), r.stream);
  }
  int64_t count = static_cast<int64_t>(r.grads[0].size());
  positions = reshape(broadcast_to(positions, a.shape, r.stream), {count}, r.stream);
  array flat = scatter_add(zeros({size}, r.grads[0].dtype(), r.stream), positions,
                           reshape(r.grads[0], {count, 1}, r.stream), 0, r.stream);
  return {reshape(flat, r.inputs[0].shape(), r.stream)};
}

/// The cotangent is broadcast to one row per element of the diagonal and masked.
Arrays diagonal_vjp(const RuleArgs& r) {
  auto& a = attrs_as<DiagonalAttrs>(r.attrs);
  const Shape& shape = r.inputs[0].shape();
  int64_t rows = shape[a.axis1], columns = shape[a.axis2], count = r.grads[0].shape().back();
  int64_t above = std::min<int64_t>(rows, std::max(0, -a.offset));
  int last = static_cast<int>(r.grads[0].ndim()) - 1;
  array g = pad(r.grads[0], {last}, Shape{above}, Shape{rows - above - count},
                zero(r.grads[0].dtype()), "constant", r.stream);
  g = where(eye(rows, columns, a.offset, bool_, r.stream), expand_dims(g, -1, r.stream),
            zero(g.dtype()), r.stream);
  std::vector<int> order;  // permutation of the planes' axes, which come last
  for (int i = 0, k = 0; i < static_cast<int>(shape.size()); ++i)
    order.push_back(i == a.axis1 ? last : i == a.axis2 ? last + 1 : k++);
  return {transpose(g, std::move(order), r.stream)};
}

Batched reshape_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  array x = to_front(in[0], axes[0], s);
  // The length is inferred from one element of the batch.
  Shape shape = attrs_as<ReshapeAttrs>(attrs).shape;
  int64_t batch = x.shape()[0], known = 1, size = 1;
  for (size_t i = 1; i < x.ndim(); ++i) size *= x.shape()[i];
  for (int64_t n : shape) known *= n == -1 ? 1 : n;
  for (int64_t& n : shape)
    if (n == -1) n = known ? size / known : 0;
  return {{reshape(x, prepend(batch, shape), s)}, {0}};
}

Batched flatten_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<FlattenAttrs>(attrs);
  return {{flatten(to_front(in[0], axes[0], s), a.start + 1, a.end + 1, s)}, {0}};
}
Batched unflatten_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                       Stream s) {
  auto& a = attrs_as<UnflattenAttrs>(attrs);
  return {{unflatten(to_front(in[0], axes[0], s), a.axis + 1, a.shape, s)}, {0}};
}

namespace {
std::vector<int> inner_axes(const Attrs* attrs) {
  auto& axes = attrs_as<AxesAttrs>(attrs).axes;
  return shifted(std::vector<int>(axes.begin(), axes.end()));
}
}  // namespace

Batched squeeze_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  return {{squeeze(to_front(in[0], axes[0], s), inner_axes(attrs), s)}, {0}};
}
Batched expand_dims_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                         Stream s) {
  return {{expand_dims(to_front(in[0], axes[0], s), inner_axes(attrs), s)}, {0}};
}

Batched transpose_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                       Stream s) {
  std::vector<int> order;
  order.push_back(axes[0]);
  for (int i : attrs_as<TransposeAttrs>(attrs).axes) order.push_back(i + (i >= axes[0]));
  return {{transpose(in[0], std::move(order), s)}, {0}};
}

Batched broadcast_to_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                          Stream s) {
  const Shape& shape = attrs_as<BroadcastAttrs>(attrs).shape;
  array x = to_front(in[0], axes[0], s);
  Shape aligned(shape.size() + 1, 1);
  aligned[0] = x.shape()[0];
  std::copy(x.shape().begin() + 1, x.shape().end(), aligned.end() - (x.ndim() - 1));
  return {{broadcast_to(reshape(x, aligned, s), prepend(x.shape()[0], shape), s)}, {0}};
}

Batched as_strided_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                        Stream s) {
  auto& a = attrs_as<AsStridedAttrs>(attrs);
  array x = to_front(in[0], axes[0], s);
  int64_t batch = x.shape()[0], each = batch ? static_cast<int64_t>(x.size()) / batch : 0;
  return {{as_strided(x, prepend(batch, a.shape), prepend(each, a.strides), a.offset, s)}, {0}};
}

Batched diagonal_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                      Stream s) {
  auto& a = attrs_as<DiagonalAttrs>(attrs);
  return {{diagonal(to_front(in[0], axes[0], s), a.offset, a.axis1 + 1, a.axis2 + 1, s)}, {0}};
}

}  // namespace mlx::core::rules
