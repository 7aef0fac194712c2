// Matrix products for operands of any strides.
#pragma once

#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// out = alpha * (a · b) + beta * c for matrices or stacks of them; operands broadcast over the
/// stack, `c` (or null) over the whole result. The dtypes are equal; the operands may have any
/// layout, `out` is row-contiguous.
void matrix_product(const View& a, const View& b, const View* c, const View& out, double alpha,
                    double beta);

}  // namespace mlx::core::cpu
