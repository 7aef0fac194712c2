// Registers of any element type for reduction kernels: loads that widen (16-bit floats to float,
// narrow integers), masked tails, and the combinations sum, product, larger, smaller. A complex
// number is a register of one lane, or one of several packed numbers. Included by files that are
// compiled once per instruction set.
#pragma once

#include "mlx/backend/cpu/simd/convert.h"
#include "mlx/backend/cpu/simd/shuffle.h"

namespace mlx::core::cpu::MLX_ISA {

/// Storage type of 16-bit floats.
struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};
template <class F>
struct Complex {
  F re, im;
  MLX_FN friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  MLX_FN friend Complex operator*(Complex a, Complex b) {
    F low[2] = {a.re * b.re, a.re * b.im}, high[2] = {a.im * b.im, a.im * b.re};
#if defined(__FMA__)
    // Some compilers fuse this pattern even where contraction is off.
    __asm__("" : "+x"(low[0]), "+x"(low[1]), "+x"(high[0]), "+x"(high[1]));
#endif
    return {low[0] - high[0], low[1] + high[1]};
  }
};
template <class T>
inline constexpr bool is_complex_v = false;
template <class F>
inline constexpr bool is_complex_v<Complex<F>> = true;
template <class T>
inline constexpr bool is_float_v = __is_same(T, float) || __is_same(T, double);

/// A register of 8- or 16-bit integers, at most 32 lanes.
template <class T>
struct Narrow {
  static constexpr int N = kVectorBytes / sizeof(T) < 32 ? kVectorBytes / sizeof(T) : 32;
  Raw<T, N * sizeof(T)> v;
  Narrow() = default;
  MLX_FN explicit Narrow(Raw<T, N * sizeof(T)> r) : v(r) {}
  MLX_FN Narrow(T s) : v(s - Raw<T, N * sizeof(T)>{}) {}
  MLX_FN void store(T* p) const { __builtin_memcpy(p, &v, sizeof(v)); }
  MLX_FN friend Narrow operator|(Narrow a, Narrow b) { return Narrow(a.v | b.v); }
};
/// A register of one complex number.
template <class C>
struct Single {
  static constexpr int N = 1;
  C v;
  Single() = default;
  MLX_FN Single(C s) : v(s) {}
  MLX_FN void store(C* p) const { *p = v; }
  MLX_FN friend Single operator+(Single a, Single b) { return a.v + b.v; }
  MLX_FN friend Single operator*(Single a, Single b) { return a.v * b.v; }
};

/// A complex number that has registers of several. It is summed and multiplied like `Complex`.
template <class F>
struct Packed {
  F re, im;
};
template <class T>
inline constexpr bool is_packed_v = false;
template <class F>
inline constexpr bool is_packed_v<Packed<F>> = true;

/// A register of packed complex numbers.
template <class F>
struct Pairs {
  static constexpr int N = kVectorBytes / (2 * sizeof(F));
  Raw<F> v;
  Pairs() = default;
  MLX_FN explicit Pairs(Raw<F> r) : v(r) {}
  MLX_FN Pairs(Packed<F> s) : v(alternating(s.re - Raw<F>{}, s.im - Raw<F>{})) {}
  MLX_FN void store(Packed<F>* p) const { __builtin_memcpy(p, &v, sizeof(v)); }
  MLX_FN void store_partial(Packed<F>* p, int64_t n) const {
    Vec<F>(v).store_partial(reinterpret_cast<F*>(p), 2 * n);
  }
  /// The first `n` numbers (0 < n < N) from memory, and those of `rest` behind them.
  static MLX_FN Pairs load_tail(const Packed<F>* p, int64_t n, Pairs rest) {
    const auto few = Vec<F>::load_partial(reinterpret_cast<const F*>(p), 2 * n);
    return Pairs(v_select(Vec<F>::first_lanes(2 * n), few, Vec<F>(rest.v)).v);
  }
  MLX_FN friend Pairs operator+(Pairs a, Pairs b) { return Pairs(a.v + b.v); }
  MLX_FN friend Pairs operator*(Pairs a, Pairs b) {
    Raw<F> re = shuffle_lanes<2 * N>(a.v, a.v, [](int i) { return i & ~1; });
    Raw<F> im = shuffle_lanes<2 * N>(a.v, a.v, [](int i) { return i | 1; });
    Raw<F> low = re * b.v;
    Raw<F> high = im * shuffle_lanes<2 * N>(b.v, b.v, [](int i) { return i ^ 1; });
#if defined(__FMA__)
    __asm__("" : "+x"(low), "+x"(high));  // as in Complex
#endif
    return Pairs(alternating(low - high, low + high));
  }

 private:
  static MLX_FN Raw<F> alternating(Raw<F> even, Raw<F> odd) {
    return shuffle_lanes<2 * N>(even, odd, [](int i) { return i % 2 ? i + 2 * N : i; });
  }
};

template <class A>
struct RegOf {
  using type = Vec<A>;
};
template <class F>
struct RegOf<Packed<F>> {
  using type = Pairs<F>;
};
template <class A>
  requires(sizeof(A) < 4)
struct RegOf<A> {
  using type = Narrow<A>;
};
template <class F>
struct RegOf<Complex<F>> {
  using type = Single<Complex<F>>;
};
/// The register that holds accumulators of type A.
template <class A>
using Reg = typename RegOf<A>::type;

/// A vector, or a register that holds one. GCC copies 16 bytes of a structure at a time, so that
/// the register would wait for a copy in memory.
template <class V>
MLX_FN V raw_load(const void* p) {
  V x;
  if constexpr (requires { x.v; })
    __builtin_memcpy(&x.v, p, sizeof(V));
  else
    __builtin_memcpy(&x, p, sizeof(V));
  return x;
}

#if defined(MLX_MM)
/// Converts lanes of 8, 16 or 32 bits to lanes of 32 or 64.
#define MLX_WIDEN(T, name, A)                                                                     \
  MLX_FN Raw<A> widen_int(const T* p, A) {                                                        \
    typedef long long Bytes __attribute__((vector_size(                                           \
        kVectorBytes * sizeof(T) / sizeof(A) < 16 ? 16 : kVectorBytes * sizeof(T) / sizeof(A)))); \
    Bytes few{};                                                                                  \
    __builtin_memcpy(&few, p, kVectorBytes * sizeof(T) / sizeof(A));                              \
    return (Raw<A>)MLX_MM(name)(few);                                                             \
  }
MLX_WIDEN(int8_t, cvtepi8_epi32, uint32_t)
MLX_WIDEN(uint8_t, cvtepu8_epi32, uint32_t)
MLX_WIDEN(int16_t, cvtepi16_epi32, uint32_t)
MLX_WIDEN(uint16_t, cvtepu16_epi32, uint32_t)
MLX_WIDEN(int8_t, cvtepi8_epi32, int32_t)
MLX_WIDEN(uint8_t, cvtepu8_epi32, int32_t)
MLX_WIDEN(int16_t, cvtepi16_epi32, int32_t)
MLX_WIDEN(uint16_t, cvtepu16_epi32, int32_t)
MLX_WIDEN(int8_t, cvtepi8_epi64, int64_t)
MLX_WIDEN(uint8_t, cvtepu8_epi64, int64_t)
MLX_WIDEN(int16_t, cvtepi16_epi64, int64_t)
MLX_WIDEN(uint16_t, cvtepu16_epi64, int64_t)
MLX_WIDEN(int32_t, cvtepi32_epi64, int64_t)
MLX_WIDEN(uint32_t, cvtepu32_epi64, int64_t)
#undef MLX_WIDEN
#elif defined(__ARM_NEON)
/// The bytes of a register's elements T, zeros behind them.
template <int Bytes>
MLX_FN uint8x8_t load_few(const void* p) {
  uint64_t few = 0;
  __builtin_memcpy(&few, p, Bytes);
  return vcreate_u8(few);
}
/// Converts lanes of 8, 16 or 32 bits to lanes of 32 or 64, which a vector extension does one by
/// one.
template <class A, class T>
  requires(sizeof(T) < sizeof(A) && !is_float_v<T> && !is_float_v<A>)
MLX_FN Raw<A> widen_int(const T* p, A) {
  const uint8x8_t few = load_few<kVectorBytes / sizeof(A) * sizeof(T)>(p);
  if constexpr (T(-1) < T(0)) {
    int16x8_t words = (int16x8_t)vcombine_u8(few, few);
    if constexpr (sizeof(T) == 1) words = vmovl_s8((int8x8_t)few);
    int32x4_t lanes = (int32x4_t)words;
    if constexpr (sizeof(T) <= 2) lanes = vmovl_s16(vget_low_s16(words));
    if constexpr (sizeof(A) == 4) return (Raw<A>)lanes;
    return (Raw<A>)vmovl_s32(vget_low_s32(lanes));
  } else {
    uint16x8_t words = (uint16x8_t)vcombine_u8(few, few);
    if constexpr (sizeof(T) == 1) words = vmovl_u8(few);
    uint32x4_t lanes = (uint32x4_t)words;
    if constexpr (sizeof(T) <= 2) lanes = vmovl_u16(vget_low_u16(words));
    if constexpr (sizeof(A) == 4) return (Raw<A>)lanes;
    return (Raw<A>)vmovl_u32(vget_low_u32(lanes));
  }
}
MLX_FN Raw<double> widen_float(const float* p) { return (Raw<double>)vcvt_f64_f32(vld1_f32(p)); }
#endif

/// A full register of elements T, converted to A.
template <class A, class T>
MLX_FN Reg<A> load_as(const T* p) {
  using R = Reg<A>;
  if constexpr (is_complex_v<A>) {
    return R(*p);
  } else if constexpr (__is_same(T, Half)) {
    return v_load_f16(&p->bits);
  } else if constexpr (__is_same(T, Brain)) {
    return v_load_bf16(&p->bits);
  } else if constexpr (__is_same(A, T)) {
    return raw_load<R>(p);
  } else if constexpr (sizeof(A) == sizeof(T) && !is_float_v<A>) {
    return raw_load<R>(p);
#if defined(MLX_MM) || defined(__ARM_NEON)
  } else if constexpr (requires { widen_int(p, A{}); }) {
    return R(widen_int(p, A{}));
#endif
#if defined(__ARM_NEON)
  } else if constexpr (__is_same(A, double) && __is_same(T, float)) {
    return R(widen_float(p));
  } else if constexpr (is_float_v<A> && !is_float_v<T> && sizeof(T) < sizeof(A)) {
    // Through integers of the lanes' width.
    using I = typename IntOf<sizeof(A)>::type;
    return R(__builtin_convertvector(widen_int(p, I{}), Raw<A>));
#endif
  } else {
    return R(__builtin_convertvector(raw_load<Raw<T, R::N * sizeof(T)>>(p), Raw<A>));
  }
}

/// The first `n` elements (0 < n < lanes), `rest` in the lanes beyond; accesses no memory there.
template <class A, class T>
MLX_FN Reg<A> load_tail(const T* p, int64_t n, A rest) {
  using R = Reg<A>;
  if constexpr (R::N == 1) {
    return rest;
  } else if constexpr (is_packed_v<A>) {
    return R::load_tail(p, n, rest);
  }
#if defined(__AVX512F__)
  if constexpr (is_complex_v<A> || is_packed_v<A>) {
    // Registers of one lane have no tail, and those of packed numbers load their own.
  } else if constexpr (sizeof(T) == 4 && sizeof(A) == 4) {
    auto mask = static_cast<__mmask16>((1u << n) - 1);
    return R((Raw<A>)_mm512_mask_loadu_epi32((__m512i)R(rest).v, mask, p));
  } else if constexpr (sizeof(T) == 8 && sizeof(A) == 8 && !is_float_v<T> == !is_float_v<A>) {
    auto mask = static_cast<__mmask8>((1u << n) - 1);
    return R((Raw<A>)_mm512_mask_loadu_epi64((__m512i)R(rest).v, mask, p));
  }
#endif
#if defined(__AVX512BW__)
  // Narrow elements: a masked load, then the usual conversion; the lanes beyond are replaced
  // afterwards.
  if constexpr (sizeof(A) == 4 && sizeof(T) < 4) {
    auto mask = static_cast<__mmask16>((1u << n) - 1);
    __m512i x;
    if constexpr (__is_same(T, Half)) {
      x = (__m512i)_mm512_maskz_cvtph_ps(mask, _mm256_maskz_loadu_epi16(mask, p));
    } else if constexpr (__is_same(T, Brain)) {
      x = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p)), 16);
    } else if constexpr (sizeof(T) == 2) {
      __m256i narrow = _mm256_maskz_loadu_epi16(mask, p);
      x = T(-1) < T(0) ? _mm512_cvtepi16_epi32(narrow) : _mm512_cvtepu16_epi32(narrow);
    } else {
      __m128i narrow = _mm_maskz_loadu_epi8(mask, p);
      x = T(-1) < T(0) ? _mm512_cvtepi8_epi32(narrow) : _mm512_cvtepu8_epi32(narrow);
    }
    return R((Raw<A>)_mm512_mask_blend_epi32(mask, (__m512i)R(rest).v, x));
  }
#endif
  T few[R::N] = {};
#if defined(MLX_PARTS_OF_REGISTERS)
  if constexpr (!is_complex_v<A> && !is_packed_v<A> && sizeof(A) >= 4) {
    if constexpr (sizeof(T) == sizeof(A) && is_float_v<T> == is_float_v<A>) {
      return v_select(R::first_lanes(n), R((Raw<A>)Vec<T>::load_partial(p, n).v), R(rest));
    } else if constexpr (sizeof(few) <= 16) {
      const __m128i all = load_bytes(p, n * static_cast<int64_t>(sizeof(T)));
      __builtin_memcpy(few, &all, sizeof(few));
      return v_select(R::first_lanes(n), load_as<A>(few), R(rest));
    }
  }
#endif
  __builtin_memcpy(few, p, static_cast<uint32_t>(n) * sizeof(T));
  A lanes[R::N];
  load_as<A>(few).store(lanes);
  for (int64_t i = R::N - 1; i >= n; --i) lanes[i] = rest;
  return raw_load<R>(lanes);
}

/// Lane i of the result is lane (i + shift) mod N of x.
template <int Shift, class R>
MLX_FN R rotate_lanes(R x) {
  if constexpr (R::N == 1) {
    return x;
  } else {
    return R(shuffle_lanes<R::N>(x.v, x.v, [](int i) { return (i + Shift) % R::N; }));
  }
}

template <int Shift, class F>
MLX_FN Pairs<F> rotate_lanes(Pairs<F> x) {
  constexpr int N = 2 * Pairs<F>::N;
  return Pairs<F>(shuffle_lanes<N>(x.v, x.v, [](int i) { return (i + 2 * Shift) % N; }));
}

/// True if either is NaN.
MLX_FN Mask<4> v_unordered(VF a, VF b) {
#if defined(__AVX512F__)
  return {_mm512_cmp_ps_mask((__m512)a.v, (__m512)b.v, _CMP_UNORD_Q)};
#elif defined(__AVX2__)
  return {(Raw<int32_t>)_mm256_cmp_ps((__m256)a.v, (__m256)b.v, _CMP_UNORD_Q)};
#else
  return (a != a) | (b != b);
#endif
}
MLX_FN Mask<8> v_unordered(VD a, VD b) {
#if defined(__AVX512F__)
  return {_mm512_cmp_pd_mask((__m512d)a.v, (__m512d)b.v, _CMP_UNORD_Q)};
#elif defined(__AVX2__)
  return {(Raw<int64_t>)_mm256_cmp_pd((__m256d)a.v, (__m256d)b.v, _CMP_UNORD_Q)};
#else
  return (a != a) | (b != b);
#endif
}

/// NaN compares larger and smaller than everything: reductions propagate it.
template <class T>
MLX_FN Vec<T> larger(Vec<T> a, Vec<T> b) {
  if constexpr (is_float_v<T>) return v_select((a > b) | (a != a), a, b);
  return v_select(a > b, a, b);
}
template <class T>
MLX_FN Vec<T> smaller(Vec<T> a, Vec<T> b) {
  if constexpr (is_float_v<T>) return v_select((a < b) | (a != a), a, b);
  return v_select(a < b, a, b);
}
template <class T>
MLX_FN Narrow<T> larger(Narrow<T> a, Narrow<T> b) {
  return Narrow<T>(a.v > b.v ? a.v : b.v);
}
template <class T>
MLX_FN Narrow<T> smaller(Narrow<T> a, Narrow<T> b) {
  return Narrow<T>(a.v < b.v ? a.v : b.v);
}
template <class F>
MLX_FN bool is_nan(Complex<F> x) {
  return x.re != x.re || x.im != x.im;
}
template <class F>
MLX_FN bool precedes(Complex<F> a, Complex<F> b) {
  return a.re < b.re || (a.re == b.re && a.im < b.im);
}
template <class C>
MLX_FN Single<C> larger(Single<C> a, Single<C> b) {
  return precedes(b.v, a.v) || is_nan(a.v) ? a : is_nan(b.v) || precedes(a.v, b.v) ? b : a;
}
template <class C>
MLX_FN Single<C> smaller(Single<C> a, Single<C> b) {
  return precedes(a.v, b.v) || is_nan(a.v) ? a : is_nan(b.v) || precedes(b.v, a.v) ? b : a;
}

}  // namespace mlx::core::cpu::MLX_ISA
