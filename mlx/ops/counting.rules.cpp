// Derivatives of sums of weights, which are linear in the weights.
#include "mlx/ops/counting.h"

#include "mlx/ops.h"

namespace mlx::core::rules {

Arrays count_vjp(const RuleArgs& r) {
  auto& a = attrs_as<CountAttrs>(r.attrs);
  const array &x = r.inputs[0], &g = r.grads[0];
  Stream s = r.stream;
  Arrays out(r.inputs.size());
  const size_t first = a.bins == Bins::values ? 1 : 2;
  if (!g || r.inputs.size() == first || !r.requested.back()) return out;
  if (a.bins == Bins::values) {
    out.back() = take(g, subtract(astype(x, int64, s), array(a.first, int64), s), 0, s);
  } else if (a.length > 0) {
    const array& edges = r.inputs[1];
    const array y = astype(x, edges.dtype(), s);
    const array last = take(edges, -1, 0, s);
    array bin = astype(searchsorted(slice(edges, {0}, {a.length}, s), y, "right", s), int32, s);
    const array inside =
        logical_and(greater(bin, constant(0, int32), s), less_equal(y, last, s), s);
    bin = where(inside, subtract(bin, constant(1, int32), s), constant(0, int32), s);
    out.back() = where(inside, take(g, bin, 0, s), zero(g.dtype()), s);
  } else {
    out.back() = zeros_like(r.inputs.back(), s);
  }
  return out;
}

Arrays count_jvp(const RuleArgs& r) {
  auto& a = attrs_as<CountAttrs>(r.attrs);
  const size_t first = a.bins == Bins::values ? 1 : 2;
  if (r.inputs.size() == first || !r.grads.back()) return {array{}};
  Arrays inputs = r.inputs;
  inputs.back() = r.grads.back();
  return op_count.build(inputs, r.attrs, r.stream);
}

}  // namespace mlx::core::rules
