// Packing of the operands of fused programs, for tiles that lie elsewhere in memory.
#pragma once

#include <cstdint>

#include "mlx/backend/cpu/isa/elementwise.h"

namespace mlx::core::cpu {

/// Copies a block of rows and columns, given by element strides, to packed memory.
void load_block(const ElementwiseKernels& k, char* to, const char* from, int64_t rows,
                int64_t columns, int64_t outer, int64_t inner, int itemsize);

}  // namespace mlx::core::cpu
