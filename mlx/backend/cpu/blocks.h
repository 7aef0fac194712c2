// Copies of blocks of an array, of any strides and item size.
#pragma once

#include <algorithm>
#include <cstring>

#include "mlx/backend/common/odometer.h"
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

/// Copies the blocks at n offsets of `src` contiguously.
template <class T>
void copy_blocks(const Block& block, const T* src, const int64_t* offsets, int64_t n, T* dst) {
  int64_t row = block.shape.back(), step = block.strides.back();
  if (block.dense() && row == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[offsets[i]];
  } else if (block.dense()) {
    const int64_t bytes = row * static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < n; ++i) {
      if (i + 1 < n) touch_slice(src + offsets[i + 1], bytes);
      std::memcpy(dst + i * row, src + offsets[i], bytes);
    }
  } else {
    Shape outer(block.shape.begin(), block.shape.end() - 1);
    Odometer<1> rows(outer, {Strides(block.strides.begin(), block.strides.end() - 1)});
    int64_t count = num_elements(outer);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t r = 0; r < count; ++r, rows.next(), dst += row) {
        const T* p = src + offsets[i] + rows[0];
        if (step == 1) {
          std::memcpy(dst, p, row * sizeof(T));
        } else {
          for (int64_t j = 0; j < row; ++j) dst[j] = p[j * step];
        }
      }
    }
  }
}

}  // namespace mlx::core::cpu
