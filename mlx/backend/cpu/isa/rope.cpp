// Angles and rotations of rotary position embedding.
#include "mlx/backend/cpu/isa/rope.h"

#include <stddef.h>

#include "mlx/backend/cpu/simd/rows.h"
#include "mlx/backend/math/exp.h"
#include "mlx/backend/math/trig.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

constexpr double kTurn = 0x1.921fb54442d18p+2, kTurnLow = 0x1.1a62633145c07p-52;

void rates(double log_base, int64_t n, double* rate) {
  for (int64_t i = 0; i < n; i += VD::N) {
    double few[VD::N];
    for (int k = 0; k < VD::N; ++k)
      few[k] = -static_cast<double>(i + k) / static_cast<double>(n) * log_base;
    VD e = m::exp(VD::load(few));
    store_some<Float64>(rate + i, e, n - i < VD::N ? n - i : VD::N);
  }
}

/// The angle reduced modulo whole turns.
MLX_FN VD reduced(double position, VD rate) {
  VD angle = VD(position) * rate;
  VD turns = v_rint(angle * VD(1 / kTurn));
  return v_fma(turns, VD(-kTurnLow), v_fma(turns, VD(-kTurn), angle));
}

// A: how elements are stored and computed (Float32 ... Bfloat16 of simd/convert.h).
template <class A>
struct Kernels {
  using S = typename A::S;
  using V = typename A::V;
  using T = typename V::elem;
  static constexpr int N = V::N;

  static void angles(double position, const double* rate, int64_t n, void* cosines, void* sines) {
    T *c = static_cast<T*>(cosines), *s = static_cast<T*>(sines);
    for (int64_t i = 0; i < n; i += N) {
      const int64_t some = n - i < N ? n - i : N;
      V angle;
      if constexpr (sizeof(T) == 8) {
        angle = reduced(position, load_some<Float64>(rate + i, some));
      } else {
        double few[N] = {};
        __builtin_memcpy(few, rate + i, static_cast<size_t>(some) * sizeof(double));
        angle =
            v_narrow({reduced(position, VD::load(few)), reduced(position, VD::load(few + VD::N))});
      }
      V cosine = m::cos(angle), sine = m::sin(angle);
      if (some == N) {
        cosine.store(c + i);
        sine.store(s + i);
      } else {
        cosine.store_partial(c + i, some);
        sine.store_partial(s + i, some);
      }
    }
  }

  static void rotate(const void* x, const void* cosines, const void* sines, double sign, int64_t n,
                     bool traditional, void* y) {
    const S* p = static_cast<const S*>(x);
    const T *c = static_cast<const T*>(cosines), *s = static_cast<const T*>(sines);
    S* q = static_cast<S*>(y);
    const V flip = V(static_cast<T>(sign));
    for (int64_t i = 0; i < n; i += N) {
      const int64_t some = n - i < N ? n - i : N;
      V cosine, sine, a, b;
      if (some == N) {
        cosine = V::load(c + i);
        sine = V::load(s + i) * flip;
      } else {
        cosine = V::load_partial(c + i, some);
        sine = V::load_partial(s + i, some) * flip;
      }
      if (traditional) {
        S even[N] = {}, odd[N] = {};
        for (int64_t k = 0; k < some; ++k) {
          even[k] = p[2 * (i + k)];
          odd[k] = p[2 * (i + k) + 1];
        }
        a = A::load(even);
        b = A::load(odd);
        A::store(even, a * cosine - b * sine);
        A::store(odd, a * sine + b * cosine);
        for (int64_t k = 0; k < some; ++k) {
          q[2 * (i + k)] = even[k];
          q[2 * (i + k) + 1] = odd[k];
        }
      } else {
        a = load_some<A>(p + i, some);
        b = load_some<A>(p + n + i, some);
        store_some<A>(q + i, a * cosine - b * sine, some);
        store_some<A>(q + n + i, a * sine + b * cosine, some);
      }
    }
  }

  static constexpr RopeKernels table{angles, rates, rotate};
};

}  // namespace

RopeKernels find_rope(Dtype::Val t) {
  return for_float(t, []<class A>() { return Kernels<A>::table; });
}

}  // namespace mlx::core::cpu::MLX_ISA
