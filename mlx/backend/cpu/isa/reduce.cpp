// Lookup of the kernels of a reduction.
#include "mlx/backend/cpu/isa/reduce_kernel.h"

namespace mlx::core::cpu::MLX_ISA {

Reducer find_reducer(Reduction kind, Dtype::Val t) {
  switch (kind) {
    case Reduction::sum:
      return find_sum(t);
    case Reduction::mean:
      return find_mean(t);
    case Reduction::prod:
      return find_product(t);
    case Reduction::max:
      return find_max(t);
    case Reduction::min:
      return find_min(t);
    case Reduction::any:
      return find_truth(t, false);
    case Reduction::all:
      return find_truth(t, true);
    default:
      return {};
  }
}

}  // namespace mlx::core::cpu::MLX_ISA
