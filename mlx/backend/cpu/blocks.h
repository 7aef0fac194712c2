// Copies of blocks of an array, of any strides and item size.
#pragma once

#include <algorithm>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/item_size.h"

namespace mlx::core::cpu {

/// The block that is read at every index: part of the indexed array, with its axes merged.
struct Block {
  Shape shape;
  Strides strides;
  Block(const Shape& sizes, const Strides& steps) : shape(sizes) {
    std::vector<Strides> s{steps};
    collapse_axes(shape, s);
    strides = s[0];
  }
  bool dense() const { return shape.size() == 1 && (strides[0] == 1 || shape[0] == 1); }
};

/// Prefetches the first page of the next slice: hardware prefetchers start anew for each slice.
inline void touch_slice(const void* p, int64_t bytes) {
  for (int64_t i = 0; i < std::min<int64_t>(bytes, 4096); i += 64)
    __builtin_prefetch(static_cast<const char*>(p) + i);
}

/// Copies n rows of N elements.
template <int N, class T>
void copy_rows_of(const T* src, const int64_t* offsets, int64_t n, T* dst) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * N, src + offsets[i], N * sizeof(T));
}

/// Copies n dense rows; short ones without calls.
template <class T>
void copy_dense_rows(int64_t row, const T* src, const int64_t* offsets, int64_t n, T* dst) {
  switch (row) {
    case 1:
      return copy_rows_of<1>(src, offsets, n, dst);
    case 2:
      return copy_rows_of<2>(src, offsets, n, dst);
    case 3:
      return copy_rows_of<3>(src, offsets, n, dst);
    case 4:
      return copy_rows_of<4>(src, offsets, n, dst);
    case 8:
      return copy_rows_of<8>(src, offsets, n, dst);
    default:
      break;
  }
  const int64_t bytes = row * static_cast<int64_t>(sizeof(T));
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < n; ++i) {
    if (i + 1 < n && bytes > kLine) touch_slice(src + offsets[i + 1], bytes);
    copy_bytes(dst + i * row, src + offsets[i], bytes);
  }
}

/// Copies the blocks at n offsets of `src` contiguously.
template <class T>
void copy_blocks(const Block& block, const T* src, const int64_t* offsets, int64_t n, T* dst) {
  int64_t row = block.shape.back(), step = block.strides.back();
  if (block.dense()) {
    copy_dense_rows(row, src, offsets, n, dst);
  } else {
    Shape outer(block.shape.begin(), block.shape.end() - 1);
    Odometer<1> rows(outer, {Strides(block.strides.begin(), block.strides.end() - 1)});
    int64_t count = num_elements(outer);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t r = 0; r < count; ++r, rows.next(), dst += row) {
        const T* p = src + offsets[i] + rows[0];
        if (step == 1) {
          copy_bytes(dst, p, row * static_cast<int64_t>(sizeof(T)));
        } else {
          for (int64_t j = 0; j < row; ++j) dst[j] = p[j * step];
        }
      }
    }
  }
}

}  // namespace mlx::core::cpu
