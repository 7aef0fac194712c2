// Phase 2: cut the schedule into units, each one kernel: a lone op, or elementwise nodes that run
// as one program.
#pragma once

#include "mlx/runtime/schedule.h"

namespace mlx::core {

/// For each axis of a node, the axis of the unit's iteration that it is, or -1 for length 1.
using AxisMap = SmallVector<int, 8>;

struct Member {
  uint32_t item;
  AxisMap axes;
  bool transparent;  ///< a view that only renames axes; computes nothing
};

/// Elementwise nodes that iterate together over the root's shape. Members are in schedule order,
/// the root last.
struct Unit {
  std::vector<Member> members;
  int reader = -1;  ///< the item of the one op that reads the root, where nothing else is stored
  uint32_t root() const { return members.back().item; }
};

struct FuseLimits {
  int nodes = 64, inputs = 16, outputs = 12;
};

/// Groups the elementwise nodes of the schedule. `unit_of` gives, per item, the unit that it is a
/// member of, or -1. A unit runs at the place of its root in the schedule. Not `on`: a unit a node.
void fuse(const Schedule& items, std::vector<Unit>& units, std::vector<int>& unit_of,
          bool on = true);

/// Finds the units that a single op of one input reads: sets `Unit::reader`. Part of `fuse`.
void find_readers(const Schedule& items, std::vector<Unit>& units, const std::vector<int>& of);

/// Turns fusion off (one unit a node) and on; MLX_DISABLE_FUSION=1 starts with it off.
void fuse_chains(bool on);

}  // namespace mlx::core
