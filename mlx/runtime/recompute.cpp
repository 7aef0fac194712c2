// Which casts each reader computes itself, instead of reading a stored result
// (docs/adr/0048-casts-in-each-reader.md).
#include "mlx/runtime/recompute.h"

#include "mlx/runtime/generators.h"
#include "mlx/runtime/layouts.h"

namespace mlx::core {

namespace {

/// Whether an item is in memory before any group that reads it: a leaf, the result of a kernel, or
/// a view of one. A view of an elementwise result is not, since that may join the group.
bool is_in_memory(const Schedule& items, uint32_t i) {
  while (!items[i].leaf && items[i].node->op->kind == OpKind::view)
    i = item_index(items[i].node->inputs()[0]);
  return items[i].leaf || items[i].node->op->kind != OpKind::elementwise;
}

/// A cast to larger elements that has several readers, of a source that is in memory anyway.
bool is_candidate(const Schedule& items, const Item& item) {
  if (item.leaf || item.uses < 2 || item.stored()) return false;
  const Node& n = *item.node;
  if (n.op->kind != OpKind::elementwise || n.inputs().size() != 1) return false;
  const uint32_t from = item_index(n.inputs()[0]);
  const Item& source = items[from];
  if (instruction_of(n).op != OpId::cast || n.dtype.size() <= source.node->dtype.size())
    return false;
  if (num_elements(n.shape) == 0 || source.node->op == &op_constant) return false;
  return is_in_memory(items, from) && !comes_from_generator(items, from);
}

/// Whether the node can compute its input, an element of the iteration, as it reads it.
bool computes_input(const Node& reader, const Node& in, const Targets& targets) {
  if (reader.stream != in.stream) return false;
  const Target& target = targets.of(reader.stream);
  if (reader.op->kind == OpKind::elementwise)
    return target.backend->fuses(instruction_of(in), target.stream.device.index);
  return reader.op->kind == OpKind::kernel && reader.inputs().size() == 1 &&
         needs_of_reader(reader, target).prologue;
}

}  // namespace

Requirements needs_of_reader(const Node& reader, const Target& target) {
  const Node& in = *reader.inputs()[0];
  if (num_elements(in.shape) == 0) return {};
  const Layout operands[] = {dense_layout(in.shape, in.dtype),
                             dense_layout(reader.shape, reader.dtype)};
  return target.backend->find(*reader.op, reader.attrs.get(), operands, 1,
                              target.stream.device.index);
}

void find_recomputed(const Schedule& items, const Targets& targets, Groups& groups) {
  groups.recomputed.clear();
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (!is_candidate(items, items[i])) continue;
    if (groups.recomputed.empty()) groups.recomputed.assign(items.size(), false);
    groups.recomputed[i] = true;
  }
  if (groups.recomputed.empty()) return;
  for (const Item& item : items) {
    if (item.leaf) continue;
    for (Node* in : computed_from(*item.node)) {
      const uint32_t i = item_index(in);
      if (groups.recomputed[i] && !computes_input(*item.node, *in, targets))
        groups.recomputed[i] = false;
    }
  }
}

}  // namespace mlx::core
