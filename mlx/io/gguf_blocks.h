// Block formats of GGUF files that have no packed form in this library; they are read as float16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlx::core::io {

/// One block format.
struct GgufBlocks {
  uint32_t id;
  size_t bytes;  ///< bytes per block
  int elements;  ///< elements per block, at most 256
  /// Writes the elements of one block.
  void (*unpack)(const uint8_t* block, float* out);
};

/// Q2_K to Q6_K, Q5_0 and Q5_1 by the id of their type; null for other ids.
const GgufBlocks* find_gguf_blocks(uint32_t id);

}  // namespace mlx::core::io
