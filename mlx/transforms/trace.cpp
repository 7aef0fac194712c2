// Trace inputs, and the traversal of what depends on them.
#include "mlx/transforms/trace.h"

#include <algorithm>

#include "mlx/core/trace.h"
#include "mlx/ops/concat.h"
#include "mlx/ops/matmul.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/scan.h"
#include "mlx/ops/sort.h"

namespace mlx::core {

namespace {

Arrays build_identity(const Arrays& inputs, const Attrs*, Stream) {
  return {trace_input(inputs[0])};
}

bool identity_view(const Node& node, const Layout& in, Layout& out) {
  out = in;
  return true;
}

bool identity_axes(const Node& node, SmallVector<int, 8>& from) {
  for (size_t k = 0; k < node.shape.size(); ++k) from.push_back(static_cast<int>(k));
  return true;
}

Arrays identity_vjp(const RuleArgs& args) { return {args.grads[0]}; }

std::pair<Arrays, std::vector<int>> identity_vmap(const Arrays& inputs,
                                                  const std::vector<int>& axes, const Attrs*,
                                                  Stream) {
  return {{trace_input(inputs[0])}, axes};
}

}  // namespace

constinit const OpDef op_trace_input{.name = "trace_input",
                                     .kind = OpKind::view,
                                     .linearity = Linearity::linear,
                                     .shapeless = true,
                                     .build = build_identity,
                                     .view = identity_view,
                                     .permutes = identity_axes,
                                     .vjp = identity_vjp,
                                     .vmap = identity_vmap};

array trace_input(const array& a) {
  (void)a.dtype();  // throws for null handles
  array out =
      make_node(op_trace_input, a.shape(), a.dtype(), stream_of(a), std::span<const array>(&a, 1));
  out.node()->trace = std::max(out.node()->trace, current_trace());
  return out;
}

Arrays trace_inputs(const Arrays& arrays) {
  Arrays out;
  // Rules read shapes: the nodes that a transformation adds are valid for these shapes only.
  for (const array& a : arrays) note_shape_read(a);
  for (const array& a : arrays) out.push_back(trace_input(a));
  return out;
}

Arrays results_of(const array& node) {
  if (!node.node()->parts) return {node};
  Arrays out;
  for (size_t k = 0; k < node.node()->parts->size(); ++k) {
    const PartInfo& p = (*node.node()->parts)[k];
    out.push_back(make_node(op_part, p.shape, p.dtype, Stream(node.node()->stream),
                            std::span<const array>(&node, 1)));
    out.back().node()->part = static_cast<uint16_t>(k);
  }
  return out;
}

bool differentiates_integers(const OpDef& op) {
  return op.kind == OpKind::elementwise || op.kind == OpKind::view || &op == &op_reduce ||
         &op == &op_scan || &op == &op_sort || &op == &op_matmul || &op == &op_concatenate;
}

void Dependents::mark_integers() {
  auto exact = [](const Node* n) { return !is_inexact(n->dtype) && n->dtype != bool_; };
  if (std::none_of(order_.begin(), order_.begin() + static_cast<int64_t>(sources_), exact)) return;
  integers_.resize(order_.size());
  auto is_marked = [this](const Node* n) {
    int at = index(n);
    return at >= 0 && integers_[at];
  };
  for (size_t i = 0; i < order_.size(); ++i) {
    const Node* n = order_[i];
    bool computed = i >= sources_;
    integers_[i] = exact(n) && (!computed || (differentiates_integers(*n->op) &&
                                              std::ranges::any_of(n->inputs(), is_marked)));
  }
}

Dependents::Dependents(const Arrays& sources, const Arrays& outputs, Rule rule) {
  const bool derives = rule == Rule::vjp || rule == Rule::jvp;
  Trace oldest = ~Trace{0};
  for (const array& a : sources) {
    oldest = std::min(oldest, a.node()->trace);
    if (index_.emplace(a.node(), static_cast<int>(order_.size())).second)
      order_.push_back(a.node());
  }
  sources_ = order_.size();
  struct Frame {
    Node* node;
    std::span<Node* const> inputs;
    size_t next;
  };
  std::vector<Frame> stack;
  stack.reserve(32);
  order_.reserve(32);
  auto enter = [&](Node* n) {
    // A node's trace is never older than the traces of its inputs.
    if (n->trace < oldest || !index_.emplace(n, -1).second) return;
    auto inputs = bundle_of(*n) ? n->inputs().last(1) : followed_inputs(*n, rule);
    stack.push_back({n, n->op->kind == OpKind::leaf ? inputs.first(0) : inputs, 0});
  };
  for (const array& a : outputs) {
    enter(a.node());
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (f.next < f.inputs.size()) {
        enter(f.inputs[f.next++]);
        continue;
      }
      const bool refuses = derives && f.node->op->received;
      if (refuses || std::ranges::any_of(f.inputs, [&](auto* in) { return index(in) >= 0; })) {
        index_[f.node] = static_cast<int>(order_.size());
        order_.push_back(f.node);
      }
      stack.pop_back();
    }
  }
  if (derives) mark_integers();
}

}  // namespace mlx::core
