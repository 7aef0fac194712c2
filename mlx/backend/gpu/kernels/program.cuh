// Functions of printed programs beyond the prelude: instructions that read where an element is.
#pragma once

#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/backend/gpu/kernels/prelude.cuh"

namespace mlx::core::device {

/// start + number * step in 64-bit integers, wrapping to the width of T.
template <class T>
MLX_FN T integer_position(int64_t number, int64_t start, int64_t step) {
  return static_cast<T>(static_cast<uint64_t>(start) +
                        static_cast<uint64_t>(number) * static_cast<uint64_t>(step));
}
/// The same in double, rounded once; `start` exactly for number 0.
template <class T>
MLX_FN T float_position(int64_t number, double start, double step) {
  return cast<T>(number == 0 ? start : start + static_cast<double>(number) * step);
}

template <int R>
MLX_FN void threefry_round(uint32_t& x, uint32_t& y) {
  x += y;
  y = ((y << R) | (y >> (32 - R))) ^ x;
}

/// Word `number` of `count` random words: Threefry-2x32-20 of a pair of counters.
MLX_FN uint32_t random_word(int64_t number, int64_t count, uint32_t k0, uint32_t k1) {
  const int64_t half = (count + 1) / 2;
  const bool second = number >= half;
  const int64_t first = second ? number - half : number;
  const int64_t other = first + half;
  uint32_t x = static_cast<uint32_t>(first);
  uint32_t y = other < count ? static_cast<uint32_t>(other) : 0u;
  const uint32_t k2 = k0 ^ k1 ^ 0x1bd11bdau;
  const uint32_t key[3] = {k0, k1, k2};
  x += k0;
  y += k1;
#pragma unroll
  for (uint32_t group = 0; group < 5; ++group) {
    if (group % 2 == 0) {
      threefry_round<13>(x, y);
      threefry_round<15>(x, y);
      threefry_round<26>(x, y);
      threefry_round<6>(x, y);
    } else {
      threefry_round<17>(x, y);
      threefry_round<29>(x, y);
      threefry_round<16>(x, y);
      threefry_round<24>(x, y);
    }
    x += key[(group + 1) % 3];
    y += key[(group + 2) % 3] + group + 1;
  }
  return second ? y : x;
}

}  // namespace mlx::core::device
