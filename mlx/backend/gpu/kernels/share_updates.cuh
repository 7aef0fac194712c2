// Updates of the targets in a block's share: the block finds them among the keys of all updates, in
// order, and applies them. One launch in the place of a sort, for as many updates as each block can
// look at.
#pragma once

#include "mlx/backend/gpu/kernels/scatter.cuh"

namespace mlx::core::device {

MLX_CONSTANT int kLooks = 64;                    // keys that a lane reads before it lists its own
MLX_CONSTANT int kListed = 1024;                 // updates that are listed at once
MLX_CONSTANT int kLookedAt = kLooks * kThreads;  // by a block

/// The updates of a share in the order of their numbers.
template <class K>
struct ShareList {
  SharedPointer<K> keys;
  SharedPointer<uint32_t> places;
};

/// The keys of a warp that are in a share, a bit each: lane l has those of keys 32 l and on, and of
/// keys 1024 + 32 l and on.
struct OwnKeys {
  uint32_t masks[2];
  uint32_t before[2];  ///< own keys of the warp that come before
  uint32_t count;      ///< of the warp
};

template <class K>
MLX_FN OwnKeys find_own_keys(DevicePointer<const K> keys, int64_t left, int64_t share,
                             int64_t shares) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  OwnKeys own = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll 16
    for (int j = 0; j < 32; ++j) {
      const int i = (half * 32 + j) * 32 + lane;
      const K key = i < left ? keys[i] : kNoKey<K>;
      const bool is_own = key != kNoKey<K> && part_of(static_cast<int64_t>(key), shares) == share;
      const unsigned mask = __ballot_sync(~0u, is_own);
      if (j == lane) own.masks[half] = mask;
    }
  }
  // The sums before a lane, of both halves in one number.
  const uint32_t both = static_cast<uint32_t>(__popc(own.masks[0])) |
                        static_cast<uint32_t>(__popc(own.masks[1])) << 16;
  uint32_t sum = both;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const uint32_t other = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += other;
  }
  const uint32_t all = __shfl_sync(~0u, sum, 31);
  own.before[0] = (sum - both) & 0xffff;
  own.before[1] = (all & 0xffff) + ((sum - both) >> 16);
  own.count = (all & 0xffff) + (all >> 16);
  return own;
}

/// Lists the own keys of the calling thread whose ranks are `start` to `start + kListed`. `first`
/// is the rank of the warp's first one, `place` the number of its first key.
template <class K>
MLX_FN void list_own_keys(const OwnKeys& own, DevicePointer<const K> keys, int64_t place,
                          uint32_t first, uint32_t start, const ShareList<K>& list) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    uint32_t rank = first + own.before[half] - start;  // wraps before the start
    for (unsigned mask = own.masks[half]; mask != 0; mask &= mask - 1, ++rank) {
      if (rank >= static_cast<uint32_t>(kListed)) continue;
      const int64_t i = place + (half * 32 + lane) * 32 + __ffs(mask) - 1;
      list.keys[rank] = keys[i];
      list.places[rank] = static_cast<uint32_t>(i);
    }
  }
}

/// Some updates of the list, and where they go; absent ones repeat the first.
template <class K, int Many>
struct SomeUpdates {
  K keys[Many];
  uint32_t places[Many];
  bool there[Many];
};
/// Takes as many updates as have room, from the lowest bit of a mask on.
template <class K, int Many>
MLX_FN SomeUpdates<K, Many> take_updates(const ShareList<K>& list, int first, unsigned& mask) {
  SomeUpdates<K, Many> some;
#pragma unroll
  for (int k = 0; k < Many; ++k) {
    some.there[k] = mask != 0;
    const int i = mask != 0 ? first + __ffs(mask) - 1 : 0;
    some.keys[k] = some.there[k] ? list.keys[i] : some.keys[0];
    some.places[k] = some.there[k] ? list.places[i] : some.places[0];
    mask &= mask - 1;
  }
  return some;
}

/// Applies some updates to V columns from `column` on, in order.
template <Mode M, class T, class K, int V, int Many>
MLX_FN void apply_some(const SortedUpdatesArguments& p, const SomeUpdates<K, Many>& some,
                       int64_t column) {
  using Columns = Neighbours<T, V>;
  const auto* from = memory<const T>(p.updates) + offset_of(p.column, column);
  auto* const out = memory<T>(p.out) + offset_of(p.target, column);
  auto to = [&](int k) {
    return neighbours<Columns>(out + static_cast<int64_t>(some.keys[k]) * p.unit);
  };
  Columns value[Many], by[Many];
#pragma unroll
  for (int k = 0; k < Many; ++k) {
    by[k] = *neighbours<const Columns>(from + offset_of(p.position, some.places[k]));
    value[k] = *to(k);
  }
#pragma unroll
  for (int k = 0; k < Many; ++k) {
#pragma unroll
    for (int j = 0; j < k; ++j)
      if (some.there[k] && some.keys[j] == some.keys[k]) value[k] = value[j];
#pragma unroll
    for (int v = 0; v < V; ++v) value[k].x[v] = combined<M>(value[k].x[v], by[k].x[v]);
    if (some.there[k]) *to(k) = value[k];
  }
}

/// Applies `count` listed updates. Warps that share columns have all targets of their class.
template <Mode M, class T, class K, int V>
MLX_FN void apply_list(const SortedUpdatesArguments& p, const ShareList<K>& list, int count) {
  constexpr int kMany = sizeof(T) * V <= 4 ? 16 : 8, kWarps = kThreads / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  int together = 1;  // warps that share the columns
  while (together < kWarps && together * (32 * V) < p.columns) together *= 2;
  const int classes = kWarps / together;
  auto class_of = [&](K key) {
    return static_cast<int>((static_cast<uint32_t>(key) * 2654435761u) >> 16) & (classes - 1);
  };
  for (int first = 0; first < count; first += 32) {
    const int i = first + lane;
    unsigned mask = __ballot_sync(~0u, i < count && class_of(list.keys[i]) == warp / together);
    while (mask != 0) {
      const auto some = take_updates<K, kMany>(list, first, mask);
      for (int64_t column = (warp % together * 32 + lane) * V; column < p.columns;
           column += together * (32 * V))
        apply_some<M, T, K, V, kMany>(p, some, column);
    }
  }
}

/// The number of blocks is a power of two: each has the targets whose part it is.
template <Mode M, class T, class K, int V>
MLX_FN void apply_shares(const SortedUpdatesArguments& p) {
  constexpr int kWarps = kThreads / 32;
  MLX_SHARED K listed_keys[kListed];
  MLX_SHARED uint32_t listed_places[kListed];
  MLX_SHARED uint32_t counts[kWarps];
  const ShareList<K> list{listed_keys, listed_places};
  const auto* keys = memory<const K>(p.keys);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (int64_t begin = 0; begin < p.positions; begin += kLookedAt) {
    const int64_t place = begin + warp * (kLooks * 32);
    const OwnKeys own = find_own_keys<K>(keys + place, p.positions - place, blockIdx.x, gridDim.x);
    if (threadIdx.x % 32 == 0) counts[warp] = own.count;
    __syncthreads();
    uint32_t first = 0, all = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) first += counts[w];
      all += counts[w];
    }
    for (uint32_t start = 0; start < all; start += kListed) {
      list_own_keys(own, keys, place, first, start, list);
      __syncthreads();
      const uint32_t left = all - start;
      apply_list<M, T, K, V>(p, list, static_cast<int>(left < kListed ? left : kListed));
      __syncthreads();
    }
    __syncthreads();
  }
}

}  // namespace mlx::core::device
