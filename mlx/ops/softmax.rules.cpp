// Derivatives and batching of softmax and logsumexp.
#include "mlx/ops/softmax.h"

#include "mlx/ops/elementwise.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/view.h"

namespace mlx::core::rules {

namespace {
// The Jacobian of softmax is symmetric: both modes apply the same map.
Arrays softmax_derivative(const RuleArgs& r) {
  const array &y = r.outputs[0], &g = r.grads[0];
  if (!g) return {array{}};
  array weighted = multiply(y, g, r.stream);
  array total = sum(weighted, attrs_as<SoftmaxAttrs>(r.attrs).axis, true, r.stream);
  return {subtract(weighted, multiply(y, total, r.stream), r.stream)};
}
}  // namespace

Arrays softmax_vjp(const RuleArgs& r) { return softmax_derivative(r); }
Arrays softmax_jvp(const RuleArgs& r) { return softmax_derivative(r); }

Arrays logsumexp_vjp(const RuleArgs& r) {
  if (!r.grads[0]) return {array{}};
  return {multiply(expand_dims(r.grads[0], -1, r.stream), softmax(r.inputs[0], -1, true, r.stream),
                   r.stream)};
}
Arrays logsumexp_jvp(const RuleArgs& r) {
  if (!r.grads[0]) return {array{}};
  return {sum(multiply(r.grads[0], softmax(r.inputs[0], -1, true, r.stream), r.stream), -1, false,
              r.stream)};
}

Batched softmax_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                     Stream s) {
  const int axis = attrs_as<SoftmaxAttrs>(attrs).axis + 1;
  return {{softmax(to_front(inputs[0], axes[0], s), axis, true, s)}, {0}};
}
Batched logsumexp_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs*, Stream s) {
  return {{logsumexp(to_front(inputs[0], axes[0], s), -1, false, s)}, {0}};
}

}  // namespace mlx::core::rules
