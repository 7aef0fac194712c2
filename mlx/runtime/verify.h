// Checks of what the passes leave behind: in debug builds, and where MLX_DEBUG contains "verify".
#pragma once

#include "mlx/runtime/fuse.h"
#include "mlx/runtime/plan.h"

namespace mlx::core {

/// Each throws std::logic_error, naming the pass and what is wrong.
void verify_schedule(const Schedule& items);
void verify_groups(const Schedule& items, const Groups& groups);
void verify_steps(const Plan& plan);
void verify_memory(const Plan& plan);

}  // namespace mlx::core
