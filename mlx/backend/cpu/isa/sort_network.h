// Sorting networks: up to 16 registers of keys are sorted as the columns of a matrix, neighbouring
// columns are merged until one is left, and a transposition stores it. Included by files that are
// compiled once per instruction set.
#pragma once

#include "mlx/backend/cpu/simd/shuffle.h"
#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {

template <class K>
inline constexpr int kLanesOf = kVectorBytes / static_cast<int>(sizeof(K));
/// The key that no key is greater than.
template <class K>
inline constexpr K kLastKey = static_cast<K>(~(uint64_t{1} << (8 * sizeof(K) - 1)));
template <class K>
inline constexpr K kFirstKey = static_cast<K>(-kLastKey<K> - 1);

template <int I>
struct Number {
  static constexpr int value = I;
};
namespace detail {
template <class F, int... I>
MLX_FN void repeat([[maybe_unused]] F f, Lanes<I...>) {
  (f(Number<I>{}), ...);
}
}  // namespace detail
/// f(Number<0>), ..., f(Number<N - 1>).
template <int N, class F>
MLX_FN void repeat(F f) {
  detail::repeat(f, typename detail::LanesUpTo<N>::type{});
}

template <class K>
MLX_FN Raw<K> lesser(Raw<K> a, Raw<K> b) {
#if defined(MLX_MM)
  if constexpr (sizeof(K) == 2)
    return (Raw<K>)MLX_MM(min_epi16)((Raw<long long>)a, (Raw<long long>)b);
  if constexpr (sizeof(K) == 4)
    return (Raw<K>)MLX_MM(min_epi32)((Raw<long long>)a, (Raw<long long>)b);
#endif
#if defined(__AVX512F__)
  if constexpr (sizeof(K) == 8) return (Raw<K>)_mm512_min_epi64((__m512i)a, (__m512i)b);
#endif
  return a < b ? a : b;
}
template <class K>
MLX_FN Raw<K> greater(Raw<K> a, Raw<K> b) {
#if defined(MLX_MM)
  if constexpr (sizeof(K) == 2)
    return (Raw<K>)MLX_MM(max_epi16)((Raw<long long>)a, (Raw<long long>)b);
  if constexpr (sizeof(K) == 4)
    return (Raw<K>)MLX_MM(max_epi32)((Raw<long long>)a, (Raw<long long>)b);
#endif
#if defined(__AVX512F__)
  if constexpr (sizeof(K) == 8) return (Raw<K>)_mm512_max_epi64((__m512i)a, (__m512i)b);
#endif
  return a < b ? b : a;
}
template <class K>
MLX_FN void exchange(Raw<K>& a, Raw<K>& b) {
  const Raw<K> low = lesser<K>(a, b);
  b = greater<K>(a, b);
  a = low;
}
/// Lane i is the lesser of both where bit `Bit` of i is `Set`, else the greater.
template <class K, int Bit, bool Set = false>
MLX_FN Raw<K> split_lanes(Raw<K> a, Raw<K> b) {
#if defined(__AVX512BW__)
  constexpr uint64_t kLow = ~uint64_t{0} / ((uint64_t{1} << Bit) + 1);
  constexpr uint64_t kMask = Set ? ~kLow : kLow;
  const auto x = (__m512i)a, y = (__m512i)b, high = (__m512i)greater<K>(a, b);
  if constexpr (sizeof(K) == 2)
    return (Raw<K>)_mm512_mask_min_epi16(high, static_cast<__mmask32>(kMask), x, y);
  else if constexpr (sizeof(K) == 4)
    return (Raw<K>)_mm512_mask_min_epi32(high, static_cast<__mmask16>(kMask), x, y);
  else
    return (Raw<K>)_mm512_mask_min_epi64(high, static_cast<__mmask8>(kMask), x, y);
#else
  return shuffle_lanes<kLanesOf<K>>(lesser<K>(a, b), greater<K>(a, b), [](int i) {
    return ((i & Bit) != 0) == Set ? i : i + kLanesOf<K>;
  });
#endif
}
/// Lane i of the result is lane i ^ Flip of x.
template <class K, int Flip>
MLX_FN Raw<K> flip_lanes(Raw<K> x) {
  return shuffle_lanes<kLanesOf<K>>(x, x, [](int i) { return i ^ Flip; });
}

/// Batcher's network for R lines.
template <int R>
struct Exchanges {
  int count = 0;
  uint8_t first[64] = {}, second[64] = {};
  constexpr Exchanges() {
    for (int p = 1; p < R; p *= 2)
      for (int k = p; k >= 1; k /= 2)
        for (int j = k % p; j + k < R; j += 2 * k)
          for (int i = 0; i < k && i + j + k < R; ++i)
            if ((i + j) / (2 * p) == (i + j + k) / (2 * p)) {
              first[count] = static_cast<uint8_t>(i + j);
              second[count++] = static_cast<uint8_t>(i + j + k);
            }
  }
};

/// Sorts each column of a matrix of R registers.
template <class K, int R>
MLX_FN void sort_columns([[maybe_unused]] Raw<K>* x) {
  constexpr Exchanges<R> kExchanges;
  repeat<kExchanges.count>([&](auto i) MLX_INLINED {
    constexpr Exchanges<R> e;
    exchange<K>(x[e.first[decltype(i)::value]], x[e.second[decltype(i)::value]]);
  });
}
/// Compares lanes at distance Distance, then at half of it, down to 1.
template <class K, int R, int Distance>
MLX_FN void order_lanes(Raw<K>* x) {
  if constexpr (Distance >= 1) {
    repeat<R>([&](auto i) MLX_INLINED {
      Raw<K>& row = x[decltype(i)::value];
      row = split_lanes<K, Distance>(row, flip_lanes<K, Distance>(row));
    });
    order_lanes<K, R, Distance / 2>(x);
  }
}
/// The same for registers.
template <class K, int R, int Distance>
MLX_FN void order_rows(Raw<K>* x) {
  if constexpr (Distance >= 1) {
    repeat<R>([&](auto i) MLX_INLINED {
      constexpr int r = decltype(i)::value;
      if constexpr ((r & Distance) == 0) exchange<K>(x[r], x[r + Distance]);
    });
    order_rows<K, R, Distance / 2>(x);
  }
}
/// Merges sorted groups of Group / 2 columns into groups of Group, up to one group.
template <class K, int R, int Group>
MLX_FN void merge_columns(Raw<K>* x) {
  if constexpr (Group <= kLanesOf<K>) {
    // Each group's second half is compared in reversed order.
    if constexpr (R == 1) {
      x[0] = split_lanes<K, Group / 2>(x[0], flip_lanes<K, Group - 1>(x[0]));
    } else {
      repeat<R / 2>([&](auto i) MLX_INLINED {
        Raw<K>&a = x[decltype(i)::value], &b = x[R - 1 - decltype(i)::value];
        const Raw<K> first = a, mirrored = flip_lanes<K, Group - 1>(b);
        a = split_lanes<K, Group / 2>(first, mirrored);
        b = flip_lanes<K, Group - 1>(split_lanes<K, Group / 2, true>(first, mirrored));
      });
    }
    order_lanes<K, R, Group / 4>(x);
    order_rows<K, R, R / 2>(x);
    merge_columns<K, R, Group * 2>(x);
  }
}
/// Half number `Half` of the lanes a[0], b[0], a[1], b[1], ...
template <class K, int Half>
MLX_FN Raw<K> alternate(Raw<K> a, Raw<K> b) {
  return shuffle_lanes<kLanesOf<K>>(
      a, b, [](int i) { return (i + Half * kLanesOf<K>) / 2 + (i % 2) * kLanesOf<K>; });
}
/// Registers that hold the columns one after another.
template <class K, int R, int Done = 1>
MLX_FN void columns_to_rows(Raw<K>* x) {
  if constexpr (Done < R) {
    Raw<K> y[R];
    repeat<R>([&](auto i) MLX_INLINED {
      constexpr int r = decltype(i)::value;
      y[r] = alternate<K, r % 2>(x[r / 2], x[r / 2 + R / 2]);
    });
    repeat<R>([&](auto i) MLX_INLINED { x[decltype(i)::value] = y[decltype(i)::value]; });
    columns_to_rows<K, R, Done * 2>(x);
  }
}

#if !defined(__AVX512BW__)
template <class K>
MLX_FN Raw<K> lane_numbers() {
  Raw<K> lane;
#pragma GCC unroll 16
  for (int i = 0; i < kLanesOf<K>; ++i) lane[i] = static_cast<K>(i);
  return lane;
}
/// The first `n` 16-bit keys (0 < n < lanes), anything in the other lanes.
template <class K>
MLX_FN Raw<K> load_short_keys(const K* p, int64_t n) {
#if defined(MLX_PARTS_OF_REGISTERS) && defined(__AVX2__)
  const auto* whole = reinterpret_cast<const __m128i*>(p);
  const __m128i first = n < 8 ? load_bytes(p, 2 * n) : _mm_loadu_si128(whole);
  return (Raw<K>)_mm256_set_m128i(n > 8 ? load_bytes(p + 8, 2 * n - 16) : first, first);
#elif defined(MLX_PARTS_OF_REGISTERS)
  return (Raw<K>)load_bytes(p, 2 * n);
#else
  Raw<K> x{};
  for (int i = 0; i < kLanesOf<K>; ++i)
    if (i < n) x[i] = p[i];
  return x;
#endif
}
template <class K>
MLX_FN void store_short_keys(K* p, Raw<K> x, int64_t n) {
#if defined(MLX_PARTS_OF_REGISTERS) && defined(__AVX2__)
  const __m128i first = _mm256_castsi256_si128((__m256i)x);
  if (n < 8) return store_bytes(p, first, 2 * n);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), first);
  store_bytes(p + 8, _mm256_extracti128_si256((__m256i)x, 1), 2 * n - 16);
#elif defined(MLX_PARTS_OF_REGISTERS)
  store_bytes(p, (__m128i)x, 2 * n);
#else
  for (int i = 0; i < kLanesOf<K>; ++i)
    if (i < n) p[i] = x[i];
#endif
}
#endif

/// The first `n` keys of a register (any n), the last key in the other lanes.
template <class K>
MLX_FN Raw<K> load_keys(const K* p, int64_t n) {
  constexpr int N = kLanesOf<K>;
  Raw<K> x = kLastKey<K> - Raw<K>{};
#if defined(__AVX512BW__)
  const auto some = static_cast<unsigned>(n < 0 ? 0 : n > N ? N : n);
  const auto mask = _bzhi_u64(~uint64_t{0}, some);
  if constexpr (sizeof(K) == 2)
    return (Raw<K>)_mm512_mask_loadu_epi16((__m512i)x, static_cast<__mmask32>(mask), p);
  else if constexpr (sizeof(K) == 4)
    return (Raw<K>)_mm512_mask_loadu_epi32((__m512i)x, static_cast<__mmask16>(mask), p);
  else
    return (Raw<K>)_mm512_mask_loadu_epi64((__m512i)x, static_cast<__mmask8>(mask), p);
#else
  if (n >= N) {
    __builtin_memcpy(&x, p, sizeof(x));
  } else if constexpr (sizeof(K) >= 4) {
    if (n > 0) x = v_select(Vec<K>::first_lanes(n), Vec<K>::load_partial(p, n), Vec<K>(x)).v;
  } else if (n > 0) {
    const Raw<K> within = (Raw<K>)(lane_numbers<K>() < static_cast<K>(n) - Raw<K>{});
    x = (load_short_keys(p, n) & within) | (x & ~within);
  }
  return x;
#endif
}
template <class K>
MLX_FN void store_keys(K* p, Raw<K> x, int64_t n) {
  constexpr int N = kLanesOf<K>;
#if defined(__AVX512BW__)
  const auto some = static_cast<unsigned>(n < 0 ? 0 : n > N ? N : n);
  const auto mask = _bzhi_u64(~uint64_t{0}, some);
  if constexpr (sizeof(K) == 2)
    _mm512_mask_storeu_epi16(p, static_cast<__mmask32>(mask), (__m512i)x);
  else if constexpr (sizeof(K) == 4)
    _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(mask), (__m512i)x);
  else
    _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(mask), (__m512i)x);
#else
  if (n >= N) {
    __builtin_memcpy(p, &x, sizeof(x));
  } else if constexpr (sizeof(K) >= 4) {
    if (n > 0) Vec<K>(x).store_partial(p, n);
  } else if (n > 0) {
    store_short_keys(p, x, n);
  }
#endif
}

template <class K, int R>
__attribute__((noinline)) void sort_registers(const K* from, int64_t n, K* to) {
  constexpr int N = kLanesOf<K>;
  Raw<K> x[R];
  repeat<R>([&](auto i) MLX_INLINED {
    constexpr int r = decltype(i)::value;
    x[r] = load_keys(from + r * N, n - r * N);
  });
  sort_columns<K, R>(x);
  merge_columns<K, R, 2>(x);
  columns_to_rows<K, R>(x);
  repeat<R>([&](auto i) MLX_INLINED {
    constexpr int r = decltype(i)::value;
    store_keys(to + r * N, x[r], n - r * N);
  });
}

/// The number of keys that a network sorts.
template <class K>
inline constexpr int kNetwork = 16 * kLanesOf<K>;
/// Sorts up to kNetwork keys; `from` and `to` may be the same.
template <class K>
MLX_FN void sort_few(const K* from, int64_t n, K* to) {
  constexpr int N = kLanesOf<K>;
  if (n <= N)
    sort_registers<K, 1>(from, n, to);
  else if (n <= 2 * N)
    sort_registers<K, 2>(from, n, to);
  else if (n <= 4 * N)
    sort_registers<K, 4>(from, n, to);
  else if (n <= 8 * N)
    sort_registers<K, 8>(from, n, to);
  else
    sort_registers<K, 16>(from, n, to);
}

}  // namespace mlx::core::cpu::MLX_ISA
