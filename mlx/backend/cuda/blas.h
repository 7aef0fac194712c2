// Products through cuBLAS, where that library is found.
#pragma once

#include "mlx/backend/cuda/device.h"
#include "mlx/core/dtype.h"
#include "mlx/ops/precision.h"

namespace mlx::core::cuda {

/// out = alpha * a b + beta * out for `count` pairs of matrices, row by row in memory. A transposed
/// operand lies column by column. `row`: elements from one row (or column) to the next.
struct Gemm {
  struct Operand {
    uint64_t address;
    int64_t row, step;  ///< step: elements from one matrix to the next
    bool transposed;
  };
  Operand a, b, out;
  int64_t m, n, k, count;
  Dtype type = float32;
  Precision precision = Precision::highest;
  double alpha, beta;
};

/// Whether products of the dtype can run there; opens the library on first use.
bool has_blas(Dtype type);
/// Enqueues it.
void gemm(Queue& queue, const Gemm& g);

}  // namespace mlx::core::cuda
