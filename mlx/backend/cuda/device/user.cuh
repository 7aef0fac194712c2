// The prelude of a kernel given as source: the names of element types, and how it is declared.
#pragma once

#ifdef __CUDACC_RTC__
#include <stdint.h>
#define MLX_USER_BODY static __device__ __forceinline__
#define MLX_USER_KERNEL(name, threads, Parameters, p) \
  extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Parameters p)
#else
#include <math.h>

#include "mlx/backend/cuda/device/host.cuh"
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __shared__ thread_local
#define MLX_USER_BODY static inline
#define MLX_USER_KERNEL(name, threads, Parameters, p) MLX_IN_STEP_KERNEL(name, Parameters, p)
#endif

#include "mlx/core/half.h"

namespace mlx::core::device {

/// A 16-bit float: arithmetic is float's, and what is assigned is rounded.
template <class Stored>
struct UserFloat : Stored {
  UserFloat() = default;
  __device__ UserFloat(float x) { this->bits = rounded(x); }
  __device__ operator float() const { return widened(); }
  __device__ UserFloat& operator+=(float x) { return *this = *this + x; }
  __device__ UserFloat& operator-=(float x) { return *this = *this - x; }
  __device__ UserFloat& operator*=(float x) { return *this = *this * x; }
  __device__ UserFloat& operator/=(float x) { return *this = *this / x; }

 private:
  static constexpr bool kIsHalf = !Stored::from_float(1e-30f);  // which bfloat16 holds
  static __device__ uint16_t rounded(float x) {
#ifdef __CUDACC_RTC__
    if constexpr (kIsHalf) {
      uint16_t bits;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
      return bits;
    }
#endif
    return Stored::from_float(x);
  }
  __device__ float widened() const {
#ifdef __CUDACC_RTC__
    if constexpr (kIsHalf) {
      float x;
      asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(this->bits));
      return x;
    }
#endif
    return Stored::operator float();
  }
};

/// A complex number.
template <class T>
struct UserComplex {
  T re, im;
  UserComplex() = default;
  __device__ constexpr UserComplex(T re, T im = 0) : re(re), im(im) {}
  template <class U>
  __device__ constexpr UserComplex(UserComplex<U> z)
      : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}
  __device__ constexpr T real() const { return re; }
  __device__ constexpr T imag() const { return im; }
  friend __device__ UserComplex operator+(UserComplex a, UserComplex b) {
    return {a.re + b.re, a.im + b.im};
  }
  friend __device__ UserComplex operator-(UserComplex a, UserComplex b) {
    return {a.re - b.re, a.im - b.im};
  }
  friend __device__ UserComplex operator-(UserComplex a) { return {-a.re, -a.im}; }
  friend __device__ UserComplex operator*(UserComplex a, UserComplex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend __device__ UserComplex operator/(UserComplex a, UserComplex b) {
    const T n = b.re * b.re + b.im * b.im;
    return {(a.re * b.re + a.im * b.im) / n, (a.im * b.re - a.re * b.im) / n};
  }
  friend __device__ bool operator==(UserComplex a, UserComplex b) {
    return a.re == b.re && a.im == b.im;
  }
  __device__ UserComplex& operator+=(UserComplex b) { return *this = *this + b; }
  __device__ UserComplex& operator-=(UserComplex b) { return *this = *this - b; }
  __device__ UserComplex& operator*=(UserComplex b) { return *this = *this * b; }
  __device__ UserComplex& operator/=(UserComplex b) { return *this = *this / b; }
};

}  // namespace mlx::core::device

using float16_t = mlx::core::device::UserFloat<mlx::core::float16_t>;
using bfloat16_t = mlx::core::device::UserFloat<mlx::core::bfloat16_t>;
using complex64_t = mlx::core::device::UserComplex<float>;
using complex128_t = mlx::core::device::UserComplex<double>;
