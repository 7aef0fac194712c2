// Derivatives and batching of reads through masks: cotangents are written back through the mask.
#include "mlx/ops/compact.h"

#include "mlx/ops.h"

namespace mlx::core::rules {

Arrays compact_vjp(const RuleArgs& r) {
  Arrays out(2);
  if (!r.wanted[0]) return out;
  const array nothing = zeros_like(r.inputs[0], r.stream);
  out[0] = attrs_as<CompactAttrs>(r.attrs).count == 0
               ? nothing
               : masked_scatter(nothing, r.inputs[1], r.grads[0], r.stream);
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

}  // namespace mlx::core::rules
