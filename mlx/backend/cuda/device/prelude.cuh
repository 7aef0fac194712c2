// What every kernel starts with: element types, the math library over one lane, how a kernel is
// declared and where a thread finds itself. It compiles with NVRTC and, for tests, with a C++
// compiler of the host (host.cuh).
#pragma once

#define MLX_WITHOUT_C_LIBRARY

#ifdef __CUDACC_RTC__
#define __builtin_inff() __builtin_bit_cast(float, 0x7f800000u)
#define __builtin_nanf(text) __builtin_bit_cast(float, 0x7fc00000u)
#define __builtin_fabs(x) ::fabs(x)
#define __builtin_floor(x) ::floor(x)
#define __builtin_ceil(x) ::ceil(x)
#define __builtin_rint(x) ::rint(x)
#define __builtin_trunc(x) ::trunc(x)
#define __builtin_sqrt(x) ::sqrt(x)
#define __builtin_fma(a, b, c) ::fma(a, b, c)
#define __builtin_fmod(a, b) ::fmod(a, b)
#define __builtin_copysign(a, b) ::copysign(a, b)
#define __builtin_hypot(a, b) ::hypot(a, b)
#define __builtin_exp(x) ::exp(x)
#define __builtin_expm1(x) ::expm1(x)
#define __builtin_log(x) ::log(x)
#define __builtin_log1p(x) ::log1p(x)
#define __builtin_pow(a, b) ::pow(a, b)
#define __builtin_sin(x) ::sin(x)
#define __builtin_cos(x) ::cos(x)
#define __builtin_tan(x) ::tan(x)
#define __builtin_sinh(x) ::sinh(x)
#define __builtin_cosh(x) ::cosh(x)
#define __builtin_tanh(x) ::tanh(x)
#define __builtin_asinh(x) ::asinh(x)
#define __builtin_atan(x) ::atan(x)
#define __builtin_atan2(a, b) ::atan2(a, b)
#define __builtin_erf(x) ::erf(x)
#define __builtin_erfc(x) ::erfc(x)
#define MLX_SHARED __shared__
#define MLX_NOINLINE inline __noinline__
// A kernel takes one block of arguments.
#define MLX_KERNEL(name, Parameters, p) \
  extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ Parameters p)
// One whose threads meet at barriers or shuffles.
#define MLX_IN_STEP_KERNEL(name, Parameters, p) MLX_KERNEL(name, Parameters, p)
#else
#include "mlx/backend/cuda/device/host.cuh"
#endif

#include "mlx/core/half.h"

#include "mlx/backend/shared/bodies.h"
#include "mlx/backend/shared/lane.h"
#include "mlx/backend/shared/math_cast.h"

namespace mlx::core::device {

using lane::LD;
using lane::LF;
using complex64_t = m::Cx<float>;
using complex128_t = m::Cx<double>;

inline constexpr int kThreads = 256;  // a block

/// The arguments of a kernel, 8 bytes each.
template <int N>
struct Words {
  int64_t w[N];
};
MLX_FN double as_double(int64_t w) { return __builtin_bit_cast(double, w); }

/// A value of type T from the first bytes of 16.
template <class T>
MLX_FN T constant(int64_t low, int64_t high) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<T>(static_cast<uint8_t>(low));
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(T, static_cast<uint16_t>(low));
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, static_cast<uint32_t>(low));
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, low);
  } else {
    return T{as_double(low), as_double(high)};
  }
}

//--- 16-bit floats ------------------------------------------------------------------------------

MLX_FN float widened(bfloat16_t x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}
MLX_FN float widened(float16_t x) {
#ifdef __CUDACC_RTC__
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
  return f;
#else
  return static_cast<float>(x);
#endif
}
template <class T>
MLX_FN T narrowed(float x) {
  T r;
#ifdef __CUDACC_RTC__
  if constexpr (std::is_same_v<T, float16_t>) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
    return r;
  }
#endif
  r.bits = T::from_float(x);
  return r;
}

//--- rows of ops/elementwise.def ----------------------------------------------------------------

template <class T>
inline constexpr bool is_narrow = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>;

/// What a row computes with.
template <class T>
MLX_FN auto operand(T x) {
  if constexpr (is_narrow<T>) {
    return LF(widened(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    return lane::Lane<T>(x);
  } else {
    return x;
  }
}
// Its result as it lies in memory.
template <class T>
MLX_FN T plain(lane::Lane<T> x) {
  return x.v;
}
template <int S>
MLX_FN bool plain(lane::Mask<S> x) {
  return x.m;
}
template <class T>
MLX_FN T plain(T x) {
  return x;
}

/// One micro-op, rounded once to its result's type.
template <class Out, class F, class... T>
MLX_FN Out row(F f, T... x) {
  auto r = plain(f(operand(x)...));
  if constexpr (is_narrow<Out>) {
    return narrowed<Out>(r);
  } else {
    return r;
  }
}

/// Conversion between element types.
template <class To, class From>
MLX_FN To cast(From x) {
  if constexpr (is_narrow<From>) {
    return cast<To>(widened(x));
  } else if constexpr (std::is_same_v<From, bool>) {
    return cast<To>(static_cast<uint8_t>(x));
  } else if constexpr (is_narrow<To>) {
    return narrowed<To>(m::to_narrow_float(x));
  } else {
    return m::convert<To>(x);
  }
}

}  // namespace mlx::core::device
