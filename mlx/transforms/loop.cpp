// Derivative rules of loop ops: the rule of the op inside, vectorized.
#include "mlx/ops/loop.h"

#include "mlx/ops/creation.h"
#include "mlx/ops/reduce.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core {

namespace {

/// The results of a rule of the op inside at each position, stacked; null if the rule gives none.
Arrays rule_at_each_position(const RuleArgs& r, Arrays (*rule)(const OpDef&, const RuleArgs&)) {
  const auto& m = static_cast<const LoopAttrs&>(*r.attrs);
  const Node& slice = m.node();
  Arrays given = r.inputs;
  MappedAxes axes;
  auto along = [](bool mapped) { return mapped ? std::optional(0) : std::nullopt; };
  for (bool mapped : m.mapped) axes.push_back(along(mapped));
  given.insert(given.end(), r.outputs.begin(), r.outputs.end());
  axes.insert(axes.end(), r.outputs.size(), 0);
  bool forward = rule == push_forward;
  for (size_t k = 0; k < r.grads.size(); ++k) {
    if (!r.grads[k]) continue;
    given.push_back(r.grads[k]);
    axes.push_back(along(!forward || m.mapped[k]));
  }
  std::vector<bool> found;  // which results exist: the same at every position
  auto each = [&](const Arrays& a) {
    auto next = a.begin();
    auto take = [&](size_t n) {
      Arrays part(next, next + static_cast<int64_t>(n));
      next += static_cast<int64_t>(n);
      return part;
    };
    Arrays inputs = take(r.inputs.size()), outputs = take(r.outputs.size()), grads;
    for (const array& g : r.grads) grads.push_back(g ? *next++ : array());
    Arrays all =
        rule(*slice.op, {inputs, outputs, grads, slice.attrs.get(), r.stream, r.requested});
    Arrays out;
    found.assign(all.size(), false);
    for (size_t k = 0; k < all.size(); ++k) {
      found[k] = bool(all[k]) && (forward || r.requested[k]);
      if (found[k]) out.push_back(all[k]);
    }
    return out;
  };
  Arrays stacked = vmap_call(each, given, axes, [](size_t n) { return MappedAxes(n, 0); });
  Arrays out(found.size());
  for (size_t k = 0, next = 0; k < found.size(); ++k)
    if (found[k]) out[k] = stacked[next++];
  return out;
}

}  // namespace

namespace rules {

Arrays loop_jvp(const RuleArgs& r) { return rule_at_each_position(r, push_forward); }

Arrays loop_vjp(const RuleArgs& r) {
  const auto& m = static_cast<const LoopAttrs&>(*r.attrs);
  Arrays out = rule_at_each_position(r, pull_back);
  // The cotangent of an input shared by all positions is the sum over the positions.
  for (size_t k = 0; k < out.size(); ++k)
    if (out[k] && !m.mapped[k]) out[k] = sum(out[k], 0, false, r.stream);
  return out;
}

}  // namespace rules

}  // namespace mlx::core
