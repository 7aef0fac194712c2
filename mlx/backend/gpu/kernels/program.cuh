// Functions of printed programs beyond the prelude: instructions that read where an element is.
#pragma once

#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/backend/gpu/kernels/prelude.cuh"

namespace mlx::core::device {

#ifndef MLX_OWN_PIECES  // a target may have its own
/// Some neighbours as one access takes them.
template <class T, int N>
struct alignas(sizeof(T) * N) Piece {
  T x[N];
};
struct alignas(16) FourWords {
  uint32_t w[4];
};
template <int Bytes>
using Word = std::conditional_t<
    Bytes == 16, FourWords,
    std::conditional_t<Bytes == 8, uint64_t,
                       std::conditional_t<Bytes == 4, uint32_t,
                                          std::conditional_t<Bytes == 2, uint16_t, uint8_t>>>>;
template <class T, int V>
inline constexpr int kPiece = sizeof(T) * V < 16 ? V
                              : sizeof(T) < 16   ? int(16 / sizeof(T))
                                                 : 1;
/// Whether V neighbours are there, and lie in whole pieces.
template <class T, int V, class I>
MLX_FN bool is_whole(const T* at, I left) {
  constexpr uint64_t bytes = sizeof(T) * kPiece<T, V>;
  return left >= static_cast<I>(V) && reinterpret_cast<uint64_t>(at) % bytes == 0;
}

/// V neighbours; where fewer are left, the first one in the place of others.
template <class T, int V, class I>
MLX_FN void load_some(T (&to)[V], const T* from, I left) {
  constexpr int N = kPiece<T, V>;
  if constexpr (V == 1) {
    to[0] = from[0];
  } else if (is_whole<T, V>(from, left)) {
    using W = Word<sizeof(T) * N>;
#pragma unroll
    for (int k = 0; k < V; k += N) {
      const auto piece = __builtin_bit_cast(Piece<T, N>, *reinterpret_cast<const W*>(from + k));
#pragma unroll
      for (int j = 0; j < N; ++j) to[k + j] = piece.x[j];
    }
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k) to[k] = from[static_cast<I>(k) < left ? k : 0];
  }
}
/// As many of V neighbours as are left.
template <class T, int V, class I>
MLX_FN void store_some(T* to, const T (&from)[V], I left) {
  constexpr int N = kPiece<T, V>;
  if constexpr (V == 1) {
    to[0] = from[0];
  } else if (is_whole<T, V>(to, left)) {
    using W = Word<sizeof(T) * N>;
#pragma unroll
    for (int k = 0; k < V; k += N) {
      Piece<T, N> piece;
#pragma unroll
      for (int j = 0; j < N; ++j) piece.x[j] = from[k + j];
      *reinterpret_cast<W*>(to + k) = __builtin_bit_cast(W, piece);
    }
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k)
      if (static_cast<I>(k) < left) to[k] = from[k];
  }
}
#endif

/// How much of a tile's side is within `left` elements.
template <int Side>
MLX_FN int part_of_side(int64_t left) {
  return left < Side ? static_cast<int>(left) : Side;
}

//--- tables of the results for all numbers of 16 bits

/// The number of an entry.
template <class T>
MLX_FN T table_number(uint64_t entry) {
  return __builtin_bit_cast(T, static_cast<uint16_t>(entry));
}
/// The entry of a number.
template <class T>
MLX_FN uint16_t table_entry(T x) {
  return __builtin_bit_cast(uint16_t, x);
}

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

/// Threefry-2x32-20 of a pair of counters, in place.
MLX_FN void random_pair(uint32_t& x, uint32_t& y, uint32_t k0, uint32_t k1) {
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
}

/// Word `number` of `count` random words; words half of them apart are a pair.
MLX_FN uint32_t random_word(int64_t number, int64_t count, uint32_t k0, uint32_t k1) {
  const int64_t half = (count + 1) / 2;
  const bool second = number >= half;
  const int64_t first = second ? number - half : number;
  const int64_t other = first + half;
  uint32_t x = static_cast<uint32_t>(first);
  uint32_t y = other < count ? static_cast<uint32_t>(other) : 0u;
  random_pair(x, y, k0, k1);
  return second ? y : x;
}

/// The words from `first` on of an even number of words, and those half of them behind.
template <int V>
MLX_FN void random_pairs(uint32_t (&words)[2][V], uint64_t first, uint64_t half, uint32_t k0,
                         uint32_t k1) {
#pragma unroll
  for (int k = 0; k < V; ++k) {
    words[0][k] = static_cast<uint32_t>(first) + static_cast<uint32_t>(k);
    words[1][k] = words[0][k] + static_cast<uint32_t>(half);
    random_pair(words[0][k], words[1][k], k0, k1);
  }
}

}  // namespace mlx::core::device
