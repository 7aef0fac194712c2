// The start of every kernel: element types and the math library over one lane. The text before it
// is the target's: how a kernel is declared, how a thread finds itself, and barriers (for NVIDIA's
// compiler mlx/backend/cuda/device/target.cuh).
#pragma once

#define MLX_WITHOUT_C_LIBRARY

#include "mlx/backend/math/bodies.h"
#include "mlx/backend/math/cast.h"
#include "mlx/backend/math/lane.h"
#include "mlx/core/half.h"

namespace mlx::core::device {

using lane::LD;
using lane::LF;
using complex64_t = m::Cx<float>;
using complex128_t = m::Cx<double>;

MLX_CONSTANT int kThreads = 256;  // a block
#ifndef MLX_BLOCK_MEMORY          // bytes that the threads of a block may share
#define MLX_BLOCK_MEMORY (48 << 10)
#endif
MLX_CONSTANT int kBlockMemory = MLX_BLOCK_MEMORY;

/// Pointers to memory of the device, and to memory that the threads of a block share.
template <class T>
using DevicePointer = MLX_DEVICE T*;
template <class T>
using SharedPointer = MLX_SHARED_SPACE T*;
/// The elements at an address of the device.
template <class T>
MLX_FN DevicePointer<T> memory(int64_t address) {
  return reinterpret_cast<DevicePointer<T>>(address);
}

/// V neighbours in memory, which one access takes.
template <class T, int V>
struct alignas(sizeof(T) * V) Neighbours {
  T x[V];
};

template <class To, class T>
MLX_FN DevicePointer<To> neighbours(DevicePointer<T> at) {
  return reinterpret_cast<DevicePointer<To>>(at);
}

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
#if __CUDA_ARCH__ >= 800
  // The instructions for pairs are faster than those for a number.
  uint32_t pair;
  if constexpr (std::is_same_v<T, float16_t>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
  }
  r.bits = static_cast<uint16_t>(pair);
  return r;
#else
  if constexpr (std::is_same_v<T, float16_t>) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
    return r;
  }
#endif
#endif
  r.bits = T::from_float(x);
  return r;
}

//--- rows of ops/elementwise.def ----------------------------------------------------------------

template <class T>
MLX_CONSTANT bool is_narrow = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>;

/// The type with which a row computes.
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
// The result as it is stored.
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

/// Half of the numbers of an interval of the error function. One load takes it; tables by
/// coefficients need seven loads for an element.
struct alignas(16) ErfPart {
  float x[4];
};
struct ErfParts {
  ErfPart low[16], high[16];
};
constexpr ErfParts erf_parts() {
  ErfParts p{};
  for (int i = 0; i < 16; ++i) {
    p.low[i].x[0] = m::special_detail::kErfCentre[i];
    for (int c = 0; c < 3; ++c) p.low[i].x[c + 1] = m::special_detail::kErf[5 - c][i];
    for (int c = 0; c < 3; ++c) p.high[i].x[c] = m::special_detail::kErf[2 - c][i];
  }
  return p;
}
MLX_CONSTANT ErfParts kErfParts = erf_parts();

/// A row of the table of operands in one lane.
template <class F, class... V>
MLX_FN auto evaluated(F f, V... x) {
  return f(x...);
}
/// The steps of m::erf_each.
MLX_FN LF evaluated(bodies::erf, LF x) {
  const LF a = v_min(LF(4.1f), v_abs(x));
  const LF nearest = v_fma(a, LF(64.0f / 17.0f), LF(m::kRounder<float>));
  const int i = v_bits(nearest).v & 15;
  const ErfPart low = kErfParts.low[i], high = kErfParts.high[i];
  const LF t = a - LF(low.x[0]);
  LF r = low.x[1];
  r = v_fma(r, t, LF(low.x[2]));
  r = v_fma(r, t, LF(low.x[3]));
  r = v_fma(r, t, LF(high.x[0]));
  r = v_fma(r, t, LF(high.x[1]));
  const LF first = i == 0 ? t : LF(high.x[2]);
  return v_copysign(v_fma(r, t, first), x);
}

#ifdef __CUDACC_RTC__
MLX_FN float reciprocal_approximately(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
MLX_NOINLINE float any_quotient(float a, float b) { return a / b; }
/// A quotient that rounds to the quotient of numbers of 8 bits. No such quotient of normal numbers
/// is within 2^-18 of the middle of two numbers of 8 bits, and the approximation within 2^-22.
MLX_FN float quotient(bfloat16_t x, bfloat16_t y) {
  const float a = widened(x), b = widened(y), size = ::fabsf(b);
  const float q = a * reciprocal_approximately(b);
  const bool common = size >= 0x1p-125f && size <= 0x1p125f && (::fabsf(q) >= 0x1p-125f || a == 0);
  return common ? q : any_quotient(a, b);
}
/// The same of 11 bits: within 2^-23 of no middle. All numbers are within 2^-24 to 2^16.
MLX_FN float quotient(float16_t x, float16_t y) {
  const float a = widened(x), b = widened(y), r = reciprocal_approximately(b), first = a * r;
  const float better = ::fmaf(::fmaf(-b, r, 1.0f), r, r), q = a * better;
  const float last = ::fmaf(::fmaf(-b, q, a), better, q);
  // Of 0, infinity and NaN the first; a zero has its sign.
  return ::fabsf(last) < __builtin_inff() ? ::copysignf(last, first) : first;
}
#endif

/// One micro-op, rounded once to its result's type.
template <class Out, class F, class... T>
MLX_FN Out row(F f, T... x) {
#ifdef __CUDACC_RTC__
  if constexpr (is_narrow<Out> && std::is_same_v<F, bodies::divide>)
    return narrowed<Out>(quotient(x...));
#endif
  auto r = plain(evaluated(f, operand(x)...));
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
