// The errors of matrices that have no factors.
#pragma once

#include <cstdint>

#include "mlx/core/error.h"

namespace mlx::core {

[[noreturn]] inline void fail_singular(const char* op, int64_t matrix, int64_t row) {
  fail<LinAlgError>(op, "matrix ", matrix, " of the batch is singular (pivot ", row,
                    " is zero); invertible matrices are accepted");
}
/// `order`: of the first leading minor that is not positive.
[[noreturn]] inline void fail_indefinite(int64_t matrix, int64_t order) {
  fail<LinAlgError>("linalg.cholesky", "matrix ", matrix,
                    " of the batch is not positive definite (its leading minor of order ", order,
                    " is not positive); positive definite ones are accepted");
}

}  // namespace mlx::core
