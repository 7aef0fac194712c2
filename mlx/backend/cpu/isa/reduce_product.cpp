// Products.
#include "mlx/backend/cpu/isa/reduce_kernel.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

template <class T_, class A_>
struct Prod : Sum<T_, A_> {
  using typename Sum<T_, A_>::A;
  using typename Sum<T_, A_>::R;
  static MLX_FN A neutral() {
    if constexpr (is_packed_v<A>)
      return {1, 0};
    else
      return A(1);
  }
  static MLX_FN R combine(R a, R b) { return a * b; }
};
}  // namespace

Reducer find_product(Dtype::Val t) { return numeric<Prod>(t); }

}  // namespace mlx::core::cpu::MLX_ISA
