// The kernels behind scans, compiled once per instruction set. Accumulators are as wide as the
// elements, float32 for 16-bit floats; a scan goes strictly from first to last.
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
