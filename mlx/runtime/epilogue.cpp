// Which ops' results a single group reads: it may be applied to them as they are written
// (docs/adr/0023-epilogues-and-layouts.md).
#include "mlx/runtime/fuse.h"
#include "mlx/runtime/layouts.h"

namespace mlx::core {

namespace {

/// True for an op whose only result nothing but its consumers needs.
bool may_have_epilogue(const Schedule& items, const Groups& groups, uint32_t i) {
  const Item& item = items[i];
  const Node& n = *item.node;
  if (item.leaf || item.stored() || n.op->kind != OpKind::kernel) return false;
  if (num_elements(n.shape) == 0) return false;
  return groups.computed_inside.empty() || !groups.computed_inside[i];
}

/// True where the member reads each element of the input at the same index of the iteration.
bool reads_elementwise(const Member& m, const Node& in, const Shape& iteration) {
  if (m.transparent || in.shape != iteration) return false;
  const AxisMap axes = operand_map(in, m.axes);
  for (size_t k = 0; k < axes.size(); ++k)
    if (in.shape[k] != 1 && axes[k] != static_cast<int>(k)) return false;
  return true;
}

}  // namespace

void find_epilogues(const Schedule& items, Groups& groups) {
  groups.epilogue_of.clear();
  std::vector<uint32_t> reads;  // per item, by the group that it is noted for
  for (size_t g = 0; g < groups.list.size(); ++g) {
    const FusionGroup& group = groups.list[g];
    if (groups.is_recomputed(group.root())) continue;  // not at one place
    const Node& root = *items[group.root()].node;
    for (const Member& m : group.members) {
      for (Node* in : computed_from(*items[m.item].node)) {
        const uint32_t i = item_index(in);
        if (!may_have_epilogue(items, groups, i) || in->stream != root.stream) continue;
        if (!reads_elementwise(m, *in, root.shape)) continue;
        if (reads.empty()) {
          reads.assign(items.size(), 0);
          groups.epilogue_of.assign(items.size(), -1);
        }
        int& noted = groups.epilogue_of[i];
        if (noted < 0) noted = static_cast<int>(g);
        reads[i] += noted == static_cast<int>(g);
      }
    }
  }
  // A value that is read in another way, or by other steps too, is stored as a whole.
  for (size_t i = 0; i < groups.epilogue_of.size(); ++i)
    if (reads[i] != items[i].uses) groups.epilogue_of[i] = -1;
}

}  // namespace mlx::core
