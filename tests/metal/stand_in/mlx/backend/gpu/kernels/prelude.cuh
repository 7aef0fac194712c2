// The prelude of kernels with declarations in the place of the math library, which is C++20.
#pragma once

#include <stdint.h>

namespace std {
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
template <class A, class B>
MLX_CONSTANT bool is_same_v = false;
template <class A>
MLX_CONSTANT bool is_same_v<A, A> = true;
template <class T>
MLX_CONSTANT bool is_floating_point_v = is_same_v<T, float>;
template <class T>
MLX_CONSTANT bool is_signed_v = static_cast<T>(-1) < static_cast<T>(0);
}  // namespace std

namespace mlx::core {

enum class float16_t : uint16_t {};
enum class bfloat16_t : uint16_t {};

namespace m {
template <class F>
struct Cx {
  F re, im;
};
template <class T>
struct IsCx {
  static MLX_CONSTANT bool value = false;
};
template <class F>
struct IsCx<Cx<F>> {
  static MLX_CONSTANT bool value = true;
};
template <class T>
T add(T a, T b);
template <class T>
T multiply(T a, T b);
template <class T>
bool greater(T a, T b);
template <class T>
bool isnan(T x);
}  // namespace m

namespace device {

MLX_CONSTANT int kThreads = 256;
template <class T>
using DevicePointer = MLX_DEVICE T*;
template <class T>
using SharedPointer = MLX_SHARED_SPACE T*;
template <class T>
MLX_FN DevicePointer<T> memory(int64_t address) {
  return reinterpret_cast<DevicePointer<T>>(address);
}
template <class T>
MLX_CONSTANT bool is_narrow = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>;
template <class To, class From>
MLX_FN To cast(From x) {
  return static_cast<To>(x);
}
float widened(float16_t x);
float widened(bfloat16_t x);
template <class T>
T narrowed(float x);

}  // namespace device

}  // namespace mlx::core
