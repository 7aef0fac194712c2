// The derivative of attention without products of fragments, for any number of features, in two
// kernels that compute the weights again. Sixteen lanes have R rows: queries in the first kernel,
// keys in the second one. They go over the keys, or the queries, 64 at a time. Cotangents of scores
// are p (g - sum of p g), for weights p and their cotangents g. A block computes `kWidth` columns
// of the results of its rows.
#pragma once

#include "mlx/backend/gpu/kernels/attention.cuh"

namespace mlx::core::device {

/// Rows of an operand, `stride` elements apart.
template <class T>
struct LinearRows {
  DevicePointer<const T> first;
  int64_t stride, step;
  MLX_FN float element(int64_t row, int64_t feature) const {
    return wide(first[row * stride + feature * step]);
  }
};
/// Rows that begin where a list says.
template <class T>
struct ListedRows {
  DevicePointer<const T> all;
  SharedPointer<const int64_t> begins;
  int64_t step;
  MLX_FN float element(int64_t row, int64_t feature) const {
    return wide(all[begins[row] + feature * step]);
  }
};
/// Rows of the keys or values of a head, from key `from` on.
template <class T>
MLX_FN LinearRows<T> rows_of_keys(int64_t address, const int64_t (&s)[4], const QueryRows& at,
                                  int64_t from) {
  return {memory<const T>(address) + at4(s, at.batch, at.key_head, from, 0), s[2], s[3]};
}

/// How many rows, others and features there are.
struct Counts {
  int64_t own, others, features;
};
/// Adds the products of a thread's rows and of each sixteenth of 64 others.
template <int R, int kSome, int kRows, class A, class B>
MLX_FN void multiply_features(float (&product)[R][kSome],
                              MLX_SHARED_SPACE float (&rows)[kRows][kFeatures + 1],
                              MLX_SHARED_SPACE float (&others)[kKeys][kFeatures + 1], A own,
                              B other, Counts count) {
  const int t = static_cast<int>(threadIdx.x);
  for (int64_t d = 0; d < count.features; d += kFeatures) {
    __syncthreads();
    stage(rows, count.own, count.features - d, [&](int x, int f) { return own.element(x, d + f); });
    stage(others, count.others, count.features - d,
          [&](int x, int f) { return other.element(x, d + f); });
    __syncthreads();
    add_products(product, rows, others, t / kLanesOfRow * R, t % kLanesOfRow);
  }
}

/// Adds the products of a thread's queries and 64 keys to x, those of cotangents and values to y.
template <class T, int R, int kSome, int kRows>
MLX_FN void multiply_keys(float (&x)[R][kSome], float (&y)[R][kSome],
                          MLX_SHARED_SPACE float (&rows)[kRows][kFeatures + 1],
                          MLX_SHARED_SPACE float (&others)[kKeys][kFeatures + 1], ListedRows<T> q,
                          LinearRows<T> given, const QueryRows& at, int64_t from, int64_t left,
                          int64_t count) {
  multiply_features(x, rows, others, q, rows_of_keys<T>(at.p.k, at.p.k_stride, at, from),
                    Counts{left, count, at.p.features});
  multiply_features(y, rows, others, given, rows_of_keys<T>(at.p.v, at.p.v_stride, at, from),
                    Counts{left, count, at.p.width});
}

/// Adds columns of 64 others, of which `count` are there, by their weights in each row.
template <int R, int kColumns, int kStage, int kWidth, int kRows, class B>
MLX_FN void add_columns(float (&out)[R][kColumns],
                        MLX_SHARED_SPACE float (&columns)[kStage][kWidth],
                        MLX_SHARED_SPACE float (&weights)[kRows][kKeys + 1], B other, int64_t count,
                        int64_t column, int64_t end) {
  const int t = static_cast<int>(threadIdx.x);
  for (int s = 0; s < kKeys && s < count; s += kStage) {
    __syncthreads();
    for (int i = t; i < kStage * kWidth; i += kThreads) {
      const int64_t x = s + i / kWidth, c = column + i % kWidth;
      columns[i / kWidth][i % kWidth] = x < count && c < end ? other.element(x, c) : 0.f;
    }
    __syncthreads();
    add_values(out, columns, weights, s, t / kLanesOfRow * R, t % kLanesOfRow);
  }
}

/// The weight of a score.
MLX_FN float weight_of(float score, const RowFacts& row) {
  return exponential(score - row.base) * row.scale;
}
/// The cotangent of a score, from that of its weight. Scores that are no products have none.
template <class M>
MLX_FN float score_cotangent(const OwnRow& own, float score, float given, const RowFacts& row) {
  const bool fixed = own.sees_none || (std::is_same_v<M, bool> && score == kLowestScore);
  const float weight = weight_of(score, row);
  return weight == 0 || fixed ? 0.f : weight * (given - row.mean);
}

/// Stores some of a row's columns, times a factor.
template <class T, int kColumns>
MLX_FN void store_columns(int64_t address, int64_t row, int64_t column, int64_t end, float factor,
                          const float (&from)[kColumns]) {
  const auto to = memory<T>(address) + row * end;
  const int lane = static_cast<int>(threadIdx.x) % kLanesOfRow;
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int64_t x = column + lane + kLanesOfRow * c;
    if (x < end) to[x] = stored<T>(from[c] * factor);
  }
}

/// The first kernel: facts of rows, and cotangents of queries. M: elements of the mask.
template <class T, class M, int R, int kWidth>
MLX_FN void attention_lanes_queries(const AttentionVjpArguments& all) {
  constexpr int kRows = kThreads / kLanesOfRow * R, kColumns = kWidth / kLanesOfRow;
  constexpr int kSome = kKeys / kLanesOfRow, kStage = 16;
  MLX_SHARED float rows[kRows][kFeatures + 1], others[kKeys][kFeatures + 1];
  MLX_SHARED float weights[kRows][kKeys + 1], columns[kStage][kWidth];
  MLX_SHARED int64_t begins[kRows];
  MLX_ARGUMENTS const AttentionArguments& p = all.forward;
  const int t = static_cast<int>(threadIdx.x), r = t / kLanesOfRow * R, lane = t % kLanesOfRow;
  const int64_t blocks = (p.heads / p.key_heads * p.queries + kRows - 1) / kRows;
  const int64_t parts = (p.features + kWidth - 1) / kWidth;
  for (int64_t unit = blockIdx.x; unit < p.batches * p.key_heads * blocks * parts;
       unit += gridDim.x) {
    const QueryRows at(p, unit / parts, blocks, kRows);
    const int64_t column = unit % parts * kWidth;
    const int64_t left = at.rows - at.first < kRows ? at.rows - at.first : kRows;
    const int64_t result = (at.batch * p.heads + at.head(0)) * p.queries + at.first;
    const int64_t end = at.visible_to_any(left);
    __syncthreads();
    for (int i = t; i < left; i += kThreads)
      begins[i] = at4(p.q_stride, at.batch, at.head(at.first + i), at.query(at.first + i), 0);
    const ListedRows<T> q{memory<const T>(p.q), &begins[0], p.q_stride[3]};
    const LinearRows<T> given{memory<const T>(all.given) + result * p.width, p.width, 1};
    const auto sinks = memory<const T>(p.sinks);
    float largest[R], sums[R], means[R] = {}, out[R][kColumns] = {};
    OwnRow own[R];
#pragma unroll
    for (int i = 0; i < R; ++i) {
      if (r + i < left) own[i] = OwnRow(at, at.first + r + i);
      const bool sink = p.sinks && r + i < left;
      largest[i] =
          sink ? wide(sinks[at.head(at.first + r + i) * p.sink_stride]) : -__builtin_inff();
      sums[i] = sink ? 1.f : 0.f;
    }
    for (int64_t from = 0; from < end; from += kKeys) {
      float x[R][kSome] = {}, y[R][kSome] = {};
      multiply_keys(x, y, rows, others, q, given, at, from, left, end - from);
#pragma unroll
      for (int i = 0; i < R; ++i) {
        means[i] *= weigh<M>(p, own[i], from, lane, x[i], weights[r + i], largest[i], sums[i]);
#pragma unroll
        for (int j = 0; j < kSome; ++j) {
          const float weight = weights[r + i][lane + kLanesOfRow * j];
          if (weight != 0) means[i] = ::fmaf(weight, y[i][j], means[i]);
        }
      }
    }
    RowFacts facts[R];
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const float base = largest[i] == -__builtin_inff() ? 0.f : largest[i];
      facts[i] = RowFacts{base, 1 / sums[i], over_lanes(means[i], Add()) / sums[i], 0};
      if (lane == 0 && column == 0 && r + i < left)
        memory<RowFacts>(all.rows)[result + r + i] = facts[i];
    }
    for (int64_t from = 0; from < end; from += kKeys) {
      float x[R][kSome] = {}, y[R][kSome] = {};
      multiply_keys(x, y, rows, others, q, given, at, from, left, end - from);
#pragma unroll
      for (int i = 0; i < R; ++i) {
#pragma unroll
        for (int j = 0; j < kSome; ++j) {
          const int64_t key = from + lane + kLanesOfRow * j;
          weights[r + i][lane + kLanesOfRow * j] =
              key < own[i].visible
                  ? score_cotangent<M>(own[i], score<M>(p, own[i], key, x[i][j]), y[i][j], facts[i])
                  : 0.f;
        }
      }
      add_columns(out, columns, weights, rows_of_keys<T>(p.k, p.k_stride, at, from), end - from,
                  column, p.features);
    }
#pragma unroll
    for (int i = 0; i < R; ++i)
      if (r + i < left)
        store_columns<T>(p.out, result + r + i, column, p.features, static_cast<float>(p.scale),
                         out[i]);
  }
}

/// The second kernel: cotangents of keys and of values.
template <class T, class M, int R, int kWidth>
MLX_FN void attention_lanes_keys(const AttentionVjpArguments& all) {
  constexpr int kRows = kThreads / kLanesOfRow * R, kColumns = kWidth / kLanesOfRow;
  constexpr int kSome = kKeys / kLanesOfRow, kStage = 16;
  MLX_SHARED float rows[kRows][kFeatures + 1], others[kKeys][kFeatures + 1];
  MLX_SHARED float weights[kRows][kKeys + 1], columns[kStage][kWidth];
  MLX_ARGUMENTS const AttentionArguments& p = all.forward;
  const int t = static_cast<int>(threadIdx.x), r = t / kLanesOfRow * R, lane = t % kLanesOfRow;
  const int64_t blocks = (p.keys + kRows - 1) / kRows;
  const int64_t key_parts = (p.features + kWidth - 1) / kWidth;
  const int64_t parts = key_parts + (p.width + kWidth - 1) / kWidth;
  for (int64_t unit = blockIdx.x; unit < p.batches * p.key_heads * blocks * parts;
       unit += gridDim.x) {
    const int64_t part = unit % parts, first = unit / parts % blocks * kRows;
    const QueryRows at(p, unit / parts / blocks, 1, 0);
    const bool of_values = part >= key_parts;
    const int64_t column = (of_values ? part - key_parts : part) * kWidth;
    const int64_t left = p.keys - first < kRows ? p.keys - first : kRows;
    const LinearRows<T> k = rows_of_keys<T>(p.k, p.k_stride, at, first),
                        v = rows_of_keys<T>(p.v, p.v_stride, at, first);
    // Queries before this one see none of the keys, unless they weigh all alike.
    int64_t begin = p.causal && p.queries <= p.keys ? first + p.queries - p.keys : 0;
    begin = begin <= 0 ? 0 : begin / kKeys * kKeys;
    float out[R][kColumns] = {};
    for (int64_t head = at.head(0); head < at.head(0) + at.shared; ++head) {
      for (int64_t from = begin; from < p.queries; from += kKeys) {
        const int64_t result = (at.batch * p.heads + head) * p.queries + from;
        const LinearRows<T> q{memory<const T>(p.q) + at4(p.q_stride, at.batch, head, from, 0),
                              p.q_stride[2], p.q_stride[3]},
            given{memory<const T>(all.given) + result * p.width, p.width, 1};
        const int64_t count = p.queries - from;
        float x[R][kSome] = {}, y[R][kSome] = {};
        multiply_features(x, rows, others, k, q, Counts{left, count, p.features});
        if (!of_values) multiply_features(y, rows, others, v, given, Counts{left, count, p.width});
#pragma unroll
        for (int j = 0; j < kSome; ++j) {
          const int other = lane + kLanesOfRow * j;
          OwnRow own;
          RowFacts facts{0, 0, 0, 0};
          if (other < count) {
            own = OwnRow(at, (head - at.head(0)) * p.queries + from + other);
            facts = memory<const RowFacts>(all.rows)[result + other];
          }
#pragma unroll
          for (int i = 0; i < R; ++i) {
            const int64_t key = first + r + i;
            float weight = 0;
            if (key < own.visible) {
              const float s = score<M>(p, own, key, x[i][j]);
              weight = of_values ? weight_of(s, facts) : score_cotangent<M>(own, s, y[i][j], facts);
            }
            weights[r + i][other] = weight;
          }
        }
        const LinearRows<T> added = of_values ? given : q;
        add_columns(out, columns, weights, added, count, column, of_values ? p.width : p.features);
      }
    }
    const int64_t result = (at.batch * p.key_heads + at.key_head) * p.keys + first;
#pragma unroll
    for (int i = 0; i < R; ++i) {
      if (r + i >= left) continue;
      if (of_values)
        store_columns<T>(all.values, result + r + i, column, p.width, 1.f, out[i]);
      else
        store_columns<T>(all.keys, result + r + i, column, p.features, static_cast<float>(p.scale),
                         out[i]);
    }
  }
}

}  // namespace mlx::core::device
