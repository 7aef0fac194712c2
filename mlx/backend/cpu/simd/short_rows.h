// Rows that are shorter than a register: as many as a register has lanes are transposed, so that a
// register holds one element of each. Compiled once per instruction set.
#pragma once

#include "mlx/backend/cpu/simd/shuffle.h"

namespace mlx::core::cpu::MLX_ISA {

/// Exchanges the blocks of D lanes of two registers that a transposition exchanges.
template <int N, int D, class R>
MLX_FN void exchange(R& a, R& b) {
  const R x = a, y = b;
  a = shuffle_lanes<N>(x, y, [](int l) { return l & D ? N + l - D : l; });
  b = shuffle_lanes<N>(x, y, [](int l) { return l & D ? N + l : l + D; });
}

/// Transposes N registers of Few elements, zeros after them, into the first Few registers.
template <int N, int Few, int D = N / 2, class R>
MLX_FN void to_lanes(R* row) {
  if constexpr (D >= Few) {
#pragma GCC unroll 16
    for (int i = 0; i < D; ++i)
      row[i] = shuffle_lanes<N>(row[i], row[i + D], [](int l) { return l & D ? N + l - D : l; });
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < Few; ++i)
      if (!(i & D)) exchange<N, D>(row[i], row[i + D]);
  }
  if constexpr (D > 1) to_lanes<N, Few, D / 2>(row);
}

/// The inverse; elements after the first Few of a register have any value.
template <int N, int Few, int D = 1, class R>
MLX_FN void from_lanes(R* row) {
  if constexpr (D >= Few) {
#pragma GCC unroll 16
    for (int i = 0; i < D; ++i)
      row[i + D] = shuffle_lanes<N>(row[i], row[i], [](int l) { return (l + D) % N; });
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < Few; ++i)
      if (!(i & D)) exchange<N, D>(row[i], row[i + D]);
  }
  if constexpr (2 * D < N) from_lanes<N, Few, 2 * D>(row);
}

/// f.operator()<Few>() with a power of two from 4 on, or N, that is not below `few`.
template <int N, class F>
MLX_FN void for_few(int64_t few, F f) {
  if (N > 4 && few <= 4)
    f.template operator()<(N < 4 ? N : 4)>();
  else if (N > 8 && few <= 8)
    f.template operator()<(N < 8 ? N : 8)>();
  else
    f.template operator()<N>();
}

/// Sum of the first `used` of N sums, or of all, halves first; the others are zero.
template <int N, class V>
MLX_FN V sum_halves(V* t, int64_t used) {
  if (used > N) used = N;
  for (int64_t half = N / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i + half < used; ++i) t[i] = t[i] + t[i + half];
    if (used > half) used = half;
  }
  return t[0];
}

}  // namespace mlx::core::cpu::MLX_ISA
