// Derivatives and batching of the scans. An exclusive scan is an inclusive scan shifted by one, and
// so are its rules.
#include "mlx/ops/scan.h"

#include "mlx/ops/concat.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/index.h"
#include "mlx/ops/scatter.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/view.h"

namespace mlx::core::rules {

namespace {

/// x shifted by one along the axis (towards the start for `reverse`), with `fill` at the free end.
array delayed(const array& x, int axis, bool reverse, double fill, Stream s) {
  const int64_t n = x.shape()[axis];
  if (n == 0) return x;
  Shape start(x.ndim(), 0), stop = x.shape(), edge = x.shape();
  (reverse ? start[axis] : stop[axis]) = reverse ? 1 : n - 1;
  edge[axis] = 1;
  array rest = slice(x, start, stop, s);
  array filling = broadcast_to(constant(fill, x.dtype()), edge, s);
  return reverse ? concatenate({rest, filling}, axis, s) : concatenate({filling, rest}, axis, s);
}

array adjoint(const array& x, Stream s) { return is_complex(x.dtype()) ? conjugate(x, s) : x; }

/// The index of each cumulative extremum, the last one of equal elements.
array extreme_positions(const array& x, const array& y, const ScanAttrs& a, Stream s) {
  const auto n = static_cast<double>(x.shape()[a.axis]);
  Shape shape(x.ndim(), 1);
  shape[a.axis] = x.shape()[a.axis];
  array at = reshape(arange(0.0, n, 1.0, int32, s), shape, s);
  // The first element is an extremum even if it is NaN, which equals nothing.
  array first = equal(at, constant(a.reverse ? n - 1 : 0, int32), s);
  array marks =
      where(logical_or(equal(x, y, s), first, s), at, constant(a.reverse ? n : -1.0, int32), s);
  return scan(marks, a.reverse ? ScanKind::min : ScanKind::max, a.axis, a.reverse, true, s);
}

/// sum over i of g_i exp(u_i - v_j), over the i that the scan includes at j; g of any sign.
array weighted_exponentials(const array& g, const array& u, const array& v, int axis, bool reverse,
                            Stream s) {
  if (is_complex(g.dtype())) {
    array sums = cumsum(multiply(g, exp(u, s), s), axis, reverse, true, s);
    return multiply(sums, exp(negative(v, s), s), s);
  }
  auto part = [&](const array& positive) {
    array logs = add(log(positive, s), u, s);
    logs = where(isnan(logs, s), constant(-INFINITY, g.dtype()), logs, s);
    array total = subtract(logcumsumexp(logs, axis, reverse, true, s), v, s);
    return where(isfinite(total, s), exp(total, s), zero(g.dtype()), s);
  };
  const array none = zero(g.dtype());
  return subtract(part(maximum(g, none, s)), part(maximum(negative(g, s), none, s)), s);
}

/// Cotangent of x for the inclusive scan y.
array inclusive_vjp(const array& x, const array& y, const array& g, const ScanAttrs& a, Stream s) {
  switch (a.kind) {
    case ScanKind::prod: {
      // dx_i = (x_0 .. x_{i-1}) S_i with S_i = g_i + x_{i+1} S_{i+1}
      array next = adjoint(delayed(x, a.axis, !a.reverse, 0, s), s);
      array before = adjoint(delayed(y, a.axis, a.reverse, 1, s), s);
      return multiply(before, affine_scan(next, g, a.axis, !a.reverse, s), s);
    }
    case ScanKind::logsumexp:
      return weighted_exponentials(g, negative(adjoint(y, s), s), negative(adjoint(x, s), s),
                                   a.axis, !a.reverse, s);
    default:
      return scatter_add_axis(zeros(x.shape(), g.dtype(), s), extreme_positions(x, y, a, s), g,
                              a.axis, s);
  }
}

/// Tangent of the inclusive scan y for the tangent t of x.
array inclusive_jvp(const array& x, const array& y, const array& t, const ScanAttrs& a, Stream s) {
  switch (a.kind) {
    case ScanKind::prod:
      return affine_scan(x, multiply(delayed(y, a.axis, a.reverse, 1, s), t, s), a.axis, a.reverse,
                         s);
    case ScanKind::logsumexp:
      return weighted_exponentials(t, x, y, a.axis, a.reverse, s);
    default:
      return take_along_axis(t, extreme_positions(x, y, a, s), a.axis, s);
  }
}

array inclusive_scan(const RuleArgs& r, const ScanAttrs& a) {
  if (a.inclusive) return r.outputs[0];
  return scan(r.inputs[0], a.kind, a.axis, a.reverse, true, r.stream);
}

}  // namespace

Arrays scan_vjp(const RuleArgs& r) {
  auto& a = attrs_as<ScanAttrs>(r.attrs);
  const array &x = r.inputs[0], &g = r.grads[0];
  if (!g) return {array{}};
  const Stream s = r.stream;
  if (a.kind == ScanKind::sum) return {scan(g, a.kind, a.axis, !a.reverse, a.inclusive, s)};
  array moved = a.inclusive ? g : delayed(g, a.axis, !a.reverse, 0, s);
  return {inclusive_vjp(x, inclusive_scan(r, a), moved, a, s)};
}

Arrays scan_jvp(const RuleArgs& r) {
  auto& a = attrs_as<ScanAttrs>(r.attrs);
  const array &x = r.inputs[0], &t = r.grads[0];
  if (!t) return {array{}};
  const Stream s = r.stream;
  if (a.kind == ScanKind::sum) return {scan(t, a.kind, a.axis, a.reverse, a.inclusive, s)};
  array tangent = inclusive_jvp(x, inclusive_scan(r, a), t, a, s);
  return {a.inclusive ? tangent : delayed(tangent, a.axis, a.reverse, 0, s)};
}

Batched scan_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                  Stream s) {
  auto& a = attrs_as<ScanAttrs>(attrs);
  return {{scan(to_front(inputs[0], axes[0], s), a.kind, a.axis + 1, a.reverse, a.inclusive, s)},
          {0}};
}

// y_i = b_i + a_i y_{i-1}: with c the cotangent of b, c_i = g_i + a_{i+1} c_{i+1} and a_i has c_i
// y_{i-1}.
Arrays affine_scan_vjp(const RuleArgs& r) {
  auto& a = attrs_as<AffineScanAttrs>(r.attrs);
  if (!r.grads[0]) return {array{}, array{}};
  const Stream s = r.stream;
  array next = adjoint(delayed(r.inputs[0], a.axis, !a.reverse, 0, s), s);
  array c = affine_scan(next, r.grads[0], a.axis, !a.reverse, s);
  array before = adjoint(delayed(r.outputs[0], a.axis, a.reverse, 0, s), s);
  return {multiply(c, before, s), c};
}

Arrays affine_scan_jvp(const RuleArgs& r) {
  auto& a = attrs_as<AffineScanAttrs>(r.attrs);
  const Stream s = r.stream;
  array t = r.grads[1];
  if (r.grads[0]) {
    array through = multiply(r.grads[0], delayed(r.outputs[0], a.axis, a.reverse, 0, s), s);
    t = t ? add(t, through, s) : through;
  }
  if (!t) return {array{}};
  return {affine_scan(r.inputs[0], t, a.axis, a.reverse, s)};
}

Batched affine_scan_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                         Stream s) {
  auto& a = attrs_as<AffineScanAttrs>(attrs);
  const int64_t n = batch_size(inputs, axes);
  return {{affine_scan(with_batch(inputs[0], axes[0], n, s), with_batch(inputs[1], axes[1], n, s),
                       a.axis + 1, a.reverse, s)},
          {0}};
}

}  // namespace mlx::core::rules
