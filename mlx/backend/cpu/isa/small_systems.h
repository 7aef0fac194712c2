// Systems of linear equations with small matrices, and Cholesky factors: one matrix in each lane of
// the registers. Compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

inline constexpr int64_t kSmall = 16;  ///< largest matrix that is factored without LAPACK

/// Kernels for `lanes` matrices at a time, with the bits of those for one (linalg_factors.h).
struct SmallSystems {
  int64_t lanes = 0;  ///< 0: the dtype has no kernel
  /// x = a⁻¹ · b for row-major matrices one after the other: `a` (n, n), `b` and `x` (n, columns),
  /// with n and columns from 1 to kSmall. `b` may be x, or null for the identity. Returns bits of
  /// the systems that are left as they were: singular, and with pivots far from 1.
  uint32_t (*solve)(const void* a, const void* b, void* x, int64_t n, int64_t columns) = nullptr;
  /// The Cholesky factors of row-major matrices (n, n), one after the other, in place of the upper
  /// or the lower triangle; n is from 1 to kSmall. Returns bits of the matrices that are left as
  /// they were: not positive definite.
  uint32_t (*cholesky)(void* a, int64_t n, bool upper) = nullptr;
};

#define MLX_SMALL_SYSTEMS(isa, ...)              \
  namespace isa {                                \
  SmallSystems find_small_systems(Dtype::Val t); \
  }
MLX_EACH_ISA(MLX_SMALL_SYSTEMS)
#undef MLX_SMALL_SYSTEMS

}  // namespace mlx::core::cpu
