// The kernels that keep what a mask selects, compiled once per instruction set.
#pragma once

#include <stdint.h>

namespace mlx::core::cpu {

/// An element of 16 bytes.
struct Item16 {
  uint64_t low, high;
};

/// How many of n bytes are not zero.
using CountTrueFn = int64_t (*)(const uint8_t* mask, int64_t n);
/// Writes i for each mask[i] that is not zero, plus `first`. Touches `room` places of `out` at
/// most; returns how many it needed as far as it got: more than `room` where that was not enough.
using PlacesFn = int64_t (*)(const uint8_t* mask, int64_t n, int32_t first, int32_t* out,
                             int64_t room);
/// The same for the elements from[i].
using KeepFn = int64_t (*)(const uint8_t* mask, int64_t n, const void* from, void* out,
                           int64_t room);
/// The way back: to[i] = values[k] for the k-th mask[i] that is not zero. There are `room` values.
using SpreadFn = int64_t (*)(const uint8_t* mask, int64_t n, const void* values, void* to,
                             int64_t room);
/// Ascending offsets from the place `start` on an axis of that length: the places they lead to, and
/// how often they pass the end of the axis, in their stead. No sum may reach 2^31.
using SplitFn = void (*)(uint32_t* offsets, int64_t n, uint32_t start, uint32_t length,
                         uint32_t* places);

struct CompactKernels {
  CountTrueFn count;
  PlacesFn places;
  KeepFn keep[5];  ///< elements of 1, 2, 4, 8 and 16 bytes
  SpreadFn spread[5];
  SplitFn split;
};

namespace v2 {
extern const CompactKernels compact_kernels;
}
namespace avx2 {
extern const CompactKernels compact_kernels;
}
namespace avx512 {
extern const CompactKernels compact_kernels;
}

}  // namespace mlx::core::cpu
