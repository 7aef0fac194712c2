// The pass `lower`: lower groups and ops to steps; resolve views; decide which values are stored.
#pragma once

#include "mlx/core/api.h"
#include "mlx/runtime/fuse.h"
#include "mlx/runtime/plan.h"

namespace mlx::core {

MLX_API void lower(const Schedule& items, const Targets& targets, const Groups& groups, Plan& plan);

}  // namespace mlx::core
