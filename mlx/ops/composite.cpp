// Derivatives and batching of ops through their formulas in elementary ops.
#include "mlx/ops/composite.h"

#include "mlx/ops/creation.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core::rules {

namespace {

/// The formula as a function of the inputs at `places`; the other inputs are constants.
Function of_some(const Formula& f, const Arrays& inputs, const std::vector<size_t>& places) {
  return [=](const Arrays& some) {
    Arrays all = inputs;
    for (size_t i = 0; i < places.size(); ++i) all[places[i]] = some[i];
    return f(all);
  };
}

Arrays at(const Arrays& all, const std::vector<size_t>& places) {
  Arrays out;
  for (size_t p : places) out.push_back(all[p]);
  return out;
}

}  // namespace

Arrays formula_vjp(const Formula& f, const RuleArgs& args) {
  std::vector<size_t> places;
  for (size_t i = 0; i < args.inputs.size(); ++i)
    if (args.requested[i] && is_inexact(args.inputs[i].dtype())) places.push_back(i);
  Arrays out(args.inputs.size());
  if (places.empty()) return out;
  Arrays cotangents = args.grads;
  for (size_t i = 0; i < cotangents.size(); ++i)
    if (!cotangents[i]) cotangents[i] = zeros_like(args.outputs[i], args.stream);
  Arrays found = vjp(of_some(f, args.inputs, places), at(args.inputs, places), cotangents).second;
  for (size_t i = 0; i < places.size(); ++i) out[places[i]] = found[i];
  return out;
}

Arrays formula_jvp(const Formula& f, const RuleArgs& args) {
  std::vector<size_t> places;
  for (size_t i = 0; i < args.inputs.size(); ++i)
    if (args.grads[i] && is_inexact(args.inputs[i].dtype())) places.push_back(i);
  if (places.empty()) return Arrays(args.outputs.size());
  return jvp(of_some(f, args.inputs, places), at(args.inputs, places), at(args.grads, places))
      .second;
}

Batched formula_vmap(const Formula& f, const Arrays& inputs, const std::vector<int>& axes) {
  MappedAxes mapped;
  for (int a : axes) mapped.push_back(a < 0 ? std::nullopt : std::optional<int>(a));
  size_t outputs = 0;
  Arrays out = vmap_call(f, inputs, mapped, [&](size_t n) {
    outputs = n;
    return MappedAxes(n, 0);
  });
  return {out, std::vector<int>(outputs, 0)};
}

}  // namespace mlx::core::rules
