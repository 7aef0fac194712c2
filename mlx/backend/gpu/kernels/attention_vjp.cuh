// The derivative of attention in 16 bits, by products of fragments, in two kernels that compute the
// weights again. In the first one a warp has 16 queries: it finds the largest score and the sum of
// each row, then the cotangents of the queries. In the second one a warp has 16 keys, and adds what
// all queries give them, in order. Cotangents of scores are p (g - sum of p g), for weights p and
// their cotangents g.
#pragma once

#include "mlx/backend/gpu/kernels/attention_tiles.cuh"

namespace mlx::core::device {

/// True of scores that are no products: the weights of such rows depend on nothing.
template <class M>
MLX_FN bool is_constant(float score) {
  constexpr bool may_add = !std::is_same_v<M, void> && !std::is_same_v<M, bool>;
  return !may_add && score == kLowestScore;
}

/// Facts of a lane's row; `mean`: its part of the sum of p g, before weights are scaled.
MLX_FN RowFacts facts_of(const RunningRows& running, int half, float mean) {
  const float sum = over_lanes_of_row(running.sums[half]), largest = running.largest[half];
  return {largest == -__builtin_inff() ? 0.f : largest, 1 / sum, over_lanes_of_row(mean) / sum, 0};
}

/// Adds the products of weights and their cotangents to the sums of the lane's two rows.
template <int kFragments>
MLX_FN void add_means(Sums& means, const Sums (&x)[kFragments], const Sums (&y)[kFragments]) {
#pragma unroll
  for (int j = 0; j < kFragments; ++j) {
#pragma unroll
    for (int c = 0; c < 4; ++c)
      if (x[j][c] != 0) means[c / 2 * 2] = ::fmaf(x[j][c], y[j][c], means[c / 2 * 2]);
  }
}

/// Replaces scores by their cotangents; y: the cotangents of weights.
template <class M, int kFragments>
MLX_FN void to_score_cotangents(Sums (&x)[kFragments], const Sums (&y)[kFragments],
                                const RowFacts (&facts)[2]) {
#pragma unroll
  for (int j = 0; j < kFragments; ++j) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const RowFacts& row = facts[c / 2];
      const float weight = power_of_2(x[j][c] - row.base) * row.scale;
      x[j][c] = weight == 0 || is_constant<M>(x[j][c]) ? 0.f : weight * (y[j][c] - row.mean);
    }
  }
}

/// The first kernel: facts of rows, and the cotangents of queries.
template <class T, class M, int F, int W, int K, bool kVectors>
MLX_FN void attention_vjp_queries(const AttentionVjpArguments& all_arguments) {
  constexpr int kRows = kThreads / 32 * 16;
  const AttentionArguments& p = all_arguments.forward;
  // Two tiles: while one is multiplied, the next one arrives.
  alignas(16) MLX_SHARED T k[2][K][F + kRowGap], v[2][K][W + kRowGap];
  const T *qs = reinterpret_cast<const T*>(p.q), *sinks = reinterpret_cast<const T*>(p.sinks);
  const T* given = reinterpret_cast<const T*>(all_arguments.given);
  const int64_t blocks = (p.heads / p.key_heads * p.queries + kRows - 1) / kRows;
  const int64_t all = p.batches * p.key_heads * blocks;
  for (int64_t unit = blockIdx.x; unit < all; unit += gridDim.x) {
    const QueryRows at(p, all - 1 - unit, blocks, kRows);
    const SeenKeys seen(at, at.rows - at.first < kRows ? at.rows - at.first : kRows);
    const T* ks = reinterpret_cast<const T*>(p.k) + at4(p.k_stride, at.batch, at.key_head, 0, 0);
    const T* vs = reinterpret_cast<const T*>(p.v) + at4(p.v_stride, at.batch, at.key_head, 0, 0);
    const int64_t first = at.first + static_cast<int>(threadIdx.x) / 32 * 16 + lane_row();
    FactorA q[F / 16], g[W / 16];
    load_rows<kVectors, F, T>(q, first, at.rows, p.q_stride[3], p.features, [&](int64_t r) {
      return qs + at4(p.q_stride, at.batch, at.head(r), at.query(r), 0);
    });
    load_rows<kVectors, W, T>(g, first, at.rows, 1, p.width,
                              [&](int64_t r) { return given + result_row(at, r) * p.width; });
    const LaneRow lane[2] = {LaneRow(at, first), LaneRow(at, first + 8)};
    auto load = [&](int64_t from, int to) {
      stage_rows<kVectors, K, F, kRowGap>(k[to], ks + from * p.k_stride[2], p.k_stride[2],
                                          p.k_stride[3], p.keys - from, p.features);
      stage_rows<kVectors, K, W, kRowGap>(v[to], vs + from * p.v_stride[2], p.v_stride[2],
                                          p.v_stride[3], p.keys - from, p.width);
    };
    // The products of a tile of keys: scores, and cotangents of weights. Begins to load the next
    // tile.
    auto products = [&](int64_t from, int now, Sums(&x)[K / 8], Sums(&y)[K / 8]) {
      wait_for_copies();
      __syncthreads();
      if (from + K < seen.by_any) load(from + K, now ^ 1);
      multiply_rows<K, F>(x, q, k[now]);
      multiply_rows<K, W>(y, g, v[now]);
      to_scores<M>(x, p, lane, from, from + K <= seen.by_all);
    };
    __syncthreads();
    if (seen.by_any > 0) load(0, 0);
    RunningRows running(at, sinks, first);
    Sums means[1] = {};  // of the two rows, at 0 and 2
    int now = 0;
    for (int64_t from = 0; from < seen.by_any; from += K, now ^= 1) {
      Sums x[K / 8] = {}, y[K / 8] = {};
      products(from, now, x, y);
      running.weigh(x, means);
      add_means(means[0], x, y);
    }
    RowFacts facts[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      facts[half] = facts_of(running, half, means[0][2 * half]);
      const int64_t row = first + 8 * half;
      if (threadIdx.x % 4 == 0 && row < at.rows)
        reinterpret_cast<RowFacts*>(all_arguments.rows)[result_row(at, row)] = facts[half];
    }
    __syncthreads();
    if (seen.by_any > 0) load(0, now = 0);
    Sums out[F / 8] = {};
    for (int64_t from = 0; from < seen.by_any; from += K, now ^= 1) {
      Sums x[K / 8] = {}, y[K / 8] = {};
      products(from, now, x, y);
      to_score_cotangents<M>(x, y, facts);
      multiply_columns<K, F>(out, x, k[now]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first + 8 * half;
      if (row >= at.rows) continue;
      T* to = reinterpret_cast<T*>(p.out) + result_row(at, row) * p.features;
      store_fragments<kVectors>(to, out, half, 1 / static_cast<float>(p.scale), p.features);
    }
  }
}

/// Replaces products by weights, and cotangents of weights by those of scores; rows are keys.
template <class M, int Q>
MLX_FN void to_weights(const AttentionArguments& p, const LaneRow (&queries)[Q],
                       const RowFacts (&facts)[Q], int64_t key, Sums (&x)[Q / 8],
                       Sums (&y)[Q / 8]) {
#pragma unroll
  for (int j = 0; j < Q / 8; ++j) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int i = j * 8 + lane_column() + c % 2;
      const float s = score_of<M>(p, queries[i], key + c / 2 * 8, x[j][c]);
      const float weight = power_of_2(s - facts[i].base) * facts[i].scale;
      x[j][c] = weight;
      y[j][c] = weight == 0 || is_constant<M>(s) ? 0.f : weight * (y[j][c] - facts[i].mean);
    }
  }
}

/// The second kernel: cotangents of keys and values. Q: queries at a time.
template <class T, class M, int F, int W, int Q, bool kVectors>
MLX_FN void attention_vjp_keys(const AttentionVjpArguments& all_arguments) {
  constexpr int kRows = kThreads / 32 * 16;
  const AttentionArguments& p = all_arguments.forward;
  // Two tiles: while one is multiplied, the next one arrives.
  alignas(16) MLX_SHARED T q[2][Q][F + kRowGap], g[2][Q][W + kRowGap];
  alignas(16) MLX_SHARED RowFacts all_facts[2][Q];
  MLX_SHARED LaneRow all_queries[2][Q];
  const int64_t blocks = (p.keys + kRows - 1) / kRows, all = p.batches * p.key_heads * blocks;
  for (int64_t unit = blockIdx.x; unit < all; unit += gridDim.x) {
    const QueryRows at(p, unit / blocks, 1, 0);
    const int64_t first_key = unit % blocks * kRows;
    const int64_t key = first_key + static_cast<int>(threadIdx.x) / 32 * 16 + lane_row();
    FactorA k[F / 16], v[W / 16];
    const T* ks = reinterpret_cast<const T*>(p.k) + at4(p.k_stride, at.batch, at.key_head, 0, 0);
    load_rows<kVectors, F, T>(k, key, p.keys, p.k_stride[3], p.features,
                              [&](int64_t r) { return ks + r * p.k_stride[2]; });
    const T* vs = reinterpret_cast<const T*>(p.v) + at4(p.v_stride, at.batch, at.key_head, 0, 0);
    load_rows<kVectors, W, T>(v, key, p.keys, p.v_stride[3], p.width,
                              [&](int64_t r) { return vs + r * p.v_stride[2]; });
    Sums of_keys[F / 8] = {}, of_values[W / 8] = {};
    // Queries before this one see none of the keys, unless they weigh all alike.
    int64_t begin = p.causal && p.queries <= p.keys ? first_key + p.queries - p.keys : 0;
    begin = begin <= 0 ? 0 : begin / Q * Q;
    auto load = [&](int64_t row, int64_t from, int to) {
      const int64_t result = (at.batch * p.heads + row) * p.queries + from;
      const int64_t place = at4(p.q_stride, at.batch, row, from, 0), left = p.queries - from;
      stage_rows<kVectors, Q, F, kRowGap>(q[to], reinterpret_cast<const T*>(p.q) + place,
                                          p.q_stride[2], p.q_stride[3], left, p.features);
      stage_rows<kVectors, Q, W, kRowGap>(
          g[to], reinterpret_cast<const T*>(all_arguments.given) + result * p.width, p.width, 1,
          left, p.width);
      const RowFacts* rows = reinterpret_cast<const RowFacts*>(all_arguments.rows) + result;
      for (int i = static_cast<int>(threadIdx.x); i < Q; i += kThreads) {
        copy_16(&all_facts[to][i], i < left ? rows + i : rows, i < left);
        all_queries[to][i] = i < left ? LaneRow(at, row, from + i) : LaneRow();
      }
    };
    __syncthreads();
    int now = 0;
    const int64_t end = (at.key_head + 1) * at.shared;
    if (begin < p.queries) load(at.key_head * at.shared, begin, 0);
    for (int64_t row = at.key_head * at.shared; row < end; ++row) {
      for (int64_t from = begin; from < p.queries; from += Q, now ^= 1) {
        wait_for_copies();
        __syncthreads();
        if (from + Q < p.queries)
          load(row, from + Q, now ^ 1);
        else if (row + 1 < end)
          load(row + 1, begin, now ^ 1);
        const RowFacts(&facts)[Q] = all_facts[now];
        const LaneRow(&queries)[Q] = all_queries[now];
        Sums x[Q / 8] = {}, y[Q / 8] = {};
        multiply_rows<Q, F>(x, k, q[now]);
        multiply_rows<Q, W>(y, v, g[now]);
        to_weights<M>(p, queries, facts, key, x, y);
        multiply_columns<Q, W>(of_values, x, g[now]);
        multiply_columns<Q, F>(of_keys, y, q[now]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = key + 8 * half;
      if (row >= p.keys) continue;
      const int64_t result = (at.batch * p.key_heads + at.key_head) * p.keys + row;
      store_fragments<kVectors>(reinterpret_cast<T*>(all_arguments.keys) + result * p.features,
                                of_keys, half, 1 / static_cast<float>(p.scale), p.features);
      store_fragments<kVectors>(reinterpret_cast<T*>(all_arguments.values) + result * p.width,
                                of_values, half, 1.f, p.width);
    }
  }
}

}  // namespace mlx::core::device
