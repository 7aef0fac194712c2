// Packed tensors of GGUF files that no packed matrix of this library holds: read as float16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlx::core::io {

/// One layout of blocks.
struct GgufBlocks {
  uint32_t id;
  size_t bytes;  ///< of a block
  int elements;  ///< in a block, at most 256
  /// Writes the elements of a block.
  void (*unpack)(const uint8_t* block, float* out);
};

/// Q5_0, Q5_1 and Q2_K to Q6_K by the id of their type, else null.
const GgufBlocks* find_gguf_blocks(uint32_t id);

}  // namespace mlx::core::io
