// Attention of many queries in float32 whose products may round their factors to TF32: the tiles of
// attention_tiles.cuh with products of floats. Softmax and sums stay in float32.
#pragma once

#include "mlx/backend/gpu/kernels/attention_tiles.cuh"

namespace mlx::core::device {

/// Floats between rows in shared memory: reads of fragments are free of bank conflicts.
inline constexpr int kFloatGap = 4;

/// Adds x · y^T: y has a row for each column of the result.
template <int K, int N>
MLX_FN void multiply_float_rows(Sums (&to)[K / 8], const FactorA (&x)[N / 8],
                                const float (&y)[K][N + kFloatGap]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, i = lane / 8;
#pragma unroll
  for (int j = 0; j < K / 8; j += 2) {
#pragma unroll
    for (int s = 0; s < N / 8; ++s) {
      uint32_t b[4];
      load_matrices(b, &y[(j + i / 2) * 8 + lane % 8][s * 8 + i % 2 * 4]);
#pragma unroll
      for (int n = 0; n < 4; ++n) b[n] = to_tf32(__builtin_bit_cast(float, b[n]));
      multiply_add_tf32(to[j], x[s], b[0], b[1]);
      multiply_add_tf32(to[j + 1], x[s], b[2], b[3]);
    }
  }
}

/// Adds x · y. A step along K takes a fragment of `x` as it is: neighbours of a lane are its
/// factors lane % 4 and lane % 4 + 4, so rows of `y` are in the same order.
template <int K, int N>
MLX_FN void multiply_float_columns(Sums (&to)[N / 8], const Sums (&x)[K / 8],
                                   const float (&y)[K][N + kFloatGap]) {
#pragma unroll
  for (int s = 0; s < K / 8; ++s) {
    const FactorA a = {to_tf32(x[s][0]), to_tf32(x[s][2]), to_tf32(x[s][1]), to_tf32(x[s][3])};
    const float (&low)[N + kFloatGap] = y[s * 8 + lane_column()];
    const float (&high)[N + kFloatGap] = y[s * 8 + lane_column() + 1];
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
      multiply_add_tf32(to[n], a, to_tf32(low[n * 8 + lane_row()]),
                        to_tf32(high[n * 8 + lane_row()]));
  }
}

/// M: elements of the mask, or void. F and W: features of keys and values, rounded up to 16.
template <class M, int F, int W, int K, bool kVectors>
MLX_FN void attention_tf32(const AttentionArguments& p) {
  constexpr int kRows = kThreads / 32 * 16;
  alignas(16) MLX_SHARED float k[K][F + kFloatGap], v[K][W + kFloatGap];
  const auto *qs = reinterpret_cast<const float*>(p.q),
             *sinks = reinterpret_cast<const float*>(p.sinks);
  const int64_t blocks = (p.heads / p.key_heads * p.queries + kRows - 1) / kRows;
  const int64_t all = p.batches * p.key_heads * blocks;
  for (int64_t unit = blockIdx.x; unit < all; unit += gridDim.x) {
    // Later queries of a causal mask see more keys: their blocks come first.
    const QueryRows at(p, all - 1 - unit, blocks, kRows);
    const SeenKeys seen(at, at.rows - at.first < kRows ? at.rows - at.first : kRows);
    const float* ks =
        reinterpret_cast<const float*>(p.k) + at4(p.k_stride, at.batch, at.key_head, 0, 0);
    const float* vs =
        reinterpret_cast<const float*>(p.v) + at4(p.v_stride, at.batch, at.key_head, 0, 0);
    const int64_t first = at.first + static_cast<int>(threadIdx.x) / 32 * 16 + lane_row();
    FactorA q[F / 8];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first + 8 * half;
      const bool some = row < at.rows;
      const float* from =
          some ? qs + at4(p.q_stride, at.batch, at.head(row), at.query(row), 0) : qs;
#pragma unroll
      for (int c = 0; c < F / 4; ++c) {
        const int64_t column = c * 4 + static_cast<int>(threadIdx.x) % 4;
        q[c / 2][half + c % 2 * 2] =
            to_tf32(some && column < p.features ? from[column * p.q_stride[3]] : 0.f);
      }
    }
    const LaneRow lane[2] = {LaneRow(at, first), LaneRow(at, first + 8)};
    RunningRows running(at, sinks, first);
    Sums out[W / 8] = {};
    auto load_keys = [&](int64_t from) {
      stage_rows<kVectors, K, F, kFloatGap>(k, ks + from * p.k_stride[2], p.k_stride[2],
                                            p.k_stride[3], p.keys - from, p.features);
    };
    __syncthreads();
    if (seen.by_any > 0) load_keys(0);
    for (int64_t from = 0; from < seen.by_any; from += K) {
      wait_for_copies();
      __syncthreads();
      stage_rows<kVectors, K, W, kFloatGap>(v, vs + from * p.v_stride[2], p.v_stride[2],
                                            p.v_stride[3], p.keys - from, p.width);
      Sums scores[K / 8] = {};
      multiply_float_rows<K, F>(scores, q, k);
      wait_for_copies();
      __syncthreads();
      if (from + K < seen.by_any) load_keys(from + K);
      to_scores<M>(scores, p, lane, from, from + K <= seen.by_all);
      running.weigh(scores, out);
      multiply_float_columns<K, W>(out, scores, v);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Without keys the result is 0; without scores above -inf, NaN.
      const float sum = over_lanes_of_row(running.sums[half]);
      const float divisor = seen.by_any == 0 ? 1.f : sum;
      const int64_t row = first + 8 * half;
      if (row >= at.rows) continue;
      float* to = reinterpret_cast<float*>(p.out) + result_row(at, row) * p.width;
#pragma unroll
      for (int w = 0; w < W / 8; ++w) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int64_t column = w * 8 + lane_column() + c;
          if (column < p.width) to[column] = out[w][2 * half + c] / divisor;
        }
      }
    }
  }
}

}  // namespace mlx::core::device
