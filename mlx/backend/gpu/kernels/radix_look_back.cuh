// Passes of radix sorts in which blocks wait for others: a block tells those of the tiles behind it
// how many keys of each digit it has, and looks back at the tiles before it. For devices whose
// blocks, once they run, go on.
#pragma once

#include "mlx/backend/gpu/kernels/radix.cuh"

namespace mlx::core::device {

/// The word of a tile, for the tiles behind it, on a digit: two bits, and a number of keys.
inline constexpr uint32_t kOwn = 1u << 30, kAll = 2u << 30, kNumber = kOwn - 1;

/// How many keys of the calling thread's digit the line's earlier tiles have. Tiles begin in the
/// order of their numbers, so that the ones before are at work or done.
MLX_FN uint32_t look_back(volatile uint32_t* state, int64_t tile, uint32_t own) {
  if (tile == 0) {
    *state = kAll | own;
    return 0;
  }
  uint32_t before = 0;
  for (volatile uint32_t* other = state - kDigits;;) {
    const uint32_t told = *other;
    if (told == 0) continue;
    before += told & kNumber;
    if (told & kAll) break;
    other -= kDigits;
  }
  *state = kAll | (before + own);
  return before;
}

/// Places a tile, while others are placed.
template <class F, int Each, class Digits>
MLX_FN void place_tile_at_once(const RadixArguments& p, int64_t line, int64_t tile,
                               const Digits& digits) {
  volatile uint32_t* state = state_of(p, line, tile);
  place_tile<F, Each>(
      p, line, tile, digits,
      [&](uint32_t own) {
        if (tile > 0) *state = kOwn | own;
      },
      [&](uint32_t own) { return look_back(state, tile, own); });
}

/// The next tile that no block has begun.
MLX_FN int64_t next_tile(const RadixArguments& p) {
  MLX_SHARED uint32_t ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(memory<uint32_t>(p.ticket), 1u);
  __syncthreads();
  return ticket;
}

template <class F, int Each>
MLX_FN void radix_pass(const RadixArguments& p) {
  const int64_t b = next_tile(p), line = b / p.tiles;
  const ByByte<typename F::K> digits{static_cast<int>(p.shift), counts_of(p, line, p.pass)};
  place_tile_at_once<F, Each>(p, line, b % p.tiles, digits);
}

/// Smaller keys, equal ones, larger ones, each in the order of the line.
template <class F, int Each>
MLX_FN void part_line(const RadixArguments& p) {
  using K = typename F::K;
  const int64_t b = next_tile(p), line = b / p.tiles;
  const Selected<K> s = selected<K>(p, line, static_cast<int>(p.passes));
  place_tile_at_once<F, Each>(p, line, b % p.tiles, BySide<K>{s.high, s.before, s.equal});
}

}  // namespace mlx::core::device
