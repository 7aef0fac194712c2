// Conversions between element types, one element at a time. Conversions to 16-bit floats go through
// float32; values that float32 cannot hold are rounded to odd first, so that the result is rounded
// once.
#pragma once

#include "mlx/backend/math/complex.h"

namespace mlx::core::m {

template <class T>
struct IsCx {
  static constexpr bool value = false;
};
template <class T>
struct IsCx<Cx<T>> {
  static constexpr bool value = true;
};

// Rounds toward zero; values out of range give the smallest I, as the processor does.
template <class I, class F>
MLX_FN I truncate(F x) {
  constexpr F kEnd = sizeof(I) == 4 ? F(0x1p31) : F(0x1p63);
  constexpr I kLowest = static_cast<I>(sizeof(I) == 4 ? uint64_t(1) << 31 : uint64_t(1) << 63);
  bool fits = (x >= -kEnd) & (x < kEnd);
  I i = static_cast<I>(fits ? x : F(0));
  return fits ? i : kLowest;
}

template <class To, class From>
MLX_FN To convert(From x) {
  if constexpr (IsCx<From>::value) {
    if constexpr (std::is_same_v<To, bool>) {
      return (x.re != 0) | (x.im != 0);
    } else if constexpr (IsCx<To>::value) {
      return {static_cast<decltype(To::re)>(x.re), static_cast<decltype(To::re)>(x.im)};
    } else {
      return convert<To>(x.re);
    }
  } else if constexpr (IsCx<To>::value) {
    return {static_cast<decltype(To::re)>(x), 0};
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      bool upper = x >= From(0x1p63);
      auto i = static_cast<uint64_t>(truncate<int64_t>(upper ? x - From(0x1p63) : x));
      return upper ? i ^ (uint64_t(1) << 63) : i;
    } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) {
      return static_cast<To>(truncate<int64_t>(x));
    } else {
      return static_cast<To>(truncate<int32_t>(x));
    }
  } else {
    return static_cast<To>(x);
  }
}

// Rounds to odd: the lost bits are kept in the last bit, so that rounding to fewer bits is correct.
MLX_FN float round_to_odd(double x) {
  float f = static_cast<float>(x);
  auto bits = __builtin_bit_cast(uint32_t, f);
  double back = f;
  bool exact = (back == x) | (x != x), away = __builtin_fabs(back) > __builtin_fabs(x);
  uint32_t odd = away ? bits - 1 : bits;  // toward zero, then the sticky bit
  return __builtin_bit_cast(float, exact ? bits : odd | 1);
}
/// An integer whose size is above 2^Digits, rounded to an odd multiple of 2^Lost.
template <int Digits, int Lost, class I>
MLX_FN I rounded_to_odd(I x) {
  constexpr I kLost = (I(1) << Lost) - 1;
  using U = std::make_unsigned_t<I>;
  constexpr U kEnd = U(1) << Digits, kBelow = std::is_signed_v<I> ? kEnd : 0;
  const bool large = static_cast<U>(x) + kBelow > kEnd + kBelow;
  const I kept = static_cast<I>((x & ~kLost) | ((x & kLost) != 0 ? kLost + 1 : 0));
  return large ? kept : x;
}
template <class From>
MLX_FN float to_narrow_float(From x) {
  if constexpr (IsCx<From>::value) {
    return to_narrow_float(x.re);
  } else if constexpr (std::is_same_v<From, double>) {
    return round_to_odd(x);
  } else if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
    return round_to_odd(static_cast<double>(rounded_to_odd<53, 10>(x)));
  } else if constexpr (std::is_integral_v<From> && sizeof(From) == 4) {
    return static_cast<float>(rounded_to_odd<24, 8>(x));  // exact
  } else {
    return static_cast<float>(x);
  }
}

}  // namespace mlx::core::m
