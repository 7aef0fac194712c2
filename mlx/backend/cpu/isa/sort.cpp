// Quicksort of keys with splits in vector registers, down to sorting networks. A split is stable
// and leaves one part in place, the other in spare memory; parts change places with each level, so
// that nothing is copied back. Few random pivots are bad ones; a heap sort bounds the others.
#include "mlx/backend/cpu/isa/sort.h"

#include <stddef.h>

#include "mlx/backend/cpu/isa/sort_network.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// --- splits -------------------------------------------------------------------------------------

/// For each number of Lanes bits, the bytes of lanes of `Size` bytes whose bit is set, in order.
template <int Lanes, int Size>
struct PackOrder {
  alignas(64) uint8_t of[1 << Lanes][Lanes * Size] = {};
  constexpr PackOrder() {
    for (int bits = 0; bits < 1 << Lanes; ++bits)
      for (int lane = 0, n = 0; lane < Lanes; ++lane)
        if (bits >> lane & 1)
          for (int i = 0; i < Size; ++i, ++n) of[bits][n] = static_cast<uint8_t>(lane * Size + i);
  }
};

/// Keys that are split together: in registers of 16 bytes, with a shuffle from a table.
template <class K>
struct Group {
  static constexpr int N = 16 / sizeof(K);
  static constexpr PackOrder<N, sizeof(K)> kOrder{};
  Raw<K, 16> v;

  MLX_FN static Group load(const K* p) {
    Group x;
    __builtin_memcpy(&x.v, p, sizeof(x.v));
    return x;
  }
  /// Bit i: whether key i is greater than the pivot.
  MLX_FN uint32_t after(K pivot) const {
    const auto lanes = v > pivot - Raw<K, 16>{};
#if defined(__SSE4_1__)
    if constexpr (sizeof(K) == 2)
      return static_cast<uint32_t>(
          _mm_movemask_epi8(_mm_packs_epi16((__m128i)lanes, _mm_setzero_si128())));
    else if constexpr (sizeof(K) == 4)
      return static_cast<uint32_t>(_mm_movemask_ps((__m128)lanes));
    else
      return static_cast<uint32_t>(_mm_movemask_pd((__m128d)lanes));
#elif defined(__ARM_NEON)
    if constexpr (sizeof(K) == 2) {
      constexpr uint16_t kBits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
      return vaddvq_u16(vandq_u16((uint16x8_t)lanes, vld1q_u16(kBits)));
    } else if constexpr (sizeof(K) == 4) {
      constexpr uint32_t kBits[4] = {1, 2, 4, 8};
      return vaddvq_u32(vandq_u32((uint32x4_t)lanes, vld1q_u32(kBits)));
    } else {
      return static_cast<uint32_t>((lanes[0] & 1) | (lanes[1] & 2));
    }
#else
    uint32_t bits = 0;
    for (int i = 0; i < N; ++i) bits |= static_cast<uint32_t>(lanes[i] & 1) << i;
    return bits;
#endif
  }
  /// Writes the lanes of `bits`, and anything behind them, in all N keys.
  MLX_FN void pack(uint32_t bits, K* to) const {
#if defined(__SSE4_1__)
    const __m128i order = _mm_load_si128((const __m128i*)kOrder.of[bits]);
    _mm_storeu_si128((__m128i*)to, _mm_shuffle_epi8((__m128i)v, order));
#elif defined(__ARM_NEON)
    const uint8x16_t x = vqtbl1q_u8((uint8x16_t)v, vld1q_u8(kOrder.of[bits]));
    __builtin_memcpy(to, &x, sizeof(x));
#else
    for (int i = 0; i < N; ++i) {
      *to = v[i];
      to += bits >> i & 1;
    }
#endif
  }
};

#if defined(__AVX512F__)
/// Bits of a comparison, moved to a general register at once: gcc 12 may spill the widened mask
/// with its 8 or 16 bits and load 32.
MLX_FN uint32_t widened(uint32_t mask) {
  __asm__("" : "+r"(mask));
  return mask;
}

template <class K>
  requires(sizeof(K) >= 4)
struct Group<K> {
  static constexpr int N = 64 / sizeof(K);
  __m512i v;

  MLX_FN static Group load(const K* p) { return {_mm512_loadu_si512(p)}; }
  MLX_FN uint32_t after(K pivot) const {
    if constexpr (sizeof(K) == 4)
      return widened(_mm512_cmpgt_epi32_mask(v, _mm512_set1_epi32(pivot)));
    else
      return widened(_mm512_cmpgt_epi64_mask(v, _mm512_set1_epi64(pivot)));
  }
  MLX_FN void pack(uint32_t bits, K* to) const {
    // A compression to memory is slow on some processors.
    if constexpr (sizeof(K) == 4)
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), v));
    else
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(static_cast<__mmask8>(bits), v));
  }
};
#elif defined(__AVX2__)
/// The same for the lanes of 4 bytes of a register of 32, as bytes that are widened.
template <int Lanes, int Size>
struct WidePackOrder {
  alignas(64) uint8_t of[1 << Lanes][8] = {};
  constexpr WidePackOrder() {
    for (int bits = 0; bits < 1 << Lanes; ++bits)
      for (int lane = 0, n = 0; lane < Lanes; ++lane)
        if (bits >> lane & 1)
          for (int i = 0; i < Size / 4; ++i, ++n)
            of[bits][n] = static_cast<uint8_t>(lane * Size / 4 + i);
  }
};
template <class K>
  requires(sizeof(K) >= 4)
struct Group<K> {
  static constexpr int N = 32 / sizeof(K);
  static constexpr WidePackOrder<N, sizeof(K)> kOrder{};
  __m256i v;

  MLX_FN static Group load(const K* p) { return {_mm256_loadu_si256((const __m256i*)p)}; }
  MLX_FN uint32_t after(K pivot) const {
    if constexpr (sizeof(K) == 4)
      return static_cast<uint32_t>(
          _mm256_movemask_ps((__m256)_mm256_cmpgt_epi32(v, _mm256_set1_epi32(pivot))));
    else
      return static_cast<uint32_t>(
          _mm256_movemask_pd((__m256d)_mm256_cmpgt_epi64(v, _mm256_set1_epi64x(pivot))));
  }
  MLX_FN void pack(uint32_t bits, K* to) const {
    const __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)kOrder.of[bits]));
    _mm256_storeu_si256((__m256i*)to, _mm256_permutevar8x32_epi32(v, order));
  }
};
#endif

/// Moves keys greater than the pivot, or (without `KeepFirst`) the others, to `other`, and the rest
/// to the front of `keys`; both in their order. Returns the number of keys not greater.
template <bool KeepFirst, class K>
int64_t split(K* keys, int64_t n, K pivot, K* other) {
  using G = Group<K>;
  constexpr int N = G::N, kGroups = 4;
  constexpr uint32_t kAll = (1u << N) - 1;
  int64_t kept = 0, moved = 0, i = 0;
  // Stores exceed what was selected, but end where keys have been read, and inside `other`.
  auto part = [&](G x) MLX_INLINED {
    const uint32_t after = x.after(pivot), keep = KeepFirst ? after ^ kAll : after;
    x.pack(keep, keys + kept);
    x.pack(keep ^ kAll, other + moved);
    const int count = __builtin_popcount(keep);
    kept += count;
    moved += N - count;
  };
  for (; i + kGroups * N <= n; i += kGroups * N) {
    G x[kGroups];
    repeat<kGroups>([&](auto k) MLX_INLINED {
      constexpr int at = decltype(k)::value;
      x[at] = G::load(keys + i + at * N);
    });
    repeat<kGroups>([&](auto k) MLX_INLINED { part(x[decltype(k)::value]); });
  }
  for (; i + N <= n; i += N) part(G::load(keys + i));
  for (; i < n; ++i) {
    const K x = keys[i];
    const bool keep = (x > pivot) != KeepFirst;
    keys[kept] = x;
    other[moved] = x;
    kept += keep;
    moved += !keep;
  }
  return KeepFirst ? kept : moved;
}

// --- pivots -------------------------------------------------------------------------------------

/// A key that should divide `n` ones at about rank `rank`. `equal` is set if all of a sample equal
/// it; if not, the largest key of the sample is greater.
template <class K>
MLX_FN K sampled_pivot(const K* keys, int64_t n, int64_t rank, bool& equal) {
  constexpr int kMost = 64;
  K sample[kMost];
  const int count = n >= 16384 ? 64 : n >= 1024 ? 32 : 16;
  const int64_t step = n / count;
  uint64_t state = static_cast<uint64_t>(n) * 0x9e3779b97f4a7c15;
  for (int i = 0; i < count; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const auto jitter = static_cast<int64_t>((state >> 32) * static_cast<uint64_t>(step) >> 32);
    sample[i] = keys[i * step + jitter];
  }
  sort_few(sample, count, sample);
  int64_t at = rank * count / n;
  at = at >= count ? count - 1 : at;
  while (at > 0 && sample[at] == sample[count - 1]) --at;
  equal = sample[0] == sample[count - 1];
  return sample[at];
}

// --- sorting ------------------------------------------------------------------------------------

template <class K>
void heap_sort(K* keys, int64_t n) {
  auto sift = [keys](int64_t at, int64_t end) {
    const K x = keys[at];
    for (int64_t child; (child = 2 * at + 1) < end; at = child) {
      if (child + 1 < end && keys[child] < keys[child + 1]) ++child;
      if (!(x < keys[child])) break;
      keys[at] = keys[child];
    }
    keys[at] = x;
  };
  for (int64_t i = n / 2; i-- > 0;) sift(i, n);
  for (int64_t end = n; --end > 0;) {
    const K last = keys[end];
    keys[end] = keys[0];
    keys[0] = last;
    sift(0, end);
  }
}

template <class K>
bool all_equal(const K* keys, int64_t n, K x) {
  constexpr int64_t kBlock = 64;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    K other = 0;
    for (int64_t k = 0; k < kBlock; ++k) other |= static_cast<K>(keys[i + k] ^ x);
    if (other != 0) return false;
  }
  for (; i < n; ++i)
    if (keys[i] != x) return false;
  return true;
}

template <class K>
void copy_keys(const K* from, K* to, int64_t n) {
  __builtin_memcpy(to, from, static_cast<size_t>(n) * sizeof(K));
}

/// Sorts `keys`; the result is there if `in_place`, else in `spare`. Both are overwritten.
template <class K>
void quicksort(K* keys, K* spare, int64_t n, bool in_place, int depth) {
  while (n > kNetwork<K>) {
    if (depth-- == 0) {
      heap_sort(keys, n);
      if (!in_place) copy_keys(keys, spare, n);
      return;
    }
    bool equal;
    const K pivot = sampled_pivot(keys, n, n / 2, equal);
    if (equal && all_equal(keys, n, pivot)) {
      if (!in_place) copy_keys(keys, spare, n);
      return;
    }
    int64_t less =
        in_place ? split<true>(keys, n, pivot, spare) : split<false>(keys, n, pivot, spare);
    const int64_t more = n - less;
    // The first part is where the result has to be.
    K* const first = in_place ? keys : spare;
    K* const first_spare = (in_place ? spare : keys) + more;
    const int64_t rest = less;  // where the second part goes
    if (equal) {
      // Keys that equal the pivot are all those between it and its predecessor.
      less = pivot == kFirstKey<K>
                 ? 0
                 : split<true>(first, rest, static_cast<K>(pivot - 1), first_spare);
      for (int64_t i = less; i < rest; ++i) first[i] = pivot;
    }
    quicksort(first, first_spare, less, true, depth);
    keys = in_place ? spare : keys;
    spare = first + rest;
    in_place = false;
    n = more;
  }
  if (n > 0) sort_few(keys, n, in_place ? keys : spare);
}

template <class K>
bool ascending(const K* keys, int64_t n) {
  using R = Raw<K>;
  constexpr int N = kLanesOf<K>;
  int64_t i = 0;
  for (; i + N < n; i += N) {
    R a, b;
    __builtin_memcpy(&a, keys + i, sizeof(a));
    __builtin_memcpy(&b, keys + i + 1, sizeof(b));
    const Raw<int64_t> wrong = (Raw<int64_t>)(a > b);
    int64_t any = 0;
    for (int k = 0; k < kVectorBytes / 8; ++k) any |= wrong[k];
    if (any) return false;
  }
  for (; i + 1 < n; ++i)
    if (keys[i] > keys[i + 1]) return false;
  return true;
}

MLX_FN int depth_limit(int64_t n) {
  return 2 * (64 - __builtin_clzll(static_cast<uint64_t>(n) | 1));
}

template <class K>
void sort(K* keys, int64_t n, int64_t count, K* spare) {
  if (n <= kNetwork<K>) {
    for (; count > 0; --count, keys += n) sort_few(keys, n, keys);
    return;
  }
  for (; count > 0; --count, keys += n)
    if (!ascending(keys, n)) quicksort(keys, spare, n, true, depth_limit(n));
}

template <class K>
void sort_into(K* keys, int64_t n, K* sorted) {
  if (n > 0) quicksort(keys, sorted, n, false, depth_limit(n));
}

template <class K>
int64_t split_keys(K* keys, int64_t n, K pivot, K* spare) {
  return split<true>(keys, n, pivot, spare);
}

template <class K>
K select_key(K* keys, int64_t n, int64_t rank, K* spare) {
  for (int depth = depth_limit(n); n > kNetwork<K>;) {
    if (depth-- == 0) {
      heap_sort(keys, n);
      return keys[rank];
    }
    bool equal;
    const K pivot = sampled_pivot(keys, n, rank, equal);
    const int64_t less = split<true>(keys, n, pivot, spare);
    if (rank >= less) {
      K* const rest = spare;
      spare = keys;
      keys = rest;
      rank -= less;
      n -= less;
      continue;
    }
    n = less;
    if (!equal) continue;
    // The keys that equal the pivot are behind those before it.
    if (pivot == kFirstKey<K>) return pivot;
    n = split<true>(keys, n, static_cast<K>(pivot - 1), spare);
    if (rank >= n) return pivot;
  }
  sort_few(keys, n, keys);
  return keys[rank];
}

// --- keys ---------------------------------------------------------------------------------------

/// Bits of elements to keys and back. Floats: negative ones in reverse, NaN last. V is K or a
/// register of K.
template <class K, KeyMap Map>
struct KeyBits {
  static constexpr bool kWhole = Map == KeyMap::integer || Map == KeyMap::natural;
  static constexpr K kInfinity = static_cast<K>(Map == KeyMap::half    ? 0x7c00
                                                : Map == KeyMap::brain ? 0x7f80
                                                : sizeof(K) == 4       ? 0x7f800000
                                                                       : 0x7ff0000000000000);
  template <class V>
  MLX_FN static V every(K x) {
    return static_cast<V>(x - V{});
  }
  template <class V>
  MLX_FN static V flipped(V x) {
    if constexpr (Map == KeyMap::integer) return x;
    if constexpr (Map == KeyMap::natural) return static_cast<V>(x ^ every<V>(kFirstKey<K>));
    const V sign = static_cast<V>(x >> (8 * sizeof(K) - 1));
    return static_cast<V>(x ^ (sign & every<V>(kLastKey<K>)));
  }
  template <class V>
  MLX_FN static V to_key(V x) {
    if constexpr (kWhole) return flipped(x);
    const V last = every<V>(kLastKey<K>), magnitude = static_cast<V>(x & last);
    return magnitude > every<V>(kInfinity) ? last : flipped(x);
  }
  /// With equal keys for both zeros.
  template <class V>
  MLX_FN static V to_order(V x) {
    if constexpr (kWhole) return flipped(x);
    return x == every<V>(kFirstKey<K>) ? V{} : to_key(x);
  }
};

/// Applies `f` to registers of K.
template <class K, class F>
MLX_FN void each_register(const void* in, void* out, int64_t n, F f) {
  constexpr int N = kLanesOf<K>;
  const K* from = static_cast<const K*>(in);
  K* to = static_cast<K*>(out);
  for (; n >= N; n -= N, from += N, to += N) store_keys(to, f(load_keys(from, N)), N);
  if (n > 0) store_keys(to, f(load_keys(from, n)), n);
}
template <class K, KeyMap Map>
void to_keys(const void* in, void* out, int64_t n) {
  each_register<K>(in, out, n, [](Raw<K> x) MLX_INLINED { return KeyBits<K, Map>::to_key(x); });
}
template <class K, KeyMap Map>
void from_keys(const void* in, void* out, int64_t n) {
  each_register<K>(in, out, n, [](Raw<K> x) MLX_INLINED { return KeyBits<K, Map>::flipped(x); });
}
template <class K, KeyMap Map>
void to_order(const void* in, void* out, int64_t n) {
  each_register<K>(in, out, n, [](Raw<K> x) MLX_INLINED { return KeyBits<K, Map>::to_order(x); });
}

template <int Bytes>
struct NaturalOf;
template <>
struct NaturalOf<4> {
  using type = uint32_t;
};
template <>
struct NaturalOf<8> {
  using type = uint64_t;
};
/// Elements of the bits E.
template <class E, class K, KeyMap Map>
void pack_keys(const void* in, void* out, int64_t n, int64_t count, int64_t first) {
  using U = typename NaturalOf<sizeof(K)>::type;
  const E* from = static_cast<const E*>(in);
  U* __restrict to = static_cast<U*>(out);
  constexpr int kHalf = 4 * sizeof(K);
  const U start = static_cast<U>(first);
  for (; count > 0; --count, from += n, to += n)
    for (int64_t i = 0; i < n; ++i) {
      const U key = static_cast<U>(KeyBits<E, Map>::to_order(from[i]));
      to[i] = key << kHalf | (start + static_cast<U>(i));
    }
}
template <class K>
void positions_of(const void* keys, int bits, uint32_t* positions, int64_t n) {
  const K* __restrict from = static_cast<const K*>(keys);
  const K mask = static_cast<K>((uint64_t{1} << bits) - 1);
  for (int64_t i = 0; i < n; ++i) positions[i] = static_cast<uint32_t>(from[i] & mask);
}

using enum KeyMap;

#define MLX_KEY_SORTS(K) sort<K>, sort_into<K>, ascending<K>, split_keys<K>, select_key<K>

}  // namespace

constinit const SortKernels sort_kernels{
    {MLX_KEY_SORTS(int16_t),
     {nullptr, to_keys<int16_t, natural>, nullptr, to_keys<int16_t, half>, to_keys<int16_t, brain>},
     {nullptr, to_keys<int16_t, natural>, nullptr, from_keys<int16_t, half>,
      from_keys<int16_t, brain>},
     {},
     {},
     {},
     nullptr},
    {MLX_KEY_SORTS(int32_t),
     {nullptr, to_keys<int32_t, natural>, to_keys<int32_t, real>},
     {nullptr, to_keys<int32_t, natural>, from_keys<int32_t, real>},
     {},
     {pack_keys<int16_t, int32_t, integer>, pack_keys<int16_t, int32_t, natural>, nullptr,
      pack_keys<int16_t, int32_t, half>, pack_keys<int16_t, int32_t, brain>},
     {pack_keys<int8_t, int32_t, integer>, pack_keys<int8_t, int32_t, natural>},
     positions_of<int32_t>},
    {MLX_KEY_SORTS(int64_t),
     {nullptr, to_keys<int64_t, natural>, to_keys<int64_t, real>},
     {nullptr, to_keys<int64_t, natural>, from_keys<int64_t, real>},
     {nullptr, to_keys<int64_t, natural>, to_order<int64_t, real>},
     {pack_keys<int32_t, int64_t, integer>, pack_keys<int32_t, int64_t, natural>,
      pack_keys<int32_t, int64_t, real>},
     {},
     positions_of<int64_t>}};

#undef MLX_KEY_SORTS

}  // namespace mlx::core::cpu::MLX_ISA
