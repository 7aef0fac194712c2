// Routines: the steps of functions that control-flow ops run, planned once for a device.
#pragma once

#include <memory>

#include "mlx/core/subgraph.h"
#include "mlx/runtime/place.h"

namespace mlx::core {

/// The steps of a function for a target's device; it goes through the passes the first time. Throws
/// ValueError for an op without a kernel.
std::shared_ptr<const Routine> routine_of(const Subgraph& function, const Target& target);
/// The same for the host.
std::shared_ptr<const Routine> host_routine_of(const Subgraph& function);

}  // namespace mlx::core
