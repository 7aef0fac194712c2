// Hadamard transforms of rows, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

struct HadamardRow {
  int64_t m, power;
  const uint32_t* signs;  ///< rows of the matrix of order m: bit m - 1 - i is set for +1
  double scale;
};

/// Transforms one contiguous row from x to y. `workspace` has 2 * m * power elements of the
/// computation type (float, or double for float64).
using HadamardKernel = void (*)(const HadamardRow& row, const void* x, void* y, void* workspace);

#define MLX_HADAMARD_TABLE(isa, ...)        \
  namespace isa {                           \
  HadamardKernel find_hadamard(Dtype::Val); \
  }
MLX_EACH_ISA(MLX_HADAMARD_TABLE)
#undef MLX_HADAMARD_TABLE

}  // namespace mlx::core::cpu
