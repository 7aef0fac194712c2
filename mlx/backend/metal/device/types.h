// Types and traits by the names that the shared texts of kernels have for them.
#pragma once

using namespace metal;

#define MLX_DEVICE device
#define MLX_SHARED threadgroup
#define MLX_THREAD thread
#define MLX_ARGUMENTS constant
#define MLX_SHARED_SPACE threadgroup
#define MLX_CONSTANT constexpr constant
#define MLX_NOINLINE inline
#define MLX_BLOCK_MEMORY (32 << 10)
#define MLX_INFINITY INFINITY
#define MLX_NAN NAN

namespace mlx_std {

template <bool Condition, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool Condition, class A, class B>
using conditional_t = typename conditional<Condition, A, B>::type;

template <bool Condition, class T>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};

template <class A, class B>
constexpr constant bool is_same_v = false;
template <class A>
constexpr constant bool is_same_v<A, A> = true;

template <class T>
struct integer_traits {
  static constexpr constant bool value = false, is_signed = false;
};
#define MLX_INTEGER(T, Unsigned, Signed)                                   \
  template <>                                                              \
  struct integer_traits<T> {                                               \
    static constexpr constant bool value = true, is_signed = T(-1) < T(0); \
    using unsigned_type = Unsigned;                                        \
    using signed_type = Signed;                                            \
  };
MLX_INTEGER(int8_t, uint8_t, int8_t)
MLX_INTEGER(uint8_t, uint8_t, int8_t)
MLX_INTEGER(int16_t, uint16_t, int16_t)
MLX_INTEGER(uint16_t, uint16_t, int16_t)
MLX_INTEGER(int32_t, uint32_t, int32_t)
MLX_INTEGER(uint32_t, uint32_t, int32_t)
MLX_INTEGER(int64_t, uint64_t, int64_t)
MLX_INTEGER(uint64_t, uint64_t, int64_t)
#undef MLX_INTEGER

template <class T>
constexpr constant bool is_integral_v = integer_traits<T>::value || is_same_v<T, bool>;
template <class T>
constexpr constant bool is_floating_point_v = is_same_v<T, float>;
template <class T>
constexpr constant bool is_signed_v = integer_traits<T>::is_signed || is_floating_point_v<T>;
template <class T>
using make_unsigned_t = typename integer_traits<T>::unsigned_type;
template <class T>
using make_signed_t = typename integer_traits<T>::signed_type;

}  // namespace mlx_std

/// A parameter of a template that is there where a condition holds.
#define MLX_IF(...) typename mlx_std::enable_if<(__VA_ARGS__), int>::type = 0

namespace mlx {
namespace core {

/// IEEE binary16, as it is stored.
struct float16_t {
  uint16_t bits;

  float16_t() = default;
  float16_t(float x) : bits(from_float(x)) {}
  operator float() const { return static_cast<float>(as_type<half>(bits)); }
  static uint16_t from_float(float x) { return as_type<uint16_t>(static_cast<half>(x)); }
};

/// The upper half of an IEEE binary32.
struct bfloat16_t {
  uint16_t bits;

  bfloat16_t() = default;
  bfloat16_t(float x) : bits(from_float(x)) {}
  operator float() const { return as_type<float>(static_cast<uint32_t>(bits) << 16); }
  static uint16_t from_float(float x) {
    const uint32_t u = as_type<uint32_t>(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);
    return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
};

}  // namespace core
}  // namespace mlx
