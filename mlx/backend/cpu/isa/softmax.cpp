// Maxima, sums of exponentials and their scaling, over contiguous parts of rows.
#include "mlx/backend/cpu/isa/softmax.h"

#include "mlx/backend/cpu/simd/rows.h"
#include "mlx/backend/math/exp.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// A: how elements are stored and computed (Float32 ... Bfloat16 of simd/convert.h).
template <class A>
struct Kernels {
  using S = typename A::S;
  using V = typename A::V;
  using T = typename V::elem;
  static constexpr int N = V::N;
  // True if the output holds exponentials exactly; otherwise columns compute them twice.
  static constexpr bool kStores = sizeof(S) == sizeof(T);

  static MLX_FN V padded_load(const S* p, int64_t n, T rest) {
    return padded(load_some<A>(p, n), n, rest);
  }

  static double largest(const void* x, int64_t n) {
    const S* p = static_cast<const S*>(x);
    V a = V(-m::kInf<T>), b = a;
    int64_t i = 0;
    for (; i + 2 * N <= n; i += 2 * N) {
      a = larger(a, A::load(p + i));
      b = larger(b, A::load(p + i + N));
    }
    for (; i + N <= n; i += N) a = larger(a, A::load(p + i));
    if (i < n) b = larger(b, padded_load(p + i, n - i, -m::kInf<T>));
    return largest_lane(larger(a, b));
  }

  static double sum_exp(const void* x, int64_t n, double shift, void* stored) {
    const S* p = static_cast<const S*>(x);
    T* q = static_cast<T*>(stored);
    const V s = V(static_cast<T>(shift));
    V a = V(T(0)), b = a;
    int64_t i = 0;
    for (; i + 2 * N <= n; i += 2 * N) {
      V e = m::exp(A::load(p + i) - s), f = m::exp(A::load(p + i + N) - s);
      if (q) {
        e.store(q + i);
        f.store(q + i + N);
      }
      a += e;
      b += f;
    }
    for (; i < n; i += N) {
      const int64_t some = n - i < N ? n - i : N;
      V e = m::exp(padded_load(p + i, some, -m::kInf<T>) - s);
      if (q) store_first(q + i, e, some);
      // An infinite shift would make the padding NaN.
      if (some < N) e = padded(e, some, T(0));
      a += e;
    }
    return total(a + b);
  }

  static void finish(const void* x, int64_t n, double shift, double scale, const void* stored,
                     void* y) {
    const S* p = static_cast<const S*>(x);
    const T* e = static_cast<const T*>(stored);
    S* q = static_cast<S*>(y);
    const V s = V(static_cast<T>(shift)), c = V(static_cast<T>(scale));
    int64_t i = 0;
    if (e) {
      for (; i + N <= n; i += N) A::store(q + i, V::load(e + i) * c);
      if (i < n) store_some<A>(q + i, V::load_partial(e + i, n - i) * c, n - i);
      return;
    }
    for (; i + N <= n; i += N) A::store(q + i, m::exp(A::load(p + i) - s) * c);
    if (i < n) store_some<A>(q + i, m::exp(load_some<A>(p + i, n - i) - s) * c, n - i);
  }

  /// Largest elements and sums of exponentials of short rows, a lane each; the exponentials.
  struct Short {
    V largest, sum, e[N];
    Short(const S* p, int64_t n, int64_t count) {
      V x[N], t[N];
      load_short_rows<A>(p, n, count, x);
      largest = x[0];
      for (int64_t i = 1; i < n; ++i) largest = larger(largest, x[i]);
      for (int64_t i = 0; i < n; ++i) t[i] = e[i] = m::exp(x[i] - largest);
      sum = sum_halves<N>(t, n);
    }
  };

  static void rows(const void* x, int64_t n, int64_t count, void* y) {
    const S* p = static_cast<const S*>(x);
    S* q = static_cast<S*>(y);
    if (n <= N) {
      for (int64_t r = 0; r < count; r += N) {
        const int64_t some = count - r < N ? count - r : N;
        Short block(p + r * n, n, some);
        const V scale = V(T(1)) / block.sum;
        for (int64_t i = 0; i < n; ++i) block.e[i] = block.e[i] * scale;
        store_short_rows<A>(block.e, n, some, q + r * n);
      }
      return;
    }
    T aside[kStores ? 1 : kSoftmaxPiece];
    for (int64_t r = 0; r < count; ++r, p += n, q += n) {
      void* const e = kStores ? static_cast<void*>(q) : aside;
      const double shift = largest(p, n), sum = sum_exp(p, n, shift, e);
      finish(p, n, shift, 1 / sum, e, q);
    }
  }

  static void sums(const void* x, int64_t n, int64_t count, double* most, double* sum) {
    const S* p = static_cast<const S*>(x);
    if (n <= N) {
      for (int64_t r = 0; r < count; r += N) {
        const int64_t some = count - r < N ? count - r : N;
        const Short block(p + r * n, n, some);
        T shifts[N], totals[N];
        block.largest.store(shifts);
        block.sum.store(totals);
        for (int64_t i = 0; i < some; ++i) {
          most[r + i] = shifts[i];
          sum[r + i] = totals[i];
        }
      }
      return;
    }
    for (int64_t r = 0; r < count; ++r, p += n) {
      most[r] = largest(p, n);
      sum[r] = sum_exp(p, n, most[r], nullptr);
    }
  }

  static void logs(const double* shift, const double* sum, int64_t count, void* y) {
    using D = Vec<double>;
    S* q = static_cast<S*>(y);
    T some[N];
    for (int64_t r = 0; r < count; r += N) {
      const int64_t n = count - r < N ? count - r : N;
      for (int64_t i = 0; i < n; i += D::N) {
        const int64_t k = n - i < D::N ? n - i : D::N;
        const D s = load_first<D>(shift + r + i, k), t = load_first<D>(sum + r + i, k);
        double result[D::N];
        v_select(v_abs(s) == D(m::kInf<double>), s, s + m::log(t)).store(result);
        for (int64_t j = 0; j < k; ++j) some[i + j] = static_cast<T>(result[j]);
      }
      store_some<A>(q + r, V::load(some), n);
    }
  }

  // Two-level sums, so that the error grows little with n.
  static void columns(const void* x, int64_t stride, int64_t n, int64_t width, void* y) {
    constexpr int64_t kLevel = 128;
    const S* p = static_cast<const S*>(x);
    S* q = static_cast<S*>(y);
    alignas(64) T maxima[kSoftmaxColumns], sum[kSoftmaxColumns], part[kSoftmaxColumns];
    const int64_t padded_width = (width + N - 1) / N * N;
    auto each = [&](auto f) {
      for (int64_t c = 0; c < padded_width; c += N) f(c, width - c < N ? width - c : N);
    };
    each([&](int64_t c, int64_t) {
      V(-m::kInf<T>).store(maxima + c);
      V(T(0)).store(sum + c);
      V(T(0)).store(part + c);
    });
    for (int64_t r = 0; r < n; ++r)
      each([&](int64_t c, int64_t some) {
        larger(V::load(maxima + c), load_some<A>(p + r * stride + c, some)).store(maxima + c);
      });
    for (int64_t r = 0; r < n; ++r) {
      each([&](int64_t c, int64_t some) {
        V e = m::exp(load_some<A>(p + r * stride + c, some) - V::load(maxima + c));
        if constexpr (kStores) store_some<A>(q + r * stride + c, e, some);
        (V::load(part + c) + e).store(part + c);
      });
      if (r % kLevel == kLevel - 1 || r == n - 1)
        each([&](int64_t c, int64_t) {
          (V::load(sum + c) + V::load(part + c)).store(sum + c);
          V(T(0)).store(part + c);
        });
    }
    each([&](int64_t c, int64_t) { (V(T(1)) / V::load(sum + c)).store(sum + c); });
    for (int64_t r = 0; r < n; ++r)
      each([&](int64_t c, int64_t some) {
        const int64_t at = r * stride + c;
        V e;
        if constexpr (kStores)
          e = load_some<A>(q + at, some);
        else
          e = m::exp(load_some<A>(p + at, some) - V::load(maxima + c));
        store_some<A>(q + at, e * V::load(sum + c), some);
      });
  }

  static constexpr SoftmaxKernels table{largest, sum_exp, finish, rows, sums, logs, columns};
};

}  // namespace

SoftmaxKernels find_softmax(Dtype::Val t) {
  return for_float(t, []<class A>() { return Kernels<A>::table; });
}

}  // namespace mlx::core::cpu::MLX_ISA
