// Products whose right matrices indices say, grouped by these. Positions are sorted by their
// matrix; a tile has the rows of `each` positions that share one, the last tile of a matrix fewer.
// Matrix e has its tiles from starts[e] / each + e on: enough of them, and no two matrices share
// one. So how many tiles there are is known before the indices are.
#pragma once

#include "mlx/backend/gpu/kernels/index.cuh"

namespace mlx::core::device {

/// The calling thread's number among all, and how many there are.
MLX_FN int64_t own_number() { return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; }
MLX_FN int64_t all_threads() { return static_cast<int64_t>(gridDim.x) * kThreads; }

/// The matrix of each position; of one with an index out of range, which is reported, the first.
MLX_FN void group_keys(const GroupedArguments& p) {
  auto* keys = memory<uint32_t>(p.keys);
  for (int64_t i = own_number(); i < p.positions; i += all_threads()) {
    const int64_t x = one_offset(p.at, 0, i), w = one_offset(p.at, 1, i);
    keys[i] = x == kNowhere || w == kNowhere ? 0 : static_cast<uint32_t>(w);
  }
}

/// Where each matrix begins among the sorted positions, and where the last one ends.
MLX_FN void group_starts(const GroupedArguments& p) {
  const auto* sorted = memory<const uint32_t>(p.sorted);
  auto* starts = memory<int64_t>(p.starts);
  for (int64_t e = own_number(); e <= p.matrices; e += all_threads()) {
    int64_t low = 0, high = p.positions;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (sorted[middle] < static_cast<uint64_t>(e)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[e] = low;
  }
}

MLX_FN int64_t first_tile(const GroupedArguments& p, int64_t matrix) {
  return memory<const int64_t>(p.starts)[matrix] / p.each + matrix;
}
/// The matrix of a tile: the last one whose tiles begin there or before.
MLX_FN int64_t matrix_of(const GroupedArguments& p, int64_t tile) {
  int64_t low = 0, high = p.matrices;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (first_tile(p, middle) <= tile) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The position in each slot of the tiles; -1 in those that stay empty.
MLX_FN void group_slots(const GroupedArguments& p) {
  const auto* places = memory<const uint32_t>(p.places);
  const auto* starts = memory<const int64_t>(p.starts);
  auto* slots = memory<int64_t>(p.slots);
  for (int64_t s = own_number(); s < p.tiles * p.each; s += all_threads()) {
    const int64_t tile = s / p.each, matrix = matrix_of(p, tile);
    const int64_t at = starts[matrix] + (tile - first_tile(p, matrix)) * p.each + s % p.each;
    slots[s] = at < starts[matrix + 1] ? static_cast<int64_t>(places[at]) : -1;
  }
}

/// Addresses of the rows, the matrices and the products of `count` tiles.
MLX_FN void group_pointers(const GroupedArguments& p) {
  auto* pointers = memory<int64_t>(p.pointers);
  for (int64_t t = own_number(); t < p.count; t += all_threads()) {
    const int64_t rows = t * p.each * p.m;
    pointers[t] = p.rows + rows * p.k * p.bytes;
    pointers[p.count + t] = p.weights + matrix_of(p, p.first + t) * p.weight_bytes;
    pointers[2 * p.count + t] = p.products + rows * p.n * p.bytes;
  }
}

/// 16 bytes of elements.
template <class T>
struct alignas(16) GroupPiece {
  static constexpr int kCount = 16 / static_cast<int>(sizeof(T));
  T x[kCount];
};

/// Calls f(slot of the tiles, row of its product, row among all) for the rows of `count` tiles: a
/// warp has a row.
template <class F>
MLX_FN void each_group_row(const GroupedArguments& p, F f) {
  for (int64_t r = own_number() / 32; r < p.count * p.each * p.m; r += all_threads() / 32)
    f(p.first * p.each + r / p.m, r % p.m, r);
}

/// The rows of x in the order of the slots; zeros for the empty ones. Rows are whole pieces.
template <class T>
MLX_FN void group_rows(const GroupedArguments& p) {
  constexpr int kCount = GroupPiece<T>::kCount;
  const auto* x = memory<const T>(p.x);
  const bool whole =
      p.x_column == 1 && p.x_row % kCount == 0 && p.x_matrix % kCount == 0 && p.x % 16 == 0;
  each_group_row(p, [&](int64_t slot, int64_t row, int64_t to) {
    const int64_t position = memory<const int64_t>(p.slots)[slot];
    const int64_t matrix = position < 0 ? kNowhere : one_offset(p.at, 0, position);
    const T* from = x + (matrix == kNowhere ? 0 : matrix * p.x_matrix + row * p.x_row);
    auto* pieces = memory<GroupPiece<T>>(p.rows) + to * (p.k / kCount);
    for (int64_t c = threadIdx.x % 32; c < p.k / kCount; c += 32) {
      GroupPiece<T> piece{};
      if (matrix != kNowhere) {
        if (whole) {
          piece = reinterpret_cast<const GroupPiece<T>*>(from)[c];
        } else {
#pragma unroll
          for (int j = 0; j < kCount; ++j) piece.x[j] = from[(c * kCount + j) * p.x_column];
        }
      }
      pieces[c] = piece;
    }
  });
}

/// Products of the slots to their positions' rows, from a column on. Rows are whole pieces.
template <class T>
MLX_FN void group_results(const GroupedArguments& p) {
  constexpr int kCount = GroupPiece<T>::kCount;
  auto* out = memory<T>(p.out);
  const bool whole = p.out % 16 == 0;
  each_group_row(p, [&](int64_t slot, int64_t row, int64_t from) {
    const int64_t position = memory<const int64_t>(p.slots)[slot];
    if (position < 0) return;
    const auto* pieces = memory<const GroupPiece<T>>(p.products) + from * (p.n / kCount);
    T* to = out + (position * p.m + row) * p.out_row + p.column;
    for (int64_t c = threadIdx.x % 32; c < p.n / kCount; c += 32) {
      const GroupPiece<T> piece = pieces[c];
      if (whole) {
        reinterpret_cast<GroupPiece<T>*>(to)[c] = piece;
      } else {
#pragma unroll
        for (int j = 0; j < kCount; ++j) to[c * kCount + j] = piece.x[j];
      }
    }
  });
}

}  // namespace mlx::core::device
