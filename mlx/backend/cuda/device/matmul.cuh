// Products of matrices with any strides: a block makes a tile of 64 by 64 results, of which a thread
// has 4 by 4, from tiles of both operands in shared memory. Sums of 512 products are added up
// apart, which keeps errors small.
#pragma once

#include "mlx/backend/cuda/device/arguments.h"
#include "mlx/backend/cuda/device/axes.cuh"
#include "mlx/backend/cuda/device/prelude.cuh"

namespace mlx::core::device {

inline constexpr int kTile = 64, kDepth = 16, kSome = 4, kSide = kTile / kSome;

template <class A, class T>
MLX_FN A loaded(T x) {
  if constexpr (is_narrow<T>) {
    return widened(x);
  } else {
    return x;
  }
}
template <class A>
MLX_FN A multiply_add(A a, A b, A c) {
  if constexpr (std::is_same_v<A, float>) {
    return ::fmaf(a, b, c);
  } else if constexpr (std::is_same_v<A, double>) {
    return ::fma(a, b, c);
  } else if constexpr (m::IsCx<A>::value) {
    return m::add(m::multiply(a, b), c);
  } else if constexpr (std::is_same_v<A, bool>) {
    return (a && b) || c;
  } else {
    return m::add(m::multiply(a, b), c);
  }
}
template <class A>
MLX_FN A added(A a, A b) {
  if constexpr (std::is_same_v<A, bool>) {
    return a || b;
  } else if constexpr (std::is_floating_point_v<A>) {
    return a + b;
  } else {
    return m::add(a, b);
  }
}

template <class A>
inline constexpr bool is_inexact = std::is_floating_point_v<A> || m::IsCx<A>::value;

/// alpha * x + beta * c
template <class A>
MLX_FN A with_addend(A x, A c, double alpha, double beta) {
  if constexpr (m::IsCx<A>::value) {
    using R = decltype(x.re);
    const R f = static_cast<R>(alpha), g = static_cast<R>(beta);
    return {f * x.re + g * c.re, f * x.im + g * c.im};
  } else {
    return static_cast<A>(alpha) * x + static_cast<A>(beta) * c;
  }
}

template <class T, class A>
MLX_FN void matrix_product(const MatmulArguments& p) {
  MLX_SHARED A left[kDepth][kTile + 1], right[kDepth][kTile + 1];
  const int64_t rows = (p.m + kTile - 1) / kTile, columns = (p.n + kTile - 1) / kTile;
  const int64_t tiles = p.batch_count * rows * columns;
  const int ty = static_cast<int>(threadIdx.x) / kSide, tx = static_cast<int>(threadIdx.x) % kSide;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t batch = tile / (rows * columns), place = tile % (rows * columns);
    const int64_t row = place / columns * kTile, column = place % columns * kTile;
    const auto* a = reinterpret_cast<const T*>(p.a) + offset_of(p.a_batch, batch);
    const auto* b = reinterpret_cast<const T*>(p.b) + offset_of(p.b_batch, batch);
    A total[kSome][kSome] = {}, sum[kSome][kSome] = {};
    for (int64_t k = 0; k < p.k; k += kDepth) {
      // Neighbouring threads read neighbours in memory, whichever way the operand lies.
      for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
        const int x = p.a_column == 1 ? i / kDepth : i % kTile;
        const int d = p.a_column == 1 ? i % kDepth : i / kTile;
        left[d][x] = row + x < p.m && k + d < p.k
                         ? loaded<A>(a[(row + x) * p.a_row + (k + d) * p.a_column])
                         : A{};
        const int y = p.b_row == 1 ? i / kDepth : i % kTile;
        const int e = p.b_row == 1 ? i % kDepth : i / kTile;
        right[e][y] = column + y < p.n && k + e < p.k
                          ? loaded<A>(b[(k + e) * p.b_row + (column + y) * p.b_column])
                          : A{};
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        A x[kSome], y[kSome];
#pragma unroll
        for (int i = 0; i < kSome; ++i) {
          x[i] = left[d][ty * kSome + i];
          y[i] = right[d][tx + i * kSide];
        }
#pragma unroll
        for (int i = 0; i < kSome; ++i)
#pragma unroll
          for (int j = 0; j < kSome; ++j) sum[i][j] = multiply_add(x[i], y[j], sum[i][j]);
      }
      __syncthreads();
      if ((k + kDepth) % 512 == 0) {
#pragma unroll
        for (int i = 0; i < kSome; ++i)
#pragma unroll
          for (int j = 0; j < kSome; ++j) {
            total[i][j] = added(total[i][j], sum[i][j]);
            sum[i][j] = A{};
          }
      }
    }
    auto* out = reinterpret_cast<T*>(p.out) + batch * p.m * p.n;
    const auto* c =
        p.addend ? reinterpret_cast<const T*>(p.addend) + offset_of(p.c_batch, batch) : nullptr;
#pragma unroll
    for (int i = 0; i < kSome; ++i) {
#pragma unroll
      for (int j = 0; j < kSome; ++j) {
        const int64_t r = row + ty * kSome + i, s = column + tx + j * kSide;
        if (r >= p.m || s >= p.n) continue;
        A x = added(total[i][j], sum[i][j]);
        if constexpr (is_inexact<A>)
          if (c) x = with_addend(x, loaded<A>(c[r * p.c_row + s * p.c_column]), p.alpha, p.beta);
        if constexpr (is_narrow<T>) {
          out[r * p.n + s] = narrowed<T>(x);
        } else {
          out[r * p.n + s] = x;
        }
      }
    }
  }
}

}  // namespace mlx::core::device
