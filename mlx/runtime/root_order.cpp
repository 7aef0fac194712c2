// In which order the outputs of an evaluation are computed.
#include <algorithm>

#include "mlx/runtime/schedule.h"

namespace mlx::core {

bool sort_by_depth(std::span<Node*> roots, const Schedule& items) {
  if (roots.size() < 2) return false;
  size_t elements = 0;
  for (const Item& item : items)
    if (!item.leaf) elements += static_cast<size_t>(num_elements(item.node->shape));
  constexpr size_t kSmall = 1 << 20;  // all of it may stay
  if (elements < kSmall) return false;
  std::vector<uint32_t> depths(items.size(), 0);
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].leaf) continue;
    for (Node* in : computed_from(*items[i].node))
      depths[i] = std::max(depths[i], depths[item_index(in)] + 1);
  }
  auto depth = [&](const Node* n) { return depths[item_index(n)]; };
  if (std::ranges::is_sorted(roots, {}, depth)) return false;
  std::ranges::stable_sort(roots, {}, depth);
  return true;
}

}  // namespace mlx::core
