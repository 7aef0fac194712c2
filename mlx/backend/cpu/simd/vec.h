// Vector primitives: Vec<T> (one register of T), Mask<S> (a truth value per lane of S bytes) and
// the functions that math and kernels are written in. Compiled once per instruction set with that
// set's flags and -DMLX_ISA=<name>; everything is in mlx::core::cpu::MLX_ISA and is inlined, so
// that code compiled for a wide instruction set is never linked into baseline code. Another target
// is one more branch in the "target" block; functions that a target leaves out fall back to vector
// extensions.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/simd/parts.h"
#include "mlx/backend/math/base.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#ifndef MLX_ISA
#error "compile with -DMLX_ISA=<instruction set>"
#endif

// Target block: register width, prefix of the intrinsics, features.
#if defined(__AVX512F__)
#define MLX_VECTOR_BYTES 64
#define MLX_MM(f) _mm512_##f
#define MLX_VECTOR_FMA 1
#elif defined(__AVX2__)
#define MLX_VECTOR_BYTES 32
#define MLX_MM(f) _mm256_##f
#define MLX_VECTOR_FMA 1
#else
#define MLX_VECTOR_BYTES 16
#if defined(__SSE4_1__)
#define MLX_MM(f) _mm_##f
#endif
#if defined(__ARM_NEON)
#define MLX_VECTOR_FMA 1
#else
#define MLX_VECTOR_FMA 0
#endif
#endif

namespace mlx::core::cpu::MLX_ISA {

inline constexpr int kVectorBytes = MLX_VECTOR_BYTES;
inline constexpr bool kHasFma = MLX_VECTOR_FMA;

template <class T, int Bytes = kVectorBytes>
struct RawOf {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T, int Bytes = kVectorBytes>
using Raw = typename RawOf<T, Bytes>::type;

template <int Bytes>
struct IntOf;
template <>
struct IntOf<4> {
  using type = int32_t;
};
template <>
struct IntOf<8> {
  using type = int64_t;
};

/// A truth value per lane of `S` bytes: a predicate register, or all-ones lanes.
template <int S>
struct Mask {
#if defined(__AVX512F__)
  uint16_t m;  // 16 or 8 lanes
  static constexpr uint16_t kAll = S == 4 ? 0xffff : 0xff;
  MLX_FN friend Mask operator&(Mask a, Mask b) { return {static_cast<uint16_t>(a.m & b.m)}; }
  MLX_FN friend Mask operator|(Mask a, Mask b) { return {static_cast<uint16_t>(a.m | b.m)}; }
  MLX_FN friend Mask operator^(Mask a, Mask b) { return {static_cast<uint16_t>(a.m ^ b.m)}; }
  MLX_FN friend Mask operator!(Mask a) { return {static_cast<uint16_t>(a.m ^ kAll)}; }
#else
  Raw<typename IntOf<S>::type> m;
  MLX_FN friend Mask operator&(Mask a, Mask b) { return {a.m & b.m}; }
  MLX_FN friend Mask operator|(Mask a, Mask b) { return {a.m | b.m}; }
  MLX_FN friend Mask operator^(Mask a, Mask b) { return {a.m ^ b.m}; }
  MLX_FN friend Mask operator!(Mask a) { return {~a.m}; }
#endif
};

/// True if some lane is true.
template <int S>
MLX_FN bool v_any(Mask<S> x) {
#if defined(__AVX512F__)
  return x.m != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)x.m, (__m256i)x.m);
#elif defined(__SSE4_1__)
  return !_mm_testz_si128((__m128i)x.m, (__m128i)x.m);
#elif defined(__ARM_NEON)
  return vmaxvq_u32((uint32x4_t)x.m) != 0;
#else
  Raw<int64_t> w = (Raw<int64_t>)x.m;
  return (w[0] | w[1]) != 0;
#endif
}

/// One register of T: float, double, or 32- or 64-bit integers.
template <class T>
struct Vec {
  using elem = T;
  using Mask = MLX_ISA::Mask<sizeof(T)>;
  using Int = Vec<typename IntOf<sizeof(T)>::type>;
  static constexpr int N = kVectorBytes / sizeof(T);
  static constexpr bool has_fma = kHasFma;

  Raw<T> v;

  Vec() = default;
  MLX_FN Vec(T s) : v(s - Raw<T>{}) {}  // subtracting zero keeps -0.0
  MLX_FN explicit Vec(Raw<T> r) : v(r) {}

  MLX_FN static Vec load(const T* p) {
    Vec r;
    __builtin_memcpy(&r.v, p, sizeof(r.v));
    return r;
  }
  MLX_FN void store(T* p) const { __builtin_memcpy(p, &v, sizeof(v)); }
  /// Non-temporal store; `p` is aligned to the register size.
  MLX_FN void stream(T* p) const {
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i*)p, (__m512i)v);
#elif defined(__AVX2__)
    _mm256_stream_si256((__m256i*)p, (__m256i)v);
#elif defined(__SSE4_1__)
    _mm_stream_si128((__m128i*)p, (__m128i)v);
#else
    store(p);
#endif
  }
  /// True in the first `n` lanes, 0 <= n < N.
  MLX_FN static Mask first_lanes(int64_t n) {
#if defined(__AVX512F__)
    return {static_cast<uint16_t>((1u << n) - 1)};
#else
    using I = typename IntOf<sizeof(T)>::type;
    Raw<I> lane;
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) lane[i] = i;
    return {lane < static_cast<I>(n) - Raw<I>{}};
#endif
  }
  /// The first `n` lanes (0 < n < N) from memory, zeros in the rest; accesses no memory beyond.
  MLX_FN static Vec load_partial(const T* p, int64_t n) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
      return Vec((Raw<T>)_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << n) - 1), p));
    } else {
      return Vec((Raw<T>)_mm512_maskz_loadu_epi64(static_cast<__mmask8>((1u << n) - 1), p));
    }
#elif defined(__ARM_NEON)
    if constexpr (sizeof(T) == 4) {
      const auto* q = reinterpret_cast<const uint32_t*>(p);
      uint32x2_t low = n == 1 ? vld1_lane_u32(q, vdup_n_u32(0), 0) : vld1_u32(q);
      uint32x2_t high = vdup_n_u32(0);
      if (n == 3) high = vld1_lane_u32(q + 2, high, 0);
      return Vec((Raw<T>)vcombine_u32(low, high));
    } else {
      const auto* q = reinterpret_cast<const uint64_t*>(p);
      return Vec((Raw<T>)vcombine_u64(vld1_u64(q), vcreate_u64(0)));
    }
#elif defined(__AVX2__)
    const auto mask = (__m256i)first_lanes(n).m;
    if constexpr (sizeof(T) == 4)
      return Vec((Raw<T>)_mm256_maskload_epi32(reinterpret_cast<const int*>(p), mask));
    else
      return Vec((Raw<T>)_mm256_maskload_epi64(reinterpret_cast<const long long*>(p), mask));
#elif defined(__SSE4_1__)
    return Vec((Raw<T>)load_bytes(p, n * static_cast<int64_t>(sizeof(T))));
#else
    Vec r(Raw<T>{});
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(&r.v)[i] = p[i];
    return r;
#endif
  }
  MLX_FN void store_partial(T* p, int64_t n) const {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
      _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << n) - 1), (__m512i)v);
    } else {
      _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1u << n) - 1), (__m512i)v);
    }
#elif defined(__ARM_NEON)
    if constexpr (sizeof(T) == 4) {
      auto* q = reinterpret_cast<uint32_t*>(p);
      const auto lanes = (uint32x4_t)v;
      if (n == 1)
        vst1q_lane_u32(q, lanes, 0);
      else
        vst1_u32(q, vget_low_u32(lanes));
      if (n == 3) vst1q_lane_u32(q + 2, lanes, 2);
    } else {
      vst1q_lane_u64(reinterpret_cast<uint64_t*>(p), (uint64x2_t)v, 0);
    }
#elif defined(__AVX2__)
    // By parts: masked stores are slow on processors of AMD.
    constexpr int64_t kHalf = N / 2;
    auto part = _mm256_castsi256_si128((__m256i)v);
    if (n >= kHalf) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), part);
      part = _mm256_extracti128_si256((__m256i)v, 1);
      p += kHalf;
      n -= kHalf;
    }
    store_bytes(p, part, n * static_cast<int64_t>(sizeof(T)));
#elif defined(__SSE4_1__)
    store_bytes(p, (__m128i)v, n * static_cast<int64_t>(sizeof(T)));
#else
    for (int64_t i = 0; i < n; ++i) p[i] = reinterpret_cast<const T*>(&v)[i];
#endif
  }

#define MLX_VEC_OPERATOR(op) \
  MLX_FN friend Vec operator op(Vec a, Vec b) { return Vec(a.v op b.v); }
  MLX_VEC_OPERATOR(+)
  MLX_VEC_OPERATOR(-)
  MLX_FN friend Vec operator*(Vec a, Vec b) {
#if defined(__ARM_NEON)
    // Products of 64-bit lanes are missing: the products of their halves are added.
    if constexpr (sizeof(T) == 8 && !__is_same(T, double)) {
      const auto x = (uint64x2_t)a.v, y = (uint64x2_t)b.v;
      const uint32x4_t crosswise = vmulq_u32((uint32x4_t)x, vrev64q_u32((uint32x4_t)y));
      const uint64x2_t high = vshlq_n_u64(vpaddlq_u32(crosswise), 32);
      return Vec((Raw<T>)vmlal_u32(high, vmovn_u64(x), vmovn_u64(y)));
    }
#endif
    return Vec(a.v * b.v);
  }
  MLX_VEC_OPERATOR(/)
  MLX_VEC_OPERATOR(&)
  MLX_VEC_OPERATOR(|)
  MLX_VEC_OPERATOR(^)
#undef MLX_VEC_OPERATOR
  MLX_FN friend Vec operator-(Vec a) { return Vec(-a.v); }
  MLX_FN friend Vec operator<<(Vec a, int n) { return Vec(a.v << n); }
  MLX_FN friend Vec operator>>(Vec a, int n) { return Vec(a.v >> n); }  // arithmetic if signed
  MLX_FN Vec& operator+=(Vec b) { return *this = *this + b; }
  MLX_FN Vec& operator-=(Vec b) { return *this = *this - b; }
  MLX_FN Vec& operator*=(Vec b) { return *this = *this * b; }

#if defined(__AVX512F__)
  template <int Float, int Integer>
  MLX_FN static Mask compare(Vec a, Vec b) {
    if constexpr (__is_same(T, float)) {
      return {_mm512_cmp_ps_mask((__m512)a.v, (__m512)b.v, Float)};
    } else if constexpr (__is_same(T, double)) {
      return {_mm512_cmp_pd_mask((__m512d)a.v, (__m512d)b.v, Float)};
    } else if constexpr (sizeof(T) == 4) {
      if constexpr (T(-1) < T(0))
        return {_mm512_cmp_epi32_mask((__m512i)a.v, (__m512i)b.v, Integer)};
      return {_mm512_cmp_epu32_mask((__m512i)a.v, (__m512i)b.v, Integer)};
    } else {
      if constexpr (T(-1) < T(0))
        return {_mm512_cmp_epi64_mask((__m512i)a.v, (__m512i)b.v, Integer)};
      return {_mm512_cmp_epu64_mask((__m512i)a.v, (__m512i)b.v, Integer)};
    }
  }
#define MLX_VEC_COMPARE(op, fp, integer) \
  MLX_FN friend Mask operator op(Vec a, Vec b) { return compare<fp, integer>(a, b); }
#else
#define MLX_VEC_COMPARE(op, fp, integer) \
  MLX_FN friend Mask operator op(Vec a, Vec b) { return {a.v op b.v}; }
#endif
  MLX_VEC_COMPARE(==, _CMP_EQ_OQ, _MM_CMPINT_EQ)
  MLX_VEC_COMPARE(!=, _CMP_NEQ_UQ, _MM_CMPINT_NE)
  MLX_VEC_COMPARE(<, _CMP_LT_OQ, _MM_CMPINT_LT)
  MLX_VEC_COMPARE(<=, _CMP_LE_OQ, _MM_CMPINT_LE)
  MLX_VEC_COMPARE(>, _CMP_GT_OQ, _MM_CMPINT_NLE)
  MLX_VEC_COMPARE(>=, _CMP_GE_OQ, _MM_CMPINT_NLT)
#undef MLX_VEC_COMPARE
};

/// Per lane: `m ? a : b`.
template <class T>
MLX_FN Vec<T> v_select(Mask<sizeof(T)> m, Vec<T> a, Vec<T> b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return Vec<T>((Raw<T>)_mm512_mask_blend_epi32(m.m, (__m512i)b.v, (__m512i)a.v));
  } else {
    return Vec<T>(
        (Raw<T>)_mm512_mask_blend_epi64(static_cast<__mmask8>(m.m), (__m512i)b.v, (__m512i)a.v));
  }
#elif defined(__ARM_NEON)
  return Vec<T>((Raw<T>)vbslq_u32((uint32x4_t)m.m, (uint32x4_t)a.v, (uint32x4_t)b.v));
#else
  return Vec<T>(m.m ? a.v : b.v);
#endif
}

using VF = Vec<float>;
using VD = Vec<double>;
using VI = Vec<int32_t>;
using VL = Vec<int64_t>;

/// The bits of a float vector as integers, and back.
template <class T>
MLX_FN typename Vec<T>::Int v_bits(Vec<T> x) {
  return typename Vec<T>::Int((Raw<typename IntOf<sizeof(T)>::type>)x.v);
}
template <class V>
MLX_FN V v_from_bits(typename V::Int x) {
  return V((Raw<typename V::elem>)x.v);
}

template <class T>
MLX_FN Vec<T> v_abs(Vec<T> x) {
  using V = Vec<T>;
  using I = typename IntOf<sizeof(T)>::type;
  constexpr I kRest = sizeof(T) == 4 ? I(0x7fffffff) : I(0x7fffffffffffffff);
  return v_from_bits<V>(v_bits(x) & typename V::Int(kRest));
}

/// The sign bit of x alone.
template <class T>
MLX_FN typename Vec<T>::Int v_sign_bits(Vec<T> x) {
  using V = Vec<T>;
  using I = typename IntOf<sizeof(T)>::type;
  constexpr I kSign = sizeof(T) == 4 ? I(0x80000000) : I(0x8000000000000000);
  return v_bits(x) & typename V::Int(kSign);
}
/// `magnitude` (not negative) with the sign of `sign`.
template <class T>
MLX_FN Vec<T> v_copysign(Vec<T> magnitude, Vec<T> sign) {
  return v_from_bits<Vec<T>>(v_bits(magnitude) | v_sign_bits(sign));
}
/// x with its sign flipped where `sign` is negative.
template <class T>
MLX_FN Vec<T> v_flip_sign(Vec<T> x, Vec<T> sign) {
  return v_from_bits<Vec<T>>(v_bits(x) ^ v_sign_bits(sign));
}

/// a * b + c, rounded once if the target has FMA, else twice.
template <class T>
MLX_FN Vec<T> v_fma(Vec<T> a, Vec<T> b, Vec<T> c) {
#if MLX_VECTOR_FMA && defined(MLX_MM)
  if constexpr (sizeof(T) == 4) {
    return Vec<T>((Raw<T>)MLX_MM(fmadd_ps)(a.v, b.v, c.v));
  } else {
    return Vec<T>((Raw<T>)MLX_MM(fmadd_pd)(a.v, b.v, c.v));
  }
#elif MLX_VECTOR_FMA && defined(__ARM_NEON)
  if constexpr (sizeof(T) == 4) {
    return Vec<T>((Raw<T>)vfmaq_f32((float32x4_t)c.v, (float32x4_t)a.v, (float32x4_t)b.v));
  } else {
    return Vec<T>((Raw<T>)vfmaq_f64((float64x2_t)c.v, (float64x2_t)a.v, (float64x2_t)b.v));
  }
#elif MLX_VECTOR_FMA
  Vec<T> r;
  for (int i = 0; i < Vec<T>::N; ++i) {
    if constexpr (sizeof(T) == 4) {
      r.v[i] = __builtin_fmaf(a.v[i], b.v[i], c.v[i]);
    } else {
      r.v[i] = __builtin_fma(a.v[i], b.v[i], c.v[i]);
    }
  }
  return r;
#else
  return a * b + c;
#endif
}

// Rounding, square root, and the x86 order of min and max (b where the two are unordered or equal).
#if defined(MLX_MM)
#if defined(__AVX512F__)
#define MLX_ROUND(s, x, mode) _mm512_roundscale_##s(x, mode)
#else
#define MLX_ROUND(s, x, mode) MLX_MM(round_##s)(x, mode)
#endif
#define MLX_VEC_UNARY(name, scalar, expr) \
  MLX_FN VF name(VF a) {                  \
    auto x = a.v;                         \
    return VF((Raw<float>)(expr(ps)));    \
  }                                       \
  MLX_FN VD name(VD a) {                  \
    auto x = a.v;                         \
    return VD((Raw<double>)(expr(pd)));   \
  }
#define MLX_SQRT(s) MLX_MM(sqrt_##s)(x)
#define MLX_RINT(s) MLX_ROUND(s, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define MLX_FLOOR(s) MLX_ROUND(s, x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define MLX_CEIL(s) MLX_ROUND(s, x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
#define MLX_TRUNC(s) MLX_ROUND(s, x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
MLX_FN VF v_min(VF a, VF b) { return VF((Raw<float>)MLX_MM(min_ps)(a.v, b.v)); }
MLX_FN VD v_min(VD a, VD b) { return VD((Raw<double>)MLX_MM(min_pd)(a.v, b.v)); }
MLX_FN VF v_max(VF a, VF b) { return VF((Raw<float>)MLX_MM(max_ps)(a.v, b.v)); }
MLX_FN VD v_max(VD a, VD b) { return VD((Raw<double>)MLX_MM(max_pd)(a.v, b.v)); }
#elif defined(__ARM_NEON)
#define MLX_VEC_UNARY(name, scalar, expr)                                      \
  MLX_FN VF name(VF a) { return VF((Raw<float>)expr(f32)((float32x4_t)a.v)); } \
  MLX_FN VD name(VD a) { return VD((Raw<double>)expr(f64)((float64x2_t)a.v)); }
#define MLX_SQRT(s) vsqrtq_##s
#define MLX_RINT(s) vrndnq_##s
#define MLX_FLOOR(s) vrndmq_##s
#define MLX_CEIL(s) vrndpq_##s
#define MLX_TRUNC(s) vrndq_##s
#else
#define MLX_VEC_UNARY(name, scalar, expr)       \
  template <class T>                            \
  MLX_FN Vec<T> name(Vec<T> a) {                \
    Vec<T> r;                                   \
    for (int i = 0; i < Vec<T>::N; ++i) {       \
      if constexpr (sizeof(T) == 4) {           \
        r.v[i] = __builtin_##scalar##f(a.v[i]); \
      } else {                                  \
        r.v[i] = __builtin_##scalar(a.v[i]);    \
      }                                         \
    }                                           \
    return r;                                   \
  }
#endif
#if !defined(MLX_MM)
template <class T>
MLX_FN Vec<T> v_min(Vec<T> a, Vec<T> b) {
  return v_select(a < b, a, b);
}
template <class T>
MLX_FN Vec<T> v_max(Vec<T> a, Vec<T> b) {
  return v_select(a > b, a, b);
}
#endif
MLX_VEC_UNARY(v_sqrt, sqrt, MLX_SQRT)
MLX_VEC_UNARY(v_rint, rint, MLX_RINT)
MLX_VEC_UNARY(v_floor, floor, MLX_FLOOR)
MLX_VEC_UNARY(v_ceil, ceil, MLX_CEIL)
MLX_VEC_UNARY(v_trunc, trunc, MLX_TRUNC)
#undef MLX_VEC_UNARY

/// Bits shifted right with zeros from the left.
template <class T>
MLX_FN Vec<T> v_shift_right_logical(Vec<T> x, int n) {
  if constexpr (sizeof(T) == 4) {
    return Vec<T>((Raw<T>)((Raw<uint32_t>)x.v >> n));
  } else {
    return Vec<T>((Raw<T>)((Raw<uint64_t>)x.v >> n));
  }
}

/// x * 2^n for integral n, |n| <= 252 (float) or 2044 (double), rounded once, also for subnormals.
template <class T>
MLX_FN Vec<T> v_scale(Vec<T> x, Vec<T> n) {
  using V = Vec<T>;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return V((Raw<T>)_mm512_scalef_ps((__m512)x.v, (__m512)n.v));
  } else {
    return V((Raw<T>)_mm512_scalef_pd((__m512d)x.v, (__m512d)n.v));
  }
#else
  constexpr T kNormal = sizeof(T) == 4 ? 126 : 1022;
  if (!v_any(v_abs(n) > V(kNormal))) return x * m::power_of_two(n);
  V half = v_floor(n * V(T(0.5)));  // in two halves: both factors are normal numbers
  return x * m::power_of_two(half) * m::power_of_two(n - half);
#endif
}

/// Float lanes truncated to int32 (in range), and int32 to float.
MLX_FN VI v_to_int(VF x) {
#if defined(MLX_MM) && defined(__AVX512F__)
  return VI((Raw<int32_t>)_mm512_cvttps_epi32((__m512)x.v));
#else
  return VI(__builtin_convertvector(x.v, Raw<int32_t>));
#endif
}
MLX_FN VF v_to_float(VI x) { return VF(__builtin_convertvector(x.v, Raw<float>)); }

/// table[index mod 16]
MLX_FN VF v_lookup16(const float* table, VI index) {
#if defined(__AVX512F__)
  return VF((Raw<float>)_mm512_permutexvar_ps((__m512i)index.v, _mm512_loadu_ps(table)));
#elif defined(__AVX2__)
  __m256i i = (__m256i)index.v;
  __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), i);
  __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), i);
  return VF((Raw<float>)_mm256_blendv_ps(low, high, (__m256)_mm256_slli_epi32(i, 28)));
#elif defined(__ARM_NEON)
  // The numbers of the four bytes of each lane among the 64 of the table.
  const uint32x4_t first = vandq_u32((uint32x4_t)index.v, vdupq_n_u32(15));
  const uint32x4_t bytes = vmlaq_n_u32(vdupq_n_u32(0x03020100), first, 0x04040404);
  const uint8x16x4_t all = vld1q_u8_x4(reinterpret_cast<const uint8_t*>(table));
  return VF((Raw<float>)vqtbl4q_u8(all, (uint8x16_t)bytes));
#else
  VF r;
  for (int i = 0; i < VF::N; ++i) r.v[i] = table[index.v[i] & 15];
  return r;
#endif
}

/// m ? otherwise : table[index mod 16]
MLX_FN VF v_lookup16_unless(Mask<4> m, VF otherwise, const float* table, VI index) {
#if defined(__AVX512F__)
  return VF((Raw<float>)_mm512_mask_permutexvar_ps((__m512)otherwise.v, (!m).m, (__m512i)index.v,
                                                   _mm512_loadu_ps(table)));
#else
  return v_select(m, otherwise, v_lookup16(table, index));
#endif
}

/// The lanes of a float vector as doubles: first half, second half.
struct Wide {
  VD low, high;
};
MLX_FN Wide v_widen(VF x) {
#if defined(__AVX512F__)
  __m512 a = (__m512)x.v;
  return {VD((Raw<double>)_mm512_cvtps_pd(_mm512_castps512_ps256(a))),
          VD((Raw<double>)_mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)))};
#elif defined(__AVX2__)
  __m256 a = (__m256)x.v;
  return {VD((Raw<double>)_mm256_cvtps_pd(_mm256_castps256_ps128(a))),
          VD((Raw<double>)_mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)))};
#elif defined(__SSE4_1__)
  __m128 a = (__m128)x.v;
  return {VD((Raw<double>)_mm_cvtps_pd(a)), VD((Raw<double>)_mm_cvtps_pd(_mm_movehl_ps(a, a)))};
#elif defined(__ARM_NEON)
  const auto a = (float32x4_t)x.v;
  return {VD((Raw<double>)vcvt_f64_f32(vget_low_f32(a))), VD((Raw<double>)vcvt_high_f64_f32(a))};
#else
  Wide r;
  for (int i = 0; i < VD::N; ++i) {
    r.low.v[i] = x.v[i];
    r.high.v[i] = x.v[VD::N + i];
  }
  return r;
#endif
}
MLX_FN VF v_narrow(Wide x) {
#if defined(__AVX512F__)
  __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)x.low.v));
  return VF((Raw<float>)_mm512_insertf32x8(low, _mm512_cvtpd_ps((__m512d)x.high.v), 1));
#elif defined(__AVX2__)
  return VF((Raw<float>)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)x.high.v),
                                        _mm256_cvtpd_ps((__m256d)x.low.v)));
#elif defined(__SSE4_1__)
  return VF(
      (Raw<float>)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)x.low.v), _mm_cvtpd_ps((__m128d)x.high.v)));
#elif defined(__ARM_NEON)
  const float32x2_t low = vcvt_f32_f64((float64x2_t)x.low.v);
  return VF((Raw<float>)vcvt_high_f32_f64(low, (float64x2_t)x.high.v));
#else
  VF r;
  for (int i = 0; i < VD::N; ++i) {
    r.v[i] = static_cast<float>(x.low.v[i]);
    r.v[VD::N + i] = static_cast<float>(x.high.v[i]);
  }
  return r;
#endif
}

/// fn(x) or fn(x, y) for the lanes of `where`, `otherwise` in the rest: the slow path for rare
/// arguments.
template <class Fn>
__attribute__((noinline)) VD v_map(const VD& x, const VD& y, const VD& otherwise, Mask<8> where,
                                   Fn fn) {
  double a[VD::N], b[VD::N], r[VD::N];
  int64_t take[VD::N];
  x.store(a);
  y.store(b);
  otherwise.store(r);
  v_select<int64_t>(where, VL(1), VL(0)).store(take);
  for (int i = 0; i < VD::N; ++i) {
    if (take[i]) r[i] = fn(a[i], b[i]);
  }
  return VD::load(r);
}
template <class Fn>
MLX_FN VD v_map(const VD& x, const VD& otherwise, Mask<8> where, Fn fn) {
  return v_map(x, x, otherwise, where, [fn](double a, double) { return fn(a); });
}

/// f(x) in double, out of line.
template <class Fn>
__attribute__((noinline)) VF v_slow(const VF& x, Fn f) {
  return m::through_double(x, f);
}

}  // namespace mlx::core::cpu::MLX_ISA
