// Arithmetic of the 16-bit floating types, for programs: two of a type give that type, and so does
// one beside an integer; beside a float or a double it gives that. The engine computes in float.
#pragma once

#include <concepts>

#include "mlx/core/half.h"

namespace mlx::core {

#define MLX_HALF_OPERATOR(T, op)                                                                  \
  constexpr T operator op(T a, T b) { return T(static_cast<float>(a) op static_cast<float>(b)); } \
  template <std::integral Int>                                                                    \
  constexpr T operator op(T a, Int b) {                                                           \
    return T(static_cast<float>(a) op static_cast<float>(b));                                     \
  }                                                                                               \
  template <std::integral Int>                                                                    \
  constexpr T operator op(Int a, T b) {                                                           \
    return T(static_cast<float>(a) op static_cast<float>(b));                                     \
  }                                                                                               \
  template <std::floating_point F>                                                                \
  constexpr F operator op(T a, F b) {                                                             \
    return static_cast<float>(a) op b;                                                            \
  }                                                                                               \
  template <std::floating_point F>                                                                \
  constexpr F operator op(F a, T b) {                                                             \
    return a op static_cast<float>(b);                                                            \
  }                                                                                               \
  template <std::convertible_to<float> N>                                                         \
  constexpr T& operator op## = (T & a, N b) {                                                     \
    return a = T(static_cast<float>(a) op static_cast<float>(b));                                 \
  }
#define MLX_HALF_COMPARISON(T, op)                                                                \
  constexpr bool operator op(T a, T b) { return static_cast<float>(a) op static_cast<float>(b); } \
  template <class N>                                                                              \
    requires std::is_arithmetic_v<N>                                                              \
  constexpr bool operator op(T a, N b) {                                                          \
    return static_cast<float>(a) op b;                                                            \
  }                                                                                               \
  template <class N>                                                                              \
    requires std::is_arithmetic_v<N>                                                              \
  constexpr bool operator op(N a, T b) {                                                          \
    return a op static_cast<float>(b);                                                            \
  }
#define MLX_HALF_OPERATORS(T)                                      \
  MLX_HALF_OPERATOR(T, +)                                          \
  MLX_HALF_OPERATOR(T, -)                                          \
  MLX_HALF_OPERATOR(T, *)                                          \
  MLX_HALF_OPERATOR(T, /)                                          \
  constexpr T operator-(T a) { return T(-static_cast<float>(a)); } \
  MLX_HALF_COMPARISON(T, ==)                                       \
  MLX_HALF_COMPARISON(T, !=)                                       \
  MLX_HALF_COMPARISON(T, <)                                        \
  MLX_HALF_COMPARISON(T, <=)                                       \
  MLX_HALF_COMPARISON(T, >)                                        \
  MLX_HALF_COMPARISON(T, >=)
MLX_HALF_OPERATORS(float16_t)
MLX_HALF_OPERATORS(bfloat16_t)
#undef MLX_HALF_OPERATORS
#undef MLX_HALF_COMPARISON

#define MLX_MIXED_HALF_OPERATOR(op)                        \
  constexpr float operator op(float16_t a, bfloat16_t b) { \
    return static_cast<float>(a) op static_cast<float>(b); \
  }                                                        \
  constexpr float operator op(bfloat16_t a, float16_t b) { \
    return static_cast<float>(a) op static_cast<float>(b); \
  }
MLX_MIXED_HALF_OPERATOR(+)
MLX_MIXED_HALF_OPERATOR(-)
MLX_MIXED_HALF_OPERATOR(*)
MLX_MIXED_HALF_OPERATOR(/)
#undef MLX_MIXED_HALF_OPERATOR
#undef MLX_HALF_OPERATOR

}  // namespace mlx::core
