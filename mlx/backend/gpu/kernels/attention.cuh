// Attention, without storing all scores; rotary position embedding.
#pragma once

#include "mlx/backend/gpu/kernels/rows.cuh"

namespace mlx::core::device {

MLX_CONSTANT int kLanesOfRow = 16, kKeys = 64, kFeatures = 32;

/// The score of a key that is not selected.
MLX_CONSTANT float kLowestScore = -0x1.fffffep127f;

/// A row between the kernels of a derivative: its weights are the exponentials, with e or 2, of
/// score - base, times `scale`; `mean` is the sum of the weights times their cotangents.
struct alignas(16) RowFacts {
  float base, scale, mean, unused;
};

/// The rows of a block: queries of the heads that share a key head.
struct QueryRows {
  const AttentionArguments& p;
  int64_t batch, key_head, first, shared, rows;
  MLX_FN QueryRows(const AttentionArguments& p_, int64_t block, int64_t blocks, int each)
      : p(p_), shared(p_.heads / p_.key_heads) {
    rows = shared * p.queries;
    first = block % blocks * each;
    key_head = block / blocks % p.key_heads;
    batch = block / blocks / p.key_heads;
  }
  MLX_FN int64_t head(int64_t row) const { return key_head * shared + row / p.queries; }
  MLX_FN int64_t query(int64_t row) const { return row % p.queries; }
  /// How many keys a query attends to; all, with the lowest scores, where it attends to none.
  MLX_FN int64_t visible(int64_t query) const {
    if (!p.causal) return p.keys;
    const int64_t n = query + 1 + p.keys - p.queries;
    return n <= 0 || n > p.keys ? p.keys : n;
  }
  /// Keys that any of the block's first `count` rows attends to.
  MLX_FN int64_t visible_to_any(int64_t count) const {
    int64_t end = 0;
    for (int i = 0; i < count; ++i) {
      const int64_t n = visible(query(first + i));
      end = n > end ? n : end;
    }
    return end;
  }
  MLX_FN bool sees_none(int64_t query) const { return p.causal && query + 1 + p.keys <= p.queries; }
};

MLX_FN int64_t at4(const int64_t (&s)[4], int64_t a, int64_t b, int64_t c, int64_t d) {
  return a * s[0] + b * s[1] + c * s[2] + d * s[3];
}

/// Values that are the same for all keys of a row.
struct OwnRow {
  int64_t visible = 0, mask = 0;
  bool sees_none = false;
  MLX_FN OwnRow() {}
  MLX_FN OwnRow(const QueryRows& at, int64_t row)
      : visible(at.visible(at.query(row))),
        mask(at4(at.p.mask_stride, at.batch, at.head(row), at.query(row), 0)),
        sees_none(at.sees_none(at.query(row))) {}
};

/// The score of a key, of a product of features.
template <class M>
MLX_FN float score(const AttentionArguments& p, const OwnRow& row, int64_t key, float product) {
  if (row.sees_none) return kLowestScore;
  const float x = product * static_cast<float>(p.scale);
  if (!p.mask) return x;
  const M mask = memory<const M>(p.mask)[row.mask + key * p.mask_stride[3]];
  if constexpr (std::is_same_v<M, bool>) {
    return mask ? x : kLowestScore;
  } else {
    return x + wide(mask);
  }
}

/// Some rows of an operand in shared memory; others than the first `rows` are zero.
template <int N, int kRow, class F>
MLX_FN void stage(MLX_SHARED_SPACE float (&to)[N][kRow], int64_t rows, int64_t features, F at) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < N * kFeatures; i += kThreads) {
    const int x = i / kFeatures, f = i % kFeatures;
    to[x][f] = x < rows && f < features ? at(x, f) : 0.f;
  }
}
template <class F>
MLX_FN float over_lanes(float x, F f) {
#pragma unroll
  for (int h = kLanesOfRow / 2; h > 0; h /= 2) x = f(x, __shfl_xor_sync(~0u, x, h));
  return x;
}

/// Adds the products of the staged features: of R rows, and of each sixteenth key from `lane` on.
template <int R, int kSome, int kRows>
MLX_FN void add_products(float (&product)[R][kSome],
                         MLX_SHARED_SPACE const float (&q)[kRows][kFeatures + 1],
                         MLX_SHARED_SPACE const float (&k)[kKeys][kFeatures + 1], int r, int lane) {
#pragma unroll 8
  for (int f = 0; f < kFeatures; ++f) {
    float y[kSome];
#pragma unroll
    for (int j = 0; j < kSome; ++j) y[j] = k[lane + kLanesOfRow * j][f];
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const float x = q[r + i][f];
#pragma unroll
      for (int j = 0; j < kSome; ++j) product[i][j] = ::fmaf(x, y[j], product[i][j]);
    }
  }
}

/// The weights of a row's keys from `from` on, relative to the largest score so far, and their sum.
/// Returns what earlier weights are to be multiplied by.
template <class M, int kSome, int kRow>
MLX_FN float weigh(const AttentionArguments& p, const OwnRow& own, int64_t from, int lane,
                   float (&product)[kSome], MLX_SHARED_SPACE float (&weights)[kRow], float& largest,
                   float& total) {
  float most = -__builtin_inff(), sum = 0;
#pragma unroll
  for (int j = 0; j < kSome; ++j) {
    const int64_t key = from + lane + kLanesOfRow * j;
    product[j] = key < own.visible ? score<M>(p, own, key, product[j]) : -__builtin_inff();
    most = Larger()(most, product[j]);
  }
  most = Larger()(largest, over_lanes(most, Larger()));
  const bool nothing = most == -__builtin_inff();
#pragma unroll
  for (int j = 0; j < kSome; ++j) {
    const bool seen = from + lane + kLanesOfRow * j < own.visible;
    const float w = seen && !nothing ? exponential(product[j] - most) : 0.f;
    weights[lane + kLanesOfRow * j] = w;
    sum += w;
  }
  const float factor = nothing ? 1.f : exponential(largest - most);
  largest = most;
  total = total * factor + over_lanes(sum, Add());
  return factor;
}

/// Adds the staged values, which belong to the keys from `s` on. Values behind the last key are 0.
template <int R, int kColumns, int kStage, int kWidth, int kRows>
MLX_FN void add_values(float (&out)[R][kColumns], MLX_SHARED_SPACE const float (&v)[kStage][kWidth],
                       MLX_SHARED_SPACE const float (&weights)[kRows][kKeys + 1], int s, int r,
                       int lane) {
#pragma unroll 4
  for (int j = 0; j < kStage; ++j) {
    float y[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) y[c] = v[j][lane + kLanesOfRow * c];
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const float w = weights[r + i][s + j];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) out[i][c] = ::fmaf(w, y[c], out[i][c]);
    }
  }
}

/// Stores a lane's results of a row, or what a part of the keys gives.
template <class T, int kColumns>
MLX_FN void store_row(const AttentionArguments& p, int64_t row, int64_t part, int64_t column,
                      bool without_keys, float largest, float sum, const float (&out)[kColumns]) {
  const int lane = static_cast<int>(threadIdx.x) % kLanesOfRow;
  auto* to = memory<T>(p.out) + row * p.width;
  auto* given = memory<float>(p.partials) + (row * p.splits + part) * (p.width + 2);
  if (p.splits > 1 && column == 0 && lane == 0) {
    given[p.width] = largest;
    given[p.width + 1] = sum;
  }
  for (int c = 0; c < kColumns; ++c) {
    const int64_t x = column + lane + kLanesOfRow * c;
    if (x >= p.width) continue;
    // Without keys the result is 0; without scores above -inf, NaN.
    if (p.splits > 1)
      given[x] = out[c];
    else
      to[x] = stored<T>(without_keys ? 0.f : out[c] / sum);
  }
}

/// T: elements, M: of the mask. Sixteen lanes have R rows, and kWidth values of each.
template <class T, class M, int R, int kWidth>
MLX_FN void attention(const AttentionArguments& p) {
  constexpr int kRows = kThreads / kLanesOfRow * R, kColumns = kWidth / kLanesOfRow;
  constexpr int kSome = kKeys / kLanesOfRow, kStage = kWidth > 128 ? 8 : 16;
  MLX_SHARED float q[kRows][kFeatures + 1], k[kKeys][kFeatures + 1];
  MLX_SHARED float weights[kRows][kKeys + 1], v[kStage][kWidth];
  MLX_SHARED int64_t q_at[kRows];
  const auto *qs = memory<const T>(p.q), *ks = memory<const T>(p.k);
  const auto *vs = memory<const T>(p.v), *sinks = memory<const T>(p.sinks);
  const int t = static_cast<int>(threadIdx.x), r = t / kLanesOfRow * R, lane = t % kLanesOfRow;
  const int64_t blocks = (p.heads / p.key_heads * p.queries + kRows - 1) / kRows;
  const int64_t parts = (p.width + kWidth - 1) / kWidth;
  const int64_t all = p.batches * p.key_heads * blocks * parts * p.splits;
  for (int64_t unit = blockIdx.x; unit < all; unit += gridDim.x) {
    const int64_t block = unit / p.splits, first = unit % p.splits * p.split;
    const QueryRows at(p, block / parts, blocks, kRows);
    const int64_t column = block % parts * kWidth;
    const int64_t left = at.rows - at.first < kRows ? at.rows - at.first : kRows;
    int64_t end = at.visible_to_any(left);
    const bool without_keys = end == 0;
    end = first + p.split < end ? first + p.split : end;
    __syncthreads();
    for (int i = t; i < left; i += kThreads)
      q_at[i] = at4(p.q_stride, at.batch, at.head(at.first + i), at.query(at.first + i), 0);
    float largest[R], sums[R], out[R][kColumns] = {};
    OwnRow own[R];
    for (int i = 0; i < R; ++i) {
      if (r + i < left) own[i] = OwnRow(at, at.first + r + i);
      const bool sink = sinks && r + i < left && first == 0;
      largest[i] =
          sink ? wide(sinks[at.head(at.first + r + i) * p.sink_stride]) : -__builtin_inff();
      sums[i] = sink ? 1.f : 0.f;
    }
    for (int64_t from = first; from < end; from += kKeys) {
      float product[R][kSome] = {};
      __syncthreads();
      for (int64_t d = 0; d < p.features; d += kFeatures) {
        __syncthreads();
        stage(q, left, p.features - d,
              [&](int x, int f) { return wide(qs[q_at[x] + (d + f) * p.q_stride[3]]); });
        stage(k, end - from, p.features - d, [&](int x, int f) {
          return wide(ks[at4(p.k_stride, at.batch, at.key_head, from + x, d + f)]);
        });
        __syncthreads();
        add_products(product, q, k, r, lane);
      }
#pragma unroll
      for (int i = 0; i < R; ++i) {
        const float factor =
            weigh<M>(p, own[i], from, lane, product[i], weights[r + i], largest[i], sums[i]);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) out[i][c] *= factor;
      }
      for (int s = 0; s < kKeys && from + s < end; s += kStage) {
        __syncthreads();
        for (int i = t; i < kStage * kWidth; i += kThreads) {
          const int64_t key = from + s + i / kWidth, c = column + i % kWidth;
          v[i / kWidth][i % kWidth] = key < end && c < p.width
                                          ? wide(vs[at4(p.v_stride, at.batch, at.key_head, key, c)])
                                          : 0.f;
        }
        __syncthreads();
        add_values(out, v, weights, s, r, lane);
      }
    }
    for (int i = 0; i < R && r + i < left; ++i) {
      const int64_t y = at.first + r + i;
      const int64_t row = (at.batch * p.heads + at.head(y)) * p.queries + at.query(y);
      store_row<T>(p, row, unit % p.splits, column, without_keys, largest[i], sums[i], out[i]);
    }
  }
}

/// The results of rows whose keys were split: a thread has an element. A part holds sums weighed
/// relative to its largest score, that score, and the sum of its weights.
template <class T>
MLX_FN void attention_parts(const AttentionArguments& p) {
  const int64_t all = p.batches * p.heads * p.queries * p.width;
  for (int64_t x = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; x < all;
       x += static_cast<int64_t>(gridDim.x) * kThreads) {
    const auto parts = memory<const float>(p.partials) + x / p.width * p.splits * (p.width + 2);
    float most = -__builtin_inff(), sum = 0, total = 0;
    for (int64_t s = 0; s < p.splits; ++s)
      most = Larger()(most, parts[s * (p.width + 2) + p.width]);
    const bool nothing = most == -__builtin_inff();
    for (int64_t s = 0; s < p.splits; ++s) {
      const auto* part = parts + s * (p.width + 2);
      const float factor = nothing ? 1.f : exponential(part[p.width] - most);
      sum = ::fmaf(part[x % p.width], factor, sum);
      total = ::fmaf(part[p.width + 1], factor, total);
    }
    memory<T>(p.out)[x] = stored<T>(sum / total);
  }
}

//--- rotary position embedding

/// The angle, less whole turns.
MLX_FN LD reduced_angle(double position, LD rate) {
  const LD angle = LD(position) * rate;
  const LD turns = v_rint(angle * LD(1 / 0x1.921fb54442d18p+2));
  return v_fma(turns, LD(-0x1.1a62633145c07p-52), v_fma(turns, LD(-0x1.921fb54442d18p+2), angle));
}

/// A thread rotates a pair; others copy what is behind the pairs.
template <class T>
MLX_FN void rope(const RopeArguments& p) {
  using A = Wide<T>;
  using V = lane::Lane<A>;
  const int64_t each = p.width - p.half;
  for (int64_t x = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; x < p.rows * each;
       x += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t row = x / each, i = x % each;
    const auto* in = memory<const T>(p.in) + row * p.width;
    auto* out = memory<T>(p.out) + row * p.width;
    if (i >= p.half) {
      out[i + p.half] = in[i + p.half];
      continue;
    }
    LD rate;
    if (p.freqs)
      rate = LD(1 / (p.double_freqs ? memory<const double>(p.freqs)[i]
                                    : static_cast<double>(memory<const float>(p.freqs)[i])));
    else
      rate = m::exp(LD(-static_cast<double>(i) / static_cast<double>(p.half) * p.log_base));
    const int64_t batch = p.batches > 1 ? row / p.per_batch : 0;
    const double position =
        memory<const int32_t>(p.offset)[batch] + static_cast<double>(row % p.positions);
    const V angle = static_cast<A>(reduced_angle(position * p.scale, rate).v);
    const A c = plain(m::cos(angle)), s = plain(m::sin(angle)) * static_cast<A>(p.sign);
    const int64_t first = p.traditional ? 2 * i : i,
                  second = p.traditional ? first + 1 : i + p.half;
    const A a = wide(in[first]), b = wide(in[second]);
    out[first] = stored<T>(a * c - b * s);
    out[second] = stored<T>(a * s + b * c);
  }
}

}  // namespace mlx::core::device
