// Attention of many queries in 16 bits, by products of fragments. A block has 128 R rows, a warp 16
// R of them, and the keys pass through shared memory, K at a time: while scores are computed the
// values arrive, while these are weighed the next keys do. Scores, weights and sums stay in
// registers (Dao 2023, FlashAttention-2). Exponentials are powers of 2, so scores count in units of
// log 2.
#pragma once

#include "mlx/backend/gpu/kernels/attention.cuh"
#include "mlx/backend/gpu/kernels/fragments.cuh"

namespace mlx::core::device {

inline constexpr float kLog2E = 0x1.715476p+0f;

/// Rows in shared memory: 16 bytes between them keep `load_matrices` free of bank conflicts.
inline constexpr int kRowGap = 8;

/// The lane's row in a fragment, and its first column.
MLX_FN int lane_row() { return static_cast<int>(threadIdx.x) % 32 / 4; }
MLX_FN int lane_column() { return static_cast<int>(threadIdx.x) % 4 * 2; }

/// Copies `rows` rows of `columns` elements to shared memory, and zeros up to its K rows of N
/// elements, behind which there are `kGap`. kVectors: columns are neighbours, in rows of 16 aligned
/// bytes.
template <bool kVectors, int K, int N, int kGap, class T>
MLX_FN void stage_rows(T (&to)[K][N + kGap], const T* from, int64_t row_stride,
                       int64_t column_stride, int64_t rows, int64_t columns) {
  constexpr int kVector = 16 / sizeof(T), kChunks = N / kVector;
  if constexpr (kVectors && kThreads % kChunks == 0 && K * kChunks % kThreads == 0) {
    // A thread keeps one address and its column.
    constexpr int kStep = kThreads / kChunks;
    const int first = static_cast<int>(threadIdx.x) / kChunks;
    const int column = static_cast<int>(threadIdx.x) % kChunks * kVector;
    const T* at = from + first * row_stride + column;
    const int64_t step = kStep * row_stride, left = column < columns ? rows - first : 0;
#pragma unroll
    for (int row = 0; row < K; row += kStep) {
      copy_16(&to[first + row][column], row < left ? at : from, row < left);
      at += step;
    }
  } else {
#pragma unroll
    for (int first = 0; first < K * kChunks; first += kThreads) {
      const int i = first + static_cast<int>(threadIdx.x);
      if (K * kChunks % kThreads != 0 && i >= K * kChunks) break;
      const int row = i / kChunks, column = i % kChunks * kVector;
      if constexpr (kVectors) {
        const bool some = row < rows && column < columns;
        copy_16(&to[row][column], some ? from + row * row_stride + column : from, some);
      } else {
        for (int c = 0; c < kVector; ++c)
          to[row][column + c] = row < rows && column + c < columns
                                    ? from[row * row_stride + (column + c) * column_stride]
                                    : T{};
      }
    }
  }
}

/// A row of an operand as factors of products; `row` may be null, for zeros.
template <bool kVectors, int N, class T>
MLX_FN void load_row(FactorA (&to)[N / 16], int half, const T* row, int64_t stride,
                     int64_t columns) {
#pragma unroll
  for (int s = 0; s < N / 16; ++s) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int64_t c = s * 16 + part * 8 + lane_column();
      uint32_t& two = to[s][half + 2 * part];
      two = 0;
      if (!row || c >= columns) continue;
      if constexpr (kVectors) {
        two = *reinterpret_cast<const uint32_t*>(row + c);
      } else {
        two = pair(row[c * stride], c + 1 < columns ? row[(c + 1) * stride] : T{});
      }
    }
  }
}

/// Loads the factors of the lane's two rows of an operand, of which the first is `row`.
template <bool kVectors, int N, class T, class F>
MLX_FN void load_rows(FactorA (&to)[N / 16], int64_t row, int64_t rows, int64_t stride,
                      int64_t columns, F at) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int64_t r = row + 8 * half;
    const T* x = r < rows ? at(r) : nullptr;
    load_row<kVectors, N>(to, half, x, stride, columns);
  }
}

/// Adds x · y^T: y has a row for each column of the result.
template <int K, int N, class T>
MLX_FN void multiply_rows(Sums (&to)[K / 8], const FactorA (&x)[N / 16],
                          const T (&y)[K][N + kRowGap]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, i = lane / 8;
#pragma unroll
  for (int j = 0; j < K / 8; j += 2) {
#pragma unroll
    for (int s = 0; s < N / 16; ++s) {
      uint32_t b[4];
      load_matrices(b, &y[(j + i / 2) * 8 + lane % 8][s * 16 + i % 2 * 8]);
      multiply_add<T>(to[j], x[s], b[0], b[1]);
      multiply_add<T>(to[j + 1], x[s], b[2], b[3]);
    }
  }
}

/// Adds x · y; a step along K takes two neighbours of `x`, rounded.
template <int K, int N, class T>
MLX_FN void multiply_columns(Sums (&to)[N / 8], const Sums (&x)[K / 8],
                             const T (&y)[K][N + kRowGap]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, i = lane / 8;
#pragma unroll
  for (int s = 0; s < K / 16; ++s) {
    const Sums &low = x[2 * s], &high = x[2 * s + 1];
    const FactorA a = {pair_of<T>(low[0], low[1]), pair_of<T>(low[2], low[3]),
                       pair_of<T>(high[0], high[1]), pair_of<T>(high[2], high[3])};
#pragma unroll
    for (int n = 0; n < N / 8; n += 2) {
      uint32_t b[4];
      load_transposed(b, &y[s * 16 + i % 2 * 8 + lane % 8][(n + i / 2) * 8]);
      multiply_add<T>(to[n], a, b[0], b[1]);
      multiply_add<T>(to[n + 1], a, b[2], b[3]);
    }
  }
}

/// A row of a lane: how many keys it sees, -1 for none (it weighs all alike), and where its mask
/// is.
struct LaneRow {
  int visible;
  int64_t mask;
  LaneRow() = default;
  MLX_FN LaneRow(const QueryRows& at, int64_t row) : visible(0), mask(0) {
    if (row >= at.rows) return;
    const OwnRow own(at, row);
    visible = own.sees_none ? -1 : static_cast<int>(own.visible);
    mask = own.mask;
  }
  MLX_FN LaneRow(const QueryRows& at, int64_t head, int64_t query)
      : visible(at.sees_none(query) ? -1 : static_cast<int>(at.visible(query))),
        mask(at4(at.p.mask_stride, at.batch, head, query, 0)) {}
};

template <int K>
MLX_FN void scale_all(Sums (&x)[K], float scale) {
#pragma unroll
  for (int j = 0; j < K; ++j) {
#pragma unroll
    for (int c = 0; c < 4; ++c) x[j][c] *= scale;
  }
}

/// A product with a mask's element.
template <class M>
MLX_FN float masked(float product, float scale, M mask) {
  if constexpr (std::is_same_v<M, bool>) {
    return mask ? product * (scale * kLog2E) : kLowestScore;
  } else {
    const float x = ::fmaf(product, scale, wide(mask)), y = x * kLog2E;
    return y == -__builtin_inff() && x != y ? kLowestScore : y;  // a mask of lowest numbers
  }
}

/// The score of a query (a column of products with keys), or -inf where it does not see the key.
template <class M>
MLX_FN float score_of(const AttentionArguments& p, const LaneRow& query, int64_t key,
                      float product) {
  if (key >= (query.visible < 0 ? static_cast<int>(p.keys) : query.visible))
    return -__builtin_inff();
  if (query.visible < 0) return kLowestScore;
  const float scale = static_cast<float>(p.scale);
  if constexpr (std::is_same_v<M, void>) {
    return product * (scale * kLog2E);
  } else {
    return masked(product, scale,
                  reinterpret_cast<const M*>(p.mask)[query.mask + key * p.mask_stride[3]]);
  }
}

/// Keys that all rows of a block see, and keys that any does.
struct SeenKeys {
  int64_t by_all, by_any;
  MLX_FN SeenKeys(const QueryRows& at, int64_t count) : by_all(at.p.keys), by_any(at.p.keys) {
    const AttentionArguments& p = at.p;
    if (!p.causal) return;
    const int64_t last = at.first + count - 1;
    const bool of_one_head = at.first / p.queries == last / p.queries;
    const int64_t least = (of_one_head ? at.query(at.first) : 0) + 1 + p.keys - p.queries;
    by_all = least <= 0 ? 0 : least < p.keys ? least : p.keys;
    if (of_one_head && least > 0) by_any = at.visible(at.query(last));
  }
};

/// Products of a lane's row with the keys from `from` on become scores. M: void without a mask.
template <class M, int K>
MLX_FN void to_scores(Sums (&x)[K], const AttentionArguments& p, const LaneRow& row, int half,
                      int64_t from) {
  const float scale = static_cast<float>(p.scale);
  const int first = static_cast<int>(from) + lane_column();
  const int limit = (row.visible < 0 ? static_cast<int>(p.keys) : row.visible) - first;
  const int64_t step = p.mask_stride[3], mask = row.mask + first * step;
#pragma unroll
  for (int j = 0; j < K; ++j) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int key = j * 8 + c;
      float& product = x[j][2 * half + c];
      if (key >= limit) {
        product = -__builtin_inff();
      } else if (row.visible < 0) {
        product = kLowestScore;
      } else if constexpr (std::is_same_v<M, void>) {
        product *= scale * kLog2E;
      } else {
        product = masked(product, scale, reinterpret_cast<const M*>(p.mask)[mask + key * step]);
      }
    }
  }
}

/// Whether neighbours of a mask can be read as pairs from even places on.
template <class M>
MLX_FN bool has_pairs(const AttentionArguments& p) {
  if constexpr (std::is_same_v<M, void>) {
    return false;
  } else {
    const int64_t steps = p.mask_stride[0] | p.mask_stride[1] | p.mask_stride[2];
    return p.mask_stride[3] == 1 && steps % 2 == 0 && p.mask % (2 * sizeof(M)) == 0;
  }
}

/// The same where the row sees all of the keys and the mask has pairs: no load waits for another.
template <class M, int K>
MLX_FN void to_seen_scores(Sums (&x)[K], const AttentionArguments& p, const LaneRow& row, int half,
                           int64_t from) {
  struct alignas(2 * sizeof(M)) Pair {
    M low, high;
  };
  const float scale = static_cast<float>(p.scale);
  const M* mask = reinterpret_cast<const M*>(p.mask) + row.mask + from + lane_column();
#pragma unroll
  for (int j = 0; j < K; ++j) {
    const Pair pair = *reinterpret_cast<const Pair*>(mask + 8 * j);
    x[j][2 * half] = masked(x[j][2 * half], scale, pair.low);
    x[j][2 * half + 1] = masked(x[j][2 * half + 1], scale, pair.high);
  }
}

/// The same for the lane's two rows; quickly where all rows see all of the keys.
template <class M, int K>
MLX_FN void to_scores(Sums (&x)[K], const AttentionArguments& p, const LaneRow (&rows)[2],
                      int64_t from, bool all_seen) {
  if (std::is_same_v<M, void> && all_seen) {
    scale_all(x, static_cast<float>(p.scale) * kLog2E);
  } else if (all_seen && has_pairs<M>(p)) {
    if constexpr (!std::is_same_v<M, void>) {
      to_seen_scores<M>(x, p, rows[0], 0, from);
      to_seen_scores<M>(x, p, rows[1], 1, from);
    }
  } else {
    to_scores<M>(x, p, rows[0], 0, from);
    to_scores<M>(x, p, rows[1], 1, from);
  }
}

/// The number of a row in results.
MLX_FN int64_t result_row(const QueryRows& at, int64_t row) {
  return (at.batch * at.p.heads + at.head(row)) * at.p.queries + at.query(row);
}

/// The sum over the four lanes that have a row of a fragment.
MLX_FN float over_lanes_of_row(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

/// The running softmax of the two rows that a lane has of a fragment.
struct RunningRows {
  float largest[2], sums[2];  ///< a lane's part of the sums
  /// The sinks alone, where there are some. `first`: the first of the rows.
  template <class T>
  MLX_FN RunningRows(const QueryRows& at, const T* sinks, int64_t first) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first + 8 * half;
      const bool sink = sinks && row < at.rows;
      largest[half] =
          sink ? wide(sinks[at.head(row) * at.p.sink_stride]) * kLog2E : -__builtin_inff();
      sums[half] = sink && threadIdx.x % 4 == 0 ? 1.f : 0.f;
    }
  }
  /// Turns scores into weights, relative to the largest score so far, and scales `out` with it.
  template <int K, int W>
  MLX_FN void weigh(Sums (&scores)[K], Sums (&out)[W]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = largest[half];
#pragma unroll
      for (int j = 0; j < K; ++j)
        most = ::fmaxf(most, ::fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
      most = ::fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = ::fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      const float base = most == -__builtin_inff() ? 0.f : most;
      const float factor = power_of_2(largest[half] - base);
      float sum = 0;
#pragma unroll
      for (int j = 0; j < K; ++j) {
#pragma unroll
        for (int c = 2 * half; c < 2 * half + 2; ++c) {
          scores[j][c] = power_of_2(scores[j][c] - base);
          sum += scores[j][c];
        }
      }
      largest[half] = most;
      sums[half] = ::fmaf(sums[half], factor, sum);
#pragma unroll
      for (int w = 0; w < W; ++w) {
        out[w][2 * half] *= factor;
        out[w][2 * half + 1] *= factor;
      }
    }
  }
};

/// Writes a fragment's row.
template <bool kVectors, int W, class T>
MLX_FN void store_fragments(T* to, const Sums (&out)[W], int half, float divisor, int64_t width) {
#pragma unroll
  for (int w = 0; w < W; ++w) {
    const int64_t c = w * 8 + lane_column();
    if (c >= width) continue;
    const float low = out[w][2 * half] / divisor, high = out[w][2 * half + 1] / divisor;
    if constexpr (kVectors) {
      *reinterpret_cast<uint32_t*>(to + c) = pair_of<T>(low, high);
    } else {
      to[c] = narrowed<T>(low);
      if (c + 1 < width) to[c + 1] = narrowed<T>(high);
    }
  }
}

/// T: elements, M: of the mask, or void. F and W: features of keys and values, rounded up to 16.
template <class T, class M, int F, int W, int K, bool kVectors>
MLX_FN void attention_tiles(const AttentionArguments& p) {
  constexpr int kRows = kThreads / 32 * 16;
  alignas(16) MLX_SHARED T k[K][F + kRowGap], v[K][W + kRowGap];
  const T *qs = reinterpret_cast<const T*>(p.q), *sinks = reinterpret_cast<const T*>(p.sinks);
  const int64_t blocks = (p.heads / p.key_heads * p.queries + kRows - 1) / kRows;
  const int64_t all = p.batches * p.key_heads * blocks;
  for (int64_t unit = blockIdx.x; unit < all; unit += gridDim.x) {
    // Later queries of a causal mask see more keys: their blocks come first.
    const QueryRows at(p, all - 1 - unit, blocks, kRows);
    const SeenKeys seen(at, at.rows - at.first < kRows ? at.rows - at.first : kRows);
    const T* ks = reinterpret_cast<const T*>(p.k) + at4(p.k_stride, at.batch, at.key_head, 0, 0);
    const T* vs = reinterpret_cast<const T*>(p.v) + at4(p.v_stride, at.batch, at.key_head, 0, 0);
    const int64_t first = at.first + static_cast<int>(threadIdx.x) / 32 * 16 + lane_row();
    FactorA q[F / 16];
    load_rows<kVectors, F, T>(q, first, at.rows, p.q_stride[3], p.features, [&](int64_t r) {
      return qs + at4(p.q_stride, at.batch, at.head(r), at.query(r), 0);
    });
    const LaneRow lane[2] = {LaneRow(at, first), LaneRow(at, first + 8)};
    RunningRows running(at, sinks, first);
    Sums out[W / 8] = {};
    auto load_keys = [&](int64_t from) {
      stage_rows<kVectors, K, F, kRowGap>(k, ks + from * p.k_stride[2], p.k_stride[2],
                                          p.k_stride[3], p.keys - from, p.features);
    };
    __syncthreads();
    if (seen.by_any > 0) load_keys(0);
    for (int64_t from = 0; from < seen.by_any; from += K) {
      wait_for_copies();
      __syncthreads();
      stage_rows<kVectors, K, W, kRowGap>(v, vs + from * p.v_stride[2], p.v_stride[2],
                                          p.v_stride[3], p.keys - from, p.width);
      Sums scores[K / 8] = {};
      multiply_rows<K, F>(scores, q, k);
      wait_for_copies();
      __syncthreads();
      if (from + K < seen.by_any) load_keys(from + K);
      to_scores<M>(scores, p, lane, from, from + K <= seen.by_all);
      running.weigh(scores, out);
      multiply_columns<K, W>(out, scores, v);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = over_lanes_of_row(running.sums[half]);
      const int64_t row = first + 8 * half;
      if (row >= at.rows) continue;
      T* to = reinterpret_cast<T*>(p.out) + result_row(at, row) * p.width;
      // Without keys the result is 0; without scores above -inf, NaN.
      store_fragments<kVectors>(to, out, half, seen.by_any == 0 ? 1.f : sum, p.width);
    }
  }
}

}  // namespace mlx::core::device
