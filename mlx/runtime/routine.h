// Routines: the steps of functions that control-flow ops run, planned once for the host.
#pragma once

#include <memory>

#include "mlx/backend/backend.h"
#include "mlx/core/subgraph.h"

namespace mlx::core {

/// The steps of a function, which goes through the passes the first time. Throws ValueError for an
/// op without a kernel on the CPU.
std::shared_ptr<const Routine> routine_of(const Subgraph& function);

}  // namespace mlx::core
