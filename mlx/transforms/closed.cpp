// Closing of traced functions, and what depends on what inside of them.
#include "mlx/transforms/closed.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/ops/view.h"
#include "mlx/runtime/call.h"

namespace mlx::core {

namespace {

/// The stream of the nodes of functions, whose steps are planned for the host.
Stream host_stream() { return to_stream(Device(Device::cpu)); }

class Closing {
 public:
  Closing(const char* op, const Graph& g, const ShapeWatch* within)
      : op_(op), graph_(g), within_(within) {}

  ClosedFunction run() {
    for (const array& in : graph_.inputs) {
      own_.push_back(new_input(in));
      known_.emplace(in.node(), own_.back());
    }
    const Dependents depends(graph_.inputs, graph_.outputs, Rule::graph);
    for (size_t i = depends.sources(); i < depends.order().size(); ++i) add(*depends.order()[i]);
    Arrays outputs;
    for (const array& o : graph_.outputs) outputs.push_back(read(o.node()));
    Arrays inputs = inputs_;
    append(inputs, own_);
    return {Ref<const Subgraph>(new Subgraph(std::move(inputs), std::move(outputs))),
            std::move(captured_)};
  }

 private:
  static array new_input(const array& like) { return placeholders_like({like})[0]; }

  void add(Node& n) {
    if (known_.contains(&n)) return;
    if (n.op->communicates)
      fail<ValueError>(op_, "a function that communicates (", n.op->name,
                       "); communication is accepted outside of control flow");
    Arrays in;
    for (Node* p : n.inputs()) in.push_back(read(p));
    array copy = copy_node(n, in);
    copy.node()->stream = host_stream().index;
    copy.node()->trace = 0;
    known_.emplace(&n, copy);
  }

  /// The copy of a node: of a constant, of what belongs to the function, or a captured array.
  array read(Node* n) {
    if (const array* known = known_.find(n)) return *known;
    if (n->op == &op_constant) return known_.emplace(n, constant(n->scalar(), n->dtype)).first;
    std::vector<std::pair<Node*, size_t>> stack;
    auto enter = [&](Node* m) {
      if (!known_.contains(m) && m->op != &op_constant && belongs(*m)) stack.emplace_back(m, 0);
    };
    enter(n);
    if (stack.empty()) return capture(n);
    while (!stack.empty()) {
      auto& [m, next] = stack.back();
      if (next < m->inputs().size()) {
        enter(m->inputs()[next++]);
        continue;
      }
      Node* done = m;
      stack.pop_back();
      add(*done);
    }
    return *known_.find(n);
  }

  /// True for views, which the function reads without a copy, and for nodes made in its trace.
  bool belongs(const Node& n) const {
    if (n.status != Status::pending || n.inputs().empty() || n.op->kind == OpKind::leaf)
      return false;
    if (n.op == &op_trace_input) return false;  // where a transformation around it ends
    if (n.op->kind == OpKind::view && n.inputs().size() == 1) return true;
    if (n.op->kind == OpKind::part) return belongs(*n.inputs()[0]);
    return within_ && within_->made(n) && !n.op->communicates && n.op != &op_call;
  }

  array capture(Node* n) {
    captured_.emplace_back(n);
    inputs_.push_back(new_input(captured_.back()));
    return known_.emplace(n, inputs_.back()).first;
  }

  const char* op_;
  const Graph& graph_;
  const ShapeWatch* within_;
  NodeMap<array> known_;
  Arrays inputs_, own_, captured_;
};

}  // namespace

Arrays placeholders_like(const Arrays& like) {
  Arrays out;
  for (const array& a : like) {
    out.push_back(placeholder(a.shape(), a.dtype(), "a function in control flow"));
    out.back().node()->trace = 0;
    out.back().node()->stream = host_stream().index;
  }
  return out;
}

Arrays with_axis(const Arrays& like, const std::vector<bool>& mapped, int64_t n) {
  Arrays out = placeholders_like(like);
  for (size_t k = 0; k < out.size(); ++k)
    if (mapped[k]) out[k].node()->shape = rules::prepend(n, out[k].shape());
  return out;
}

ClosedFunction close(const char* op, const Graph& g, const ShapeWatch* within) {
  return Closing(op, g, within).run();
}

ClosedFunction trace_closed(const char* op, const Function& fun, const Arrays& like) {
  return close(op, simplify(trace(fun, like, op)));
}

Arrays call(const Subgraph& f, const Arrays& inputs) {
  return instantiate({f.inputs(), f.outputs(), {}}, inputs);
}

std::vector<bool> reached(const Subgraph& f, const std::vector<bool>& from, Rule rule) {
  const Arrays sources = marked_of(f.inputs(), from);
  std::vector<bool> out(f.outputs().size(), false);
  if (sources.empty()) return out;
  const Dependents depends(sources, f.outputs(), rule);
  for (size_t k = 0; k < out.size(); ++k) {
    const Node* n = f.outputs()[k].node();
    out[k] = rule == Rule::vmap ? depends.index(n) >= 0 : depends.has_derivative(n);
  }
  return out;
}

void mark_carried(const Subgraph& f, size_t first, size_t count, Rule rule,
                  std::vector<bool>& marked) {
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<bool> out = reached(f, marked, rule);
    for (size_t k = 0; k < count; ++k) {
      if (!out[k] || marked[first + k]) continue;
      marked[first + k] = changed = true;
    }
  }
}

Arrays marked_of(const Arrays& arrays, const std::vector<bool>& marked) {
  Arrays out;
  for (size_t k = 0; k < arrays.size(); ++k)
    if (marked[k]) out.push_back(arrays[k]);
  return out;
}

}  // namespace mlx::core
