// Squares of registers transposed, and interleaved complex numbers taken apart on the way. Shuffles
// within parts of 128 bits, and of whole parts, cost least. Compiled once per instruction set.
#pragma once

#include "mlx/backend/cpu/simd/shuffle.h"
#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {

/// Elements of a part of 128 bits.
template <class T>
inline constexpr int kPart = 16 / static_cast<int>(sizeof(T));

/// Lane i of the result is lane f(i) of (a, b).
template <class T, class F>
MLX_FN Vec<T> shuffled(Vec<T> a, Vec<T> b, F f) {
  return Vec<T>(shuffle_lanes<Vec<T>::N>(a.v, b.v, f));
}

/// The first (High: second) halves of the parts of a and b, elements in turns.
template <bool High, class T>
MLX_FN Vec<T> interleaved(Vec<T> a, Vec<T> b) {
  return shuffled(a, b, [](int i) {
    const int in_part = i % kPart<T>;
    return i - in_part + in_part / 2 + (High ? kPart<T> / 2 : 0) + in_part % 2 * Vec<T>::N;
  });
}
/// The first (High: second) halves of the parts of a, each before that of b.
template <bool High, class T>
MLX_FN Vec<T> joined_halves(Vec<T> a, Vec<T> b) {
  return shuffled(a, b, [](int i) {
    constexpr int kHalf = kPart<T> / 2;
    const int in_part = i % kPart<T>;
    return i - in_part + in_part % kHalf + (High ? kHalf : 0) + in_part / kHalf * Vec<T>::N;
  });
}
/// Parts 0, 2 .. (Odd: 1, 3 ..) of a, then those of b.
template <bool Odd, class T>
MLX_FN Vec<T> parts_of(Vec<T> a, Vec<T> b) {
  return shuffled(a, b, [](int i) {
    const int part = i / kPart<T> * 2 + (Odd ? 1 : 0);
    return part * kPart<T> + i % kPart<T>;
  });
}

/// Transposes a square of registers.
template <class T>
MLX_FN void transpose_square(Vec<T>* r) {
  using V = Vec<T>;
  constexpr int N = V::N, E = kPart<T>, L = N / E;
  static_assert((E == 2 || E == 4) && (L == 1 || L == 2 || L == 4));
  // Squares within the parts of E neighbouring rows.
#pragma GCC unroll 16
  for (int g = 0; g < N; g += E) {
    V* const x = r + g;
    if constexpr (E == 2) {
      const V a = x[0], b = x[1];
      x[0] = interleaved<false>(a, b);
      x[1] = interleaved<true>(a, b);
    } else {
      const V a = interleaved<false>(x[0], x[1]), b = interleaved<true>(x[0], x[1]);
      const V c = interleaved<false>(x[2], x[3]), d = interleaved<true>(x[2], x[3]);
      x[0] = joined_halves<false>(a, c);
      x[1] = joined_halves<true>(a, c);
      x[2] = joined_halves<false>(b, d);
      x[3] = joined_halves<true>(b, d);
    }
  }
  // Then a square of whole parts for each row of these.
#pragma GCC unroll 16
  for (int k = 0; k < E; ++k) {
    if constexpr (L == 2) {
      const V a = r[k], b = r[E + k];
      r[k] = parts_of<false>(a, b);
      r[E + k] = parts_of<true>(a, b);
    } else if constexpr (L == 4) {
      const V even1 = parts_of<false>(r[k], r[E + k]), odd1 = parts_of<true>(r[k], r[E + k]);
      V &c = r[2 * E + k], &d = r[3 * E + k];
      const V even2 = parts_of<false>(c, d), odd2 = parts_of<true>(c, d);
      r[k] = parts_of<false>(even1, even2);
      r[E + k] = parts_of<false>(odd1, odd2);
      c = parts_of<true>(even1, even2);
      d = parts_of<true>(odd1, odd2);
    }
  }
}

// N complex numbers in two registers. Their first and second numbers are taken apart within the
// parts, so that lane i belongs to complex number number_of_lane(i).

template <class T>
constexpr int number_of_lane(int i) {
  constexpr int kHalf = kPart<T> / 2;
  const int in_part = i % kPart<T>;
  return i / kPart<T> * kHalf + in_part % kHalf + in_part / kHalf * (Vec<T>::N / 2);
}
/// Elements 0, 2 .. (Odd: 1, 3 ..) of the parts of a, each before those of b.
template <bool Odd, class T>
MLX_FN Vec<T> every_second(Vec<T> a, Vec<T> b) {
  return shuffled(a, b, [](int i) {
    constexpr int kHalf = kPart<T> / 2;
    const int in_part = i % kPart<T>;
    return i - in_part + in_part % kHalf * 2 + (Odd ? 1 : 0) + in_part / kHalf * Vec<T>::N;
  });
}
template <class T>
MLX_FN void split_in_parts(const T* p, Vec<T>& first, Vec<T>& second) {
  const auto a = Vec<T>::load(p), b = Vec<T>::load(p + Vec<T>::N);
  first = every_second<false>(a, b);
  second = every_second<true>(a, b);
}
/// The inverse.
template <class T>
MLX_FN void join_in_parts(Vec<T> first, Vec<T> second, T* p) {
  interleaved<false>(first, second).store(p);
  interleaved<true>(first, second).store(p + Vec<T>::N);
}

}  // namespace mlx::core::cpu::MLX_ISA
