// The instructions of fused programs that read where an element is: their tiles.
#pragma once

#include "mlx/backend/backend.h"
#include "mlx/backend/cpu/isa/elementwise.h"
#include "mlx/core/api.h"

namespace mlx::core::cpu {

/// The numbers of the elements of a tile: `first` at its corner, `strides` along its axes.
struct NumberedBox {
  int64_t first;
  const Strides& strides;
  const Shape& extent;
};

/// `position` of a tile: numbers as elements of a dtype.
void fill_range(const Numbering& how, Dtype dtype, const NumberedBox& box, void* out);

/// Two words of a key, as tiles, and how they move along the axes (empty: they do not).
struct KeyTiles {
  const uint32_t *word0, *word1;
  const Strides &strides0, &strides1;
};
/// `random_bits` of a tile.
MLX_API void fill_words(const Numbering& how, const KeyTiles& key, const NumberedBox& box,
                        uint32_t* out);
/// The same for `n` numbers in a row, all of the first half, with one key; and the words of the
/// second half that come from the same calls.
MLX_API void fill_word_pairs(const Numbering& how, const KeyTiles& key, int64_t first, int64_t n,
                             uint32_t* out, uint32_t* second);

}  // namespace mlx::core::cpu
