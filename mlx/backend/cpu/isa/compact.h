// Compression and expansion by masks, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"

namespace mlx::core::cpu {

/// An element of 16 bytes.
struct Item16 {
  uint64_t low, high;
};

/// The number of nonzero bytes among n.
using CountTrueFn = int64_t (*)(const uint8_t* mask, int64_t n);
/// Writes i + `first` for each nonzero mask[i]. Writes at most `capacity` elements of `out`;
/// returns the required number as far as it was counted: more than `capacity` if that was not
/// enough.
using IndicesFn = int64_t (*)(const uint8_t* mask, int64_t n, int32_t first, int32_t* out,
                              int64_t capacity);
/// The same for the elements from[i].
using CompressFn = int64_t (*)(const uint8_t* mask, int64_t n, const void* from, void* out,
                               int64_t capacity);
/// The inverse: to[i] = values[k] for the k-th nonzero mask[i]. There are `capacity` values.
using ExpandFn = int64_t (*)(const uint8_t* mask, int64_t n, const void* values, void* to,
                             int64_t capacity);
/// Wraps ascending offsets, relative to `start`, around an axis of that length: replaces each by
/// the number of wraps, and stores the index on the axis. No sum may reach 2^31.
using SplitFn = void (*)(uint32_t* offsets, int64_t n, uint32_t start, uint32_t length,
                         uint32_t* indices);

struct CompactKernels {
  CountTrueFn count;
  IndicesFn indices;
  CompressFn compress[5];  ///< elements of 1, 2, 4, 8 and 16 bytes
  ExpandFn expand[5];
  SplitFn split;
};

#define MLX_COMPACT_TABLE(isa, ...)            \
  namespace isa {                              \
  extern const CompactKernels compact_kernels; \
  }
MLX_EACH_ISA(MLX_COMPACT_TABLE)
#undef MLX_COMPACT_TABLE

}  // namespace mlx::core::cpu
