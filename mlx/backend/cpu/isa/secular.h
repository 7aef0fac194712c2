// Eigenvalues of a diagonal matrix with a product of a vector added, d + rho · z · zᵀ: the roots of
// 1 + rho · Σ z² / (d - λ). Compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

/// Kernels for T, float32 or float64. d is strictly ascending, z has no zeros, rho is positive.
template <class T>
struct SecularKernels {
  /// The eigenvalue between d[j] and d[j + 1], or behind the last, and all distances d - λ.
  T (*root)(int64_t n, int64_t j, const T* d, const T* z, T rho, T* distances) = nullptr;
  /// Elements [begin, end) of the vector for which the eigenvalues are exact, squared and negative.
  /// Column j of `distances` (n, n) belongs to eigenvalue j.
  void (*weights)(int64_t n, int64_t begin, int64_t end, const T* d, const T* distances,
                  T* to) = nullptr;
  /// The eigenvector of length 1: z / distances, divided by its length.
  void (*vector)(int64_t n, const T* z, const T* distances, T* to) = nullptr;
};

#define MLX_SECULAR(isa, ...)                  \
  namespace isa {                              \
  SecularKernels<float> secular_of_floats();   \
  SecularKernels<double> secular_of_doubles(); \
  }
MLX_EACH_ISA(MLX_SECULAR)
#undef MLX_SECULAR

}  // namespace mlx::core::cpu
