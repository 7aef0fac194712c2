// Minima.
#include "mlx/backend/cpu/isa/reduce_kernel.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

template <class T_, class A_>
struct Min : Sum<T_, A_> {
  using typename Sum<T_, A_>::A;
  using typename Sum<T_, A_>::R;
  using Wide = Min<T_, int32_t>;
  static MLX_FN A neutral() { return highest<A>(); }
  static MLX_FN R combine(R a, R b) { return smaller(a, b); }
  static MLX_FN R ordered(R a, R b)
    requires is_float_v<A>
  {
    return v_min(a, b);
  }
};
}  // namespace

Reducer find_min(Dtype::Val t) { return extreme<Min>(t); }

}  // namespace mlx::core::cpu::MLX_ISA
