// Values of cuBLAS's enumerations that its two interfaces share.
#pragma once

#include "mlx/core/dtype.h"

namespace mlx::core::cuda {

inline constexpr int kNoTranspose = 0, kTranspose = 1;
inline constexpr int kCompute32 = 68, kCompute64 = 70, kCompute32Bfloat16 = 75, kCompute32Tf32 = 77;

/// The library's number for a dtype; -1 where it has none.
int blas_type(Dtype t);

/// The libraries cuBLAS and, beside it, cuBLASLt. Null where they are not found.
void* open_blas();

}  // namespace mlx::core::cuda
