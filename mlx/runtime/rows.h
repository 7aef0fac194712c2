// The pass `rows`: steps that work row by row become units, which run over some rows at a time
// (docs/adr/0030-row-units.md).
#pragma once

#include "mlx/runtime/place.h"
#include "mlx/runtime/plan.h"

namespace mlx::core {

/// Puts steps of each segment together to units of rows (RowUnit), where the device has them. A
/// value that only one unit writes and reads loses its slot in the memory of the plan.
void find_rows(const Targets& targets, Plan& plan);

}  // namespace mlx::core
