// Cumulative combinations over rows and columns.
#include "mlx/backend/cpu/isa/scan.h"

#include "mlx/backend/cpu/simd/limits.h"
#include "mlx/backend/math/exp.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// --- element types -------------------------------------------------------------------------------

MLX_FN float widened(Half h) {
#if defined(__F16C__)
  return _cvtsh_ss(h.bits);
#elif defined(__ARM_NEON)
  return static_cast<float>(__builtin_bit_cast(__fp16, h.bits));
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
#elif defined(__ARM_NEON)
  h.bits = __builtin_bit_cast(uint16_t, static_cast<__fp16>(x));
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

// --- combinations --------------------------------------------------------------------------------

// A combination has a state, an initial state, a step, and the value of a state. `join` combines
// registers, `merge` states that are more than a value; `total` computes the final state faster
// than steps do.

template <class A>
struct Sum {
  using State = A;
  static MLX_FN A start() { return A{}; }
  static MLX_FN A step(A a, A x) { return static_cast<A>(a + x); }
  template <class R>
  static MLX_FN R join(R a, R b) {
    return R(a.v + b.v);
  }
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
  template <class R>
  static MLX_FN R join(R a, R b) {
    return R(a.v * b.v);
  }
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
  template <class R>
  static MLX_FN R join(R a, R b) {
    return larger(a, b);
  }
  /// The same for numbers that are none of them NaN.
  template <class T>
    requires is_float_v<T>
  static MLX_FN Vec<T> ordered(Vec<T> a, Vec<T> b) {
    return v_max(a, b);
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
  template <class R>
  static MLX_FN R join(R a, R b) {
    return smaller(a, b);
  }
  /// The same for numbers that are none of them NaN.
  template <class T>
    requires is_float_v<T>
  static MLX_FN Vec<T> ordered(Vec<T> a, Vec<T> b) {
    return v_min(a, b);
  }
};
// The largest value so far and the sum of exponentials relative to it.
template <class A>
struct LogSumExp {
  struct State {
    A max;
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
    if (x > a.max) return {x, a.sum * power(a.max - x) + 1};
    return {a.max, a.sum + (x == a.max ? 1 : power(x - a.max))};
  }
  static MLX_FN A value(State a) { return static_cast<A>(a.max + __builtin_log(a.sum)); }
  static MLX_FN State merge(State a, State b) {
    if (b.max > a.max) return {b.max, a.sum * __builtin_exp(a.max - b.max) + b.sum};
    return {a.max, a.sum + b.sum * (b.max == a.max ? 1 : __builtin_exp(b.max - a.max))};
  }
  // In vectors, since a total would otherwise cost as much as a scan.
  static constexpr int kBuffer = 256;
  static MLX_FN VD sum_of_powers(Vec<A> x) {
    const Vec<A> e = m::exp(x);
    if constexpr (sizeof(A) == 4) {
      const auto w = v_widen(e);
      return w.low + w.high;
    } else {
      return e;
    }
  }
  /// The state after n elements, which `read(first, count, into)` reads.
  template <class Read>
  static State total(int64_t n, Read read) {
    A buffer[kBuffer], max = -__builtin_inff();
    for (int64_t i = 0; i < n; i += kBuffer) {
      const int some = n - i < kBuffer ? static_cast<int>(n - i) : kBuffer;
      read(i, some, buffer);
      for (int k = 0; k < some; ++k) max = buffer[k] > max ? buffer[k] : max;
    }
    State a = start();
    const bool infinite = max - max != 0;
    VD sum(0.0);
    for (int64_t i = 0; i < n; i += kBuffer) {
      const int some = n - i < kBuffer ? static_cast<int>(n - i) : kBuffer;
      read(i, some, buffer);
      if (infinite) {
        for (int k = 0; k < some; ++k) a = step(a, buffer[k]);
        continue;
      }
      for (int k = some; k < kBuffer; ++k) buffer[k] = -__builtin_inff();
      for (int k = 0; k < some; k += Vec<A>::N)
        sum += sum_of_powers(Vec<A>::load(buffer + k) - Vec<A>(max));
    }
    if (infinite) return a;
    double lanes[VD::N];
    sum.store(lanes);
    double all = 0;
    for (int i = 0; i < VD::N; ++i) all += lanes[i];
    return {max, all};
  }
};
template <class F>
struct LogSumExp<Complex<F>> {
  using A = Complex<F>;
  struct State {
    F max;
    double re, im;
  };
  static MLX_FN State start() { return {-__builtin_inff(), 0, 0}; }
  static MLX_FN State step(State a, A x) {
    const F max = x.re > a.max ? x.re : a.max;
    const double keep = a.max == max ? 1 : __builtin_exp(a.max - max);
    const double size = x.re == max ? 1 : __builtin_exp(x.re - max);
    return {max, a.re * keep + size * __builtin_cos(x.im),
            a.im * keep + size * __builtin_sin(x.im)};
  }
  static MLX_FN A value(State a) {
    return {static_cast<F>(a.max + __builtin_log(__builtin_hypot(a.re, a.im))),
            static_cast<F>(__builtin_atan2(a.im, a.re))};
  }
  static MLX_FN State merge(State a, State b) {
    const F max = b.max > a.max ? b.max : a.max;
    const double left = a.max == max ? 1 : __builtin_exp(a.max - max);
    const double right = b.max == max ? 1 : __builtin_exp(b.max - max);
    return {max, a.re * left + b.re * right, a.im * left + b.im * right};
  }
};

// --- iteration -----------------------------------------------------------------------------------

template <class T, template <class> class Combine>
struct Kernel {
  using O = Combine<Wide<T>>;
  using State = typename O::State;

  // About a cache line of each row at a time is copied to a buffer: rows are often a power of two
  // apart, and their lines would evict each other.
  static constexpr int kStep = 16;
  template <int Count>
  static __attribute__((noinline)) void some_rows(const void* const* xs, void* const* ys, int64_t n,
                                                  int64_t x_stride, int64_t y_stride) {
    State a[Count];
    for (int r = 0; r < Count; ++r) a[r] = O::start();
    for (int64_t i = 0; i < n; i += kStep) {
      const int some = n - i < kStep ? static_cast<int>(n - i) : kStep;
      T in[Count][kStep], out[Count][kStep];
      for (int r = 0; r < Count; ++r)
        copy(static_cast<const T*>(xs[r]) + i * x_stride, x_stride, in[r], 1, some);
      for (int k = 0; k < some; ++k)
        for (int r = 0; r < Count; ++r) {
          a[r] = O::step(a[r], widened(in[r][k]));
          narrow(O::value(a[r]), out[r][k]);
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
  // Without buffers: the processor works on several short rows at once.
  static constexpr int64_t kShortRow = 8;
  static void short_row(const T* x, T* y, int64_t n, int64_t x_stride, int64_t y_stride) {
    State a = O::start();
#pragma GCC unroll 1
    for (int64_t i = 0; i < n; ++i) {
      a = O::step(a, widened(x[i * x_stride]));
      narrow(O::value(a), y[i * y_stride]);
    }
  }
  // A scan without the element itself is one with it, a place later and from the start.
  static void rows(const void* const* x, void* const* y, int count, int64_t n, int64_t x_stride,
                   int64_t y_stride, bool inclusive) {
    void* later[kScanRows];
    if (!inclusive) {
      for (int r = 0; r < count; ++r) {
        T* const first = static_cast<T*>(y[r]);
        narrow(O::value(O::start()), *first);
        later[r] = first + y_stride;
      }
      y = later;
      --n;
    }
    if (n <= kShortRow) {
      for (int r = 0; r < count; ++r)
        short_row(static_cast<const T*>(x[r]), static_cast<T*>(y[r]), n, x_stride, y_stride);
      return;
    }
    if constexpr (kInRegisters && !is_float_v<A>) {
      if (x_stride == 1 && y_stride == 1) {
        for (int r = 0; r < count; ++r) {
          State a = O::start();
          resume(x[r], y[r], n, true, &a);
        }
        return;
      }
    }
    if (count == kScanRows) return some_rows<kScanRows>(x, y, n, x_stride, y_stride);
    for (int r = 0; r < count; ++r) some_rows<1>(x + r, y + r, n, x_stride, y_stride);
  }
  static void columns(const void* x, void* y, int64_t width, int64_t n, int64_t x_stride,
                      int64_t y_stride, bool inclusive) {
    State a[kScanColumns];
    for (int64_t c = 0; c < width; ++c) a[c] = O::start();
    T* first = static_cast<T*>(y);
    if (!inclusive) {
      for (int64_t c = 0; c < width; ++c) narrow(O::value(a[c]), first[c]);
      first += y_stride;
      --n;
    }
    for (int64_t i = 0; i < n; ++i) {
      const T* __restrict from = static_cast<const T*>(x) + i * x_stride;
      T* __restrict to = first + i * y_stride;
      for (int64_t c = 0; c < width; ++c) {
        a[c] = O::step(a[c], widened(from[c]));
        narrow(O::value(a[c]), to[c]);
      }
    }
  }

  using A = Wide<T>;
  static MLX_FN State merged(State a, State b) {
    if constexpr (requires { O::merge(a, b); })
      return O::merge(a, b);
    else
      return O::step(a, b);
  }
  static void start(void* states, int64_t width) {
    auto* s = static_cast<State*>(states);
    for (int64_t c = 0; c < width; ++c) s[c] = O::start();
  }
  static void carry(void* totals, int64_t count, int64_t width, void* before) {
    auto *t = static_cast<State*>(totals), *a = static_cast<State*>(before);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c < width; ++c, ++t) {
        const State here = *t;
        *t = a[c];
        a[c] = merged(a[c], here);
      }
  }

  // Element i belongs to lane i mod kStep; the lanes are merged in order.
  static void total(const void* x, int64_t n, int64_t x_stride, void* state) {
    const T* p = static_cast<const T*>(x);
    auto& result = *static_cast<State*>(state);
    auto read = [=](int64_t first, int some, A* into) {
      const T* from = p + first * x_stride;
      for (int k = 0; k < some; ++k) into[k] = widened(from[k * x_stride]);
    };
    if constexpr (requires { O::total(n, read); }) {
      result = O::total(n, read);
    } else {
      constexpr int64_t kAhead = 2048 / sizeof(T);
      int64_t i = 0;
      // The last partial step has its own lanes, so that the main lanes can stay in registers.
      State lanes[kStep], last[kStep];
      start(lanes, kStep);
      start(last, kStep);
      if constexpr (kOrdered) {
        // The order does not affect the result.
        using R = Reg<A>;
        if (x_stride == 1) {
          R a(O::start()), b = a;
          auto bad = v_unordered(a, a);
          for (; i + 2 * R::N <= n; i += 2 * R::N) {
            __builtin_prefetch(p + i + kAhead, 0, 2);
            const R c = load_as<A>(p + i), d = load_as<A>(p + i + R::N);
            bad = bad | v_unordered(c, d);
            a = O::ordered(a, c);
            b = O::ordered(b, d);
          }
          if (v_any(bad)) {
            i = 0;
          } else {
            A found[R::N];
            O::ordered(a, b).store(found);
            for (int k = 0; k < R::N; ++k) last[k % kStep] = O::step(last[k % kStep], found[k]);
          }
        }
      }
      for (; i + kStep <= n; i += kStep) {
        T in[kStep];
        if (x_stride == 1) __builtin_prefetch(p + i + kAhead, 0, 2);
        copy(p + i * x_stride, x_stride, in, 1, kStep);
        for (int k = 0; k < kStep; ++k) lanes[k] = O::step(lanes[k], widened(in[k]));
      }
      for (int k = 0; i < n; ++i, ++k) last[k] = O::step(last[k], widened(p[i * x_stride]));
      // Both run once, and take long to compile where they are unrolled.
#pragma GCC unroll 1
      for (int k = 0; k < kStep; ++k) lanes[k] = merged(lanes[k], last[k]);
      result = lanes[0];
#pragma GCC unroll 1
      for (int k = 1; k < kStep; ++k) result = merged(result, lanes[k]);
    }
  }

  /// Lane i is lane i - Shift of x; the first lanes come from `fill`.
  template <int Shift, class R>
  static MLX_FN R shifted(R x, R fill) {
    return R(
        shuffle_lanes<R::N>(fill.v, x.v, [](int i) { return i < Shift ? i : R::N + i - Shift; }));
  }
  template <int Shift, class R, class Join>
  static MLX_FN R prefixes(R x, R fill, Join join) {
    if constexpr (Shift < R::N)
      return prefixes<2 * Shift>(join(shifted<Shift>(x, fill), x), fill, join);
    else
      return x;
  }
  // Few lanes of long integers take longer than one after the other, whose order is the same.
  static constexpr bool kLongIntegers = sizeof(A) == 8 && !is_float_v<A> && kVectorBytes < 64;
  static constexpr bool kInRegisters =
      __is_same(State, A) && !is_complex_v<A> && !__is_same(A, bool) && !kLongIntegers;
  static constexpr bool kOrdered = requires(Vec<A> x) { O::ordered(x, x); };
  static MLX_FN void store(Reg<A> x, T* to) {
    if constexpr (__is_same(T, Half))
      v_store_f16(&to->bits, x);
    else if constexpr (__is_same(T, Brain))
      v_store_bf16(&to->bits, x);
    else
      x.store(to);
  }
  // Each register computes its own prefixes, which are then combined with the previous ones and the
  // given state. The remainder, and types without registers, are processed step by step. May be in
  // place.
  static void resume(const void* x, void* y, int64_t n, bool inclusive, void* state) {
    const T* p = static_cast<const T*>(x);
    T* q = static_cast<T*>(y);
    State a = *static_cast<State*>(state);
    int64_t i = 0;
    if constexpr (kInRegisters) {
      using R = Reg<A>;
      const R fill(O::start()), given(a);
      R before = fill;
      auto run = [&](R here, auto join) MLX_INLINED {
        here = prefixes<1>(here, fill, join);
        const R all = join(before, here);
        const R out = inclusive ? all : join(before, shifted<1>(here, fill));
        before = R(shuffle_lanes<R::N>(all.v, all.v, [](int) { return R::N - 1; }));
        store(join(given, out), q + i);
      };
      for (; i + R::N <= n; i += R::N) {
        const R here = load_as<A>(p + i);
        if constexpr (kOrdered) {
          if (!v_any(v_unordered(here, before) | v_unordered(given, given))) {
            run(here, [](R a, R b) MLX_INLINED { return O::ordered(a, b); });
            continue;
          }
        }
        run(here, [](R a, R b) MLX_INLINED { return O::join(a, b); });
      }
      A lanes[R::N];
      O::join(given, before).store(lanes);
      a = lanes[0];
    }
    // The result may overwrite the element.
    if (inclusive) {
      for (; i < n; ++i) {
        a = O::step(a, widened(p[i]));
        narrow(O::value(a), q[i]);
      }
    } else {
      for (; i < n; ++i) {
        const A here = widened(p[i]);
        narrow(O::value(a), q[i]);
        a = O::step(a, here);
      }
    }
    *static_cast<State*>(state) = a;
  }
  static constexpr ScanKernels table{rows, columns, sizeof(State), total, resume, start, carry};
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

ScanKernels find_scan(ScanKind kind, Dtype::Val t) {
  switch (kind) {
    case ScanKind::sum:
      return wrapping<Sum>(t);
    case ScanKind::prod:
      return wrapping<Prod>(t);
    case ScanKind::max:
      return ordered<Max>(t);
    case ScanKind::min:
      return ordered<Min>(t);
    case ScanKind::logsumexp:
      return floating<LogSumExp>(t);
  }
  return {};
}

}  // namespace mlx::core::cpu::MLX_ISA
