// Arguments of kernels by products of warpgroups, as the host fills them and the kernels read them,
// and the shared memory of their blocks.
#pragma once

#include "mlx/backend/gpu/kernels/arguments.h"

namespace mlx::core::device {

// A tile: rows of 64 elements of 16 bits. Tiles begin at multiples of `kTileAlignment` bytes.
inline constexpr int kTileColumns = 64, kTileRowBytes = 128, kTileAlignment = 1024;
inline constexpr int kGroupThreads = 128;  // of a warpgroup

/// An array of four axes as copies of tiles know it, in the form of the device's driver.
struct alignas(64) TileMap {
  int64_t words[16];
};

/// Arguments of attention by warpgroups, and of its derivative.
struct AttentionGroupArguments {
  TileMap q, k, v, given;  ///< given: cotangents of results
  AttentionArguments forward;
  int64_t q_steps[2], k_steps[2], v_steps[2];  ///< of batches and heads: 0 where all have the same
  int64_t together;                            ///< heads at a time, which the cache holds
  int64_t cotangents, keys, values;            ///< addresses: of results; of keys and values
  int64_t facts, facts_rows;                   ///< GroupFacts, and how many a head has
};

/// The facts of a query that its derivative needs: its weights are 2^(score - largest) * scale,
/// which is 2^(score - base) unless scores are the lowest; `mean` is the sum of their products with
/// the cotangents of weights.
struct alignas(16) GroupFacts {
  float base, mean, largest, scale;
};

/// Tiles for so many columns.
constexpr int tiles_of(int columns) { return (columns + kTileColumns - 1) / kTileColumns; }

/// Bytes of products with packed matrices: stages of 64 elements of `rows` rows of x and of 128
/// packed rows, or of 128 and 64 packed rows where `split`.
constexpr int packed_bytes(int bits, int rows, bool split) {
  return 4 * (rows * kTileRowBytes * (split ? 2 : 1) + 128 * 8 * bits) + kTileAlignment;
}

/// Rows that one copy of a tile has, of `rows` rows.
constexpr int rows_of_copy(int rows) { return rows % 64 == 0 ? 64 : rows; }

/// Bytes of the forward kernel: so many features of queries and of values, `keys` at a time,
/// groups that compute, and stages of tiles.
constexpr int group_bytes(int features, int width, int keys, int groups, int stages) {
  const int columns = tiles_of(features) + tiles_of(width);
  return (64 * groups * tiles_of(features) + stages * keys * columns) * kTileRowBytes +
         (2 + 4 * stages) * 8 + kTileAlignment;
}

/// Bytes of a stage of a kernel of the derivative: `step` rows of two operands, with their facts or
/// without.
constexpr int vjp_stage_bytes(int features, int width, int step, bool facts) {
  const int bytes = step * kTileRowBytes * (tiles_of(features) + tiles_of(width)) +
                    (facts ? step * static_cast<int>(sizeof(GroupFacts)) : 0);
  return (bytes + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
}
/// Bytes of such a kernel, whose block has `rows` rows.
constexpr int vjp_bytes(int features, int width, int rows, int step, int stages, bool facts) {
  return rows * kTileRowBytes * (tiles_of(features) + tiles_of(width)) +
         stages * vjp_stage_bytes(features, width, step, facts) + (2 + 2 * stages) * 8 +
         kTileAlignment;
}

}  // namespace mlx::core::device
