#include "mlx/backend/cpu/isa/hadamard.h"

#include "mlx/backend/cpu/simd/lanes.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

template <class A>
struct Kernel {
  using S = typename A::S;
  using V = typename A::V;
  using T = typename V::elem;
  static constexpr int64_t N = V::N;

  /// Calls f(first, count) for the vectors of n elements.
  template <class F>
  static MLX_FN void each(int64_t n, F f) {
    int64_t i = 0;
    for (; i + N <= n; i += N) f(i, N);
    if (i < n) f(i, n - i);
  }
  static MLX_FN V load(const T* p, int64_t some) {
    return some == N ? V::load(p) : V::load_partial(p, some);
  }
  static MLX_FN void store(T* p, V x, int64_t some) {
    if (some == N)
      x.store(p);
    else
      x.store_partial(p, some);
  }

  /// Sums and differences of elements `half` apart, for all halves.
  static void butterflies(T* x, int64_t n) {
    for (int64_t half = 1; half < n; half *= 2) {
      for (int64_t first = 0; first < n; first += 2 * half) {
        T *low = x + first, *high = low + half;
        if (half < N) {
          for (int64_t i = 0; i < half; ++i) {
            const T a = low[i], b = high[i];
            low[i] = a + b;
            high[i] = a - b;
          }
          continue;
        }
        each(half, [&](int64_t i, int64_t) MLX_INLINED {
          V a = V::load(low + i), b = V::load(high + i);
          (a + b).store(low + i);
          (a - b).store(high + i);
        });
      }
    }
  }

  static void run(const HadamardRow& row, const void* from, void* to, void* room) {
    const S* p = static_cast<const S*>(from);
    S* q = static_cast<S*>(to);
    T *x = static_cast<T*>(room), *y = x + row.m * row.power;
    const int64_t n = row.m * row.power, stride = row.power;
    each(n, [&](int64_t i, int64_t some)
                MLX_INLINED { store(x + i, load_some<A>(p + i, some), some); });
    for (int64_t j = 0; j < row.m; ++j) butterflies(x + j * stride, stride);
    for (int64_t j = 0; row.m > 1 && j < row.m; ++j)
      each(stride, [&](int64_t i, int64_t some) MLX_INLINED {
        V sum = V(T(0));
        for (int64_t l = 0; l < row.m; ++l) {
          V v = load(x + l * stride + i, some);
          sum = row.signs[j] >> (row.m - 1 - l) & 1 ? sum + v : sum - v;
        }
        store(y + j * stride + i, sum, some);
      });
    const T* done = row.m > 1 ? y : x;
    const V scale = V(static_cast<T>(row.scale));
    each(n, [&](int64_t i, int64_t some)
                MLX_INLINED { store_some<A>(q + i, load(done + i, some) * scale, some); });
  }
};

}  // namespace

HadamardKernel find_hadamard(Dtype::Val t) {
  switch (t) {
    case Dtype::Val::float16:
      return Kernel<Float16>::run;
    case Dtype::Val::bfloat16:
      return Kernel<Bfloat16>::run;
    case Dtype::Val::float64:
      return Kernel<Float64>::run;
    default:
      return Kernel<Float32>::run;
  }
}

}  // namespace mlx::core::cpu::MLX_ISA
