// Offsets of positions along axes.
#pragma once

#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/backend/gpu/kernels/prelude.cuh"

namespace mlx::core::device {

/// Not inlined: divisions of 64 bits are long, and there are many places.
MLX_NOINLINE int64_t far_offset(const Axes& axes, int64_t position) {
  int64_t offset = 0;
  for (int d = static_cast<int>(axes.rank) - 1; d >= 0; --d) {
    offset += position % axes.shape[d] * axes.strides[d];
    position /= axes.shape[d];
  }
  return offset;
}
MLX_FN int64_t offset_of(const Axes& axes, int64_t position) {
  return axes.rank == 1 ? position * axes.strides[0] : far_offset(axes, position);
}

}  // namespace mlx::core::device
