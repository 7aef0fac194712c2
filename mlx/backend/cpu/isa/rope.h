// Rotations of rotary position embeddings, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

struct RopeKernels {
  /// cosines[i] and sines[i] of position * rate[i] for i < n. The product is float64, reduced to a
  /// single turn before it is rounded to the type that computes (float, or double for float64).
  void (*angles)(double position, const double* rate, int64_t n, void* cosines, void* sines);
  /// rate[i] = base^(-i / n) for i < n.
  void (*rates)(double log_base, int64_t n, double* rate);
  /// Rotates n pairs of one contiguous row: neighbours where `traditional`, else n elements apart.
  /// `sign` -1 rotates back. x and y may be the same.
  void (*rotate)(const void* x, const void* cosines, const void* sines, double sign, int64_t n,
                 bool traditional, void* y);
};

#define MLX_ROPE_TABLE(isa, ...)       \
  namespace isa {                      \
  RopeKernels find_rope(Dtype::Val t); \
  }
MLX_EACH_ISA(MLX_ROPE_TABLE)
#undef MLX_ROPE_TABLE

}  // namespace mlx::core::cpu
