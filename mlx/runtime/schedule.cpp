#include "mlx/runtime/schedule.h"

#include "mlx/core/error.h"
#include "mlx/core/trace.h"

namespace mlx::core {

namespace {

uint32_t epoch = 0;

bool visited(const Node* n) { return n->mark >> 32 == epoch; }

bool is_leaf(const Node* n) {
  if (n->status == Status::available || n->op->kind == OpKind::leaf) return true;
  return n->op->kind == OpKind::part && n->inputs()[0]->status == Status::available;
}

void check_placeholder(const Node* n, bool tracing) {
  if (n->op != &op_placeholder || tracing) return;
  const bool live = is_open(n->trace);
  fail<PlaceholderError>(
      "eval", live ? "an array" : "an array that outlived its trace and", " depends on an input (",
      to_string(n->shape), ", ", dtype_name(n->dtype), ") of ", placeholder_owner(*n),
      ", which stands for values that come later; ",
      live ? "evaluate, print or read arrays outside of compile and vmap, or call "
             "disable_compile() to look inside"
           : "return the array from the function, or name its container in `outputs` of compile");
}

struct Frame {
  Node* node;
  uint32_t next;
};

void visit(Node* root, Schedule& items, std::vector<Frame>& stack, bool tracing) {
  auto enter = [&](Node* n) {
    check_placeholder(n, tracing);
    n->mark = uint64_t{epoch} << 32;
    stack.push_back({n, 0});
  };
  enter(root);
  while (!stack.empty()) {
    auto& [n, next] = stack.back();
    auto inputs = is_leaf(n) ? std::span<Node* const>{} : computed_from(*n);
    if (next < inputs.size()) {
      Node* in = inputs[next++];
      if (!visited(in)) enter(in);
      continue;
    }
    for (Node* in : inputs) ++items[item_index(in)].uses;
    n->mark = uint64_t{epoch} << 32 | items.size();
    items.push_back({.node = n, .leaf = is_leaf(n)});
    stack.pop_back();
  }
}

void visit_all(const std::vector<Node*>& roots, Schedule& items, bool tracing) {
  items.clear();
  if (++epoch == 0) epoch = 1;
  static std::vector<Frame> stack;
  stack.clear();
  for (Node* n : roots)
    if (!visited(n)) visit(n, items, stack, tracing);
}

/// True where the leaf's memory can be taken over: no other array, export or file looks at it, and
/// the taker would not hold on to much more than it needs.
bool memory_is_free(const Item& item) {
  const Node& n = *item.node;
  if (!item.leaf || item.stored() || n.op == &op_constant || n.op->kind == OpKind::part)
    return false;
  const Storage* s = n.value.storage.get();
  return s && s->refs.load(std::memory_order_relaxed) == 1 && !s->pinned() && !s->borrowed() &&
         s->bytes() <= 2 * static_cast<size_t>(num_elements(n.shape)) * n.dtype.size();
}

}  // namespace

const Value& value_of(const Node& n) {
  if (n.op->kind == OpKind::part && n.status == Status::pending)
    return (*n.inputs()[0]->parts)[n.part].value;
  return n.value;
}

void schedule(const Arrays& outputs, Schedule& items, bool tracing) {
  static std::vector<Node*> roots;
  roots.clear();
  for (const array& a : outputs) roots.push_back(a.node());
  visit_all(roots, items, tracing);
  if (sort_by_depth(roots, items)) visit_all(roots, items, tracing);

  // Handles that belong to the evaluation do not count as somebody else's.
  static std::vector<uint32_t> own;
  own.assign(items.size(), 0);
  for (const array& a : outputs) {
    uint32_t i = item_index(a.node());
    items[i].wanted = true;
    ++own[i];
  }
  for (size_t i = 0; i < items.size(); ++i) {
    Item& item = items[i];
    item.held = item.node->refs.load(std::memory_order_relaxed) > item.uses + own[i];
    item.kept = is_live(item.node->trace);
    item.donatable = memory_is_free(item);
  }
  for (const Item& item : items) {
    if (item.leaf) continue;
    // A tape may read it again.
    if (item.kept)
      for (Node* in : computed_from(*item.node)) items[item_index(in)].donatable = false;
  }
}

}  // namespace mlx::core
