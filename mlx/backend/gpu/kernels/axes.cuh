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
/// The same for positions below 2^32, whose divisions are short. An axis that is longer than that
/// is longer than the position.
MLX_FN int64_t near_offset(const Axes& axes, uint32_t position) {
  int64_t offset = 0;
  for (int d = static_cast<int>(axes.rank) - 1; d > 0; --d) {
    const auto length = static_cast<uint64_t>(axes.shape[d]);
    const uint32_t rest = length > position ? 0 : position / static_cast<uint32_t>(length);
    offset += (position - rest * static_cast<uint32_t>(length)) * axes.strides[d];
    position = rest;
  }
  return offset + position * axes.strides[0];
}
/// a / b of positions or lengths, which are not negative; divisions of 32 bits are short.
MLX_FN int64_t position_quotient(int64_t a, int64_t b) {
  return (a | b) >> 32 ? a / b : static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
}
MLX_FN int64_t offset_of(const Axes& axes, int64_t position) {
  if (axes.rank == 1) return position * axes.strides[0];
  return position >> 32 ? far_offset(axes, position)
                        : near_offset(axes, static_cast<uint32_t>(position));
}

}  // namespace mlx::core::device
