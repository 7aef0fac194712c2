// Functions of printed units of rows: W warps of a block have a row, in whose registers it stays
// between steps; a longer one is read again for each reduction. Reductions have the order of
// reduce.cuh: a warp has one block of 512 elements or several neighbouring ones, a thread the
// elements `first + 32 k` of these.
#pragma once

#include "mlx/backend/gpu/kernels/reduce.cuh"

namespace mlx::core::device {

/// The largest power of 2 below n.
constexpr int power_below(int n) {
  int power = 1;
  while (2 * power < n) power *= 2;
  return power;
}

/// N results of neighbouring blocks, combined as a binary counter carries.
template <class O, int N, class Pointer>
MLX_FN typename O::A counted(Pointer x) {
  if constexpr (N == 1) {
    return x[0];
  } else {
    constexpr int half = power_below(N);
    return O::combine(counted<O, half>(x), counted<O, N - half>(x + half));
  }
}

/// The value of the first thread of a warp.
template <class A>
MLX_FN A of_first_lane(A x) {
  if constexpr (m::IsCx<A>::value) {
    return {__shfl_sync(~0u, x.re, 0), __shfl_sync(~0u, x.im, 0)};
  } else if constexpr (is_best<A>) {
    return {of_first_lane(x.value), __shfl_sync(~0u, x.index, 0)};
  } else if constexpr (sizeof(A) < 4) {
    return static_cast<A>(__shfl_sync(~0u, static_cast<int>(x), 0));
  } else {
    return __shfl_sync(~0u, x, 0);
  }
}

/// The reduction of a warp's block of 512 elements, which its first thread gets. A thread has K
/// elements; `element(k)` is number `first + 32 k`, and there where 32 k < `left`. Whole: all are.
template <class O, int K, bool Whole, class Element>
MLX_FN typename O::A reduced_block(int first, int left, Element element) {
  using A = typename O::A;
  A x = O::neutral();
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const A y = O::load(element(k), first + k * kLanes);
    if (Whole || k * kLanes < left) x = k == 0 ? y : append<O>(x, y);
  }
#pragma unroll
  for (int h = kLanes / 2; h > 0; h /= 2) x = O::combine(x, shuffled_down(x, h));
  return x;
}

/// The reduction of a row, which every thread gets. A thread has K elements, as of a block.
template <class O, int W, int K, int Blocks, bool Whole, class Element>
MLX_FN typename O::A reduced_row(int first, int left, Element element) {
  using A = typename O::A;
  constexpr int kEach = kBlock / kLanes, kOwn = (K + kEach - 1) / kEach;
  constexpr int kOfBlock = K < kEach ? K : kEach;
  A blocks[kOwn];
#pragma unroll
  for (int b = 0; b < kOwn; ++b) {
    const int begin = b * kEach;
    blocks[b] = reduced_block<O, kOfBlock, Whole>(first + begin * kLanes, left - begin * kLanes,
                                                  [&](int k) { return element(begin + k); });
  }
  if constexpr (W == 1) {
    return of_first_lane(counted<O, Blocks>(&blocks[0]));
  } else {
    alignas(16) MLX_SHARED unsigned char memory[kThreads / kLanes * kOwn * sizeof(A)];
    auto* parts = reinterpret_cast<SharedPointer<A>>(memory);
    const int warp = static_cast<int>(threadIdx.x) / kLanes;
    __syncthreads();
    if (threadIdx.x % kLanes == 0) {
#pragma unroll
      for (int b = 0; b < kOwn; ++b) parts[warp * kOwn + b] = blocks[b];
    }
    __syncthreads();
    return counted<O, Blocks>(parts + warp / W * (W * kOwn));
  }
}

}  // namespace mlx::core::device
