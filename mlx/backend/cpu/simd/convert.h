// 16-bit floats, predicates and element types in vector code: how each dtype is loaded into its
// computation type, and stored again with one rounding to nearest even.
#pragma once

#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {

/// VF::N 16-bit words, zero-extended, and the low halves of the lanes back.
MLX_FN VI v_load_words(const uint16_t* p) {
#if defined(__AVX512F__)
  return VI((Raw<int32_t>)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)));
#elif defined(__AVX2__)
  return VI((Raw<int32_t>)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p)));
#elif defined(__SSE4_1__)
  return VI((Raw<int32_t>)_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i*)p)));
#elif defined(__ARM_NEON)
  return VI((Raw<int32_t>)vmovl_u16(vld1_u16(p)));
#else
  Raw<uint16_t, kVectorBytes / 2> words;
  __builtin_memcpy(&words, p, sizeof(words));
  return VI(__builtin_convertvector(words, Raw<int32_t>));
#endif
}
MLX_FN void v_store_words(uint16_t* p, VI x) {
#if defined(__AVX512F__)
  _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16((__m512i)x.v));
#elif defined(__AVX2__)
  __m256i packed = _mm256_packus_epi32((__m256i)x.v, (__m256i)x.v);
  packed = _mm256_permute4x64_epi64(packed, 0x08);
  _mm_storeu_si128((__m128i*)p, _mm256_castsi256_si128(packed));
#elif defined(__SSE4_1__)
  _mm_storel_epi64((__m128i*)p, _mm_packus_epi32((__m128i)x.v, (__m128i)x.v));
#elif defined(__ARM_NEON)
  vst1_u16(p, vmovn_u32((uint32x4_t)x.v));
#else
  auto words = __builtin_convertvector(x.v, Raw<uint16_t, kVectorBytes / 2>);
  __builtin_memcpy(p, &words, sizeof(words));
#endif
}

/// Two registers side by side: a pack of both takes as long as one of each.
MLX_FN void v_store_words(uint16_t* p, VI low, VI high) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  const __m256i packed = _mm256_packus_epi32((__m256i)low.v, (__m256i)high.v);
  _mm256_storeu_si256((__m256i*)p, _mm256_permute4x64_epi64(packed, 0xd8));
#elif defined(MLX_PARTS_OF_REGISTERS)
  _mm_storeu_si128((__m128i*)p, _mm_packus_epi32((__m128i)low.v, (__m128i)high.v));
#else
  v_store_words(p, low);
  v_store_words(p + VI::N, high);
#endif
}

/// bfloat16 is the upper half of a float.
MLX_FN VF v_load_bf16(const uint16_t* p) { return v_from_bits<VF>(v_load_words(p) << 16); }
// With integer operations on every target: the AVX-512 BF16 instruction flushes subnormals.
MLX_FN void v_store_bf16(uint16_t* p, VF x) {
  VI bits = v_bits(x), top = v_shift_right_logical(bits, 16);
  VI rounded = v_shift_right_logical(bits + VI(0x7fff) + (top & VI(1)), 16);
  v_store_words(p, v_select(x == x, rounded, top | VI(0x40)));
}

MLX_FN VF v_load_f16(const uint16_t* p) {
#if defined(__AVX512F__)
  return VF((Raw<float>)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)));
#elif defined(__F16C__)
  return VF((Raw<float>)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)));
#elif defined(__ARM_NEON)
  return VF((Raw<float>)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))));
#else
  VI half = v_load_words(p), rest = (half & VI(0x7fff)) << 13;
  VF value = v_from_bits<VF>(rest) * VF(0x1p112f);  // rebiases, also for subnormals
  VI special = v_bits(value) | VI(0x7f800000);
  VI magnitude = v_select(rest > VI(0x0f7fffff), special, v_bits(value));
  return v_from_bits<VF>(magnitude | ((half & VI(0x8000)) << 16));
#endif
}
MLX_FN void v_store_f16(uint16_t* p, VF x) {
#if defined(__AVX512F__)
  _mm256_storeu_si256((__m256i*)p, _mm512_cvtps_ph((__m512)x.v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
  _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph((__m256)x.v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__ARM_NEON)
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)x.v)));
#else
  VI bits = v_bits(v_abs(x)), odd = v_shift_right_logical(bits, 13) & VI(1);
  VI normal = v_shift_right_logical(bits + VI(0xfff - (112 << 23)) + odd, 13);
  VI subnormal = v_bits(v_abs(x) + VF(0.5f)) - VI(0x3f000000);  // the sum rounds at 2^-24
  VI r = v_select(bits < VI(0x38800000), subnormal, normal);
  r = v_select(bits > VI(0x477fefff), VI(0x7c00), r);
  VI nan = (v_shift_right_logical(bits, 13) & VI(0x3ff)) | VI(0x7e00);
  r = v_select(bits > VI(0x7f800000), nan, r);
  v_store_words(p, r | (v_shift_right_logical(v_bits(x), 16) & VI(0x8000)));
#endif
}

/// A predicate as bytes 0 and 1, one per lane.
template <int S>
MLX_FN void v_store_bools(uint8_t* p, Mask<S> m) {
  constexpr int N = kVectorBytes / S;
#if defined(__AVX512F__)
  __m128i bytes = _mm_maskz_set1_epi8(m.m, 1);
  if constexpr (N == 16) {
    _mm_storeu_si128((__m128i*)p, bytes);
  } else {
    _mm_storel_epi64((__m128i*)p, bytes);
  }
#elif defined(__SSE4_1__)
  __m128i low, high;
#if defined(__AVX2__)
  low = _mm256_castsi256_si128((__m256i)m.m);
  high = _mm256_extracti128_si256((__m256i)m.m, 1);
#else
  low = high = (__m128i)m.m;
#endif
  __m128i words;  // of 32 bits, then of 16
  if constexpr (S == 8) {
    words = (__m128i)_mm_shuffle_ps((__m128)low, (__m128)high, 0x88);
    words = _mm_packs_epi32(words, words);
  } else {
    words = _mm_packs_epi32(low, high);
  }
  __m128i bytes = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
  __builtin_memcpy(p, &bytes, N);
#elif defined(__ARM_NEON)
  uint16x4_t words;
  if constexpr (S == 8) {
    const uint32x2_t halves = vmovn_u64((uint64x2_t)m.m);
    words = vmovn_u32(vcombine_u32(halves, halves));
  } else {
    words = vmovn_u32((uint32x4_t)m.m);
  }
  const uint8x8_t bytes = vand_u8(vmovn_u16(vcombine_u16(words, words)), vdup_n_u8(1));
  __builtin_memcpy(p, &bytes, N);
#else
  auto bytes = __builtin_convertvector(m.m & 1, Raw<uint8_t, N>);
  __builtin_memcpy(p, &bytes, N);
#endif
}

// How the elements of a dtype are stored (S) and computed (V). `Kernel` code is written over these.
struct Float32 {
  using S = float;
  using V = VF;
  MLX_FN static V load(const S* p) { return V::load(p); }
  MLX_FN static void store(S* p, V x) { x.store(p); }
};
struct Float64 {
  using S = double;
  using V = VD;
  MLX_FN static V load(const S* p) { return V::load(p); }
  MLX_FN static void store(S* p, V x) { x.store(p); }
};
struct Float16 {
  using S = uint16_t;
  using V = VF;
  MLX_FN static V load(const S* p) { return v_load_f16(p); }
  MLX_FN static void store(S* p, V x) { v_store_f16(p, x); }
};
struct Bfloat16 {
  using S = uint16_t;
  using V = VF;
  MLX_FN static V load(const S* p) { return v_load_bf16(p); }
  MLX_FN static void store(S* p, V x) { v_store_bf16(p, x); }
};

/// The first `n` 16-bit words (0 < n < N), zeros in the rest; accesses no memory beyond.
MLX_FN void load_words(const uint16_t* p, int64_t n, uint16_t (&to)[VF::N]) {
#if defined(__AVX512BW__)
  const auto all = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p);
  __builtin_memcpy(to, &all, sizeof(to));
#elif defined(MLX_PARTS_OF_REGISTERS)
  const __m128i all = load_bytes(p, 2 * n);
  __builtin_memcpy(to, &all, sizeof(to));
#else
  for (int64_t i = 0; i < VF::N; ++i) to[i] = i < n ? p[i] : 0;
#endif
}
MLX_FN void store_words(uint16_t* p, int64_t n, const uint16_t (&from)[VF::N]) {
#if defined(__AVX512BW__)
  __m256i all;
  __builtin_memcpy(&all, from, sizeof(from));
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << n) - 1), all);
#elif defined(MLX_PARTS_OF_REGISTERS)
  __m128i all{};
  __builtin_memcpy(&all, from, sizeof(from));
  store_bytes(p, all, 2 * n);
#else
  for (int64_t i = 0; i < n; ++i) p[i] = from[i];
#endif
}

/// The first n elements (0 < n <= V::N), zeros in the other lanes; accesses no memory beyond them.
template <class A>
MLX_FN typename A::V load_some(const typename A::S* p, int64_t n) {
  using V = typename A::V;
  if (n == V::N) return A::load(p);
  if constexpr (sizeof(typename A::S) >= 4) {
    return V::load_partial(p, n);
  } else {
    uint16_t padded[VF::N];
    load_words(p, n, padded);
    return A::load(padded);
  }
}
template <class A>
MLX_FN void store_some(typename A::S* p, typename A::V x, int64_t n) {
  using V = typename A::V;
  if (n == V::N) return A::store(p, x);
  if constexpr (sizeof(typename A::S) >= 4) {
    x.store_partial(p, n);
  } else {
    uint16_t padded[VF::N];
    A::store(padded, x);
    store_words(p, n, padded);
  }
}
template <int S>
MLX_FN void store_bools_some(uint8_t* p, Mask<S> m, int64_t n) {
  constexpr int N = kVectorBytes / S;
  if (n == N) return v_store_bools(p, m);
  uint8_t padded[N];
  v_store_bools(padded, m);
  for (int64_t i = 0; i < n; ++i) p[i] = padded[i];
}

}  // namespace mlx::core::cpu::MLX_ISA
