// Attention, without storing all scores; rotary position embedding.
#pragma once

#include "mlx/backend/cuda/device/rows.cuh"

namespace mlx::core::device {

inline constexpr int kQueryRows = 16, kKeys = 64, kFeatures = 32;

/// What a score counts where a key is not selected.
inline constexpr float kLowestScore = -0x1.fffffep127f;

/// The rows of a block: queries of the heads that share a key head.
struct QueryRows {
  const AttentionArguments& p;
  int64_t batch, key_head, first, shared, rows;
  MLX_FN QueryRows(const AttentionArguments& p_, int64_t block, int64_t blocks)
      : p(p_), shared(p_.heads / p_.key_heads) {
    rows = shared * p.queries;
    first = block % blocks * kQueryRows;
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
  MLX_FN bool sees_none(int64_t query) const {
    return p.causal && query + 1 + p.keys <= p.queries;
  }
};

MLX_FN int64_t at4(const int64_t (&s)[4], int64_t a, int64_t b, int64_t c, int64_t d) {
  return a * s[0] + b * s[1] + c * s[2] + d * s[3];
}

/// The score of a key, of a product of features.
template <class M>
MLX_FN float score(const QueryRows& at, int64_t row, int64_t key, float product) {
  const AttentionArguments& p = at.p;
  const int64_t query = at.query(row);
  if (at.sees_none(query)) return kLowestScore;
  const float x = product * static_cast<float>(p.scale);
  if (!p.mask) return x;
  const M mask = reinterpret_cast<const M*>(
      p.mask)[at4(p.mask_stride, at.batch, at.head(row), query, key)];
  if constexpr (std::is_same_v<M, bool>) {
    return mask ? x : kLowestScore;
  } else {
    return x + wide(mask);
  }
}

/// T: elements, M: of the mask, kWidth: values that a block computes of a row.
template <class T, class M, int kWidth>
MLX_FN void attention(const AttentionArguments& p) {
  constexpr int kRows = kQueryRows * kWidth / kThreads;  // of a thread
  MLX_SHARED float q[kQueryRows][kFeatures + 1], k[kKeys][kFeatures + 1];
  MLX_SHARED float weights[kQueryRows][kKeys + 1];
  MLX_SHARED float largest[kQueryRows], sums[kQueryRows], factors[kQueryRows];
  const T *qs = reinterpret_cast<const T*>(p.q), *ks = reinterpret_cast<const T*>(p.k);
  const T *vs = reinterpret_cast<const T*>(p.v), *sinks = reinterpret_cast<const T*>(p.sinks);
  const int t = static_cast<int>(threadIdx.x), r = t / 16, lane = t % 16;
  const int64_t blocks = (p.heads / p.key_heads * p.queries + kQueryRows - 1) / kQueryRows;
  const int64_t parts = (p.width + kWidth - 1) / kWidth;
  const int64_t all = p.batches * p.key_heads * blocks * parts;
  for (int64_t block = blockIdx.x; block < all; block += gridDim.x) {
    const QueryRows at(p, block / parts, blocks);
    const int64_t column = block % parts * kWidth + t % kWidth, row = at.first + r;
    const bool own = row < at.rows;
    int64_t end = 0;  // keys that any row attends to
    for (int i = 0; i < kQueryRows && at.first + i < at.rows; ++i) {
      const int64_t n = at.visible(at.query(at.first + i));
      end = n > end ? n : end;
    }
    if (t < kQueryRows) {
      const bool sink = sinks && at.first + t < at.rows;
      largest[t] = sink ? wide(sinks[at.head(at.first + t) * p.sink_stride]) : -__builtin_inff();
      sums[t] = sink ? 1.f : 0.f;
    }
    float out[kRows] = {};
    for (int64_t from = 0; from < end; from += kKeys) {
      float product[kKeys / 16] = {};
      __syncthreads();
      for (int64_t d = 0; d < p.features; d += kFeatures) {
        __syncthreads();
        for (int i = t; i < (kQueryRows + kKeys) * kFeatures; i += kThreads) {
          const int x = i / kFeatures, f = i % kFeatures;
          const bool inside = d + f < p.features;
          if (x < kQueryRows) {
            const int64_t y = at.first + x;
            q[x][f] = inside && y < at.rows
                          ? wide(qs[at4(p.q_stride, at.batch, at.head(y), at.query(y), d + f)])
                          : 0.f;
          } else {
            const int64_t y = from + x - kQueryRows;
            k[x - kQueryRows][f] =
                inside && y < end ? wide(ks[at4(p.k_stride, at.batch, at.key_head, y, d + f)])
                                  : 0.f;
          }
        }
        __syncthreads();
#pragma unroll
        for (int f = 0; f < kFeatures; ++f)
#pragma unroll
          for (int j = 0; j < kKeys / 16; ++j)
            product[j] = ::fmaf(q[r][f], k[lane + 16 * j][f], product[j]);
      }
      const int64_t visible = own ? at.visible(at.query(row)) : 0;
      float most = -__builtin_inff();
#pragma unroll
      for (int j = 0; j < kKeys / 16; ++j) {
        const int64_t key = from + lane + 16 * j;
        const bool seen = key < visible;
        product[j] = seen ? score<M>(at, row, key, product[j]) : -__builtin_inff();
        most = Larger()(most, product[j]);
      }
#pragma unroll
      for (int h = 8; h > 0; h /= 2) most = Larger()(most, __shfl_xor_sync(~0u, most, h));
      const float before = largest[r];
      most = Larger()(before, most);
      const bool nothing = most == -__builtin_inff();
      float sum = 0;
#pragma unroll
      for (int j = 0; j < kKeys / 16; ++j) {
        const bool seen = from + lane + 16 * j < visible;
        const float w = seen && !nothing ? exponential(product[j] - most) : 0.f;
        weights[r][lane + 16 * j] = w;
        sum += w;
      }
#pragma unroll
      for (int h = 8; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
      __syncthreads();
      if (lane == 0) {
        factors[r] = nothing ? 1.f : exponential(before - most);
        largest[r] = most;
        sums[r] = sums[r] * factors[r] + sum;
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kRows; ++i) out[i] *= factors[t / kWidth * kRows + i];
      if (column < p.width) {
        const int some = static_cast<int>(end - from < kKeys ? end - from : kKeys);
        for (int j = 0; j < some; ++j) {
          const float v = wide(vs[at4(p.v_stride, at.batch, at.key_head, from + j, column)]);
#pragma unroll
          for (int i = 0; i < kRows; ++i)
            out[i] = ::fmaf(weights[t / kWidth * kRows + i][j], v, out[i]);
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int x = t / kWidth * kRows + i;
      const int64_t y = at.first + x;
      if (y >= at.rows || column >= p.width) continue;
      const int64_t to = (at.batch * p.heads + at.head(y)) * p.queries + at.query(y);
      // There are no keys, or no scores above -inf.
      const float result = end ? out[i] / sums[x] : 0.f;
      reinterpret_cast<T*>(p.out)[to * p.width + column] = stored<T>(result);
    }
    __syncthreads();
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
    const T* in = reinterpret_cast<const T*>(p.in) + row * p.width;
    T* out = reinterpret_cast<T*>(p.out) + row * p.width;
    if (i >= p.half) {
      out[i + p.half] = in[i + p.half];
      continue;
    }
    LD rate;
    if (p.freqs)
      rate = LD(1 / (p.double_freqs ? reinterpret_cast<const double*>(p.freqs)[i]
                                    : static_cast<double>(
                                          reinterpret_cast<const float*>(p.freqs)[i])));
    else
      rate = m::exp(LD(-static_cast<double>(i) / static_cast<double>(p.half) * p.log_base));
    const int64_t batch = p.batches > 1 ? row / p.per_batch : 0;
    const double position = reinterpret_cast<const int32_t*>(p.offset)[batch] +
                            static_cast<double>(row % p.positions);
    const V angle = static_cast<A>(reduced_angle(position * p.scale, rate).v);
    const A c = plain(m::cos(angle)), s = plain(m::sin(angle)) * static_cast<A>(p.sign);
    const int64_t first = p.traditional ? 2 * i : i, second = p.traditional ? first + 1 : i + p.half;
    const A a = wide(in[first]), b = wide(in[second]);
    out[first] = stored<T>(a * c - b * s);
    out[second] = stored<T>(a * s + b * c);
  }
}

}  // namespace mlx::core::device
