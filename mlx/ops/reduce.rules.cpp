// Derivatives and batching of the reductions.
#include "mlx/ops/reduce.h"

#include "mlx/ops/cast.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/scan.h"
#include "mlx/ops/view.h"

namespace mlx::core::rules {

namespace {

double count_of(const array& x, const std::vector<int>& axes) {
  double n = 1;
  for (int axis : axes) n *= static_cast<double>(x.shape()[axis]);
  return n;
}

/// For each element, the product of the others along the reduced axes; correct with zeros.
array product_of_others(const array& x, const std::vector<int>& axes, Stream s) {
  // The reduced axes are merged into the last axis.
  std::vector<int> order, back(x.ndim());
  for (int i = 0; i < static_cast<int>(x.ndim()); ++i)
    if (!std::binary_search(axes.begin(), axes.end(), i)) order.push_back(i);
  order.insert(order.end(), axes.begin(), axes.end());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int>(i);
  array moved = transpose(x, order, s);
  Shape rows(moved.shape().begin(), moved.shape().end() - static_cast<int64_t>(axes.size()));
  rows.push_back(static_cast<int64_t>(count_of(x, axes)));
  array flat = reshape(moved, rows, s);
  array others = multiply(cumprod(flat, -1, false, false, s), cumprod(flat, -1, true, false, s), s);
  return transpose(reshape(others, moved.shape(), s), back, s);
}

/// Where elements equal the extremum of their group, and how many do.
std::pair<array, array> extremes(const RuleArgs& r, const ReduceAttrs& a) {
  const array& x = r.inputs[0];
  array hits = equal(x, with_reduced_axes(r.outputs[0], a.axes, a.keepdims, r.stream), r.stream);
  array count = sum(hits, a.axes, true, r.stream);  // counts bools, since they are read often
  return {cast_to(hits, x.dtype(), r.stream), cast_to(count, x.dtype(), r.stream)};
}

}  // namespace

Arrays reduce_vjp(const RuleArgs& r) {
  auto& a = attrs_as<ReduceAttrs>(r.attrs);
  const array& x = r.inputs[0];
  if (!r.grads[0]) return {array{}};
  const Stream s = r.stream;
  array g = with_reduced_axes(r.grads[0], a.axes, a.keepdims, s);
  switch (a.kind) {
    case Reduction::sum:
      return {broadcast_to(g, x.shape(), s)};
    case Reduction::mean:
      return {broadcast_to(multiply(g, constant(1.0 / count_of(x, a.axes), g.dtype()), s),
                           x.shape(), s)};
    case Reduction::prod: {
      array others = product_of_others(x, a.axes, s);
      return {multiply(g, is_complex(x.dtype()) ? conjugate(others, s) : others, s)};
    }
    case Reduction::max:
    case Reduction::min: {
      auto [hits, count] = extremes(r, a);
      return {multiply(hits, divide(g, count, s), s)};
    }
    default:
      return {array{}};
  }
}

Arrays reduce_jvp(const RuleArgs& r) {
  auto& a = attrs_as<ReduceAttrs>(r.attrs);
  const array& x = r.inputs[0];
  const array& t = r.grads[0];
  if (!t) return {array{}};
  const Stream s = r.stream;
  switch (a.kind) {
    case Reduction::sum:
    case Reduction::mean:
      return {reduce(t, a.kind, a.axes, a.keepdims, s)};
    case Reduction::prod:
      return {sum(multiply(t, product_of_others(x, a.axes, s), s), a.axes, a.keepdims, s)};
    case Reduction::max:
    case Reduction::min: {
      auto [hits, count] = extremes(r, a);
      array along = divide(sum(multiply(hits, t, s), a.axes, true, s), count, s);
      return {a.keepdims ? along : squeeze(along, a.axes, s)};
    }
    default:
      return {array{}};
  }
}

namespace {
Batched batched_reduction(const OpDef& op, const Arrays& inputs, const std::vector<int>& axes,
                          const Attrs* attrs, Stream s) {
  ReduceAttrs a = attrs_as<ReduceAttrs>(attrs);
  a.axes = shifted(a.axes);
  auto moved = make_attrs(a);
  return {op.build({to_front(inputs[0], axes[0], s)}, moved.get(), s), {0}};
}
}  // namespace

Batched reduce_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                    Stream s) {
  return batched_reduction(op_reduce, inputs, axes, attrs, s);
}
Batched arg_reduce_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                        Stream s) {
  return batched_reduction(op_arg_reduce, inputs, axes, attrs, s);
}

Arrays flat_vjp(const RuleArgs& r) { return Arrays(r.inputs.size()); }
Arrays flat_jvp(const RuleArgs& r) { return Arrays(r.outputs.size()); }

}  // namespace mlx::core::rules
