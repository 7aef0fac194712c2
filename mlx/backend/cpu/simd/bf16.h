// The processor's conversion to bfloat16, which AVX-512 alone does not imply.
#pragma once

#include "mlx/backend/cpu/simd/convert.h"

namespace mlx::core::cpu::MLX_ISA {

/// True if the processor converts to bfloat16: some with AVX-512 do not.
inline bool converts_to_bf16() {
#if defined(__AVX512BF16__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

#if defined(__AVX512BF16__)
/// Stores two registers by that conversion, unless one of them holds a subnormal number, which it
/// would flush; returns whether it stored them.
MLX_FN bool store_converted(uint16_t* to, __m512 low, __m512 high) {
  constexpr int kSubnormal = 1 << 5;
  const __mmask16 lows = _mm512_fpclass_ps_mask(low, kSubnormal);
  const __mmask16 highs = _mm512_fpclass_ps_mask(high, kSubnormal);
  if ((lows | highs) != 0) return false;
  _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(high, low));
  return true;
}
#endif

/// Stores two registers side by side, rounded as `A::store` rounds. `kConverts`: A is bfloat16, to
/// which the processor converts.
template <class A, bool kConverts>
MLX_FN void store_pair(typename A::S* to, typename A::V low, typename A::V high) {
#if defined(__AVX512BF16__)
  if constexpr (kConverts)
    if (store_converted(to, (__m512)low.v, (__m512)high.v)) return;
#endif
  A::store(to, low);
  A::store(to + A::V::N, high);
}

}  // namespace mlx::core::cpu::MLX_ISA
