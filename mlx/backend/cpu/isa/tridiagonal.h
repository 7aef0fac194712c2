// Reduction of symmetric matrices to tridiagonal ones, a panel of columns at a time. Compiled once
// per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

/// A symmetric matrix (n, n) by its lower triangle, column-major, and results of a panel. Columns
/// of v and w are at a distance of `v_ld` and `w_ld`, and begin at the first row of `a`.
struct TridiagonalPanel {
  int64_t n, columns;  ///< columns that are reduced: less than n
  void* a;
  int64_t ld;
  void* below;    ///< the element below the diagonal, for each column
  void* factors;  ///< of the reflectors I - factor · v · vᵀ, which have a one in row j + 1
  void* v;
  int64_t v_ld;
  void* w;  ///< the rest of the matrix lacks v · wᵀ + w · vᵀ, which is to be subtracted
  int64_t w_ld;
};

using ReduceToTridiagonal = void (*)(const TridiagonalPanel& panel);

#define MLX_TRIDIAGONAL(isa, ...)                     \
  namespace isa {                                     \
  ReduceToTridiagonal find_tridiagonal(Dtype::Val t); \
  }
MLX_EACH_ISA(MLX_TRIDIAGONAL)
#undef MLX_TRIDIAGONAL

}  // namespace mlx::core::cpu
