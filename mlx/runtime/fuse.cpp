#include "mlx/runtime/fuse.h"

#include <algorithm>
#include <cstdlib>
#include <queue>

#include "mlx/runtime/layouts.h"

namespace mlx::core {

namespace {

bool& fusion_on() {
  static bool on = !std::getenv("MLX_DISABLE_FUSION");
  return on;
}

bool computes(const Item& item) { return !item.leaf && item.node->op->kind == OpKind::elementwise; }
bool is_view(const Item& item) { return !item.leaf && item.node->op->kind == OpKind::view; }

/// Grows units from their roots down, roots in falling schedule order. Within a unit, candidates
/// come in falling order too, so that everything in it that reads a node has joined before the
/// node.
///
/// A node may join when all that read it are placed: in this unit, or in one that runs later. It
/// can then be computed here, and be stored for those others. No cycle between units can arise,
/// because what is placed never runs before this unit.
class Grower {
 public:
  Grower(const Schedule& items, std::vector<int>& unit_of, bool on)
      : items_(items),
        on_(on),
        unit_of_(unit_of),
        placed_(items.size(), 0),
        settled_(items.size(), false),
        blocked_(items.size(), -1) {
    for (uint32_t i = 0; i < items.size(); ++i)
      if (is_view(items[i]) && items[i].uses == 0) settle(i);
  }

  Unit grow(uint32_t root, int unit) {
    root_ = root;
    unit_ = unit;
    size_ = num_elements(items_[root].node->shape);
    nodes_ = outputs_ = leaves_ = 0;
    maps_.clear();
    AxisMap axes;
    for (size_t k = 0; k < items_[root].node->shape.size(); ++k)
      axes.push_back(items_[root].node->shape[k] == 1 ? -1 : static_cast<int>(k));
    Unit out;
    join(out, root, std::move(axes), false);
    while (!candidates_.empty()) consider(out);
    std::reverse(out.members.begin(), out.members.end());
    return out;
  }

  /// Counts the reads of an op that is no unit's member.
  void place(uint32_t i) {
    if (is_view(items_[i])) {
      settle(i);
    } else if (!items_[i].leaf) {
      for (Node* in : items_[i].node->inputs()) ++placed_[item_index(in)];
    }
  }

 private:
  struct Candidate {
    uint32_t item, map;
    bool operator<(const Candidate& o) const { return item < o.item; }
  };

  void join(Unit& out, uint32_t i, AxisMap axes, bool transparent) {
    const Node& n = *items_[i].node;
    unit_of_[i] = unit_;
    nodes_ += !transparent;
    outputs_ += items_[i].stored();
    for (Node* in : n.inputs()) {
      uint32_t k = item_index(in);
      ++placed_[k];
      candidates_.push({k, static_cast<uint32_t>(maps_.size())});
      if (!transparent)
        maps_.push_back(operand_map(*in, axes));
      else
        view_map(n, axes, maps_.emplace_back());
    }
    out.members.push_back({i, std::move(axes), transparent});
  }

  void consider(Unit& out) {
    auto [item, map] = candidates_.top();
    candidates_.pop();
    bool same_map = true;
    uint32_t reads = 1;
    for (; !candidates_.empty() && candidates_.top().item == item; candidates_.pop(), ++reads)
      same_map = same_map && maps_[candidates_.top().map] == maps_[map];
    if (same_map && admits(item, maps_[map], reads)) {
      join(out, item, std::move(maps_[map]), !computes(items_[item]));
    } else {
      leave_out(item);
    }
  }

  bool admits(uint32_t i, const AxisMap& axes, uint32_t reads) const {
    const Item& item = items_[i];
    const Node& n = *item.node;
    const FuseLimits limits;
    if (!on_ || item.leaf || unit_of_[i] >= 0 || blocked_[i] == unit_) return false;
    if (placed_[i] != item.uses || n.stream != items_[root_].node->stream) return false;
    if (nodes_ >= limits.nodes || leaves_ >= limits.inputs || outputs_ >= limits.outputs)
      return false;
    if (num_elements(n.shape) != size_) return false;
    for (size_t k = 0; k < n.shape.size(); ++k)
      if (n.shape[k] != 1 && axes[k] < 0) return false;
    if (computes(item)) return true;
    // A view that is stored, or that others read, needs an address of its own.
    AxisMap unused;
    return is_view(item) && !item.stored() && reads == item.uses && !settled_[i] &&
           view_map(n, axes, unused);
  }

  /// The item is an input of the unit. What it views must then be computed before the unit.
  void leave_out(uint32_t i) {
    leaves_ += items_[i].node->op != &op_constant;  // these become parameters, not operands
    if (!is_view(items_[i])) return;
    if (placed_[i] == items_[i].uses) settle(i);
    while (is_view(items_[i])) {
      i = item_index(items_[i].node->inputs()[0]);
      blocked_[i] = unit_;
    }
  }

  /// A view costs no step: once all that read it are placed, its own read counts as placed too.
  void settle(uint32_t i) {
    while (is_view(items_[i]) && !settled_[i] && placed_[i] == items_[i].uses && unit_of_[i] < 0) {
      settled_[i] = true;
      i = item_index(items_[i].node->inputs()[0]);
      ++placed_[i];
    }
  }

  const Schedule& items_;
  bool on_;
  std::vector<int>& unit_of_;
  std::vector<uint32_t> placed_;  // reads of an item whose reader has its place
  std::vector<bool> settled_;
  std::vector<int> blocked_;  // the unit that an item cannot join
  std::priority_queue<Candidate> candidates_;
  std::vector<AxisMap> maps_;  // of the candidates
  uint32_t root_ = 0;
  int unit_ = 0, nodes_ = 0, outputs_ = 0, leaves_ = 0;
  int64_t size_ = 0;
};

}  // namespace

void fuse(const Schedule& items, std::vector<Unit>& units, std::vector<int>& unit_of, bool on) {
  units.clear();
  unit_of.assign(items.size(), -1);
  Grower grower(items, unit_of, on && fusion_on());
  for (uint32_t i = static_cast<uint32_t>(items.size()); i-- > 0;) {
    if (unit_of[i] >= 0) continue;
    if (computes(items[i]))
      units.push_back(grower.grow(i, static_cast<int>(units.size())));
    else
      grower.place(i);
  }
  if (on && fusion_on()) find_readers(items, units, unit_of);
}

void fuse_chains(bool on) { fusion_on() = on; }

}  // namespace mlx::core
