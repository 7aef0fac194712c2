// Derivatives and batching of the view ops. All are linear; the transpose of a view moves the
// elements back.
#include "mlx/ops/view.h"

#include <optional>

#include "mlx/ops/concat.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/scatter.h"
#include "mlx/ops/slice.h"

namespace mlx::core::rules {
namespace {

/// A strided view as a few slices of its input: some of its axes walk one axis of the input each,
/// and each position of the others is a slice.
struct Slices {
  std::vector<int> walks;     ///< for each axis of the input, the axis of the view, or -1
  Shape steps;                ///< for each axis of the input
  std::vector<int> rest;      ///< axes of the view
  std::vector<Shape> at;      ///< positions on these, the last first
  std::vector<Shape> starts;  ///< of their slices
};

/// Gives each axis of the view the outermost axis of the input that it can walk; of several, the
/// longest has it.
void assign_axes(const AsStridedAttrs& a, const Shape& input, Slices& to) {
  const Strides strides = row_major(input);
  to.walks.assign(input.size(), -1);
  to.steps = Shape(input.size(), 1);
  for (int v = 0; v < static_cast<int>(a.shape.size()); ++v) {
    size_t k = 0;
    auto fits = [&] {
      return input[k] > 1 && a.strides[v] >= strides[k] && a.strides[v] % strides[k] == 0 &&
             (a.shape[v] - 1) * (a.strides[v] / strides[k]) < input[k];
    };
    while (k < input.size() && !fits()) ++k;
    int waits = v;
    if (k < input.size() && (to.walks[k] < 0 || a.shape[to.walks[k]] < a.shape[v])) {
      std::swap(waits, to.walks[k]);
      to.steps[k] = a.strides[v] / strides[k];
    }
    if (waits >= 0) to.rest.push_back(waits);
  }
}

/// The slices of a view with elements; none where there are too many, or one leaves its axis.
std::optional<Slices> slices_of(const AsStridedAttrs& a, const Shape& input) {
  constexpr int64_t kMost = 64;
  Slices to;
  assign_axes(a, input, to);
  int64_t count = 1;
  for (int v : to.rest)
    if ((count *= a.shape[v]) > kMost) return std::nullopt;
  const Strides strides = row_major(input);
  for (int64_t number = count - 1; number >= 0; --number) {
    Shape at(to.rest.size(), 0), start(input.size(), 0);
    int64_t place = a.offset;
    for (int64_t i = static_cast<int64_t>(to.rest.size()) - 1, left = number; i >= 0; --i) {
      const int v = to.rest[i];
      at[i] = left % a.shape[v];
      left /= a.shape[v];
      place += at[i] * a.strides[v];
    }
    for (size_t k = 0; k < input.size(); ++k) {
      start[k] = place / strides[k];
      place %= strides[k];
      const int64_t length = to.walks[k] < 0 ? 1 : a.shape[to.walks[k]];
      if (start[k] < 0 || start[k] + (length - 1) * to.steps[k] >= input[k]) return std::nullopt;
    }
    to.at.push_back(std::move(at));
    to.starts.push_back(std::move(start));
  }
  return to;
}

/// Adds the slices of a cotangent one after the other.
array add_slices(const array& g, const Slices& slices, const Shape& input, Stream s) {
  std::vector<int> order, absent;
  Shape lengths;
  for (size_t k = 0; k < input.size(); ++k) {
    const int v = slices.walks[k];
    if (v >= 0)
      order.push_back(v);
    else
      absent.push_back(static_cast<int>(k));
    lengths.push_back(v < 0 ? 1 : g.shape()[v]);
  }
  const int walked = static_cast<int>(order.size());
  order.insert(order.end(), slices.rest.begin(), slices.rest.end());
  std::vector<int> single;
  for (int i = walked; i < static_cast<int>(order.size()); ++i) single.push_back(i);
  const array moved = transpose(g, order, s);
  array sum = zeros(input, g.dtype(), s);
  for (size_t n = 0; n < slices.at.size(); ++n) {
    Shape from(moved.ndim(), 0), to(moved.shape()), stop(slices.starts[n]);
    for (size_t i = 0; i < slices.rest.size(); ++i) {
      from[walked + i] = slices.at[n][i];
      to[walked + i] = from[walked + i] + 1;
    }
    for (size_t k = 0; k < input.size(); ++k) stop[k] += (lengths[k] - 1) * slices.steps[k] + 1;
    const array part = squeeze(slice(moved, from, to, s), single, s);
    sum = slice_update_add(sum, expand_dims(part, absent, s), slices.starts[n], std::move(stop),
                           slices.steps, s);
  }
  return sum;
}

}  // namespace

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

/// Every element of the cotangent is added at the index that it came from; windows, as slices, in
/// the order of their elements there.
Arrays as_strided_vjp(const RuleArgs& r) {
  auto& a = attrs_as<AsStridedAttrs>(r.attrs);
  if (r.grads[0].size() > 0)
    if (const auto slices = slices_of(a, r.inputs[0].shape()))
      return {add_slices(r.grads[0], *slices, r.inputs[0].shape(), r.stream)};
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
