// The kernels of softmax and logsumexp, compiled once per instruction set. They process a part of a
// row; mlx/backend/cpu/softmax.cpp does the threading. 16-bit floats are computed in float32.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

/// Elements of a row whose exponentials are summed at once; a longer row sums its parts pairwise.
inline constexpr int64_t kSoftmaxPiece = 4096;

/// Maximum number of columns for `columns`.
inline constexpr int64_t kSoftmaxColumns = 256;

/// Kernels of one floating dtype. Maxima and sums are double, which represents float32 exactly.
struct SoftmaxKernels {
  /// Largest of n > 0 elements, NaN if there is one.
  double (*largest)(const void* x, int64_t n);
  /// Sum of e = exp(x - shift); the exponentials are stored at `e` (float or double) unless it is
  /// null.
  double (*sum_exp)(const void* x, int64_t n, double shift, void* e);
  /// y = e * scale; e is recomputed if it is null.
  void (*finish)(const void* x, int64_t n, double shift, double scale, const void* e, void* y);
  /// Softmax of each of `count` rows of n <= kSoftmaxPiece elements.
  void (*rows)(const void* x, int64_t n, int64_t count, void* y);
  /// For each of such rows, the largest element and the sum of exp(x - largest).
  void (*sums)(const void* x, int64_t n, int64_t count, double* largest, double* sum);
  /// y = shift + log(sum); an infinite shift is the result.
  void (*logs)(const double* shift, const double* sum, int64_t count, void* y);
  /// Softmax over n rows, `stride` elements apart, of each of `width` columns.
  void (*columns)(const void* x, int64_t stride, int64_t n, int64_t width, void* y);
};

#define MLX_SOFTMAX_TABLE(isa, ...)          \
  namespace isa {                            \
  SoftmaxKernels find_softmax(Dtype::Val t); \
  }
MLX_EACH_ISA(MLX_SOFTMAX_TABLE)
#undef MLX_SOFTMAX_TABLE

}  // namespace mlx::core::cpu
