// Products of matrices with any strides: a block makes a tile of 64 by 64 results, of which a
// thread has 4 by 4, from tiles of both operands in shared memory. Sums of 512 products are added
// up apart, which keeps errors small.
#pragma once

#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/backend/gpu/kernels/axes.cuh"
#include "mlx/backend/gpu/kernels/prelude.cuh"

namespace mlx::core::device {

MLX_CONSTANT int kTile = 64, kDepth = 16, kSome = 4, kSide = kTile / kSome;

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
MLX_CONSTANT bool is_inexact = std::is_floating_point_v<A> || m::IsCx<A>::value;

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

/// A tile of `left` [m, k] times `right` [k, n], which give elements inside; `store(row, column,
/// sum)` gets them. The flags say along which axis an operand's neighbours in memory are, and
/// neighbouring threads read.
template <class A, class L, class R, class S>
MLX_FN void product_tile(int64_t m, int64_t n, int64_t k_begin, int64_t k_end, int64_t row,
                         int64_t column, bool left_along_k, bool right_along_k, L left_at,
                         R right_at, S store) {
  MLX_SHARED A left[kDepth][kTile + 1], right[kDepth][kTile + 1];
  const int ty = static_cast<int>(threadIdx.x) / kSide, tx = static_cast<int>(threadIdx.x) % kSide;
  A total[kSome][kSome] = {}, sum[kSome][kSome] = {};
  int depth = 0;
  for (int64_t k = k_begin; k < k_end; k += kDepth) {
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
      const int x = left_along_k ? i / kDepth : i % kTile;
      const int d = left_along_k ? i % kDepth : i / kTile;
      left[d][x] = row + x < m && k + d < k_end ? left_at(row + x, k + d) : A{};
      const int y = right_along_k ? i / kDepth : i % kTile;
      const int e = right_along_k ? i % kDepth : i / kTile;
      right[e][y] = column + y < n && k + e < k_end ? right_at(k + e, column + y) : A{};
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
    if ((depth += kDepth) == 512) {
      depth = 0;
#pragma unroll
      for (int i = 0; i < kSome; ++i)
#pragma unroll
        for (int j = 0; j < kSome; ++j) {
          total[i][j] = added(total[i][j], sum[i][j]);
          sum[i][j] = A{};
        }
    }
  }
#pragma unroll
  for (int i = 0; i < kSome; ++i)
#pragma unroll
    for (int j = 0; j < kSome; ++j) {
      const int64_t r = row + ty * kSome + i, s = column + tx + j * kSide;
      if (r < m && s < n) store(r, s, added(total[i][j], sum[i][j]));
    }
}

/// An accumulator as it is stored.
template <class T, class A>
MLX_FN T in_memory(A x) {
  if constexpr (is_narrow<T>) {
    return narrowed<T>(x);
  } else {
    return x;
  }
}

/// The number of tiles along the columns of a matrix, and in all of it.
MLX_FN int64_t tiles_across(int64_t n) { return (n + kTile - 1) / kTile; }
MLX_FN int64_t tiles_of(int64_t m, int64_t n) { return tiles_across(m) * tiles_across(n); }

/// Tiles of a matrix [m, n]; the calling block's are given to f(matrix, row, column).
template <class F>
MLX_FN void each_tile(int64_t matrices, int64_t m, int64_t n, F f) {
  const int64_t columns = tiles_across(n), tiles = tiles_of(m, n);
  for (int64_t tile = blockIdx.x; tile < matrices * tiles; tile += gridDim.x) {
    const int64_t at = tile % tiles;
    f(tile / tiles, at / columns * kTile, at % columns * kTile);
  }
}

/// Elements of a matrix with strides.
template <class T, class A>
struct MatrixElements {
  DevicePointer<const T> at;
  int64_t row, column;  ///< strides
  MLX_FN A operator()(int64_t r, int64_t c) const { return loaded<A>(at[r * row + c * column]); }
};
/// Writes elements of a product, with the addend where there is one.
template <class T, class A>
struct ProductElements {
  DevicePointer<T> out;
  DevicePointer<const T> addend;
  int64_t n, row, column;  ///< of the result; strides of the addend
  double alpha, beta;
  MLX_FN void operator()(int64_t r, int64_t c, A x) const {
    if constexpr (is_inexact<A>)
      if (addend) x = with_addend(x, loaded<A>(addend[r * row + c * column]), alpha, beta);
    out[r * n + c] = in_memory<T>(x);
  }
};

template <class T, class A>
MLX_FN void matrix_product(const MatmulArguments& p) {
  const int64_t columns = tiles_across(p.n), tiles = tiles_of(p.m, p.n);
  for (int64_t tile = blockIdx.x; tile < p.batch_count * tiles; tile += gridDim.x) {
    const int64_t batch = tile / tiles, at = tile % tiles;
    const MatrixElements<T, A> a{memory<const T>(p.a) + offset_of(p.a_batch, batch), p.a_row,
                                 p.a_column};
    const MatrixElements<T, A> b{memory<const T>(p.b) + offset_of(p.b_batch, batch), p.b_row,
                                 p.b_column};
    const ProductElements<T, A> out{
        memory<T>(p.out) + batch * p.m * p.n,
        p.addend ? memory<const T>(p.addend) + offset_of(p.c_batch, batch) : nullptr,
        p.n,
        p.c_row,
        p.c_column,
        p.alpha,
        p.beta};
    product_tile<A>(p.m, p.n, 0, p.k, at / columns * kTile, at % columns * kTile, p.a_column == 1,
                    p.b_row == 1, a, b, out);
  }
}

}  // namespace mlx::core::device
