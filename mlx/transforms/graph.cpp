// Tracing, copying and rebuilding of graphs.
#include "mlx/transforms/graph.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops/cast.h"

namespace mlx::core {

namespace {

/// Results of copied nodes: one array per node, one per result for bundles.
class Copies {
 public:
  explicit Copies(const Graph& g, const Arrays& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) set(g.inputs[i].node(), {inputs[i]});
  }
  array of(Node* n) const {
    const Arrays* known = known_.find(n);
    return known ? (*known)[0] : array(n);
  }
  Arrays inputs_of(const Node& n) const {
    Arrays in;
    for (Node* p : n.inputs()) in.push_back(of(p));
    return in;
  }
  const array& part(Node* bundle, size_t k) const { return known_.at(bundle).at(k); }
  void set(const Node* n, Arrays a) { known_[n] = std::move(a); }
  Arrays outputs(const Graph& g) const {
    Arrays out;
    for (const array& a : g.outputs) out.push_back(of(a.node()));
    return out;
  }

 private:
  NodeMap<Arrays> known_;
};

}  // namespace

std::vector<Node*> computed_nodes(const Graph& g) {
  auto nodes = [&](const Arrays& outputs) {
    Dependents found(g.inputs, outputs, Rule::graph);
    return std::vector<Node*>(found.order().begin() + static_cast<int64_t>(found.sources()),
                              found.order().end());
  };
  std::vector<Node*> all = nodes(g.outputs);
  // Communication keeps the order of the program.
  std::vector<Node*> ordered;
  std::ranges::copy_if(all, std::back_inserter(ordered),
                       [](const Node* n) { return n->op->communicates; });
  if (std::ranges::is_sorted(ordered, {}, order_of)) return all;
  std::ranges::sort(ordered, {}, order_of);
  Arrays first;
  for (Node* n : ordered) first.emplace_back(n);
  first.insert(first.end(), g.outputs.begin(), g.outputs.end());
  return nodes(first);
}

std::vector<Node*> pending_nodes(const Arrays& outputs) {
  std::vector<Node*> order;
  NodeSet visited;
  std::vector<std::pair<Node*, size_t>> stack;
  auto enter = [&](Node* n) {
    if (n->status == Status::pending && n->op->kind != OpKind::leaf && visited.emplace(n).second)
      stack.emplace_back(n, 0);
  };
  for (const array& a : outputs) {
    enter(a.node());
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
      if (next < n->inputs().size()) {
        enter(n->inputs()[next++]);
      } else {
        order.push_back(n);
        stack.pop_back();
      }
    }
  }
  return order;
}

bool may_have_derivative(const array& a) {
  constexpr size_t kMany = 1000;
  NodeSet visited;
  std::vector<const Node*> stack{a.node()};
  while (!stack.empty()) {
    const Node* n = stack.back();
    stack.pop_back();
    const bool exact = !n->parts && !is_inexact(n->dtype);
    if (!is_live(n->trace) || exact || n->op == &op_stop_gradient) continue;
    if (!visited.emplace(n).second) continue;
    if (visited.size() > kMany) return true;
    uint64_t given = 0;
    for (const Node* in : n->inputs()) given = std::max(given, in->trace);
    if (n->trace > given) return true;  // an input of the transformation
    stack.insert(stack.end(), n->inputs().begin(), n->inputs().end());
  }
  return false;
}

bool exports_are_strict() {
  const char* given = std::getenv("MLX_STRICT_EXPORT");
  return given && std::string_view(given) != "0";
}

Graph trace(const Function& fun, const Arrays& inputs, const std::string& name) {
  Graph g;
  TraceScope scope;
  RecordingScope recording;
  for (const array& a : inputs) {
    g.inputs.push_back(placeholder(a.shape(), a.dtype(), name));
    g.inputs.back().node()->stream = a.node()->stream;
  }
  g.outputs = fun(g.inputs);
  return g;
}

Graph without_rules(const Graph& g) {
  Copies copies(g, g.inputs);
  for (Node* n : computed_nodes(g)) {
    if (n->op == &op_custom) continue;
    Arrays in = copies.inputs_of(*n);
    copies.set(n, {n->op == &op_custom_result ? in[0] : copy_node(*n, in)});
  }
  return {g.inputs, copies.outputs(g), g.captured};
}

Arrays instantiate(const Graph& g, const Arrays& inputs) {
  Copies copies(g, inputs);
  for (Node* n : computed_nodes(g)) {
    Arrays in = copies.inputs_of(*n);
    // Communication is requested anew, with another place in the order of the program.
    copies.set(n, n->op->communicates ? n->op->build(in, n->attrs.get(), stream_of(array(n)))
                                      : Arrays{copy_node(*n, in)});
  }
  return copies.outputs(g);
}

Arrays rebuild(const Graph& g, const Arrays& inputs) {
  Copies copies(g, inputs);
  for (Node* n : computed_nodes(g)) {
    if (Node* bundle = bundle_of(*n)) {
      copies.set(n, {copies.part(bundle, n->part)});
      continue;
    }
    if (!n->op->build)
      fail<ValueError>("compile", "the op ", n->op->name, " cannot be built for other shapes");
    StreamScope here(stream_of(array(n)));
    copies.set(n, n->op->build(copies.inputs_of(*n), n->attrs.get(), stream_of(array(n))));
  }
  return copies.outputs(g);
}

const OpDef* first_shape_dependent_op(const Graph& g, const ShapeWatch& watch) {
  auto nodes = computed_nodes(g);
  NodeSet computed(nodes.size());
  for (const Node* n : nodes) computed.emplace(n);
  // An array built during the trace that is not a constant may have been made for the shape of an
  // input, unless every op that it depends on is shapeless.
  auto binds = [](const Node* n) {
    return n->op->kind != OpKind::elementwise && n->op->kind != OpKind::part && !n->op->shapeless;
  };
  NodeSet seen;
  auto made_beside = [&](Node* n) -> const OpDef* {
    if (n->status != Status::pending || !watch.made(*n) || computed.contains(n) ||
        n->shape.empty() || !seen.emplace(n).second)
      return nullptr;
    for (const Node* from : pending_nodes({array(n)}))
      if (watch.made(*from) && binds(from)) return from->op;
    return nullptr;
  };
  for (const Node* n : nodes) {
    if (bundle_of(*n)) continue;
    if (binds(n)) return n->op;
    for (Node* in : n->inputs())
      if (const OpDef* op = made_beside(in)) return op;
  }
  for (const array& o : g.outputs)
    if (const OpDef* op = made_beside(o.node())) return op;
  return nullptr;
}

}  // namespace mlx::core
