// Radix sort of unsigned keys, with or without indices, and the order-preserving maps between
// element types and keys.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "mlx/backend/cpu/sort_keys.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu {

// --- keys ---------------------------------------------------------------------------------------

template <int Bytes>
struct UintOf;
template <>
struct UintOf<1> {
  using type = uint8_t;
};
template <>
struct UintOf<2> {
  using type = uint16_t;
};
template <>
struct UintOf<4> {
  using type = uint32_t;
};
template <>
struct UintOf<8> {
  using type = uint64_t;
};

/// Maps T to unsigned integers in the order of T, and back. NaN is last; its payload is lost.
template <class T>
struct KeyOf {
  using K = typename UintOf<sizeof(T)>::type;
  static constexpr K kSign = static_cast<K>(K{1} << (8 * sizeof(K) - 1));
  static constexpr bool kFloat = is_floating(TypeToDtype<T>::value);
  static constexpr bool kSigned = !kFloat && !std::is_same_v<T, bool> && std::is_signed_v<T>;
  static constexpr K kInfinity = std::is_same_v<T, float16_t>    ? 0x7c00
                                 : std::is_same_v<T, bfloat16_t> ? 0x7f80
                                 : sizeof(T) == 4                ? K(0x7f800000)
                                                                 : K(0x7ff0000000000000);

  static K to_key(T x) {
    K u = std::bit_cast<K>(x);
    if constexpr (kFloat) {
      const K negative = static_cast<K>(-(u >> (8 * sizeof(K) - 1)));
      const K key = static_cast<K>(u ^ static_cast<K>(negative | kSign));
      return static_cast<K>(u & ~kSign) > kInfinity ? static_cast<K>(~K{0}) : key;
    } else if constexpr (kSigned) {
      return static_cast<K>(u ^ kSign);
    } else {
      return u;
    }
  }
  /// The same with equal keys for both zeros.
  static K to_order(T x) {
    if constexpr (kFloat) {
      if (std::bit_cast<K>(x) == kSign) return kSign;
    }
    return to_key(x);
  }
  static T from_key(K key) {
    if constexpr (kFloat) {
      const K positive = static_cast<K>(-(key >> (8 * sizeof(K) - 1)));
      key = static_cast<K>(key ^ static_cast<K>(~positive | kSign));
    } else if constexpr (kSigned) {
      key = static_cast<K>(key ^ kSign);
    }
    if constexpr (std::is_same_v<T, bool>)
      return key != 0;
    else
      return std::bit_cast<T>(key);
  }
};

/// A 64-bit key and its original index.
struct KeyAt {
  uint64_t key;
  uint64_t position;
};
inline bool operator<(const KeyAt& a, const KeyAt& b) {
  return a.key != b.key ? a.key < b.key : a.position < b.position;
}

/// The sort key of elements E: `kBits` bits from bit `kShift` on.
template <class E>
struct Digits {
  static constexpr int kShift = 0, kBits = 8 * sizeof(E);
  static uint64_t key(E e) { return e; }
};
/// A key of up to 32 bits above an index of 32 bits.
struct Packed {
  uint64_t bits;
  friend bool operator<(Packed a, Packed b) { return a.bits < b.bits; }
};
template <>
struct Digits<Packed> {
  static constexpr int kShift = 32, kBits = 32;
  static uint64_t key(Packed e) { return e.bits; }
};
template <>
struct Digits<KeyAt> {
  static constexpr int kShift = 0, kBits = 64;
  static uint64_t key(KeyAt e) { return e.key; }
};

// --- sorting ------------------------------------------------------------------------------------

template <class E>
void insertion_sort(E* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const E x = a[i];
    int64_t j = i;
    for (; j > 0 && x < a[j - 1]; --j) a[j] = a[j - 1];
    a[j] = x;
  }
}

/// Bits of a digit. With more, the output ranges of a pass exceed the first-level TLB.
inline constexpr int kDigit = 8, kDigits = 1 << kDigit;

/// Stable sort of `a` by its digits, least significant first; `spare` also holds n elements.
/// Returns the location of the result: `a` or `spare`.
template <class E>
E* radix_sort(E* a, E* spare, int64_t n) {
  using D = Digits<E>;
  constexpr int kPasses = (D::kBits + kDigit - 1) / kDigit;
  uint32_t counts[kPasses][kDigits] = {};
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t key = D::key(a[i]) >> D::kShift;
#pragma GCC unroll 8
    for (int p = 0; p < kPasses; ++p) ++counts[p][(key >> (p * kDigit)) & (kDigits - 1)];
  }
  for (int p = 0; p < kPasses; ++p) {
    const int shift = D::kShift + p * kDigit;
    uint32_t* next = counts[p];
    if (next[(D::key(a[0]) >> shift) & (kDigits - 1)] == n)
      continue;  // all elements have the same digit
    uint32_t total = 0;
    for (int d = 0; d < kDigits; ++d) total += std::exchange(next[d], total);
    for (int64_t i = 0; i < n; ++i) spare[next[(D::key(a[i]) >> shift) & (kDigits - 1)]++] = a[i];
    std::swap(a, spare);
  }
  return a;
}

/// The same in parallel, for one long range of elements.
template <class E>
E* parallel_radix_sort(E* a, E* spare, int64_t n) {
  using D = Digits<E>;
  const int64_t parts = num_threads(), part = (n + parts - 1) / parts;
  const double estimate = 2.0 * static_cast<double>(n);
  std::vector<int64_t> counts(parts * kDigits);
  for (int shift = D::kShift; shift < D::kShift + D::kBits; shift += kDigit) {
    auto digit = [shift](E e) { return (D::key(e) >> shift) & (kDigits - 1); };
    auto each_part = [&](auto f) {
      auto some = [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
          f(&counts[p * kDigits], p * part, std::min(n, (p + 1) * part));
      };
      parallel_for(parts, 1, some, estimate);
    };
    each_part([&](int64_t* count, int64_t begin, int64_t end) {
      std::fill(count, count + kDigits, 0);
      for (int64_t i = begin; i < end; ++i) ++count[digit(a[i])];
    });
    int64_t total = 0;
    bool trivial = false;
    for (int d = 0; d < kDigits; ++d) {
      const int64_t before = total;
      for (int64_t p = 0; p < parts; ++p) total += std::exchange(counts[p * kDigits + d], total);
      trivial |= total - before == n;
    }
    if (trivial) continue;
    each_part([&](int64_t* next, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) spare[next[digit(a[i])]++] = a[i];
    });
    std::swap(a, spare);
  }
  return a;
}

/// Sorts elements with unsigned keys; equal ones keep their order if elements carry indices.
/// Returns `a` or `spare`.
template <class E>
E* radix_run(E* a, E* spare, int64_t n, bool threads) {
  constexpr int kBits = Digits<E>::kBits;
  if (n <= 40) {
    insertion_sort(a, n);
    return a;
  }
  if (threads && n >= (1 << 17)) return parallel_radix_sort(a, spare, n);
  // Elements with indices are distinct, so any sort is stable for them.
  if (n < (kBits == 64 ? 192 : 96)) {
    std::sort(a, a + n);
    return a;
  }
  if (n > UINT32_MAX) return parallel_radix_sort(a, spare, n);
  return radix_sort(a, spare, n);
}

/// Sorts signed keys or other elements. Returns `a` or `spare`. With `room` for n elements more,
/// several threads may work on them.
template <class E>
E* sort_run(E* a, E* spare, int64_t n, E* room) {
  if constexpr (std::is_signed_v<E>) {
    sort_keys(a, spare, n, room);
    return a;
  } else {
    return radix_run(a, spare, n, room != nullptr);
  }
}

/// Number of elements at the nearer end of n sorted ones, from rank `kth` to that end.
inline int64_t from_end(int64_t n, int64_t kth) { return std::min(kth + 1, n - kth); }

/// Element that about twice as many elements lie beyond as there are from rank `kth` to the nearer
/// end, from a sample of equally spaced elements.
template <class E>
E sampled_bound(const E* a, int64_t n, int64_t kth) {
  constexpr int64_t kSample = 1024;
  E sample[kSample];
  for (int64_t i = 0; i < kSample; ++i) sample[i] = a[i * (n / kSample)];
  const int64_t beyond = from_end(n, kth) * kSample / n * 2 + 8;
  E* bound = sample + (n - kth <= kth ? kSample - 1 - beyond : beyond);
  std::nth_element(sample, bound, sample + kSample);
  return *bound;
}

/// `select_run` for ranks near an end of a long range: elements beyond a sampled bound move to that
/// end and are sorted there. False, with `a` unchanged, if the sample says too little: there are
/// fewer elements beyond the bound than asked for, as where most are equal, or very many.
/// `sort(elements, spare, count)` returns the location of the result.
template <class E, class Sort>
bool select_near_end(E* a, E* spare, int64_t n, int64_t kth, Sort sort) {
  constexpr int64_t kBlock = 64;
  const bool upper = n - kth <= kth;
  const E bound = sampled_bound(a, n, kth);
  const int64_t most = n / 8;
  // Positions of elements beyond the bound, ascending.
  const std::unique_ptr<uint32_t[]> found(new uint32_t[most + kBlock]);
  int64_t count = 0;
  auto collect = [&](auto beyond) {
    for (int64_t begin = 0; begin < n && count <= most; begin += kBlock)
      for (int64_t i = begin; i < std::min(n, begin + kBlock); ++i) {
        found[count] = static_cast<uint32_t>(i);
        count += beyond(a[i]);
      }
  };
  if (upper)
    collect([bound](const E& e) { return bound < e; });
  else
    collect([bound](const E& e) { return e < bound; });
  if (count < from_end(n, kth) || count > most) return false;
  // Elements that are not at that end yet change places with elements there inside the bound.
  const int64_t first = upper ? n - count : 0;
  const uint32_t* const all = found.get();
  const uint32_t* there = std::lower_bound(all, all + count, static_cast<uint32_t>(first));
  const uint32_t* const there_end =
      std::lower_bound(there, all + count, static_cast<uint32_t>(first + count));
  const uint32_t* away = upper ? all : there_end;
  const uint32_t* const away_end = upper ? there : all + count;
  for (int64_t to = first; away != away_end; ++away, ++to) {
    for (; there != there_end && *there == to; ++there) ++to;
    std::swap(a[*away], a[to]);
  }
  const E* done = sort(a + first, spare, count);
  if (done == spare) std::copy(done, done + count, a + first);
  return true;
}

/// Whether `select_near_end` is tried.
inline bool is_near_end(int64_t n, int64_t kth) {
  return n >= 1 << 15 && n <= UINT32_MAX && from_end(n, kth) <= n / 64;
}

/// Moves the element of rank `kth` to its place, with none larger before it and none smaller after
/// it.
template <class E>
E* select_run(E* a, E* spare, int64_t n, int64_t kth, E* room) {
  if (sizeof(E) <= 2 || n < 1024) return sort_run(a, spare, n, room);
  auto sort = [](E* some, E* other, int64_t count) {
    return sort_run<E>(some, other, count, nullptr);
  };
  if (is_near_end(n, kth) && select_near_end(a, spare, n, kth, sort)) return a;
  if constexpr (std::is_signed_v<E>) {
    select_keys(a, spare, n, kth, room);
    return a;
  } else if constexpr (sizeof(E) > 2) {
    using D = Digits<E>;
    constexpr int kWidth = 11, kShift = D::kShift + D::kBits - kWidth;
    auto digit = [](E e) { return static_cast<int64_t>(D::key(e) >> kShift); };
    int64_t counts[1 << kWidth] = {};
    for (int64_t i = 0; i < n; ++i) ++counts[digit(a[i])];
    // The digit of the element with the requested rank, and the number of smaller elements.
    int64_t pivot = 0, below = 0;
    while (below + counts[pivot] <= kth) below += counts[pivot++];
    int64_t next[3] = {0, below, below + counts[pivot]};
    for (int64_t i = 0; i < n; ++i) {
      const int64_t d = digit(a[i]);
      spare[next[d < pivot ? 0 : d == pivot ? 1 : 2]++] = a[i];
    }
    E* middle = spare + below;
    const int64_t m = counts[pivot];
    const E* done = sort_run(middle, a, m, room);
    if (done != middle) std::copy(done, done + m, middle);
    return spare;
  }
  return a;
}

/// `select_run` of signed keys of 32 bits above positions. Equal keys near an end are in the order
/// of a sort by keys alone.
inline void select_packed(int64_t* a, int64_t* spare, int64_t n, int64_t kth, int64_t* room) {
  auto by_keys = [](int64_t* some, int64_t* other, int64_t count) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    auto *from = reinterpret_cast<Packed*>(some), *to = reinterpret_cast<Packed*>(other);
    for (int64_t i = 0; i < count; ++i) from[i].bits ^= kSign;
    Packed* const done = radix_run(from, to, count, false);
    for (int64_t i = 0; i < count; ++i) done[i].bits ^= kSign;
    return done == from ? some : other;
  };
  if (n < 1024)
    sort_keys(a, spare, n, room);
  else if (!is_near_end(n, kth) || !select_near_end(a, spare, n, kth, by_keys))
    select_keys(a, spare, n, kth, room);
}

}  // namespace mlx::core::cpu
