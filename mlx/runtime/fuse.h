// The pass `fuse`: group the elementwise nodes of the schedule; each group runs as one program.
#pragma once

#include "mlx/core/api.h"
#include "mlx/runtime/place.h"

namespace mlx::core {

/// For each axis of a node, the axis of the group's iteration that it is, or -1 for length 1.
using AxisMap = SmallVector<int, 8>;

struct Member {
  uint32_t item;
  AxisMap axes;
  bool transparent;  ///< a view that only renames axes; computes nothing
};

/// Elementwise nodes that iterate together over the root's shape. Members are in schedule order,
/// the root last.
struct FusionGroup {
  std::vector<Member> members;
  /// Inputs that the program computes instead of reading them: from the numbers of their elements,
  /// or casts of what it reads in their place.
  SmallVector<uint32_t, 4> generated;
  /// The ops that may compute the root as they read it: all that read it, where nothing else of the
  /// group is stored.
  SmallVector<uint32_t, 2> consumers;
  uint32_t root() const { return members.back().item; }
};

/// The groups of a schedule. A group runs at the place of its root.
struct Groups {
  std::vector<FusionGroup> list;
  std::vector<int> of;  ///< per item, the group that it is a member of, or -1
  /// Per item: a cast that each reader computes itself. Empty where there is none.
  std::vector<bool> recomputed;
  /// Per item: nothing reads it, because groups compute it themselves. Empty where there is none.
  std::vector<bool> computed_inside;
  /// Per item: the group that may be applied to the result of this op, or -1. Empty where there is
  /// none.
  std::vector<int> epilogue_of;

  bool is_recomputed(uint32_t item) const { return !recomputed.empty() && recomputed[item]; }
};

/// Groups the elementwise nodes of the schedule, within the limits of their devices. Not `on`: a
/// group a node.
MLX_API void fuse(const Schedule& items, const Targets& targets, Groups& groups, bool on = true);

/// Finds the groups whose root a single op of one input reads, or several if it is recomputed, so
/// that these may compute them as they read (prologue fusion): sets `FusionGroup::consumers`. Part
/// of `fuse`.
void find_prologues(const Schedule& items, Groups& groups);

/// Finds the ops whose result a single group reads, element by element, so that the group may be
/// applied to it as it is written (epilogue fusion): sets `Groups::epilogue_of`. Part of `fuse`.
void find_epilogues(const Schedule& items, Groups& groups);

/// The instruction that computes an elementwise node.
Instr instruction_of(const Node& n);

}  // namespace mlx::core
