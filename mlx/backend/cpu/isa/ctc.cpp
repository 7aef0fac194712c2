// Sums of exponentials of three neighbouring states, all states of a step at once.
#include "mlx/backend/cpu/isa/ctc.h"

#include "mlx/backend/cpu/simd/rows.h"
#include "mlx/backend/math/exp.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

template <class V>
void run(const CtcStep& s) {
  using T = typename V::elem;
  const auto *before = static_cast<const T*>(s.before), *skips = static_cast<const T*>(s.skips);
  const auto *scores = static_cast<const T*>(s.scores), *others = static_cast<const T*>(s.others);
  auto *after = static_cast<T*>(s.after), *weights = static_cast<T*>(s.weights);
  const V least(static_cast<T>(s.least)), offset(static_cast<T>(s.offset));
  each_vector<V::N>(s.n, [&](int64_t i, int64_t some) MLX_INLINED {
    const V same = load_first<V>(before + i + 2, some), next = load_first<V>(before + i + 1, some);
    const V skip = load_first<V>(before + i, some) + load_first<V>(skips + i, some);
    // A NaN stays in the largest, and in the sum with it.
    const V high = larger(same, next), largest = larger(high, skip);
    const V sum =
        V(T(1)) + m::exp(v_min(same, next) - largest) + m::exp(v_min(high, skip) - largest);
    const V total = largest + m::log(sum);
    store_first(after + i, larger(total + load_first<V>(scores + i, some), least), some);
    if (weights)
      store_first(weights + i, m::exp(total + load_first<V>(others + i, some) + offset), some);
  });
}

}  // namespace

CtcKernel find_ctc(Dtype::Val t) { return t == Dtype::Val::float64 ? run<VD> : run<VF>; }

}  // namespace mlx::core::cpu::MLX_ISA
