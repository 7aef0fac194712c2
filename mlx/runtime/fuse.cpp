// Grows fusion groups from their roots toward the inputs.
#include "mlx/runtime/fuse.h"

#include <algorithm>
#include <queue>

#include "mlx/runtime/generators.h"
#include "mlx/runtime/layouts.h"
#include "mlx/runtime/recompute.h"

namespace mlx::core {

namespace {

bool computes(const Item& item) { return !item.leaf && item.node->op->kind == OpKind::elementwise; }
bool is_kernel(const Item& item) { return item.node->op->kind == OpKind::kernel; }
bool is_view(const Item& item) { return !item.leaf && item.node->op->kind == OpKind::view; }

/// Grows groups from their roots down, roots in falling schedule order. Within a group, candidates
/// come in falling order too, so that everything in it that reads a node has joined before the
/// node.
///
/// A node may join when all that read it are placed: in this group, or in one that runs later. It
/// can then be computed here, and be stored for those others. No cycle between groups can arise,
/// because what is placed never runs before this group.
class Grower {
 public:
  Grower(const Schedule& items, const Targets& targets, Groups& groups, bool on)
      : items_(items),
        targets_(targets),
        on_(on),
        groups_(groups),
        group_of_(groups.of),
        progress_(items.size(), {.placed = 0, .blocked = -1, .view_placed = false}) {
    constexpr size_t kFewMaps = 16;
    maps_.reserve(kFewMaps);
    for (uint32_t i = 0; i < items.size(); ++i)
      if (is_view(items[i]) && items[i].uses == 0) place_view(i);
  }

  FusionGroup grow(uint32_t root, int group) {
    root_ = root;
    target_ = &targets_.of(items_[root].node->stream);
    group_ = group;
    size_ = num_elements(items_[root].node->shape);
    nodes_ = outputs_ = leaves_ = 0;
    maps_.clear();
    AxisMap axes;
    for (size_t k = 0; k < items_[root].node->shape.size(); ++k)
      axes.push_back(items_[root].node->shape[k] == 1 ? -1 : static_cast<int>(k));
    FusionGroup out;
    constexpr size_t kFewMembers = 8;
    out.members.reserve(kFewMembers);
    join(out, root, std::move(axes), 0);
    while (!candidates_.empty()) consider(out);
    std::reverse(out.members.begin(), out.members.end());
    return out;
  }

  /// Counts the reads of an op that is in no group.
  void place(uint32_t i) {
    if (is_view(items_[i])) {
      place_view(i);
    } else if (!items_[i].leaf) {
      for (Node* in : items_[i].node->inputs()) ++progress_[item_index(in)].placed;
    }
  }

 private:
  struct Candidate {
    uint32_t item, map;
    bool operator<(const Candidate& o) const { return item < o.item; }
  };

  struct Progress {
    uint32_t placed;  // reads whose consumer has its place
    int blocked;      // the group that the item cannot join
    bool view_placed;
  };

  /// `reads`: by the group.
  void join(FusionGroup& out, uint32_t i, AxisMap axes, uint32_t reads) {
    const Node& n = *items_[i].node;
    const bool transparent = !computes(items_[i]);
    group_of_[i] = group_;
    nodes_ += !transparent;
    outputs_ += items_[i].stored() || reads < items_[i].uses;
    for (Node* in : computed_from(n)) {
      uint32_t k = item_index(in);
      ++progress_[k].placed;
      candidates_.push({k, static_cast<uint32_t>(maps_.size())});
      if (!transparent)
        maps_.push_back(operand_map(*in, axes));
      else
        view_map(n, axes, maps_.emplace_back());
    }
    out.members.push_back({i, std::move(axes), transparent});
  }

  void consider(FusionGroup& out) {
    auto [item, map] = candidates_.top();
    candidates_.pop();
    bool same_map = true;
    uint32_t reads = 1;
    for (; !candidates_.empty() && candidates_.top().item == item; candidates_.pop(), ++reads)
      same_map = same_map && maps_[candidates_.top().map] == maps_[map];
    if (int operands = 0; generates(item, maps_[map], reads, same_map, operands) ||
                          recomputes(item, reads, operands)) {
      out.generated.push_back(item);
      nodes_ += static_cast<int>(reads);
      leave_out(item, operands);
    } else if (same_map && admits(item, maps_[map], reads)) {
      join(out, item, std::move(maps_[map]), reads);
    } else {
      // Constants become parameters, not operands.
      leave_out(item, items_[item].node->op != &op_constant);
    }
  }

  bool is_full() const {
    const Caps& caps = target_->caps;
    return nodes_ >= caps.fused_nodes || leaves_ >= caps.fused_inputs ||
           outputs_ >= caps.fused_outputs;
  }

  /// Whether the program computes the item, which is then no member, from the numbers of its
  /// elements; `operands`: the values that this takes.
  bool generates(uint32_t i, const AxisMap& axes, uint32_t reads, bool same_map,
                 int& operands) const {
    if (!on_ || group_of_[i] >= 0 || !comes_from_generator(items_, i) || is_full()) return false;
    GeneratorRead read;
    if (!find_generator(items_, i, axes, read)) return false;
    const Node& n = *items_[read.item].node;
    if (n.stream != items_[root_].node->stream ||
        !target_->backend->fuses(instruction_of(read.how, n.dtype), target_->stream.device.index))
      return false;
    if (!is_quick(read.how, n) && num_elements(n.shape) != size_) return false;
    if (read.how.kind != Generator::random_bits) return true;
    // Random bits are made once.
    operands = 2;
    for (; reads == items_[i].uses && !items_[i].stored(); reads = 1) {
      if (i == read.item) return same_map && leaves_ + operands <= target_->caps.fused_inputs;
      i = item_index(items_[i].node->inputs()[0]);
    }
    return false;
  }

  /// Whether the program computes a cast that others read too. It is no member of the group. Where
  /// there is no room for it, it is stored for all groups that are still to grow.
  bool recomputes(uint32_t i, uint32_t reads, int& operands) {
    if (!groups_.is_recomputed(i) || reads == items_[i].uses) return false;
    operands = static_cast<int>(reads);
    if (!is_full()) return true;
    groups_.recomputed[i] = false;
    return false;
  }

  bool admits(uint32_t i, const AxisMap& axes, uint32_t reads) const {
    const Item& item = items_[i];
    const Node& n = *item.node;
    if (!on_ || item.leaf || group_of_[i] >= 0 || progress_[i].blocked == group_) return false;
    if (progress_[i].placed != item.uses || n.stream != items_[root_].node->stream) return false;
    if (is_full()) return false;
    if (num_elements(n.shape) != size_) return false;
    for (size_t k = 0; k < n.shape.size(); ++k)
      if (n.shape[k] != 1 && axes[k] < 0) return false;
    if (computes(item))
      return target_->backend->fuses(instruction_of(n), target_->stream.device.index);
    // A view that is stored, or that other steps read, needs an address: its base may have it.
    AxisMap unused;
    return is_view(item) && !item.stored() && (reads == item.uses || is_identity(n)) &&
           !progress_[i].view_placed && view_map(n, axes, unused);
  }

  /// The item is an input of the group. The base of a view must then be computed before the group.
  void leave_out(uint32_t i, int operands) {
    leaves_ += operands;
    if (!is_view(items_[i])) return;
    if (progress_[i].placed == items_[i].uses) place_view(i);
    while (is_view(items_[i])) {
      i = item_index(items_[i].node->inputs()[0]);
      progress_[i].blocked = group_;
    }
  }

  /// A view costs no step: once all that read it are placed, its own read counts as placed too.
  void place_view(uint32_t i) {
    while (is_view(items_[i]) && !progress_[i].view_placed &&
           progress_[i].placed == items_[i].uses && group_of_[i] < 0) {
      progress_[i].view_placed = true;
      i = item_index(items_[i].node->inputs()[0]);
      ++progress_[i].placed;
    }
  }

  const Schedule& items_;
  const Targets& targets_;
  const Target* target_ = nullptr;  // of the group that grows
  bool on_;
  Groups& groups_;
  std::vector<int>& group_of_;
  SmallVector<Progress, 32> progress_;  // per item
  std::priority_queue<Candidate, SmallVector<Candidate, 16>> candidates_;
  std::vector<AxisMap> maps_;  // of the candidates
  uint32_t root_ = 0;
  int group_ = 0, nodes_ = 0, outputs_ = 0, leaves_ = 0;
  int64_t size_ = 0;
};

}  // namespace

Instr instruction_of(const Node& n) {
  auto inputs = n.inputs();
  Dtype type = inputs[inputs.size() == 3 ? 1 : 0]->dtype;
  OpId op = n.op->elementwise >= 0 ? static_cast<OpId>(n.op->elementwise) : OpId::cast;
  if (op == OpId::cast && type == n.dtype) op = OpId::copy;
  return {op, type, n.dtype};
}

void fuse(const Schedule& items, const Targets& targets, Groups& groups, bool on) {
  groups.list.clear();
  groups.of.assign(items.size(), -1);
  groups.recomputed.clear();
  if (on) find_recomputed(items, targets, groups);
  Grower grower(items, targets, groups, on);
  for (uint32_t i = static_cast<uint32_t>(items.size()); i-- > 0;) {
    if (groups.of[i] >= 0) continue;
    if (computes(items[i]))
      groups.list.push_back(grower.grow(i, static_cast<int>(groups.list.size())));
    else
      grower.place(i);
  }
  find_computed_inside(items, groups);
  groups.epilogue_of.clear();
  if (!on || std::ranges::none_of(items, is_kernel)) return;
  find_prologues(items, groups);
  find_epilogues(items, groups);
}

}  // namespace mlx::core
