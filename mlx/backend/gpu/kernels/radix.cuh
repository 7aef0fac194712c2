// Radix sorts, stable: a pass orders lines by one byte of their keys. A block ranks a tile, learns
// how many keys of each byte the tiles before it have, and writes its own behind them. Selection
// counts bytes from the highest on; a last pass parts the line at the key it has found. Here tiles
// are counted before they are placed; radix_look_back.cuh does both at once.
#pragma once

#include "mlx/backend/gpu/kernels/sort.cuh"

namespace mlx::core::device {

MLX_CONSTANT int kDigits = 256, kWarps = kThreads / 32;

//--- what is sorted

/// Values, whose keys say what they are.
template <class T_>
struct RadixValues {
  using T = T_;
  using K = typename Key<T>::K;
  using Result = T;
  static constexpr bool kPositions = false;
  static MLX_FN K key(T x) { return Key<T>::of(x); }
  static MLX_FN Result result(K key, uint32_t) { return Key<T>::value(key); }
};
/// Positions of values.
template <class T_>
struct RadixPositions {
  using T = T_;
  using K = typename Key<T>::K;
  using Result = uint32_t;
  static constexpr bool kPositions = true;
  static MLX_FN K key(T x) { return Key<T>::ordered(x); }
  static MLX_FN Result result(K, uint32_t position) { return position; }
};

/// A byte of keys, and how many keys of the line have each of its values, where that counts.
template <class K>
struct ByByte {
  static constexpr int kBits = 8;
  int shift;
  DevicePointer<const uint32_t> counts;
  MLX_FN int operator()(K key) const { return static_cast<int>(key >> shift) & 255; }
  MLX_FN uint32_t count(int digit) const { return counts ? counts[digit] : 0; }
};
/// The side of a key on which others lie.
template <class K>
struct BySide {
  static constexpr int kBits = 2;
  K key;
  uint32_t less, equal;
  MLX_FN int operator()(K other) const { return other < key ? 0 : other == key ? 1 : 2; }
  MLX_FN uint32_t count(int digit) const { return digit == 0 ? less : digit == 1 ? equal : 0; }
};

//--- ranks within a tile

/// The sum of what the threads before the calling one have.
MLX_FN uint64_t sum_before(uint64_t x) {
  MLX_SHARED uint64_t parts[kWarps];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  uint64_t sum = x;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const uint64_t y = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += y;
  }
  if (lane == 31) parts[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += parts[w];
  __syncthreads();
  return sum - x;
}

/// The threads of the warp that have the same digit, a bit each.
template <int Bits>
MLX_FN unsigned same_digit(int digit) {
  unsigned same = ~0u;
#pragma unroll
  for (int b = 0; b < Bits; ++b) {
    const unsigned ones = __ballot_sync(~0u, digit >> b & 1);
    same &= digit >> b & 1 ? ones : ~ones;
  }
  return same;
}

/// The place in a tile of key j of the calling thread; neighbours are a warp's.
template <int Each>
MLX_FN int place_of(int j) {
  return static_cast<int>(threadIdx.x) / 32 * (32 * Each) + j * 32 +
         static_cast<int>(threadIdx.x) % 32;
}

/// For the digit whose number is the thread's: where it begins in the ordered tile and in the
/// ordered line, and how many keys of the tile have it.
struct Tally {
  uint32_t first, line_first, count;
};

/// Tells no one.
struct Untold {
  MLX_FN void operator()(uint32_t) const {}
};

/// Ranks the first `count` keys of a tile; keys beyond come last. `tell` is called with a digit's
/// number of keys as soon as that is known.
template <int Each, class K, class Digits, class Tell>
MLX_FN Tally rank_tile(const K (&keys)[Each], int count, const Digits& digits,
                       uint32_t (&slots)[Each], Tell tell) {
  MLX_SHARED uint32_t counters[kWarps][kDigits];
  const int t = static_cast<int>(threadIdx.x), lane = t % 32;
  const auto own = &counters[t / 32][0];
  auto digit_of = [&](int j) {
    return place_of<Each>(j) < count ? digits(keys[j]) : (1 << Digits::kBits) - 1;
  };
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kWarps; ++w) counters[w][t] = 0;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < Each; ++j) {
    const int digit = digit_of(j);
    const unsigned same = same_digit<Digits::kBits>(digit);
    const int leader = __ffs(same) - 1;
    uint32_t before = 0;
    if (lane == leader) {
      before = own[digit];
      own[digit] = before + static_cast<uint32_t>(__popc(same));
    }
    before = __shfl_sync(~0u, before, leader);
    __syncwarp();
    slots[j] = before + static_cast<uint32_t>(__popc(same & ((1u << lane) - 1)));
  }
  __syncthreads();
  Tally tally = {};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const uint32_t n = counters[w][t];
    counters[w][t] = tally.count;
    tally.count += n;
  }
  tell(tally.count);
  const uint64_t before =
      sum_before(static_cast<uint64_t>(digits.count(t)) << 32 | static_cast<uint64_t>(tally.count));
  tally.first = static_cast<uint32_t>(before);
  tally.line_first = static_cast<uint32_t>(before >> 32);
#pragma unroll
  for (int w = 0; w < kWarps; ++w) counters[w][t] += tally.first;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < Each; ++j) slots[j] += own[digit_of(j)];
  return tally;
}

/// The keys of a line from `first` on that are the calling thread's, of `count` in the tile.
template <class F, int Each>
MLX_FN void load_keys(const RadixArguments& p, int64_t line, int64_t first, int count,
                      typename F::K (&keys)[Each]) {
  using K = typename F::K;
  const auto* in = memory<const typename F::T>(p.in) + line_offset(p, line);
  const auto* from = memory<const K>(p.from) + line * p.n;
#pragma unroll
  for (int j = 0; j < Each; ++j) {
    const int i = place_of<Each>(j);
    keys[j] = static_cast<K>(~K(0));
    if (i < count) keys[j] = p.from ? from[first + i] : F::key(in[(first + i) * p.stride]);
  }
}

//--- lines of one tile: a block has a line

template <class F, int Each>
MLX_FN void radix_rows(const RadixArguments& p) {
  using K = typename F::K;
  constexpr int kBytes = F::kPositions && sizeof(K) < 4 ? 4 : sizeof(K);
  MLX_SHARED uint64_t words[Each * kThreads * kBytes / 8];
  const auto staged = reinterpret_cast<SharedPointer<K>>(words);
  const auto staged_at = reinterpret_cast<SharedPointer<uint32_t>>(words);
  const int count = static_cast<int>(p.n);
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    K keys[Each];
    uint32_t at[Each], slots[Each];
    load_keys<F, Each>(p, line, 0, count, keys);
#pragma unroll
    for (int j = 0; j < Each; ++j) at[j] = static_cast<uint32_t>(place_of<Each>(j));
    for (int pass = 0; pass < static_cast<int>(p.passes); ++pass) {
      const ByByte<K> digits{pass * 8, nullptr};
      rank_tile<Each>(keys, count, digits, slots, Untold());
#pragma unroll
      for (int j = 0; j < Each; ++j) staged[slots[j]] = keys[j];
      __syncthreads();
#pragma unroll
      for (int j = 0; j < Each; ++j) keys[j] = staged[place_of<Each>(j)];
      if constexpr (F::kPositions) {
        __syncthreads();
#pragma unroll
        for (int j = 0; j < Each; ++j) staged_at[slots[j]] = at[j];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < Each; ++j) at[j] = staged_at[place_of<Each>(j)];
      }
    }
    auto* out = memory<typename F::Result>(p.out) + line_offset(p, line);
#pragma unroll
    for (int j = 0; j < Each; ++j) {
      const int i = place_of<Each>(j);
      if (i >= count) continue;
      if (p.out) out[i * p.stride] = F::result(keys[j], at[j]);
      if (p.to) memory<K>(p.to)[line * p.n + i] = keys[j];
      if (p.to_at) memory<uint32_t>(p.to_at)[line * p.n + i] = at[j];
    }
  }
}

//--- long lines

MLX_FN DevicePointer<uint32_t> counts_of(const RadixArguments& p, int64_t line, int64_t pass) {
  return memory<uint32_t>(p.counts) + (line * p.passes + pass) * kDigits;
}
/// The word of a tile for the calling thread's digit, which tells of keys in tiles before it.
MLX_FN DevicePointer<uint32_t> state_of(const RadixArguments& p, int64_t line, int64_t tile) {
  return memory<uint32_t>(p.states) + (line * p.tiles + tile) * kDigits + threadIdx.x;
}

MLX_FN void radix_clear(const RadixArguments& p) {
  auto* words = memory<uint32_t>(p.counts);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.clear;
       i += static_cast<int64_t>(gridDim.x) * kThreads)
    words[i] = 0;
}

/// Calls f(valid, key) for the keys of each part of a line, on all threads at once; `begin` before
/// a part, `end` behind it.
template <class F, class Begin, class Each, class End>
MLX_FN void each_part(const RadixArguments& p, Begin begin, Each f, End end) {
  for (int64_t b = blockIdx.x; b < p.lines * p.parts; b += gridDim.x) {
    const int64_t line = b / p.parts, first = b % p.parts * p.part;
    const int64_t last = first + p.part < p.n ? first + p.part : p.n;
    const auto* in = memory<const typename F::T>(p.in) + line_offset(p, line);
    begin(line);
    for (int64_t tile = first; tile < last; tile += 4 * kThreads) {
      const int64_t i = tile + threadIdx.x;
      typename F::T x[4];
#pragma unroll
      for (int j = 0; j < 4; ++j)
        x[j] = in[(i + j * kThreads < last ? i + j * kThreads : last - 1) * p.stride];
#pragma unroll
      for (int j = 0; j < 4; ++j) f(i + j * kThreads < last, F::key(x[j]));
    }
    end(line);
  }
}

/// Counts the digits of a warp where many are the same: one addition for each that occurs.
MLX_FN void count_together(SharedPointer<uint32_t> counters, bool valid, int digit) {
  const unsigned same = same_digit<8>(digit) & __ballot_sync(~0u, valid);
  if (valid && static_cast<int>(threadIdx.x % 32) == __ffs(same) - 1)
    atomicAdd(counters + digit, static_cast<uint32_t>(__popc(same)));
}

/// How often each byte of keys has each value, in each line.
template <class F, int Passes>
MLX_FN void radix_counts(const RadixArguments& p) {
  MLX_SHARED uint32_t counters[Passes][kDigits];
  const int t = static_cast<int>(threadIdx.x);
  each_part<F>(
      p,
      [&](int64_t) {
        for (int q = 0; q < Passes; ++q) counters[q][t] = 0;
        __syncthreads();
      },
      [&](bool valid, typename F::K key) {
#pragma unroll
        for (int q = 0; q < Passes; ++q) {
          const int digit = static_cast<int>(key >> (8 * q)) & 255;
          if (q > 0 && q == Passes - 1)
            count_together(counters[q], valid, digit);
          else if (valid)
            atomicAdd(&counters[q][digit], 1u);
        }
      },
      [&](int64_t line) {
        __syncthreads();
        for (int q = 0; q < Passes; ++q)
          if (counters[q][t]) atomicAdd(counts_of(p, line, q) + t, counters[q][t]);
        __syncthreads();
      });
}

/// A tile of a line, ordered by a digit of its keys, to its places in the line. For the calling
/// thread's digit, `tell` gets the number of its keys in the tile, and `before` gives that in the
/// line's earlier tiles.
template <class F, int Each, class Digits, class Tell, class Before>
MLX_FN void place_tile(const RadixArguments& p, int64_t line, int64_t tile, const Digits& digits,
                       Tell tell, Before before) {
  using K = typename F::K;
  constexpr int kTile = Each * kThreads;
  constexpr int kBytes = F::kPositions && sizeof(K) < 4 ? 4 : sizeof(K);
  MLX_SHARED uint64_t words[kTile * kBytes / 8];
  MLX_SHARED uint32_t base[kDigits];
  const auto staged = reinterpret_cast<SharedPointer<K>>(words);
  const int t = static_cast<int>(threadIdx.x);
  const int64_t first = tile * kTile;
  const int count = static_cast<int>(p.n - first < kTile ? p.n - first : kTile);
  K keys[Each];
  uint32_t slots[Each], places[Each];
  load_keys<F, Each>(p, line, first, count, keys);
  const Tally tally = rank_tile<Each>(keys, count, digits, slots, tell);
#pragma unroll
  for (int j = 0; j < Each; ++j) staged[slots[j]] = keys[j];
  base[t] = tally.line_first + before(tally.count) - tally.first;
  __syncthreads();
  auto* out = memory<typename F::Result>(p.out) + line_offset(p, line);
#pragma unroll
  for (int j = 0; j < Each; ++j) {
    const int s = t + j * kThreads;
    if (s >= count) continue;
    const K key = staged[s];
    places[j] = base[digits(key)] + static_cast<uint32_t>(s);
    if (p.to) memory<K>(p.to)[line * p.n + places[j]] = key;
    if constexpr (!F::kPositions)
      if (p.out) out[places[j] * p.stride] = F::result(key, 0);
  }
  if constexpr (F::kPositions) {
    const auto staged_at = reinterpret_cast<SharedPointer<uint32_t>>(words);
    const auto* from = memory<const uint32_t>(p.from_at) + line * p.n + first;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < Each; ++j) {
      const int i = place_of<Each>(j);
      if (i < count) staged_at[slots[j]] = p.from_at ? from[i] : static_cast<uint32_t>(first + i);
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < Each; ++j) {
      const int s = t + j * kThreads;
      if (s >= count) continue;
      if (p.to_at) memory<uint32_t>(p.to_at)[line * p.n + places[j]] = staged_at[s];
      if (p.out) out[places[j] * p.stride] = staged_at[s];
    }
  }
}

//--- selection

/// The highest bytes of the key of rank p.kth, as far as they are known.
template <class K>
struct Selected {
  K high;
  uint32_t before, equal;  ///< keys that are smaller in those bytes, and that agree
  /// Takes the next byte; `own`: how many of the keys that agree have the thread's number there.
  MLX_FN void take(const RadixArguments& p, uint32_t own) {
    MLX_SHARED uint32_t digit, smaller, same;
    const auto kth = static_cast<uint32_t>(p.kth);
    const uint32_t first = before + static_cast<uint32_t>(sum_before(own));
    if (first <= kth && kth < first + own) {
      digit = threadIdx.x;
      smaller = first;
      same = own;
    }
    __syncthreads();
    *this = {static_cast<K>(static_cast<uint64_t>(high) << 8 | digit), smaller, same};
    __syncthreads();
  }
};
template <class K>
MLX_FN Selected<K> selected(const RadixArguments& p, int64_t line, int passes) {
  Selected<K> s = {};
  for (int q = 0; q < passes; ++q) s.take(p, counts_of(p, line, q)[threadIdx.x]);
  return s;
}

/// How often the next byte has each value among the keys that agree with the selected one so far.
template <class F>
MLX_FN void select_counts(const RadixArguments& p) {
  using K = typename F::K;
  MLX_SHARED uint32_t counters[kDigits];
  const int t = static_cast<int>(threadIdx.x), shift = static_cast<int>(p.shift);
  K high = 0;
  each_part<F>(
      p,
      [&](int64_t line) {
        high = selected<K>(p, line, static_cast<int>(p.pass)).high;
        counters[t] = 0;
        __syncthreads();
      },
      [&](bool valid, K key) {
        const uint64_t bytes = static_cast<uint64_t>(key) >> shift;
        const int digit = static_cast<int>(bytes) & 255;
        if (p.pass == 0)
          count_together(counters, valid, digit);
        else if (valid && bytes >> 8 == static_cast<uint64_t>(high))
          atomicAdd(&counters[digit], 1u);
      },
      [&](int64_t line) {
        __syncthreads();
        if (counters[t]) atomicAdd(counts_of(p, line, p.pass) + t, counters[t]);
        __syncthreads();
      });
}

/// How the keys of a line are told apart: by a byte, or, with Sides, by their side of the selected
/// one.
template <class F, bool Sides>
MLX_FN auto digits_of(const RadixArguments& p, int64_t line) {
  using K = typename F::K;
  if constexpr (Sides) {
    const Selected<K> s = selected<K>(p, line, static_cast<int>(p.passes));
    return BySide<K>{s.high, s.before, s.equal};
  } else {
    return ByByte<K>{static_cast<int>(p.shift), counts_of(p, line, p.pass)};
  }
}

//--- tiles that are counted before they are placed

/// How many keys of each digit a tile has.
template <class F, int Each, bool Sides>
MLX_FN void count_tiles(const RadixArguments& p) {
  MLX_SHARED uint32_t counters[kDigits];
  constexpr int kTile = Each * kThreads;
  for (int64_t b = blockIdx.x; b < p.lines * p.tiles; b += gridDim.x) {
    const int64_t line = b / p.tiles, first = b % p.tiles * kTile;
    const int count = static_cast<int>(p.n - first < kTile ? p.n - first : kTile);
    const auto digits = digits_of<F, Sides>(p, line);
    typename F::K keys[Each];
    load_keys<F, Each>(p, line, first, count, keys);
    counters[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < Each; ++j)
      if (place_of<Each>(j) < count) atomicAdd(&counters[digits(keys[j])], 1u);
    __syncthreads();
    *state_of(p, line, b % p.tiles) = counters[threadIdx.x];
    __syncthreads();
  }
}
/// The sums of the tiles before, in the place of the numbers of keys.
MLX_FN void add_tiles(const RadixArguments& p) {
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    uint32_t sum = 0;
    for (int64_t tile = 0; tile < p.tiles; ++tile) {
      const auto state = state_of(p, line, tile);
      const uint32_t own = *state;
      *state = sum;
      sum += own;
    }
  }
}
template <class F, int Each, bool Sides>
MLX_FN void place_tiles(const RadixArguments& p) {
  for (int64_t b = blockIdx.x; b < p.lines * p.tiles; b += gridDim.x) {
    const int64_t line = b / p.tiles, tile = b % p.tiles;
    const uint32_t before = *state_of(p, line, tile);
    const auto digits = digits_of<F, Sides>(p, line);
    place_tile<F, Each>(p, line, tile, digits, Untold(), [&](uint32_t) { return before; });
    __syncthreads();
  }
}

//--- selection in lines of one tile

/// Smaller keys, equal ones, larger ones, each in the order of the line: a block has a line, whose
/// keys are in shared memory.
template <class F, int Each>
MLX_FN void select_rows(const RadixArguments& p) {
  using K = typename F::K;
  constexpr int kTile = Each * kThreads, kOfWarp = Each * 32;
  MLX_SHARED uint64_t words[(kTile * sizeof(K) + 7) / 8];
  MLX_SHARED uint32_t counters[kDigits], smaller[kWarps], same[kWarps];
  const auto keys = reinterpret_cast<SharedPointer<K>>(words);
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
  const int count = static_cast<int>(p.n), first = warp * kOfWarp + lane;
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    const auto* in = memory<const typename F::T>(p.in) + line_offset(p, line);
#pragma unroll 8
    for (int i = t; i < kTile; i += kThreads)
      keys[i] = i < count ? F::key(in[i * p.stride]) : static_cast<K>(~K(0));
    Selected<K> s = {};
    for (int pass = 0; pass < static_cast<int>(p.passes); ++pass) {
      const int shift = 8 * (static_cast<int>(p.passes) - 1 - pass);
      counters[t] = 0;
      __syncthreads();
#pragma unroll 4
      for (int i = t; i < kTile; i += kThreads) {
        const uint64_t bytes = static_cast<uint64_t>(keys[i]) >> shift;
        const int digit = static_cast<int>(bytes) & 255;
        if (pass == 0)
          count_together(counters, i < count, digit);
        else if (i < count && bytes >> 8 == static_cast<uint64_t>(s.high))
          atomicAdd(&counters[digit], 1u);
      }
      __syncthreads();
      s.take(p, counters[t]);
    }
    // A warp has neighbours, in their order.
    uint32_t own[3] = {};  // of each side, before the warp's
#pragma unroll 4
    for (int i = first; i < (warp + 1) * kOfWarp; i += 32) {
      own[0] += __popc(__ballot_sync(~0u, i < count && keys[i] < s.high));
      own[1] += __popc(__ballot_sync(~0u, i < count && keys[i] == s.high));
    }
    if (lane == 0) {
      smaller[warp] = own[0];
      same[warp] = own[1];
    }
    __syncthreads();
    own[0] = 0;
    own[1] = s.before;
    for (int w = 0; w < warp; ++w) {
      own[0] += smaller[w];
      own[1] += same[w];
    }
    own[2] =
        static_cast<uint32_t>(warp * kOfWarp) - own[0] - (own[1] - s.before) + s.before + s.equal;
    auto* out = memory<typename F::Result>(p.out) + line_offset(p, line);
#pragma unroll 4
    for (int i = first; i < (warp + 1) * kOfWarp; i += 32) {
      const K key = keys[i];
      const int side = key < s.high ? 0 : key == s.high ? 1 : 2;
      unsigned masks[3] = {__ballot_sync(~0u, side == 0), __ballot_sync(~0u, side == 1), 0};
      masks[2] = ~(masks[0] | masks[1]);
      uint32_t to = 0;
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        if (side == c) to = own[c] + static_cast<uint32_t>(__popc(masks[c] & ((1u << lane) - 1)));
        own[c] += static_cast<uint32_t>(__popc(masks[c]));
      }
      if (i < count) out[to * p.stride] = F::result(key, static_cast<uint32_t>(i));
    }
    __syncthreads();
  }
}

}  // namespace mlx::core::device
