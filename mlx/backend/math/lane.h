// A value type of one lane, for which the math library compiles as it does for vectors. Kernels of
// GPUs compute with it, and so do interpreters of programs by single elements. Results have the
// bits of the instruction sets with FMA. It also compiles without a standard library.
#pragma once

#ifndef MLX_WITHOUT_C_LIBRARY
#include <math.h>
#endif

#include <type_traits>

#include "mlx/backend/math/base.h"

namespace mlx::core::lane {

template <int S>
struct Mask {
  bool m;
  MLX_FN friend Mask operator&(Mask a, Mask b) { return {a.m && b.m}; }
  MLX_FN friend Mask operator|(Mask a, Mask b) { return {a.m || b.m}; }
  MLX_FN friend Mask operator^(Mask a, Mask b) { return {a.m != b.m}; }
  MLX_FN friend Mask operator!(Mask a) { return {!a.m}; }
};
template <int S>
MLX_FN bool v_any(Mask<S> x) {
  return x.m;
}

template <int Bytes>
struct IntOf {
  using type = int32_t;
};
template <>
struct IntOf<8> {
  using type = int64_t;
};

template <class T>
struct Lane {
  using elem = T;
  using Mask = lane::Mask<sizeof(T)>;
  using Int = Lane<typename IntOf<sizeof(T)>::type>;
  static constexpr int N = 1;
  static constexpr bool has_fma = true;

  T v;

  Lane() = default;
  MLX_FN Lane(T s) : v(s) {}

#define MLX_LANE_OPERATOR(op) \
  MLX_FN friend Lane operator op(Lane a, Lane b) { return Lane(static_cast<T>(a.v op b.v)); }
  MLX_LANE_OPERATOR(*)
  MLX_LANE_OPERATOR(/)
  MLX_LANE_OPERATOR(&)
  MLX_LANE_OPERATOR(|)
  MLX_LANE_OPERATOR(^)
#undef MLX_LANE_OPERATOR
  // Integer lanes wrap.
  MLX_FN friend Lane operator+(Lane a, Lane b) { return wrapping(a, b, false); }
  MLX_FN friend Lane operator-(Lane a, Lane b) { return wrapping(a, b, true); }
  MLX_FN friend Lane operator-(Lane a) { return Lane(-a.v); }
  MLX_FN friend Lane operator<<(Lane a, int n) {
    return Lane(static_cast<T>(static_cast<std::make_unsigned_t<T>>(a.v) << n));
  }
  MLX_FN friend Lane operator>>(Lane a, int n) { return Lane(static_cast<T>(a.v >> n)); }
  MLX_FN Lane& operator+=(Lane b) { return *this = *this + b; }
  MLX_FN Lane& operator-=(Lane b) { return *this = *this - b; }
  MLX_FN Lane& operator*=(Lane b) { return *this = *this * b; }

#define MLX_LANE_COMPARE(op) \
  MLX_FN friend Mask operator op(Lane a, Lane b) { return {a.v op b.v}; }
  MLX_LANE_COMPARE(==)
  MLX_LANE_COMPARE(!=)
  MLX_LANE_COMPARE(<)
  MLX_LANE_COMPARE(<=)
  MLX_LANE_COMPARE(>)
  MLX_LANE_COMPARE(>=)
#undef MLX_LANE_COMPARE

 private:
  MLX_FN static Lane wrapping(Lane a, Lane b, bool minus) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      U x = static_cast<U>(a.v), y = static_cast<U>(b.v);
      return Lane(static_cast<T>(minus ? x - y : x + y));
    } else {
      return Lane(minus ? a.v - b.v : a.v + b.v);
    }
  }
};

using LF = Lane<float>;
using LD = Lane<double>;
using LI = Lane<int32_t>;
using LL = Lane<int64_t>;

template <class T>
MLX_FN Lane<T> v_select(Mask<sizeof(T)> m, Lane<T> a, Lane<T> b) {
  return m.m ? a : b;
}
template <class T>
MLX_FN typename Lane<T>::Int v_bits(Lane<T> x) {
  using I = typename IntOf<sizeof(T)>::type;
  return __builtin_bit_cast(I, x.v);
}
template <class V>
MLX_FN V v_from_bits(typename V::Int x) {
  using T = typename V::elem;
  return __builtin_bit_cast(T, x.v);
}
template <class T>
MLX_FN typename Lane<T>::Int v_sign_bits(Lane<T> x) {
  using I = typename IntOf<sizeof(T)>::type;
  return v_bits(x) & typename Lane<T>::Int(static_cast<I>(uint64_t(1) << (8 * sizeof(T) - 1)));
}
template <class T>
MLX_FN Lane<T> v_copysign(Lane<T> magnitude, Lane<T> sign) {
  return v_from_bits<Lane<T>>(v_bits(magnitude) | v_sign_bits(sign));
}
template <class T>
MLX_FN Lane<T> v_flip_sign(Lane<T> x, Lane<T> sign) {
  return v_from_bits<Lane<T>>(v_bits(x) ^ v_sign_bits(sign));
}
#define MLX_LANE_FUNCTION(name, float_function, double_function) \
  MLX_FN LF name(LF a) { return LF(::float_function(a.v)); }     \
  MLX_FN LD name(LD a) { return LD(::double_function(a.v)); }
MLX_LANE_FUNCTION(v_abs, fabsf, fabs)
MLX_LANE_FUNCTION(v_sqrt, sqrtf, sqrt)
MLX_LANE_FUNCTION(v_rint, rintf, rint)
MLX_LANE_FUNCTION(v_floor, floorf, floor)
MLX_LANE_FUNCTION(v_ceil, ceilf, ceil)
MLX_LANE_FUNCTION(v_trunc, truncf, trunc)
#undef MLX_LANE_FUNCTION
MLX_FN LF v_fma(LF a, LF b, LF c) { return LF(::fmaf(a.v, b.v, c.v)); }
MLX_FN LD v_fma(LD a, LD b, LD c) { return LD(::fma(a.v, b.v, c.v)); }
// The second where the two are equal or unordered.
template <class T>
MLX_FN Lane<T> v_min(Lane<T> a, Lane<T> b) {
  return a.v < b.v ? a : b;
}
template <class T>
MLX_FN Lane<T> v_max(Lane<T> a, Lane<T> b) {
  return a.v > b.v ? a : b;
}
template <class T>
MLX_FN Lane<T> v_shift_right_logical(Lane<T> x, int n) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x.v) >> n);
}
/// x * 2^n for integral n, rounded once: in two steps where 2^n is no normal number.
template <class T>
MLX_FN Lane<T> v_scale(Lane<T> x, Lane<T> n) {
  using V = Lane<T>;
  constexpr T kNormal = sizeof(T) == 4 ? 126 : 1022, kHalf = sizeof(T) == 4 ? 64 : 512;
  if (!(v_abs(n).v > kNormal)) return x * m::power_of_two(n);
  V half = n.v > 0 ? kHalf : -kHalf;
  return x * m::power_of_two(half) * m::power_of_two(n - half);
}
#ifdef __CUDACC_RTC__
/// The steps of the compiler's division for operands of such sizes.
MLX_FN LF v_quotient(LF a, LF b) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b.v));
  r = ::fmaf(::fmaf(-b.v, r, 1.0f), r, r);
  float q = a.v * r;
  q = ::fmaf(::fmaf(-b.v, q, a.v), r, q);
  return ::fmaf(::fmaf(-b.v, q, a.v), r, q);
}
#endif
MLX_FN LI v_to_int(LF x) { return static_cast<int32_t>(x.v); }
MLX_FN LF v_to_float(LI x) { return static_cast<float>(x.v); }
MLX_FN LF v_lookup16(const float* table, LI index) { return table[index.v & 15]; }
MLX_FN LF v_lookup16_unless(Mask<4> m, LF otherwise, const float* table, LI index) {
  return m.m ? otherwise : v_lookup16(table, index);
}

/// The two halves of a register, as the math library names them; both are the one lane.
struct Wide {
  LD low, high;
};
MLX_FN Wide v_widen(LF x) { return {LD(x.v), LD(x.v)}; }
MLX_FN LF v_narrow(Wide x) { return static_cast<float>(x.low.v); }
template <class Fn>
MLX_FN LD v_map(LD x, LD y, LD otherwise, Mask<8> where, Fn fn) {
  return where.m ? LD(fn(x.v, y.v)) : otherwise;
}
template <class Fn>
MLX_FN LD v_map(LD x, LD otherwise, Mask<8> where, Fn fn) {
  return where.m ? LD(fn(x.v)) : otherwise;
}
template <class Fn>
MLX_FN LF v_slow(LF x, Fn f) {
  return static_cast<float>(f(LD(x.v)).v);
}

}  // namespace mlx::core::lane

namespace mlx::core::m {

/// Without a branch, and without the instruction for rounding, which is slow on GPUs.
template <>
struct Exponent<lane::LF> {
  lane::LI bits;  ///< n and a multiple of 2^21
  lane::LF n;
  explicit MLX_FN Exponent(lane::LF x) {
    const lane::LF sum = x + lane::LF(kRounder<float>);
    bits = v_bits(sum);
    n = sum - lane::LF(kRounder<float>);
  }
  /// Two steps, the first of which is exact.
  MLX_FN lane::LF scaled(lane::LF x) const {
    const lane::LI half = v_shift_right_logical(bits, 1);
    return x * power(half) * power(bits - half);
  }
  MLX_FN lane::LF scaled_within(lane::LF x) const { return x * power(bits); }

 private:
  static MLX_FN lane::LF power(lane::LI n) {
    return v_from_bits<lane::LF>((n << 23) + lane::LI(127 << 23));
  }
};

}  // namespace mlx::core::m
