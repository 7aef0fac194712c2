// Products with few rows: every weight is read once, in place. Compiled once per instruction set.
#include "mlx/backend/cpu/isa/gemm_kernels.h"
#include "mlx/backend/cpu/isa/gemm_sources.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

// M rows of x times N rows of w.
template <class S, int M, int N>
void dot_tile(const typename S::X* x, int64_t x_row, const typename S::W* w, int64_t w_row,
              int64_t k, float* acc, int64_t ld) {
  constexpr int64_t step = S::per * kLanes;
  F32 sum[M][N] = {};
  int64_t at = 0;
  for (; at + step <= k; at += step) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      const auto weights = S::weights(w + j * w_row + at);
      if constexpr (S::kPrefetch) {
        __builtin_prefetch(w + (N + j) * w_row + at, 0, 2);  // prefetches the next rows
      }
#pragma GCC unroll 8
      for (int i = 0; i < M; ++i) {
        sum[i][j] = S::multiply(S::inputs(x + i * x_row + at), weights, sum[i][j]);
      }
    }
  }
  if (at < k) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      const auto weights = S::weights_n(w + j * w_row + at, k - at);
#pragma GCC unroll 8
      for (int i = 0; i < M; ++i) {
        sum[i][j] = S::multiply(S::inputs_n(x + i * x_row + at, k - at), weights, sum[i][j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      acc[i * ld + j] = sum_lanes(sum[i][j]);
    }
  }
}

// All rows of x, M at a time, times N rows of w, which stay in the cache.
template <class S, int M, int N>
void dot_columns(const typename S::X* x, int64_t x_row, const typename S::W* w, int64_t w_row,
                 int64_t m, int64_t k, float* acc, int64_t ld) {
  for (; m >= M; m -= M) {
    dot_tile<S, M, N>(x, x_row, w, w_row, k, acc, ld);
    x += M * x_row;
    acc += M * ld;
  }
  if constexpr (M > 1) {
    if (m > 0) {
      dot_columns<S, M - 1, N>(x, x_row, w, w_row, m, k, acc, ld);
    }
  }
}

template <class S, int M, int N>
void dot_all(const typename S::X* x, int64_t x_row, const typename S::W* w, int64_t w_row,
             int64_t m, int64_t n, int64_t k, float* acc, int64_t ld) {
  for (; n >= N; n -= N) {
    dot_columns<S, M, N>(x, x_row, w, w_row, m, k, acc, ld);
    w += N * w_row;
    acc += N;
  }
  for (; n > 0; --n) {
    dot_columns<S, M, 1>(x, x_row, w, w_row, m, k, acc, ld);
    w += w_row;
    ++acc;
  }
}

// Adds K rows of w, each times one element of each row of x, to N vectors of every row of acc.
template <class S, int K, int N>
MLX_INLINE void axpy_tile(const float* x, int64_t x_row, const typename S::W* w, int64_t w_row,
                          int64_t m, float* acc, int64_t ld, bool prefetch) {
  F32 weights[K][N];
#pragma GCC unroll 8
  for (int l = 0; l < K; ++l) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      weights[l][j] = S::weights(w + l * w_row + j * kLanes);
    }
  }
  if (prefetch) {
#pragma GCC unroll 8
    for (int l = 0; l < K; ++l) {
      __builtin_prefetch(w + (K + l) * w_row, 0, 2);
      __builtin_prefetch(w + (K + l) * w_row + N * kLanes - 1, 0, 2);
    }
  }
  for (int64_t i = 0; i < m; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      float* p = acc + i * ld + j * kLanes;
      F32 sum = load<F32>(p);
#pragma GCC unroll 8
      for (int l = 0; l < K; ++l) {
        sum = multiply_add(broadcast(x[i * x_row + l]), weights[l][j], sum);
      }
      store(p, sum);
    }
  }
}

template <class S, int K>
void axpy_steps(const float* x, int64_t x_row, const typename S::W* w, int64_t w_row, int64_t m,
                int64_t n, float* acc, int64_t ld, bool prefetch) {
  int64_t j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
    axpy_tile<S, K, 2>(x, x_row, w + j, w_row, m, acc + j, ld, prefetch);
  }
  for (; j + kLanes <= n; j += kLanes) {
    axpy_tile<S, K, 1>(x, x_row, w + j, w_row, m, acc + j, ld, prefetch);
  }
  if (j == n) {
    return;
  }
  for (int64_t i = 0; i < m; ++i) {
    F32 sum = load_n<F32>(acc + i * ld + j, n - j);
    for (int l = 0; l < K; ++l) {
      const F32 weights = S::weights_n(w + l * w_row + j, n - j);
      sum = multiply_add(broadcast(x[i * x_row + l]), weights, sum);
    }
    store_n(acc + i * ld + j, sum, n - j);
  }
}

}  // namespace

template <GemmSource kSource>
void dot_rows(const void* x, int64_t x_row, const void* w, int64_t w_row, int64_t m, int64_t n,
              int64_t k, float* acc, int64_t ld) {
  using S = typename SourceOf<kSource>::type;
  constexpr int kRowsAtOnce = kLanes == 16 ? 6 : 3;  // limited by the number of registers
  dot_all<S, kRowsAtOnce, 4>(static_cast<const typename S::X*>(x), x_row,
                             static_cast<const typename S::W*>(w), w_row, m, n, k, acc, ld);
}

template <GemmSource kSource>
void axpy_rows(const float* x, int64_t x_row, const void* w, int64_t w_row, int64_t m, int64_t n,
               int64_t k, float* acc, int64_t ld, bool prefetch) {
  using S = typename SourceOf<kSource>::type;
  const auto* row = static_cast<const typename S::W*>(w);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      acc[i * ld + j] = 0;
    }
  }
  constexpr int kRows = kLanes == 16 ? 8 : 4;  // limited by the number of registers
  for (; k >= kRows; k -= kRows, x += kRows, row += kRows * w_row) {
    axpy_steps<S, kRows>(x, x_row, row, w_row, m, n, acc, ld, prefetch);
  }
  for (; k > 0; --k, ++x, row += w_row) {
    axpy_steps<S, 1>(x, x_row, row, w_row, m, n, acc, ld, prefetch);
  }
}

template <GemmSource kSource>
void widen_row(const void* src, int64_t stride, int64_t n, float* dst) {
  using S = typename SourceOf<kSource>::type;
  const auto* p = static_cast<const typename S::W*>(src);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = smaller(kLanes, n - i);
    if (stride == 1 && count == kLanes) {
      store(dst + i, S::weights(p + i));
    } else {
      typename S::W lane[kLanes] = {};
      for (int64_t l = 0; l < count; ++l) {
        lane[l] = p[(i + l) * stride];
      }
      store_n(dst + i, S::weights(lane), count);
    }
  }
}

#define MLX_INSTANTIATE(source)                                                                   \
  template void dot_rows<GemmSource::source>(const void*, int64_t, const void*, int64_t, int64_t, \
                                             int64_t, int64_t, float*, int64_t);                  \
  template void axpy_rows<GemmSource::source>(const float*, int64_t, const void*, int64_t,        \
                                              int64_t, int64_t, int64_t, float*, int64_t, bool);  \
  template void widen_row<GemmSource::source>(const void*, int64_t, int64_t, float*);
MLX_INSTANTIATE(f32)
MLX_INSTANTIATE(f16)
MLX_INSTANTIATE(bf16)
#undef MLX_INSTANTIATE
#if defined(__AVX512BF16__)
template void dot_rows<GemmSource::bf16_pair>(const void*, int64_t, const void*, int64_t, int64_t,
                                              int64_t, int64_t, float*, int64_t);
#endif

}  // namespace mlx::core::cpu::MLX_ISA
