// How a kernel is declared, how a thread finds itself, and barriers.
#pragma once

#define threadIdx mlx_place.thread_index
#define blockIdx mlx_place.block_index
#define gridDim mlx_place.blocks
#define __shfl_sync(lanes, value, lane) from_lane(value, (lane) & 31)
#define __shfl_xor_sync(lanes, value, mask) from_lane(value, threadIdx.x % 32 ^ (mask))
#define __shfl_down_sync(lanes, value, distance) from_behind(mlx_place, value, distance)
#define __shfl_up_sync(lanes, value, distance) from_before(mlx_place, value, distance)
#define __ballot_sync(lanes, condition) votes(condition)
#define __popc(bits) static_cast<int>(popcount(static_cast<uint32_t>(bits)))
#define __ffs(bits) first_set(bits)

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

/// The value of another lane.
template <class T>
inline T from_lane(T value, uint32_t lane) {
  if constexpr (sizeof(T) == 8) {  // in two parts: the language has no shuffle of 64 bits
    const uint64_t bits = bit_cast<uint64_t>(value);
    const uint32_t low = simd_shuffle(static_cast<uint32_t>(bits), static_cast<ushort>(lane));
    const uint32_t high =
        simd_shuffle(static_cast<uint32_t>(bits >> 32), static_cast<ushort>(lane));
    return bit_cast<T>(static_cast<uint64_t>(high) << 32 | low);
  } else {
    return simd_shuffle(value, static_cast<ushort>(lane));
  }
}
/// The value of the lane `distance` further on, or before; the own one where there is none.
template <class T>
inline T from_behind(thread const Place& place, T value, int distance) {
  const uint32_t lane = place.thread_index.x % 32, from = lane + static_cast<uint32_t>(distance);
  return from_lane(value, from < 32 ? from : lane);
}
template <class T>
inline T from_before(thread const Place& place, T value, int distance) {
  const uint32_t lane = place.thread_index.x % 32, before = static_cast<uint32_t>(distance);
  return from_lane(value, before <= lane ? lane - before : lane);
}

/// The lanes of which a condition is true, a bit each.
inline uint32_t votes(bool condition) {
  return static_cast<uint32_t>(static_cast<simd_vote::vote_t>(simd_ballot(condition)));
}
/// The place of the lowest bit that is set, from 1 on; 0 where there is none.
inline int first_set(uint32_t bits) { return bits ? static_cast<int>(ctz(bits)) + 1 : 0; }

// Atomic operations of 32 bits in memory of the device and of the block. One of 64 bits adds the
// lower half, then what it carries and the upper half: the language has none.
#define MLX_ATOMICS(space)                                                                  \
  inline uint32_t atomicAdd(space uint32_t* at, uint32_t x) {                               \
    return atomic_fetch_add_explicit(reinterpret_cast<space atomic_uint*>(at), x,           \
                                     memory_order_relaxed);                                 \
  }                                                                                         \
  inline uint32_t atomicMax(space uint32_t* at, uint32_t x) {                               \
    return atomic_fetch_max_explicit(reinterpret_cast<space atomic_uint*>(at), x,           \
                                     memory_order_relaxed);                                 \
  }                                                                                         \
  inline void atomic_add(space uint32_t* at, uint32_t x) { atomicAdd(at, x); }              \
  inline void atomic_add(space uint64_t* at, uint64_t x) {                                  \
    space uint32_t* const halves = reinterpret_cast<space uint32_t*>(at);                   \
    const uint32_t low = static_cast<uint32_t>(x), before = atomicAdd(halves, low);         \
    atomicAdd(halves + 1, static_cast<uint32_t>(x >> 32) + (before + low < low ? 1u : 0u)); \
  }
MLX_ATOMICS(device)
#ifndef EMULATED_ONE_SPACE
MLX_ATOMICS(threadgroup)
#endif
#undef MLX_ATOMICS
#define MLX_OWN_ATOMICS

/// The value at an address, which becomes `desired` where it was `expected`.
inline uint32_t atomicCAS(device uint32_t* at, uint32_t expected, uint32_t desired) {
  uint32_t found = expected;
  // A weak exchange may fail where the value is the expected one.
  while (!atomic_compare_exchange_weak_explicit(reinterpret_cast<device atomic_uint*>(at), &found,
                                                desired, memory_order_relaxed,
                                                memory_order_relaxed))
    if (found != expected) return found;
  return expected;
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
// One with registers for so many blocks on a processor, which the language does not say.
#define MLX_RESIDENT_KERNEL(name, Parameters, p, blocks) MLX_SHARING_KERNEL(name, Parameters, p)
#define MLX_PLACE_IN_STEP Place{{mlx_thread}, {mlx_block}, {mlx_blocks}, mlx_memory, 0}
// The first argument that a printed kernel gives a function whose threads meet.
#define MLX_HERE MLX_PLACE_IN_STEP,

#define __syncthreads() threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)
#define __syncwarp() simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)
// The host reads what a kernel reports when its command buffer has ended.
#define __threadfence_system()
