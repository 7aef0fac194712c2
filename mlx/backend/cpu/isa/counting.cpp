// Binary searches of several vectors of values at once, and arithmetic bin indices.
#include "mlx/backend/cpu/isa/counting.h"

#include <stddef.h>

#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

/// p[index] per lane.
template <class T>
MLX_FN Vec<T> v_gather(const T* p, typename Vec<T>::Int index) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return Vec<T>((Raw<T>)_mm512_i32gather_epi32((__m512i)index.v, p, 4));
  else
    return Vec<T>((Raw<T>)_mm512_i64gather_epi64((__m512i)index.v, p, 8));
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return Vec<T>((Raw<T>)_mm256_i32gather_epi32((const int*)p, (__m256i)index.v, 4));
  else
    return Vec<T>((Raw<T>)_mm256_i64gather_epi64((const long long*)p, (__m256i)index.v, 8));
#else
  typename IntOf<sizeof(T)>::type at[Vec<T>::N];
  T lanes[Vec<T>::N];
  index.store(at);
  for (int i = 0; i < Vec<T>::N; ++i) lanes[i] = p[at[i]];
  return Vec<T>::load(lanes);
#endif
}

template <class I>
MLX_FN void store_positions(Vec<I> x, uint32_t* to) {
  if constexpr (sizeof(I) == 4) {
    __builtin_memcpy(to, &x.v, sizeof(x.v));
  } else {
    I lanes[Vec<I>::N];
    x.store(lanes);
    for (int i = 0; i < Vec<I>::N; ++i) to[i] = static_cast<uint32_t>(lanes[i]);
  }
}

constexpr int64_t kFewKeys = 16;  // compared one by one
constexpr int kAbreast = 4;

template <class T, bool Right>
MLX_FN Mask<sizeof(T)> passed(Vec<T> key, Vec<T> x) {
  if constexpr (Right)
    return key <= x;
  else
    return key < x;
}

// The positions of the values of kAbreast vectors.
template <class T, bool Right>
MLX_FN void search_some(const T* keys, int64_t n, int64_t all, const T* values,
                        uint32_t* positions) {
  using V = Vec<T>;
  using I = typename V::Int;
  using Index = typename I::elem;
  V x[kAbreast];
  I at[kAbreast];
  for (int k = 0; k < kAbreast; ++k) {
    x[k] = V::load(values + k * V::N);
    at[k] = I(Index(0));
  }
  if (n <= kFewKeys) {
    for (int64_t i = 0; i < n; ++i)
      for (int k = 0; k < kAbreast; ++k)
        at[k] = v_select(passed<T, Right>(V(keys[i]), x[k]), at[k] + I(Index(1)), at[k]);
  } else {
    auto advance = [&](int64_t probe, int64_t by) MLX_INLINED {
      for (int k = 0; k < kAbreast; ++k) {
        const V key = v_gather(keys + probe, at[k]);
        at[k] = v_select(passed<T, Right>(key, x[k]), at[k] + I(static_cast<Index>(by)), at[k]);
      }
    };
    int64_t length = n;
    for (; length > 1; length -= length / 2) advance(length / 2 - 1, length / 2);
    advance(0, 1);
  }
  for (int k = 0; k < kAbreast; ++k) {
    if constexpr (__is_same(T, float) || __is_same(T, double))
      at[k] = v_select(x[k] == x[k], at[k], I(static_cast<Index>(Right ? all : n)));
    store_positions(at[k], positions + k * V::N);
  }
}

// For positions that exceed 32 bits.
template <class T, bool Right>
void search_far(const T* keys, int64_t n, int64_t all, const T* values, int64_t count,
                uint32_t* positions) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t low = 0, length = n;
    while (length > 0) {
      const int64_t half = length / 2;
      const T key = keys[low + half];
      if (Right ? key <= values[i] : key < values[i]) {
        low += half + 1;
        length -= half + 1;
      } else {
        length = half;
      }
    }
    positions[i] = static_cast<uint32_t>(values[i] == values[i] ? low : Right ? all : n);
  }
}

template <class T, bool Right>
void search_from(const T* keys, int64_t n, int64_t all, const T* values, int64_t count,
                 uint32_t* positions) {
  constexpr int64_t kStep = kAbreast * Vec<T>::N;
  if (all > INT32_MAX) return search_far<T, Right>(keys, n, all, values, count, positions);
  for (; count >= kStep; count -= kStep, values += kStep, positions += kStep)
    search_some<T, Right>(keys, n, all, values, positions);
  if (count == 0) return;
  T padded[kStep] = {};
  uint32_t found[kStep];
  __builtin_memcpy(padded, values, static_cast<size_t>(count) * sizeof(T));
  search_some<T, Right>(keys, n, all, padded, found);
  __builtin_memcpy(positions, found, static_cast<size_t>(count) * sizeof(uint32_t));
}

template <class T>
void search(const void* keys, int64_t n, int64_t all, const void* values, int64_t count, bool right,
            uint32_t* positions) {
  const T *k = static_cast<const T*>(keys), *v = static_cast<const T*>(values);
  if (right)
    search_from<T, true>(k, n, all, v, count, positions);
  else
    search_from<T, false>(k, n, all, v, count, positions);
}

MLX_FN VI bin_number(VF x) { return v_to_int(x); }
MLX_FN VL bin_number(VD x) { return VL(__builtin_convertvector(x.v, Raw<int64_t>)); }

/// The bounds of few bins, in registers.
template <class T>
MLX_FN Vec<T> bound(const T* bounds, typename Vec<T>::Int bin, bool few) {
  if constexpr (sizeof(T) == 4) {
    if (few) return v_lookup16(bounds, bin);
  }
  return v_gather(bounds, bin);
}

// The bin indices of one vector; false if they are not exact.
template <class T>
MLX_FN bool even_some(const EvenBins<T>& b, bool few, const T* values, uint32_t* bin_indices) {
  using V = Vec<T>;
  using I = typename V::Int;
  using Index = typename I::elem;
  const V x = V::load(values), low(b.lower[0]);
  const auto inside = (x >= low) & (x <= V(b.high));
  // NaN gives 0: the second operand is the result where the two are unordered.
  const V place = v_min(v_max((x - low) * V(b.scale), V(T(0))), V(static_cast<T>(b.bins - 1)));
  I bin = bin_number(place);
  auto below = inside & (x < bound(b.lower, bin, few));
  auto above = inside & (x >= bound(b.upper, bin, few));
  bool right = true;
  if (v_any(below | above)) {
    bin = v_select(below, bin - I(Index(1)), v_select(above, bin + I(Index(1)), bin));
    const V lower = bound(b.lower, bin, few), upper = bound(b.upper, bin, few);
    right = !v_any(inside & !((x >= lower) & (x < upper)));
  }
  store_positions(v_select(inside, bin + I(Index(1)), I(Index(0))), bin_indices);
  return right;
}

template <class T>
bool even(const EvenBins<T>& b, const T* values, int64_t count, uint32_t* bin_indices) {
  constexpr int64_t N = Vec<T>::N;
  const bool few = b.bins <= 16;
  bool right = true;
  for (; count >= N; count -= N, values += N, bin_indices += N)
    right &= even_some(b, few, values, bin_indices);
  if (count > 0) {
    T padded[N];
    uint32_t found[N];
    for (int64_t i = 0; i < N; ++i) padded[i] = i < count ? values[i] : values[0];
    right &= even_some(b, few, padded, found);
    __builtin_memcpy(bin_indices, found, static_cast<size_t>(count) * sizeof(uint32_t));
  }
  return right;
}

}  // namespace

constinit const CountingKernels counting_kernels{search<float>,   search<double>, search<int32_t>,
                                                 search<int64_t>, even<float>,    even<double>};

}  // namespace mlx::core::cpu::MLX_ISA
