// Passes of Fourier transforms over columns, and conversions between interleaved complex numbers
// and planes of real and imaginary parts, for float and double; a radix-r pass has log2(r)
// roundings per element.
#include "mlx/backend/cpu/isa/fft.h"

#include "mlx/backend/cpu/simd/transpose.h"
#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// --- shuffles -----------------------------------------------------------------------------------

template <class T>
MLX_FN Vec<T> reversed(Vec<T> a) {
  return shuffled(a, a, [](int i) { return Vec<T>::N - 1 - i; });
}
template <class T>
MLX_FN void split_pairs(const T* p, Vec<T>& even, Vec<T>& odd) {
  const auto a = Vec<T>::load(p), b = Vec<T>::load(p + Vec<T>::N);
  even = shuffled(a, b, [](int i) { return 2 * i; });
  odd = shuffled(a, b, [](int i) { return 2 * i + 1; });
}
template <class T>
MLX_FN void join_pairs(Vec<T> even, Vec<T> odd, T* p) {
  constexpr int N = Vec<T>::N;
  shuffled(even, odd, [](int i) { return i / 2 + (i % 2) * N; }).store(p);
  shuffled(even, odd, [](int i) { return N / 2 + i / 2 + (i % 2) * N; }).store(p + N);
}

/// Brings as many complex numbers as a register has lanes to the second cache.
template <bool Write, class T>
MLX_FN void prefetch_pairs(const T* p) {
  __builtin_prefetch(p, Write, 2);
  if constexpr (Vec<T>::N * sizeof(T) == 64) __builtin_prefetch(p + Vec<T>::N, Write, 2);
}

// --- complex numbers ----------------------------------------------------------------------------

template <class V>
struct Pair {
  V re, im;
  MLX_FN friend Pair operator+(Pair a, Pair b) { return {a.re + b.re, a.im + b.im}; }
  MLX_FN friend Pair operator-(Pair a, Pair b) { return {a.re - b.re, a.im - b.im}; }
};
template <class T>
MLX_FN Pair<Vec<T>> operator*(Pair<Vec<T>> a, Pair<Vec<T>> b) {
  return {v_fma(a.re, b.re, -(a.im * b.im)), v_fma(a.re, b.im, a.im * b.re)};
}
/// a * -i
template <class V>
MLX_FN Pair<V> quarter(Pair<V> a) {
  return {a.im, -a.re};
}

// --- butterflies --------------------------------------------------------------------------------

template <class V>
MLX_FN void transform4(Pair<V>& x0, Pair<V>& x1, Pair<V>& x2, Pair<V>& x3) {
  const Pair<V> a = x0 + x2, b = x0 - x2, c = x1 + x3, d = x1 - x3;
  x0 = a + c;
  x1 = {b.re + d.im, b.im - d.re};
  x2 = a - c;
  x3 = {b.re - d.im, b.im + d.re};
}

template <class T>
MLX_FN void transform8(Pair<Vec<T>>* x) {
  using V = Vec<T>;
  transform4(x[0], x[2], x[4], x[6]);
  transform4(x[1], x[3], x[5], x[7]);
  const V c(T(0.70710678118654752440));
  const Pair<V> o1{(x[3].re + x[3].im) * c, (x[3].im - x[3].re) * c};
  const Pair<V> o2 = quarter(x[5]);
  const Pair<V> o3{(x[7].im - x[7].re) * c, -((x[7].re + x[7].im) * c)};
  const Pair<V> e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6], o0 = x[1];
  x[0] = e0 + o0;
  x[1] = e1 + o1;
  x[2] = e2 + o2;
  x[3] = e3 + o3;
  x[4] = e0 - o0;
  x[5] = e1 - o1;
  x[6] = e2 - o2;
  x[7] = e3 - o3;
}

/// An odd radix: sums and differences of x[j] and x[r - j] times cosines and sines.
template <int R, class T>
MLX_FN void transform_odd(Pair<Vec<T>>* x, int radix, const T* roots) {
  using V = Vec<T>;
  constexpr int kHalf = (R ? R : kFftMaxRadix) / 2;
  const int r = R ? R : radix, half = r / 2;
  Pair<V> sum[kHalf], difference[kHalf], all = x[0];
#pragma GCC unroll 8
  for (int j = 1; j <= half; ++j) {
    sum[j - 1] = x[j] + x[r - j];
    difference[j - 1] = x[j] - x[r - j];
    all = all + sum[j - 1];
  }
#pragma GCC unroll 8
  for (int k = 1; k <= half; ++k) {
    Pair<V> a = x[0], b{V(T(0)), V(T(0))};
#pragma GCC unroll 8
    for (int j = 1; j <= half; ++j) {
      const int at = j * k % r;
      const V c(roots[at]), s(roots[r + at]);
      a = {v_fma(sum[j - 1].re, c, a.re), v_fma(sum[j - 1].im, c, a.im)};
      b = {v_fma(difference[j - 1].re, s, b.re), v_fma(difference[j - 1].im, s, b.im)};
    }
    x[k] = {a.re + b.im, a.im - b.re};
    x[r - k] = {a.re - b.im, a.im + b.re};
  }
  x[0] = all;
}

template <int R, class T>
MLX_FN void transform(Pair<Vec<T>>* x, int radix, const T* roots) {
  if constexpr (R == 2) {
    const Pair<Vec<T>> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (R == 4) {
    transform4(x[0], x[1], x[2], x[3]);
  } else if constexpr (R == 8) {
    transform8(x);
  } else {
    transform_odd<R>(x, radix, roots);
  }
}

/// Rows of columns in planes, read and written by a pass.
template <class T>
struct FromPlanes {
  const T *re, *im;
  int64_t pitch;
  MLX_FN Pair<Vec<T>> load(int64_t row, int64_t q) const {
    const int64_t at = row * pitch + q;
    return {Vec<T>::load(re + at), Vec<T>::load(im + at)};
  }
};
template <class T>
struct ToPlanes {
  T *re, *im;
  int64_t pitch;
  MLX_FN void store(int64_t row, int64_t q, Pair<Vec<T>> z) const {
    const int64_t at = row * pitch + q;
    z.re.store(re + at);
    z.im.store(im + at);
  }
};

/// Rows of kFftLanes complex numbers in memory, `row` apart.
template <class T>
struct FromPairs {
  const T* base;
  int64_t row;
  bool swapped;
  MLX_FN Pair<Vec<T>> load(int64_t r, int64_t q) const {
    Vec<T> a, b;
    const T* const p = base + r * row + 2 * q;
    split_pairs(p, a, b);
    prefetch_pairs<false>(p + 2 * kFftLanes<T>);
    return swapped ? Pair<Vec<T>>{b, a} : Pair<Vec<T>>{a, b};
  }
};
template <class T>
struct ToPairs {
  T* base;
  int64_t row;
  bool swapped;
  Vec<T> scale;
  int64_t in_row;  ///< such rows in a row of the pass
  MLX_FN void store(int64_t r, int64_t q, Pair<Vec<T>> z) const {
    const Vec<T> a = z.re * scale, b = z.im * scale;
    T* const to = base + (r * in_row + q / kFftLanes<T>)*row + 2 * (q % kFftLanes<T>);
    swapped ? join_pairs(b, a, to) : join_pairs(a, b, to);
    prefetch_pairs<true>(to + 2 * kFftLanes<T>);
  }
};

/// A pass of radix R; 0 means any odd one.
template <int R, class T, class From, class To>
void pass_of(int radix, int64_t m, int64_t width, const T* twiddles, const T* roots, From from,
             To to) {
  using V = Vec<T>;
  const int r = R ? R : radix;
  for (int64_t p = 0; p < m; ++p) {
    const T* w = twiddles + 2 * p * (r - 1);
    for (int64_t q = 0; q < width; q += V::N) {
      Pair<V> x[R ? R : kFftMaxRadix];
#pragma GCC unroll 16
      for (int j = 0; j < r; ++j) x[j] = from.load(p + m * j, q);
      transform<R>(x, r, roots);
#pragma GCC unroll 16
      for (int k = 0; k < r; ++k) {
        if (k > 0 && twiddles) x[k] = x[k] * Pair<V>{V(w[2 * k - 2]), V(w[2 * k - 1])};
        to.store(p * r + k, q, x[k]);
      }
    }
  }
}

template <class T>
void pass(int radix, int64_t m, int64_t width, int64_t pitch, const T* twiddles, const T* roots,
          const T* x_re, const T* x_im, T* y_re, T* y_im) {
  const FromPlanes<T> from{x_re, x_im, pitch};
  const ToPlanes<T> to{y_re, y_im, width};
  switch (radix) {
#define MLX_RADIX(NAME, R) \
  NAME:                    \
  return pass_of<R, T>(radix, m, width, twiddles, roots, from, to);
    MLX_RADIX(case 2, 2)
    MLX_RADIX(case 3, 3)
    MLX_RADIX(case 4, 4)
    MLX_RADIX(case 5, 5)
    MLX_RADIX(case 7, 7)
    MLX_RADIX(case 8, 8)
    MLX_RADIX(default, 0)
#undef MLX_RADIX
  }
}

template <class T>
bool first_pass(int radix, int64_t m, const T* twiddles, const T* re, const T* im, int64_t row,
                T* y_re, T* y_im) {
  const FromPairs<T> from{re < im ? re : im, row, im < re};
  const ToPlanes<T> to{y_re, y_im, kFftLanes<T>};
  if (radix == 8) pass_of<8, T>(8, m, kFftLanes<T>, twiddles, nullptr, from, to);
  if (radix == 4) pass_of<4, T>(4, m, kFftLanes<T>, twiddles, nullptr, from, to);
  return radix == 8 || radix == 4;
}
template <class T>
bool last_pass(int radix, int64_t width, int64_t pitch, const T* x_re, const T* x_im, T* re, T* im,
               int64_t row, T scale) {
  const FromPlanes<T> from{x_re, x_im, pitch};
  const ToPairs<T> to{re < im ? re : im, row, im < re, Vec<T>(scale), width / kFftLanes<T>};
  if (radix == 8) pass_of<8, T>(8, 1, width, nullptr, nullptr, from, to);
  if (radix == 4) pass_of<4, T>(4, 1, width, nullptr, nullptr, from, to);
  return radix == 8 || radix == 4;
}

// --- moves --------------------------------------------------------------------------------------

template <class T>
void load(const T* re, const T* im, int64_t row, int64_t lane, int64_t rows, int64_t lanes,
          int64_t width, T* to_re, T* to_im, int64_t pitch) {
  using V = Vec<T>;
  const bool swapped = im && im + 1 == re;
  const bool pairs = im && lane == 2 && (re + 1 == im || swapped);
  const T* const base = swapped ? im : re;
  T *const first = swapped ? to_im : to_re, *const second = swapped ? to_re : to_im;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t i = 0;
    if (pairs) {
      for (; i + V::N <= lanes; i += V::N) {
        V a, b;
        split_pairs(base + r * row + 2 * i, a, b);
        a.store(first + r * pitch + i);
        b.store(second + r * pitch + i);
        // The block behind: its rows are too short for the prefetchers of the processor.
        __builtin_prefetch(base + r * row + 2 * (lanes + i), 0, 2);
        __builtin_prefetch(base + r * row + 2 * (lanes + i) + V::N, 0, 2);
      }
    } else if (lane == 1) {
      for (; i + V::N <= lanes; i += V::N) {
        V::load(re + r * row + i).store(to_re + r * pitch + i);
        (im ? V::load(im + r * row + i) : V(T(0))).store(to_im + r * pitch + i);
      }
    }
    for (; i < lanes; ++i) {
      to_re[r * pitch + i] = re[r * row + i * lane];
      to_im[r * pitch + i] = im ? im[r * row + i * lane] : T(0);
    }
    for (; i < width; ++i) to_re[r * pitch + i] = to_im[r * pitch + i] = T(0);
  }
}

template <class T>
void store_part(const T* from, int64_t pitch, T* to, int64_t row, int64_t lane, int64_t rows,
                int64_t lanes, T scale) {
  using V = Vec<T>;
  for (int64_t r = 0; to && r < rows; ++r) {
    int64_t i = 0;
    if (lane == 1)
      for (; i + V::N <= lanes; i += V::N)
        (V::load(from + r * pitch + i) * V(scale)).store(to + r * row + i);
    for (; i < lanes; ++i) to[r * row + i * lane] = from[r * pitch + i] * scale;
  }
}

template <class T>
void store(const T* re, const T* im, int64_t pitch, T* to_re, T* to_im, int64_t row, int64_t lane,
           int64_t rows, int64_t lanes, T scale) {
  using V = Vec<T>;
  if (!to_re || !to_im || lane != 2 || (to_re + 1 != to_im && to_im + 1 != to_re)) {
    store_part(re, pitch, to_re, row, lane, rows, lanes, scale);
    store_part(im, pitch, to_im, row, lane, rows, lanes, scale);
    return;
  }
  const bool swapped = to_im + 1 == to_re;
  const T *const first = swapped ? im : re, *const second = swapped ? re : im;
  T* const base = swapped ? to_im : to_re;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t i = 0;
    for (; i + V::N <= lanes; i += V::N) {
      join_pairs(V::load(first + r * pitch + i) * V(scale),
                 V::load(second + r * pitch + i) * V(scale), base + r * row + 2 * i);
      __builtin_prefetch(base + r * row + 2 * (lanes + i), 1, 2);
      __builtin_prefetch(base + r * row + 2 * (lanes + i) + V::N, 1, 2);
    }
    for (; i < lanes; ++i) {
      base[r * row + 2 * i] = first[r * pitch + i] * scale;
      base[r * row + 2 * i + 1] = second[r * pitch + i] * scale;
    }
  }
}

/// The first of two interleaved parts, and the planes of the first and of the second part.
template <class T, class P>
struct Interleaved {
  T* base;
  P *first, *second;
  Interleaved(T* re, T* im, P* plane_re, P* plane_im)
      : base(re < im ? re : im),
        first(re < im ? plane_re : plane_im),
        second(re < im ? plane_im : plane_re) {}
};

/// Brings the lines of the block behind to the second cache, where they are too short for the
/// prefetchers of the processor.
template <bool Write, class T>
MLX_FN void prefetch_behind(const T* p, int64_t line) {
  constexpr int64_t kShort = 4096 / sizeof(T);
  if (line <= kShort) prefetch_pairs<Write>(p + kFftLanes<T> * line);
}

template <class T>
void load_lines(const T* re, const T* im, int64_t line, int64_t rows, int64_t lanes, T* to_re,
                T* to_im) {
  using V = Vec<T>;
  constexpr int N = V::N;
  constexpr int64_t kWidth = kFftLanes<T>;
  const Interleaved<const T, T> from(re, im, to_re, to_im);
  auto place = [&](int64_t l, int64_t r) {
    return from.base + (l < lanes ? l : lanes - 1) * line + 2 * r;
  };
  int64_t r = 0;
  for (; r + N <= rows; r += N)
    for (int64_t l = 0; l < kWidth; l += N) {
      V x[N], y[N];
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) {
        const T* const p = place(l + i, r);
        split_in_parts(p, x[i], y[i]);
        prefetch_behind<false>(p, line);
      }
      const int64_t to = r * kWidth + l;
      transpose_square(x);
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) x[i].store(from.first + to + number_of_lane<T>(i) * kWidth);
      transpose_square(y);
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) y[i].store(from.second + to + number_of_lane<T>(i) * kWidth);
    }
  for (; r < rows; ++r)
    for (int64_t l = 0; l < kWidth; ++l) {
      from.first[r * kWidth + l] = place(l, r)[0];
      from.second[r * kWidth + l] = place(l, r)[1];
    }
}

template <class T>
void store_lines(const T* re, const T* im, T* to_re, T* to_im, int64_t line, int64_t rows,
                 int64_t lanes, T scale) {
  using V = Vec<T>;
  constexpr int N = V::N;
  constexpr int64_t kWidth = kFftLanes<T>;
  const Interleaved<T, const T> to(to_re, to_im, re, im);
  int64_t r = 0;
  for (; r + N <= rows; r += N)
    for (int64_t l = 0; l < lanes; l += N) {
      V x[N], y[N];
      const int64_t from = r * kWidth + l;
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i)
        x[i] = V::load(to.first + from + number_of_lane<T>(i) * kWidth) * V(scale);
      transpose_square(x);
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i)
        y[i] = V::load(to.second + from + number_of_lane<T>(i) * kWidth) * V(scale);
      transpose_square(y);
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i)
        if (l + i < lanes) {
          T* const p = to.base + (l + i) * line + 2 * r;
          join_in_parts(x[i], y[i], p);
          prefetch_behind<true>(p, line);
        }
    }
  for (; r < rows; ++r)
    for (int64_t l = 0; l < lanes; ++l) {
      to.base[l * line + 2 * r] = to.first[r * kWidth + l] * scale;
      to.base[l * line + 2 * r + 1] = to.second[r * kWidth + l] * scale;
    }
}

template <class T>
void transpose(const T* re, const T* im, int64_t pitch, int64_t rows, int64_t lanes, const T* w_re,
               const T* w_im, int64_t w_pitch, T* to_re, T* to_im, int64_t to_pitch) {
  using V = Vec<T>;
  constexpr int N = V::N;
  auto whole = [](int64_t n) { return (n + kFftLanes<T> - 1) / kFftLanes<T> * kFftLanes<T>; };
  const int64_t all_rows = whole(rows), all_lanes = whole(lanes);
  for (int64_t r = 0; r < all_rows; r += N)
    for (int64_t l = 0; l < all_lanes; l += N) {
      V x[N], y[N];
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) {
        const int64_t at = (r + i) * pitch + l;
        Pair<V> z{V::load(re + at), V::load(im + at)};
        if (w_re) {
          const int64_t factor = (r + i) * w_pitch + l;
          z = z * Pair<V>{V::load(w_re + factor), V::load(w_im + factor)};
        }
        x[i] = z.re;
        y[i] = z.im;
      }
      transpose_square(x);
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) x[i].store(to_re + (l + i) * to_pitch + r);
      transpose_square(y);
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) y[i].store(to_im + (l + i) * to_pitch + r);
    }
}

template <class T>
void multiply(int64_t n, const T* x_re, const T* x_im, const T* w_re, const T* w_im, T* y_re,
              T* y_im) {
  using V = Vec<T>;
  for (int64_t i = 0; i < n; i += V::N) {
    const bool last = i + V::N > n;
    auto get = [&](const T* p) { return last ? V::load_partial(p + i, n - i) : V::load(p + i); };
    const Pair<V> y = Pair<V>{get(x_re), get(x_im)} * Pair<V>{get(w_re), get(w_im)};
    if (last) {
      y.re.store_partial(y_re + i, n - i);
      y.im.store_partial(y_im + i, n - i);
    } else {
      y.re.store(y_re + i);
      y.im.store(y_im + i);
    }
  }
}

// --- between a real line and half of its spectrum -----------------------------------------------

template <class V>
MLX_FN void mirror_pair(V f, Pair<V> c, Pair<V>& a, Pair<V>& b) {
  const V s_re = (a.re + b.re) * f, s_im = (a.im - b.im) * f;
  const Pair<V> d = c * Pair<V>{a.re - b.re, a.im + b.im};
  a = {s_re + d.re, s_im + d.im};
  b = {s_re - d.re, d.im - s_im};
}

template <class T>
void combine_real(int64_t n, int64_t width, T f, const T* c_re, const T* c_im, T* re, T* im) {
  using V = Vec<T>;
  int64_t k = 1;
  if (width == 1) {
    for (; k + V::N <= n - k - V::N + 1; k += V::N) {
      const int64_t other = n - k - V::N + 1;
      Pair<V> a{V::load(re + k), V::load(im + k)};
      Pair<V> b{reversed(V::load(re + other)), reversed(V::load(im + other))};
      mirror_pair(V(f), {V::load(c_re + k), V::load(c_im + k)}, a, b);
      a.re.store(re + k);
      a.im.store(im + k);
      reversed(b.re).store(re + other);
      reversed(b.im).store(im + other);
    }
  }
  for (; k <= n / 2; ++k) {
    const Pair<V> c{V(c_re[k]), V(c_im[k])};
    for (int64_t l = 0; l < width; l += V::N) {
      const int64_t i = k * width + l, j = (n - k) * width + l;
      auto at = [&](T* p) { return width == 1 ? V(*p) : V::load(p); };
      auto put = [&](V v, T* p) { width == 1 ? v.store_partial(p, 1) : v.store(p); };
      Pair<V> a{at(re + i), at(im + i)}, b{at(re + j), at(im + j)};
      mirror_pair(V(f), c, a, b);
      put(a.re, re + i);
      put(a.im, im + i);
      put(b.re, re + j);
      put(b.im, im + j);
    }
  }
}

template <class T>
constexpr FftKernels<T> table() {
  return {load<T>, store<T>,      load_lines<T>, store_lines<T>, transpose<T>,
          pass<T>, first_pass<T>, last_pass<T>,  multiply<T>,    combine_real<T>};
}

}  // namespace

constinit const FftKernels<float> fft32 = table<float>();
constinit const FftKernels<double> fft64 = table<double>();

}  // namespace mlx::core::cpu::MLX_ISA
