// Hadamard transforms of rows: butterflies, and the products with a matrix of order m.
#include "mlx/backend/cpu/isa/hadamard.h"

#include "mlx/backend/cpu/simd/rows.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

template <class A>
struct Kernel {
  using S = typename A::S;
  using V = typename A::V;
  using T = typename V::elem;
  static constexpr int N = V::N;

  /// Sums and differences of elements at distance `half`, for all halves.
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
        each_vector<N>(half, [&](int64_t i, int64_t) MLX_INLINED {
          V a = V::load(low + i), b = V::load(high + i);
          (a + b).store(low + i);
          (a - b).store(high + i);
        });
      }
    }
  }

  static void run(const HadamardRow& row, const void* from, void* to, void* workspace) {
    const S* p = static_cast<const S*>(from);
    S* q = static_cast<S*>(to);
    T *x = static_cast<T*>(workspace), *y = x + row.m * row.power;
    const int64_t n = row.m * row.power, stride = row.power;
    each_vector<N>(n, [&](int64_t i, int64_t some)
                          MLX_INLINED { store_first(x + i, load_some<A>(p + i, some), some); });
    for (int64_t j = 0; j < row.m; ++j) butterflies(x + j * stride, stride);
    for (int64_t j = 0; row.m > 1 && j < row.m; ++j)
      each_vector<N>(stride, [&](int64_t i, int64_t some) MLX_INLINED {
        V sum = V(T(0));
        for (int64_t l = 0; l < row.m; ++l) {
          V v = load_first<V>(x + l * stride + i, some);
          sum = row.signs[j] >> (row.m - 1 - l) & 1 ? sum + v : sum - v;
        }
        store_first(y + j * stride + i, sum, some);
      });
    const T* done = row.m > 1 ? y : x;
    const V scale = V(static_cast<T>(row.scale));
    each_vector<N>(n, [&](int64_t i, int64_t some) MLX_INLINED {
      store_some<A>(q + i, load_first<V>(done + i, some) * scale, some);
    });
  }
};

}  // namespace

HadamardKernel find_hadamard(Dtype::Val t) {
  return for_float(t, []<class A>() { return Kernel<A>::run; });
}

}  // namespace mlx::core::cpu::MLX_ISA
