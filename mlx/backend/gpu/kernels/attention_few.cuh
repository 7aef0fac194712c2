// Attention of a few queries in 16 bits, which takes as long as the keys and values take to arrive.
// A block has eight rows, queries of the heads that share a key head, and a part of the keys, of
// which each warp takes sixteen at a time. Lanes load 16 bytes of a key straight into the fragments
// of products: the order of features along a sum is free, and so is that of columns of the result.
// Keys are rows of scores and features rows of results, so that eight queries fill a fragment.
#pragma once

#include "mlx/backend/gpu/kernels/attention_tiles.cuh"

namespace mlx::core::device {

inline constexpr int kFewRows = 8, kWarps = kThreads / 32, kKeysOfWarp = 16;

/// Eight elements.
struct alignas(16) Eight {
  uint32_t pair[4];
};
struct alignas(16) Four {
  float v[4];
};

/// Eight elements of a row from `column` on, zeros behind its `columns`. `row` may be null, for
/// zeros. kVectors: elements are neighbours, and aligned to 16 bytes.
template <bool kVectors, class T>
MLX_FN Eight load_eight(const T* row, int64_t stride, int column, int columns) {
  Eight x = {};
  if (!row || column >= columns) return x;
  if constexpr (kVectors) {
#ifdef __CUDACC_RTC__
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.pair[0]), "=r"(x.pair[1]), "=r"(x.pair[2]), "=r"(x.pair[3])
                 : "l"(row + column));
#else
    memcpy(&x, row + column, sizeof(x));
#endif
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int c = column + 2 * i;
      if (c < columns)
        x.pair[i] = pair(row[c * stride], c + 1 < columns ? row[(c + 1) * stride] : T{});
    }
  }
  return x;
}

/// The first elements of two pairs, and the second ones.
MLX_FN uint32_t low_halves(uint32_t a, uint32_t b) { return (a & 0xffffu) | b << 16; }
MLX_FN uint32_t high_halves(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }

/// Adds the scores of sixteen keys: rows of the result are keys, columns queries.
template <class T, int F>
MLX_FN void multiply_keys(Sums& scores, const Eight (&k)[2][F / 32], const Eight (&q)[F / 32]) {
#pragma unroll
  for (int c = 0; c < F / 32; ++c) {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const FactorA a = {k[0][c].pair[i], k[1][c].pair[i], k[0][c].pair[i + 1],
                         k[1][c].pair[i + 1]};
      multiply_add<T>(scores, a, q[c].pair[i], q[c].pair[i + 1]);
    }
  }
}

/// Adds the weighed values of sixteen keys. Of 64 features, result i has 8 (lane / 4) + 2 i and the
/// next one. `v`: eight elements of the keys 2 (lane % 4) + {0, 1, 8, 9}.
template <class T, int W>
MLX_FN void multiply_values(Sums (&out)[W / 16], const Eight (&v)[W / 64][4], const FactorB& w) {
#pragma unroll
  for (int n = 0; n < W / 64; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t x = v[n][0].pair[i], y = v[n][1].pair[i];
      const uint32_t x8 = v[n][2].pair[i], y8 = v[n][3].pair[i];
      const FactorA a = {low_halves(x, y), high_halves(x, y), low_halves(x8, y8),
                         high_halves(x8, y8)};
      multiply_add<T>(out[n * 4 + i], a, w[0], w[1]);
    }
  }
}

template <class F>
MLX_FN float over_keys(float x, F f) {
#pragma unroll
  for (int h = 4; h < 32; h *= 2) x = f(x, __shfl_xor_sync(~0u, x, h));
  return x;
}

/// The running softmax of the two queries of a lane.
struct RunningQueries {
  LaneRow rows[2];
  float largest[2], sums[2];  ///< a lane's part of the sums
  /// `sinks`: null where they do not count. `row`: the first of the rows.
  template <class T>
  MLX_FN RunningQueries(const QueryRows& at, const T* sinks, int64_t row) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      rows[c] = LaneRow(at, row + c);
      const bool sink = sinks && row + c < at.rows;
      largest[c] =
          sink ? wide(sinks[at.head(row + c) * at.p.sink_stride]) * kLog2E : -__builtin_inff();
      sums[c] = sink && threadIdx.x % 32 < 4 ? 1.f : 0.f;
    }
  }
  /// Products of the lane's keys, of which the first is `key`, become scores.
  template <class M>
  MLX_FN void to_scores(Sums& x, const AttentionArguments& p, int64_t key, bool all_seen) const {
    if (std::is_same_v<M, void> && all_seen) {
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] *= static_cast<float>(p.scale) * kLog2E;
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = score_of<M>(p, rows[i % 2], key + i / 2 * 8, x[i]);
    }
  }
  /// Turns scores into weights, relative to the largest score so far, and scales `out` with it.
  template <int N>
  MLX_FN void weigh(Sums& x, Sums (&out)[N]) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float most = ::fmaxf(largest[c], over_keys(::fmaxf(x[c], x[2 + c]), Greater()));
      const float base = most == -__builtin_inff() ? 0.f : most;
      const float factor = power_of_2(largest[c] - base);
      x[c] = power_of_2(x[c] - base);
      x[2 + c] = power_of_2(x[2 + c] - base);
      largest[c] = most;
      sums[c] = ::fmaf(sums[c], factor, x[c] + x[2 + c]);
#pragma unroll
      for (int n = 0; n < N; ++n) {
        out[n][c] *= factor;
        out[n][2 + c] *= factor;
      }
    }
  }

 private:
  struct Greater {
    MLX_FN float operator()(float a, float b) const { return ::fmaxf(a, b); }
  };
};

/// Result of a part of the keys for a row, without the sums of values, which are weighed relative
/// to 2^largest.
struct PartOfRow {
  float largest, sum;
};
/// The sums of the parts, row by row, and then their facts.
MLX_FN float* sums_of_parts(const AttentionArguments& p) {
  return reinterpret_cast<float*>(p.partials);
}
MLX_FN PartOfRow* facts_of_parts(const AttentionArguments& p) {
  const int64_t rows = p.batches * p.heads * p.queries;
  return reinterpret_cast<PartOfRow*>(sums_of_parts(p) + rows * p.splits * p.width);
}

/// The factor of sums relative to 2^largest that are to be relative to 2^base.
MLX_FN float relative(float largest, float base) {
  return power_of_2(largest - (base == -__builtin_inff() ? 0.f : base));
}

/// Rows of the warps of a block.
template <int W>
struct WarpRows {
  PartOfRow facts[kWarps][kFewRows];
  alignas(16) float sums[kWarps][kFewRows][W + 4];
};

/// Adds up what the warps have of a row, four elements a thread, and stores it.
template <class T, int W>
MLX_FN void join_warps(const AttentionArguments& p, const QueryRows& at, int64_t part,
                       const WarpRows<W>& shared) {
  constexpr int kUnits = W / 4;
  for (int i = static_cast<int>(threadIdx.x); i < kFewRows * kUnits; i += kThreads) {
    const int r = i / kUnits, first = i % kUnits * 4;
    if (at.first + r >= at.rows || first >= p.width) continue;
    float base = -__builtin_inff(), total = 0;
    for (int w = 0; w < kWarps; ++w) base = ::fmaxf(base, shared.facts[w][r].largest);
    Four sum = {};
    for (int w = 0; w < kWarps; ++w) {
      const PartOfRow& facts = shared.facts[w][r];
      const float factor = relative(facts.largest, base);
      const Four x = *reinterpret_cast<const Four*>(&shared.sums[w][r][first]);
      total = ::fmaf(facts.sum, factor, total);
#pragma unroll
      for (int c = 0; c < 4; ++c) sum.v[c] = ::fmaf(x.v[c], factor, sum.v[c]);
    }
    const int64_t row = result_row(at, at.first + r), place = row * p.splits + part;
    for (int c = 0; c < 4 && first + c < p.width; ++c) {
      // Without keys the result is 0; without scores above -inf, NaN.
      if (p.splits > 1)
        sums_of_parts(p)[place * p.width + first + c] = sum.v[c];
      else
        reinterpret_cast<T*>(p.out)[row * p.width + first + c] =
            stored<T>(p.keys == 0 ? 0.f : sum.v[c] / total);
    }
    if (p.splits > 1 && first == 0) facts_of_parts(p)[place] = {base, total};
  }
}

/// T: elements, M: of the mask, or void. F: features of keys, rounded up to 32; W: of values,
/// to 64.
template <class T, class M, int F, int W, bool kVectors>
MLX_FN void attention_few(const AttentionArguments& p) {
  MLX_SHARED WarpRows<W> shared;
  const T *qs = reinterpret_cast<const T*>(p.q), *sinks = reinterpret_cast<const T*>(p.sinks);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int g = lane_row(), t = lane_column();  // t: twice the lane's number in a row
  const int64_t blocks = (p.heads / p.key_heads * p.queries + kFewRows - 1) / kFewRows;
  const int64_t all = p.batches * p.key_heads * blocks * p.splits;
  const int features = static_cast<int>(p.features), width = static_cast<int>(p.width);
  for (int64_t unit = blockIdx.x; unit < all; unit += gridDim.x) {
    // Blocks of the same keys are neighbours: the cache has what one of them read.
    const int64_t part = unit / blocks % p.splits, group = unit / blocks / p.splits;
    const QueryRows at(p, group * blocks + unit % blocks, blocks, kFewRows);
    const SeenKeys seen(at, at.rows - at.first < kFewRows ? at.rows - at.first : kFewRows);
    const int64_t first = part * p.split;
    const int64_t end = first + p.split < seen.by_any ? first + p.split : seen.by_any;
    const T* ks = reinterpret_cast<const T*>(p.k) + at4(p.k_stride, at.batch, at.key_head, 0, 0);
    const T* vs = reinterpret_cast<const T*>(p.v) + at4(p.v_stride, at.batch, at.key_head, 0, 0);
    Eight q[F / 32];
    const int64_t own = at.first + g;
    const T* query =
        own < at.rows ? qs + at4(p.q_stride, at.batch, at.head(own), at.query(own), 0) : nullptr;
#pragma unroll
    for (int c = 0; c < F / 32; ++c)
      q[c] = load_eight<kVectors>(query, p.q_stride[3], c * 32 + t * 4, features);
    RunningQueries running(at, part == 0 && warp == 0 ? sinks : nullptr, at.first + t);
    Sums out[W / 16] = {};
    for (int64_t from = first + warp * kKeysOfWarp; from < end; from += kWarps * kKeysOfWarp) {
      Eight k[2][F / 32], v[W / 64][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int64_t key = from + g + 8 * i;
        const T* row = key < p.keys ? ks + key * p.k_stride[2] : nullptr;
#pragma unroll
        for (int c = 0; c < F / 32; ++c)
          k[i][c] = load_eight<kVectors>(row, p.k_stride[3], c * 32 + t * 4, features);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int64_t key = from + t + i % 2 + i / 2 * 8;
        const T* row = key < p.keys ? vs + key * p.v_stride[2] : nullptr;
#pragma unroll
        for (int n = 0; n < W / 64; ++n)
          v[n][i] = load_eight<kVectors>(row, p.v_stride[3], n * 64 + g * 8, width);
      }
      Sums x = {};
      multiply_keys<T, F>(x, k, q);
      running.to_scores<M>(x, p, from + g, from + kKeysOfWarp <= seen.by_all);
      running.weigh(x, out);
      const FactorB weights = {transposed(pair_of<T>(x[0], x[1])),
                               transposed(pair_of<T>(x[2], x[3]))};
      multiply_values<T, W>(out, v, weights);
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float sum = over_keys(running.sums[c], Add());
      if (g == 0) shared.facts[warp][t + c] = {running.largest[c], sum};
#pragma unroll
      for (int n = 0; n < W / 16; n += 2)
        *reinterpret_cast<Four*>(&shared.sums[warp][t + c][n / 4 * 64 + g * 8 + n % 4 * 2]) = {
            {out[n][c], out[n][2 + c], out[n + 1][c], out[n + 1][2 + c]}};
    }
    __syncthreads();
    join_warps<T>(p, at, part, shared);
  }
}

/// The results of rows whose keys were split. A block has a row, a lane four elements of it, and a
/// warp some of the parts.
template <class T>
MLX_FN void attention_few_join(const AttentionArguments& p) {
  alignas(16) MLX_SHARED float sums[kWarps][128 + 4];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int width = static_cast<int>(p.width), splits = static_cast<int>(p.splits);
  for (int64_t row = blockIdx.x; row < p.batches * p.heads * p.queries; row += gridDim.x) {
    const PartOfRow* facts = facts_of_parts(p) + row * splits;
    const float* parts = sums_of_parts(p) + row * splits * width;
    float base = -__builtin_inff(), total = 0;
    for (int s = lane; s < splits; s += 32) base = ::fmaxf(base, facts[s].largest);
#pragma unroll
    for (int h = 16; h > 0; h /= 2) base = ::fmaxf(base, __shfl_xor_sync(~0u, base, h));
    for (int s = lane; s < splits; s += 32)
      total = ::fmaf(facts[s].sum, relative(facts[s].largest, base), total);
#pragma unroll
    for (int h = 16; h > 0; h /= 2) total += __shfl_xor_sync(~0u, total, h);
    Four sum = {};
#pragma unroll 4
    for (int s = warp; s < splits; s += kWarps) {
      const float factor = relative(facts[s].largest, base);
      const float* from = parts + static_cast<int64_t>(s) * width;
#pragma unroll
      for (int c = 0; c < 4; ++c)
        if (lane + 32 * c < width) sum.v[c] = ::fmaf(from[lane + 32 * c], factor, sum.v[c]);
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < 4; ++c) sums[warp][lane + 32 * c] = sum.v[c];
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < width; c += kThreads) {
      float x = 0;
      for (int w = 0; w < kWarps; ++w) x += sums[w][c];
      reinterpret_cast<T*>(p.out)[row * width + c] = stored<T>(x / total);
    }
  }
}

}  // namespace mlx::core::device
