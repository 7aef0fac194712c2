// Simplification of traced graphs. Results stay bitwise equal.
#include <algorithm>

#include "mlx/backend/program.h"
#include "mlx/core/attrs.h"
#include "mlx/core/trace.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/view.h"
#include "mlx/transforms/graph.h"

namespace mlx::core {

namespace {

bool is_op(const Node& n, OpId id) { return n.op->elementwise == static_cast<int>(id); }

bool is_number(const Node& n, double v, bool negative_zero = false) {
  if (n.op != &op_constant) return false;
  double x = n.scalar().to_double(n.dtype);
  bool complex = n.dtype == complex64 || n.dtype == complex128;
  return !complex && x == v && std::signbit(x) == negative_zero;
}

/// True if the elements will lie without gaps and repetitions, in some order of the axes. The
/// result of an elementwise op of such an operand has the same order, that of another operand has
/// rows, and products round by the memory order of their operands.
bool lies_densely(const Node& node) {
  if (num_elements(node.shape) <= 1) return true;
  const Node* n = &node;
  SmallVector<int, 8> from;
  while (n->op->kind == OpKind::view && n->status == Status::pending) {
    if (!n->op->permutes || !n->op->permutes(*n, from)) return false;
    from.clear();
    n = n->inputs()[0];
  }
  if (n->status == Status::available)
    return n->op->kind == OpKind::part || is_dense(n->shape, n->value.strides);
  return n->op->kind != OpKind::view && n->op->kind != OpKind::leaf;
}

/// Compares nodes by structure: op, attributes, inputs and constant values.
struct ByStructure {
  static size_t hash(const Node* n) {
    size_t h = detail::mix(reinterpret_cast<uintptr_t>(n->op), n->part);
    h = detail::mix(h, static_cast<size_t>(n->dtype.val()));
    if (n->op == &op_constant) return detail::mix(h, n->scalar().as<uint64_t>());
    for (const Node* p : n->inputs()) h = detail::mix(h, reinterpret_cast<uintptr_t>(p));
    return n->attrs ? detail::mix(h, n->attrs->hash()) : h;
  }
  static bool same(const Node* a, const Node* b) {
    if (a->op != b->op || a->part != b->part || a->dtype != b->dtype || a->stream != b->stream)
      return false;
    if (!std::ranges::equal(a->inputs(), b->inputs()) || a->shape != b->shape) return false;
    if (a->op == &op_constant) return a->scalar() == b->scalar();
    if (!same_outputs(*a, *b)) return false;
    return a->attrs == b->attrs || (a->attrs && b->attrs && a->attrs->equals(*b->attrs));
  }
};

/// Copies a graph node by node and merges equal nodes (common subexpression elimination).
class Simplifier {
 public:
  /// The same arrays over merged nodes; nodes that need no change are kept.
  Arrays run(const Arrays& outputs) {
    // Nodes of an active transformation stay as they are: it still follows them.
    for (Node* n : pending_nodes(outputs))
      known_.emplace(n, is_live(n->trace) ? array(n) : simplified(*n));
    Arrays out;
    for (const array& a : outputs) out.push_back(of(a.node()));
    return out;
  }

  Graph run(const Graph& from) {
    for (const array& in : from.inputs) {
      to_.inputs.push_back(placeholder(in.shape(), in.dtype()));
      Node* n = to_.inputs.back().node();
      n->trace = 0;
      n->stream = in.node()->stream;
      n->attrs = in.node()->attrs;
      known_.emplace(in.node(), to_.inputs.back());
    }
    for (Node* n : computed_nodes(from)) known_.emplace(n, simplified(*n));
    for (const array& o : from.outputs) to_.outputs.push_back(of(o.node()));
    return std::move(to_);
  }

 private:
  /// The array in the place of a node: a captured one where it is not computed from the inputs.
  /// Nodes that simplification removes read no captured array that others do not read.
  array of(Node* n) {
    if (const array* known = known_.find(n)) return *known;
    const bool constant = n->op == &op_constant;
    if (!constant) to_.captured.emplace_back(n);
    return known_.emplace(n, constant ? shared(array(n)) : array(n)).first;
  }

  /// True for a view that never needs a copy. Captured views become part of the graph, so that they
  /// stay views when the caller evaluates the original: a materialized view has another memory
  /// order, and products round by the memory order of their operands.
  static bool stays_view(const Node& n) {
    if (n.status != Status::pending || is_live(n.trace)) return false;
    if (repeats_input(n.op) || n.op == &op_slice) return true;
    // A result of a custom function reads its rules too, which a copy would lose.
    SmallVector<int, 8> from;
    return n.inputs().size() == 1 && n.op->permutes && n.op->permutes(n, from);
  }
  array read(Node* n) {
    if (known_.contains(n) || !stays_view(*n)) return of(n);
    std::vector<Node*> chain;
    for (; !known_.contains(n) && stays_view(*n); n = n->inputs()[0]) chain.push_back(n);
    array a = of(n);
    for (; !chain.empty(); chain.pop_back())
      a = known_.emplace(chain.back(), copy_node(*chain.back(), {a})).first;
    return a;
  }

  array simplified(Node& n) {
    in_.clear();
    for (Node* p : n.inputs()) in_.push_back(read(p));
    if (array same = identity(n, in_)) return same;
    bool kept = std::ranges::equal(in_, n.inputs(), {}, [](const array& a) { return a.node(); });
    return shared(kept ? array(&n) : copy_node(n, in_));
  }

  /// The array that the node is bitwise equal to, or null.
  static array identity(const Node& n, const Arrays& in) {
    auto is_same = [&](const array& a) { return a.shape() == n.shape && a.dtype() == n.dtype; };
    if (n.op == &op_trace_input) return in[0];
    if (n.op == &op_reshape || repeats_input(n.op)) return is_same(in[0]) ? in[0] : array();
    auto passes = [&](const array& a) {
      return is_same(a) && lies_densely(*a.node()) ? a : array();
    };
    if (n.op == &op_cast) return passes(in[0]);
    if (is_op(n, OpId::multiply))
      return is_number(*in[1].node(), 1)   ? passes(in[0])
             : is_number(*in[0].node(), 1) ? passes(in[1])
                                           : array();
    if (is_op(n, OpId::divide)) return is_number(*in[1].node(), 1) ? passes(in[0]) : array();
    if (is_op(n, OpId::subtract)) return is_number(*in[1].node(), 0) ? passes(in[0]) : array();
    if (is_op(n, OpId::add)) {
      bool exact = !is_inexact(n.dtype);
      for (int k = 0; k < 2; ++k)
        if (is_number(*in[k].node(), 0, !exact)) return passes(in[1 - k]);
    }
    if (is_op(n, OpId::negative) && is_op(*in[0].node(), OpId::negative))
      return passes(array(in[0].node()->inputs()[0]));
    if (n.op == &op_transpose && in[0].node()->op == &op_transpose)
      return cancelled_transpose(n, *in[0].node());
    return array();
  }

  /// The input of two transpositions that cancel, or null.
  static array cancelled_transpose(const Node& second, const Node& first) {
    SmallVector<int, 8> outer, inner;
    if (!second.op->permutes(second, outer) || !first.op->permutes(first, inner)) return array();
    for (size_t k = 0; k < outer.size(); ++k)
      if (inner[outer[k]] != static_cast<int>(k)) return array();
    return array(first.inputs()[0]);
  }

  /// The equal array seen before, or this one. Conversions of 16-bit floats stay apart: to convert
  /// again where elements are read takes less time than to store them in float32.
  array shared(array a) {
    if (a.node()->op == &op_cast && a.dtype() == float32 && is_floating(of_cast(a).dtype) &&
        of_cast(a).dtype.size() == 2)
      return a;
    return visited_.emplace(a.node(), a).first;
  }
  static const Node& of_cast(const array& a) { return *a.node()->inputs()[0]; }

  Graph to_;
  NodeMap<array> known_;
  NodeMap<array, ByStructure> visited_;
  Arrays in_;  // inputs of the current node
};

}  // namespace

Graph simplify(const Graph& g) { return Simplifier().run(g); }
Arrays simplify(const Arrays& outputs) { return Simplifier().run(outputs); }

}  // namespace mlx::core
