// Arithmetic, comparison, rounding and remainders, over floating value types and over plain
// integers and bool. Integers wrap; division by zero gives 0; shifts by the width or more give 0 or
// the sign.
#pragma once

#include <type_traits>

#include "mlx/backend/math/base.h"

namespace mlx::core::m {

template <class T>
concept Integer = std::is_integral_v<T>;
template <class V>
concept RealOrInteger = Real<V> || Integer<V>;

/// Unsigned type in which arithmetic on T wraps without integer promotion.
template <Integer T>
using Wrap = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
/// The result type of a comparison of two V.
template <class V>
using Truth = decltype(V() == V());

//--- integers ------------------------------------------------------------------------------------

template <Integer T>
MLX_FN T add(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a | b;
  } else {
    return static_cast<T>(Wrap<T>(a) + Wrap<T>(b));
  }
}
template <Integer T>
MLX_FN T subtract(T a, T b) {
  return static_cast<T>(Wrap<T>(a) - Wrap<T>(b));
}
template <Integer T>
MLX_FN T multiply(T a, T b) {
  return static_cast<T>(Wrap<T>(a) * Wrap<T>(b));
}
template <Integer T>
MLX_FN T negative(T a) {
  return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
}
template <Integer T>
MLX_FN T abs(T a) {
  return a < T(0) ? negative(a) : a;
}
template <Integer T>
MLX_FN T sign(T a) {
  return static_cast<T>((a > T(0)) - (a < T(0)));
}
template <Integer T>
MLX_FN T maximum(T a, T b) {
  return a > b ? a : b;
}
template <Integer T>
MLX_FN T minimum(T a, T b) {
  return a < b ? a : b;
}

/// a / b rounded down; 0 where b is 0.
template <Integer T>
MLX_FN T floor_divide(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return negative(a);  // the smallest integer has no quotient by -1
      T q = a / b;
      return q - (q * b != a && (a < 0) != (b < 0));
    } else {
      return a / b;
    }
  } else {  // exact in floating point, which vectorises
    using F = std::conditional_t<sizeof(T) == 4, double, float>;
    using I = std::conditional_t<sizeof(T) == 4, int64_t, int32_t>;
    F q = __builtin_floor(static_cast<F>(a) / static_cast<F>(b == T(0) ? T(1) : b));
    return b == T(0) ? T(0) : static_cast<T>(static_cast<I>(q));
  }
}
/// a - b * floor_divide(a, b); 0 where b is 0.
template <Integer T>
MLX_FN T remainder(T a, T b) {
  return b == T(0) ? T(0) : subtract(a, multiply(floor_divide(a, b), b));
}

/// The greatest common divisor of the magnitudes, by Euclid's algorithm; wraps where it is the
/// magnitude of the smallest integer.
template <Integer T>
MLX_FN T gcd(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a | b;
  } else {
    using U = std::make_unsigned_t<T>;
    U x = static_cast<U>(abs(a)), y = static_cast<U>(abs(b));
    while (y != 0) {
      const U rest = static_cast<U>(x % y);
      x = y;
      y = rest;
    }
    return static_cast<T>(x);
  }
}

/// a^b by repeated squaring; 0 for negative b.
template <Integer T>
MLX_FN T power(T a, T b) {
  if (b < T(0)) return T(0);
  T r = 1;
  auto e = static_cast<uint64_t>(b);
  for (T base = a; e != 0; e >>= 1, base = multiply(base, base)) {
    if (e & 1) r = multiply(r, base);
  }
  return r;
}

template <Integer T>
MLX_FN T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <Integer T>
MLX_FN T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <Integer T>
MLX_FN T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <Integer T>
MLX_FN T bitwise_invert(T a) {
  if constexpr (std::is_same_v<T, bool>) {
    return !a;
  } else {
    return static_cast<T>(~a);
  }
}
template <Integer T>
MLX_FN T left_shift(T a, T b) {
  using W = Wrap<T>;
  W n = static_cast<W>(b);  // a negative count becomes a large one
  return n < 8 * sizeof(T) ? static_cast<T>(W(a) << (n & (8 * sizeof(W) - 1))) : T(0);
}
template <Integer T>
MLX_FN T right_shift(T a, T b) {
  using W = Wrap<T>;
  W n = static_cast<W>(b), last = 8 * sizeof(T) - 1;
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(a >> (n < last ? n : last));
  } else {
    return n <= last ? static_cast<T>(W(a) >> (n & (8 * sizeof(W) - 1))) : T(0);
  }
}

inline namespace logic {
MLX_FN bool logical_not(bool a) { return !a; }
MLX_FN bool logical_and(bool a, bool b) { return a & b; }
MLX_FN bool logical_or(bool a, bool b) { return a | b; }
MLX_FN bool logical_xor(bool a, bool b) { return a ^ b; }
}  // namespace logic

// Functions that are the identity on integers.
#define MLX_IDENTITY(name) \
  template <Integer T>     \
  MLX_FN T name(T a) {     \
    return a;              \
  }
MLX_IDENTITY(floor)
MLX_IDENTITY(ceil)
MLX_IDENTITY(rint)
MLX_IDENTITY(trunc)
#undef MLX_IDENTITY
template <Integer T>
MLX_FN bool isnan(T) {
  return false;
}
template <Integer T>
MLX_FN bool isinf(T) {
  return false;
}
template <Integer T>
MLX_FN bool isposinf(T) {
  return false;
}
template <Integer T>
MLX_FN bool isneginf(T) {
  return false;
}
template <Integer T>
MLX_FN bool isfinite(T) {
  return true;
}

//--- floating ------------------------------------------------------------------------------------

template <Real V>
MLX_FN V add(V a, V b) {
  return a + b;
}
template <Real V>
MLX_FN V subtract(V a, V b) {
  return a - b;
}
template <Real V>
MLX_FN V multiply(V a, V b) {
  return a * b;
}
template <Real V>
MLX_FN V divide(V a, V b) {
  return a / b;
}
template <Real V>
MLX_FN V negative(V a) {
  return -a;
}
template <Real V>
MLX_FN V abs(V a) {
  return v_abs(a);
}
template <Real V>
MLX_FN V reciprocal(V a) {
  return V(typename V::elem(1)) / a;
}
template <Real V>
MLX_FN V sqrt(V a) {
  return v_sqrt(a);
}
/// 1 / sqrt(a); 1.5 ULP.
template <Real V>
MLX_FN V rsqrt(V a) {
  return V(typename V::elem(1)) / v_sqrt(a);
}
/// -1, 0 or 1; NaN for NaN.
template <Real V>
MLX_FN V sign(V a) {
  using T = typename V::elem;
  V zero = V(T(0));
  V r = v_select(a > zero, V(T(1)), v_select(a < zero, V(T(-1)), zero));
  return v_select(a == a, r, a);
}
/// The larger; NaN where either is.
template <Real V>
MLX_FN V maximum(V a, V b) {
  return v_select(a == a, v_max(a, b), a);
}
template <Real V>
MLX_FN V minimum(V a, V b) {
  return v_select(a == a, v_min(a, b), a);
}
template <Real V>
MLX_FN V floor(V a) {
  return v_floor(a);
}
template <Real V>
MLX_FN V ceil(V a) {
  return v_ceil(a);
}
template <Real V>
MLX_FN V rint(V a) {
  return v_rint(a);
}
template <Real V>
MLX_FN V trunc(V a) {
  return v_trunc(a);
}
template <Real V>
MLX_FN auto isnan(V a) {
  return a != a;
}
template <Real V>
MLX_FN auto isposinf(V a) {
  return a == V(kInf<typename V::elem>);
}
template <Real V>
MLX_FN auto isneginf(V a) {
  return a == V(-kInf<typename V::elem>);
}
template <Real V>
MLX_FN auto isinf(V a) {
  return v_abs(a) == V(kInf<typename V::elem>);
}
template <Real V>
MLX_FN auto isfinite(V a) {
  return v_abs(a) < V(kInf<typename V::elem>);
}

namespace basic_detail {

template <class V>
struct Division {
  V quotient, remainder;
};

// Scalar division with fmod, for quotients out of the fast path's range and for infinite operands:
// Python's rules, NumPy's values where Python raises.
inline __attribute__((always_inline)) double exact_remainder(double a, double b) {
  double r = __builtin_fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r;
}
inline __attribute__((always_inline)) double exact_quotient(double a, double b) {
  double ratio = a / b, size = __builtin_fabs(ratio);
  if (b != 0 && __builtin_fabs(a) == kInf<double>) return kNan<double>;
  if (b == 0 || !(size < 0x1p53)) return ratio;
  if (__builtin_fabs(b) == kInf<double>) return a != 0 && (a < 0) != (b < 0) ? -1 : ratio;
  double q = __builtin_floor(ratio), r = __builtin_fma(-q, b, a);
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;  // the ratio was rounded up
}

// Exact while the quotient has fewer bits than `limit`: its product with b, and the difference, are
// exact.
template <Real64 V>
MLX_FN Division<V> floor_division(V a, V b, double limit) {
  V zero = V(0.0), ratio = a / b, q = v_floor(ratio);
  V r = v_fma(-q, b, a);
  auto over = ((r < zero) & (b > zero)) | ((r > zero) & (b < zero));  // the ratio was rounded up
  q = v_select(over, q - V(1.0), q);
  r = v_select(over, r + b, r);
  auto rare = !((v_abs(ratio) < V(limit)) & (v_abs(b) < V(kInf<double>)));
  if (v_any(rare)) [[unlikely]] {
    q = v_map(a, b, q, rare, [](double x, double y) { return exact_quotient(x, y); });
    r = v_map(a, b, r, rare, [](double x, double y) { return exact_remainder(x, y); });
  }
  return {q, v_select(r == zero, v_copysign(zero, b), r)};
}

template <class V>
inline constexpr double kLimit = V::has_fma ? 0x1p52 : 0.0;

}  // namespace basic_detail

/// floor(a / b), of the exact quotient.
template <Real V>
MLX_FN V floor_divide(V a, V b) {
  if constexpr (Real32<V>) {
    return through_double(a, b, [](auto x, auto y) MLX_INLINED {
      return basic_detail::floor_division(x, y, 0x1p29).quotient;
    });
  } else {
    return basic_detail::floor_division(a, b, basic_detail::kLimit<V>).quotient;
  }
}
/// Exact remainder with the sign of b; NaN where b is 0 or a infinite.
template <Real V>
MLX_FN V remainder(V a, V b) {
  if constexpr (Real32<V>) {
    return through_double(a, b, [](auto x, auto y) MLX_INLINED {
      return basic_detail::floor_division(x, y, 0x1p29).remainder;
    });
  } else {
    return basic_detail::floor_division(a, b, basic_detail::kLimit<V>).remainder;
  }
}

//--- both ----------------------------------------------------------------------------------------

template <RealOrInteger V>
MLX_FN V square(V a) {
  return multiply(a, a);
}
template <RealOrInteger V>
MLX_FN V conjugate(V a) {
  return a;
}
template <RealOrInteger V>
MLX_FN V real(V a) {
  return a;
}
template <RealOrInteger V>
MLX_FN V imag(V) {
  if constexpr (Real<V>) {
    return V(typename V::elem(0));
  } else {
    return V(0);
  }
}
template <RealOrInteger V>
MLX_FN Truth<V> equal(V a, V b) {
  return a == b;
}
template <RealOrInteger V>
MLX_FN Truth<V> not_equal(V a, V b) {
  return a != b;
}
template <RealOrInteger V>
MLX_FN Truth<V> less(V a, V b) {
  return a < b;
}
template <RealOrInteger V>
MLX_FN Truth<V> less_equal(V a, V b) {
  return a <= b;
}
template <RealOrInteger V>
MLX_FN Truth<V> greater(V a, V b) {
  return a > b;
}
template <RealOrInteger V>
MLX_FN Truth<V> greater_equal(V a, V b) {
  return a >= b;
}

template <class T>
MLX_FN T where(bool condition, T a, T b) {
  return condition ? a : b;
}

}  // namespace mlx::core::m
