// Reflectors are made one by one. Each needs the product of the remaining matrix and a vector, for
// which each element of the lower triangle is read once and multiplied twice.
#include "mlx/backend/cpu/isa/tridiagonal.h"

#include "mlx/backend/cpu/simd/shuffle.h"
#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

constexpr int kTogether = 4;  // columns of a pass

template <class T>
struct Tridiagonal {
  using V = Vec<T>;
  static constexpr int N = V::N;

  static MLX_FN V load_some(const T* p, int64_t n) {
    return n >= N ? V::load(p) : V::load_partial(p, n);
  }
  static MLX_FN void store_some(V x, T* p, int64_t n) {
    if (n >= N)
      x.store(p);
    else
      x.store_partial(p, n);
  }
  /// Halves of two registers: lanes with bit D are sums of b's, others of a's.
  template <int D>
  static MLX_FN V halves(V a, V b) {
    const auto x = shuffle_lanes<N>(a.v, b.v, [](int l) { return l & D ? N + l : l; });
    const auto y = shuffle_lanes<N>(a.v, b.v, [](int l) { return (l & D ? N + l : l) ^ D; });
    return V(x + y);
  }
  template <int D>
  static MLX_FN V sums_from(V x) {
    if constexpr (D < N)
      return sums_from<2 * D>(halves<D>(x, x));
    else
      return x;
  }
  static MLX_FN T sum_of(V x) { return sums_from<1>(x).v[0]; }
  /// The sums of the lanes of registers.
  template <int Columns>
  static MLX_FN void sums_of(const V (&x)[Columns], T* to) {
    if constexpr (Columns == 4 && N >= 4) {
      T lanes[N];
      sums_from<4>(halves<2>(halves<1>(x[0], x[1]), halves<1>(x[2], x[3]))).store(lanes);
      __builtin_memcpy(to, lanes, sizeof(T) * 4);
    } else {
      for (int c = 0; c < Columns; ++c) to[c] = sum_of(x[c]);
    }
  }

  /// The sums of products of `Columns` columns and x.
  template <int Columns>
  static MLX_FN void dots(int64_t n, const T* a, int64_t ld, const T* x, T* to) {
    V sum[Columns];
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) sum[c] = V(T(0));
    for (int64_t i = 0; i < n; i += N) {
      const V values = load_some(x + i, n - i);
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c)
        sum[c] = v_fma(load_some(a + c * ld + i, n - i), values, sum[c]);
    }
    sums_of(sum, to);
  }
  static void all_dots(int64_t n, int64_t columns, const T* a, int64_t ld, const T* x, T* to) {
    int64_t c = 0;
    for (; c + kTogether <= columns; c += kTogether) dots<kTogether>(n, a + c * ld, ld, x, to + c);
    for (; c < columns; ++c) dots<1>(n, a + c * ld, ld, x, to + c);
  }

  /// y -= the columns of v times the elements of p, and those of w times q.
  static void subtract_columns(int64_t n, int64_t columns, const T* v, int64_t v_ld, const T* p,
                               const T* w, int64_t w_ld, const T* q, T* y) {
    int64_t c = 0;
    for (; c + kTogether <= columns; c += kTogether)
      for (int64_t i = 0; i < n; i += N) {
        V sum = load_some(y + i, n - i);
#pragma GCC unroll 4
        for (int l = 0; l < kTogether; ++l) {
          sum = v_fma(load_some(v + (c + l) * v_ld + i, n - i), V(-p[c + l]), sum);
          sum = v_fma(load_some(w + (c + l) * w_ld + i, n - i), V(-q[c + l]), sum);
        }
        store_some(sum, y + i, n - i);
      }
    for (; c < columns; ++c)
      for (int64_t i = 0; i < n; i += N) {
        V sum = load_some(y + i, n - i);
        sum = v_fma(load_some(v + c * v_ld + i, n - i), V(-p[c]), sum);
        sum = v_fma(load_some(w + c * w_ld + i, n - i), V(-q[c]), sum);
        store_some(sum, y + i, n - i);
      }
  }

  /// Columns of the product with a symmetric matrix: `a` begins on the diagonal.
  template <int Columns>
  static MLX_FN void multiply_columns(int64_t n, const T* a, int64_t ld, const T* x, T* y) {
    V sum[Columns], factor[Columns];
    T rest[Columns];
    for (int c = 0; c < Columns; ++c) {
      rest[c] = a[c * ld + c] * x[c];
      factor[c] = V(x[c]);
      sum[c] = V(T(0));
    }
    for (int c = 0; c < Columns; ++c)
      for (int r = c + 1; r < Columns; ++r) {
        rest[r] += a[c * ld + r] * x[c];
        rest[c] += a[c * ld + r] * x[r];
      }
    int64_t i = Columns;
    for (; i + N <= n; i += N) {
      const V values = V::load(x + i);
      V result = V::load(y + i);
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) {
        const V element = V::load(a + c * ld + i);
        result = v_fma(element, factor[c], result);
        sum[c] = v_fma(element, values, sum[c]);
      }
      result.store(y + i);
    }
    if (i < n) {
      const V values = V::load_partial(x + i, n - i);
      V result = V::load_partial(y + i, n - i);
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) {
        const V element = V::load_partial(a + c * ld + i, n - i);
        result = v_fma(element, factor[c], result);
        sum[c] = v_fma(element, values, sum[c]);
      }
      result.store_partial(y + i, n - i);
    }
    T sums[Columns];
    sums_of(sum, sums);
    for (int c = 0; c < Columns; ++c) y[c] += rest[c] + sums[c];
  }
  /// y = a · x for a symmetric matrix by its lower triangle.
  static void multiply_symmetric(int64_t n, const T* a, int64_t ld, const T* x, T* y) {
    for (int64_t i = 0; i < n; ++i) y[i] = T(0);
    int64_t c = 0;
    for (; c + kTogether <= n; c += kTogether)
      multiply_columns<kTogether>(n - c, a + c * ld + c, ld, x + c, y + c);
    for (; c < n; ++c) multiply_columns<1>(n - c, a + c * ld + c, ld, x + c, y + c);
  }

  static MLX_FN void scale(int64_t n, T* x, T by) {
    for (int64_t i = 0; i < n; i += N) store_some(load_some(x + i, n - i) * V(by), x + i, n - i);
  }

  /// The reflector that leaves of x its first element alone, which is returned; x becomes v.
  static T reflect(int64_t n, T* x, T* factor) {
    // Squares of smaller sums lose digits, or are zero.
    constexpr T kTiny = sizeof(T) == 4 ? T(0x1p-90f) : T(0x1p-800);
    constexpr T kUp = sizeof(T) == 4 ? T(0x1p100f) : T(0x1p700);
    constexpr T kDown = sizeof(T) == 4 ? T(0x1p-100f) : T(0x1p-700);
    T squares = T(0), unit = T(1);
    if (n > 1) dots<1>(n - 1, x + 1, 0, x + 1, &squares);
    T first = x[0];
    if (squares + first * first < kTiny) {
      scale(n, x, kUp);
      unit = kDown;
      first = x[0];
      if (n > 1) dots<1>(n - 1, x + 1, 0, x + 1, &squares);
    }
    x[0] = T(1);
    *factor = T(0);
    if (squares == T(0)) {
      // A reflector that changes nothing.
      for (int64_t i = 1; i < n; ++i) x[i] = T(0);
      return first * unit;
    }
    const V length = v_sqrt(V(first * first + squares));
    const T result = first > T(0) ? -length.v[0] : length.v[0];
    *factor = (result - first) / result;
    scale(n - 1, x + 1, T(1) / (first - result));
    return result * unit;
  }

  static void reduce(const TridiagonalPanel& panel) {
    T *const a = static_cast<T*>(panel.a), *const v = static_cast<T*>(panel.v);
    T *const w = static_cast<T*>(panel.w), *const below = static_cast<T*>(panel.below);
    T* const factors = static_cast<T*>(panel.factors);
    const int64_t n = panel.n, ld = panel.ld, v_ld = panel.v_ld, w_ld = panel.w_ld;
    constexpr int64_t kMost = 64;
    T p[kMost], q[kMost];
    for (int64_t j = 0; j < panel.columns; ++j) {
      T* const column = a + j * ld;
      for (int64_t l = 0; l < j; ++l) {
        p[l] = w[l * w_ld + j];
        q[l] = v[l * v_ld + j];
      }
      subtract_columns(n - j, j, v + j, v_ld, p, w + j, w_ld, q, column + j);
      T* const x = v + j * v_ld;
      for (int64_t i = 0; i <= j; ++i) x[i] = w[j * w_ld + i] = T(0);
      const int64_t rest = n - j - 1, at = j + 1;
      __builtin_memcpy(x + at, column + at, sizeof(T) * static_cast<uint64_t>(rest));
      below[j] = reflect(rest, x + at, factors + j);
      T* const y = w + j * w_ld + at;
      multiply_symmetric(rest, a + at * ld + at, ld, x + at, y);
      all_dots(rest, j, w + at, w_ld, x + at, p);
      all_dots(rest, j, v + at, v_ld, x + at, q);
      subtract_columns(rest, j, v + at, v_ld, p, w + at, w_ld, q, y);
      T along;
      scale(rest, y, factors[j]);
      dots<1>(rest, y, 0, x + at, &along);
      const V by = V(T(-0.5) * factors[j] * along);
      for (int64_t i = 0; i < rest; i += N)
        store_some(v_fma(load_some(x + at + i, rest - i), by, load_some(y + i, rest - i)), y + i,
                   rest - i);
    }
  }
};

}  // namespace

ReduceToTridiagonal find_tridiagonal(Dtype::Val t) {
  if (t == Dtype::Val::float32) return &Tridiagonal<float>::reduce;
  if (t == Dtype::Val::float64) return &Tridiagonal<double>::reduce;
  return nullptr;
}

}  // namespace mlx::core::cpu::MLX_ISA
