// How a kernel is declared, how a thread finds itself, and barriers.
#pragma once

#define threadIdx place.thread_index
#define blockIdx place.block_index
#define gridDim place.blocks
#define __shfl_down_sync(lanes, value, distance) shuffle_down(place, value, distance)

namespace mlx {
namespace core {
namespace mlx_device {

struct PlaceIndex {
  uint32_t x;
};
/// Where a thread is, and the memory of its block that is not taken. A function passes it on.
struct Place {
  PlaceIndex thread_index, block_index, blocks;
  threadgroup char* memory;
  uint32_t taken;

  template <class T>
  threadgroup T& take() {
    threadgroup char* const at = memory + taken;
    taken += (sizeof(T) + 15) / 16 * 16;
    return *reinterpret_cast<threadgroup T*>(at);
  }
};

/// The value of the lane `distance` further on; the own one where there is none.
template <class T>
inline T shuffle_down(thread const Place& place, T value, int distance) {
  const uint32_t lane = place.thread_index.x % 32;
  const uint32_t from = lane + distance < 32 ? lane + distance : lane;
  if constexpr (sizeof(T) == 8) {  // in two parts: the language has no shuffle of 64 bits
    const uint64_t bits = bit_cast<uint64_t>(value);
    const uint32_t low = simd_shuffle(static_cast<uint32_t>(bits), from);
    const uint32_t high = simd_shuffle(static_cast<uint32_t>(bits >> 32), from);
    return bit_cast<T>(static_cast<uint64_t>(high) << 32 | low);
  } else {
    return simd_shuffle(value, from);
  }
}

}  // namespace mlx_device
}  // namespace core
}  // namespace mlx

// A kernel takes one block of arguments, and threads in a row.
#define MLX_KERNEL(name, Parameters, p)                                                      \
  kernel void name(                                                                          \
      constant Parameters& p [[buffer(0)]], uint mlx_thread [[thread_index_in_threadgroup]], \
      uint mlx_block [[threadgroup_position_in_grid]], uint mlx_blocks [[threadgroups_per_grid]])
#define MLX_PLACE Place{{mlx_thread}, {mlx_block}, {mlx_blocks}, nullptr, 0}
// One of a printed program, whose threads meet at barriers.
#define MLX_IN_STEP_KERNEL(name, Parameters, p) MLX_KERNEL(name, Parameters, p)
// One of a family, which may shuffle and have memory of the block.
#define MLX_SHARING_KERNEL(name, Parameters, p)                                                   \
  kernel void name(                                                                               \
      constant Parameters& p [[buffer(0)]], uint mlx_thread [[thread_index_in_threadgroup]],      \
      uint mlx_block [[threadgroup_position_in_grid]], uint mlx_blocks [[threadgroups_per_grid]], \
      threadgroup char* mlx_memory [[threadgroup(0)]])
#define MLX_PLACE_IN_STEP Place{{mlx_thread}, {mlx_block}, {mlx_blocks}, mlx_memory, 0}

#define __syncthreads() threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)
