// Sorting of lines: blocks sort tiles in shared memory, runs are merged pairwise. Searching.
#pragma once

#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/backend/gpu/kernels/prelude.cuh"

namespace mlx::core::device {

//--- keys: unsigned integers in the order of elements, NaN last

template <int Bytes>
struct KeyType;
template <>
struct KeyType<1> {
  using type = uint8_t;
};
template <>
struct KeyType<2> {
  using type = uint16_t;
};
template <>
struct KeyType<4> {
  using type = uint32_t;
};
template <>
struct KeyType<8> {
  using type = uint64_t;
};

template <class T>
struct Key {
  using K = typename KeyType<sizeof(T)>::type;
  static MLX_CONSTANT K kSign = static_cast<K>(K(1) << (8 * sizeof(K) - 1));
  static MLX_CONSTANT bool is_float = is_narrow<T> || std::is_floating_point_v<T>;
  static MLX_CONSTANT bool is_signed = !is_float && std::is_signed_v<T>;

  static MLX_FN K bits(T x) {
    if constexpr (std::is_same_v<T, bool>) {
      return x;
    } else {
      return __builtin_bit_cast(K, x);
    }
  }
  static MLX_FN bool is_nan(T x) {
    if constexpr (is_narrow<T>) {
      return widened(x) != widened(x);
    } else {
      return x != x;
    }
  }
  static MLX_FN K of(T x) {
    const K u = bits(x);
    if constexpr (is_float) {
      if (is_nan(x)) return static_cast<K>(~K(0));
      return static_cast<K>(u & kSign ? ~u : u | kSign);
    } else if constexpr (is_signed) {
      return static_cast<K>(u ^ kSign);
    } else {
      return u;
    }
  }
  /// The same for both zeros.
  static MLX_FN K ordered(T x) {
    if constexpr (is_float)
      if (bits(x) == kSign) return kSign;
    return of(x);
  }
  static MLX_FN T value(K key) {
    if constexpr (is_float) key = static_cast<K>(key & kSign ? key ^ kSign : ~key);
    if constexpr (is_signed) key = static_cast<K>(key ^ kSign);
    if constexpr (std::is_same_v<T, bool>) {
      return key != 0;
    } else {
      return __builtin_bit_cast(T, key);
    }
  }
};
/// Complex numbers: numbers with a NaN last, then by the real part, then by the imaginary one.
template <class F>
struct Key<m::Cx<F>> {
  struct K {
    typename Key<F>::K nan, re, im;
    MLX_FN friend bool operator<(K a, K b) {
      if (a.nan != b.nan) return a.nan < b.nan;
      if (a.re != b.re) return a.re < b.re;
      return a.im < b.im;
    }
    MLX_FN friend bool operator==(K a, K b) {
      return a.nan == b.nan && a.re == b.re && a.im == b.im;
    }
  };
  static MLX_FN K ordered(m::Cx<F> x) {
    return {Key<F>::is_nan(x.re) || Key<F>::is_nan(x.im), Key<F>::ordered(x.re),
            Key<F>::ordered(x.im)};
  }
};

//--- what is sorted: elements that compare with <, made of values and positions, and their results

/// Values, whose keys say what they are.
template <class T_>
struct Values {
  using T = T_;
  using Result = T;
  using E = typename Key<T>::K;
  static MLX_FN E make(T x, int64_t) { return Key<T>::of(x); }
  static MLX_FN E last() { return static_cast<E>(~E(0)); }
  static MLX_FN Result result(E e, DevicePointer<const T>, int64_t) { return Key<T>::value(e); }
};
/// A key of up to 32 bits above a position.
template <class T_>
struct ShortPositions {
  using T = T_;
  using Result = uint32_t;
  using E = uint64_t;
  static MLX_FN E make(T x, int64_t at) {
    return static_cast<uint64_t>(Key<T>::ordered(x)) << 32 | static_cast<uint64_t>(at);
  }
  static MLX_FN E last() { return ~uint64_t(0); }
  static MLX_FN Result result(E e, DevicePointer<const T>, int64_t) {
    return static_cast<uint32_t>(e);
  }
};
template <class K>
struct KeyAt {
  K key;
  uint64_t position;
  MLX_FN friend bool operator<(KeyAt a, KeyAt b) {
    return a.key < b.key || (a.key == b.key && a.position < b.position);
  }
};
template <class T_>
struct LongPositions {
  using T = T_;
  using Result = uint32_t;
  using E = KeyAt<typename Key<T>::K>;
  static MLX_FN E make(T x, int64_t at) { return {Key<T>::ordered(x), static_cast<uint64_t>(at)}; }
  static MLX_FN E last() {
    E e{};
    if constexpr (m::IsCx<T>::value) {
      e.key.nan = 2;
    } else {
      e.key = ~uint64_t(0);
    }
    e.position = ~uint64_t(0);
    return e;
  }
  static MLX_FN Result result(E e, DevicePointer<const T>, int64_t) {
    return static_cast<uint32_t>(e.position);
  }
};
/// Values that their keys do not say.
template <class T_>
struct ValuesAt {
  using T = T_;
  using Result = T;
  using E = typename LongPositions<T>::E;
  static MLX_FN E make(T x, int64_t at) { return LongPositions<T>::make(x, at); }
  static MLX_FN E last() { return LongPositions<T>::last(); }
  static MLX_FN Result result(E e, DevicePointer<const T> in, int64_t stride) {
    return in[static_cast<int64_t>(e.position) * stride];
  }
};

/// Where a line begins.
template <class Arguments>
MLX_FN int64_t line_offset(const Arguments& p, int64_t line) {
  return line / p.stride * p.n * p.stride + line % p.stride;
}

MLX_CONSTANT int kSlots = 1024;

/// Sorts tiles, several in a block where they are small. The only tile of a line is its result.
template <class F>
MLX_FN void sort_tiles(const SortArguments& p) {
  using E = typename F::E;
  using T = typename F::T;
  MLX_SHARED E slots[kSlots];
  const auto* in = memory<const T>(p.in);
  auto* out = memory<typename F::Result>(p.out);
  const int64_t units = kSlots / p.tile, all = p.lines * p.tiles;
  const int tile = static_cast<int>(p.tile);
  for (int64_t first = blockIdx.x * units; first < all; first += gridDim.x * units) {
    for (int s = static_cast<int>(threadIdx.x); s < kSlots; s += kThreads) {
      const int64_t unit = first + s / tile, line = unit / p.tiles;
      const int64_t i = unit % p.tiles * tile + s % tile;
      slots[s] =
          unit < all && i < p.n ? F::make(in[line_offset(p, line) + i * p.stride], i) : F::last();
    }
    __syncthreads();
    for (int k = 2; k <= tile; k *= 2)
      for (int j = k / 2; j > 0; j /= 2) {
        for (int x = static_cast<int>(threadIdx.x); x < kSlots / 2; x += kThreads) {
          const int a = x / j * 2 * j + x % j, b = a + j;
          const bool up = (a % tile & k) == 0;
          const E low = slots[a], high = slots[b];
          if (up ? high < low : low < high) {
            slots[a] = high;
            slots[b] = low;
          }
        }
        __syncthreads();
      }
    for (int s = static_cast<int>(threadIdx.x); s < kSlots; s += kThreads) {
      const int64_t unit = first + s / tile, line = unit / p.tiles;
      const int64_t i = unit % p.tiles * tile + s % tile;
      if (unit >= all || i >= p.n) continue;
      const int64_t at = line_offset(p, line);
      if (p.tiles == 1) {
        out[at + i * p.stride] = F::result(slots[s], in + at, p.stride);
      } else {
        memory<E>(p.to)[line * p.n + i] = slots[s];
      }
    }
    __syncthreads();
  }
}

/// Merges pairs of runs; a thread makes some neighbouring elements.
template <class F>
MLX_FN void merge_runs(const SortArguments& p) {
  using E = typename F::E;
  using T = typename F::T;
  constexpr int kSome = 8;
  const int64_t pieces = (p.n + kSome - 1) / kSome;
  for (int64_t x = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; x < p.lines * pieces;
       x += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t line = x / pieces, first = x % pieces * kSome;
    const int64_t start = first / (2 * p.width) * (2 * p.width);
    const int64_t middle = start + p.width < p.n ? start + p.width : p.n;
    const int64_t end = middle + p.width < p.n ? middle + p.width : p.n;
    const auto* a = memory<const E>(p.from) + line * p.n + start;
    const auto* b = a + (middle - start);
    const int64_t na = middle - start, nb = end - middle, d = first - start;
    // How many of the first d elements come from the left run.
    int64_t i = d > nb ? d - nb : 0, high = d < na ? d : na;
    while (i < high) {
      const int64_t probe = (i + high) / 2;
      if (b[d - 1 - probe] < a[probe]) {
        high = probe;
      } else {
        i = probe + 1;
      }
    }
    int64_t j = d - i;
    const int64_t at = line_offset(p, line);
    const auto* in = memory<const T>(p.in) + at;
    auto* out = memory<typename F::Result>(p.out) + at;
    auto* to = memory<E>(p.to) + line * p.n;
    for (int64_t o = first; o < first + kSome && o < end; ++o) {
      const bool right = i == na || (j < nb && b[j] < a[i]);
      const E e = right ? b[j++] : a[i++];
      if (p.last) {
        out[o * p.stride] = F::result(e, in, p.stride);
      } else {
        to[o] = e;
      }
    }
  }
}

/// Positions of values in sorted sequences.
template <class T>
MLX_FN void search_sorted(const SearchArguments& p) {
  auto* out = memory<uint32_t>(p.out);
  for (int64_t x = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; x < p.count;
       x += static_cast<int64_t>(gridDim.x) * kThreads) {
    const auto* from = memory<const T>(p.sorted) + x / p.each * p.n;
    const auto key = Key<T>::ordered(memory<const T>(p.values)[x]);
    int64_t low = 0;
    auto advance = [&](int64_t probe, int64_t by) {
      const auto there = Key<T>::ordered(from[low + probe]);
      if (p.right ? !(key < there) : there < key) low += by;
    };
    int64_t length = p.n;
    for (; length > 1; length -= length / 2) advance(length / 2 - 1, length / 2);
    if (length == 1) advance(0, 1);
    out[x] = static_cast<uint32_t>(low);
  }
}

}  // namespace mlx::core::device
