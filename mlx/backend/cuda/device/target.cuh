// The vocabulary of kernels for NVIDIA's compiler NVRTC and, for tests, for a C++ compiler of the
// host (host.cuh): how a kernel is declared, built-in functions by the names of C++ compilers.
#pragma once

// Languages in which pointers have address spaces, and constants of a namespace another one, name
// them here.
#define MLX_DEVICE
#define MLX_SHARED_SPACE
#define MLX_THREAD
#define MLX_ARGUMENTS
// The first argument that a printed kernel gives a function whose threads meet, in languages
// without variables for the thread's place.
#define MLX_HERE
#define MLX_CONSTANT inline constexpr

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
// A kernel of a graph may begin when all blocks of the one before have begun (programmatic
// dependent launch, from compute capability 9.0 on). The memory is its own after the wait; from
// then on the next one may begin.
inline __device__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
inline __device__ void let_next_kernel_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// __VA_ARGS__: the most threads of a block, and how many blocks of them fit on a processor.
#define MLX_DECLARED_KERNEL(name, Parameters, p, ...)       \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__) \
      name(const __grid_constant__ Parameters p)
#define MLX_WAITING_KERNEL(name, Parameters, p, ...)                       \
  static __device__ __forceinline__ void name##_body(const Parameters& p); \
  MLX_DECLARED_KERNEL(name, Parameters, p, __VA_ARGS__) {                  \
    wait_for_kernel_before();                                              \
    let_next_kernel_begin();                                               \
    name##_body(p);                                                        \
  }                                                                        \
  static __device__ __forceinline__ void name##_body(const Parameters& p)
// A kernel takes one block of arguments.
#define MLX_KERNEL(name, Parameters, p) MLX_WAITING_KERNEL(name, Parameters, p, 256)
// One whose threads meet at barriers or shuffles.
#define MLX_IN_STEP_KERNEL(name, Parameters, p) MLX_KERNEL(name, Parameters, p)
// The same with registers for so many blocks on a processor.
#define MLX_RESIDENT_KERNEL(name, Parameters, p, blocks) \
  MLX_WAITING_KERNEL(name, Parameters, p, 256, blocks)
// The same, which calls wait_for_kernel_before and let_next_kernel_begin itself.
#define MLX_EARLY_KERNEL(name, Parameters, p, blocks) \
  MLX_DECLARED_KERNEL(name, Parameters, p, 256, blocks)
// One by products of warpgroups, with so many threads: 256 leave registers for another block.
#define MLX_GROUP_KERNEL(name, Parameters, p, threads) \
  MLX_WAITING_KERNEL(name, Parameters, p, threads, (threads) <= 256 ? 2 : 1)
#else
#include "mlx/backend/cuda/device/host.cuh"
#endif
