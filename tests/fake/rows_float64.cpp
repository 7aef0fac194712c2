// Micro-ops of float64.
#include "rows.h"

namespace mlx::core::fake {

const MicroOp* const float64_rows = Rows<Dtype::Val::float64, double>::table;

}  // namespace mlx::core::fake
