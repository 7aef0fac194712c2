// Sums of products over channels.
#include "mlx/backend/cpu/isa/conv.h"

#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

void tap(float* sum, const float* x, const float* w, int64_t n) {
  int64_t i = 0;
  for (; i + VF::N <= n; i += VF::N)
    v_fma(VF::load(x + i), VF::load(w + i), VF::load(sum + i)).store(sum + i);
  if (i < n) {
    VF r = v_fma(VF::load_partial(x + i, n - i), VF::load_partial(w + i, n - i),
                 VF::load_partial(sum + i, n - i));
    r.store_partial(sum + i, n - i);
  }
}

}  // namespace

const ConvKernels conv_kernels{tap};

}  // namespace mlx::core::cpu::MLX_ISA
