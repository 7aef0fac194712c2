// Normalisation of rows. Long ones are read three times at most, from the first-level cache after
// the first time.
#include "mlx/backend/cpu/isa/norm.h"

#include "mlx/backend/cpu/simd/bf16.h"
#include "mlx/backend/cpu/simd/rows.h"
#include "mlx/backend/math/basic.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// A: how elements are stored and computed (Float32 ... Bfloat16 of simd/convert.h). kConverts: A is
// bfloat16, to which the processor converts.
template <class A, bool kConverts = false>
struct Kernel {
  using S = typename A::S;
  using V = typename A::V;
  using T = typename V::elem;
  static constexpr int N = V::N, U = 4;

  /// Sum of f(element); subtracts `f(0)` for the padding of the last vector.
  template <class F>
  static MLX_FN T sum(const S* p, int64_t n, F f) {
    V a[U] = {V(T(0)), V(T(0)), V(T(0)), V(T(0))};
    int64_t i = 0;
    for (; i + U * N <= n; i += U * N) {
#pragma GCC unroll 4
      for (int u = 0; u < U; ++u) a[u] += f(A::load(p + i + u * N));
    }
    for (; i + N <= n; i += N) a[0] += f(A::load(p + i));
    if (i < n) a[1] += padded(f(load_some<A>(p + i, n - i)), n - i, T(0));
    return total((a[0] + a[1]) + (a[2] + a[3]));
  }

  static MLX_FN void row(const S* p, const S* w, const S* b, S* q, int64_t n, double eps,
                         bool center) {
    const T mean = center ? sum(p, n, [](V v) MLX_INLINED { return v; }) / static_cast<T>(n) : T(0);
    const V m = V(mean);
    const T square =
        sum(p, n, [=](V v) MLX_INLINED { return (v - m) * (v - m); }) / static_cast<T>(n);
    const V scale = V(T(1) / static_cast<T>(__builtin_sqrt(static_cast<double>(square) + eps)));
    const auto normalised = [=](int64_t i, int64_t some) MLX_INLINED {
      V r = (load_some<A>(p + i, some) - m) * scale;
      if (w) r = r * load_some<A>(w + i, some);
      if (b) r = r + load_some<A>(b + i, some);
      return r;
    };
    int64_t i = 0;
    for (; i + 2 * N <= n; i += 2 * N)
      store_pair<A, kConverts>(q + i, normalised(i, N), normalised(i + N, N));
    for (; i < n; i += N) {
      const int64_t some = n - i < N ? n - i : N;
      store_some<A>(q + i, normalised(i, some), some);
    }
  }

  /// Rows of n <= N elements, a lane each, with the sums of row().
  static MLX_FN void short_rows(const S* p, const S* w, const S* b, S* q, int64_t n, int64_t rows,
                                double eps, bool center) {
    V x[N], t[N];
    load_short_rows<A>(p, n, rows, x);
    const V count = V(static_cast<T>(n));
    V mean = V(T(0));
    if (center) {
      for (int64_t i = 0; i < n; ++i) t[i] = V(T(0)) + x[i];
      mean = sum_halves<N>(t, n) / count;
    }
    for (int64_t i = 0; i < n; ++i) t[i] = V(T(0)) + (x[i] - mean) * (x[i] - mean);
    T scales[N];
    (sum_halves<N>(t, n) / count).store(scales);
    for (int i = 0; i < N; ++i)
      scales[i] = T(1) / static_cast<T>(__builtin_sqrt(static_cast<double>(scales[i]) + eps));
    const V scale = V::load(scales);
    S one[N] = {};
    const auto element = [&](const S* from, int64_t i) MLX_INLINED {
      one[0] = from[i];
      T first[N];
      A::load(one).store(first);
      return V(first[0]);
    };
    for (int64_t i = 0; i < n; ++i) {
      V r = (x[i] - mean) * scale;
      if (w) r = r * element(w, i);
      if (b) r = r + element(b, i);
      x[i] = r;
    }
    store_short_rows<A>(x, n, rows, q);
  }

  static void rows(const NormOperands& of, int64_t n, int64_t count, double eps, bool center) {
    const S* p = static_cast<const S*>(of.x);
    const S* w = static_cast<const S*>(of.weight);
    const S* b = static_cast<const S*>(of.bias);
    S* q = static_cast<S*>(of.y);
    if (n > N) {
      for (int64_t r = 0; r < count; ++r) row(p + r * n, w, b, q + r * n, n, eps, center);
      return;
    }
    for (int64_t r = 0; r < count; r += N) {
      const int64_t some = count - r < N ? count - r : N;
      short_rows(p + r * n, w, b, q + r * n, n, some, eps, center);
    }
  }
};

}  // namespace

NormRows find_norm_rows(Dtype::Val t) {
  if (t == Dtype::Val::bfloat16 && converts_to_bf16()) return Kernel<Bfloat16, true>::rows;
  return for_float(t, []<class A>() { return Kernel<A>::rows; });
}

}  // namespace mlx::core::cpu::MLX_ISA
