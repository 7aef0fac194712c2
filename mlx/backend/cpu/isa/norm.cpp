// Normalisation of one row. Rows are read three times at most, from the first-level cache after the
// first time.
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

  static void row(const void* x, const void* weight, const void* bias, void* y, int64_t n,
                  double eps, bool center) {
    const S* p = static_cast<const S*>(x);
    const S* w = static_cast<const S*>(weight);
    const S* b = static_cast<const S*>(bias);
    S* q = static_cast<S*>(y);
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
};

}  // namespace

NormRow find_norm_row(Dtype::Val t) {
  if (t == Dtype::Val::bfloat16 && converts_to_bf16()) return Kernel<Bfloat16, true>::row;
  return for_float(t, []<class A>() { return Kernel<A>::row; });
}

}  // namespace mlx::core::cpu::MLX_ISA
