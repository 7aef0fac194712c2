// Normalisation of one contiguous row, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

/// y = (x - mean) / sqrt(mean square + eps) * weight + bias over n elements; without `center` the
/// mean is taken as zero; weight and bias may be null. 16-bit floats are computed in float32. The
/// order of sums depends on n alone.
using NormRow = void (*)(const void* x, const void* weight, const void* bias, void* y, int64_t n,
                         double eps, bool center);

#define MLX_NORM_TABLE(isa, ...)       \
  namespace isa {                      \
  NormRow find_norm_row(Dtype::Val t); \
  }
MLX_EACH_ISA(MLX_NORM_TABLE)
#undef MLX_NORM_TABLE

}  // namespace mlx::core::cpu
