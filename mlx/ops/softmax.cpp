// Checks and layouts of softmax and logsumexp: the reduced axes become the last one.
#include "mlx/ops/softmax.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

Arrays build_softmax(const Arrays& in, const Attrs* attrs, Stream s) {
  return {softmax(in[0], attrs_as<SoftmaxAttrs>(attrs).axis, true, s)};
}
Arrays build_logsumexp(const Arrays& in, const Attrs*, Stream s) {
  return {logsumexp(in[0], -1, false, s)};
}

/// An array whose reduced axes are merged into the last one.
struct ReducedLast {
  array rows;
  std::vector<int> back;  ///< permutation that restores the axes
  Shape shape;            ///< shape before the reduced axes were merged
};
ReducedLast reduced_last(const array& x, const std::vector<int>& axes, Stream s) {
  const int ndim = static_cast<int>(x.ndim());
  std::vector<int> order, back(ndim);
  for (int i = 0; i < ndim; ++i)
    if (!std::binary_search(axes.begin(), axes.end(), i)) order.push_back(i);
  order.insert(order.end(), axes.begin(), axes.end());
  for (int i = 0; i < ndim; ++i) back[order[i]] = i;
  array moved = std::is_sorted(order.begin(), order.end()) ? x : transpose(x, order, s);
  Shape shape = moved.shape();
  if (axes.size() == 1) return {moved, back, shape};
  const int kept = ndim - static_cast<int>(axes.size());
  Shape rows(shape.begin(), shape.begin() + kept);
  int64_t n = 1;
  for (int axis : axes) n *= x.shape()[axis];
  rows.push_back(n);
  return {reshape(moved, rows, s), back, shape};
}

/// The element with the largest real part, to subtract; 0 if that is infinite.
array complex_shift(const array& x, const std::vector<int>& axes, Stream s) {
  array shift = max(real(x, s), axes, true, s);
  return where(isinf(shift, s), rules::zero(shift.dtype()), shift, s);
}

}  // namespace

constinit const OpDef op_softmax{.name = "softmax",
                                 .kind = OpKind::kernel,
                                 .shapeless = true,
                                 .build = build_softmax,
                                 .vjp = rules::softmax_vjp,
                                 .jvp = rules::softmax_jvp,
                                 .vmap = rules::softmax_vmap};
constinit const OpDef op_logsumexp{.name = "logsumexp",
                                   .kind = OpKind::kernel,
                                   .shapeless = true,
                                   .build = build_logsumexp,
                                   .vjp = rules::logsumexp_vjp,
                                   .jvp = rules::logsumexp_jvp,
                                   .vmap = rules::logsumexp_vmap};

array softmax(const array& a, const std::vector<int>& given, bool, StreamOrDevice s) {
  auto axes = normalize_axes(given, static_cast<int64_t>(a.ndim()), "softmax");
  const Stream st = to_stream(s);
  array x = cast_to(a, at_least_float(a.dtype()), st);
  if (axes.empty()) return broadcast_to(constant(1.0, x.dtype()), x.shape(), st);
  if (is_complex(x.dtype())) {
    array e = exp(subtract(x, complex_shift(x, axes, st), st), st);
    return divide(e, sum(e, axes, true, st), st);
  }
  auto softmax_over = [&](const array& rows, int axis) {
    return make_node(op_softmax, rows.shape(), x.dtype(), st, make_attrs(SoftmaxAttrs{axis}), rows);
  };
  if (axes.size() == 1) return softmax_over(x, axes[0]);
  const auto [rows, back, shape] = reduced_last(x, axes, st);
  array y = softmax_over(rows, static_cast<int>(rows.ndim()) - 1);
  if (rows.shape() != shape) y = reshape(y, shape, st);
  return std::is_sorted(back.begin(), back.end()) ? y : transpose(y, back, st);
}
array softmax(const array& a, bool precise, StreamOrDevice s) {
  return softmax(a, all_axes(a), precise, s);
}
array softmax(const array& a, int axis, bool precise, StreamOrDevice s) {
  return softmax(a, std::vector<int>{axis}, precise, s);
}

array logsumexp(const array& a, const std::vector<int>& given, bool keepdims, StreamOrDevice s) {
  auto axes = normalize_axes(given, static_cast<int64_t>(a.ndim()), "logsumexp");
  const Stream st = to_stream(s);
  if (a.size() == 0)
    fail("logsumexp", "an array of shape ", to_string(a.shape()),
         ", which is empty; at least one element is needed");
  array x = cast_to(a, at_least_float(a.dtype()), st);
  if (axes.empty()) return x;
  Shape kept = reduced_shape(a.shape(), axes, keepdims);
  if (is_complex(x.dtype())) {
    array shift = complex_shift(x, axes, st);
    array total = sum(exp(subtract(x, shift, st), st), axes, true, st);
    return reshape(add(log(total, st), shift, st), kept, st);
  }
  array rows = reduced_last(x, axes, st).rows;
  Shape shape(rows.shape().begin(), rows.shape().end() - 1);
  array y = make_node(op_logsumexp, shape, x.dtype(), st, {}, rows);
  return kept == shape ? y : reshape(y, kept, st);
}
array logsumexp(const array& a, bool keepdims, StreamOrDevice s) {
  return logsumexp(a, all_axes(a), keepdims, s);
}
array logsumexp(const array& a, StreamOrDevice s) { return logsumexp(a, all_axes(a), false, s); }
array logsumexp(const array& a, int axis, bool keepdims, StreamOrDevice s) {
  return logsumexp(a, std::vector<int>{axis}, keepdims, s);
}

}  // namespace mlx::core
