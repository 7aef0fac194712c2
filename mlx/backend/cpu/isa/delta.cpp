// The gated delta rule. Rows of the state are independent: each is updated through all positions
// while it stays in registers or the first-level cache.
#include "mlx/backend/cpu/isa/delta.h"

#include "mlx/backend/cpu/simd/rows.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

template <class A>
struct Kernel {
  using V = typename A::V;
  using T = typename V::elem;
  static constexpr int N = V::N;

  static void step(const DeltaHead& h, int64_t t, const T* q, const T* k, T value, T* state, T* y) {
    const T* gates = static_cast<const T*>(h.gates) + t * h.gate_row;
    const T beta = static_cast<const T*>(h.beta)[t * h.beta_row];
    V found = V(T(0));
    each_vector<N>(h.width, [&](int64_t i, int64_t some) MLX_INLINED {
      V gate = h.wide ? load_some<A>(gates + i, some) : V(*gates);
      V s = load_some<A>(state + i, some) * gate;
      store_some<A>(state + i, s, some);
      found += s * load_some<A>(k + i, some);
    });
    const V delta = V((value - total(found)) * beta);
    V result = V(T(0));
    each_vector<N>(h.width, [&](int64_t i, int64_t some) MLX_INLINED {
      V s = load_some<A>(state + i, some) + delta * load_some<A>(k + i, some);
      store_some<A>(state + i, s, some);
      result += s * load_some<A>(q + i, some);
    });
    *y = total(result);
  }

  static void run(const DeltaHead& h) {
    const T *q = static_cast<const T*>(h.q), *k = static_cast<const T*>(h.k);
    for (int64_t r = 0; r < h.values; ++r) {
      T* state = static_cast<T*>(h.state) + r * h.width;
      const T* v = static_cast<const T*>(h.v) + r;
      T* y = static_cast<T*>(h.y) + r;
      for (int64_t t = 0; t < h.length; ++t) {
        if (h.mask && !h.mask[t])
          y[t * h.value_row] = 0;
        else
          step(h, t, q + t * h.key_row, k + t * h.key_row, v[t * h.value_row], state,
               y + t * h.value_row);
      }
    }
  }
};

}  // namespace

DeltaKernel find_delta(Dtype::Val t) {
  return t == Dtype::Val::float64 ? Kernel<Float64>::run : Kernel<Float32>::run;
}

}  // namespace mlx::core::cpu::MLX_ISA
