// Running combinations over rows and columns.
#include "mlx/backend/cpu/isa/scan.h"

#include "mlx/backend/cpu/simd/limits.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// --- how elements are read, accumulated and written
// -------------------------------------------------

MLX_FN float widened(Half h) {
#if defined(__F16C__)
  return _cvtsh_ss(h.bits);
#else
  uint16_t words[VF::N] = {h.bits};
  float lanes[VF::N];
  v_load_f16(words).store(lanes);
  return lanes[0];
#endif
}
MLX_FN void narrow(float x, Half& h) {
#if defined(__F16C__)
  h.bits = _cvtss_sh(x, 0);
#else
  uint16_t words[VF::N];
  v_store_f16(words, VF(x));
  h.bits = words[0];
#endif
}
MLX_FN float widened(Brain b) {
  const uint32_t bits = static_cast<uint32_t>(b.bits) << 16;
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
MLX_FN void narrow(float x, Brain& b) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  b.bits = x != x ? static_cast<uint16_t>((bits >> 16) | 0x40)
                  : static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
template <class T>
MLX_FN T widened(T x) {
  return x;
}
template <class T>
MLX_FN void narrow(T x, T& y) {
  y = x;
}
template <class T>
using Wide = decltype(widened(T{}));

// --- combinations: a state, its start, a step, and the value it stands for
// --------------------------

template <class A>
struct Sum {
  using State = A;
  static MLX_FN A start() { return A{}; }
  static MLX_FN A step(A a, A x) { return static_cast<A>(a + x); }
  static MLX_FN A value(A a) { return a; }
};
template <class A>
struct Prod : Sum<A> {
  static MLX_FN A start() {
    if constexpr (is_complex_v<A>)
      return {1, 0};
    else
      return A(1);
  }
  static MLX_FN A step(A a, A x) { return static_cast<A>(a * x); }
};
template <class A>
struct Max : Sum<A> {
  static MLX_FN A start() { return lowest<A>(); }
  static MLX_FN A step(A a, A x) {
    if constexpr (is_complex_v<A>)
      return larger(Single<A>(a), Single<A>(x)).v;
    else
      return a > x || a != a ? a : x;
  }
};
template <class A>
struct Min : Sum<A> {
  static MLX_FN A start() { return highest<A>(); }
  static MLX_FN A step(A a, A x) {
    if constexpr (is_complex_v<A>)
      return smaller(Single<A>(a), Single<A>(x)).v;
    else
      return a < x || a != a ? a : x;
  }
};
// The largest so far and the sum of exponentials relative to it.
template <class A>
struct LogSumExp {
  struct State {
    A top;
    double sum;
  };
  static MLX_FN State start() { return {-__builtin_inff(), 0}; }
  static MLX_FN double power(A x) {
    if constexpr (sizeof(A) == 4)
      return __builtin_expf(x);
    else
      return __builtin_exp(x);
  }
  static MLX_FN State step(State a, A x) {
    if (x > a.top) return {x, a.sum * power(a.top - x) + 1};
    return {a.top, a.sum + (x == a.top ? 1 : power(x - a.top))};
  }
  static MLX_FN A value(State a) { return static_cast<A>(a.top + __builtin_log(a.sum)); }
};
template <class F>
struct LogSumExp<Complex<F>> {
  using A = Complex<F>;
  struct State {
    F top;
    double re, im;
  };
  static MLX_FN State start() { return {-__builtin_inff(), 0, 0}; }
  static MLX_FN State step(State a, A x) {
    const F top = x.re > a.top ? x.re : a.top;
    const double keep = a.top == top ? 1 : __builtin_exp(a.top - top);
    const double size = x.re == top ? 1 : __builtin_exp(x.re - top);
    return {top, a.re * keep + size * __builtin_cos(x.im),
            a.im * keep + size * __builtin_sin(x.im)};
  }
  static MLX_FN A value(State a) {
    return {static_cast<F>(a.top + __builtin_log(__builtin_hypot(a.re, a.im))),
            static_cast<F>(__builtin_atan2(a.im, a.re))};
  }
};

// --- walks
// ------------------------------------------------------------------------------------------

template <class T, template <class> class Combine>
struct Kernel {
  using O = Combine<Wide<T>>;
  using State = typename O::State;

  // A cache line or so of each row at a time goes through a buffer: rows often lie a power of two
  // apart, and their lines would push each other out of the cache.
  static constexpr int kStep = 16;
  template <int Count>
  static void some_rows(const void* const* xs, void* const* ys, int64_t n, int64_t x_stride,
                        int64_t y_stride, bool inclusive) {
    State a[Count];
    for (int r = 0; r < Count; ++r) a[r] = O::start();
    for (int64_t i = 0; i < n; i += kStep) {
      const int some = n - i < kStep ? static_cast<int>(n - i) : kStep;
      T in[Count][kStep], out[Count][kStep];
      for (int r = 0; r < Count; ++r)
        copy(static_cast<const T*>(xs[r]) + i * x_stride, x_stride, in[r], 1, some);
      if (inclusive) {
        for (int k = 0; k < some; ++k)
          for (int r = 0; r < Count; ++r) {
            a[r] = O::step(a[r], widened(in[r][k]));
            narrow(O::value(a[r]), out[r][k]);
          }
      } else {
        for (int k = 0; k < some; ++k)
          for (int r = 0; r < Count; ++r) {
            narrow(O::value(a[r]), out[r][k]);
            a[r] = O::step(a[r], widened(in[r][k]));
          }
      }
      for (int r = 0; r < Count; ++r)
        copy(out[r], 1, static_cast<T*>(ys[r]) + i * y_stride, y_stride, some);
    }
  }
  static MLX_FN void copy(const T* from, int64_t from_stride, T* to, int64_t to_stride, int n) {
    if (from_stride == 1 && to_stride == 1 && n == kStep) {
      __builtin_memcpy(to, from, sizeof(T) * kStep);
    } else {
      for (int k = 0; k < n; ++k) to[k * to_stride] = from[k * from_stride];
    }
  }
  static void rows(const void* const* x, void* const* y, int count, int64_t n, int64_t x_stride,
                   int64_t y_stride, bool inclusive) {
    if (count == kScanRows) return some_rows<kScanRows>(x, y, n, x_stride, y_stride, inclusive);
    for (int r = 0; r < count; ++r) some_rows<1>(x + r, y + r, n, x_stride, y_stride, inclusive);
  }
  static void columns(const void* x, void* y, int64_t width, int64_t n, int64_t x_stride,
                      int64_t y_stride, bool inclusive) {
    State a[kScanColumns];
    for (int64_t c = 0; c < width; ++c) a[c] = O::start();
    for (int64_t i = 0; i < n; ++i) {
      const T* __restrict from = static_cast<const T*>(x) + i * x_stride;
      T* __restrict to = static_cast<T*>(y) + i * y_stride;
      if (inclusive) {
        for (int64_t c = 0; c < width; ++c) {
          a[c] = O::step(a[c], widened(from[c]));
          narrow(O::value(a[c]), to[c]);
        }
      } else {
        for (int64_t c = 0; c < width; ++c) {
          narrow(O::value(a[c]), to[c]);
          a[c] = O::step(a[c], widened(from[c]));
        }
      }
    }
  }
  static constexpr ScanKernels table{rows, columns};
};

template <template <class> class O>
ScanKernels floating(Dtype::Val t) {
  using enum Dtype::Val;
  switch (t) {
    case float16:
      return Kernel<Half, O>::table;
    case bfloat16:
      return Kernel<Brain, O>::table;
    case float32:
      return Kernel<float, O>::table;
    case float64:
      return Kernel<double, O>::table;
    case complex64:
      return Kernel<Complex<float>, O>::table;
    case complex128:
      return Kernel<Complex<double>, O>::table;
    default:
      return {};
  }
}
// Sums and products of signed integers wrap, as unsigned ones do.
template <template <class> class O>
ScanKernels wrapping(Dtype::Val t) {
  using enum Dtype::Val;
  switch (t) {
    case bool_:
      return Kernel<bool, O>::table;
    case int8:
    case uint8:
      return Kernel<uint8_t, O>::table;
    case int16:
    case uint16:
      return Kernel<uint16_t, O>::table;
    case int32:
    case uint32:
      return Kernel<uint32_t, O>::table;
    case int64:
    case uint64:
      return Kernel<uint64_t, O>::table;
    default:
      return floating<O>(t);
  }
}
template <template <class> class O>
ScanKernels ordered(Dtype::Val t) {
  using enum Dtype::Val;
  switch (t) {
    case int8:
      return Kernel<int8_t, O>::table;
    case int16:
      return Kernel<int16_t, O>::table;
    case int32:
      return Kernel<int32_t, O>::table;
    case int64:
      return Kernel<int64_t, O>::table;
    default:
      return wrapping<O>(t);
  }
}

}  // namespace

ScanKernels find_scan(Scan kind, Dtype::Val t) {
  switch (kind) {
    case Scan::sum:
      return wrapping<Sum>(t);
    case Scan::prod:
      return wrapping<Prod>(t);
    case Scan::max:
      return ordered<Max>(t);
    case Scan::min:
      return ordered<Min>(t);
    case Scan::logsumexp:
      return floating<LogSumExp>(t);
  }
  return {};
}

}  // namespace mlx::core::cpu::MLX_ISA
