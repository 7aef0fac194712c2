// Casts that each reader computes itself (docs/adr/0048-casts-in-each-reader.md).
#pragma once

#include "mlx/runtime/fuse.h"

namespace mlx::core {

/// The wishes of the kernel of an op with one input, for dense operands.
Requirements needs_of_reader(const Node& reader, const Target& target);

/// Finds the casts to larger elements which all that read them can compute: sets
/// `Groups::recomputed`. Part of `fuse`.
void find_recomputed(const Schedule& items, const Targets& targets, Groups& groups);

}  // namespace mlx::core
