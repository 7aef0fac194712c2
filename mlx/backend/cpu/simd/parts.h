// The first bytes of a 16-byte register, where a processor has no masked accesses of bytes. A
// register that is loaded from bytes that were stored one by one waits for all of these stores.
#pragma once

#if defined(__SSE4_1__) && !defined(__AVX512F__)
#define MLX_PARTS_OF_REGISTERS 1

#include <immintrin.h>
#include <stdint.h>

#include "mlx/backend/math/base.h"

namespace mlx::core::cpu::MLX_ISA {

/// The first `count` bytes (0 <= count < 16) from memory, zeros in the rest.
MLX_FN __m128i load_bytes(const void* p, int64_t count) {
  const char* end = static_cast<const char*>(p) + count;
  __m128i x = _mm_setzero_si128();
  if (count & 1) x = _mm_cvtsi32_si128(static_cast<uint8_t>(*--end));
  if (count & 2) {
    uint16_t two;
    __builtin_memcpy(&two, end -= 2, 2);
    x = _mm_or_si128(_mm_slli_si128(x, 2), _mm_cvtsi32_si128(two));
  }
  if (count & 4) {
    int32_t four;
    __builtin_memcpy(&four, end -= 4, 4);
    x = _mm_or_si128(_mm_slli_si128(x, 4), _mm_cvtsi32_si128(four));
  }
  if (count & 8)
    x = _mm_or_si128(_mm_slli_si128(x, 8), _mm_loadl_epi64(static_cast<const __m128i*>(p)));
  return x;
}
/// Stores the first `count` bytes (0 <= count < 16).
MLX_FN void store_bytes(void* p, __m128i x, int64_t count) {
  char* to = static_cast<char*>(p);
  if (count & 8) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), x);
    x = _mm_srli_si128(x, 8);
    to += 8;
  }
  const uint64_t rest = static_cast<uint64_t>(_mm_cvtsi128_si64(x));
  if (count & 4) __builtin_memcpy(to, &rest, 4);
  const uint32_t last = static_cast<uint32_t>(count & 4 ? rest >> 32 : rest);
  if (count & 4) to += 4;
  if (count & 2) __builtin_memcpy(to, &last, 2);
  if (count & 1) to[count & 2] = static_cast<char>(count & 2 ? last >> 16 : last);
}

}  // namespace mlx::core::cpu::MLX_ISA
#endif
