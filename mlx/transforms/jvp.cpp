// Forward-mode derivatives.
#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core {

namespace {

/// The jvp of a linear op: the op applied to the tangents.
Arrays linear_jvp(const OpDef& op, const RuleArgs& args) {
  Arrays tangents = args.grads;
  for (size_t k = 0; k < tangents.size(); ++k)
    if (!tangents[k])
      tangents[k] = is_inexact(args.inputs[k].dtype()) || differentiates_integers(op)
                        ? zeros_like(args.inputs[k], args.stream)
                        : args.inputs[k];
  return op.build(tangents, args.attrs, args.stream);
}

/// The jvp of a multilinear op: the sum over its operands of the op with that operand replaced by
/// its tangent.
Arrays multilinear_jvp(const OpDef& op, const RuleArgs& args) {
  Arrays sum;
  for (size_t k = 0; k < args.inputs.size(); ++k) {
    if (!args.grads[k]) continue;
    Arrays operands = args.inputs;
    operands[k] = args.grads[k];
    Arrays term = op.build(operands, args.attrs, args.stream);
    for (size_t o = 0; o < term.size(); ++o)
      if (o < sum.size())
        sum[o] = add(sum[o], term[o], args.stream);
      else
        sum.push_back(term[o]);
  }
  return sum;
}

Arrays apply_jvp(Node* n, const Arrays& tangents) {
  array self(n);
  Arrays inputs = inputs_of(self), outputs = results_of(self);
  std::vector<bool> requested(inputs.size(), true);
  return push_forward(*n->op,
                      {inputs, outputs, tangents, n->attrs.get(), stream_of(self), requested});
}

}  // namespace

Arrays push_forward(const OpDef& op, const RuleArgs& args) {
  StreamScope here(args.stream);
  if (op.jvp) return op.jvp(args);
  if (op.build && op.linearity == Linearity::linear) return linear_jvp(op, args);
  if (op.build && op.linearity == Linearity::multilinear) return multilinear_jvp(op, args);
  fail<ValueError>("jvp", "the op ", op.name,
                   " has no forward derivative; stop_gradient keeps "
                   "derivatives from reaching it");
}

std::pair<Arrays, Arrays> jvp(const Function& fun, const Arrays& primals, const Arrays& tangents) {
  if (primals.size() != tangents.size())
    fail<ValueError>("jvp", tangents.size(), " tangents for ", primals.size(),
                     " primals; the numbers must agree");
  for (size_t i = 0; i < primals.size(); ++i)
    if (primals[i].shape() != tangents[i].shape())
      fail<ValueError>("jvp", "tangent ", i, " has shape ", to_string(tangents[i].shape()),
                       " and its primal ", to_string(primals[i].shape()),
                       "; the shapes must agree");
  TraceScope scope;  // until the end: a custom rule may evaluate, and the graph is still needed
  Arrays inputs = trace_inputs(primals);
  Arrays outputs = fun(inputs);
  Dependents graph(inputs, outputs, Rule::jvp);
  std::vector<Arrays> known(graph.order().size());  // tangents, one per part
  for (size_t i = 0; i < inputs.size(); ++i) {
    array t = tangents[i];
    if (!is_inexact(inputs[i].dtype())) t = astype(t, inputs[i].dtype(), stream_of(t));
    known[graph.index(inputs[i].node())] = {t};
  }
  for (size_t i = graph.sources(); i < graph.order().size(); ++i) {
    Node* n = graph.order()[i];
    if (Node* of = bundle_of(*n)) {
      const Arrays& bundle = known[graph.index(of)];
      if (n->part < bundle.size()) known[i] = {bundle[n->part]};
      continue;
    }
    Arrays in;
    bool any = false;
    for (Node* p : n->inputs()) {
      int at = graph.index(p);
      in.push_back(graph.carries_derivative(p, n) && !known[at].empty() ? known[at][0] : array());
      any |= static_cast<bool>(in.back());
    }
    if (!(any || n->op->received) || !(n->parts || graph.has_derivative(n))) continue;
    known[i] = apply_jvp(n, in);
    if (!n->parts && !is_inexact(n->dtype) && known[i][0])
      known[i][0] = astype(known[i][0], n->dtype, stream_of(known[i][0]));
  }
  Arrays out;
  for (const array& o : outputs) {
    int at = graph.index(o.node());
    bool has = at >= 0 && !known[at].empty() && static_cast<bool>(known[at][0]);
    out.push_back(has ? known[at][0] : zeros_like(o, stream_of(o)));
  }
  return {std::move(outputs), std::move(out)};
}

std::pair<array, array> jvp(const UnaryFunction& fun, const array& primal, const array& tangent) {
  auto [outputs, tangents] =
      jvp([&](const Arrays& a) { return Arrays{fun(a[0])}; }, Arrays{primal}, Arrays{tangent});
  return {outputs[0], tangents[0]};
}

}  // namespace mlx::core
