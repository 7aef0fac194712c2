// The kernels of scans, compiled once per instruction set. Accumulators are as wide as the
// elements, float32 for 16-bit floats. `rows` and `columns` combine strictly from first to last;
// long scans are divided into chunks that continue from a state.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"
#include "mlx/ops/scan_kind.h"

namespace mlx::core::cpu {

/// Rows that `rows` processes side by side, to overlap their latencies.
inline constexpr int kScanRows = 8;
/// Maximum number of columns for `columns`.
inline constexpr int64_t kScanColumns = 1024;

/// Strides are in elements and may be negative.
struct ScanKernels {
  /// Scans `count` <= kScanRows rows of n elements; row r is read at x[r] and written at y[r].
  void (*rows)(const void* const* x, void* const* y, int count, int64_t n, int64_t x_stride,
               int64_t y_stride, bool inclusive);
  /// Scans `width` columns that are neighbours in memory.
  void (*columns)(const void* x, void* y, int64_t width, int64_t n, int64_t x_stride,
                  int64_t y_stride, bool inclusive);

  int state;  ///< bytes of the state after a part of a scan
  /// The state after n elements, from the initial state.
  void (*total)(const void* x, int64_t n, int64_t x_stride, void* state);
  /// Scans n dense elements from a state, and updates it. May be in place.
  void (*resume)(const void* x, void* y, int64_t n, bool inclusive, void* state);
  /// Initial states.
  void (*start)(void* states, int64_t width);
  /// Replaces `count` groups of `width` totals by the states before them; `before` is the state
  /// before the first group and is updated to that after the last.
  void (*carry)(void* totals, int64_t count, int64_t width, void* before);
};

#define MLX_SCAN_TABLE(isa, ...)                      \
  namespace isa {                                     \
  ScanKernels find_scan(ScanKind kind, Dtype::Val t); \
  }
MLX_EACH_ISA(MLX_SCAN_TABLE)
#undef MLX_SCAN_TABLE

}  // namespace mlx::core::cpu
