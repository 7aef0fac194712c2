// The kernels behind softmax and logsumexp, compiled once per instruction set. They work on a piece
// of a row; mlx/backend/cpu/softmax.cpp threads on top of them. 16-bit floats are computed in
// float32.
#pragma once

#include <stdint.h>

#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

/// Elements of a row whose exponentials are summed in one go; a longer row sums its pieces
/// pairwise.
inline constexpr int64_t kSoftmaxPiece = 4096;

/// Most columns for `columns`.
inline constexpr int64_t kSoftmaxColumns = 256;

/// Kernels of one floating dtype. Maxima and sums are double, which holds float32 ones exactly.
struct SoftmaxKernels {
  /// Largest of n > 0 elements, NaN if there is one.
  double (*largest)(const void* x, int64_t n);
  /// Sum of e = exp(x - shift), which are stored at `e` (float or double) where it is given.
  double (*sum_exp)(const void* x, int64_t n, double shift, void* e);
  /// y = e * scale, with e computed anew where it is null.
  void (*finish)(const void* x, int64_t n, double shift, double scale, const void* e, void* y);
  /// Softmax over n rows, `stride` elements apart, of each of `width` columns.
  void (*columns)(const void* x, int64_t stride, int64_t n, int64_t width, void* y);
};

#define MLX_SOFTMAX_TABLE(isa)               \
  namespace isa {                            \
  SoftmaxKernels find_softmax(Dtype::Val t); \
  }
MLX_SOFTMAX_TABLE(v2)
MLX_SOFTMAX_TABLE(avx2)
MLX_SOFTMAX_TABLE(avx512)
#undef MLX_SOFTMAX_TABLE

}  // namespace mlx::core::cpu
