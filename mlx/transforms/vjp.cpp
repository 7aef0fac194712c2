// Reverse-mode derivatives, and the gradient functions built on them.
#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core {

namespace {

/// Cotangents of the nodes between primals and outputs, accumulated from the outputs to the
/// primals.
class Reverse {
 public:
  Reverse(const Arrays& primals, const Arrays& outputs)
      : graph_(primals, outputs, Rule::vjp), grads_(graph_.order().size()) {}

  void seed(const array& output, const array& cotangent) { add(output.node(), cotangent); }

  void run() {
    const auto& order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) {
      Node* n = order[i];
      if (i < graph_.sources()) continue;
      if (bundle_of(*n)) {
        pass_to_bundle(n, i);
      } else if (std::any_of(grads_[i].begin(), grads_[i].end(),
                             [](const array& g) { return bool(g); })) {
        apply(n, grads_[i]);
      }
      grads_[i].clear();
    }
  }

  array grad_of(const array& primal) const {
    const Arrays& g = grads_[graph_.index(primal.node())];
    return g.empty() ? array() : g[0];
  }

 private:
  void add(Node* n, array g, size_t part = 0) {
    int i = graph_.index(n);
    if (i < 0 || !g) return;
    if (!is_inexact(n->dtype) && !n->parts) g = astype(g, n->dtype, stream_of(g));
    Arrays& list = grads_[i];
    if (list.size() <= part)
      list.resize(std::max<size_t>(part + 1, n->parts ? n->parts->size() : 1));
    list[part] = list[part] ? rules::sum_of_cotangents(list[part], g, stream_of(g)) : g;
  }

  void pass_to_bundle(Node* n, size_t i) {
    if (!grads_[i].empty()) add(bundle_of(*n), grads_[i][0], n->part);
  }

  void apply(Node* n, Arrays& cotangents) {
    array self(n);
    Arrays inputs = inputs_of(self);
    std::vector<bool> requested;
    for (const array& in : inputs) requested.push_back(graph_.carries_derivative(in.node(), n));
    Arrays outputs = results_of(self);
    const RuleArgs args{inputs, outputs, cotangents, n->attrs.get(), stream_of(self), requested};
    Arrays grads = pull_back(*n->op, args);
    for (size_t k = 0; k < inputs.size() && k < grads.size(); ++k)
      if (requested[k]) add(inputs[k].node(), grads[k]);
  }

  Dependents graph_;
  std::vector<Arrays> grads_;
};

/// The vjp of an op by transposing its jvp: the jvp is built on placeholder tangents, in which it
/// is linear, and differentiated. The result does not depend on the placeholders' values.
Arrays transpose(const OpDef& op, const RuleArgs& r) {
  TraceScope scope;  // the placeholders have a deeper trace than everything they are combined with
  Arrays tangents(r.inputs.size()), sources, reached;
  for (size_t k = 0; k < tangents.size(); ++k)
    if (r.requested[k])
      sources.push_back(tangents[k] = trace_input(zeros_like(r.inputs[k], r.stream)));
  Arrays outputs = op.jvp({r.inputs, r.outputs, tangents, r.attrs, r.stream, r.requested});
  std::copy_if(outputs.begin(), outputs.end(), std::back_inserter(reached),
               [](const array& o) { return bool(o); });
  Reverse reverse(sources, reached);
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k]) reverse.seed(outputs[k], r.grads[k]);
  reverse.run();
  for (array& t : tangents)
    if (t) t = reverse.grad_of(t);
  return tangents;
}

void check_seed(const array& output, const array& cotangent, size_t i) {
  if (output.shape() != cotangent.shape())
    fail<ValueError>("vjp", "cotangent ", i, " has shape ", to_string(cotangent.shape()),
                     " and its output ", to_string(output.shape()), "; the shapes must agree");
}

/// Runs the reverse pass; returns one gradient per input, zeros for inputs without influence.
Arrays gradients(Reverse& reverse, const Arrays& inputs) {
  reverse.run();
  Arrays grads;
  for (const array& in : inputs) {
    array g = reverse.grad_of(in);
    grads.push_back(g ? g : zeros_like(in, stream_of(in)));
  }
  return grads;
}

Arrays pick(const Arrays& arrays, const std::vector<int>& which) {
  Arrays out;
  for (int i : which) out.push_back(arrays[i]);
  return out;
}

std::vector<int> check_argnums(const std::vector<int>& argnums, size_t n) {
  if (argnums.empty()) fail<ValueError>("grad", "no argument numbers; give at least one");
  std::vector<int> out;
  for (int a : argnums) {
    int i = a < 0 ? a + static_cast<int>(n) : a;
    if (i < 0 || i >= static_cast<int>(n))
      fail<ValueError>("grad", "argument number ", a, " of a function with ", n, " arguments");
    if (std::find(out.begin(), out.end(), i) != out.end())
      fail<ValueError>("grad", "argument number ", a, " is repeated; each may be given once");
    out.push_back(i);
  }
  return out;
}

}  // namespace

Arrays pull_back(const OpDef& op, const RuleArgs& args) {
  StreamScope here(args.stream);
  if (op.vjp) return op.vjp(args);
  if (op.jvp) return transpose(op, args);
  fail<ValueError>("vjp", "the op ", op.name,
                   " has no derivative; stop_gradient keeps "
                   "derivatives from reaching it");
}

std::pair<Arrays, Arrays> vjp(const Function& fun, const Arrays& primals,
                              const Arrays& cotangents) {
  TraceScope scope;  // until the end: a custom rule may evaluate, and the graph is still needed
  Arrays inputs = trace_inputs(primals);
  Arrays outputs = fun(inputs);
  if (cotangents.size() != outputs.size())
    fail<ValueError>("vjp", cotangents.size(), " cotangents for ", outputs.size(),
                     " outputs; the numbers must agree");
  Reverse reverse(inputs, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_seed(outputs[i], cotangents[i], i);
    reverse.seed(outputs[i], cotangents[i]);
  }
  Arrays grads = gradients(reverse, inputs);
  return {std::move(outputs), std::move(grads)};
}

std::pair<array, array> vjp(const UnaryFunction& fun, const array& primal, const array& cotangent) {
  auto [outputs, grads] =
      vjp([&](const Arrays& a) { return Arrays{fun(a[0])}; }, Arrays{primal}, Arrays{cotangent});
  return {outputs[0], grads[0]};
}

ValueAndGradFn value_and_grad(const Function& fun, const std::vector<int>& argnums) {
  return [fun, argnums](const Arrays& args) {
    std::vector<int> which = check_argnums(argnums, args.size());
    TraceScope scope;  // until the end: a custom rule may evaluate, and the graph is still needed
    Arrays inputs = trace_inputs(pick(args, which));
    Arrays all = args;
    for (size_t k = 0; k < which.size(); ++k) all[which[k]] = inputs[k];
    Arrays outputs = fun(all);
    if (outputs.empty() || outputs[0].size() != 1 || outputs[0].ndim() != 0)
      fail<ValueError>("grad", "the function gave ",
                       outputs.empty() ? "nothing" : "shape " + to_string(outputs[0].shape()),
                       "; a scalar (shape ()) is accepted as its first output");
    Reverse reverse(inputs, {outputs[0]});
    reverse.seed(outputs[0], ones_like(outputs[0], stream_of(outputs[0])));
    Arrays grads = gradients(reverse, inputs);
    return std::pair<Arrays, Arrays>{std::move(outputs), std::move(grads)};
  };
}

ValueAndGradFn value_and_grad(const Function& fun, int argnum) {
  return value_and_grad(fun, std::vector<int>{argnum});
}

SimpleValueAndGradFn value_and_grad(const ScalarFunction& fun, const std::vector<int>& argnums) {
  auto general =
      value_and_grad(Function([fun](const Arrays& a) { return Arrays{fun(a)}; }), argnums);
  return [general](const Arrays& args) {
    auto [values, grads] = general(args);
    return std::pair<array, Arrays>{values[0], std::move(grads)};
  };
}
SimpleValueAndGradFn value_and_grad(const ScalarFunction& fun, int argnum) {
  return value_and_grad(fun, std::vector<int>{argnum});
}

std::function<std::pair<array, array>(const array&)> value_and_grad(const UnaryFunction& fun) {
  auto general = value_and_grad(ScalarFunction([fun](const Arrays& a) { return fun(a[0]); }), 0);
  return [general](const array& a) {
    auto [value, grads] = general({a});
    return std::pair<array, array>{value, grads[0]};
  };
}

Function grad(const ScalarFunction& fun, const std::vector<int>& argnums) {
  auto both = value_and_grad(fun, argnums);
  return [both](const Arrays& args) { return both(args).second; };
}
Function grad(const ScalarFunction& fun, int argnum) { return grad(fun, std::vector<int>{argnum}); }
UnaryFunction grad(const UnaryFunction& fun) {
  auto both = value_and_grad(fun);
  return [both](const array& a) { return both(a).second; };
}

}  // namespace mlx::core
