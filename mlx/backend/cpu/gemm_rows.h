// Products whose first factor has few rows. The second factor is read in place, once.
#pragma once

#include "mlx/backend/cpu/gemm.h"

namespace mlx::core::cpu {

inline constexpr int64_t kDotRows = 64;   ///< maximum rows of dot_product
inline constexpr int64_t kAxpyRows = 16;  ///< maximum rows of axpy_product for large factors

inline constexpr int64_t kAxpyDepth =
    1024;  ///< rows of B whose products axpy_product adds up first

/// With B contiguous along K: a result is the dot product of a row of A and a column of B.
void dot_product(const Gemm& g);

/// With B contiguous along N: each row of B is added, times a number of A, to rows of results.
void axpy_product(const Gemm& g);

}  // namespace mlx::core::cpu
