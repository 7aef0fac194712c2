// Lanes of registers in an order that is known when this is compiled. Compilers choose the
// instruction. Compiled once per instruction set.
#pragma once

#include "mlx/backend/math/base.h"

namespace mlx::core::cpu::MLX_ISA {

namespace detail {
template <int... I>
struct Lanes {};
template <int N, int... I>
struct LanesUpTo : LanesUpTo<N - 1, N - 1, I...> {};
template <int... I>
struct LanesUpTo<0, I...> {
  using type = Lanes<I...>;
};
template <class V, class F, int... I>
MLX_FN V shuffle_lanes(V a, V b, F f, Lanes<I...>) {
  return __builtin_shufflevector(a, b, f(I)...);
}
}  // namespace detail

/// Lane i of the result is lane f(i) of (a, b). `f` is a lambda without captures.
template <int N, class V, class F>
MLX_FN V shuffle_lanes(V a, V b, F f) {
  return detail::shuffle_lanes(a, b, f, typename detail::LanesUpTo<N>::type{});
}

}  // namespace mlx::core::cpu::MLX_ISA
