// Random bits for arrays of keys.
#pragma once

#include "mlx/backend/gpu/kernels/program.cuh"

namespace mlx::core::device {

/// A thread for each word of each key; the last word of a key may be cut short.
MLX_FN void random_bytes(const RandomArguments& p) {
  const int64_t words = (p.bytes + 3) / 4;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.count * words;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t key = i / words, word = i % words;
    const auto* keys = memory<const uint32_t>(p.keys) + 2 * key;
    const uint32_t x = random_word(word, words, keys[0], keys[1]);
    auto* out = memory<uint8_t>(p.out) + key * p.bytes + 4 * word;
    for (int b = 0; b < 4 && 4 * word + b < p.bytes; ++b)
      out[b] = static_cast<uint8_t>(x >> (8 * b));
  }
}

}  // namespace mlx::core::device
