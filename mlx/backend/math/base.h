// Shared by all headers of the math library: the inlining attribute, the definition of a value
// type, and helpers (polynomials, powers of two, computation through double) of several functions.
//
// A value type V holds one or more lanes of V::elem (float or double) and offers +, -, *, /, the
// comparisons (giving V::Mask with &, |, !), construction from a scalar, and, found by argument-
// dependent lookup: v_select v_any v_bits v_from_bits v_abs v_copysign v_flip_sign v_sign_bits
// v_fma v_sqrt v_rint v_floor v_ceil v_trunc v_min v_max v_scale v_shift_right_logical v_widen
// v_narrow v_map v_slow, and for float v_to_int v_to_float v_lookup16 v_lookup16_unless. V::Int
// holds its bits. A function here uses nothing else.
#pragma once

#include <stdint.h>

// Always inlined: these templates are compiled for several instruction sets, and the linker must
// not share a copy between them.
#define MLX_FN inline __attribute__((always_inline))
#define MLX_INLINED __attribute__((always_inline))  // the same on a lambda

namespace mlx::core::m {

template <class V>
concept Real = requires {
  typename V::elem;
  typename V::Mask;
};
template <class V>
concept Real32 = Real<V> && sizeof(typename V::elem) == 4;
template <class V>
concept Real64 = Real<V> && sizeof(typename V::elem) == 8;

template <class T>
inline constexpr T kInf = __builtin_inff();
template <class T>
inline constexpr T kNan = __builtin_nanf("");
/// Adding it rounds a small number to an integer in the low bits of the sum.
template <class T>
inline constexpr T kRounder = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);
template <class V>
inline constexpr int kFraction = sizeof(typename V::elem) == 4 ? 23 : 52;
template <class V>
inline constexpr int kBias = sizeof(typename V::elem) == 4 ? 127 : 1023;

/// c[0] + c[1] x + ... by Horner's rule.
template <class V, class T, int N>
MLX_FN V polynomial(V x, const T (&c)[N]) {
  V r = V(c[N - 1]);
#pragma GCC unroll 16
  for (int i = N - 2; i >= 0; --i) r = v_fma(r, x, V(c[i]));
  return r;
}

/// 2^n for integral n within the exponents of normal numbers.
template <class V>
MLX_FN V power_of_two(V n) {
  using T = typename V::elem;
  using I = typename V::Int;
  I i = v_bits(n + V(kRounder<T>)) + I(kBias<V>);
  return v_from_bits<V>(i << kFraction<V>);
}

/// A number below 2^22, rounded to an integer n: an exponent. Types of values may have faster ones.
template <class V>
struct Exponent {
  V n;
  explicit MLX_FN Exponent(V x) : n(v_rint(x)) {}
  /// x * 2^n, rounded once.
  MLX_FN V scaled(V x) const { return v_scale(x, n); }
  /// The same where 2^n is a normal number.
  MLX_FN V scaled_within(V x) const { return v_scale(x, n); }
};
/// a / b, rounded once, for a, b and a quotient that are normal numbers below 2^96, or NaN. Types
/// of values may have a faster one.
template <class V>
MLX_FN V v_quotient(V a, V b) {
  return a / b;
}

/// A float function computed in double and rounded once: within 0.51 ULP.
template <Real32 V, class F>
MLX_FN V through_double(V x, F f) {
  auto w = v_widen(x);
  return v_narrow(decltype(w){f(w.low), f(w.high)});
}
template <Real32 V, class F>
MLX_FN V through_double(V x, V y, F f) {
  auto a = v_widen(x), b = v_widen(y);
  return v_narrow(decltype(a){f(a.low, b.low), f(a.high, b.high)});
}

}  // namespace mlx::core::m
