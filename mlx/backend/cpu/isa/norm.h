// Normalisation of contiguous rows, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

/// y = (x - mean) / sqrt(mean square + eps) * weight + bias for `count` rows of n elements; without
/// `center` the mean is taken as zero; weight and bias may be null. 16-bit floats are computed in
/// float32. The order of sums depends on n alone.
struct NormOperands {
  const void* x;
  const void* weight;
  const void* bias;
  void* y;
};
using NormRows = void (*)(const NormOperands& of, int64_t n, int64_t count, double eps,
                          bool center);

#define MLX_NORM_TABLE(isa, ...)         \
  namespace isa {                        \
  NormRows find_norm_rows(Dtype::Val t); \
  }
MLX_EACH_ISA(MLX_NORM_TABLE)
#undef MLX_NORM_TABLE

}  // namespace mlx::core::cpu
