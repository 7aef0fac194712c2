// Means: sums with wide integer accumulators.
#include "mlx/backend/cpu/isa/reduce_kernel.h"

namespace mlx::core::cpu::MLX_ISA {

Reducer find_mean(Dtype::Val t) {
  using enum Dtype::Val;
  switch (t) {
    case bool_:
    case uint8:
      return Kernel<Sum<uint8_t, int64_t>>::table;
    case uint16:
      return Kernel<Sum<uint16_t, int64_t>>::table;
    case uint32:
      return Kernel<Sum<uint32_t, int64_t>>::table;
    case uint64:
      return Kernel<Sum<uint64_t, double>>::table;
    case int8:
      return Kernel<Sum<int8_t, int64_t>>::table;
    case int16:
      return Kernel<Sum<int16_t, int64_t>>::table;
    case int32:
      return Kernel<Sum<int32_t, int64_t>>::table;
    case int64:
      return Kernel<Sum<int64_t, double>>::table;
    default:
      return find_sum(t);
  }
}

}  // namespace mlx::core::cpu::MLX_ISA
