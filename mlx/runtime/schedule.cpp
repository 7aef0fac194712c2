// The pass `schedule`: the nodes to compute in topological order, and who refers to them.
#include "mlx/runtime/schedule.h"

#include <algorithm>
#include <vector>

#include "mlx/core/environment.h"
#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/runtime/passes.h"

namespace mlx::core {

namespace {

bool is_leaf(const Node* n) {
  if (n->status == Status::available || n->op->kind == OpKind::leaf) return true;
  return n->op->kind == OpKind::part && n->inputs()[0]->status == Status::available;
}

void check_placeholder(const Node* n, bool tracing) {
  if (n->op != &op_placeholder || tracing) return;
  const bool live = is_open(n->trace);
  fail<PlaceholderError>(
      "eval",
      live ? "Not allowed inside a graph transformation: an array"
           : "an array that outlived its trace and",
      " depends on an input (", to_string(n->shape), ", ", dtype_name(n->dtype), ") of ",
      placeholder_owner(*n), ", which stands for values that come later; ",
      live ? "evaluate, print or read arrays outside of compile and vmap, or call "
             "disable_compile() to look inside"
           : "return the array from the function, or name its container in `outputs` of compile");
}

/// Depth-first, without recursion.
class Visitor {
 public:
  Visitor(Claims& claims, Schedule& items, bool tracing)
      : claims_(claims), items_(items), tracing_(tracing) {}

  void visit_all(std::span<Node* const> roots) {
    items_.clear();
    for (Node* n : roots)
      if (!visited(n)) visit(n);
  }

 private:
  struct Frame {
    Node* node;
    Node* const* inputs;
    uint32_t n_inputs, next;
    bool leaf;
  };

  /// A place that was noted for an earlier schedule is that of another node, or out of range.
  bool visited(const Node* n) const {
    if (!claims_.has(n)) return false;
    uint32_t i = item_index(n);
    return i < items_.size() && items_[i].node == n;
  }

  void enter(Node* n) {
    claims_.claim(n);
    check_placeholder(n, tracing_);
    const bool leaf = is_leaf(n);
    auto inputs = leaf ? std::span<Node* const>{} : computed_from(*n);
    stack_.push_back({n, inputs.data(), static_cast<uint32_t>(inputs.size()), 0, leaf});
  }

  void visit(Node* root) {
    enter(root);
    while (!stack_.empty()) {
      Frame& f = stack_.back();
      if (f.next < f.n_inputs) {
        Node* in = f.inputs[f.next++];
        if (!visited(in)) enter(in);
        continue;
      }
      for (uint32_t i = 0; i < f.n_inputs; ++i) ++items_[item_index(f.inputs[i])].uses;
      claims_.set_place(f.node, items_.size());
      items_.push_back({.node = f.node, .leaf = f.leaf});
      stack_.pop_back();
    }
  }

  Claims& claims_;
  Schedule& items_;
  bool tracing_;
  SmallVector<Frame, 32> stack_;
};

/// Bytes of results of communication that may wait for their consumers.
int64_t bytes_ahead() {
  static const int64_t bytes = number_in_variable("MLX_DISTRIBUTED_AHEAD", int64_t{256} << 20);
  return bytes;
}

bool is_computed(const Node* n) {
  return n->status == Status::pending && n->op->kind != OpKind::leaf;
}

/// Communication of computed arrays that starts as soon as these are there: consumers of the
/// results come later, so that the computation goes on meanwhile. Empty where that is one array, or
/// where the results are too large to wait.
std::vector<Node*> early_communication(const std::vector<Node*>& ordered) {
  std::vector<Node*> early;
  int64_t bytes = 0;
  for (Node* n : ordered) {
    if (!n->op->communicates || std::ranges::none_of(n->inputs(), is_computed)) continue;
    early.push_back(n);
    bytes += num_elements(n->shape) * n->dtype.size();
  }
  if (early.size() < 2 || bytes > bytes_ahead()) early.clear();
  return early;
}

/// Puts communication into the order in which the program asked for it, which is that of all
/// processes, by new roots; the inputs of communication come first. False, and no new roots, for a
/// schedule that stays. A schedule in this order may begin with early communication.
bool order_communication(SmallVector<Node*, 8>& roots, const Schedule& items, bool early) {
  std::vector<Node*> ordered;
  for (const Item& item : items)
    if (!item.leaf && order_of(item.node) != 0) ordered.push_back(item.node);
  if (std::ranges::is_sorted(ordered, {}, order_of)) {
    if (!early) return false;
    ordered = early_communication(ordered);
    if (ordered.empty()) return false;
  }
  std::ranges::sort(ordered, {}, order_of);
  SmallVector<Node*, 8> all;
  for (Node* n : ordered) all.push_back(n);
  for (Node* n : roots) all.push_back(n);
  roots = std::move(all);
  return true;
}

/// The evaluation's own handles do not count as external references.
void find_references(const Arrays& outputs, Schedule& items) {
  SmallVector<uint32_t, 64> own(items.size(), 0);
  for (const array& a : outputs) {
    uint32_t i = item_index(a.node());
    items[i].requested = true;
    ++own[i];
  }
  for (size_t i = 0; i < items.size(); ++i) {
    Item& item = items[i];
    item.referenced = item.node->refs.load(std::memory_order_acquire) > item.uses + own[i];
    item.taped = is_live(item.node->trace);
    item.donatable = item.leaf && !item.stored() && memory_is_free(*item.node);
  }
  for (const Item& item : items) {
    if (item.leaf || !item.taped) continue;
    for (Node* in : computed_from(*item.node)) items[item_index(in)].donatable = false;
  }
}

}  // namespace

const Value& value_of(const Node& n) {
  if (n.op->kind == OpKind::part && n.status == Status::pending)
    return (*n.inputs()[0]->parts)[n.part].value;
  return n.value;
}

bool memory_is_free(const Node& n) {
  if (n.op == &op_constant || n.op->kind == OpKind::part) return false;
  const Storage* s = n.value.storage.get();
  return s && s->refs.load(std::memory_order_acquire) == 1 && !s->pinned() && !s->borrowed() &&
         !s->being_read() &&
         s->bytes() <= 2 * static_cast<size_t>(num_elements(n.shape)) * n.dtype.size();
}

void schedule(const Arrays& outputs, Claims& claims, Schedule& items, bool tracing) {
  SmallVector<Node*, 8> roots;
  for (const array& a : outputs) roots.push_back(a.node());
  items.reserve(16);
  const std::span<Node*> all(roots.data(), roots.size());
  Visitor(claims, items, tracing).visit_all(all);
  if (sort_by_depth(all, items)) {
    Schedule again;
    again.reserve(items.size());
    Visitor(claims, again, tracing).visit_all(all);
    items.swap(again);
  }
  for (const bool early : {true, false}) {
    if (early && !is_enabled(Pass::communicate)) continue;
    if (!order_communication(roots, items, early)) continue;
    Schedule again;
    again.reserve(items.size());
    Visitor(claims, again, tracing).visit_all({roots.data(), roots.size()});
    items.swap(again);
  }
  find_references(outputs, items);
}

bool must_release_memory(const Node& n) {
  constexpr size_t kSmall = 16 << 10;  // bytes that are not worth a copy
  const Node* base = &n;
  bool releases = false;
  while (base->op->kind == OpKind::view && base->status == Status::pending) {
    releases |= base->op->releases_memory;
    base = base->inputs()[0];
  }
  if (!releases) return false;
  auto bytes_of = [](const Node& m) { return num_elements(m.shape) * m.dtype.size(); };
  const size_t kept =
      base->status == Status::available ? value_of(*base).storage->bytes() : bytes_of(*base);
  return kept > bytes_of(n) + kSmall;
}

}  // namespace mlx::core
