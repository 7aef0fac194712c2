// The pass `assign`: the place of every slot in memory.
#pragma once

#include "mlx/runtime/plan.h"

namespace mlx::core {

/// Writes in place where a step allows it, takes over inputs, and packs temporaries into arenas.
/// Not `in_place`: no output shares memory.
void assign_memory(Plan& plan, bool in_place = true);

}  // namespace mlx::core
