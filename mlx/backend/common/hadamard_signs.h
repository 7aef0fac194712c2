// The Hadamard matrices of orders 12, 20 and 28.
#pragma once

#include <array>
#include <cstdint>

namespace mlx::core {

/// Rows of the matrix of order m, or of its transpose: a set bit means +1, the first column is the
/// highest of the m bits. Zeros for order 1.
inline std::array<uint32_t, 28> hadamard_signs(int64_t m, bool transposed) {
  constexpr uint32_t kOrder12[] = {0xbff, 0x2aa, 0xec3, 0x896, 0xfb0, 0xa25,
                                   0xcec, 0x989, 0xc3b, 0x962, 0xf0e, 0xa58};
  constexpr uint32_t kOrder20[] = {0x84336, 0x4238b, 0x211d5, 0x108fa, 0x0866d, 0x7c139, 0xba29c,
                                   0xd914e, 0xe88a7, 0xf0653, 0x35a0f, 0x1ad17, 0x8d49b, 0xc685d,
                                   0x6343e, 0x49a10, 0xa0d08, 0x54484, 0x2e042, 0x93021};
  constexpr uint32_t kOrder28[] = {0x818694c, 0x41c14a6, 0x20e2a13, 0x1071549, 0x0838ae4, 0x041e532,
                                   0x030d299, 0x3d019d2, 0x1e82ca9, 0x8e43654, 0xc621b2a, 0xe210d95,
                                   0xf00a6ca, 0x7807325, 0x5b3201e, 0xac9900f, 0x564c847, 0xab24463,
                                   0xd590271, 0x6ac8178, 0xb4640bc, 0x66b70c0, 0xb35b820, 0xd8adc10,
                                   0x6d54e08, 0x37a8704, 0x9ad4382, 0xcd6a181};
  std::array<uint32_t, 28> signs = {};
  const uint32_t* table = m == 12 ? kOrder12 : m == 20 ? kOrder20 : kOrder28;
  for (int64_t j = 0; m > 1 && j < m; ++j)
    for (int64_t i = 0; i < m; ++i) {
      const uint32_t bit = transposed ? table[i] >> (m - 1 - j) : table[j] >> (m - 1 - i);
      signs[j] |= (bit & 1) << (m - 1 - i);
    }
  return signs;
}

}  // namespace mlx::core
