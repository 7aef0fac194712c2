// Tiles of evenly spaced numbers, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/api.h"

namespace mlx::core::cpu {

struct RangeKernels {
  /// out[i] = first + i * step, i < n, in integers of `itemsize` bytes, which wrap.
  void (*integers)(void* out, uint64_t first, uint64_t step, int64_t n, int itemsize);
  /// out[i] = start + (first + i * stride) * step in double, rounded once.
  void (*floats)(float* out, double start, double step, int64_t first, int64_t stride, int64_t n);
  void (*doubles)(double* out, double start, double step, int64_t first, int64_t stride, int64_t n);
  /// out[i] = first + i * step, where all of these are integers of up to 24 bits.
  void (*whole_floats)(float* out, float first, float step, int64_t n);
};

// Exported for tests.
#define MLX_RANGES_TABLE(isa, ...)                 \
  namespace isa {                                  \
  extern const MLX_API RangeKernels range_kernels; \
  }
MLX_EACH_ISA(MLX_RANGES_TABLE)
#undef MLX_RANGES_TABLE

}  // namespace mlx::core::cpu
