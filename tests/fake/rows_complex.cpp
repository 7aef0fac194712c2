// Micro-ops of the complex dtypes.
#include "rows.h"

namespace mlx::core::fake {

const MicroOp* const complex64_rows = Rows<Dtype::Val::complex64, m::Cx<float>>::table;
const MicroOp* const complex128_rows = Rows<Dtype::Val::complex128, m::Cx<double>>::table;

}  // namespace mlx::core::fake
