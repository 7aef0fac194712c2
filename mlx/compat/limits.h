// Ranges of dtypes as objects.
#pragma once

#include <cstdint>

#include "mlx/core/api.h"
#include "mlx/core/dtype.h"

namespace mlx::core {

/// The range of a floating or complex dtype (of its parts). Throws ValueError for others.
///
///   finfo(float16).max == 65504
struct MLX_API finfo {
  explicit finfo(Dtype dtype);
  Dtype dtype;
  double min, max;
  double eps;  ///< from 1 to the next larger number
};

/// The range of an integer dtype. Throws ValueError for others.
struct MLX_API iinfo {
  explicit iinfo(Dtype dtype);
  Dtype dtype;
  int64_t min;
  uint64_t max;
};

}  // namespace mlx::core
