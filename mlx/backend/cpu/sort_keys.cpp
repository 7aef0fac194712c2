// One line of keys on several threads: pieces are split by sampled bounds, the parts between two
// bounds are gathered and sorted apart. Also: selection, and the order of keys of 64 bits.
#include "mlx/backend/cpu/sort_keys.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

template <class K>
const KeySorts<K>& key_sorts() {
  static const SortKernels& kernels = MLX_FOR_ISA(sort_kernels);
  if constexpr (sizeof(K) == 2)
    return kernels.keys16;
  else if constexpr (sizeof(K) == 4)
    return kernels.keys32;
  else
    return kernels.keys64;
}

namespace {

/// Ascending distinct bounds that divide the keys into parts of about equal size.
template <class K>
std::vector<K> sampled_bounds(const K* keys, int64_t n, int64_t parts) {
  constexpr int64_t kEach = 32;
  const int64_t count = parts * kEach;
  std::vector<K> sample(count), spare(count), bounds;
  for (int64_t i = 0; i < count; ++i) sample[i] = keys[n / count * i + n / count / 2];
  key_sorts<K>().sort(sample.data(), count, 1, spare.data());
  for (int64_t i = 1; i < parts; ++i) {
    const K bound = sample[i * kEach];
    if (bounds.empty() || bounds.back() < bound) bounds.push_back(bound);
  }
  return bounds;
}

/// Where the keys of a piece between two bounds are.
template <class K>
struct KeyPart {
  const K* keys;
  int64_t n;
};

/// Splits keys by all of the bounds [first, last) into last - first + 1 parts.
template <class K>
void split_piece(K* keys, K* spare, int64_t n, const K* first, const K* last, KeyPart<K>* parts) {
  if (first == last) {
    *parts = {keys, n};
    return;
  }
  const K* middle = first + (last - first) / 2;
  const int64_t less = key_sorts<K>().split(keys, n, *middle, spare), more = n - less;
  split_piece(keys, spare + more, less, first, middle, parts);
  split_piece(spare, keys + less, more, middle + 1, last, parts + (middle + 1 - first));
}

/// `sort_keys` for several threads; `room` also holds n keys.
template <class K>
void sort_apart(K* keys, K* spare, K* room, int64_t n) {
  const int64_t threads = num_threads();
  const std::vector<K> bounds = sampled_bounds(keys, n, std::min<int64_t>(4 * threads, 128));
  const auto parts = static_cast<int64_t>(bounds.size()) + 1;
  const int64_t pieces = 2 * threads, length = (n + pieces - 1) / pieces;
  std::vector<KeyPart<K>> split(pieces * parts);
  parallel_for(
      pieces, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          const int64_t from = std::min(n, p * length), some = std::min(n, from + length) - from;
          split_piece(keys + from, spare + from, some, bounds.data(), bounds.data() + bounds.size(),
                      &split[p * parts]);
        }
      },
      static_cast<double>(n));
  std::vector<int64_t> starts(parts + 1);
  for (int64_t i = 0; i < parts; ++i) {
    starts[i + 1] = starts[i];
    for (int64_t p = 0; p < pieces; ++p) starts[i + 1] += split[p * parts + i].n;
  }
  auto gather = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      K* to = room + starts[i];
      for (int64_t p = 0; p < pieces; ++p) {
        const KeyPart<K>& from = split[p * parts + i];
        to = std::copy(from.keys, from.keys + from.n, to);
      }
    }
  };
  parallel_for(parts, 1, gather, static_cast<double>(n));
  parallel_for(
      parts, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          key_sorts<K>().sort_into(room + starts[i], starts[i + 1] - starts[i], keys + starts[i]);
      },
      2.0 * static_cast<double>(n));
}

}  // namespace

template <class K>
void sort_keys(K* keys, K* spare, int64_t n, K* room) {
  const KeySorts<K>& kernels = key_sorts<K>();
  if constexpr (sizeof(K) == 2) {
    if (n >= kCounted && n <= kMostCounted) {
      if (!kernels.ascending(keys, n)) count_keys(keys, n, keys);
      return;
    }
  }
  if (!room || n < kLongLine || num_threads() == 1) return kernels.sort(keys, n, 1, spare);
  if (!kernels.ascending(keys, n)) sort_apart(keys, spare, room, n);
}

template <class K>
void select_keys(K* keys, K* spare, int64_t n, int64_t kth, K* room) {
  const KeySorts<K>& kernels = key_sorts<K>();
  constexpr K kLower = static_cast<K>((uint64_t{1} << (8 * sizeof(K) - 11)) - 1);
  std::unique_ptr<K[]> own;
  if (!room) own.reset(new K[n]);
  K* const copy = room ? room : own.get();
  std::copy(keys, keys + n, copy);
  const K chosen = kernels.select(copy, n, kth, spare);
  const K last = static_cast<K>(chosen | kLower), first = static_cast<K>(chosen & ~kLower);
  const int64_t upto = kernels.split(keys, n, last, spare);
  std::copy(spare, spare + (n - upto), keys + upto);
  int64_t below = 0;
  if (first != std::numeric_limits<K>::min()) {
    below = kernels.split(keys, upto, static_cast<K>(first - 1), spare);
    std::copy(spare, spare + (upto - below), keys + below);
  }
  sort_keys(keys + below, spare, upto - below, room);
}

namespace {

/// Sorts positions of keys that a packed key does not tell apart.
void order_run(const int64_t* keys, int64_t* packed, int64_t n, int bits, int64_t* spare) {
  const int64_t mask = (int64_t{1} << bits) - 1;
  auto key = [&](int64_t x) { return keys[x & mask]; };
  if (n <= 16) {
    for (int64_t i = 1; i < n; ++i) {
      const int64_t x = packed[i];
      int64_t j = i;
      for (; j > 0 && key(x) < key(packed[j - 1]); --j) packed[j] = packed[j - 1];
      packed[j] = x;
    }
    return;
  }
  int64_t least = key(packed[0]);
  for (int64_t i = 1; i < n; ++i) least = std::min(least, key(packed[i]));
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t above = static_cast<uint64_t>(key(packed[i])) - static_cast<uint64_t>(least);
    packed[i] = static_cast<int64_t>(above << bits) | (packed[i] & mask);
  }
  key_sorts<int64_t>().sort(packed, n, 1, spare);
}

}  // namespace

namespace {

/// Writes the difference of each key from the least one, without `shift` bits, above its position.
template <class P>
void pack_above(const int64_t* keys, int64_t n, int64_t least, int shift, int bits, P* packed) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t key = (static_cast<uint64_t>(keys[i]) - static_cast<uint64_t>(least)) >> shift;
    packed[i] = static_cast<P>(key << bits | static_cast<uint64_t>(i));
  }
}

}  // namespace

// Keys are shifted so that their positions fit below them. Where bits are lost, runs of keys that
// are then equal are sorted again: their differences fit.
void order_keys(const int64_t* keys, int64_t n, int64_t* spare, uint32_t* positions,
                int64_t* room) {
  const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1))));
  int64_t* const packed = spare;
  spare += n;
  int64_t least = keys[0], most = keys[0];
  for (int64_t i = 1; i < n; ++i) {
    least = std::min(least, keys[i]);
    most = std::max(most, keys[i]);
  }
  const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
  const int width = static_cast<int>(std::bit_width(range));
  if (width + bits <= 31) {
    auto* const few = reinterpret_cast<int32_t*>(packed);
    pack_above(keys, n, least, 0, bits, few);
    sort_keys(few, reinterpret_cast<int32_t*>(spare), n, reinterpret_cast<int32_t*>(room));
    return key_sorts<int32_t>().positions(few, bits, positions, n);
  }
  const int shift = std::max(0, width + bits - 63);
  pack_above(keys, n, least, shift, bits, packed);
  sort_keys(packed, spare, n, room);
  for (int64_t i = 0; shift > 0 && i + 1 < n;) {
    const int64_t key = packed[i] >> bits;
    if (packed[i + 1] >> bits != key) {
      ++i;
      continue;
    }
    const int64_t begin = i;
    for (i += 2; i < n && packed[i] >> bits == key; ++i) {
    }
    order_run(keys, packed + begin, i - begin, bits, spare);
  }
  key_sorts<int64_t>().positions(packed, bits, positions, n);
}

namespace {

template <class K>
void sort_by_counts(const K* keys, int64_t n, K* to) {
  using U = std::make_unsigned_t<K>;
  constexpr int64_t kValues = int64_t{1} << (8 * sizeof(K));
  constexpr U kSign = static_cast<U>(std::is_signed_v<K> ? kValues / 2 : 0);
  // Two counters for each value: equal neighbours would wait for one another.
  const std::unique_ptr<uint32_t[]> counts(new uint32_t[2 * kValues]());
  uint32_t* const others = counts.get() + kValues;
  int64_t i = 0;
  for (; i + 1 < n; i += 2) {
    ++counts[static_cast<U>(keys[i])];
    ++others[static_cast<U>(keys[i + 1])];
  }
  if (i < n) ++counts[static_cast<U>(keys[i])];
  constexpr int64_t kBlock = 16 / sizeof(K);
  K* const end = to + n;
  for (int64_t v = 0; v < kValues; ++v) {
    const U value = static_cast<U>(static_cast<U>(v) ^ kSign);
    const int64_t count = int64_t{counts[value]} + others[value];
    K* const stop = to + count;
    if (end - stop >= kBlock) {
      K block[kBlock];
      std::fill(block, block + kBlock, static_cast<K>(value));
      for (; to < stop; to += kBlock) std::memcpy(to, block, sizeof(block));
      to = stop;
    } else {
      for (; to < stop; ++to) *to = static_cast<K>(value);
    }
  }
}

}  // namespace

void count_keys(const int8_t* keys, int64_t n, int8_t* sorted) { sort_by_counts(keys, n, sorted); }
void count_keys(const uint8_t* keys, int64_t n, uint8_t* sorted) {
  sort_by_counts(keys, n, sorted);
}
void count_keys(const int16_t* keys, int64_t n, int16_t* sorted) {
  sort_by_counts(keys, n, sorted);
}

#define MLX_KEYS(K)                             \
  template const KeySorts<K>& key_sorts<K>();   \
  template void sort_keys(K*, K*, int64_t, K*); \
  template void select_keys(K*, K*, int64_t, int64_t, K*);
MLX_KEYS(int16_t)
MLX_KEYS(int32_t)
MLX_KEYS(int64_t)
#undef MLX_KEYS

}  // namespace mlx::core::cpu
