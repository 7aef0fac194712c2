// Functions of float and of Double by the names of C, declared before the math library and, where
// they are its own, defined behind it; casts of bits.
#pragma once

namespace mlx {
namespace core {

/// How the bits of a type are an integer's, where as_type does not take it.
template <class T>
struct Raw {
  using type = T;
  static T to(T x) { return x; }
  static T of(T x) { return x; }
};
#define MLX_RAW(T, Bits)                   \
  template <>                              \
  struct Raw<T> {                          \
    using type = Bits;                     \
    static Bits to(T x) { return x.bits; } \
    static T of(Bits x) {                  \
      T made;                              \
      made.bits = x;                       \
      return made;                         \
    }                                      \
  };
MLX_RAW(Double, uint64_t)
MLX_RAW(float16_t, uint16_t)
MLX_RAW(bfloat16_t, uint16_t)
#undef MLX_RAW

/// Whether as_type takes a type's raw bits.
template <class T>
constexpr constant bool is_number = mlx_std::is_integral_v<typename Raw<T>::type> ||
                                    mlx_std::is_floating_point_v<typename Raw<T>::type>;

template <class To, class From>
inline To bit_cast(From x) {
  if constexpr (is_number<To> && is_number<From>) {
    return Raw<To>::of(as_type<typename Raw<To>::type>(Raw<From>::to(x)));
  } else {
    return *reinterpret_cast<thread To*>(&x);
  }
}

}  // namespace core
}  // namespace mlx

namespace mlx_std {
template <>
constexpr constant bool is_floating_point_v<mlx::core::Double> = true;
template <>
constexpr constant bool is_signed_v<mlx::core::Double> = true;
}  // namespace mlx_std

namespace mlx_math {

using mlx::core::Double;
using mlx::core::double_of;

inline float fabsf(float x) { return metal::fabs(x); }
inline float sqrtf(float x) { return metal::sqrt(x); }
inline float rintf(float x) { return metal::rint(x); }
inline float floorf(float x) { return metal::floor(x); }
inline float ceilf(float x) { return metal::ceil(x); }
inline float truncf(float x) { return metal::trunc(x); }
inline float fmaf(float a, float b, float c) { return metal::fma(a, b, c); }
inline float floor(float x) { return metal::floor(x); }
inline float fabs(float x) { return metal::fabs(x); }

inline Double fabs(Double x) { return double_of(x.bits & ~mlx::core::double_detail::kSign); }
inline Double copysign(Double x, Double y) {
  return double_of(fabs(x).bits | (y.bits & mlx::core::double_detail::kSign));
}
inline Double sqrt(Double x) { return double_of(mlx::core::double_detail::square_root(x.bits)); }
inline Double fma(Double a, Double b, Double c) {
  return double_of(mlx::core::double_detail::fused(a.bits, b.bits, c.bits));
}
inline Double fmod(Double a, Double b) { return mlx::core::remainder_of(a, b); }
#define MLX_INTEGRAL(name, rounding)                                                     \
  inline Double name(Double x) {                                                         \
    return double_of(                                                                    \
        mlx::core::double_detail::integral(x.bits, mlx::core::double_detail::rounding)); \
  }
MLX_INTEGRAL(rint, nearest)
MLX_INTEGRAL(floor, down)
MLX_INTEGRAL(ceil, up)
MLX_INTEGRAL(trunc, to_zero)
#undef MLX_INTEGRAL

Double exp(Double x);
Double expm1(Double x);
Double log(Double x);
Double log1p(Double x);
Double sin(Double x);
Double cos(Double x);
Double tan(Double x);
Double sinh(Double x);
Double cosh(Double x);
Double tanh(Double x);
Double asinh(Double x);
Double atan(Double x);
Double atan2(Double y, Double x);
Double hypot(Double x, Double y);
// Only functions of float64 call these, and no kernel calls those.
Double pow(Double x, Double y);
Double erf(Double x);
Double erfc(Double x);

}  // namespace mlx_math

namespace mlx {
namespace core {

namespace lane {
template <class T>
struct Lane;
}

namespace m {

// C++14 finds a function by its argument where a template of its name is known.
template <class V>
void v_from_bits();

// The concepts of the math library: values of one lane, and integers.
template <class V>
struct IsLane {
  static constexpr constant int bytes = 0;
};
template <>
struct IsLane<lane::Lane<float>> {
  static constexpr constant int bytes = 4;
};
template <>
struct IsLane<lane::Lane<Double>> {
  static constexpr constant int bytes = 8;
};
template <class V>
constexpr constant bool Real = IsLane<V>::bytes != 0;
template <class V>
constexpr constant bool Real32 = IsLane<V>::bytes == 4;
template <class V>
constexpr constant bool Real64 = IsLane<V>::bytes == 8;
template <class T>
constexpr constant bool Integer = mlx_std::is_integral_v<T>;
template <class V>
constexpr constant bool RealOrInteger = Real<V> || Integer<V>;

}  // namespace m
}  // namespace core
}  // namespace mlx
