// Shared by the transformations: trace inputs, and the part of a graph that depends on them.
#pragma once

#include <functional>
#include <vector>

#include "mlx/core/array.h"
#include "mlx/core/node_map.h"

namespace mlx::core {

using Function = std::function<Arrays(const Arrays&)>;

/// The identity of another array, as a separate node: transformed functions get these as inputs, so
/// that the caller's arrays stay unchanged and an inner transformation stops at them.
extern const OpDef op_trace_input;
array trace_input(const array& a);
/// A function with user-defined rules, and one of its results (custom_function.h).
extern const OpDef op_custom, op_custom_result;
Arrays trace_inputs(const Arrays& arrays);

/// The bundle that the node reads a result of, or null.
inline Node* bundle_of(const Node& n) {
  return n.op->kind == OpKind::part  ? n.inputs()[0]
         : n.op == &op_custom_result ? n.inputs()[1]
                                     : nullptr;
}

/// The results of the node: the node itself, or the results of a bundle.
Arrays results_of(const array& node);

/// Cotangents of the inputs of an op by its vjp, or by its transposed jvp.
Arrays pull_back(const OpDef& op, const RuleArgs& args);
/// Tangents of the outputs of an op by its jvp, or by its linearity.
Arrays push_forward(const OpDef& op, const RuleArgs& args);

/// The purpose of a graph traversal.
enum class Rule : uint8_t { vjp, jvp, vmap, graph };
/// The inputs that a rule follows; for a function with a user-defined rule, its inputs and not the
/// nodes inside; for derivatives none of what `stop_gradient` is applied to.
std::span<Node* const> followed_inputs(const Node& n, Rule rule);

/// Whether the op computes with integer inputs as with numbers, so that derivatives with respect
/// to integers pass through it; for other ops integers are positions, counts or bits.
bool differentiates_integers(const OpDef& op);

/// The nodes between `sources` and `outputs`, in topological order.
class Dependents {
 public:
  Dependents(const Arrays& sources, const Arrays& outputs, Rule rule);
  /// Nodes that depend on a source, in topological order, sources included. For derivatives also
  /// arrays of other processes that were received inside of the transformation, which refuse them.
  const std::vector<Node*>& order() const { return order_; }
  /// The number of sources; they come first in `order`.
  size_t sources() const { return sources_; }
  /// Index in `order`, or -1 for a node that depends on no source.
  int index(const Node* n) const {
    const int* at = index_.find(n);
    return at ? *at : -1;
  }
  /// Whether a derivative passes between `n` and its input `in`: cotangents from `n` to `in`,
  /// tangents from `in` to `n`. Inexact numbers carry derivatives. Integers do where they are
  /// sources, or computed from such sources by arithmetic; an inexact number that is rounded to an
  /// integer passes none on.
  bool carries_derivative(const Node* in, const Node* n) const {
    int i = index(in);
    if (i < 0 || !(n->parts || has_derivative(n))) return false;
    return is_inexact(in->dtype) ||
           (!integers_.empty() && integers_[i] && differentiates_integers(*n->op));
  }
  /// Whether `n` itself has a derivative.
  bool has_derivative(const Node* n) const {
    int i = index(n);
    return i >= 0 && (is_inexact(n->dtype) || (!integers_.empty() && integers_[i]));
  }

 private:
  void mark_integers();

  std::vector<Node*> order_;
  std::vector<bool> integers_;  ///< integer nodes that carry derivatives; empty where none does
  size_t sources_ = 0;
  NodeMap<int> index_;
};

}  // namespace mlx::core
