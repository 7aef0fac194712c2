// Sums.
#include "mlx/backend/cpu/isa/reduce_kernel.h"

namespace mlx::core::cpu::MLX_ISA {

Reducer find_sum(Dtype::Val t) { return numeric<Sum>(t); }

}  // namespace mlx::core::cpu::MLX_ISA
