// Arguments of the own kernels, as the host fills them and the kernels read them: 8 bytes each.
#pragma once

#include <stdint.h>

namespace mlx::core::device {

inline constexpr int kMostAxes = 8;

/// Lengths and strides of some axes, outermost first.
struct Axes {
  int64_t rank;
  int64_t shape[kMostAxes], strides[kMostAxes];
};

struct ReduceArguments {
  int64_t in, out, partials;  ///< addresses
  int64_t kept_count, reduced_count;
  int64_t chunk, chunks;  ///< elements of a reduction done at once, and how often
  Axes kept, reduced;
};

struct MatmulArguments {
  int64_t a, b, out;  ///< addresses
  int64_t m, n, k, batch_count;
  int64_t a_row, a_column, b_row, b_column;  ///< strides
  Axes a_batch, b_batch;
};

}  // namespace mlx::core::device
