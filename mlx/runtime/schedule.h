// The pass `schedule`: which nodes must be computed, in what order, and who else looks at them.
#pragma once

#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/runtime/claims.h"

namespace mlx::core {

/// A node of the evaluated graph. References to it, and whether it may be donated, are read here,
/// once.
struct Item {
  Node* node;
  uint32_t uses = 0;        ///< times that nodes of this schedule read it
  bool leaf = false;        ///< has a value already
  bool requested = false;   ///< asked for by the caller
  bool referenced = false;  ///< from outside of the schedule: stored like a requested node
  bool taped = false;       ///< a live transformation needs its inputs after the evaluation
  bool donatable = false;   ///< a leaf that is not read after this schedule: its memory is free
  bool stored() const { return requested || referenced; }
};

/// Nodes in topological order: inputs before their consumers.
using Schedule = std::vector<Item>;

/// Where an evaluated node's elements are: its own value, or that of its part of a bundle.
MLX_API const Value& value_of(const Node& n);

/// Orders what the outputs need, and claims it. Iterative; linear in the graph. Throws
/// PlaceholderError for a placeholder unless `tracing`, and Conflict.
MLX_API void schedule(const Arrays& outputs, Claims& claims, Schedule& items, bool tracing = false);

/// Puts roots that need fewer steps one after another first; true where that changed something.
/// Values that others share with them can then be freed on the way: gradients of the last layer of
/// a network come before those of the first, which need all that is between. Small graphs stay.
bool sort_by_depth(std::span<Node*> roots, const Schedule& items);

/// True where only one array refers to the leaf, and no export or file to its memory, so that the
/// memory can be taken over; and the taker would not hold on to much more than it needs.
bool memory_is_free(const Node& leaf);

/// The inputs that a node is computed from: the inputs of a view, without the bundle which gives a
/// result of a custom function its rules.
inline std::span<Node* const> computed_from(const Node& n) {
  auto in = n.inputs();
  bool has_rules = n.op->kind == OpKind::view && in.size() > 1 && in[1]->parts;
  return has_rules ? in.first(1) : in;
}

/// The place of a node in the schedule that is being planned.
inline uint32_t item_index(const Node* n) {
  return static_cast<uint32_t>(n->mark.load(std::memory_order_relaxed));
}

/// True where a view that the program asks for must be copied: one of the views that it consists of
/// promises to release memory (OpDef::releases_memory), and what they look at is much larger.
bool must_release_memory(const Node& n);

}  // namespace mlx::core
