// Micro-ops of float32, and of the 16-bit floats that widen to it.
#include "rows.h"

namespace mlx::core::fake {

const MicroOp* const float32_rows = Rows<Dtype::Val::float32, float>::table;

}  // namespace mlx::core::fake
