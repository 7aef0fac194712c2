// The arithmetic of convolutions, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"

namespace mlx::core::cpu {

/// One tap of a kernel for a line of the result.
struct ConvTap {
  const float* x;  ///< its channels at the line's first position
  int64_t w;       ///< offset of its weights in a panel
};

/// A factor of sums over positions, read in place: floats from a position to the next of its line,
/// and from a line to the next.
struct ConvFactor {
  const float* data;
  int64_t step, line;
};

struct ConvKernels {
  int64_t panel;   ///< features per panel of weights
  int64_t vector;  ///< floats of a vector

  /// sum[i] += x[i] * w[i], i < n: one tap of a depthwise convolution for all channels.
  void (*tap)(float* sum, const float* x, const float* w, int64_t n);

  /// out[i * ld + f] = sum over taps t and channels c of x[t][i * step + c] * w[t][c, f] for i < m
  /// positions and f < n features. Weights are stored in panels of `panel` features, `stride`
  /// floats apart, channel by channel; unused features are zero. A sum runs over taps, then
  /// channels.
  void (*line)(const ConvTap* taps, int64_t count, int64_t channels, int64_t step, const float* w,
               int64_t stride, int64_t m, int64_t n, float* out, int64_t ld);

  /// out[r * ld + c] += sum over lines and positions of rows[r] * columns[c] at the position, for r
  /// < m and c < n. Whole vectors of columns are read and written: both have room for `vector` - 1
  /// more.
  void (*correlate)(const ConvFactor& rows, int64_t m, const ConvFactor& columns, int64_t n,
                    int64_t lines, int64_t positions, float* out, int64_t ld);
};

#define MLX_CONV_TABLE(isa, ...)         \
  namespace isa {                        \
  extern const ConvKernels conv_kernels; \
  }
MLX_EACH_ISA(MLX_CONV_TABLE)
#undef MLX_CONV_TABLE

}  // namespace mlx::core::cpu
