// The kernels behind scans, compiled once per instruction set. Accumulators are as wide as the
// elements, float32 for 16-bit floats. `rows` and `columns` go strictly from first to last; long
// scans are made of chunks that continue from a state.
#pragma once

#include <stdint.h>

#include "mlx/core/dtype.h"
#include "mlx/ops/scan_kind.h"

namespace mlx::core::cpu {

/// Rows that `rows` advances side by side, so that their additions overlap.
inline constexpr int kScanRows = 8;
/// Most columns for `columns`.
inline constexpr int64_t kScanColumns = 1024;

/// Strides are in elements and may be negative.
struct ScanKernels {
  /// Scans `count` <= kScanRows rows of n elements; row r is read at x[r] and written at y[r].
  void (*rows)(const void* const* x, void* const* y, int count, int64_t n, int64_t x_stride,
               int64_t y_stride, bool inclusive);
  /// Scans `width` columns that are neighbours in memory.
  void (*columns)(const void* x, void* y, int64_t width, int64_t n, int64_t x_stride,
                  int64_t y_stride, bool inclusive);

  int state;  ///< bytes of what is behind a part of a scan
  /// The state behind n elements, from the start.
  void (*total)(const void* x, int64_t n, int64_t x_stride, void* state);
  /// Scans n dense elements on from a state, which becomes the one behind them. May be in place.
  void (*resume)(const void* x, void* y, int64_t n, bool inclusive, void* state);
  /// The states of the start.
  void (*start)(void* states, int64_t width);
  /// Replaces `count` groups of `width` totals by the states before them; `before` is the first of
  /// these and becomes the one behind the last.
  void (*carry)(void* totals, int64_t count, int64_t width, void* before);
};

#define MLX_SCAN_TABLE(isa)                       \
  namespace isa {                                 \
  ScanKernels find_scan(Scan kind, Dtype::Val t); \
  }
MLX_SCAN_TABLE(v2)
MLX_SCAN_TABLE(avx2)
MLX_SCAN_TABLE(avx512)
#undef MLX_SCAN_TABLE

}  // namespace mlx::core::cpu
