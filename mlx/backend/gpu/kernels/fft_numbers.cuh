// Complex numbers of Fourier transforms, roots of unity, and transforms of a few numbers.
#pragma once

#include "mlx/backend/gpu/kernels/axes.cuh"

namespace mlx::core::device {

//--- complex numbers ----------------------------------------------------------------------------

/// A complex number that is read and written at once.
template <class T>
struct alignas(2 * sizeof(T)) FftPair {
  T re, im;
};
template <class T>
MLX_FN T fft_fma(T a, T b, T c) {
  return v_fma(lane::Lane<T>(a), lane::Lane<T>(b), lane::Lane<T>(c)).v;
}
template <class T>
MLX_FN m::Cx<T> fft_product(m::Cx<T> a, m::Cx<T> b) {
  return {fft_fma(a.re, b.re, -(a.im * b.im)), fft_fma(a.re, b.im, a.im * b.re)};
}
template <class T>
MLX_FN m::Cx<T> exchanged(m::Cx<T> a) {
  return {a.im, a.re};
}

/// exp(-2 pi i k / n), 0 <= k < n, with an error of one unit in the last place: the angle is
/// reduced to an eighth of a turn in integers, and what its rounding leaves out is counted.
template <class T, class I>
MLX_FN m::Cx<T> fft_root(I k, I n) {
  using V = lane::Lane<T>;
  I a = 8 * k;
  const bool lower = a > 4 * n;
  if (lower) a = 8 * n - a;
  const bool left = a > 2 * n;
  if (left) a = 4 * n - a;
  const bool steep = a > n;
  if (steep) a = 2 * n - a;
  const V part(static_cast<T>(a)), whole(static_cast<T>(n)), one = V(T(1)) / whole;
  const V turn = part * one;  // in eighths
  V rest = v_fma(-turn, whole, part);
  if constexpr (sizeof(I) > sizeof(T)) {  // longer integers than the type has exactly
    const V part_rest(static_cast<T>(static_cast<int64_t>(a) - static_cast<int64_t>(part.v)));
    const V whole_rest(static_cast<T>(static_cast<int64_t>(n) - static_cast<int64_t>(whole.v)));
    rest = rest + v_fma(-turn, whole_rest, part_rest);
  }
  const V eighth(T(0.78539816339744830962));
  const V eighth_rest(sizeof(T) == 4 ? T(-2.1855694143368964e-8) : T(3.061616997868383e-17));
  const V angle = turn * eighth;
  const V low = v_fma(turn, eighth, -angle) + v_fma(turn, eighth_rest, rest * one * eighth);
  const V square = angle * angle;
  const V s = m::trig_detail::sin_near_zero(angle, square);
  const V c = m::trig_detail::cos_near_zero(square);
  const T sine = v_fma(low, c, s).v, cosine = v_fma(-low, s, c).v;
  const T across = steep ? sine : cosine, up = steep ? cosine : sine;
  return {left ? -across : across, lower ? up : -up};
}

/// exp(-pi i j^2 / n)
template <class T, class I>
MLX_FN m::Cx<T> fft_chirp(I j, I n) {
  const uint64_t square = static_cast<uint64_t>(j) * j % (2 * static_cast<uint64_t>(n));
  return fft_root<T, I>(static_cast<I>(square), 2 * n);
}

//--- transforms of a few numbers ----------------------------------------------------------------

template <class T>
MLX_FN void fft_two(m::Cx<T>& a, m::Cx<T>& b) {
  const m::Cx<T> difference = m::subtract(a, b);
  a = m::add(a, b);
  b = difference;
}
template <class T>
MLX_FN void fft_four(m::Cx<T>& x0, m::Cx<T>& x1, m::Cx<T>& x2, m::Cx<T>& x3) {
  fft_two(x0, x2);
  fft_two(x1, x3);
  const m::Cx<T> even = x2, turned{x3.im, -x3.re}, first = x0, odd = x1;
  x0 = m::add(first, odd);
  x1 = m::add(even, turned);
  x2 = m::subtract(first, odd);
  x3 = m::subtract(even, turned);
}
template <class T>
MLX_FN void fft_eight(m::Cx<T> (&x)[8]) {
  const T r = T(0.70710678118654752440);
  fft_four(x[0], x[2], x[4], x[6]);
  fft_four(x[1], x[3], x[5], x[7]);
  m::Cx<T> even[4], odd[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) even[k] = x[2 * k];
  odd[0] = x[1];
  odd[1] = {(x[3].re + x[3].im) * r, (x[3].im - x[3].re) * r};
  odd[2] = {x[5].im, -x[5].re};
  odd[3] = {(x[7].im - x[7].re) * r, -((x[7].re + x[7].im) * r)};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    x[k] = m::add(even[k], odd[k]);
    x[k + 4] = m::subtract(even[k], odd[k]);
  }
}

/// Cosines and sines of the first multiples of a turn by 3, 5 or 7.
template <int R, class T>
MLX_FN void fft_waves(T (&c)[4], T (&s)[4]) {
  if constexpr (R == 3) {
    c[1] = T(-0.5);
    s[1] = T(0.86602540378443864676);
  } else if constexpr (R == 5) {
    c[1] = T(0.30901699437494742410);
    c[2] = T(-0.80901699437494742410);
    s[1] = T(0.95105651629515357212);
    s[2] = T(0.58778525229247312917);
  } else {
    c[1] = T(0.62348980185873353053);
    c[2] = T(-0.22252093395631440429);
    c[3] = T(-0.90096886790241912624);
    s[1] = T(0.78183148246802980871);
    s[2] = T(0.97492791218182360702);
    s[3] = T(0.43388373911755812048);
  }
}
/// An odd length: sums and differences of x[j] and x[R - j] times cosines and sines.
template <int R, class T>
MLX_FN void fft_odd(m::Cx<T> (&x)[R]) {
  constexpr int kHalf = R / 2;
  T c[4], s[4];
  fft_waves<R>(c, s);
  m::Cx<T> sum[kHalf + 1], difference[kHalf + 1];
  const m::Cx<T> first = x[0];
#pragma unroll
  for (int j = 1; j <= kHalf; ++j) {
    sum[j] = m::add(x[j], x[R - j]);
    difference[j] = m::subtract(x[j], x[R - j]);
    x[0] = m::add(x[0], sum[j]);
  }
#pragma unroll
  for (int k = 1; k <= kHalf; ++k) {
    m::Cx<T> a = first, b{T(0), T(0)};
#pragma unroll
    for (int j = 1; j <= kHalf; ++j) {
      const int at = j * k % R, near = at <= kHalf ? at : R - at;
      const T sine = at <= kHalf ? s[near] : -s[near];
      a = {fft_fma(sum[j].re, c[near], a.re), fft_fma(sum[j].im, c[near], a.im)};
      b = {fft_fma(difference[j].re, sine, b.re), fft_fma(difference[j].im, sine, b.im)};
    }
    x[k] = {a.re + b.im, a.im - b.re};
    x[R - k] = {a.re - b.im, a.im + b.re};
  }
}

template <int R, class T>
MLX_FN void fft_few(m::Cx<T> (&x)[R]) {
  if constexpr (R == 2) {
    fft_two(x[0], x[1]);
  } else if constexpr (R == 4) {
    fft_four(x[0], x[1], x[2], x[3]);
  } else if constexpr (R == 8) {
    fft_eight(x);
  } else {
    fft_odd<R>(x);
  }
}

}  // namespace mlx::core::device
