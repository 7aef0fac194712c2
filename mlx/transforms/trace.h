// What transformations share: fresh inputs for the function under transformation, and the part of a
// graph that depends on them.
#pragma once

#include <functional>
#include <vector>

#include "mlx/core/array.h"
#include "mlx/core/node_map.h"

namespace mlx::core {

using Function = std::function<Arrays(const Arrays&)>;

/// The value of another array as a node of its own: transformed functions get these, so that the
/// caller's arrays stay what they are and an inner transformation knows where to stop.
extern const OpDef op_trace_input;
array trace_input(const array& a);
/// A function with rules of its own and one of its results (custom_function.h).
extern const OpDef op_custom, op_custom_result;
Arrays trace_inputs(const Arrays& arrays);

/// The bundle that the node reads a result of, or null.
inline Node* bundle_of(const Node& n) {
  return n.op->kind == OpKind::part  ? n.inputs()[0]
         : n.op == &op_custom_result ? n.inputs()[1]
                                     : nullptr;
}

/// What the node computes: the node itself, or handles of the results of a bundle.
Arrays results_of(const array& node);

/// Cotangents of the inputs of an op by its rule, or by its forward rule transposed.
Arrays pull_back(const OpDef& op, const RuleArgs& args);
/// Tangents of the outputs of an op by its rule, or by what its linearity says.
Arrays push_forward(const OpDef& op, const RuleArgs& args);

/// What a graph is walked for.
enum class Rule : uint8_t { vjp, jvp, vmap, graph };
/// The inputs that a rule needs to know about: of a function with a rule of its own, not what is
/// inside.
std::span<Node* const> followed_inputs(const Node& n, Rule rule);

/// The nodes between `sources` and `outputs`, inputs first: what the outputs owe to the sources.
class Dependents {
 public:
  Dependents(const Arrays& sources, const Arrays& outputs, Rule rule);
  /// Nodes that depend on a source, in topological order; sources included.
  const std::vector<Node*>& order() const { return order_; }
  /// How many of the first nodes in `order` are sources.
  size_t sources() const { return sources_; }
  /// Position in `order`, or -1 for a node that depends on no source.
  int index(const Node* n) const {
    const int* at = index_.find(n);
    return at ? *at : -1;
  }

 private:
  std::vector<Node*> order_;
  size_t sources_ = 0;
  NodeMap<int> index_;
};

}  // namespace mlx::core
