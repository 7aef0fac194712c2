// Groups of threads by the names of CUDA's cooperative groups, for sources that use them without
// including that header, which takes the compiler seconds: the grid, the block, warps of a block.
#pragma once

#include "mlx/backend/cuda/device/user.cuh"

namespace cooperative_groups {

struct thread_block {
  __device__ static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  __device__ static unsigned num_threads() { return size(); }
  __device__ static unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  __device__ static auto group_index() { return blockIdx; }
  __device__ static auto thread_index() { return threadIdx; }
  __device__ static auto group_dim() { return blockDim; }
  __device__ static auto dim_threads() { return blockDim; }
  __device__ static void sync() { __syncthreads(); }
};
__device__ inline thread_block this_thread_block() { return {}; }

struct grid_group {
  __device__ static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  __device__ static unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
           blockIdx.x;
  }
  __device__ static unsigned long long size() { return num_blocks() * thread_block::size(); }
  __device__ static unsigned long long num_threads() { return size(); }
  __device__ static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  __device__ static auto block_index() { return blockIdx; }
  __device__ static auto dim_blocks() { return gridDim; }
};
__device__ inline grid_group this_grid() { return {}; }

/// `Size` neighbouring threads of a block.
template <unsigned Size>
struct thread_block_tile {
  static_assert(Size > 0 && Size <= 32 && (Size & (Size - 1)) == 0, "a power of 2 up to 32");
  __device__ static constexpr unsigned size() { return Size; }
  __device__ static constexpr unsigned num_threads() { return Size; }
  __device__ static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  __device__ static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  __device__ static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  __device__ static void sync() { __syncwarp(mask()); }
  template <class T>
  __device__ static T shfl(T x, unsigned rank) {
    return __shfl_sync(mask(), x, static_cast<int>(first() + rank % Size));
  }
  template <class T>
  __device__ static T shfl_down(T x, unsigned distance) {
    const unsigned rank = thread_rank() + distance;
    return shfl(x, rank < Size ? rank : thread_rank());
  }
  template <class T>
  __device__ static T shfl_up(T x, unsigned distance) {
    return shfl(x, thread_rank() < distance ? thread_rank() : thread_rank() - distance);
  }
  template <class T>
  __device__ static T shfl_xor(T x, unsigned bits) {
    return shfl(x, thread_rank() ^ bits);
  }

 private:
  /// Where the tile begins in its warp.
  __device__ static unsigned first() { return thread_block::thread_rank() % 32 / Size * Size; }
  __device__ static unsigned mask() { return (~0u >> (32 - Size)) << first(); }
};
template <unsigned Size>
__device__ inline thread_block_tile<Size> tiled_partition(const thread_block&) {
  return {};
}

}  // namespace cooperative_groups
