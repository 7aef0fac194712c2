// The vocabulary of kernels for clang under rules of Metal's language. As C++ for OpenCL a pointer
// without an address space is the thread's own, and constants of a namespace have a space, too; as
// C++14 the words of newer versions are extensions. In both there is no double, no recursion and no
// standard library. Functions are declared alone: nothing here runs.
#pragma once

#ifdef __OPENCL_CPP_VERSION__
#define MLX_DEVICE __global
#define MLX_SHARED __local
#define MLX_SHARED_SPACE __local
#define MLX_CONSTANT constexpr __constant
#define MLX_ENTRY __kernel void
#else
#define MLX_DEVICE
#define MLX_SHARED static
#define MLX_SHARED_SPACE
#define MLX_CONSTANT constexpr
#define MLX_ENTRY extern "C" void
#endif
#define MLX_FN inline __attribute__((always_inline))
#define MLX_NOINLINE inline __attribute__((noinline))
#define MLX_KERNEL(name, Parameters, p)                \
  static void name##_body(const Parameters& p);        \
  MLX_ENTRY name(Parameters own) { name##_body(own); } \
  static void name##_body(const Parameters& p)
#define MLX_IN_STEP_KERNEL(name, Parameters, p) MLX_KERNEL(name, Parameters, p)

// Names here that are words of that language.
#define global mlx_global
#define half mlx_half
#define kernel mlx_kernel

/// A number of 8 bytes without arithmetic.
enum class MlxDouble : unsigned long {};
#define double MlxDouble

struct MlxIndex {
  unsigned x, y, z;
};
MlxIndex mlx_thread(), mlx_block(), mlx_blocks();
#define threadIdx mlx_thread()
#define blockIdx mlx_block()
#define gridDim mlx_blocks()

void __syncthreads();
template <class T>
T __shfl_down_sync(unsigned lanes, T value, int distance);
float fmaf(float, float, float);
MlxDouble fma(MlxDouble, MlxDouble, MlxDouble);
