// Attention of many queries in float32 as it is, by FMA. A block has 128 rows and takes 64 keys at
// a time. A thread has eight rows, of which it computes the products with four keys, then four or
// eight columns of the result; it reads four neighbours at a time.
#pragma once

#include "mlx/backend/gpu/kernels/attention.cuh"

namespace mlx::core::device {

/// Rows of a thread, and how far apart they are.
inline constexpr int kRowsOfThread = 8, kRowStep = kThreads / kLanesOfRow;
inline constexpr int kRowsOfTile = kRowsOfThread * kRowStep;

struct alignas(16) FourFloats {
  float v[4];
};
MLX_FN FourFloats four_at(const float& first) {
  return *reinterpret_cast<const FourFloats*>(&first);
}

/// For each row the places of its query and mask, and the number of keys it sees, -1 for none.
struct RowTable {
  int64_t query[kRowsOfTile], mask[kRowsOfTile];
  int visible[kRowsOfTile];
  MLX_FN void set(int i, const QueryRows& at) {
    const int64_t row = at.first + i;
    const OwnRow own(at, row);
    query[i] = at4(at.p.q_stride, at.batch, at.head(row), at.query(row), 0);
    mask[i] = own.mask;
    visible[i] = own.sees_none ? -1 : static_cast<int>(own.visible);
  }
  MLX_FN OwnRow of(int i, const AttentionArguments& p) const {
    OwnRow own;
    own.sees_none = visible[i] < 0;
    own.visible = own.sees_none ? p.keys : visible[i];
    own.mask = mask[i];
    return own;
  }
};

/// Features of queries and keys; 16 bytes between rows keep reads free of bank conflicts.
struct FeatureTiles {
  float q[kRowsOfTile][kFeatures + 4], k[kKeys][kFeatures + 4];
};

/// Adds the products of the staged features, of the thread's rows and each sixteenth key.
template <int kSome>
MLX_FN void add_feature_products(float (&product)[kRowsOfThread][kSome], const FeatureTiles& tiles,
                                 int row, int lane) {
#pragma unroll 1
  for (int f = 0; f < kFeatures; f += 4) {
    FourFloats y[kSome];
#pragma unroll
    for (int j = 0; j < kSome; ++j) y[j] = four_at(tiles.k[lane + kLanesOfRow * j][f]);
#pragma unroll
    for (int i = 0; i < kRowsOfThread; ++i) {
      const FourFloats x = four_at(tiles.q[row + kRowStep * i][f]);
#pragma unroll
      for (int j = 0; j < kSome; ++j) {
#pragma unroll
        for (int c = 0; c < 4; ++c) product[i][j] = ::fmaf(x.v[c], y[j].v[c], product[i][j]);
      }
    }
  }
}

/// Adds the staged values, which belong to the keys from `s` on.
template <int kFours, int kStage, int kWidth, int kRow>
MLX_FN void add_weighted(FourFloats (&out)[kRowsOfThread][kFours], const float (&v)[kStage][kWidth],
                         const float (&weights)[kRowsOfTile][kRow], int s, int row, int lane) {
#pragma unroll 1
  for (int j = 0; j < kStage; j += 4) {
    FourFloats w[kRowsOfThread];
#pragma unroll
    for (int i = 0; i < kRowsOfThread; ++i) w[i] = four_at(weights[row + kRowStep * i][s + j]);
#pragma unroll
    for (int key = 0; key < 4; ++key) {
#pragma unroll
      for (int n = 0; n < kFours; ++n) {
        const FourFloats y = four_at(v[j + key][(n * kLanesOfRow + lane) * 4]);
#pragma unroll
        for (int i = 0; i < kRowsOfThread; ++i) {
#pragma unroll
          for (int c = 0; c < 4; ++c) out[i][n].v[c] = ::fmaf(w[i].v[key], y.v[c], out[i][n].v[c]);
        }
      }
    }
  }
}

/// Stores the sums of weighted values, divided by those of the weights.
template <int kFours>
MLX_FN void store_averages(const AttentionArguments& p, const QueryRows& at,
                           const FourFloats (&out)[kRowsOfThread][kFours],
                           const float (&sums)[kRowsOfThread], int first, int lane,
                           bool without_keys) {
#pragma unroll
  for (int i = 0; i < kRowsOfThread; ++i) {
    const int64_t y = at.first + first + kRowStep * i;
    if (y >= at.rows) continue;
    const int64_t row = (at.batch * p.heads + at.head(y)) * p.queries + at.query(y);
    float* to = reinterpret_cast<float*>(p.out) + row * p.width;
#pragma unroll
    for (int n = 0; n < kFours; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int column = (n * kLanesOfRow + lane) * 4 + c;
        // Without keys the result is 0; without scores above -inf, NaN.
        if (column < p.width) to[column] = without_keys ? 0.f : out[i][n].v[c] / sums[i];
      }
    }
  }
}

/// M: elements of the mask. kWidth: features of values, rounded up to 64.
template <class M, int kWidth>
MLX_FN void attention_floats(const AttentionArguments& p) {
  constexpr int kSome = kKeys / kLanesOfRow, kFours = kWidth / 64, kStage = 2048 / kWidth;
  // Features are read before the weights are written, in the same place.
  alignas(16) MLX_SHARED float weights[kRowsOfTile][kKeys + 4];
  alignas(16) MLX_SHARED float v[kStage][kWidth];
  MLX_SHARED RowTable rows;
  static_assert(sizeof(FeatureTiles) <= sizeof(weights));
  FeatureTiles& tiles = *reinterpret_cast<FeatureTiles*>(&weights);
  const auto *qs = reinterpret_cast<const float*>(p.q), *ks = reinterpret_cast<const float*>(p.k);
  const auto *vs = reinterpret_cast<const float*>(p.v),
             *sinks = reinterpret_cast<const float*>(p.sinks);
  const int t = static_cast<int>(threadIdx.x), r = t / kLanesOfRow, lane = t % kLanesOfRow;
  const int64_t blocks = (p.heads / p.key_heads * p.queries + kRowsOfTile - 1) / kRowsOfTile;
  const int64_t all = p.batches * p.key_heads * blocks;
  for (int64_t unit = blockIdx.x; unit < all; unit += gridDim.x) {
    // Later queries of a causal mask see more keys: their blocks come first.
    const QueryRows at(p, all - 1 - unit, blocks, kRowsOfTile);
    const int64_t left = at.rows - at.first < kRowsOfTile ? at.rows - at.first : kRowsOfTile;
    int64_t end = p.keys;  // keys that any row attends to
    if (p.causal && at.first / p.queries == (at.first + left - 1) / p.queries) {
      const bool some_see_none = at.sees_none(at.query(at.first));
      end = some_see_none ? p.keys : at.visible(at.query(at.first + left - 1));
    }
    __syncthreads();
    for (int i = t; i < left; i += kThreads) rows.set(i, at);
    float largest[kRowsOfThread], sums[kRowsOfThread];
    FourFloats out[kRowsOfThread][kFours] = {};
#pragma unroll
    for (int i = 0; i < kRowsOfThread; ++i) {
      const int64_t row = at.first + r + kRowStep * i;
      const bool sink = sinks && row < at.rows;
      largest[i] = sink ? sinks[at.head(row) * p.sink_stride] : -__builtin_inff();
      sums[i] = sink ? 1.f : 0.f;
    }
    for (int64_t from = 0; from < end; from += kKeys) {
      float product[kRowsOfThread][kSome] = {};
      for (int64_t d = 0; d < p.features; d += kFeatures) {
        __syncthreads();
        stage(tiles.q, left, p.features - d,
              [&](int x, int f) { return qs[rows.query[x] + (d + f) * p.q_stride[3]]; });
        stage(tiles.k, end - from, p.features - d, [&](int x, int f) {
          return ks[at4(p.k_stride, at.batch, at.key_head, from + x, d + f)];
        });
        __syncthreads();
        add_feature_products(product, tiles, r, lane);
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kRowsOfThread; ++i) {
        const int row = r + kRowStep * i;
        const OwnRow own = row < left ? rows.of(row, p) : OwnRow();
        const float factor =
            weigh<M>(p, own, from, lane, product[i], weights[row], largest[i], sums[i]);
#pragma unroll
        for (int n = 0; n < kFours; ++n) {
#pragma unroll
          for (int c = 0; c < 4; ++c) out[i][n].v[c] *= factor;
        }
      }
      for (int s = 0; s < kKeys && from + s < end; s += kStage) {
        __syncthreads();
#pragma unroll 4
        for (int i = t; i < kStage * kWidth; i += kThreads) {
          const int64_t key = from + s + i / kWidth;
          const int c = i % kWidth;
          v[i / kWidth][c] =
              key < end && c < p.width ? vs[at4(p.v_stride, at.batch, at.key_head, key, c)] : 0.f;
        }
        __syncthreads();
        add_weighted(out, v, weights, s, r, lane);
      }
    }
    store_averages(p, at, out, sums, r, lane, end == 0);
  }
}

}  // namespace mlx::core::device
