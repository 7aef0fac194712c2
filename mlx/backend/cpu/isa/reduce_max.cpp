// Maxima.
#include "mlx/backend/cpu/isa/reduce_kernel.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

template <class T_, class A_>
struct Max : Sum<T_, A_> {
  using typename Sum<T_, A_>::A;
  using typename Sum<T_, A_>::R;
  using Wide = Max<T_, int32_t>;
  static MLX_FN A neutral() { return lowest<A>(); }
  static MLX_FN R combine(R a, R b) { return larger(a, b); }
  static MLX_FN R ordered(R a, R b)
    requires is_float_v<A>
  {
    return v_max(a, b);
  }
};
}  // namespace

Reducer find_max(Dtype::Val t) { return extreme<Max>(t); }

}  // namespace mlx::core::cpu::MLX_ISA
