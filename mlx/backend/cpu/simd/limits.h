// The smallest and the largest value of an element type, the initial values of maxima and minima.
// Included by files that are compiled once per instruction set.
#pragma once

#include "mlx/backend/cpu/simd/lanes.h"

namespace mlx::core::cpu::MLX_ISA {

template <class A>
MLX_FN A highest() {
  if constexpr (is_complex_v<A>)
    return {__builtin_inff(), __builtin_inff()};
  else if constexpr (is_float_v<A>)
    return __builtin_inff();
  else if constexpr (__is_same(A, bool))
    return true;
  else if constexpr (A(-1) > A(0))
    return A(-1);
  else
    return A((uint64_t(1) << (8 * sizeof(A) - 1)) - 1);
}
template <class A>
MLX_FN A lowest() {
  if constexpr (is_complex_v<A>)
    return {-__builtin_inff(), -__builtin_inff()};
  else if constexpr (is_float_v<A>)
    return -__builtin_inff();
  else if constexpr (__is_same(A, bool))
    return false;
  else
    return A(uint64_t(highest<A>()) + 1);  // wraps to 0 or to the most negative number
}

}  // namespace mlx::core::cpu::MLX_ISA
