// Derivatives and batching of random numbers by rejection. A gamma variate is differentiable in its
// shape at a fixed value of the distribution function; the others are constants for derivatives.
#include "mlx/ops/draw.h"

#include "mlx/ops.h"
#include "mlx/ops/series.h"

namespace mlx::core::rules {

namespace {
bool has_slope(const RuleArgs& r) { return attrs_as<DrawAttrs>(r.attrs).kind == Draw::log_gamma; }
array slope(const RuleArgs& r) {
  return series(Series::log_gamma_slope, {r.inputs[1], r.outputs[0]}, r.stream);
}
}  // namespace

Arrays draw_vjp(const RuleArgs& r) {
  Arrays out(r.inputs.size());
  if (has_slope(r) && r.requested[1] && r.grads[0])
    out[1] = multiply(r.grads[0], slope(r), r.stream);
  return out;
}

Arrays draw_jvp(const RuleArgs& r) {
  if (!has_slope(r) || !r.grads[1]) return {array{}};
  return {multiply(r.grads[1], slope(r), r.stream)};
}

Batched draw_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s) {
  const int64_t n = batch_size(in, axes);
  Arrays mapped;
  for (size_t i = 0; i < in.size(); ++i) mapped.push_back(with_batch(in[i], axes[i], n, s));
  return {op_draw.build(mapped, attrs, s), {0}};
}

}  // namespace mlx::core::rules
