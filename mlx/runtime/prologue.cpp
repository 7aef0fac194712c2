// Which groups a single op reads: it may compute them as it reads
// (docs/adr/0017-prologue-fusion.md).
#include "mlx/runtime/fuse.h"

namespace mlx::core {

namespace {

/// Whether the root alone is read or stored outside of the group.
bool only_root_leaves(const Schedule& items, const FusionGroup& group, const std::vector<int>& of) {
  uint32_t outside = 0;
  for (const Member& m : group.members) {
    if (m.item != group.root()) outside += items[m.item].uses + items[m.item].stored();
    for (Node* in : computed_from(*items[m.item].node)) outside -= of[item_index(in)] == of[m.item];
  }
  return outside == 0;
}

}  // namespace

void find_prologues(const Schedule& items, Groups& groups) {
  for (uint32_t i = 0; i < items.size(); ++i) {
    const Node& n = *items[i].node;
    if (items[i].leaf || n.op->kind != OpKind::kernel || n.inputs().size() != 1) continue;
    if (!groups.computed_inside.empty() && groups.computed_inside[i]) continue;
    uint32_t in = item_index(n.inputs()[0]);
    if (groups.of[in] < 0 || items[in].stored()) continue;
    if (items[in].uses != 1 && !groups.is_recomputed(in)) continue;
    FusionGroup& group = groups.list[groups.of[in]];
    bool alone = group.root() == in && only_root_leaves(items, group, groups.of);
    if (alone && items[in].node->stream == n.stream) group.consumers.push_back(i);
  }
}

}  // namespace mlx::core
