// Which units a single op reads: it may compute them on the way (docs/adr/0017-computed-inputs.md).
#include "mlx/runtime/fuse.h"

namespace mlx::core {

namespace {

/// Whether the root alone is read or stored outside of the unit.
bool only_root_leaves(const Schedule& items, const Unit& unit, const std::vector<int>& of) {
  uint32_t outside = 0;
  for (const Member& m : unit.members) {
    if (m.item != unit.root()) outside += items[m.item].uses + items[m.item].stored();
    for (Node* in : items[m.item].node->inputs()) outside -= of[item_index(in)] == of[m.item];
  }
  return outside == 0;
}

}  // namespace

void find_readers(const Schedule& items, std::vector<Unit>& units, const std::vector<int>& of) {
  for (uint32_t i = 0; i < items.size(); ++i) {
    const Node& n = *items[i].node;
    if (items[i].leaf || n.op->kind != OpKind::kernel || n.inputs().size() != 1) continue;
    uint32_t in = item_index(n.inputs()[0]);
    if (of[in] < 0 || items[in].uses != 1 || items[in].stored()) continue;
    Unit& unit = units[of[in]];
    bool alone = unit.root() == in && only_root_leaves(items, unit, of);
    if (alone && items[in].node->stream == n.stream) unit.reader = static_cast<int>(i);
  }
}

}  // namespace mlx::core
