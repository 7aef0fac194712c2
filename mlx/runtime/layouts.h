// Where the elements of a group's operands and results lie, seen along the axes of its iteration.
#pragma once

#include <span>

#include "mlx/runtime/fuse.h"

namespace mlx::core {

Layout dense_layout(const Shape& shape, Dtype dtype);
/// A layout as the iteration sees it, given the axis of each of its axes.
Layout map_layout(const Layout& layout, const AxisMap& axes, const Shape& iteration);
/// The map of an operand that broadcasts into a node of map `axes`; trailing axes are aligned.
AxisMap operand_map(const Node& operand, const AxisMap& axes);
/// The map of the input of a view that only renames axes; false for other views.
bool view_map(const Node& view, const AxisMap& axes, AxisMap& out);

/// Whether a view gives its input as it is.
bool is_identity(const Node& view);

/// How the elements of an operand of the iteration lie.
struct MemoryOrder {
  enum Kind : uint8_t { broadcast, sparse, dense } kind = broadcast;
  Strides strides;  ///< where dense; equal for equal layouts
};
MemoryOrder memory_order(const Strides& strides, const Shape& iteration);

/// How the results of a member of shape `own` lie: in the order of the inputs that are not
/// broadcast, where these are dense and agree; else row-major. `axes` are the member's among those
/// of the iteration.
MemoryOrder result_order(std::span<const MemoryOrder* const> inputs, const Shape& own,
                         const AxisMap& axes, const Shape& iteration);

}  // namespace mlx::core
