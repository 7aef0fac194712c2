// Kernels as C++ of the host: the indices of a thread, and barriers at which the threads of a block
// take turns. The program that runs them (tests/cuda) sets the indices.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

struct MlxIndex {
  unsigned x, y, z;
};
extern "C" {
extern thread_local MlxIndex threadIdx, blockIdx, blockDim, gridDim;
/// Ends when all threads of the block have come here.
void mlx_block_barrier();
/// Gives `bytes` bytes at `value` of the thread `lane` of the warp; all its threads take part.
void mlx_shuffle(void* value, int bytes, int lane);
/// The threads of the warp whose `predicate` holds, a bit each; all its threads take part.
unsigned mlx_ballot(int predicate);
/// Ends when the kernel before has.
void mlx_wait_for_kernel_before();
}

inline void __syncthreads() { mlx_block_barrier(); }
inline void __syncwarp(unsigned = ~0u) { mlx_ballot(0); }
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  mlx_shuffle(&value, sizeof(T), lane & 31);
  return value;
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, int distance) {
  const int lane = threadIdx.x & 31;
  return __shfl_sync(mask, value, lane + distance < 32 ? lane + distance : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, int distance) {
  const int lane = threadIdx.x & 31;
  return __shfl_sync(mask, value, lane < distance ? lane : lane - distance);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int distance) {
  return __shfl_sync(mask, value, static_cast<int>(threadIdx.x & 31) ^ distance);
}
inline unsigned __ballot_sync(unsigned, int predicate) { return mlx_ballot(predicate); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs(static_cast<int>(x)); }
// Blocks run one after the other, threads of a block in turns: nothing comes between.
template <class T>
T atomicCAS(T* at, T expected, T value) {
  const T before = *at;
  if (before == expected) *at = value;
  return before;
}
template <class T>
T atomicExch(T* at, T value) {
  const T before = *at;
  *at = value;
  return before;
}
template <class T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at = before + value;
  return before;
}
template <class T>
T atomicMax(T* at, T value) {
  const T before = *at;
  if (before < value) *at = value;
  return before;
}
inline void __threadfence_system() {}

inline void wait_for_kernel_before() { mlx_wait_for_kernel_before(); }
inline void let_next_kernel_begin() {}

#define MLX_SHARED static thread_local
#define MLX_NOINLINE inline __attribute__((noinline))
#define MLX_KERNEL(name, Parameters, p)                      \
  static void name##_body(const Parameters& p);              \
  extern "C" void name(const void* arguments) {              \
    name##_body(*static_cast<const Parameters*>(arguments)); \
  }                                                          \
  static void name##_body(const Parameters& p)
#define MLX_IN_STEP_KERNEL(name, Parameters, p) \
  extern "C" {                                  \
  extern const int name##_in_step = 1;          \
  }                                             \
  MLX_KERNEL(name, Parameters, p)
#define MLX_RESIDENT_KERNEL(name, Parameters, p, blocks) MLX_IN_STEP_KERNEL(name, Parameters, p)
#define MLX_EARLY_KERNEL(name, Parameters, p, blocks) \
  extern "C" {                                        \
  extern const int name##_early = 1;                  \
  }                                                   \
  MLX_IN_STEP_KERNEL(name, Parameters, p)
