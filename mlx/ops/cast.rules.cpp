// Derivatives and batching of dtype conversions and bit reinterpretations.
#include "mlx/ops/cast.h"

#include "mlx/core/error.h"

namespace mlx::core::rules {

Arrays cast_vjp(const RuleArgs& r) { return {cast_to(r.grads[0], r.inputs[0].dtype(), r.stream)}; }
Arrays cast_jvp(const RuleArgs& r) { return {cast_to(r.grads[0], r.outputs[0].dtype(), r.stream)}; }
/// Bits viewed as integers have no derivative. Complex numbers viewed as their parts, and parts
/// viewed as complex numbers, have the derivative of a linear map; views between other floating
/// dtypes have none.
Arrays view_derivative(const RuleArgs& r, Dtype to) {
  const Dtype in = r.inputs[0].dtype(), out = r.outputs[0].dtype();
  if (!is_inexact(in) || !is_inexact(out)) return {array()};
  if (real_dtype(in) != real_dtype(out))
    fail<ValueError>("view", dtype_name(in), " read as ", dtype_name(out),
                     " has no derivative; astype has one, and stop_gradient keeps derivatives out");
  return {view(r.grads[0], to, r.stream)};
}
Arrays view_vjp(const RuleArgs& r) { return view_derivative(r, r.inputs[0].dtype()); }
Arrays view_jvp(const RuleArgs& r) { return view_derivative(r, r.outputs[0].dtype()); }
Arrays stop_gradient_vjp(const RuleArgs&) { return {array()}; }
Arrays stop_gradient_jvp(const RuleArgs&) { return {array()}; }

Batched cast_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  return {{cast_to(in[0], attrs_as<CastAttrs>(attrs).dtype, s)}, axes};
}
Batched copy_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs*, Stream s) {
  return {{copy(in[0], s)}, axes};
}
Batched view_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  return {op_view.build({to_front(in[0], axes[0], s)}, attrs, s), {0}};
}
Batched contiguous_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs*, Stream s) {
  return {{contiguous(to_front(in[0], axes[0], s), false, s)}, {0}};
}
Batched stop_gradient_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs*, Stream s) {
  return {{stop_gradient(in[0], s)}, axes};
}

}  // namespace mlx::core::rules
