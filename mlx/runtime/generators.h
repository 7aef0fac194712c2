// Reads of results that programs compute from the numbers of their elements (core/op.h: Generator).
#pragma once

#include "mlx/runtime/fuse.h"

namespace mlx::core {

/// Such a result, as a group reads it.
struct GeneratorRead {
  uint32_t item;  ///< the node
  Generator how;
  AxisMap axes;  ///< for each of its axes, the axis of the iteration
};

/// Whether the item is a generator or views of one, whose axes are not looked at yet.
bool comes_from_generator(const Schedule& items, uint32_t item);

/// Follows views that only rename axes from an item, read through `axes`, to a generator that can
/// be computed; false where there is none.
bool find_generator(const Schedule& items, uint32_t item, const AxisMap& axes, GeneratorRead& out);

/// The instruction that computes a generator; its operands are for the caller to fill in.
Instr instruction_of(const Generator& how, Dtype dtype);
/// How an iteration of that rank numbers the elements.
Numbering numbering_of(const GeneratorRead& read, const Shape& own, size_t rank);

/// True where an element is as quick to compute as to read: it may be computed again for each
/// element of a larger iteration.
bool is_quick(const Generator& how, const Node& n);

/// Finds the generators and casts that need no step, because the groups compute them: sets
/// `Groups::computed_inside`. Part of `fuse`.
void find_computed_inside(const Schedule& items, Groups& groups);

}  // namespace mlx::core
