// Derivatives and batching of scatters. At given values, every scatter is linear in the array and
// in the updates with elementwise coefficients; both derivative modes follow from these.
#include "mlx/ops/scatter.h"

#include <algorithm>
#include <functional>

#include "mlx/ops.h"
#include "mlx/ops/index.h"
#include "mlx/ops/rules.h"

namespace mlx::core::rules {
namespace {

/// A scatter with fixed indices.
struct ScatterPositions {
  std::function<array(const array& a, const array& updates, ScatterMode)> put;
  std::function<array(const array& a)> get;  ///< the elements at the indices
  std::function<array()> last;               ///< bool: no later update has the same index
  Stream s;
};

/// Derivatives of the result by the array and by each update: null means one, bool means one or
/// zero.
struct Coefficients {
  array a, updates;
};

/// For each update, the product of all other updates at the same index. Correct with zeros.
array product_of_other_updates(const array& a, const array& u, const ScatterPositions& at) {
  Stream s = at.s;
  array zero = equal(u, array(0.0f, u.dtype()), s);
  array count =
      at.get(at.put(zeros(a.shape(), int32, s), astype(zero, int32, s), ScatterMode::add));
  array safe = where(zero, ones_like(u, s), u, s);
  array product = at.get(at.put(ones_like(a, s), safe, ScatterMode::multiply));
  array other_zeros = subtract(count, astype(zero, int32, s), s);
  return where(equal(other_zeros, array(0), s), divide(product, safe, s), zeros_like(u, s), s);
}

Coefficients coefficients(ScatterMode mode, const array& a, const array& u, const array& out,
                          const ScatterPositions& at) {
  Stream s = at.s;
  switch (mode) {
    case ScatterMode::set:
      return {at.put(ones(a.shape(), bool_, s), zeros(u.shape(), bool_, s), mode), at.last()};
    case ScatterMode::add:
      return {};
    case ScatterMode::multiply:
      return {at.put(ones_like(a, s), u, mode),
              multiply(at.get(a), product_of_other_updates(a, u, at), s)};
    case ScatterMode::divide:
      return {at.put(ones_like(a, s), u, mode), negative(divide(at.get(out), u, s), s)};
    default:
      return {equal(out, a, s), equal(at.get(out), u, s)};
  }
}

array scaled_updates(const array& t, const array& coefficient, bool transposed, Stream s) {
  if (!coefficient) return t;
  if (coefficient.dtype() == bool_) return where(coefficient, t, zeros_like(t, s), s);
  return multiply(t, transposed && is_complex(t.dtype()) ? conjugate(coefficient, s) : coefficient,
                  s);
}

Arrays scatter_vjp(const RuleArgs& r, ScatterMode mode, const ScatterPositions& at) {
  Arrays out(r.inputs.size());
  if (!r.grads[0] || (!r.requested.front() && !r.requested.back())) return out;
  Coefficients c = coefficients(mode, r.inputs[0], r.inputs.back(), r.outputs[0], at);
  if (r.requested.front()) out.front() = scaled_updates(r.grads[0], c.a, true, at.s);
  if (r.requested.back()) out.back() = scaled_updates(at.get(r.grads[0]), c.updates, true, at.s);
  return out;
}

Arrays scatter_jvp(const RuleArgs& r, ScatterMode mode, const ScatterPositions& at) {
  const array &ta = r.grads.front(), &tu = r.grads.back();
  if (!ta && !tu) return {array{}};
  Coefficients c = coefficients(mode, r.inputs[0], r.inputs.back(), r.outputs[0], at);
  array sum = ta ? scaled_updates(ta, c.a, false, at.s) : zeros_like(r.outputs[0], at.s);
  if (tu) sum = at.put(sum, scaled_updates(tu, c.updates, false, at.s), ScatterMode::add);
  return {sum};
}

ScatterPositions positions_of_scatter(const RuleArgs& r) {
  const auto& axes = attrs_as<ScatterAttrs>(r.attrs).axes;
  Arrays indices(r.inputs.begin() + 1, r.inputs.end() - 1);
  Stream s = r.stream;
  const Shape& updates = r.inputs.back().shape();
  size_t rank = updates.size() - r.inputs[0].ndim();
  Shape sizes(updates.begin() + rank, updates.end());
  auto put = [=](const array& a, const array& u, ScatterMode mode) {
    return scatter(a, indices, u, axes, mode, s);
  };
  auto get = [=](const array& a) { return gather(a, indices, axes, sizes, s); };
  auto last = [=, shape = r.inputs[0].shape()] {
    // Axes that are not indexed are covered equally by all updates: one element represents them.
    Shape place(shape.size(), 1), span(shape.size(), 1);
    for (int axis : axes) {
      place[axis] = shape[axis];
      span[axis] = sizes[axis];
    }
    Shape order_shape(updates.begin(), updates.begin() + rank), full = order_shape;
    int64_t n = num_elements(order_shape);
    order_shape.resize(updates.size(), 1);
    full.insert(full.end(), span.begin(), span.end());
    array order =
        broadcast_to(reshape(arange(int64_t{0}, n, int64_t{1}, int64, s), order_shape, s), full, s);
    array winner = scatter(zeros(place, int64, s), indices, order, axes, s);
    return equal(gather(winner, indices, axes, span, s), order, s);
  };
  return {put, get, last, s};
}

ScatterPositions positions_of_axis(const RuleArgs& r) {
  int axis = attrs_as<ScatterAxisAttrs>(r.attrs).axis;
  array indices = r.inputs[1];
  Stream s = r.stream;
  auto put = [=](const array& a, const array& u, ScatterMode mode) {
    return scatter_axis(a, indices, u, axis, mode, s);
  };
  auto get = [=](const array& a) { return take_along_axis(a, indices, axis, s); };
  auto last = [=, shape = r.inputs[0].shape()] {
    Shape order_shape(shape.size(), 1);
    int64_t n = order_shape[axis] = indices.shape(axis);
    array order = broadcast_to(reshape(arange(int64_t{0}, n, int64_t{1}, int64, s), order_shape, s),
                               indices.shape(), s);
    return equal(get(put(zeros(shape, int64, s), order, ScatterMode::set)), order, s);
  };
  return {put, get, last, s};
}

}  // namespace

Arrays scatter_vjp(const RuleArgs& r) {
  return scatter_vjp(r, attrs_as<ScatterAttrs>(r.attrs).mode, positions_of_scatter(r));
}
Arrays scatter_jvp(const RuleArgs& r) {
  return scatter_jvp(r, attrs_as<ScatterAttrs>(r.attrs).mode, positions_of_scatter(r));
}
Arrays scatter_axis_vjp(const RuleArgs& r) {
  return scatter_vjp(r, attrs_as<ScatterAxisAttrs>(r.attrs).mode, positions_of_axis(r));
}
Arrays scatter_axis_jvp(const RuleArgs& r) {
  return scatter_jvp(r, attrs_as<ScatterAxisAttrs>(r.attrs).mode, positions_of_axis(r));
}

Batched scatter_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs,
                     Stream s) {
  const auto& r = attrs_as<ScatterAttrs>(attrs);
  int64_t batch = batch_size(in, mapped);
  array a = with_batch(in[0], mapped[0], batch, s);
  array updates = with_batch(in.back(), mapped.back(), batch, s);
  int rank = static_cast<int>(updates.ndim() - a.ndim());
  std::vector<int> axes = r.axes, index_axes(mapped.begin() + 1, mapped.end() - 1);
  for (int& axis : axes) ++axis;
  Arrays indices(in.begin() + 1, in.end() - 1);
  if (std::all_of(index_axes.begin(), index_axes.end(), [](int i) { return i < 0; })) {
    // One index serves all batch elements: the batch is one more axis of the slices.
    return {{scatter(a, indices, moveaxis(updates, 0, rank, s), axes, r.mode, s)}, {0}};
  }
  indices = batch_indices(indices, index_axes);
  Shape lengths(indices[0].ndim(), 1);
  lengths[0] = batch;
  indices.push_back(reshape(arange(int64_t{0}, batch, int64_t{1}, int64, s), lengths, s));
  axes.push_back(0);
  return {{scatter(a, indices, expand_dims(updates, rank + 1, s), axes, r.mode, s)}, {0}};
}

Batched scatter_axis_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs,
                          Stream s) {
  const auto& r = attrs_as<ScatterAxisAttrs>(attrs);
  int64_t batch = batch_size(in, mapped);
  Arrays moved;
  for (size_t i = 0; i < 3; ++i) moved.push_back(with_batch(in[i], mapped[i], batch, s));
  return {{scatter_axis(moved[0], moved[1], moved[2], r.axis + 1, r.mode, s)}, {0}};
}

}  // namespace mlx::core::rules
