// What the threads of a block have, combined from the first to the last.
#pragma once

#include "mlx/backend/cuda/device/prelude.cuh"

namespace mlx::core::device {

/// What the threads before the calling one have, combined; and what all have.
template <class O>
MLX_FN typename O::A before_thread(typename O::A mine, typename O::A& all) {
  using A = typename O::A;
  MLX_SHARED A parts[2][kThreads];
  const int t = static_cast<int>(threadIdx.x);
  int now = 0;
  parts[0][t] = mine;
  __syncthreads();
  for (int d = 1; d < kThreads; d *= 2, now ^= 1) {
    parts[now ^ 1][t] = t >= d ? O::combine(parts[now][t - d], parts[now][t]) : parts[now][t];
    __syncthreads();
  }
  const A before = t ? parts[now][t - 1] : O::neutral();
  all = parts[now][kThreads - 1];
  __syncthreads();
  return before;
}

}  // namespace mlx::core::device
