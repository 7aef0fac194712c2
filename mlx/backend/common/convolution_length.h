// Lengths of the convolutions by which Fourier transforms of other lengths are computed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace mlx::core {

/// A length of at least 2 n - 1 with prime factors 2, 3 and 5, most of them 2.
inline int64_t convolution_length(int64_t n) {
  const int64_t least = 2 * n - 1;
  auto best = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(least)));
  for (int64_t factor : {3, 5, 9, 15, 25, 27, 45}) {
    int64_t m = factor;
    while (m < least) m *= 2;
    best = std::min(best, m);
  }
  return best;
}

}  // namespace mlx::core
