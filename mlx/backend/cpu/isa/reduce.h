// The kernels of reductions, compiled once per instruction set; mlx/backend/cpu/reduce.cpp does
// packing, threading and memory.
//
// Order: a reduction of n elements is divided into blocks of kReduceBlock. In a block, element i
// belongs to lane i mod kReduceLanes; a lane combines its elements from first to last, then the
// lanes are combined pairwise (distance 16, 8, 4, 2, 1), then the blocks pairwise like the carries
// of a binary counter. All entry points use this order for every layout, so results depend on shape
// alone.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"
#include "mlx/ops/reduce_kind.h"

namespace mlx::core::cpu {

inline constexpr int kReduceLanes = 32;
inline constexpr int kReduceDepth = 16;
inline constexpr int kReduceBlock = kReduceLanes * kReduceDepth;
/// Maximum bytes of a row of accumulators in `cols`.
inline constexpr int kReduceRowBytes = 2048;
/// Capacity for the partial results of a binary counter.
inline constexpr int kReduceLevels = 56;

/// The accumulator of argmax and argmin.
template <class A>
struct Best {
  A value;
  int64_t index;
};

/// One reduction of one element type. Pointers refer to elements and accumulators.
struct Reducer {
  int accumulator;  ///< bytes
  int columns;      ///< maximum number of columns for `cols`
  /// out[i] = reduction of the n > 0 contiguous elements at x + i * stride. `first` is the index of
  /// x[0] in its row, for argmax.
  void (*rows)(const void* x, int64_t stride, int64_t count, int64_t n, int64_t first, void* out);
  /// out[c] = reduction over r < n of x[offsets[r] + c], c < width, 0 < n <= kReduceBlock. If
  /// `offsets` is null the rows are dense and width <= columns / kReduceLanes. `far`: the elements
  /// are in main memory, and are prefetched.
  void (*cols)(const void* x, const int64_t* offsets, int n, int64_t width, int64_t first,
               void* out, bool far);
  /// into[i] = combine(into[i], from[i]).
  void (*merge)(void* into, const void* from, int64_t n);
  /// The result for empty input.
  void (*fill)(void* out, int64_t n);
};

/// The reducer, or one with accumulator 0 if the dtype is not supported. `sum` adds 8- and 16-bit
/// integers in 32 bits (uint32 accumulators), 16-bit floats in float32; `mean` adds integers of up
/// to 32 bits in int64 and longer ones in double; an accumulator of `any` (`all`) is nonzero if an
/// element is nonzero (is zero).
#define MLX_REDUCE_TABLE(isa, ...)                        \
  namespace isa {                                         \
  Reducer find_reducer(Reduction kind, Dtype::Val t);     \
  Reducer find_arg_reducer(Reduction kind, Dtype::Val t); \
  }
MLX_EACH_ISA(MLX_REDUCE_TABLE)
#undef MLX_REDUCE_TABLE

}  // namespace mlx::core::cpu
