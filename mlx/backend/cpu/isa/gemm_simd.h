// Vector primitives of the matrix kernels: 32-bit lanes of the instruction set being compiled. All
// functions are static, so that code compiled for a wide set is never shared with a narrower one.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "mlx/backend/cpu/simd/shuffle.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define MLX_INLINE static inline __attribute__((always_inline))

namespace mlx::core::cpu::MLX_ISA {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float F32 __attribute__((vector_size(4 * kLanes)));
typedef uint32_t U32 __attribute__((vector_size(4 * kLanes)));
typedef int32_t I32 __attribute__((vector_size(4 * kLanes)));
typedef uint16_t U16 __attribute__((vector_size(2 * kLanes)));

MLX_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

template <class V>
MLX_INLINE V load(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}

template <class V>
MLX_INLINE void store(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

#if defined(__ARM_NEON)
// The first n <= 4 elements, by moves instead of a call.
template <int Bytes>
MLX_INLINE void copy_n(void* to, const void* from, int64_t n) {
  auto* t = static_cast<unsigned char*>(to);
  const auto* f = static_cast<const unsigned char*>(from);
  if (n & 4) __builtin_memcpy(t, f, 4 * Bytes);
  if (n & 2) __builtin_memcpy(t, f, 2 * Bytes);
  if (n & 1) __builtin_memcpy(t + (n - 1) * Bytes, f + (n - 1) * Bytes, Bytes);
}
#endif

// The first n <= kLanes lanes, followed by zeros; accesses no other memory.
template <class V>
MLX_INLINE V load_n(const void* p, int64_t n) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << n) - 1);
  if constexpr (sizeof(V) == 64) {
    return (V)_mm512_maskz_loadu_epi32(mask, p);
  } else {
    return (V)_mm256_maskz_loadu_epi16(mask, p);
  }
#elif defined(__ARM_NEON)
  V v{};
  copy_n<sizeof(V) / kLanes>(&v, p, n);
  return v;
#else
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
    return (V)_mm256_maskload_epi32(static_cast<const int*>(p), mask);
  }
#endif
  V v{};
  __builtin_memcpy(&v, p, static_cast<size_t>(n) * (sizeof(V) / kLanes));
  return v;
#endif
}

template <class V>
MLX_INLINE void store_n(void* p, V v, int64_t n) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << n) - 1);
  if constexpr (sizeof(V) == 64) {
    _mm512_mask_storeu_epi32(p, mask, (__m512i)v);
  } else {
    _mm256_mask_storeu_epi16(p, mask, (__m256i)v);
  }
#elif defined(__ARM_NEON)
  copy_n<sizeof(V) / kLanes>(p, &v, n);
#else
  __builtin_memcpy(p, &v, static_cast<size_t>(n) * (sizeof(V) / kLanes));
#endif
}

MLX_INLINE F32 broadcast(float x) { return x - F32{}; }

// a * b + c; without FMA the product is rounded first.
MLX_INLINE F32 multiply_add(F32 a, F32 b, F32 c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__ARM_NEON)
  return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

// Words with zeros in front, and the low halves of lanes. GCC makes several instructions of the
// builtin for AVX-512; the masked forms avoid a warning about undefined lanes.
MLX_INLINE U32 widened(U16 h) {
#if defined(__AVX512F__)
  return (U32)_mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)h);
#else
  return __builtin_convertvector(h, U32);
#endif
}
MLX_INLINE U16 low_words(U32 x) {
#if defined(__AVX512F__)
  return (U16)_mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)x);
#else
  return __builtin_convertvector(x, U16);
#endif
}

MLX_INLINE F32 from_bf16(U16 h) { return (F32)(widened(h) << 16); }

MLX_INLINE U16 to_bf16(F32 x) {
  const U32 u = (U32)x;
  const U32 rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  const U32 quiet = (u >> 16) | 0x40;
  const U32 is_nan = (U32)((u & 0x7fffffff) > 0x7f800000);
  return low_words((quiet & is_nan) | (rounded & ~is_nan));
}

#if defined(__AVX512F__)
MLX_INLINE F32 from_f16(U16 h) { return _mm512_maskz_cvtph_ps(0xffff, (__m256i)h); }
MLX_INLINE U16 to_f16(F32 x) {
  return (U16)_mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#elif defined(__F16C__)
MLX_INLINE F32 from_f16(U16 h) { return _mm256_cvtph_ps((__m128i)h); }
MLX_INLINE U16 to_f16(F32 x) {
  return (U16)_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#elif defined(__ARM_NEON)
MLX_INLINE F32 from_f16(U16 h) { return (F32)vcvt_f32_f16((float16x4_t)h); }
MLX_INLINE U16 to_f16(F32 x) { return (U16)vcvt_f16_f32((float32x4_t)x); }
#else
// The exponent is changed by a multiplication, which is correct for subnormal numbers.
MLX_INLINE F32 from_f16(U16 h) {
  const U32 u = __builtin_convertvector(h, U32);
  const U32 magnitude = (U32)((F32)((u & 0x7fff) << 13) * 0x1p112f);
  const U32 special = (U32)((u & 0x7c00) == 0x7c00);
  return (F32)(magnitude | (special & 0x7f800000) | ((u & 0x8000) << 16));
}
// Adding a power of two rounds at the right bit: 2^13 times the number, or that of the smallest
// subnormal number.
MLX_INLINE U16 to_f16(F32 x) {
  const U32 u = (U32)x;
  const U32 magnitude = u & 0x7fffffff;
  const U32 rounded = (magnitude + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  const U32 small = (U32)((F32)magnitude + 0.5f) - 0x3f000000u;
  const U32 is_small = (U32)(magnitude < 0x38800000u);
  const U32 is_large = (U32)(magnitude >= 0x47800000u);
  const U32 is_nan = (U32)(magnitude > 0x7f800000u);
  const U32 nan = 0x7e00u | ((magnitude >> 13) & 0x3ff);
  U32 h = (small & is_small) | ((rounded - 0x1c000u) & ~is_small);
  h = (h & ~is_large) | (is_large & 0x7c00u);
  h = (h & ~is_nan) | (is_nan & nan);
  return __builtin_convertvector(h | ((u >> 16) & 0x8000), U16);
}
#endif

// Sum of the lanes, halves first.
template <int Half = kLanes / 2>
MLX_INLINE float sum_lanes(F32 v) {
  v += shuffle_lanes<kLanes>(v, v, [](int l) { return l ^ Half; });
  if constexpr (Half > 1) return sum_lanes<Half / 2>(v);
  return v[0];
}

// Transposes a square of kLanes x kLanes by exchanging blocks of decreasing size.
template <int D = kLanes / 2>
MLX_INLINE void transpose(U32 (&row)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & D) == 0) {
      const U32 a = row[i], b = row[i + D];
      row[i] = shuffle_lanes<kLanes>(a, b, [](int l) { return l & D ? kLanes + l - D : l; });
      row[i + D] = shuffle_lanes<kLanes>(a, b, [](int l) { return l & D ? kLanes + l : l + D; });
    }
  }
  if constexpr (D > 1) transpose<D / 2>(row);
}

}  // namespace mlx::core::cpu::MLX_ISA
