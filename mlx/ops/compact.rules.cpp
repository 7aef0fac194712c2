// Derivatives and batching of masked reads and writes, which are each other's transposes.
#include "mlx/ops/compact.h"

#include "mlx/ops.h"
#include "mlx/ops/composite.h"

namespace mlx::core::rules {

Arrays compact_vjp(const RuleArgs& r) {
  Arrays out(2);
  if (r.requested[0])
    out[0] =
        masked_scatter_node(zeros_like(r.inputs[0], r.stream), r.inputs[1], r.grads[0], r.stream);
  return out;
}

Arrays compact_jvp(const RuleArgs& r) {
  if (!r.grads[0]) return {array{}};
  return op_compact.build({r.grads[0], r.inputs[1]}, r.attrs, r.stream);
}

Batched compact_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  if (axes[1] >= 0) return {};
  const array a = moveaxis(in[0], axes[0], static_cast<int>(in[1].ndim()), s);
  return {op_compact.build({a, in[1]}, attrs, s), {1}};
}

namespace {

/// The mask with axes of length 1 for the remaining axes of `a`.
array covering(const array& mask, const array& a, Stream s) {
  Shape shape = mask.shape();
  shape.resize(a.ndim(), 1);
  return reshape(mask, shape, s);
}

}  // namespace

Arrays masked_scatter_vjp(const RuleArgs& r) {
  const array &mask = r.inputs[1], &g = r.grads[0];
  Arrays out(3);
  if (r.requested[0]) out[0] = where(covering(mask, g, r.stream), zero(g.dtype()), g, r.stream);
  if (r.requested[2]) out[2] = compact_node(g, mask, {r.inputs[2].shape(0), false}, r.stream);
  return out;
}

Arrays masked_scatter_jvp(const RuleArgs& r) {
  if (!r.grads[0] && !r.grads[2]) return {array{}};
  auto tangent = [&](int i) { return r.grads[i] ? r.grads[i] : zeros_like(r.inputs[i], r.stream); };
  return {masked_scatter_node(tangent(0), r.inputs[1], tangent(2), r.stream)};
}

Batched masked_scatter_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs*,
                            Stream s) {
  auto formula = [s](const Arrays& x) -> Arrays {
    const array &a = x[0], &mask = x[1], &values = x[2];
    if (values.shape(0) == 0) return {a};
    // The cumulative sum of the mask numbers the slices; a number beyond the last slice is an index
    // error. Elements before the first selected one get index -1, whose slice is not used.
    const Dtype counter = mask.size() > INT32_MAX ? int64 : int32;
    const array count = cumsum(astype(flatten(mask, s), counter, s), 0, false, true, s);
    const array number = subtract(reshape(count, mask.shape(), s), constant(1, counter), s);
    return {where(covering(mask, a, s), take(values, number, 0, s), a, s)};
  };
  return formula_vmap(formula, in, axes);
}

}  // namespace mlx::core::rules
