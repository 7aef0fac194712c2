// The instructions of fused programs that read the index of an element: computation of their tiles.
#pragma once

#include "mlx/backend/backend.h"
#include "mlx/backend/cpu/isa/elementwise.h"
#include "mlx/core/api.h"

namespace mlx::core::cpu {

/// The element numbers of a tile: `first` at its corner, `strides` along its axes.
struct NumberedBox {
  int64_t first;
  const Strides& strides;
  const Shape& extent;
};

/// Computes a tile of `position`.
void fill_range(const Numbering& how, Dtype dtype, const NumberedBox& box, void* out);

/// Two words of a key, as tiles, and their strides along the axes (empty: constant).
struct KeyTiles {
  const uint32_t *word0, *word1;
  const Strides &strides0, &strides1;
};
/// Computes a tile of `random_bits`.
MLX_API void fill_words(const Numbering& how, const KeyTiles& key, const NumberedBox& box,
                        uint32_t* out);
/// The same for `n` consecutive numbers, all in the first half, with one key; also computes the
/// words of the second half that come from the same calls.
MLX_API void fill_word_pairs(const Numbering& how, const KeyTiles& key, int64_t first, int64_t n,
                             uint32_t* out, uint32_t* second);

}  // namespace mlx::core::cpu
